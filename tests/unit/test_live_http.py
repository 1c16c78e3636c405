"""A server over HTTP: every way it can fail comes back as words, and nothing takes for ever."""

import json
import resource
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.served.live.http import Limits, Server, body_bytes
from harness.served.live.values import Call, Reply, Spelling
from tests.unit.wired import Connection, Handle, Wired, answering, closed_port, wired

QUICK = Limits(
    connect_seconds=1, silence_seconds=0.3, total_seconds=5, retries=2, pause_seconds=0.01
)
CERTIFICATE = Path(__file__).resolve().parents[1] / "data" / "tls" / "localhost.pem"
POST = Call("/v1/completions", {"prompt": "é"})


def reply_of(handle: Handle, call: Call = POST, limits: Limits = QUICK) -> Reply:
    with wired(handle) as at, Server(at.url, limits=limits) as server:
        return server.exchange(call, Spelling.RAW)


def once(act: Callable[[Connection], None]) -> Handle:
    """Return a handler that reads one request, acts, and closes the connection."""

    def handle(server: Wired, connection: Connection) -> None:
        if connection.request() is not None:
            act(connection)

    return handle


def test_both_spellings_arrive_as_they_are() -> None:
    with wired(answering(lambda *_: (200, b"{}"))) as at, Server(at.url + "/pre") as server:
        for spelling in Spelling:
            assert server.exchange(POST, spelling) == Reply(200, b"{}")
        assert server.exchange(Call("/health", None, "GET"), Spelling.RAW).status == 200
    heads = [head.split("\r\n")[0] for head, _ in at.seen]
    assert heads == ["POST /pre/v1/completions HTTP/1.1"] * 2 + ["GET /pre/health HTTP/1.1"]
    assert [body for _, body in at.seen] == [
        b'{"prompt": "\\u00e9"}',
        '{"prompt": "é"}'.encode(),
        b"",
    ]
    assert at.connections == 1  # kept alive


def test_a_lone_surrogate_is_told_and_not_sent() -> None:
    with wired(answering(lambda *_: (200, b"{}"))) as at, Server(at.url) as server:
        call = Call("/", {"prompt": "\ud800"})
        assert "lone surrogate" in (server.exchange(call, Spelling.RAW).failure or "")
        assert server.exchange(call, Spelling.ESCAPED).status == 200
    assert len(at.seen) == 1
    assert body_bytes(None, Spelling.RAW) == b""


def test_a_stream_is_read_to_its_end_across_every_split() -> None:
    stream = "".join(
        f"{line}\n"
        for line in [
            'data: {"text": "é\u2028𝄞\x85"}',
            "",
            ": a comment",
            "event: ping",
            "",
            "data: two",
            "data: lines\r",
            "",
            "data: [DONE]",
            "",
            "data: half an event",
        ]
    ).encode()

    def handle(server: Wired, connection: Connection) -> None:
        connection.request()
        connection.chunked("text/event-stream; charset=latin-1")
        for byte in b"\xef\xbb\xbf" + stream:
            connection.chunk(bytes([byte]))
        connection.chunk(b"")

    found = reply_of(handle)
    assert found == Reply(
        200, events=('{"text": "é\u2028𝄞\x85"}', "two\nlines", "[DONE]"), whole=True
    )


def test_a_server_that_closes_after_a_stream_costs_no_retry() -> None:
    """As llama.cpp's does, without saying so."""

    def handle(server: Wired, connection: Connection) -> None:
        while (found := connection.request()) is not None:
            connection.answer(b"data: 1\n\n", kind="text/event-stream")
            if "/stream" in found[0]:
                if "Connection: close" not in found[0]:
                    connection.request()  # the next request is under way already
                return

    with wired(handle) as at, Server(at.url, limits=QUICK) as server:
        for path in ("/stream", "/plain") * 5:
            call = Call(path, {}, streamed=path == "/stream")
            assert server.exchange(call, Spelling.RAW) == Reply(200, events=("1",))


def test_a_document_a_line_is_a_stream_too() -> None:
    def act(connection: Connection) -> None:
        connection.chunked("application/x-ndjson")
        connection.chunk('{"a": "\u2028'.encode()[:-1])
        connection.chunk(b'\xa8"}\n\n{"done": true}\r\n{"ha')
        connection.chunk(b"")

    assert reply_of(once(act)).events == ('{"a": "\u2028"}', '{"done": true}')


