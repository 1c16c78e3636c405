"""One probe in one container: its streams as pipes, its end as an exit status, and its removal."""

import os
import select
import socket
import threading
from contextlib import suppress

from docker.errors import DockerException
from docker.models.containers import Container
from requests.exceptions import RequestException

from harness.runners.carried import exit_status
from harness.runners.spawn import Lost, ready_to_read

ENGINE_ERRORS = (DockerException, RequestException)
_CHUNK = 1 << 16
_HEADER = 8  # of a frame: the stream in byte 0, the length in bytes 4 to 7, big-endian
_STDERR = 2
_GLANCE = 0.2
_PATIENCE = 5.0


class Contained:
    """A created container, started. Implements :class:`~harness.runners.spawn.Running`.

    The engine carries both directions over one socket, in which the output comes in frames; three
    threads turn that into what a process of this machine would have: pipes and an exit status.
    """

    def __init__(self, container: Container, stdin: int) -> None:
        self._container = container
        self._over = threading.Event()
        self._ended = threading.Event()
        self._status: int | None = None
        self._lost: str | None = None
        streams = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        # Attached before the start, so that not even the first byte is missed.
        attached = container.attach_socket(params=streams)
        # Of an engine on this machine it is a socket, whatever else the library may give.
        assert isinstance(attached, socket.SocketIO)  # noqa: S101
        self._socket = socket.socket(fileno=os.dup(attached.fileno()))
        attached.close()
        self._socket.setblocking(True)
        self._stdin = os.dup(stdin)
        self.stdout, self._out = os.pipe()
        self.stderr, self._err = os.pipe()
        ready_to_read(self.stdout, self.stderr)
        self._threads: list[threading.Thread] = []
        try:
            container.start()
        except BaseException:
            self.kill()
            raise
        for work in (self._feed, self._split, self._watch):
            thread = threading.Thread(target=work, daemon=True)
            thread.start()
            self._threads.append(thread)

    def wait(self, seconds: float) -> int | None:
        """Return the exit status, negative for a signal, or None while it lives; raises Lost."""
        if not self._ended.wait(seconds):
            return None
        if self._lost is not None:
            raise Lost(
                f"the container engine was lost: {self._lost}",
                remedy="see whether the engine still runs: docker info",
            )
        return self._status

    def kill(self) -> None:
        """Remove the container with all that runs in it, and close the pipes. May be repeated."""
        if self._over.is_set():
            return
        self._over.set()
        # An engine that is gone removes nothing; one that removes already says so.
        with suppress(*ENGINE_ERRORS):
            self._container.remove(force=True, v=True)
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        for pipe in (self.stdout, self.stderr):
            os.close(pipe)
        for thread in self._threads:
            thread.join(_PATIENCE)
        self._socket.close()
        # The writing end of stdout is closed where its writer ends.
        for pipe in (self._stdin, self._err, *([] if self._threads else [self._out])):
            os.close(pipe)

    def _feed(self) -> None:
        """Carry the requests to the container until they end."""
        ready = select.poll()
        ready.register(self._stdin, select.POLLIN)
        with suppress(OSError):
            while not self._over.is_set():
                if not ready.poll(1000 * _GLANCE):
                    continue
                data = os.read(self._stdin, _CHUNK)
                if not data:
                    self._socket.shutdown(socket.SHUT_WR)
                    return
                self._socket.sendall(data)

    def _split(self) -> None:
        """Part the frames into stdout and stderr until the socket ends."""
        try:
            with suppress(OSError), self._socket.makefile("rb") as frames:
                while len(header := frames.read(_HEADER)) == _HEADER:
                    pipe = self._err if header[0] == _STDERR else self._out
                    _write(pipe, frames.read(int.from_bytes(header[4:], "big")))
        finally:
            os.close(self._out)

    def _watch(self) -> None:
        """Wait for the container's end, however long it lives."""
        try:
            # The library's own limit is for answers, and this one comes when it comes.
            self._status = exit_status(self._container.wait(timeout=None)["StatusCode"])
            self._container.reload()
            if self._container.attrs["State"].get("OOMKilled"):
                with suppress(OSError):
                    _write(self._err, b"[killed: it went over the container's memory limit]\n")
        except ENGINE_ERRORS as error:
            self._lost = words(error)
        self._ended.set()


def words(error: Exception) -> str:
    """Return the last and most telling part of an engine error, on one line."""
    said = getattr(error, "explanation", None) or str(error)
    return " ".join(str(said).split())


def _write(pipe: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(pipe, view) :]
