"""Every question about every prompt asked of one server, some prompts at a time.

The questions of one prompt go one after another, so that what a server has in its cache for the
second is what the first put there; prompts go side by side, to keep the server busy.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from queue import SimpleQueue

from harness.served.live.dialects.dialect import Dialect
from harness.served.live.http import SURROGATE, Server, body_bytes
from harness.served.live.settings import IN_FLIGHT
from harness.served.live.values import Answer, Call, Kind, Reply, Row, Spelling
from harness.watch import Watch

# So many requests in a row without any answer, over so many prompts, and the server is looked at.
_SILENT_REQUESTS = 8
_SILENT_PROMPTS = 3
_LOOK = 30.0  # seconds for it to show that it is there
_PATIENCE = 2.0  # seconds for a thread to end once its connection is gone


def ask(server: Server, dialect: Dialect, row: Row, kinds: Sequence[Kind]) -> Row:
    """Return one prompt's row with its answers; every question in both spellings.

    Where the two spellings are the same bytes the question is asked once and stands for both.
    """
    answers = dict(row.answers)
    for kind in kinds:
        answers.update(_asked(server, dialect, row, kind, None))
    return replace(row, answers=answers)


def ask_all(
    server: Server,
    dialect: Dialect,
    rows: Sequence[Row],
    kinds: Sequence[Kind],
    *,
    in_flight: int = IN_FLIGHT,
    watch: Watch | None = None,
) -> tuple[Row, ...]:
    """Return the rows with their answers, asking about ``in_flight`` prompts at a time.

    A prompt that fails costs its own answers only; once the server is gone the rest are not asked,
    and their answers say so. On ``KeyboardInterrupt`` every exchange ends at once, ``server`` with
    it, and no thread is left.
    """
    watch = watch or Watch()
    watch.stage("asking", len(rows))
    crew = _Crew(server, dialect, rows, kinds)
    threads = [
        threading.Thread(target=crew.work, name=f"asking-{number}", daemon=True)
        for number in range(max(1, min(in_flight, len(rows))))
    ]
    for thread in threads:
        thread.start()
    try:
        for _ in rows:
            done = crew.done.get()
            if isinstance(done, BaseException):
                raise done
            watch.step(rows[done].id)
    except BaseException:
        crew.stopped.set()
        server.stop()
        raise
    finally:
        for thread in threads:
            thread.join(_PATIENCE)
    if crew.pulse.gone is not None:
        watch.say(f"the server stopped answering: {crew.pulse.gone}")
    return tuple(crew.answered[index] for index in range(len(rows)))


@dataclass
class _Pulse:
    """Whether the server still answers: requests in a row that brought nothing, and their prompts.

    ``gone`` are the words of the last failure once it has been found to answer nothing.
    """

    server: Server
    requests: int = 0
    prompts: set[str] = field(default_factory=set)
    gone: str | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def feel(self, prompt: str, reply: Reply) -> None:
        """Take one reply into account."""
        with self.lock:
            if reply.status is not None:
                self.requests = 0
                self.prompts.clear()
                return
            self.requests += 1
            self.prompts.add(prompt)
            suspect = self.requests >= _SILENT_REQUESTS and len(self.prompts) >= _SILENT_PROMPTS
            if not suspect or self.gone is not None:
                return
            # Prompts that this server breaks on may stand in a row: ask for something else.
            if self.server.alive(_LOOK).status is None:
                self.gone = reply.failure or "no answer"
            else:
                self.requests = 0
                self.prompts.clear()


class _Crew:
    """What the threads share."""

    def __init__(
        self, server: Server, dialect: Dialect, rows: Sequence[Row], kinds: Sequence[Kind]
    ) -> None:
        self._server, self._dialect = server, dialect
        self._rows, self._kinds = rows, kinds
        self._numbers: Iterator[int] = iter(range(len(rows)))
        self._lock = threading.Lock()
        self.stopped = threading.Event()
        self.pulse = _Pulse(server)
        self.answered: dict[int, Row] = {}
        self.done: SimpleQueue[int | BaseException] = SimpleQueue()

    def work(self) -> None:
        """Ask about one prompt after another until there is none left."""
        try:
            while (number := self._next()) is not None:
                self.answered[number] = self._row(self._rows[number])
                self.done.put(number)
        except BaseException as error:
            self.done.put(error)

    def _next(self) -> int | None:
        with self._lock:
            return None if self.stopped.is_set() else next(self._numbers, None)

    def _row(self, row: Row) -> Row:
        answers = dict(row.answers)
        for kind in self._kinds:
            if self.stopped.is_set():
                break
            answers.update(_asked(self._server, self._dialect, row, kind, self.pulse))
        return replace(row, answers=answers)


def _asked(
    server: Server, dialect: Dialect, row: Row, kind: Kind, pulse: _Pulse | None
) -> Mapping[tuple[Kind, Spelling], Answer]:
    """Return one question's answers; none where this server cannot be asked it."""
    call = dialect.call(kind, row.ask)
    if call is None:
        return {}
    found: dict[tuple[Kind, Spelling], Answer] = {}
    seen: dict[bytes | None, Answer] = {}
    for spelling in Spelling:
        body = _body(call, spelling)
        if body not in seen:
            seen[body] = dialect.read(kind, _sent(server, row.id, call, body, pulse))
        found[kind, spelling] = seen[body]
    return found


def _sent(
    server: Server, prompt: str, call: Call, body: bytes | None, pulse: _Pulse | None
) -> Reply:
    if body is None:
        return Reply(None, failure=SURROGATE)
    if pulse is not None and pulse.gone is not None:
        return Reply(None, failure=f"not asked: the server had stopped answering ({pulse.gone})")
    reply = server.send(call, body)
    if pulse is not None:
        pulse.feel(prompt, reply)
    return reply


def _body(call: Call, spelling: Spelling) -> bytes | None:
    try:
        return body_bytes(call.body, spelling)
    except UnicodeEncodeError:
        return None