def test_a_stream_that_is_cut_keeps_what_came() -> None:
    def act(connection: Connection) -> None:
        connection.chunked()
        connection.chunk(b"data: one\n\n")
        connection.send(b"40\r\ndata: tw")

    found = reply_of(once(act))
    assert (found.status, found.events, found.whole) == (200, ("one",), False)
    assert found.failure == "the answer was cut: the connection closed before its end"


def test_a_stream_ended_by_closing_is_whole_where_nothing_says_otherwise() -> None:
    def act(connection: Connection) -> None:
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")

    assert reply_of(once(act)) == Reply(200, events=("1",), whole=True)


def test_a_body_shorter_than_it_says_was_cut() -> None:
    def act(connection: Connection) -> None:
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{}")

    found = reply_of(once(act))
    assert (found.status, found.body, found.whole) == (200, b"{}", False)
    assert "was cut" in (found.failure or "")


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (b"zz\r\nnonsense\r\n", "stops being HTTP"),
        (b"8\r\ndata: \xff\n\r\n0\r\n\r\n", "byte 6 of the stream is not UTF-8"),
    ],
)
def test_chunks_that_cannot_be_read(sent: bytes, words: str) -> None:
    def act(connection: Connection) -> None:
        connection.chunked()
        connection.chunk(b"data: 1\n\n")
        connection.send(sent)

    words = words.replace("byte 6", "byte 15")
    found = reply_of(once(act))
    assert words in (found.failure or "")
    assert (found.events, found.whole) == (("1",), False)


def test_a_redirect_is_not_followed() -> None:
    with wired(answering(lambda *_: (200, b"{}"))) as other:

        def act(connection: Connection) -> None:
            connection.send(
                f"HTTP/1.1 307 X\r\nLocation: {other.url}\r\nContent-Length: 0\r\n\r\n".encode()
            )

        found = reply_of(once(act))
        assert found.status == 307
        assert f"redirects to {other.url}" in (found.failure or "")
    assert other.connections == 0


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{closed_port()}")
    assert reply_of(answering(lambda *_: (200, b"{}"))).status == 200


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (b"SSH-2.0-OpenSSH_9.2\r\n", "does not speak HTTP"),
        (b"\x00" * 50, "does not speak HTTP"),
        (b"HTTP/1.1 200 OK\r\nX: 1", "closed the connection within the headers"),
        (b"HTTP/1.1 200 OK\r\n" + b"X-Long: " + b"x" * 200_000, "over 100 KiB"),
    ],
)
def test_what_is_no_http(said: bytes, words: str) -> None:
    found = reply_of(once(lambda connection: connection.send(said)))
    assert (found.status, found.retries) == (None, 0)
    assert words in (found.failure or "")


def test_endless_headers_and_bodies_cost_no_memory() -> None:
    def headers(connection: Connection) -> None:
        connection.send(b"HTTP/1.1 200 OK\r\n")
        with suppress(OSError):
            for number in range(100):
                connection.socket.sendall(b"X-%d: " % number + b"x" * (1 << 20) + b"\r\n")

    def body(connection: Connection) -> None:
        connection.chunked("application/json")
        with suppress(OSError):
            while True:
                connection.socket.sendall(b"100000\r\n" + b"x" * (1 << 20) + b"\r\n")

    limits = Limits(total_seconds=20, body_bytes=4 << 20)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert "100 KiB" in (reply_of(once(headers), limits=limits).failure or "")
    found = reply_of(once(body), limits=limits)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kB
    assert (found.status, found.body, found.whole) == (200, b"", False)
    assert found.failure == "the answer has more than 4,194,304 bytes"


def test_too_many_events_are_not_kept() -> None:
    def act(connection: Connection) -> None:
        connection.answer(b"data: x\n\n" * 1000, kind="text/event-stream")

    found = reply_of(once(act), limits=Limits(events=100))
    assert len(found.events) == 100
    assert not found.whole
    assert found.failure == "the stream has more than 100 events"


def test_compression_that_was_not_asked_for() -> None:
    def act(connection: Connection) -> None:
        connection.send(
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\0\0"
        )

    assert "compressed (gzip)" in (reply_of(once(act)).failure or "")


