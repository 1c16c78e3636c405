"""Chat templates rendered as the field renders them, by a process that can be ended.

jinja2's immutable sandbox with the field's settings (:mod:`harness.served.live.template_child`).
What a template does wrong — a loop without end, too much memory, an exception — costs that one
rendering and is told in words; one that runs into a limit is not tried again.
"""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from harness.errors import LaneUnavailable
from harness.runners.spawn import end_group, signal_name
from harness.served.live.values import Message

_CHILD = Path(__file__).with_name("template_child.py")
# Characters of messages sent at a time: the child holds a batch whole, under its memory limit.
_BATCH = 8 << 20
_LAST_WORDS = 2000
# It imports jinja2 and says so; on a busy machine that takes a while.
_START_SECONDS = 60.0


@dataclass(frozen=True)
class Template:
    """A chat template's source, and the special tokens it is given: ``bos_token`` → its text."""

    source: str
    tokens: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Job:
    """One conversation to render; ``opening`` adds the beginning of the answer."""

    template: Template
    messages: tuple[Message, ...]
    opening: bool = True


@dataclass(frozen=True)
class Rendered:
    """A rendering: its text, or ``error`` in words; the words may quote the template."""

    text: str | None
    error: str | None = None


@dataclass(frozen=True)
class RenderLimits:
    """What one rendering may take.

    ``seconds`` are of processor time, ``wall`` of waiting for what that does not end;
    ``memory`` is the whole process's, in bytes; ``characters`` those of the text.
    """

    seconds: float = 5.0
    wall: float = 30.0
    memory: int = 1 << 30
    characters: int = 16 << 20


