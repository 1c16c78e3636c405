"""Connections of which every wait ends by a deadline, and all of which can be ended at once.

httpcore waits anew for every piece that it reads, so a server that sends a byte now and then would
hold it for ever. Here the deadline of the exchange going on in a thread bounds each of its waits.
"""

import socket
import ssl
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Lock
from typing import Any

import httpcore

# httpcore's own description of a socket option.
_Option = tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]
_HEARD = 200  # bytes that tell what a server speaks


@dataclass
class Waits:
    """The waits of one exchange: their ``deadline``, of ``time.monotonic``, and the first bytes."""

    deadline: float
    heard: bytes = b""


_WAITS: ContextVar[Waits | None] = ContextVar("waits", default=None)


@contextmanager
def until(deadline: float) -> Iterator[Waits]:
    """Let every wait of this thread's connections end by ``deadline``."""
    waits = Waits(deadline)
    token = _WAITS.set(waits)
    try:
        yield waits
    finally:
        _WAITS.reset(token)


class Network(httpcore.NetworkBackend):
    """TCP connections; :meth:`stop` ends those that are open, and no other is made after it."""

    def __init__(self) -> None:
        self._tcp = httpcore.SyncBackend()
        self._open: set[socket.socket] = set()
        self._lock = Lock()
        self._stopped = False

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[_Option] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect; raises httpcore's ``ConnectError`` and ``ConnectTimeout``."""
        seconds = _left(timeout, httpcore.ConnectTimeout)
        stream = self._tcp.connect_tcp(host, port, seconds, local_address, socket_options)
        return _Stream(stream, self)

    def keep(self, one: socket.socket) -> None:
        """Take a socket among those that :meth:`stop` ends."""
        with self._lock:
            stopped = self._stopped
            self._open.add(one)
        if stopped:
            _end(one)

    def forget(self, one: socket.socket) -> None:
        """Leave a socket alone from now on: it is closed, or another has taken its place."""
        with self._lock:
            self._open.discard(one)

    def stop(self) -> None:
        """End every connection under the hands of whichever thread waits on it."""
        with self._lock:
            self._stopped = True
            ending = list(self._open)
        for one in ending:
            _end(one)


class _Stream(httpcore.NetworkStream):
    """One connection of a :class:`Network`.

    What is written leaves when an answer is waited for: the head and the body of a request in one
    piece, which is a good part of what a short exchange costs.
    """

    def __init__(self, inner: httpcore.NetworkStream, network: Network) -> None:
        self._inner = inner
        self._network = network
        self._socket: socket.socket = inner.get_extra_info("socket")
        self._unsent = bytearray()
        self._write_seconds: float | None = None
        network.keep(self._socket)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self._flush()
        data = self._inner.read(max_bytes, _left(timeout, httpcore.ReadTimeout))
        waits = _WAITS.get()
        if waits is not None and len(waits.heard) < _HEARD:
            waits.heard += data[:_HEARD]
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._unsent += buffer
        self._write_seconds = timeout

    def close(self) -> None:
        self._network.forget(self._socket)
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        self._network.forget(self._socket)
        seconds = _left(timeout, httpcore.ConnectTimeout)
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, seconds), self._network)

    def _flush(self) -> None:
        if not self._unsent:
            return
        data, self._unsent = bytes(self._unsent), bytearray()
        # A server may refuse a request before it has read all of it: its answer says why.
        with suppress(httpcore.WriteError):
            self._inner.write(data, _left(self._write_seconds, httpcore.WriteTimeout))

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 - as the base class has it
        return self._inner.get_extra_info(info)


def _left(timeout: float | None, late: type[Exception]) -> float | None:
    """Return the shorter of a time limit and what the deadline leaves; raises ``late`` at none."""
    waits = _WAITS.get()
    if waits is None:
        return timeout
    left = waits.deadline - time.monotonic()
    if left <= 0:
        raise late
    return left if timeout is None else min(timeout, left)


def _end(one: socket.socket) -> None:
    # Not closed: its number could be given to another file while a thread still reads from it.
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
