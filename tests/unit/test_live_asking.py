"""All questions about all prompts: in order, side by side, and nothing that one of them spoils."""

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from harness.served.live.asking import ask, ask_all
from harness.served.live.http import Limits, Server
from harness.served.live.values import Answer, Ask, Call, Client, Kind, Reply, Row, Spelling
from harness.watch import Watch
from tests.unit.wired import Connection, Wired, answering, wired

KINDS = (Kind.TOKENIZE, Kind.PLAIN, Kind.STREAMED)
QUICK = Limits(silence_seconds=1, total_seconds=2, retries=0)


@dataclass(frozen=True)
class Simple:
    """A dialect of nothing: the path is the kind, the count is the number that comes back."""

    name: str = "simple"
    determines: str = "nothing"
    without: frozenset[Kind] = field(default_factory=frozenset)

    def call(self, kind: Kind, ask: Ask) -> Call | None:
        return None if kind in self.without else Call(f"/{kind}", {"prompt": ask.prompt})

    def read(self, kind: Kind, reply: Reply) -> Answer:
        count = json.loads(reply.body)["n"] if reply.status == 200 else None
        return Answer(reply.status, count=count, error=reply.failure, retries=reply.retries)


def rows_of(texts: Sequence[str]) -> list[Row]:
    client = Client(None, None)
    return [Row(f"p{index}", Ask(text, None, False), client) for index, text in enumerate(texts)]


def length(head: str, body: bytes) -> tuple[int, bytes]:
    found = len(json.loads(body)["prompt"]) if body else None  # none: whether it is there
    return 200, json.dumps({"n": found}).encode()


def test_each_question_in_both_spellings_and_once_where_they_are_one() -> None:
    with wired(answering(length)) as at, Server(at.url) as server:
        row = ask(server, Simple(), rows_of(["naïve"])[0], KINDS)
        assert len(at.seen) == 2 * len(KINDS)
        assert {body for _, body in at.seen} == {
            b'{"prompt": "na\\u00efve"}',
            '{"prompt": "naïve"}'.encode(),
        }
        assert list(row.answers) == [(kind, one) for kind in KINDS for one in Spelling]
        row = ask(server, Simple(), rows_of(["plain"])[0], KINDS)
        assert len(at.seen) == 3 * len(KINDS)
    assert list(row.answers) == [(kind, one) for kind in KINDS for one in Spelling]
    assert {one.count for one in row.answers.values()} == {5}


def test_a_question_that_the_server_cannot_be_asked_has_no_answer() -> None:
    dialect = Simple(without=frozenset({Kind.TOKENIZE}))
    with wired(answering(length)) as at, Server(at.url) as server:
        row = ask(server, dialect, rows_of(["x"])[0], KINDS)
    assert row.answer(Kind.TOKENIZE) is None
    assert row.answer(Kind.PLAIN) == Answer(200, count=1)


def test_questions_of_a_prompt_keep_their_order_and_prompts_go_side_by_side() -> None:
    going, most, lock = 0, 0, threading.Lock()
    together = threading.Barrier(4, timeout=5)

    def make(head: str, body: bytes) -> tuple[int, bytes]:
        nonlocal going, most
        with lock:
            going += 1
            most = max(most, going)
        if "/tokenize" in head:
            together.wait()  # only four prompts at a time come past this
        with lock:
            going -= 1
        return length(head, body)

    rows = rows_of([f"{'x' * index}" for index in range(1, 41)])
    steps: list[str] = []
    stages: list[tuple[str, int | None]] = []
    watch = Watch(stage=lambda *said: stages.append(said), step=steps.append)
    with wired(answering(make)) as at, Server(at.url) as server:
        found = ask_all(server, Simple(), rows, KINDS, in_flight=4, watch=watch)
    assert most == 4
    assert at.connections == 4
    assert [row.id for row in found] == [row.id for row in rows]
    assert [one.answer(Kind.PLAIN) for one in found] == [
        Answer(200, count=index) for index in range(1, 41)
    ]
    assert stages == [("asking", 40)]
    assert sorted(steps) == sorted(row.id for row in rows)
    for row in rows:
        body = json.dumps({"prompt": row.ask.prompt}).encode()
        asked = [head.split()[1] for head, seen in at.seen if seen == body]
        assert asked == ["/tokenize", "/plain", "/streamed"]


