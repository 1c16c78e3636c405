"""A probe started, its hello read and held against the lane; and questions as they come up.

:class:`Starter` is how every probe is started. :class:`Session` keeps one probe and asks it what
comes up, one question or many together; :mod:`harness.probe` asks all of a request file.
"""

import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from harness.answers import Answer, BadAnswer, parse_answer
from harness.build import Probe
from harness.errors import InstrumentInvalid
from harness.hello import Hello, contradictions, parse_hello
from harness.outcomes import Status
from harness.requests import Payload, request_line
from harness.runners import Runner
from harness.runners.spawn import signal_name
from harness.wire import Ended, Endless, Tail, Wire

_LONGEST_HELLO = 1 << 20
# Emulation costs 5-10 times the time; loading, mostly parsing JSON, 4-7 times (measured).
_EMULATED_CASE = 6
_EMULATED_LOAD = 5
# So many bytes of requests go out ahead of their answers: enough that no probe waits for its next
# request, little enough that what a crash leaves unanswered is soon sent again.
_UNDER_WAY = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a probe is allowed.

    ``case_seconds`` between two answers and ``load_seconds`` until hello; ``restarts`` after
    crashes and ``hangs`` among them, beyond which the rest is left unresolved; ``confirmations``:
    how many crashes and hangs are asked again alone; ``answer_bytes``: the longest line, beyond
    what the longest request explains.
    """

    case_seconds: float = 10.0
    load_seconds: float = 120.0
    restarts: int = 50
    hangs: int = 10
    confirmations: int = 5
    answer_bytes: int = 64 << 20

    def scaled(self, emulated: bool) -> "Limits":
        """Return the limits of a lane: an emulated one is given more time."""
        if not emulated:
            return self
        return replace(
            self,
            case_seconds=self.case_seconds * _EMULATED_CASE,
            load_seconds=self.load_seconds * _EMULATED_LOAD,
        )

    def longest_answer(self, longest_request: int) -> int:
        """Return the most bytes a line may have.

        An id takes at most 11 characters and compatibility decomposition makes 33 bytes of 3
        (U+FDFA), so 64 times the request's hex is more than any answer needs.
        """
        return self.answer_bytes + 64 * longest_request


class NoHello(Exception):
    """There was no hello to believe. ``status`` is the exit status where the probe had ended."""

    def __init__(self, why: str, status: int | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.status = status


@dataclass(frozen=True, kw_only=True)
class Starter:
    """All that it takes to start one lane's probe on one tokenizer, as often as need be.

    ``cwd`` is the probe's working directory; ``tail`` gathers the stderr of every start.
    """

    runner: Runner
    probe: Probe
    tokenizer: Path
    axes: Mapping[str, str]
    limits: Limits
    cwd: Path
    tail: Tail
    cancel: threading.Event | None = None

    def start(self, stdin: int, feed: int | None = None) -> tuple[Wire, Hello]:
        """Start the probe and read its hello. The caller closes the wire, and ``stdin`` itself.

        ``feed`` is the writing end where ``stdin`` is a pipe; it belongs to the wire from now on.
        Raises :class:`NoHello` where none came in time, it could not be read, or it contradicts the
        lane; :class:`~harness.errors.LaneUnavailable` where the probe cannot be executed;
        :class:`~harness.runners.spawn.Cancelled`. Whatever is raised, the probe has ended.
        """
        command = (*self.probe.command, str(self.tokenizer.absolute()), *self.probe.args)
        try:
            running = self.runner.start(command, stdin=stdin, cwd=self.cwd)
        except BaseException:
            if feed is not None:
                os.close(feed)
            raise
        wire = Wire(running, self.tail, feed=feed, cancel=self.cancel)
        try:
            return wire, _hello(wire, self.limits, self.axes)
        except BaseException:
            wire.close()
            raise

    def start_fed(self) -> tuple[Wire, Hello]:
        """Start the probe with a pipe to be fed through the wire; raises as :meth:`start`."""
        stdin, feed = os.pipe()
        try:
            return self.start(stdin, feed)
        finally:
            os.close(stdin)


def _hello(wire: Wire, limits: Limits, axes: Mapping[str, str]) -> Hello:
    try:
        line = wire.line(limits.load_seconds, _LONGEST_HELLO)
    except Ended:
        status = wire.status(limits.case_seconds)
        if status is None:
            raise NoHello("closed its output before hello") from None
        raise NoHello(f"ended with {signal_name(status)} before hello", status) from None
    except Endless:
        raise NoHello(f"printed {_LONGEST_HELLO} bytes that are no hello") from None
    if line is None:
        raise NoHello(f"no hello within {limits.load_seconds:g} s")
    try:
        hello = parse_hello(line)
    except ValueError as error:
        raise NoHello(str(error)) from None
    wrong = contradictions(hello, axes)
    if wrong:
        raise NoHello("; ".join(wrong))
    return hello


class Session:
    """A probe to ask what comes up, in any order. Use it as a context manager.

    After a crash or a hang the next question is asked of a new probe.
    """

    def __init__(
        self,
        runner: Runner,
        probe: Probe,
        tokenizer: Path,
        *,
        axes: Mapping[str, str],
        scratch: Path,
        limits: Limits | None = None,
        cancel: threading.Event | None = None,
    ) -> None:
        self._starter = Starter(
            runner=runner,
            probe=probe,
            tokenizer=tokenizer,
            axes=axes,
            limits=limits or Limits().scaled(runner.emulated),
            cwd=scratch,
            tail=Tail(),
            cancel=cancel,
        )
        self._hello: Hello | None = None
        self._live: Wire | None = None

    def __enter__(self) -> Self:
        """Start the probe; raises :class:`InstrumentInvalid` where its hello is not to be had."""
        self._wire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the probe."""
        self.end()

    @property
    def hello(self) -> Hello:
        """What the probe said of itself."""
        self._wire()
        assert self._hello is not None  # noqa: S101 - a wire comes with a hello
        return self._hello

    @property
    def stderr(self) -> str:
        """The end of what the probe wrote to stderr so far."""
        return self._starter.tail.last_words()

    def ask(self, operation: str, payload: Payload) -> Answer:
        """Ask one question: the text's bytes, or ids for ``decode``.

        The answer's status is ``CRASH`` or ``TIMEOUT`` where there was none, and ``UNRESOLVED``
        where the line was no answer; the note says more. Raises :class:`InstrumentInvalid` where
        a new probe does not come up.
        """
        [answer] = self.ask_many(operation, [payload])
        return answer

    def ask_many(self, operation: str, payloads: Sequence[Payload]) -> list[Answer]:
        """Ask many questions of one operation together; return one answer each, in order.

        Requests leave while answers are read. A crash, a hang or a line that is no answer belongs
        to the first question without one; those behind it are asked of a new probe. The time limit
        is that between two answers. Raises as :meth:`ask`.
        """
        lines = [request_line(operation, payload) for payload in payloads]
        most = self._starter.limits.longest_answer(max(map(len, lines), default=0))
        found: list[Answer] = []
        while len(found) < len(lines):
            found += self._of_one_probe(operation, lines[len(found) :], most)
        return found

    def _of_one_probe(self, operation: str, lines: Sequence[bytes], most: int) -> list[Answer]:
        """Return the answers up to what ends the probe, that one included; at least one."""
        limits = self._starter.limits
        wire, hello = self._wire(), self.hello
        if hello.refused is not None:
            return [Answer(Status.UNSUPPORTED, _NONE, hello.refused)] * len(lines)
        if hello.error is not None:
            return [Answer(Status.ERROR, _NONE, hello.error)] * len(lines)
        found: list[Answer] = []
        sent = under_way = 0
        try:
            while len(found) < len(lines):
                leaving = []
                while sent < len(lines) and (under_way < _UNDER_WAY or sent == len(found)):
                    leaving.append(lines[sent])
                    under_way += len(lines[sent])
                    sent += 1
                if leaving:
                    wire.send(b"".join(leaving))
                answer = wire.line(limits.case_seconds, most)
                if answer is None:
                    note = f"no answer within {limits.case_seconds:g} s"
                    found.append(Answer(Status.TIMEOUT, _NONE, note))
                    break
                under_way -= len(lines[len(found)])
                found.append(parse_answer(answer, operation))
            else:
                return found
        except Ended:
            status = wire.status(limits.case_seconds)
            how = "closed its output" if status is None else signal_name(status)
            found.append(Answer(Status.CRASH, _NONE, how))
        except Endless:
            found.append(Answer(Status.UNRESOLVED, _NONE, f"a line of more than {most} bytes"))
        except BadAnswer as bad:
            found.append(Answer(Status.UNRESOLVED, _NONE, bad.why))
        self.end()
        return found

    def end(self) -> None:
        """End the probe; the next question is asked of a new one."""
        if self._live is not None:
            self._live.close()
            self._live = None

    def _wire(self) -> Wire:
        if self._live is None:
            try:
                self._live, self._hello = self._starter.start_fed()
            except NoHello as none:
                raise InstrumentInvalid(
                    none.why,
                    where=self._starter.probe.lane.name,
                    expected="a hello that fits the lane",
                ) from None
        return self._live


_NONE = np.empty(0, dtype=np.uint32)
