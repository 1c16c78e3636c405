"""Which hypothesis reproduces the observed ids on every case: proof by the oracle, never a guess.

A hypothesis is accepted only when the oracle, so changed, gives the observed ids on **every**
judged case, agreeing ones included; one that explains the mismatches and would break a match is
refuted. A change to the normalizer must besides explain the *set*: the mismatching cases are
exactly those whose normalized form it changes. Mismatching cases are asked first and few at a time,
because most hypotheses fall on the first.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from harness.diff import Mask, Rows, differs
from harness.hypotheses import Description, Hypothesis, Seen, can_show, proposed
from harness.hypotheses.input import POLICIES, RECOMMENDED, REFUSED
from harness.hypotheses.seen import DecodeIds
from harness.hypotheses.trial import Encode, Examined, Normalized, Trial, answers, spliced
from harness.isolate import Separation, induced
from harness.outcomes import Outcomes, Status

__all__ = [
    "Attribution",
    "BytePolicy",
    "Encode",
    "Examined",
    "Normalized",
    "agreed",
    "attribute",
    "byte_policy",
    "judged",
]

Propose = Callable[[Seen], Sequence[Hypothesis]]


@dataclass(frozen=True)
class BytePolicy:
    """What the subject makes of bytes that are not UTF-8, over ``cases`` ungraded cases.

    ``name`` is the policy that reproduces all of them, ``refused`` when each was answered with an
    error, None when nothing does. ``tried`` counts the cases that each policy reproduces.
    """

    name: str | None
    cases: int
    tried: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Attribution:
    """The causes of one tokenizer's mismatches under one operation.

    ``judged``       int64[j], the cases that were judged.
    ``mismatching``  int64[m], those whose observed ids are not the expected ones.
    ``causes``       the accepted hypotheses of the smallest size, ties included; empty with
                     mismatches means *unexplained*.
    ``tested``       every accepted or declared hypothesis, and of the refuted the closest a name.
    ``untestable``   declared names that these cases or this tokenizer cannot show.
    ``absent``       declared names that could show, and of which there is no trace.
    ``byte_policy``  what became of invalid UTF-8, the causes taken into account.
    """

    judged: Rows
    mismatching: Rows
    causes: tuple[Examined, ...]
    tested: tuple[Examined, ...]
    byte_policy: BytePolicy | None = None
    untestable: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()


def judged(
    expected: Outcomes, observed: Mapping[str, Outcomes], separations: Sequence[Separation]
) -> Mask:
    """Return bool[n]: cases on which the oracle has ids and the lanes agree on ids of their own.

    Cases of which a separation speaks are the platform's, and crashes, refusals and errors have
    causes of their own; no hypothesis is held against either.
    """
    answers = agreed(observed)
    both = (expected.status == Status.OK) & (answers.status == Status.OK)
    return np.asarray(both & ~induced(separations, len(expected)), dtype=np.bool_)


def agreed(observed: Mapping[str, Outcomes]) -> Outcomes:
    """Return the first lane's outcomes, with cases it left unresolved filled from later lanes."""
    first, *others = observed.values()
    for other in others:
        holes = np.flatnonzero((first.status == Status.UNRESOLVED) & (other.status != first.status))
        if holes.shape[0]:
            first = spliced(first, other, holes)
    return first


def attribute(
    cases: Sequence[bytes],
    expected: Outcomes,
    observed: Outcomes,
    judged: Mask,
    description: Description,
    encode: Encode,
    *,
    normalized: Normalized | None = None,
    declared: Collection[str] = (),
    policy: BytePolicy | None = None,
    decode_ids: DecodeIds | None = None,
    propose: Propose = proposed,
) -> Attribution:
    """Test every hypothesis that ``propose`` offers and return what holds.

    ``observed`` is what the lanes agree on (:func:`agreed`), ``judged`` bool[n] the cases on which
    a hypothesis is held against it (:func:`judged`). ``declared`` names hypotheses to be tested on
    every case even where nothing mismatches: a declared deviation that is gone must be noticed.
    ``policy`` is what is known of the subject's invalid UTF-8, which an input change can produce.
    ``decode_ids`` gives the text of ids, from which some parameters are inferred.
    """
    seen = Seen(description, cases, expected, observed, judged, decode_ids)
    mismatching = seen.mismatching
    trial = Trial(seen, encode, normalized)
    known = policy.name if policy is not None else RECOMMENDED
    results: dict[str, list[Examined]] = {}
    if mismatching.shape[0] or declared:
        for hypothesis in propose(seen):
            thorough = hypothesis.name in declared
            if mismatching.shape[0] or thorough:
                tested = trial.run(hypothesis, known, thorough=thorough)
                results.setdefault(hypothesis.name, []).append(tested)
    kept = [one for group in results.values() for one in trial.closest(group)]
    accepted = [one for one in kept if one.accepted and mismatching.shape[0]]
    smallest = min((one.hypothesis.size for one in accepted), default=1)
    causes = tuple(one for one in accepted if one.hypothesis.size == smallest)
    if policy is not None and policy.name is None and causes:
        ungraded = expected.status == Status.UNGRADED
        under = causes[0].hypothesis
        policy = byte_policy(cases, observed, ungraded, description, encode, under=under)
    graded = seen.only(np.flatnonzero(expected.status == Status.OK))
    silent = {n: can_show(n, graded) for n in declared if n not in results}
    return Attribution(
        np.flatnonzero(judged),
        mismatching,
        causes,
        tuple(kept),
        policy,
        tuple(name for name, shows in silent.items() if not shows),
        tuple(name for name, shows in silent.items() if shows),
    )


def byte_policy(
    cases: Sequence[bytes],
    observed: Outcomes,
    ungraded: Mask,
    description: Description,
    encode: Encode,
    *,
    under: Hypothesis | None = None,
) -> BytePolicy | None:
    """Name what the subject makes of invalid UTF-8, by the cases of bool[n] ``ungraded``.

    ``under`` is a cause already proven, applied first. The first policy that reproduces every case
    is named; Unicode's recommended one is the first tried. None when there is no such case.
    """
    rows = np.flatnonzero(ungraded)
    count = int(rows.shape[0])
    if not count:
        return None
    if (observed.status[rows] == Status.ERROR).all():
        return BytePolicy(REFUSED, count)
    seen = observed.take(rows)
    data = [cases[row] for row in rows.tolist()]
    tried: dict[str, int] = {}
    for name, decode in POLICIES.items():
        answer = answers(data, under, description, encode, decode)
        tried[name] = count - int(differs(answer, seen).sum())
        if tried[name] == count:
            return BytePolicy(name, count, tried)
    return BytePolicy(None, count, tried)