class Renderer:
    """A context manager that renders; its clock stands still at the moment it was made.

    The process is started by the first rendering and serves all that follow. One thread at a time.
    """

    def __init__(
        self, *, clock: datetime | None = None, limits: RenderLimits | None = None
    ) -> None:
        self._now = clock or datetime.now()
        self._limits = limits or RenderLimits()
        self._child: _Child | None = None
        self._given_up: dict[str, str] = {}

    def __enter__(self) -> "Renderer":
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        self.close()

    def close(self) -> None:
        """End the process. May be repeated; the next rendering starts another."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()

    def render(self, jobs: Sequence[Job]) -> list[Rendered]:
        """Return every job's rendering, in order.

        A template that has run into a limit, or taken the process with it, is given up: every
        further job of its source, also in later calls, gets the same error without being tried.
        Raises :class:`LaneUnavailable` only where no process can be started.
        """
        found: list[Rendered] = []
        for batch in _batches(jobs):
            found += self._batch(batch)
        return found

    def _batch(self, jobs: Sequence[Job]) -> list[Rendered]:
        found: list[Rendered | None] = [None] * len(jobs)
        while left := [
            at
            for at, job in enumerate(jobs)
            if found[at] is None and job.template.source not in self._given_up
        ]:
            try:
                for at, one in zip(left, self._answers([jobs[at] for at in left]), strict=False):
                    found[at] = one
            except BaseException:
                self.close()  # what it was asked, it would still answer
                raise
        return [
            one or Rendered(None, self._given_up[job.template.source])
            for one, job in zip(found, jobs, strict=True)
        ]

    def _answers(self, jobs: Sequence[Job]) -> Iterator[Rendered]:
        """Yield the answers of as many jobs as the process lives to give, and how it ended."""
        child = self._child = self._child or _Child()
        child.send(_message(jobs, self._now, self._limits))
        for job in jobs:
            line = child.line(self._limits.wall)
            if line is None:
                self._child = None
                words = f"{child.end(self._limits)}, and is not tried again"
                self._given_up[job.template.source] = words
                yield Rendered(None, words)
                return
            text, error, given_up = json.loads(line)
            if given_up:
                self._given_up[job.template.source] = error
            yield Rendered(text, error)


class _Child:
    """The process, and the bytes that it has printed and nobody has read yet."""

    def __init__(self) -> None:
        try:
            self._process = subprocess.Popen(
                # -P: what lies beside the program, an `http` among it, is no module of its.
                [sys.executable, "-P", str(_CHILD)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            raise LaneUnavailable(
                f"the renderer of chat templates cannot be started: {error.strerror}",
                where=sys.executable,
            ) from error
        self._unread = bytearray()
        try:
            ready = self.line(_START_SECONDS)
        except BaseException:
            self.kill()
            raise
        if ready is None:
            raise LaneUnavailable(
                f"the renderer of chat templates does not start: {self._end() or 'it waits'}",
                where=sys.executable,
            )

    def send(self, message: bytes) -> None:
        """Hand over a batch; the process reads it whole before it prints."""
        assert self._process.stdin is not None  # noqa: S101
        left = memoryview(message)
        # One that has died shows where its answer is waited for.
        with suppress(BrokenPipeError):
            while left:
                left = left[self._process.stdin.write(left) :]

    def line(self, seconds: float) -> bytes | None:
        """Return the next line; None where the process ended, or gave none in ``seconds``."""
        assert self._process.stdout is not None  # noqa: S101
        handle = self._process.stdout.fileno()
        deadline = time.monotonic() + seconds
        searched = 0
        while (end := self._unread.find(b"\n", searched)) < 0:
            searched = len(self._unread)
            wait = deadline - time.monotonic()
            if wait <= 0 or not _readable(handle, wait):
                return None
            data = os.read(handle, 1 << 20)
            if not data:
                return None
            self._unread += data
        found = bytes(self._unread[:end])
        del self._unread[: end + 1]
        return found

    def end(self, limits: RenderLimits) -> str:
        """Return in words how the process ended in a rendering, ending it where it has not."""
        how = self._end()
        if how is None:
            return f"the template does not end within {limits.wall:g} s"
        if self._process.returncode == -signal.SIGVTALRM:  # its own last means
            return f"the template does not end within {limits.seconds:g} s of processor time"
        return f"the template ended the renderer: {how}"

    def _end(self) -> str | None:
        """End the process, and return in words how it had ended before; None where it had not."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(0.0 if self._alive() else 5.0)
        status = self._process.returncode
        if status is None:
            self.kill()
            return None
        assert self._process.stderr is not None  # noqa: S101
        said = self._process.stderr.read()[-_LAST_WORDS:].decode("utf-8", "replace").strip()
        self.kill()
        return signal_name(status) + (f": {said.splitlines()[-1]}" if said else "")

    def _alive(self) -> bool:
        """Whether its output is still open: a dead process's is not."""
        assert self._process.stdout is not None  # noqa: S101
        return not _readable(self._process.stdout.fileno(), 0)

    def kill(self) -> None:
        """End the process, and close the pipes."""
        end_group(self._process, patience=0)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()


def _readable(handle: int, seconds: float) -> bool:
    # Not select(): that knows no handle above 1,023.
    waiting = select.poll()
    waiting.register(handle, select.POLLIN)
    return bool(waiting.poll(seconds * 1000))


def _batches(jobs: Sequence[Job]) -> Iterator[Sequence[Job]]:
    start = size = 0
    for at, job in enumerate(jobs):
        size += sum(len(one.content) for one in job.messages)
        if size >= _BATCH:
            yield jobs[start : at + 1]
            start, size = at + 1, 0
    if start < len(jobs):
        yield jobs[start:]


def _message(jobs: Sequence[Job], now: datetime, limits: RenderLimits) -> bytes:
    numbers: dict[tuple[str, tuple[tuple[str, str], ...]], int] = {}
    asked = []
    for job in jobs:
        key = (job.template.source, tuple(sorted(job.template.tokens.items())))
        number = numbers.setdefault(key, len(numbers))
        asked.append([number, job.opening, [[one.role, one.content] for one in job.messages]])
    message: dict[str, Any] = {
        "now": now.isoformat(),
        "seconds": limits.seconds,
        "memory": limits.memory,
        "characters": limits.characters,
        "templates": [{"source": source, "tokens": dict(tokens)} for source, tokens in numbers],
        "jobs": asked,
    }
    # ASCII: a lone surrogate passes, and the renderer's locale has no say.
    return json.dumps(message).encode("ascii") + b"\n"