def test_silence_and_dripping_both_end() -> None:
    def silent(server: Wired, connection: Connection) -> None:
        connection.request()
        server.over.wait(5)

    def dripping(server: Wired, connection: Connection) -> None:
        connection.request()
        for byte in b"HTTP/1.1 200 OK\r\nX: " + b"x" * 1000:
            connection.send(bytes([byte]))
            if server.over.wait(0.02):
                return

    began = time.monotonic()
    found = reply_of(silent)
    assert (found.status, found.failure) == (None, "the server sent nothing for 0.3 s")
    found = reply_of(silent, limits=Limits(total_seconds=0.2))
    assert (found.status, found.failure) == (None, "not done within 0.2 s")
    limits = Limits(silence_seconds=0.3, total_seconds=0.4, retries=2)
    found = reply_of(dripping, limits=limits)
    assert (found.status, found.retries) == (None, 0)
    assert found.failure == "not done within 0.4 s"
    assert time.monotonic() - began < 2


def test_a_dripping_body_ends_with_what_came() -> None:
    def dripping(server: Wired, connection: Connection) -> None:
        connection.request()
        connection.chunked()
        while not server.over.wait(0.02):
            connection.chunk(b"data: 1\n\n")

    found = reply_of(dripping, limits=Limits(total_seconds=0.3))
    assert found.events[:2] == ("1", "1")
    assert (found.failure, found.whole) == ("not done within 0.3 s", False)


def test_a_connection_broken_before_an_answer_is_tried_again_and_counted() -> None:
    def handle(server: Wired, connection: Connection) -> None:
        if connection.request() is not None and connection.number == 2:
            connection.answer(b"{}")

    assert reply_of(handle) == Reply(200, b"{}", retries=2)
    found = reply_of(handle, limits=Limits(retries=1, pause_seconds=0.01))
    assert (found.status, found.retries) == (None, 1)
    assert "closed the connection without an answer" in (found.failure or "")


def test_a_busy_server_is_asked_again() -> None:
    answers = iter([(503, b"loading"), (429, b"slow down"), (200, b"{}")])
    assert reply_of(answering(lambda *_: next(answers))) == Reply(200, b"{}", retries=2)
    # What it says in the end is an answer and not a failure.
    assert reply_of(answering(lambda *_: (503, b"no"))) == Reply(503, b"no", retries=2)
    assert reply_of(answering(lambda *_: (500, b"no"))) == Reply(500, b"no", retries=0)


def test_a_busy_server_says_how_long_to_wait() -> None:
    def handle(server: Wired, connection: Connection) -> None:
        connection.request()
        connection.send(b"HTTP/1.1 429 X\r\nRetry-After: 60\r\nContent-Length: 0\r\n\r\n")

    began = time.monotonic()
    found = reply_of(handle)  # 10 s at most, which is more than there is left
    assert (found.status, found.retries) == (429, 0)
    assert time.monotonic() - began < 1


def test_nobody_there_costs_its_pauses_once() -> None:
    with Server(f"http://127.0.0.1:{closed_port()}", limits=QUICK) as server:
        assert server.nobody()
        first, second = (server.exchange(POST, Spelling.RAW) for _ in range(2))
    assert "refused the connection" in (first.failure or "")
    assert (first.status, first.retries, second.retries) == (None, 2, 0)


def test_a_name_that_cannot_be_resolved() -> None:
    with Server("http://no-such-host.invalid:8000", limits=QUICK) as server:
        found = server.exchange(POST, Spelling.RAW)
        assert not server.nobody()
    assert "no-such-host.invalid:8000 cannot be resolved" in (found.failure or "")


def _tls(server: Wired, connection: Connection) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    with suppress(OSError):
        connection.socket = context.wrap_socket(connection.socket, server_side=True)
        answering(lambda *_: (200, b"{}"))(server, connection)


def test_tls(monkeypatch: pytest.MonkeyPatch) -> None:
    with wired(_tls) as at:
        url = at.url.replace("http:", "https:")
        with Server(url, limits=QUICK) as server:
            found = server.exchange(POST, Spelling.RAW)
        assert "the certificate of 127.0.0.1" in (found.failure or "")
        assert (found.status, found.retries) == (None, 0)
        monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
        with Server(url, limits=QUICK) as server:
            assert server.exchange(POST, Spelling.RAW).status == 200

    def plain(server: Wired, connection: Connection) -> None:
        connection.socket.recv(1 << 16)  # what it takes for a bad request
        connection.answer(b"", status=400)

    with wired(plain) as at:
        url = at.url.replace("http:", "https:")
        with Server(url, limits=QUICK) as server:
            assert "TLS with" in (server.exchange(POST, Spelling.RAW).failure or "")


