"""All requests of one tokenizer asked of one probe, and every answer accounted for.

The steps, and what each can find:

1. start: a probe that cannot be executed raises :class:`~harness.errors.LaneUnavailable`;
2. hello: none, garbage, or one that contradicts the lane makes the lane *invalid*; death by a
   signal while loading is a crash of every case; a refusal makes every case ``UNSUPPORTED``;
3. answers, streamed: the probe reads the request file by itself, answers are read in bulk;
4. death or silence: belongs to the first case without an answer; that case is asked again alone,
   and a new probe goes on behind it;
5. a line too many, too few or of no known form: the lane is invalid, and the case is looked for one
   request at a time (:mod:`harness.lockstep`).

Nothing here judges: an invalid lane and a crash are values, so that other lanes go on.
"""

import os
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.answers import Known
from harness.atomic import storage, write_atomically
from harness.build import Probe
from harness.errors import StorageError
from harness.hello import Hello, shown
from harness.lockstep import Violation, find_violation
from harness.outcomes import Outcomes, Status, from_answers
from harness.requests import RequestFile
from harness.runners import Runner
from harness.runners.spawn import Cancelled, Lost
from harness.session import Limits, NoHello, Session, Starter
from harness.stream import Breach, Overlong, Stop, Stream
from harness.wire import Tail, Wire

__all__ = ["Cancelled", "LaneRun", "Limits", "Session", "run_lane"]

# A probe that has said hello and then answers none of so many requests is not reading at all.
_DEAF_AFTER = 3


@dataclass(frozen=True, kw_only=True)
class LaneRun:
    """What one lane gave for one tokenizer.

    ``outcomes``  one a request, in order; all ``UNRESOLVED`` where the lane is invalid.
    ``invalid``   why nothing of it may be believed, or None; ``invalid_request`` is the index of
                  the request it was seen on, where that is known.
    ``restarts``  how often a new probe had to go on behind a crash or a hang.
    ``remarks``   what was odd and is no finding about a case.
    ``seconds``   wall time, of which ``load_seconds`` passed until the first hello.
    """

    hello: Hello | None
    outcomes: Outcomes
    invalid: str | None = None
    invalid_request: int | None = None
    restarts: int
    stderr_path: Path
    stderr_tail: str
    remarks: tuple[str, ...]
    seconds: float
    load_seconds: float


def run_lane(
    runner: Runner,
    probe: Probe,
    tokenizer: Path,
    requests: RequestFile,
    *,
    axes: Mapping[str, str],
    scratch: Path,
    limits: Limits | None = None,
    cancel: threading.Event | None = None,
    known: Known | None = None,
) -> LaneRun:
    """Ask ``probe`` every request about ``tokenizer``.

    ``axes`` are the lane's effective axes, against which hello is held. ``scratch`` is a directory
    for this run: a fresh directory in it is the probe's working directory and keeps its stderr.
    ``known`` is shared by the lanes of one request file: what one lane answered is not read again
    where another answers alike. ``limits`` defaults to those of the runner. Setting ``cancel``
    raises :class:`Cancelled` within a fraction of a second. Raises
    :class:`~harness.errors.LaneUnavailable` where the probe cannot
    be executed and :class:`~harness.errors.StorageError`. A lane whose machine or engine is lost on
    the way is *invalid*, so that the others go on. Whatever is raised, no process is left.
    """
    with storage(scratch):
        cwd = Path(tempfile.mkdtemp(prefix=f"{probe.lane.triple}-", dir=scratch))
    starter = Starter(
        runner=runner,
        probe=probe,
        tokenizer=tokenizer,
        axes=axes,
        limits=limits or Limits().scaled(runner.emulated),
        cwd=cwd,
        tail=Tail(),
        cancel=cancel,
    )
    return _Run(starter, requests, known or Known()).whole()


class _Broken(Breach):
    """The protocol is broken beyond doubt; nothing of the lane is to be believed."""


