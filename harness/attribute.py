"""Which hypothesis reproduces the observed ids on every case: proof by the oracle, never a guess.

A hypothesis is accepted only when the oracle, so changed, gives the observed ids on **every**
judged case, agreeing ones included; one that explains the mismatches and would break a match is
refuted. A change to the normalizer must besides explain the *set*: the mismatching cases are
exactly those whose normalized form it changes. How they are gone through is told in
:mod:`harness.hypotheses.search`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from harness.diff import Mask, Rows, differs
from harness.hypotheses import Description, Hypothesis, Seen, can_show, proposed
from harness.hypotheses.answering import Encode, answers, spliced
from harness.hypotheses.input import POLICIES, RECOMMENDED, REFUSED
from harness.hypotheses.normal_forms import Normalized
from harness.hypotheses.search import Propose, Search
from harness.hypotheses.seen import DecodeIds
from harness.hypotheses.trial import Examined, Trial
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
    ``tested``       every accepted or declared hypothesis; of the refuted the closest of each name,
                     and the closest combinations.
    ``untestable``   declared names that these cases or this tokenizer cannot show.
    ``absent``       declared names that could show, and of which there is no trace.
    ``asked``        how many hypotheses of each size were tried: singles, pairs, triples.
    ``byte_policy``  what became of invalid UTF-8, the causes taken into account.
    """

    judged: Rows
    mismatching: Rows
    causes: tuple[Examined, ...]
    tested: tuple[Examined, ...]
    byte_policy: BytePolicy | None = None
    untestable: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    asked: tuple[int, ...] = ()


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
    known = policy.name if policy is not None else RECOMMENDED
    found = Search.of(Trial(seen, encode, normalized), known, propose).run(declared)
    if policy is not None and policy.name is None and found.causes:
        ungraded = expected.status == Status.UNGRADED
        under = found.causes[0].hypothesis
        policy = byte_policy(cases, observed, ungraded, description, encode, under=under)
    tried = {one.hypothesis.name for one in found.tested}
    graded = seen.only(np.flatnonzero(expected.status == Status.OK))
    silent = {n: can_show(n, graded) for n in declared if n not in tried}
    return Attribution(
        np.flatnonzero(judged),
        seen.mismatching,
        found.causes,
        found.tested,
        policy,
        tuple(name for name, shows in silent.items() if not shows),
        tuple(name for name, shows in silent.items() if shows),
        found.asked,
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
