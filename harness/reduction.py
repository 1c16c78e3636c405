"""A diverging case made smaller on the lanes that show it, keeping the failure the same.

One probe a lane stays alive. A candidate is first put to one lane of each group that the full case
sets apart, then to the oracle, and only what passes both to the other lanes. What is left at the
end is put to new probes that were asked nothing else.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from harness.diff import differs
from harness.errors import InstrumentInvalid, LaneUnavailable, TokparityError
from harness.failure import Failure, cannot_shrink, failure_of
from harness.foretell import only
from harness.outcomes import Outcomes, Status
from harness.plural import counted
from harness.reduce import Shrunk, is_utf8, shrink
from harness.reduced import Reduced
from harness.report.model import Finding, Report
from harness.rig import Rig
from harness.sessions import Sessions
from harness.signature import (
    HANG,
    alike,
    beside_the_oracle,
    kinds,
)

__all__ = ["Interrupted", "Reduced", "reduce_case", "reduce_findings"]

QUESTIONS = 2000
_TOGETHER = 64
# A hang costs its whole time and a new probe, so fewer are worth having, and each is given less:
# what answers at all answers small texts at once. The last word has a probe with the whole time.
HANGS = 60
_HANG_PATIENCE = 0.2
_HANG_SECONDS = 1.0


class Interrupted(KeyboardInterrupt):
    """The person has enough; ``reduced`` is what had been found until then."""

    def __init__(self, reduced: Reduced) -> None:
        super().__init__()
        self.reduced = reduced


def reduce_findings(
    rig: Rig, report: Report, questions: int | None = None
) -> dict[str, Reduced | TokparityError]:
    """Reduce one case of every finding: by the finding's id what came of it, or why nothing did.

    Tried first is the case that shows least else, then the shortest.
    """
    shown: dict[str, int] = {}
    for finding in report.findings:
        for case in finding.cases:
            shown[case] = shown.get(case, 0) + 1
    data = dict(zip(rig.plan.case_ids, (case.data for case in rig.plan.cases), strict=True))
    done: dict[str, Reduced | TokparityError] = {}
    for finding in report.findings:
        if not finding.cases or finding.absent:
            continue
        case = min(
            finding.cases, key=lambda name: (not is_utf8(data[name]), shown[name], len(data[name]))
        )
        try:
            done[finding.id] = reduce_case(rig, finding, case, questions)
        except TokparityError as error:
            done[finding.id] = error
    return done


def reduce_case(rig: Rig, finding: Finding, case: str, questions: int | None = None) -> Reduced:
    """Return the smallest text found that shows the finding as ``case`` (``corpus/id``) does.

    ``questions`` bounds the candidates; without it :data:`QUESTIONS`, and :data:`HANGS` where a
    lane hangs. A probe that cannot be started again ends the search with what was found so far.
    Raises :class:`Interrupted` at Ctrl-C, and :class:`~harness.errors.UsageError` for a case that
    cannot be shrunk: one that does not show the finding, that answers in two ways, or whose text
    plays no part in it.
    """
    work = _Work(rig, finding, case, failure_of(rig, finding, case))
    return work.reduced(questions)


class _Work:
    """One case on its way to the smallest: what was asked, and what came of it."""

    def __init__(self, rig: Rig, finding: Finding, case: str, failure: Failure) -> None:
        self._rig = rig
        self._finding = finding
        self._case = case
        self._failure = failure
        self._signature = failure.signature
        self._one = rig.evidence_on(finding.tokenizer)
        self._questions: dict[str, int] = {}
        # What each text that shows the failure gave: the oracle's answer, and every lane's.
        self._seen: dict[bytes, tuple[Outcomes, Mapping[str, Outcomes]]] = {}
        self._best = failure.data

    def reduced(self, questions: int | None) -> Reduced:
        """Shrink the case and put what is left to new probes."""
        hangs = HANG in self._signature.kinds.values()
        budget = questions or (HANGS if hangs else QUESTIONS)
        patience = _patience(self._rig.plan.config.case_seconds) if hangs else 1.0
        notes = [] if patience == 1 else [f"a hang was given {patience:.0%} of a case's time"]
        try:
            with self._sessions(patience) as sessions:
                shrunk = self._shrunk(sessions, budget)
            confirmed = self._confirmed()
        except KeyboardInterrupt:
            raise Interrupted(self._result(None, "interrupted", notes)) from None
        except (InstrumentInvalid, LaneUnavailable) as error:
            words = "; ".join(line.strip() for line in str(error).splitlines())
            return self._result(None, f"a probe is lost: {words}", notes)
        stopped = (
            None if shrunk.minimal else f"the budget of {counted(budget, 'question')} is spent"
        )
        if not confirmed:
            stopped = "new probes do not show it: answers depend on what was asked before"
        return self._result(shrunk, stopped, notes, confirmed=confirmed)

    @contextmanager
    def _sessions(self, patience: float = 1.0) -> Iterator[Sessions]:
        """Give sessions, and add up what they were asked."""
        with self._rig.sessions(self._one, patience=patience) as sessions:
            try:
                yield sessions
            finally:
                for lane, count in sessions.questions.items():
                    self._questions[lane] = self._questions.get(lane, 0) + count

    def _shrunk(self, sessions: Sessions, budget: int) -> Shrunk:
        self._rig.watch.stage(f"shrinking {self._case}", None)
        self._hold_to_the_run(sessions)
        return shrink(
            self._failure.data,
            lambda candidates: self._interesting(sessions, candidates),
            budget=budget,
            # Where a lane dies over the case every good candidate costs a probe: one is enough.
            together=1 if self._signature.costly else _TOGETHER,
            found=self._found,
        )

    def _found(self, data: bytes) -> None:
        self._best = data
        self._rig.watch.step(f"{self._case}: {counted(len(data), 'byte')} left")

    def _hold_to_the_run(self, sessions: Sessions) -> None:
        """Ask the full case again: it must give what it gave in the run."""
        failure = self._failure
        foretold = failure.foreteller.foretell([failure.data])
        again = self._asked(sessions, self._signature.lanes, [failure.data])
        for lane, outcomes in again.items():
            before = failure.observed[lane]
            if differs(before, outcomes)[0]:
                ways = f"{_told(before)}, and {_told(outcomes)}"
                raise cannot_shrink(self._case, f"{lane} answers in two ways: {ways}")
        # The words for a crash are those of these probes, as they will be for the candidates.
        self._signature = replace(
            self._signature, kinds={lane: kinds(one)[0] for lane, one in again.items()}
        )
        self._seen[failure.data] = (foretold.plain, again)

    def _asked(
        self, sessions: Sessions, lanes: Sequence[str], texts: Sequence[bytes]
    ) -> dict[str, Outcomes]:
        """Ask lanes about texts that the operation has a question for."""
        payloads = self._failure.foreteller.payloads(texts)
        return sessions.ask(
            lanes, self._failure.operation, [one for one in payloads if one is not None]
        )

    def _interesting(self, sessions: Sessions, candidates: Sequence[bytes]) -> list[bool]:
        """Return which candidates show the failure: cheap witnesses first, all lanes at last."""
        wanted, foreteller = self._signature, self._failure.foreteller
        texts = [
            text
            for text, payload in zip(candidates, foreteller.payloads(candidates), strict=True)
            if payload is not None
        ]
        texts, observed = _kept(texts, {}, [True] * len(texts))
        others = [lane for lane in wanted.lanes if lane not in wanted.witnesses]
        for lanes in (wanted.witnesses, others):
            if texts and lanes:
                observed |= self._asked(sessions, lanes, texts)
                texts, observed = _kept(texts, observed, alike(wanted, observed).tolist())
            if texts and lanes:
                foretold = foreteller.foretell(texts)
                passed = beside_the_oracle(wanted, observed, foretold).tolist()
                plain = only(foretold.plain, passed)
                texts, observed = _kept(texts, observed, passed)
        for row, text in enumerate(texts):
            own = {lane: outcomes.take([row]) for lane, outcomes in observed.items()}
            self._seen[text] = (plain.take([row]), own)
        good = set(texts)
        return [candidate in good for candidate in candidates]

    def _confirmed(self) -> bool:
        """Whether new probes, asked nothing else and given the whole time, show what is left."""
        with self._sessions() as sessions:
            return self._interesting(sessions, [self._best]) == [True]

    def _result(
        self,
        shrunk: Shrunk | None,
        stopped: str | None,
        notes: Sequence[str],
        *,
        confirmed: bool = False,
    ) -> Reduced:
        failure, wanted = self._failure, self._signature
        plain, observed = self._seen.get(self._best, (None, failure.observed))
        missing = [
            f"{lane.name} could not take part: {error}"
            for lane, error in self._rig.unavailable.items()
        ]
        return Reduced(
            case=self._case,
            original=failure.data,
            data=self._best,
            operation=failure.operation,
            tokenizer=self._finding.tokenizer,
            cause=wanted.cause,
            finding=self._finding.id,
            lanes=wanted.lanes,
            questions=dict(self._questions),
            unit="character" if is_utf8(failure.data) else "byte",
            minimal=confirmed and shrunk is not None and shrunk.minimal,
            confirmed=confirmed,
            signature=wanted.words,
            expected=None if plain is None else _ids(plain),
            observed={lane: _ids(one) for lane, one in observed.items()},
            kinds={lane: kinds(one)[0] for lane, one in observed.items()},
            stopped=stopped,
            notes=(*notes, *missing),
        )


def _patience(seconds: float) -> float:
    return min(1.0, max(_HANG_PATIENCE, _HANG_SECONDS / seconds))


def _kept(
    texts: Sequence[bytes], observed: Mapping[str, Outcomes], mask: Sequence[bool]
) -> tuple[list[bytes], dict[str, Outcomes]]:
    """Return the texts that the mask keeps, and what the lanes gave for them."""
    kept = [text for text, keep in zip(texts, mask, strict=True) if keep]
    return kept, {lane: only(outcomes, mask) for lane, outcomes in observed.items()}


def _ids(outcomes: Outcomes) -> tuple[int, ...] | None:
    """Return the ids of one outcome, None where it has none."""
    return tuple(outcomes.answer(0).tolist()) if outcomes.status[0] == Status.OK else None


def _told(outcomes: Outcomes) -> str:
    ids = _ids(outcomes)
    return kinds(outcomes)[0] if ids is None else f"ids {' '.join(map(str, ids[:8]))}"