class _Run:
    """One lane and tokenizer, from the first hello to the last answer."""

    def __init__(self, starter: Starter, requests: RequestFile, known: Known) -> None:
        self._starter = starter
        self._known = known
        self._limits = starter.limits
        self._requests = requests
        self._hello: Hello | None = None
        self._load_seconds = 0.0
        self._parts: list[Outcomes] = []
        self._answered = 0  # outcomes in parts, and the index of the next request
        self._remarks: list[str] = []
        self._restarts = 0
        self._hangs = 0
        self._confirmed = 0
        self._looked_closely = False

    def whole(self) -> LaneRun:
        start = time.monotonic()
        invalid: _Broken | None = None
        try:
            self._ask_everything()
        except _Broken as broken:
            invalid = broken
        except Lost as lost:
            # Nothing is known of the probe, so nothing of it may be called a crash.
            invalid = _Broken(lost.what)
        if invalid is not None:
            self._parts = [_all(len(self._requests), Status.UNRESOLVED, invalid.why)]
        stderr = self._starter.cwd / "stderr.txt"
        try:
            write_atomically(stderr, self._starter.tail.whole())
        except StorageError as error:
            # A full disk must not cost a lane that has answered everything.
            self._remark(f"its stderr was not kept: {error.what}")
        return LaneRun(
            hello=self._hello,
            outcomes=self._known.joined(self._parts),
            invalid=invalid.why if invalid else None,
            invalid_request=invalid.request if invalid else None,
            restarts=self._restarts,
            stderr_path=stderr,
            stderr_tail=self._starter.tail.last_words(),
            remarks=tuple(self._remarks),
            seconds=time.monotonic() - start,
            load_seconds=self._load_seconds,
        )

    def _ask_everything(self) -> None:
        count = len(self._requests)
        while True:
            first = self._answered
            with storage(self._requests.path):
                stdin = os.open(self._requests.path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.lseek(stdin, int(self._requests.offsets[first]), os.SEEK_SET)
                stop = self._stream(stdin, first, count)
            finally:
                os.close(stdin)
            if stop is None:
                return
            if not stop.hello:
                self._fill(f"not asked: the probe did not come up again ({stop.words})")
                return
            self._record(stop, first)
            if self._answered == count:
                return
            if self._restarts >= self._limits.restarts or self._hangs >= self._limits.hangs:
                self._fill(f"not asked: {self._restarts + 1} probes had died or hung before it")
                return
            self._restarts += 1

    def _stream(self, stdin: int, first: int, last: int) -> Stop | None:
        """Ask requests ``first`` to ``last``, which ``stdin`` holds; None where all is answered."""
        start = time.monotonic()
        try:
            wire, hello = self._starter.start(stdin)
        except NoHello as none:
            return self._no_hello(none)
        with wire:
            if self._hello is None:
                self._hello = hello
                self._load_seconds = time.monotonic() - start
            if hello.refused is not None:
                self._put(_all(last - first, Status.UNSUPPORTED, hello.refused))
                return None
            if hello.error is not None:
                self._put(_all(last - first, Status.ERROR, hello.error))
                return None
            return self._answers(wire, first, last)

    def _answers(self, wire: Wire, first: int, last: int) -> Stop | None:
        stream = Stream(wire, self._requests, first, last, limits=self._limits, known=self._known)
        try:
            for part in stream:
                self._put(part)
        except Overlong as breach:  # asking again would only flood again
            raise _Broken(breach.why, breach.request) from None
        except Breach as breach:
            raise self._broken(first, last, breach.why, breach.request) from None
        for remark in stream.remarks:
            self._remark(remark)
        return stream.stop

    def _no_hello(self, none: NoHello) -> Stop | None:
        died = none.status is not None and none.status < 0
        if self._hello is not None:
            return Stop(False, none.status, hello=False)
        if not died:
            # What a program says last, as it gives up, is what stopped it.
            words = self._starter.tail.last_words().splitlines()
            raise _Broken(f"{none.why}; stderr ends: {shown(words[-1])}" if words else none.why)
        # A loader that dies on one platform is a finding about the subject, not about the harness.
        self._put(_all(len(self._requests), Status.CRASH, f"{none.why}, while loading"))
        return None

    def _record(self, stop: Stop, first: int) -> None:
        """Give the request that was not answered its status, and ask it again alone."""
        index = self._answered
        note = stop.words
        if stop.hung:
            note = f"no answer within {self._limits.case_seconds:g} s"
            self._hangs += 1
        if stop.status == 0:
            # It may have left out an answer long before: then every later id is another case's.
            self._look_closely(first, index + 1, index)
        # Where all so far was silence the probe is perhaps not reading, and waiting would be vain.
        silence = stop.hung and self._hangs == index + 1
        if not silence and self._confirmed < self._limits.confirmations:
            self._confirmed += 1
            alone = self._also_alone(index)
            if alone:
                note += ", also alone"
            elif alone is False:
                # If it answered twice before, the index is one too high; if it keeps its answers
                # back, too low. Alone it does answer, at the end of its input if not before.
                answered = index + 1 if index == first else index
                self._look_closely(first, index + 1, answered)
                note += ", only after earlier cases"
        self._put(_all(1, Status.TIMEOUT if stop.hung else Status.CRASH, note))
        if self._hangs == self._answered == _DEAF_AFTER:
            raise _Broken(f"said hello and answered none of its first {_DEAF_AFTER} requests", 0)

    def _also_alone(self, index: int) -> bool | None:
        """Ask one request of a new probe; whether it dies or hangs there, too, if it comes up."""
        kept = self._parts, self._answered, self._remarks
        self._parts, self._remarks = [], []
        try:
            with (
                storage(self._starter.cwd),
                tempfile.TemporaryFile(dir=self._starter.cwd) as one,
            ):
                one.write(self._requests.line(index))
                one.flush()
                one.seek(0)
                stop = self._stream(one.fileno(), index, index + 1)
                return None if stop is not None and not stop.hello else stop is not None
        finally:
            self._parts, self._answered, self._remarks = kept

    def _look_closely(self, first: int, last: int, answered: int) -> None:
        """Ask one by one, once a lane, whether the answers so far belong to their requests."""
        if self._looked_closely:
            return
        self._looked_closely = True
        found = find_violation(self._starter, self._requests, first, last, answered)
        if found is not None:
            raise _Broken(found.why, found.request)

    def _broken(self, first: int, last: int, why: str, request: int | None = None) -> _Broken:
        """Return the breach with the request it happens on, found one request at a time."""
        found = find_violation(self._starter, self._requests, first, last, self._answered)
        if found is None:
            found = Violation(f"{why}, but not when asked one request at a time", request)
        return _Broken(found.why, found.request)

    def _fill(self, note: str) -> None:
        self._put(_all(len(self._requests) - self._answered, Status.UNRESOLVED, note))

    def _put(self, part: Outcomes) -> None:
        self._parts.append(part)
        self._answered += len(part)

    def _remark(self, words: str) -> None:
        if words not in self._remarks:
            self._remarks.append(words)


def _all(count: int, status: Status, note: str) -> Outcomes:
    return from_answers([status] * count, dict.fromkeys(range(count), note))
