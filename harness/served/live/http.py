"""One server over HTTP: a call goes there and nowhere else, and a reply comes back, or words.

No proxy of the environment is used, no redirect followed, no cookie kept. Whatever goes wrong on
the way is :attr:`Reply.failure`; only a mistake of the user's raises.
"""

import json
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from threading import Event
from types import TracebackType
from typing import Any, Self

import httpcore

from harness.served.live.endpoint import endpoint
from harness.served.live.events import SSE, is_stream, read_events, starts_events
from harness.served.live.faults import Fault, before_answer, late, shown, within_answer
from harness.served.live.sockets import Network, until
from harness.served.live.values import Call, Reply, Spelling

SURROGATE = "the prompt has a lone surrogate, which UTF-8 cannot spell"
_BUSY = (429, 503)
# A shorter one is a placeholder ("EMPTY", "x"), and taking it out would hurt honest text.
_SECRET = 8
_LONGEST_PAUSE = 10.0
_TIMEOUTS = (httpcore.ReadTimeout, httpcore.WriteTimeout)
_BROKEN = (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException)


@dataclass(frozen=True)
class Limits:
    """How much of a server is borne with.

    ``total_seconds`` is for an exchange with all its attempts, ``silence_seconds`` for one wait in
    it. ``retries`` go to a server that cannot be reached or says that it is busy; before the first
    of them ``pause_seconds`` pass, before each other twice as many as before the last. Headers are
    held to 100 KiB besides.
    """

    connect_seconds: float = 10.0
    silence_seconds: float = 120.0
    total_seconds: float = 120.0
    retries: int = 3
    pause_seconds: float = 0.25
    body_bytes: int = 32 << 20
    events: int = 100_000


def body_bytes(body: Mapping[str, Any] | None, spelling: Spelling) -> bytes:
    """Return a request's body as bytes, b"" for None.

    Raises :class:`UnicodeEncodeError` for a lone surrogate in raw UTF-8, which cannot spell it.
    """
    if body is None:
        return b""
    text = json.dumps(body, ensure_ascii=spelling is Spelling.ESCAPED, allow_nan=False)
    return text.encode()


