"""A proxy that stands before a real server and does what no real server does on demand.

It knows HTTP as far as a test needs it: it asks the real server, takes the whole answer, changes
it, and writes it as the fault wants it. Every request that came is kept for the test to look at.
"""

import http.client
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import urlsplit

Change = Callable[[bytes], bytes]


@dataclass(frozen=True)
class Heard:
    """One request as it came: its path, the bytes of its body and its headers in lower case."""

    path: str
    body: bytes
    headers: Mapping[str, str]


@dataclass
class Fault:
    """What the proxy does to answers of paths that match ``paths``.

    ``change`` rewrites the body of an answer; ``write`` writes the whole answer itself, given the
    handler, the status and the body of the real one. ``ask`` rewrites the request's body.
    """

    paths: str = "completion"
    change: Change | None = None
    write: Callable[["Handler", int, bytes], None] | None = None
    ask: Change | None = None


@dataclass
class Proxy:
    """A running proxy."""

    url: str
    heard: list[Heard] = field(default_factory=list)


class Handler(BaseHTTPRequestHandler):
    """One connection to the proxy."""

    protocol_version = "HTTP/1.1"
    # Headers and body in one packet; apart, the second waits for the first one's receipt.
    wbufsize = 1 << 16
    disable_nagle_algorithm = True
    target: ClassVar[str]
    fault: ClassVar[Fault]
    heard: ClassVar[list[Heard]]

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        self.heard.append(
            Heard(self.path, body, {name.lower(): value for name, value in self.headers.items()})
        )
        hit = re.search(self.fault.paths, self.path) is not None
        if hit and self.fault.ask is not None:
            body = self.fault.ask(body)
        status, kind, answer = self._real(body)
        with suppress(BrokenPipeError, ConnectionResetError):
            if hit and self.fault.write is not None:
                self.fault.write(self, status, answer)
                return
            if hit and self.fault.change is not None and status == 200:
                answer = self.fault.change(answer)
            self.plain(status, kind, answer)

    def _real(self, body: bytes) -> tuple[int, str, bytes]:
        place = urlsplit(self.target)
        link = http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)
        try:
            headers = {"content-type": "application/json"}
            link.request(self.command, self.path, body or None, headers)
            answer = link.getresponse()
            return answer.status, answer.headers.get("content-type", ""), answer.read()
        finally:
            link.close()

    def plain(self, status: int, kind: str, body: bytes) -> None:
        """Write an answer as a sound server does."""
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def chunks(self, parts: list[bytes], *, end: bool = True) -> None:
        """Write a stream in these chunks; without ``end`` it breaks off, and the connection too."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for part in parts:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            self.wfile.flush()
        if end:
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.hang_up()

    def hang_up(self) -> None:
        """Close the connection."""
        self.close_connection = True
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Say nothing of a client that hung up."""


@contextmanager
def fault_proxy(target: str, fault: Fault) -> Iterator[Proxy]:
    """Start a proxy before the server at ``target``."""
    heard: list[Heard] = []
    handler = type("_Handler", (Handler,), {"target": target, "fault": fault, "heard": heard})
    server = _Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield Proxy(f"http://127.0.0.1:{server.server_address[1]}", heard)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


# What may be done to an answer. A stream's events are changed one by one, in their own lines.


