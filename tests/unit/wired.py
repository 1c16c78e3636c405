"""Servers of the tests' own: a socket, and a function that says what happens on a connection."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

Handle = Callable[["Wired", "Connection"], None]


@dataclass
class Connection:
    """One connection that was accepted; ``number`` counts them from 0."""

    socket: socket.socket
    number: int
    held: bytes = b""

    def request(self) -> tuple[str, bytes] | None:
        """Return the next request's head and body, None where the client has gone."""
        while b"\r\n\r\n" not in self.held:
            if not self._more():
                return None
        head, _, self.held = self.held.partition(b"\r\n\r\n")
        length = 0
        for line in head.split(b"\r\n"):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        while len(self.held) < length:
            if not self._more():
                return None
        body, self.held = self.held[:length], self.held[length:]
        return head.decode(), body

    def send(self, data: bytes) -> None:
        """Send bytes; nothing happens where the client has gone."""
        with suppress(OSError):
            self.socket.sendall(data)

    def answer(self, body: bytes, kind: str = "application/json", status: int = 200) -> None:
        """Send a whole answer that leaves the connection open."""
        head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}"
        self.send(head.encode() + b"\r\n\r\n" + body)

    def chunked(self, kind: str = "text/event-stream") -> None:
        """Send the head of an answer in chunks."""
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked"
        self.send(head.encode() + b"\r\n\r\n")

    def chunk(self, data: bytes) -> None:
        """Send one chunk; an empty one ends the answer."""
        self.send(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def _more(self) -> bool:
        try:
            data = self.socket.recv(1 << 16)
        except OSError:
            return False
        self.held += data
        return bool(data)


@dataclass
class Wired:
    """A running server: what it was asked, and how often it was connected to."""

    port: int
    over: threading.Event = field(default_factory=threading.Event)
    seen: list[tuple[str, bytes]] = field(default_factory=list)
    connections: int = 0

    @property
    def url(self) -> str:
        """The server's address."""
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def wired(handle: Handle) -> Iterator[Wired]:
    """Run a server that gives each connection to ``handle``, in a thread of its own."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=128)
    server = Wired(listening.getsockname()[1])
    taken: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def one(connection: Connection) -> None:
        with connection.socket:
            handle(server, connection)

    def accept() -> None:
        while True:
            try:
                accepted, _ = listening.accept()
            except OSError:
                return
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            taken.append(accepted)
            connection = Connection(accepted, server.connections)
            server.connections += 1
            thread = threading.Thread(target=one, args=(connection,), daemon=True)
            thread.start()
            threads.append(thread)

    accepting = threading.Thread(target=accept, daemon=True)
    accepting.start()
    try:
        yield server
    finally:
        server.over.set()
        for each in (listening, *taken):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        listening.close()
        for thread in (accepting, *threads):
            thread.join(2)


def answering(make: Callable[[str, bytes], tuple[int, bytes]]) -> Handle:
    """Return a handler that answers every request with JSON, the connection kept alive."""

    def handle(server: Wired, connection: Connection) -> None:
        while (found := connection.request()) is not None:
            server.seen.append(found)
            status, body = make(*found)
            connection.answer(body, status=status)

    return handle


def closed_port() -> int:
    """Return a port on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as one:
        return int(one.getsockname()[1])