def test_a_prompt_that_fails_costs_itself_only() -> None:
    def handle(server: Wired, connection: Connection) -> None:
        while (found := connection.request()) is not None:
            server.seen.append(found)
            if b"bad" in found[1]:
                return  # closed without an answer
            connection.answer(length(*found)[1])

    texts = ["bad" if 5 <= index < 15 else "good" for index in range(20)]
    with wired(handle) as at, Server(at.url, limits=QUICK) as server:
        found = ask_all(server, Simple(), [*rows_of(texts), *rows_of(["\ud800"])], KINDS)
    answers = [one.answers[Kind.STREAMED, Spelling.RAW] for one in found[:20]]
    assert [one.count for one in answers] == [4] * 5 + [None] * 10 + [4] * 5
    assert "closed the connection" in (answers[5].error or "")
    assert any("GET /health" in head for head, _ in at.seen)  # ten in a row made us doubt
    # A lone surrogate can be spelt in one of the two ways only.
    escaped = found[20].answer(Kind.PLAIN, Spelling.ESCAPED)
    raw = found[20].answer(Kind.PLAIN, Spelling.RAW)
    assert escaped is not None
    assert raw is not None
    assert (escaped.count, raw.count) == (1, None)
    assert "lone surrogate" in (raw.error or "")


def test_a_server_that_has_gone_is_not_asked_about_a_thousand_prompts() -> None:
    said: list[str] = []
    with wired(answering(length)) as at:
        server = Server(at.url, limits=QUICK)
        first = ask_all(server, Simple(), rows_of(["x"] * 3), KINDS)
    found = ask_all(server, Simple(), rows_of(["x"] * 1000), KINDS, watch=Watch(say=said.append))
    assert {one.answer(Kind.PLAIN) for one in first} == {Answer(200, count=1)}
    answers = [one.answers[Kind.PLAIN, Spelling.RAW] for one in found]
    assert {(one.status, one.count) for one in answers} == {(None, None)}
    last = answers[-1].error or ""
    assert last.startswith("not asked: the server had stopped answering (127.0.0.1:")
    assert len(said) == 1


def test_a_mistake_of_ours_ends_it_all_and_leaves_no_thread() -> None:
    class Broken(Simple):
        def read(self, kind: Kind, reply: Reply) -> Answer:
            raise ZeroDivisionError

    with wired(answering(length)) as at, Server(at.url) as server:
        own = threading.active_count()
        with pytest.raises(ZeroDivisionError):
            ask_all(server, Broken(), rows_of(["x"] * 50), KINDS)
        assert threading.active_count() <= own + 4  # the server's side of the connections
    assert not [one for one in threading.enumerate() if one.name.startswith("asking-")]


def test_no_prompt_asks_nothing() -> None:
    with Server("http://127.0.0.1:9") as server:
        assert ask_all(server, Simple(), [], KINDS) == ()


SCRIPT = """
import signal, sys, threading
from harness.served.live.asking import ask_all
from harness.served.live.http import Server
from tests.unit.test_live_asking import KINDS, Simple, rows_of
signal.signal(signal.SIGINT, signal.default_int_handler)
with Server(sys.argv[1]) as server:
    try:
        ask_all(server, Simple(), rows_of(["x"] * 100), KINDS)
    except KeyboardInterrupt:
        print("interrupted", threading.active_count(), flush=True)
"""


def test_an_interrupt_stops_at_once_and_leaves_no_thread() -> None:
    asked = threading.Semaphore(0)

    def handle(server: Wired, connection: Connection) -> None:
        connection.request()
        asked.release()
        server.over.wait(20)

    with wired(handle) as at:
        running = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, at.url],
            stdout=subprocess.PIPE,
            cwd=Path(__file__).resolve().parents[2],
        )
        with running:
            try:
                assert all(asked.acquire(timeout=10) for _ in range(4))
                began = time.monotonic()
                running.send_signal(signal.SIGINT)
                said, _ = running.communicate(timeout=5)
            finally:
                running.kill()
        assert said == b"interrupted 1\n"
        assert time.monotonic() - began < 1.5
