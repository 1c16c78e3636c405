"""Many questions asked together of one probe: every answer, and every failure, at its place."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent, indent

import pytest

from harness.build import Probe
from harness.errors import InstrumentInvalid
from harness.lane import parse
from harness.outcomes import Status
from harness.runners.native import Native
from harness.session import Limits, Session

LANE = parse("x86_64-linux-gnu/default/native")
QUICK = Limits(case_seconds=1, load_seconds=20)
SCRIPT = """\
#!{python} -SE
import os, sys, time
with open(__file__ + ".starts", "a") as starts:
    starts.write("x")
def say(line):
    sys.stdout.write(line + "\\n")
    sys.stdout.flush()
{hello}
for line in sys.stdin:
    text = bytes.fromhex(line.split(" ")[1]).decode("latin-1")
{hook}
    say(" ".join(["ok", *(str(ord(char)) for char in text)]))
"""
HELLO = 'say(\'tokparity/1 {"subject":"s","operations":["encode"]}\')'

Make = Callable[..., Session]


@pytest.fixture
def session(tmp_path: Path) -> Make:
    """Make a session with a probe that runs ``hook`` before each answer."""

    def make(hook: str = "pass", hello: str = HELLO, limits: Limits = QUICK) -> Session:
        path = tmp_path / "probe.py"
        path.write_text(
            SCRIPT.format(
                python=sys.executable, hello=hello, hook=indent(dedent(hook).strip(), "    ")
            )
        )
        path.chmod(0o755)
        probe = Probe(lane=LANE, path=path, sha256="0", command=(str(path),))
        return Session(Native(), probe, Path("/dev/null"), axes={}, scratch=tmp_path, limits=limits)

    return make


def starts(tmp_path: Path) -> int:
    return len((tmp_path / "probe.py.starts").read_text())


def texts(*words: str) -> list[bytes]:
    return [word.encode() for word in words]


def test_many_answers_come_from_one_probe(session: Make, tmp_path: Path) -> None:
    asked = [bytes([one % 256]) * (one % 7) for one in range(5000)]
    with session() as ask:
        answers = ask.ask_many("encode", asked)
        assert [one.values.astype("u1").tobytes() for one in answers] == asked
        assert ask.ask_many("encode", []) == []
        assert ask.ask("encode", b"more").values.shape[0] == 4
    assert starts(tmp_path) == 1


def test_batches_larger_than_any_pipe_do_not_lock(session: Make) -> None:
    # Both directions at once: more than the pipes hold is asked while as much is answered.
    asked = [b"abcdefghi" * 10_000] * 60 + [b"x" * 3_000_000] + [b"a"] * 10
    with session(limits=Limits(case_seconds=30)) as ask:
        answers = ask.ask_many("encode", asked)
    assert [one.values.astype("u1").tobytes() for one in answers] == asked


def test_a_crash_belongs_to_the_first_without_an_answer(session: Make, tmp_path: Path) -> None:
    with session("if 'x' in text: os.abort()") as ask:
        answers = ask.ask_many("encode", texts("a", "x", "b", "c", "x", "x", "d", "x"))
    crash, ok = Status.CRASH, Status.OK
    assert [one.status for one in answers] == [ok, crash, ok, ok, crash, crash, ok, crash]
    assert {one.note for one in answers if one.status is crash} == {"SIGABRT (signal 6)"}
    assert [one.values.tolist() for one in answers if one.status is ok] == [[97], [98], [99], [100]]
    assert starts(tmp_path) == 4


def test_a_crash_with_much_under_way(session: Make) -> None:
    asked = [b"a" * 50_000] * 40 + [b"x"] + [b"b" * 50_000] * 40
    with session("if 'x' in text: os.abort()", limits=Limits(case_seconds=30)) as ask:
        answers = ask.ask_many("encode", asked)
    assert [row for row, one in enumerate(answers) if one.status is not Status.OK] == [40]
    assert [one.values.shape[0] for one in answers[41:]] == [50_000] * 40


def test_a_hang_belongs_to_the_first_without_an_answer(session: Make, tmp_path: Path) -> None:
    begun = time.monotonic()
    with session("if 'x' in text: time.sleep(60)") as ask:
        answers = ask.ask_many("encode", texts("a", "x", "b", "x"))
    hang, ok = Status.TIMEOUT, Status.OK
    assert [one.status for one in answers] == [ok, hang, ok, hang]
    assert time.monotonic() - begun < 20
    assert starts(tmp_path) == 2


def test_the_time_limit_is_a_case_s_and_not_the_batch_s(session: Make) -> None:
    with session("time.sleep(0.3)") as ask:
        answers = ask.ask_many("encode", texts(*"abcdef"))
    assert {one.status for one in answers} == {Status.OK}


def test_a_line_that_is_no_answer_spoils_no_other(session: Make, tmp_path: Path) -> None:
    with session("if 'x' in text: say('what?')") as ask:
        answers = ask.ask_many("encode", texts("a", "x", "b"))
    assert [one.status for one in answers] == [Status.OK, Status.UNRESOLVED, Status.OK]
    assert answers[2].values.tolist() == [98]
    assert starts(tmp_path) == 2


def test_a_refusal_answers_all(session: Make) -> None:
    refusing = 'say(\'tokparity/1 {"operations":[],"refused":"no"}\')'
    with session(hello=refusing) as ask:
        answers = ask.ask_many("encode", texts("a", "b"))
    assert [(one.status, one.note) for one in answers] == [(Status.UNSUPPORTED, "no")] * 2


def test_a_probe_that_does_not_come_up_again_is_an_error(session: Make) -> None:
    once = f"sys.exit(3) if os.path.getsize(__file__ + '.starts') > 1 else None\n{HELLO}"
    with session("if 'x' in text: os.abort()", hello=once) as ask:
        assert ask.ask("encode", b"a").status is Status.OK
        with pytest.raises(InstrumentInvalid) as caught:
            ask.ask_many("encode", texts("a", "x", "b"))
    assert caught.value.where == LANE.name
