"""Hypotheses beside each other: which cases each explains, and which are left to be asked them all.

They are compared by a sample of the mismatching cases. What explains it is asked every case, one
after the other, and a case that refutes one is asked of the others first: few are asked every case.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from harness.diff import Mask, differs
from harness.hypotheses.hypothesis import Parameters
from harness.hypotheses.seen import Seen
from harness.hypotheses.trial import Answer, Candidate, Examined, Trial

# Mismatching cases asked before more of them are: most hypotheses fall on the first.
_PROBES = (1, 8)
# Mismatching cases by which hypotheses are compared, and about how many bytes they may have.
SAMPLE = 128
_SAMPLE_BYTES = 1 << 17
# Hypotheses of one size that are asked every case, after what refuted those before them.
_FULL = 32
# Mismatching and agreeing cases that are kept of those which refute one.
_AGAINST = 4

# Names and parameters of the parts, and the byte policy.
Identity = tuple[tuple[tuple[str, Parameters], ...], str]


@dataclass(eq=False)
class Tried:
    """A candidate, and which cases of the sample it explains: None where it was not asked."""

    candidate: Candidate
    explains: Mask | None = None
    refusal: str | None = None
    seen: int = 0
    fits: int = 0
    falls: int | None = None
    alive: bool = True
    full: Examined | None = None

    def hear(self, answer: Answer, rows: Sequence[int]) -> None:
        """Take in what became of the cases at ``rows``."""
        if isinstance(answer, str):
            self.refusal, self.alive = answer, False
            return
        self.seen, self.fits = len(rows), int(answer.sum())
        wrong = np.flatnonzero(~answer)
        self.falls = rows[int(wrong[0])] if wrong.shape[0] else None
        self.alive = not wrong.shape[0]

    @property
    def count(self) -> int:
        """How many cases of the sample it explains."""
        return 0 if self.explains is None else int(self.explains.sum())

    def examined(self) -> Examined:
        """Return what is known of it."""
        if self.full is not None:
            return self.full
        return Examined(
            self.candidate.hypothesis,
            accepted=False,
            tried=self.seen,
            explained=self.fits,
            refuted_by=self.falls,
            note=self.refusal,
        )

    @property
    def mask(self) -> Mask:
        """Which cases of the sample it explains; it must have been compared."""
        assert self.explains is not None  # noqa: S101
        return self.explains

    @property
    def identity(self) -> Identity:
        """What tells it from others, whatever order its parts were given in."""
        parts = self.candidate.parts
        return (tuple((part.name, part.parameters) for part in parts), self.candidate.policy)


@dataclass(eq=False)
class Panel:
    """The cases that hypotheses are compared by.

    ``sample`` are mismatching cases. ``telling`` are cases, agreeing ones too, that refuted what
    had explained the sample.
    """

    trial: Trial
    sample: tuple[int, ...] = ()
    telling: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, trial: Trial) -> "Panel":
        """Choose the sample."""
        return cls(trial, _sample(trial.seen))

    def narrow(self, tried: Sequence[Tried], rows: Sequence[int]) -> None:
        """Ask the first cases, then more, of those that still stand."""
        for size in (*_PROBES, len(rows)):
            some = rows[:size]
            standing = [one for one in tried if one.alive and one.seen < len(some)]
            answers = self.trial.agree([(one.candidate, some) for one in standing])
            for one, answer in zip(standing, answers, strict=True):
                one.hear(answer, some)
                if len(some) == len(self.sample) and not isinstance(answer, str):
                    one.explains = answer

    def compare(self, tried: Sequence[Tried]) -> None:
        """Ask the whole sample of those that have not been asked."""
        missing = [one for one in tried if one.explains is None and one.refusal is None]
        answers = self.trial.agree([(one.candidate, self.sample) for one in missing])
        for one, answer in zip(missing, answers, strict=True):
            one.hear(answer, self.sample)
            if not isinstance(answer, str):
                one.explains = answer

    def settle(self, standing: Sequence[Tried]) -> None:
        """Ask every case of those that explain the sample, until none stands untested.

        What refutes one is asked of the others first, so that few are asked every case.
        """
        left = list(standing)
        for row in self.telling:
            left = self._still(left, row)
        for _ in range(_FULL):
            if not left:
                return
            one = left.pop(0)
            one.full = self.trial.everywhere(one.candidate)
            for row in self._against(one.full):
                if row not in self.telling:
                    self.telling.append(row)
                    left = self._still(left, row)
        for one in left:
            one.alive = False
            one.refusal = "it explains the sample, as many others do, and was not tested further"

    def _still(self, tried: Sequence[Tried], row: int) -> list[Tried]:
        answers = self.trial.agree([(one.candidate, (row,)) for one in tried])
        for one, answer in zip(tried, answers, strict=True):
            if isinstance(answer, str):
                one.refusal, one.alive = answer, False
            elif not answer[0]:
                one.falls, one.alive = row, False
        return [one for one in tried if one.alive]

    def _against(self, full: Examined) -> list[int]:
        """Return cases that speak against what was asked every case, short ones first."""
        if full.predicted is None:
            return []
        seen = self.trial.seen
        wrong = differs(full.predicted, seen.observed) & seen.judged
        found: list[int] = []
        for rows in (seen.mismatching, seen.agreeing):
            contradicting = rows[wrong[rows]].tolist()
            found += sorted(contradicting, key=lambda row: len(seen.cases[row]))[:_AGAINST]
        return found

    def widen(self, singles: Sequence[Tried]) -> None:
        """Take into the sample the mismatches that nothing which explained the sample explains."""
        mismatching = set(self.trial.seen.mismatching.tolist())
        more = [one for one in self.telling if one in mismatching and one not in self.sample]
        if more:
            self.sample += tuple(more)
            for one in singles:
                one.explains = None


def _sample(seen: Seen) -> tuple[int, ...]:
    """Return mismatching cases, the shortest first: they cost least and refute as well.

    The shortest lead; the others lie evenly among those that follow by length.
    """
    order = sorted(seen.mismatching.tolist(), key=lambda row: len(seen.cases[row]))
    shortest, rest = order[: SAMPLE // 4], order[SAMPLE // 4 :]
    wanted = SAMPLE - len(shortest)
    if len(rest) > wanted:
        rest = [rest[int(place)] for place in np.linspace(0, len(rest) - 1, wanted)]
    kept: list[int] = []
    size = 0
    for row in (*shortest, *rest):
        size += len(seen.cases[row])
        if kept and size > _SAMPLE_BYTES:
            break
        kept.append(row)
    return tuple(kept)
