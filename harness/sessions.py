"""Probes kept alive side by side, one a lane, and asked the same questions."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self

from harness.answers import Answer
from harness.outcomes import Outcomes, Status, from_answers
from harness.requests import Payload
from harness.session import Session

# A lane's name, and what ends every wait of its session → the session.
Start = Callable[[str, threading.Event], Session]


class Sessions:
    """One session a lane, started when first asked. Use it as a context manager.

    Whatever is raised while lanes are asked, an interrupt included, stops all of them: they
    can only be left then, and no process is left with them.
    """

    def __init__(self, start: Start, jobs: int) -> None:
        self._start = start
        self._jobs = jobs
        self._cancel = threading.Event()
        self._sessions: dict[str, Session] = {}
        self.questions: dict[str, int] = {}

    def __enter__(self) -> Self:
        """Return the sessions; their probes end with the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End every probe."""
        self._cancel.set()
        for session in self._sessions.values():
            session.end()

    def ask(
        self, lanes: Sequence[str], operation: str, payloads: Sequence[Payload]
    ) -> dict[str, Outcomes]:
        """Ask these lanes about every payload, several lanes at a time; one outcome a payload.

        Raises :class:`~harness.errors.InstrumentInvalid` where a probe does not come up again and
        :class:`~harness.errors.LaneUnavailable` where it cannot be executed any more.
        """
        for lane in lanes:
            self.questions[lane] = self.questions.get(lane, 0) + len(payloads)
            if lane not in self._sessions:
                self._sessions[lane] = self._start(lane, self._cancel)
        with ThreadPoolExecutor(max_workers=min(self._jobs, len(lanes))) as pool:
            asked = {
                lane: pool.submit(self._sessions[lane].ask_many, operation, payloads)
                for lane in lanes
            }
            try:
                return {lane: outcomes(future.result()) for lane, future in asked.items()}
            except BaseException:
                self._cancel.set()
                raise


def outcomes(answers: Sequence[Answer]) -> Outcomes:
    """Return answers as outcomes, one a case."""
    return from_answers(
        [one.values if one.status is Status.OK else one.status for one in answers],
        {row: one.note for row, one in enumerate(answers) if one.note is not None},
    )
