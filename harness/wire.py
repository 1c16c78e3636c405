"""Bytes to and from one running probe: every wait and every amount bounded, nothing left over."""

import os
import select
import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import Self

from harness.runners import Running
from harness.runners.spawn import Cancelled

KEPT_STDERR = 1 << 20
_READ = 1 << 20
_SMALL = 1 << 18
# A native probe answers some 30 MB/s at most: in so many seconds less than a pipe holds.
_GATHER = 0.008
# How often a wait looks whether the run was cancelled.
_GLANCE = 0.2


class Ended(Exception):
    """The probe's output has come to its end."""


class Endless(Exception):
    """A line has grown beyond what any answer can be."""


class Tail:
    """The last megabyte of what a probe wrote to stderr; a probe that floods it fills nothing."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self._dropped = 0

    def add(self, data: bytes) -> None:
        """Keep ``data``, forgetting the oldest."""
        self._kept += data
        if len(self._kept) > 2 * KEPT_STDERR:
            self._forget()

    def whole(self) -> bytes:
        """Return what is kept, at most a megabyte, led by a line that says what is not."""
        self._forget()
        note = f"[{self._dropped} bytes before these were dropped]\n" if self._dropped else ""
        return note.encode() + bytes(self._kept)

    def take(self) -> bytes:
        """Return what is kept and forget it."""
        found = self.whole()
        self._kept.clear()
        self._dropped = 0
        return found

    def last_words(self, most: int = 2000) -> str:
        """Return the end of it as text."""
        return bytes(self._kept[-most:]).decode("utf-8", "backslashreplace").strip()

    def _forget(self) -> None:
        excess = len(self._kept) - KEPT_STDERR
        if excess > 0:
            del self._kept[:excess]
            self._dropped += excess


class Wire:
    """One running probe's pipes.

    ``feed`` is the writing end of its standard input, where that is a pipe and not a file. Reads
    and writes go on together, so neither side can wait for the other for ever.
    """

    def __init__(
        self,
        running: Running,
        tail: Tail,
        *,
        feed: int | None = None,
        cancel: threading.Event | None = None,
    ) -> None:
        self._running = running
        self._tail = tail
        self._feed = feed
        self._cancel = cancel
        self._unsent = b""
        self._held = bytearray()
        self._poll = select.poll()
        self._open = {running.stdout, running.stderr}
        for pipe in self._open:
            self._poll.register(pipe, select.POLLIN)
        if feed is not None:
            os.set_blocking(feed, False)

    def __enter__(self) -> Self:
        """Return the wire; the probe ends with the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the probe with everything it started."""
        self.close()

    def close(self) -> None:
        """End the probe and close every pipe. May be repeated."""
        self.hang_up()
        self._running.kill()

    def hang_up(self) -> None:
        """Close the probe's standard input, where it is fed through this wire."""
        if self._feed is not None:
            self._unwatch(self._feed)
            os.close(self._feed)
            self._feed = None

    def send(self, data: bytes) -> None:
        """Queue bytes for the probe's standard input; they leave while answers are read."""
        self._unsent += data
        if self._feed is not None and self._unsent:
            self._poll.register(self._feed, select.POLLOUT)

    def take(self) -> bytes:
        """Return and forget what was read beyond the last line."""
        held = bytes(self._held)
        self._held.clear()
        return held

    def line(self, seconds: float, most: int) -> bytes | None:
        """Return the next line without its newline, or None where it does not come in time.

        Raises :class:`Ended` at the end of output, :class:`Endless` beyond ``most`` bytes,
        :class:`Cancelled`.
        """
        deadline = time.monotonic() + seconds
        seen = 0
        while True:
            at = self._held.find(b"\n", seen)
            if at >= 0:
                found = bytes(self._held[:at])
                del self._held[: at + 1]
                return found
            seen = len(self._held)
            if seen > most:
                raise Endless
            data = self.read(deadline - time.monotonic())
            if data is None:
                return None
            if not data:
                raise Ended
            self._held += data

    def read(self, seconds: float) -> bytes | None:
        """Return some of stdout, ``b""`` at its end, or None where none comes in time.

        stderr is drained all the while. Raises :class:`Cancelled`.
        """
        deadline = time.monotonic() + seconds
        while True:
            if self._cancel is not None and self._cancel.is_set():
                raise Cancelled
            left = max(deadline - time.monotonic(), 0)
            for pipe, _ in self._poll.poll(1000 * min(left, _GLANCE)):
                if pipe == self._feed:
                    self._write()
                elif pipe == self._running.stdout:
                    data = self._read(pipe)
                    if data is not None:
                        return data
                elif pipe == self._running.stderr:
                    self._tail.add(self._read(pipe) or b"")
            if self._running.stdout not in self._open:
                return b""
            if left <= 0:
                return None

    def status(self, seconds: float) -> int | None:
        """Return the exit status, negative for a signal, or None where it lives on.

        What it still writes to stderr is kept.
        """
        deadline = time.monotonic() + seconds
        while (status := self._running.wait(0)) is None:
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            if self._cancel is not None and self._cancel.is_set():
                raise Cancelled
            self._drain(min(left, 0.005))
        self._drain(0)
        return status

    def drain(self) -> None:
        """Take up what the probe has written to stderr so far: before its answer, if it has one."""
        self._drain(0)

    def settle(self, got: int) -> None:
        """After a small read let answers gather: each is flushed, and each read costs a wake-up."""
        if got < _SMALL:
            time.sleep(_GATHER)

    def _drain(self, seconds: float) -> None:
        if self._running.stderr not in self._open:
            time.sleep(seconds)
            return
        ready = select.poll()
        ready.register(self._running.stderr, select.POLLIN)
        if ready.poll(1000 * seconds):
            self._tail.add(self._read(self._running.stderr) or b"")

    def _read(self, pipe: int) -> bytes | None:
        try:
            data = os.read(pipe, _READ)
        except BlockingIOError:
            return None
        if not data:
            self._unwatch(pipe)
            self._open.discard(pipe)
        return data

    def _write(self) -> None:
        if self._feed is None:
            return
        try:
            sent = os.write(self._feed, self._unsent[:_READ])
        except BlockingIOError:
            return
        except BrokenPipeError:
            sent = len(self._unsent)  # it reads no more; what it answers, or its end, tells why
        self._unsent = self._unsent[sent:]
        if not self._unsent:
            self._unwatch(self._feed)

    def _unwatch(self, pipe: int) -> None:
        with suppress(KeyError):
            self._poll.unregister(pipe)