def test_the_key_is_sent_and_stands_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    key = "sk-very-secret-0123"
    monkeypatch.setenv("MY_KEY", key)

    def handle(server: Wired, connection: Connection) -> None:
        while (found := connection.request()) is not None:
            server.seen.append(found)
            told = json.dumps(found[0]).encode() + b"\n\n"
            if "/stream" in found[0]:
                connection.answer(b"data: " + told, kind="text/event-stream")
            elif "/moved" in found[0]:
                connection.send(
                    f"HTTP/1.1 302 X\r\nLocation: /{key}\r\nContent-Length: 0\r\n\r\n".encode()
                )
            else:
                connection.answer(told, status=401)

    with wired(handle) as at, Server(at.url, key_env="MY_KEY") as server:
        paths = ("/plain", "/stream", "/moved")
        found = [server.exchange(Call(path, {}), Spelling.RAW) for path in paths]
        kept = f"{server!r} {server.__dict__} {found}"
    assert [f"Authorization: Bearer {key}" in head for head, _ in at.seen] == [True] * 3
    assert b"Bearer [key]" in found[0].body
    assert "Bearer [key]" in found[1].events[0]
    assert "/[key]" in (found[2].failure or "")
    assert key not in kept


@pytest.mark.parametrize(("value", "words"), [(None, "not set"), ("a\nb", "cannot be a key")])
def test_a_key_that_is_none(value: str | None, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("MY_KEY", value)
    with pytest.raises(UsageError, match=words) as refused:
        Server("http://127.0.0.1:1", key_env="MY_KEY")
    assert refused.value.where == "MY_KEY"
    assert value is None or value not in str(refused.value)


def test_stopping_ends_an_exchange_that_waits() -> None:
    asked = threading.Event()

    def handle(server: Wired, connection: Connection) -> None:
        connection.request()
        asked.set()
        server.over.wait(5)

    found: list[Reply] = []
    with wired(handle) as at, Server(at.url) as server:
        thread = threading.Thread(
            target=lambda: found.append(server.exchange(POST, Spelling.RAW)), daemon=True
        )
        thread.start()
        assert asked.wait(2)
        server.stop()
        thread.join(1)
        assert not thread.is_alive()
        assert server.exchange(POST, Spelling.RAW).failure == "stopped"
    assert found[0].status is None


def test_json_that_no_client_sends_is_a_bug_of_ours() -> None:
    with pytest.raises(ValueError, match="JSON"):
        body_bytes({"temperature": float("nan")}, Spelling.RAW)
    assert json.loads(body_bytes({"a": ["é"]}, Spelling.ESCAPED)) == {"a": ["é"]}


@pytest.mark.parametrize("name", ["sk-123-secret", "hf_AbCsecret", "", "A=B", "\0"])
def test_a_key_given_in_place_of_its_variable_is_not_shown(name: str) -> None:
    with pytest.raises(UsageError, match="no environment variable has the name") as refused:
        Server("http://127.0.0.1:1", key_env=name)
    assert not name or name not in str(refused.value)


def test_a_variable_of_any_name_holds_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("my-key", "0123456789")
    with (
        wired(answering(lambda *_: (200, b"{}"))) as at,
        Server(at.url, key_env="my-key") as server,
    ):
        server.exchange(POST, Spelling.RAW)
    assert "Authorization: Bearer 0123456789" in at.seen[0][0]


@pytest.mark.parametrize("kind", ["application/json", "text/plain; charset=utf-8", ""])
def test_a_stream_under_another_label_is_a_stream(kind: str) -> None:
    """Clients of such servers do not look at the label."""
    stream = b"\xef\xbb\xbf\ndata: {}\r\n\r\ndata: [DONE]\r\n\r\n"

    def act(connection: Connection) -> None:
        connection.answer(stream, kind=kind)

    streamed = Call("/v1/completions", {}, streamed=True)
    assert reply_of(once(act), streamed) == Reply(200, events=("{}", "[DONE]"))
    assert reply_of(once(act)) == Reply(200, stream)  # no stream was asked for


def test_json_is_no_stream_even_where_one_was_asked_for() -> None:
    def act(connection: Connection) -> None:
        connection.answer(b'{"data": []}')

    streamed = Call("/v1/completions", {}, streamed=True)
    assert reply_of(once(act), streamed) == Reply(200, b'{"data": []}')
