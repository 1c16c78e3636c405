"""The answers of one started probe, read in bulk as they come."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

from harness.answers import PARSED_TOGETHER, BadAnswer, Known, after_lines
from harness.outcomes import Outcomes
from harness.requests import RequestFile
from harness.runners.spawn import signal_name
from harness.session import Limits
from harness.wire import Wire


@dataclass(frozen=True)
class Stop:
    """Why a stream ended. ``status`` is None for a probe that fell silent."""

    hung: bool
    status: int | None
    hello: bool = True

    @property
    def words(self) -> str:
        """What the probe did, as a note says it."""
        if self.hung:
            return "no answer"
        if self.status is None:
            return "closed its output"
        if self.status == 0:
            return "exited with status 0 before answering"
        return signal_name(self.status)


class Breach(Exception):
    """The stream breaks the protocol; ``request`` is where it shows, where that is known."""

    def __init__(self, why: str, request: int | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.request = request


class Overlong(Breach):
    """A line is longer than any answer can be."""


class Stream:
    """What a probe answers to requests ``first`` to ``last``.

    Iterating gives the outcomes in parts, cut at the same requests whatever the probe, so that
    lanes which answer alike are read once. Afterwards ``stop`` says why the stream ended early,
    None where every request has its answer, and ``remarks`` what was odd about its end. Raises
    :class:`Breach`.
    """

    def __init__(
        self,
        wire: Wire,
        requests: RequestFile,
        first: int,
        last: int,
        *,
        limits: Limits,
        known: Known,
    ) -> None:
        self.stop: Stop | None = None
        self.remarks: list[str] = []
        self._wire = wire
        self._requests = requests
        self._next = first
        self._last = last
        self._limits = limits
        self._most = limits.longest_answer(requests.longest())
        self._known = known

    def __iter__(self) -> Iterator[Outcomes]:
        """Read until every request has its answer, or the probe ends or falls silent."""
        wire, limits = self._wire, self._limits
        pending = bytearray(wire.take())
        whole = pending.count(b"\n")  # lines in pending, the last of them perhaps unfinished
        unfinished = len(pending) - (pending.rfind(b"\n") + 1)
        while True:
            if self._next + whole > self._last:
                raise Breach("gave more answers than it was asked for")
            if unfinished > self._most:
                why = f"gave a line of more than {self._most} bytes"
                raise Overlong(why, self._next + whole)
            while self._next % PARSED_TOGETHER + whole >= PARSED_TOGETHER:
                lines = PARSED_TOGETHER - self._next % PARSED_TOGETHER
                yield self._parsed(pending, lines)
                whole -= lines
            deadline = time.monotonic() + limits.case_seconds
            data = wire.read(limits.case_seconds)
            while data and b"\n" not in data and unfinished + len(data) <= self._most:
                # Part of an answer does not start the clock anew.
                pending += data
                unfinished += len(data)
                data = wire.read(deadline - time.monotonic())
            if not data:
                if whole:
                    yield self._parsed(pending, whole)
                self.stop = self._ending(silent=data is None)
                return
            pending += data
            whole += data.count(b"\n")
            end = data.rfind(b"\n")
            unfinished = unfinished + len(data) if end < 0 else len(data) - end - 1
            wire.settle(len(data))

    def _parsed(self, pending: bytearray, lines: int) -> Outcomes:
        """Read the first ``lines`` answers of ``pending``, and take them out of it."""
        end = after_lines(pending, lines)
        with memoryview(pending) as view:  # a slice of the array itself would be copied twice
            chunk = bytes(view[:end])
        del pending[:end]
        kinds = self._requests.kinds[self._next : self._next + lines].tolist()
        operations = [self._requests.operations[kind] for kind in kinds]
        try:
            found = self._known.read(chunk, operations)
        except BadAnswer as bad:
            raise Breach(bad.why, self._next + bad.index) from None
        self._next += lines
        return found

    def _ending(self, *, silent: bool) -> Stop | None:
        wait = self._limits.case_seconds
        if self._next < self._last:
            return Stop(True, None) if silent else Stop(False, self._wire.status(wait))
        status = None if silent else self._wire.status(wait)
        if status is None:
            self.remarks.append("did not exit at the end of its requests")
        elif status != 0:
            self.remarks.append(f"{signal_name(status)} after its last answer")
        return None