class Server:
    """One server, by its URL; used as a context manager, from any number of threads.

    ``key_env`` names the environment variable that holds the key. The key is sent to the server
    and stands nowhere else: where the server repeats it, it is taken out of the reply.
    """

    def __init__(
        self, url: str, *, key_env: str | None = None, limits: Limits | None = None
    ) -> None:
        """Prepare; nothing is sent yet.

        Raises :class:`UsageError`: no address, a variable that is not set, or no possible key.
        """
        self.limits = limits or Limits()
        self._endpoint = endpoint(url, key_env)
        self._network = Network()
        self._pool = httpcore.ConnectionPool(
            ssl_context=ssl.create_default_context() if self._endpoint.secure else None,
            max_connections=None,
            network_backend=self._network,
        )
        self._stopped = Event()
        self._gone = False

    def __enter__(self) -> Self:
        """Return the server; its connections end with the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close every connection."""
        self.stop()
        self._pool.close()

    def __repr__(self) -> str:
        """Return the address alone."""
        return f"Server({self.url!r})"

    @property
    def url(self) -> str:
        """The server's address, without a slash at its end."""
        return self._endpoint.url

    def stop(self) -> None:
        """End every exchange that is going on, and answer none from now on."""
        self._stopped.set()
        self._network.stop()

    def exchange(self, call: Call, spelling: Spelling) -> Reply:
        """Send a call with its body in one spelling and return what came of it. Never raises."""
        try:
            body = body_bytes(call.body, spelling)
        except UnicodeEncodeError:
            return Reply(None, failure=SURROGATE)
        return self.send(call, body)

    def send(self, call: Call, body: bytes) -> Reply:
        """Send a call with these bytes as its body and return what came of it. Never raises."""
        deadline = time.monotonic() + self.limits.total_seconds
        pause, retries = self.limits.pause_seconds, 0
        while True:
            attempt = self._attempt(call, body, deadline)
            # A server that is gone costs every prompt its pauses once, not a thousand times.
            spent = retries >= (0 if self._gone else self.limits.retries)
            if attempt.again is None or spent:
                break
            if not self._waited(max(pause, attempt.again), deadline):
                break
            pause, retries = 2 * pause, retries + 1
        self._gone = attempt.refused
        return self._without_key(replace(attempt.reply, retries=retries))

    def alive(self, seconds: float = 5.0, path: str = "/health") -> Reply:
        """Ask for a path once, in so many seconds at most, and return the reply."""
        return self._without_key(self._glance(seconds, path).reply)

    def nobody(self) -> bool:
        """Whether nobody listens there: the connection is refused."""
        return self._glance(5.0, "/health").refused

    def _glance(self, seconds: float, path: str) -> "_Attempt":
        seconds = min(seconds, self.limits.total_seconds)
        return self._attempt(Call(path, None, "GET"), b"", time.monotonic() + seconds)

    def _attempt(self, call: Call, body: bytes, deadline: float) -> "_Attempt":
        if self._stopped.is_set():
            return _Attempt(Reply(None, failure="stopped"))
        try:
            with until(deadline) as waits:
                response = self._pool.handle_request(self._request(call, body))
        except _BROKEN as error:
            fault = self._late(error, deadline) or before_answer(
                error, self._endpoint.at, waits.heard
            )
            again = 0.0 if fault.again else None
            return _Attempt(Reply(None, failure=fault.words), again, fault.refused)
        with until(deadline):
            reply, busy = self._reply(call, response, deadline)
        return _Attempt(reply, busy)

    def _request(self, call: Call, body: bytes) -> httpcore.Request:
        limits, headers = self.limits, list(self._endpoint.headers)
        if call.method == "POST":
            headers.append((b"Content-Type", b"application/json"))
            headers.append((b"Content-Length", str(len(body)).encode()))
        if call.streamed:
            # Some servers close after a stream without a word, and the next request would find
            # the connection gone: that would look like a fault and be tried again.
            headers.append((b"Connection", b"close"))
        return httpcore.Request(
            call.method,
            self._endpoint.target(call.path),
            headers=headers,
            content=body,
            extensions={
                "timeout": {
                    "connect": limits.connect_seconds,
                    "read": limits.silence_seconds,
                    "write": limits.silence_seconds,
                }
            },
        )

    def _reply(
        self, call: Call, response: httpcore.Response, deadline: float
    ) -> tuple[Reply, float | None]:
        headers = {name.lower(): value for name, value in response.headers}
        body, failure = bytearray(), None
        try:
            for part in response.iter_stream():
                body += part
                if len(body) > self.limits.body_bytes:
                    failure = f"the answer has more than {self.limits.body_bytes:,} bytes"
                    body.clear()
                    break
        except _BROKEN as error:
            failure = (self._late(error, deadline) or within_answer(error)).words
        finally:
            response.close()
        kind = headers.get(b"content-type", b"").decode("latin-1")
        if call.streamed and starts_events(body):
            kind = SSE
        reply = _read(response.status, headers, kind, bytes(body), failure, self.limits.events)
        busy = response.status in _BUSY and failure is None
        return reply, _asked_to_wait(headers) if busy else None

    def _late(self, error: Exception, deadline: float) -> Fault | None:
        if not isinstance(error, _TIMEOUTS):
            return None
        limits = self.limits
        return late(
            error,
            total=time.monotonic() >= deadline,
            total_seconds=limits.total_seconds,
            silence_seconds=limits.silence_seconds,
        )

    def _waited(self, seconds: float, deadline: float) -> bool:
        """Wait before another attempt; False where there is no time for one, or we are stopped."""
        if time.monotonic() + seconds >= deadline:
            return False
        return not self._stopped.wait(seconds)

    def _without_key(self, reply: Reply) -> Reply:
        key = self._endpoint.key
        if key is None or len(key) < _SECRET:
            return reply
        return replace(
            reply,
            body=reply.body.replace(key.encode(), b"[key]"),
            events=tuple(one.replace(key, "[key]") for one in reply.events),
            failure=None if reply.failure is None else reply.failure.replace(key, "[key]"),
        )


@dataclass(frozen=True)
class _Attempt:
    """One attempt: ``again`` is the least pause in seconds before another, None for none."""

    reply: Reply
    again: float | None = None
    refused: bool = False


def _read(
    status: int,
    headers: Mapping[bytes, bytes],
    kind: str,
    body: bytes,
    failure: str | None,
    most: int,
) -> Reply:
    """Return the reply that an answer is, with ``failure`` where it broke off."""
    whole = failure is None
    coding = headers.get(b"content-encoding", b"identity").decode("latin-1").lower()
    if coding != "identity":
        words = f"the answer is compressed ({shown(coding)}), which was not asked for"
        return Reply(status, failure=failure or words, whole=whole)
    if 300 <= status < 400:
        to = shown(headers.get(b"location", b"nowhere").decode("latin-1"))
        failure = failure or f"redirects to {to}, which is not followed: give the URL itself"
        return Reply(status, body, failure=failure, whole=whole)
    if not is_stream(kind):
        return Reply(status, body, failure=failure, whole=whole)
    events = read_events(kind, body, most)
    failure = failure or events.failure
    return Reply(status, events=events.data, failure=failure, whole=failure is None)


def _asked_to_wait(headers: Mapping[bytes, bytes]) -> float:
    """Return the seconds that a busy server asks for, 0 where it names none."""
    text = headers.get(b"retry-after", b"").decode("latin-1").strip()
    return min(float(text[:6]), _LONGEST_PAUSE) if text.isascii() and text.isdigit() else 0.0