def usage(change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> Change:
    """Change every usage object; None takes it out."""

    def one(document: dict[str, Any]) -> list[dict[str, Any]]:
        if isinstance(document.get("usage"), dict):
            changed = change(dict(document["usage"]))
            document = {**document, "usage": changed}
            if changed is None:
                del document["usage"]
        return [document]

    return documents(one)


def documents(change: Callable[[dict[str, Any]], list[dict[str, Any]]]) -> Change:
    """Change every JSON object of an answer or of its events into some others."""

    def all_of(body: bytes) -> bytes:
        if not body.lstrip().startswith((b"data:", b":")):
            return json.dumps(change(json.loads(body))[0]).encode()
        found = []
        for line in body.split(b"\n"):
            if line.startswith(b"data: {"):
                changed = change(json.loads(line[6:]))
                found.append(b"\n\n".join(b"data: " + json.dumps(x).encode() for x in changed))
            else:
                found.append(line)
        return b"\n".join(found)

    return all_of


def lowered(by: int) -> Change:
    """Take tokens off the prompt's usage."""
    return usage(lambda it: {**it, "prompt_tokens": it["prompt_tokens"] - by})


def dropped() -> Change:
    """Take every usage out."""
    return usage(lambda _: None)


def doubled() -> Change:
    """Send every event with a usage twice."""
    return documents(lambda it: [it, it] if isinstance(it.get("usage"), dict) else [it])


def halved_prompt(body: bytes) -> bytes:
    """Ask the real server for the second half of a text prompt, as one that truncates would."""
    asked = json.loads(body)
    if isinstance(asked.get("prompt"), str):
        asked["prompt"] = asked["prompt"][len(asked["prompt"]) // 2 :]
    return json.dumps(asked).encode()


def split_within_characters(handler: Handler, status: int, body: bytes) -> None:
    """Write a stream a byte or two a chunk, so that every longer character is split."""
    if body.startswith(b"data:"):
        handler.chunks([body[at : at + 2] for at in range(0, len(body), 2)])
    else:
        handler.plain(status, "application/json", body)


def without_end_mark(handler: Handler, status: int, body: bytes) -> None:
    """Write a stream with comments and blank events between, and no [DONE] after it."""
    if not body.startswith(b"data:"):
        handler.plain(status, "application/json", body)
        return
    body = body.replace(b"data: [DONE]\n\n", b"").replace(b"data: ", b": ping\n\ndata: ")
    handler.chunks([b": hello\n\n", body])


def cut(handler: Handler, status: int, body: bytes) -> None:
    """Break a stream off after its first event."""
    if body.startswith(b"data:"):
        handler.chunks([body[: body.index(b"\n\n") + 2]], end=False)
    else:
        handler.plain(status, "application/json", body)


def fails_within(handler: Handler, status: int, body: bytes) -> None:
    """Answer a stream's first event, then the error of a server that fails in the middle."""
    if not body.startswith(b"data:"):
        handler.plain(status, "application/json", body)
        return
    first = body[: body.index(b"\n\n") + 2]
    error = b'data: {"error":{"code":500,"message":"the \\u001b[31mengine died"}}\n\n'
    handler.chunks([first, error])


def always(status: int, body: bytes) -> Callable[[Handler, int, bytes], None]:
    """Answer with this status and body."""
    return lambda handler, _status, _body: handler.plain(status, "application/json", body)


def endless_headers(handler: Handler, status: int, body: bytes) -> None:
    """Write headers, 100 MB of them."""
    del status, body
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    block = b"".join(b"x-%d: %s\r\n" % (n, b"a" * 1000) for n in range(1000))
    for _ in range(100):
        handler.wfile.write(block)
    handler.wfile.write(b"content-length: 2\r\n\r\n{}")


def not_http(handler: Handler, status: int, body: bytes) -> None:
    """Answer as a mail server would."""
    del status, body
    handler.wfile.write(b"220 mail.example ESMTP\r\n")
    handler.hang_up()


def redirecting(to: str) -> Callable[[Handler, int, bytes], None]:
    """Send the client elsewhere."""

    def write(handler: Handler, status: int, body: bytes) -> None:
        del status, body
        handler.send_response(307)
        handler.send_header("location", to)
        handler.send_header("content-length", "0")
        handler.end_headers()

    return write


def slow(seconds: float) -> Callable[[Handler, int, bytes], None]:
    """Answer too late for a client that is not patient."""

    def write(handler: Handler, status: int, body: bytes) -> None:
        time.sleep(seconds)
        handler.plain(status, "application/json", body)

    return write


class Busy:
    """Answers 503 so many times, then as the real server does."""

    def __init__(self, times: int) -> None:
        self.left = times
        self._lock = threading.Lock()

    def __call__(self, handler: Handler, status: int, body: bytes) -> None:
        with self._lock:
            self.left -= 1
            refuse = self.left >= 0
        if refuse:
            handler.plain(503, "application/json", b'{"error":{"message":"loading model"}}')
        else:
            kind = "text/event-stream" if body.startswith(b"data:") else "application/json"
            handler.plain(status, kind, body)
