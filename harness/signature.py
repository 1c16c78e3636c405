"""What must stay the same while a case shrinks: the signature of its failure.

A smaller case counts only where it shows the *same* failure: the same lanes apart and alike, with
outcomes of the same kinds; still other ids than the oracle's on the lanes that show the failure,
and the oracle's on those that gave them; and for a proven hypothesis exactly the ids it foretells.
A smaller case that fails in another way is another case.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from harness.diff import Mask, classes, differs
from harness.hypotheses.hypothesis import Hypothesis, combine
from harness.outcomes import Outcomes, Status

IDS, REFUSAL, ERROR, CRASH, HANG, SILENCE = (
    "ids",
    "refusal",
    "error",
    "crash",
    "hang",
    "no answer",
)
_KINDS = {
    Status.OK: IDS,
    Status.UNSUPPORTED: REFUSAL,
    Status.ERROR: ERROR,
    Status.CRASH: CRASH,
    Status.TIMEOUT: HANG,
    Status.UNRESOLVED: SILENCE,
    Status.UNGRADED: SILENCE,
}


@dataclass(frozen=True, kw_only=True)
class Signature:
    """The failure of one case under one operation.

    ``groups``      label by lane: lanes with the same label gave the same outcome.
    ``kinds``       by lane: ``ids``, ``refusal``, ``error``, ``hang``, ``crash, SIGSEGV (signal
                    11)``.
    ``graded``      whether the oracle has ids for the case.
    ``failing``     the lanes that show the failure and, where it is graded, give other ids than the
                    oracle; empty where the oracle has no word.
    ``right``       the lanes that give the oracle's ids.
    ``hypothesis``  the change that gives the ids of the ``failing`` lanes, None where none was
                    proven.
    """

    cause: str
    groups: Mapping[str, int]
    kinds: Mapping[str, str]
    graded: bool
    failing: frozenset[str]
    right: frozenset[str]
    hypothesis: Hypothesis | None = None

    @property
    def lanes(self) -> tuple[str, ...]:
        """The lanes concerned."""
        return tuple(self.groups)

    @property
    def witnesses(self) -> tuple[str, ...]:
        """One lane of each group: a candidate that they deny need not be put to the others."""
        first: dict[int, str] = {}
        for lane, label in self.groups.items():
            first.setdefault(label, lane)
        return tuple(first.values())

    @property
    def costly(self) -> bool:
        """Whether a lane dies or hangs over the case, so that each such question costs a probe."""
        return any(kind.startswith((CRASH, HANG)) for kind in self.kinds.values())

    @property
    def words(self) -> str:
        """The signature in words, for a person."""
        groups: dict[int, list[str]] = {}
        for lane, label in self.groups.items():
            groups.setdefault(label, []).append(lane)
        alike = len(groups) == 1
        told = [] if alike else [f"lanes apart in {len(groups)} groups"]
        if alike and len(self.groups) > 1:
            told = ["all lanes alike"]
        for own in groups.values():
            kind = self.kinds[own[0]]
            if kind == IDS and self.graded:
                kind = "the oracle's ids" if own[0] in self.right else "other ids than the oracle's"
            told.append(kind if alike else f"{', '.join(own)}: {kind}")
        if self.hypothesis is not None:
            told.append(f"the ids that {self.hypothesis.label} foretells")
        return "; ".join(told)


@dataclass(frozen=True, kw_only=True)
class Foretold:
    """What the oracle gives for n texts: as it is, under the hypothesis, and under its parts.

    ``under`` is None without a hypothesis; ``lesser`` holds the answers under every combination of
    fewer of its changes than it makes, which must not do as well.
    """

    plain: Outcomes
    under: Outcomes | None = None
    lesser: Sequence[Outcomes] = ()


def kinds(outcomes: Outcomes) -> list[str]:
    """Return each outcome's kind; a crash's says of what the probe died."""
    found = []
    for row, status in enumerate(outcomes.status.tolist()):
        kind = _KINDS[Status(status)]
        note = outcomes.notes.get(row)
        found.append(f"{kind}, {note}" if kind == CRASH and note else kind)
    return found


def signature(
    cause: str,
    observed: Mapping[str, Outcomes],
    foretold: Foretold,
    showing: frozenset[str],
    hypothesis: Hypothesis | None = None,
) -> Signature:
    """Return the signature of a failure, from one outcome a lane and one of the oracle.

    ``showing`` are the lanes of the finding. Lanes without an answer to be believed are left out.
    """
    heard = {lane: one for lane, one in observed.items() if one.status[0] != Status.UNRESOLVED}
    labels = classes(heard)[:, 0].tolist() if heard else []
    graded = foretold.plain.status[0] == Status.OK
    wrong = {lane for lane, one in heard.items() if graded and differs(foretold.plain, one)[0]}
    failing = wrong & showing
    if hypothesis is not None and foretold.under is not None:
        failing = {lane for lane in failing if not differs(foretold.under, heard[lane])[0]}
    return Signature(
        cause=cause,
        groups=dict(zip(heard, labels, strict=True)),
        kinds={lane: kinds(one)[0] for lane, one in heard.items()},
        graded=bool(graded),
        failing=frozenset(failing),
        right=frozenset(lane for lane in heard if graded and lane not in wrong),
        hypothesis=hypothesis,
    )


def alike(wanted: Signature, observed: Mapping[str, Outcomes]) -> Mask:
    """Return bool[n]: the texts on which the lanes are apart and alike, and fail, as ``wanted``.

    ``observed`` may hold some of the lanes: then only those are compared.
    """
    lanes = tuple(observed)
    labels = classes(observed)
    good = np.ones(labels.shape[1], dtype=np.bool_)
    groups = _canonical([wanted.groups[lane] for lane in lanes])
    for row, group in zip(labels, groups, strict=True):
        good &= row == group
    for lane, outcomes in observed.items():
        good &= np.asarray([kind == wanted.kinds[lane] for kind in kinds(outcomes)], dtype=np.bool_)
    return good


def beside_the_oracle(
    wanted: Signature, observed: Mapping[str, Outcomes], foretold: Foretold
) -> Mask:
    """Return bool[n]: the texts on which the lanes stand to the oracle as ``wanted``."""
    graded: Mask = foretold.plain.status == Status.OK
    good = graded.copy() if wanted.graded else np.ones(graded.shape[0], dtype=np.bool_)
    for lane, outcomes in observed.items():
        if lane in wanted.right:
            good &= ~differs(foretold.plain, outcomes)
        if lane in wanted.failing:
            good &= differs(foretold.plain, outcomes)
            if foretold.under is not None:
                good &= ~differs(foretold.under, outcomes)
                for lesser in foretold.lesser:
                    good &= differs(lesser, outcomes)
    return good


def combinations_of(hypothesis: Hypothesis) -> list[Hypothesis]:
    """Return the hypothesis and every combination of fewer of its changes, smallest first."""
    parts = hypothesis.parts
    return [
        some[0] if size == 1 else combine(some)
        for size in range(1, len(parts))
        for some in combinations(parts, size)
    ] + [hypothesis]


def lesser_than(hypothesis: Hypothesis) -> list[Hypothesis]:
    """Return the combinations of fewer of its changes than the hypothesis makes."""
    return combinations_of(hypothesis)[:-1]


def _canonical(labels: Sequence[int]) -> list[int]:
    codes: dict[int, int] = {}
    return [codes.setdefault(label, len(codes)) for label in labels]
