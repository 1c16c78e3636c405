"""The client against probes that behave, and against every way of misbehaving.

The probes are small scripts; the first line of each test says what its probe does wrong.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import dedent, indent

import pytest

from harness.build import Probe
from harness.errors import InstrumentInvalid, LaneUnavailable, StorageError
from harness.lane import parse
from harness.outcomes import Status
from harness.probe import Cancelled, LaneRun, Limits, Session, run_lane
from harness.requests import RequestFile, pieces, write_requests
from harness.runners.native import Native

ROOT = Path(__file__).resolve().parents[2]
LANE = parse("x86_64-linux-gnu/default/native")
AXES = {"arch": "x86_64", "char": "signed", "endian": "little"}
QUICK = Limits(case_seconds=1, load_seconds=20)
OPERATIONS = ["encode", "encode_special", "decode", "normalize", "pretokenize", "request"]

SCRIPT = """\
#!{python} -SE
import os, signal, sys, time
HELLO = 'tokparity/1 {{"subject":"s","version":"1","operations":{operations}}}'
def say(line):
    sys.stdout.write(line + "\\n")
    sys.stdout.flush()
def answer(operation, text):
    if operation == "tokparity-sync" or operation not in {operations}:
        return "unsupported"
    if operation == "decode":
        return "ok " + bytes(map(int, text.split())).hex()
    data = bytes.fromhex(text)
    if operation == "normalize":
        return "ok " + data.hex()
    if operation == "pretokenize":
        return " ".join(["ok", *(bytes([b]).hex() for b in data)])
    if operation == "request":
        return " ".join(["ok", data.hex(), *map(str, data)])
    return " ".join(["ok", *map(str, data)])
def requests():
    for number, line in enumerate(sys.stdin):
        operation, _, text = line.rstrip("\\n").partition(" ")
        yield number, operation, text
{body}
"""
PLAIN = """
say(HELLO)
for number, operation, text in requests():
    {hook}
    say(answer(operation, text))
"""

Make = Callable[..., Probe]


@pytest.fixture
def script(tmp_path: Path) -> Make:
    """Make a probe of a script body; ``hook=`` makes one that answers and does that before."""

    def make(body: str | None = None, *, hook: str = "pass", args: Sequence[str] = ()) -> Probe:
        if body is None:
            body = PLAIN.format(hook=indent(dedent(hook).strip(), "    ").strip())
        path = tmp_path / "probe.py"
        path.write_text(
            SCRIPT.format(
                python=sys.executable, operations=json.dumps(OPERATIONS), body=dedent(body)
            )
        )
        path.chmod(0o755)
        return Probe(lane=LANE, path=path, sha256="0", command=(str(path),), args=tuple(args))

    return make


def asked(tmp_path: Path, *texts: bytes) -> RequestFile:
    return write_requests(tmp_path / "it.requests", [("encode", text) for text in texts])


def run(probe: Probe, requests: RequestFile, tmp_path: Path, **options: object) -> LaneRun:
    settings: dict[str, object] = {"axes": AXES, "limits": QUICK, "scratch": tmp_path, **options}
    done = run_lane(Native(), probe, Path("/dev/null"), requests, **settings)  # type: ignore[arg-type]
    assert len(done.outcomes) == len(requests)
    assert none_left(probe)
    return done


def none_left(probe: Probe) -> bool:
    """Whether no process has the probe's path on its command line."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if str(probe.path).encode() in (entry / "cmdline").read_bytes():
                    return False
            except OSError:
                continue
    return True


ABCDE = (b"a", b"b", b"c", b"d", b"e")


# Probes that behave.


def test_answers_come_back_in_order(script: Make, tmp_path: Path) -> None:
    texts = [b"", b"\x00\xff\n", "é".encode(), b"x" * 1000, *ABCDE]
    done = run(script(), asked(tmp_path, *texts), tmp_path)
    assert done.invalid is None
    assert [done.outcomes.answer(i).astype("u1").tobytes() for i in range(len(texts))] == texts
    assert done.hello is not None
    assert done.hello.subject == "s"
    assert done.restarts == 0
    assert done.remarks == ()
    assert 0 < done.load_seconds <= done.seconds


def test_every_operation(script: Make, tmp_path: Path) -> None:
    requests = write_requests(
        tmp_path / "all",
        [
            ("encode", b"ab"),
            ("encode_special", b"ab"),
            ("decode", ["97", "98"]),
            ("normalize", b"ab"),
            ("pretokenize", b"ab"),
            ("request", b"ab"),
            ("encode", b""),
            ("no-such-operation", b"ab"),
        ],
    )
    done = run(script(), requests, tmp_path)
    answers = [done.outcomes.answer(i).tolist() for i in range(8)]
    assert answers[:4] == [[97, 98]] * 4
    assert pieces(done.outcomes.answer(4)) == [b"a", b"b"]
    assert answers[5] == [2, 97, 98, 97, 98]
    assert answers[6] == []
    assert done.outcomes.status[7] == Status.UNSUPPORTED


def test_no_requests(script: Make, tmp_path: Path) -> None:
    done = run(script(), asked(tmp_path), tmp_path)
    assert done.invalid is None
    assert done.hello is not None


def test_large_requests_and_answers_do_not_block_each_other(script: Make, tmp_path: Path) -> None:
    texts = [bytes([65 + i]) * 1_000_000 for i in range(4)]
    done = run(script(), asked(tmp_path, *texts), tmp_path, limits=Limits(case_seconds=20))
    assert done.invalid is None
    assert done.outcomes.lengths.tolist() == [1_000_000] * 4
    assert done.outcomes.ids[::1_000_000].tolist() == [65, 66, 67, 68]


def test_arguments_and_the_fixed_environment(
    script: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_PRELOAD_LIKE", "1")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    body = """
    say(HELLO)
    for number, operation, text in requests():
        said = repr((sys.argv[1:], sorted(os.environ), os.environ["LC_ALL"]))
        say("err " + said.encode().hex())
    """
    done = run(script(body, args=["--x", "y z"]), asked(tmp_path, b"a"), tmp_path)
    arguments, names, locale = eval(done.outcomes.notes[0])  # noqa: S307
    assert arguments == ["/dev/null", "--x", "y z"]
    assert {"LC_ALL", "PATH", "TZ"} == set(names) - {"LC_CTYPE"}  # Python adds the last itself
    assert locale == "C"


def test_an_error_answer_is_a_case_and_not_a_lane(script: Make, tmp_path: Path) -> None:
    hook = """
    if number == 1:
        say("err " + "bad luck".encode().hex())
        continue
    """
    done = run(script(hook=hook), asked(tmp_path, *ABCDE), tmp_path)
    assert done.invalid is None
    assert [Status(s).name for s in done.outcomes.status[:3]] == ["OK", "ERROR", "OK"]
    assert done.outcomes.notes == {1: "bad luck"}


def test_a_refusal_is_every_case_unsupported(script: Make, tmp_path: Path) -> None:
    body = """say('tokparity/1 {"operations":[],"refused":"Unigram is not supported"}')"""
    done = run(script(body), asked(tmp_path, b"a", b"b"), tmp_path)
    assert done.invalid is None
    assert set(done.outcomes.status.tolist()) == {Status.UNSUPPORTED}
    assert done.outcomes.notes == dict.fromkeys(range(2), "Unigram is not supported")


def test_an_error_while_loading_is_every_case_an_error(script: Make, tmp_path: Path) -> None:
    body = """say('tokparity/1 {"operations":[],"error":"no such file"}')"""
    done = run(script(body), asked(tmp_path, b"a", b"b"), tmp_path)
    assert done.invalid is None
    assert set(done.outcomes.status.tolist()) == {Status.ERROR}
    assert done.outcomes.notes[1] == "no such file"


# Crashes and hangs.


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", "SIGSEGV (signal 11)"),
        ("os.abort()", "SIGABRT (signal 6)"),
        ("os._exit(3)", "exit status 3"),
        ("os._exit(0)", "exited with status 0 before answering"),
        ("sys.stdout.write('ok 1 2'); sys.stdout.flush(); os.abort()", "SIGABRT (signal 6)"),
        ("os.close(1); time.sleep(60)", "closed its output"),
    ],
)
def test_a_crash_belongs_to_its_case(script: Make, tmp_path: Path, how: str, words: str) -> None:
    probe = script(hook=f"if text == '63': {how}")
    done = run(probe, asked(tmp_path, *ABCDE), tmp_path)
    assert done.invalid is None
    assert done.outcomes.status.tolist() == [Status.OK] * 2 + [Status.CRASH] + [Status.OK] * 2
    assert done.outcomes.notes == {2: f"{words}, also alone"}
    assert done.outcomes.ids.tolist() == [97, 98, 100, 101]
    assert done.restarts == 1


@pytest.mark.parametrize("at", [0, 4])
def test_a_crash_on_the_first_and_on_the_last_case(script: Make, tmp_path: Path, at: int) -> None:
    probe = script(hook=f"if text == '{ABCDE[at].hex()}': os.abort()")
    done = run(probe, asked(tmp_path, *ABCDE), tmp_path)
    crashed = [index for index, s in enumerate(done.outcomes.status) if s == Status.CRASH]
    assert crashed == [at]
    assert done.restarts == (1 if at == 0 else 0)


def test_several_crashes(script: Make, tmp_path: Path) -> None:
    probe = script(hook="if text in ('61', '63', '64'): os.abort()")
    done = run(probe, asked(tmp_path, *ABCDE), tmp_path)
    crashed = [index for index, s in enumerate(done.outcomes.status) if s == Status.CRASH]
    assert crashed == [0, 2, 3]
    assert done.outcomes.ids.tolist() == [98, 101]


def test_a_crash_that_needs_earlier_cases_says_so(script: Make, tmp_path: Path) -> None:
    probe = script(hook="if number == 2 and text == '63': os.abort()")
    done = run(probe, asked(tmp_path, *ABCDE), tmp_path)
    assert done.invalid is None
    assert done.outcomes.status[2] == Status.CRASH
    assert done.outcomes.notes[2] == "SIGABRT (signal 6), only after earlier cases"


def test_a_hang_belongs_to_its_case(script: Make, tmp_path: Path) -> None:
    probe = script(hook="if text == '63': time.sleep(60)")
    start = time.monotonic()
    done = run(probe, asked(tmp_path, *ABCDE), tmp_path)
    assert done.outcomes.status.tolist() == [Status.OK] * 2 + [Status.TIMEOUT] + [Status.OK] * 2
    assert done.outcomes.notes == {2: "no answer within 1 s, also alone"}
    assert time.monotonic() - start < 30


def test_an_answer_that_trickles_is_a_hang(script: Make, tmp_path: Path) -> None:
    hook = """
    while text == '62':
        sys.stdout.write('ok'); sys.stdout.flush(); time.sleep(0.05)
    """
    done = run(script(hook=hook), asked(tmp_path, *ABCDE), tmp_path)
    assert done.outcomes.status.tolist()[:3] == [Status.OK, Status.TIMEOUT, Status.OK]


def test_slow_cases_within_their_time_are_no_hang(script: Make, tmp_path: Path) -> None:
    done = run(script(hook="time.sleep(0.3)"), asked(tmp_path, *ABCDE), tmp_path)
    assert set(done.outcomes.status.tolist()) == {Status.OK}


def test_a_crash_leaves_no_child_of_the_probe(script: Make, tmp_path: Path) -> None:
    # The child keeps the pipes open and would be waited for, or left over.
    hook = """
    if text == '63':
        if os.fork() == 0: time.sleep(60)
        os.abort()
    """
    done = run(script(hook=hook), asked(tmp_path, *ABCDE), tmp_path)
    assert done.invalid is None
    assert done.outcomes.status.tolist().count(Status.OK) == 4


def test_too_many_crashes_leave_the_rest_unresolved_and_say_so(
    script: Make, tmp_path: Path
) -> None:
    limits = Limits(case_seconds=5, load_seconds=20, restarts=3, confirmations=1)
    done = run(script(hook="os.abort()"), asked(tmp_path, *ABCDE, b"f"), tmp_path, limits=limits)
    assert done.invalid is None
    assert done.outcomes.status.tolist() == [Status.CRASH] * 4 + [Status.UNRESOLVED] * 2
    assert done.outcomes.notes[0].endswith("also alone")
    assert done.outcomes.notes[1] == "SIGABRT (signal 6)"  # not asked again, and not claimed
    assert "not asked: 4 probes had died" in done.outcomes.notes[5]


def test_too_many_hangs_too(script: Make, tmp_path: Path) -> None:
    limits = Limits(case_seconds=0.3, load_seconds=20, hangs=2, confirmations=0)
    probe = script(hook="if text > '61': time.sleep(60)")
    done = run(probe, asked(tmp_path, *ABCDE), tmp_path, limits=limits)
    assert done.outcomes.status.tolist() == [
        Status.OK,
        *[Status.TIMEOUT] * 2,
        *[Status.UNRESOLVED] * 2,
    ]


def test_death_while_loading_is_a_crash_of_every_case(script: Make, tmp_path: Path) -> None:
    done = run(script("os.abort()"), asked(tmp_path, *ABCDE), tmp_path)
    assert done.invalid is None
    assert set(done.outcomes.status.tolist()) == {Status.CRASH}
    assert "SIGABRT (signal 6) before hello, while loading" in done.outcomes.notes[4]


def test_a_probe_that_does_not_come_up_again(script: Make, tmp_path: Path) -> None:
    body = f"""
    if os.path.exists({str(tmp_path / "died")!r}): sys.exit(1)
    say(HELLO)
    for number, operation, text in requests():
        if text == '62':
            open({str(tmp_path / "died")!r}, 'w'); os.abort()
        say(answer(operation, text))
    """
    done = run(script(body), asked(tmp_path, *ABCDE), tmp_path)
    assert done.outcomes.status.tolist() == [Status.OK, Status.CRASH, *[Status.UNRESOLVED] * 3]
    assert done.outcomes.notes[1] == "SIGABRT (signal 6)"
    assert "did not come up again" in done.outcomes.notes[2]


# The protocol broken: the lane is invalid, and the case is named.


def broken(probe: Probe, tmp_path: Path, **options: object) -> tuple[str, int | None]:
    done = run(probe, asked(tmp_path, *ABCDE), tmp_path, **options)
    assert done.invalid is not None
    assert set(done.outcomes.status.tolist()) == {Status.UNRESOLVED}
    assert set(done.outcomes.notes) == set(range(5))
    return done.invalid, done.invalid_request


@pytest.mark.parametrize("extra", ["ok 7", "unsupported", "err 61", "loaded!", ""])
def test_an_answer_too_many_names_its_case(script: Make, tmp_path: Path, extra: str) -> None:
    probe = script(hook=f"if text == '63': say({extra!r})")
    why, request = broken(probe, tmp_path)
    assert request == 2
    assert why


def test_an_answer_too_many_after_the_last(script: Make, tmp_path: Path) -> None:
    body = PLAIN.format(hook="pass") + "\n    if text == '65': say('ok 1')\n"
    why, request = broken(script(body), tmp_path)
    assert request == 4
    assert "'ok 1'" in why


def test_an_answer_too_few_names_its_case(script: Make, tmp_path: Path) -> None:
    # Without this the answers of every later case would be those of its neighbour.
    why, request = broken(script(hook="if text == '63': continue"), tmp_path)
    assert (why, request) == ("gave no answer", 2)


def test_an_answer_too_many_before_a_crash_is_not_the_crash_of_another_case(
    script: Make, tmp_path: Path
) -> None:
    hook = """
    if text == '62': say('ok 5')
    if text == '63': os.abort()
    """
    why, request = broken(script(hook=hook), tmp_path)
    assert request == 1
    assert "ok 5" in why


@pytest.mark.parametrize(
    "line",
    ["ok 4294967296", "ok -1", "ok 1.5", "ok  1", "okay", "OK 1", "err zz", "1 2", "\\x1b[2J"],
)
def test_a_line_that_is_no_answer_names_its_case(script: Make, tmp_path: Path, line: str) -> None:
    hook = f"""
    if text == '63':
        say('{line}')
        continue
    """
    why, request = broken(script(hook=hook), tmp_path)
    assert request == 2
    assert "answered" in why
    assert why.isprintable()


def test_a_breach_that_does_not_show_itself_again_is_still_one(
    script: Make, tmp_path: Path
) -> None:
    flag = str(tmp_path / "once")
    hook = f"""
    if text == '63' and not os.path.exists({flag!r}):
        open({flag!r}, 'w'); say('ok 1')
    """
    why, _ = broken(script(hook=hook), tmp_path)
    assert "but not when asked one request at a time" in why


def test_output_of_its_own_after_hello(script: Make, tmp_path: Path) -> None:
    why, request = broken(
        script(
            "say(HELLO); say('loaded 5 tokens')"
            + PLAIN.format(hook="pass").replace("say(HELLO)", "")
        ),
        tmp_path,
    )
    assert request == 0
    assert "loaded 5 tokens" in why


def test_answers_kept_back_until_the_end_are_found_out_at_a_crash(
    script: Make, tmp_path: Path
) -> None:
    body = """
    say(HELLO)
    held = []
    for number, operation, text in requests():
        if text == '64': os.abort()
        held.append(answer(operation, text))
    for line in held: say(line)
    """
    why, request = broken(script(body), tmp_path)
    assert request == 0
    assert "flushed" in why


def test_endless_output_without_a_newline(script: Make, tmp_path: Path) -> None:
    hook = "while text == '63': sys.stdout.write('ok 1' * 10000)"
    limits = Limits(case_seconds=20, load_seconds=20, answer_bytes=1 << 20)
    why, request = broken(script(hook=hook), tmp_path, limits=limits)
    assert request == 2
    assert "bytes" in why


def test_endless_answers(script: Make, tmp_path: Path) -> None:
    why, request = broken(script(hook="while text == '63': say('ok 1')"), tmp_path)
    assert request == 2
    assert why


# Hello.


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("say('Loading...'); say(HELLO)", "no hello"),
        ("say('garbage \\x1b[2J')", "no hello"),
        ("say('tokparity/1 {')", "not JSON"),
        ("say('tokparity/1 [1]')", "no JSON object"),
        ("say('tokparity/2 {}')", "protocol"),
        ("say('tokparity/1 {\"operations\":[]}')", "offers no encode"),
        ("say(HELLO.replace('}', ',\"arch\":\"aarch64\"}'))", "aarch64"),
        ("say(HELLO.replace('}', ',\"char\":\"unsigned\"}'))", "signed"),
        ("sys.exit(3)", "exit status 3 before hello"),
        ("sys.exit(0)", "exit status 0 before hello"),
        ("os.close(1); time.sleep(60)", "closed its output before hello"),
        ("sys.stderr.write('cannot open'); sys.exit(1)", "cannot open"),
        ("while True: sys.stdout.write('x' * 100000)", "no hello"),
        ("time.sleep(60)", "no hello within 0.6 s"),
    ],
)
def test_no_hello_to_believe(script: Make, tmp_path: Path, body: str, words: str) -> None:
    limits = Limits(case_seconds=0.6, load_seconds=0.6 if body == "time.sleep(60)" else 20)
    why, request = broken(script(body), tmp_path, limits=limits)
    assert words in why
    assert why.isprintable()
    assert request is None


def test_a_contradiction_names_both_values(script: Make, tmp_path: Path) -> None:
    why, _ = broken(script("say(HELLO.replace('}', ',\"arch\":\"aarch64\"}'))"), tmp_path)
    assert "'aarch64'" in why
    assert "x86_64" in why


def test_a_probe_that_never_reads(script: Make, tmp_path: Path) -> None:
    limits = Limits(case_seconds=0.2, load_seconds=20)
    why, request = broken(script("say(HELLO); time.sleep(60)"), tmp_path, limits=limits)
    assert "none of its first 3 requests" in why
    assert request == 0


# What surrounds the answers.


def test_what_is_odd_after_the_last_answer_is_a_remark(script: Make, tmp_path: Path) -> None:
    body = PLAIN.format(hook="pass")
    done = run(script(body + "\nos.abort()"), asked(tmp_path, *ABCDE), tmp_path)
    assert set(done.outcomes.status.tolist()) == {Status.OK}
    assert done.remarks == ("SIGABRT (signal 6) after its last answer",)
    done = run(script(body + "\ntime.sleep(60)"), asked(tmp_path, *ABCDE), tmp_path)
    assert set(done.outcomes.status.tolist()) == {Status.OK}
    assert done.remarks == ("did not exit at the end of its requests",)


def test_stderr_is_kept_and_bounded(script: Make, tmp_path: Path) -> None:
    hook = "sys.stderr.write('x' * 500_000 + f'end {number}\\n')"
    done = run(script(hook=hook), asked(tmp_path, *ABCDE * 2), tmp_path)
    assert set(done.outcomes.status.tolist()) == {Status.OK}
    kept = done.stderr_path.read_bytes()
    assert len(kept) < (1 << 20) + 100
    assert kept.startswith(b"[")
    assert b"dropped" in kept[:60]
    assert done.stderr_tail.endswith("end 9")
    assert len(done.stderr_tail) <= 2000


def test_stderr_tells_of_a_crash(script: Make, tmp_path: Path) -> None:
    hook = "if text == '63': sys.stderr.write('assert failed\\n'); sys.stderr.flush(); os.abort()"
    done = run(script(hook=hook), asked(tmp_path, *ABCDE), tmp_path)
    assert "assert failed" in done.stderr_path.read_text()


def test_no_core_file_is_left(script: Make, tmp_path: Path) -> None:
    run(script(hook="os.kill(os.getpid(), signal.SIGSEGV)"), asked(tmp_path, b"a"), tmp_path)
    assert not list(tmp_path.rglob("*core*"))


def test_a_program_that_cannot_be_executed(tmp_path: Path) -> None:
    path = tmp_path / "it"
    path.write_bytes(b"\x7fELF nonsense")
    path.chmod(0o755)
    probe = Probe(lane=LANE, path=path, sha256="0", command=(str(path),))
    with pytest.raises(LaneUnavailable, match="cannot be executed"):
        run(probe, asked(tmp_path, b"a"), tmp_path)


def test_a_scratch_that_cannot_be_written(script: Make, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError):
        run(script(), asked(tmp_path, b"a"), tmp_path, scratch=tmp_path / "file")


@pytest.mark.parametrize(
    "body",
    ["time.sleep(60)", "say(HELLO); time.sleep(60)", "say(HELLO); os.close(1); time.sleep(60)"],
)
def test_cancelling_ends_it_at_once_and_leaves_no_process(
    script: Make, tmp_path: Path, body: str
) -> None:
    probe = script(body)
    cancel = threading.Event()
    threading.Timer(0.5, cancel.set).start()
    start = time.monotonic()
    with pytest.raises(Cancelled):
        run(probe, asked(tmp_path, *ABCDE), tmp_path, limits=Limits(), cancel=cancel)
    assert time.monotonic() - start < 10
    assert none_left(probe)


def test_ctrl_c_leaves_no_process(script: Make, tmp_path: Path) -> None:
    probe = script(f"say(HELLO); open({str(tmp_path / 'up')!r}, 'w'); time.sleep(60)")
    asked(tmp_path, *ABCDE)
    program = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from harness.build import Probe
from harness.lane import parse
from harness.probe import run_lane
from harness.requests import write_requests
from harness.runners.native import Native
tmp = Path({str(tmp_path)!r})
run_lane(Native(), Probe(lane=parse({LANE.name!r}), path=tmp, sha256="0",
         command=({str(probe.path)!r},)), Path("/dev/null"),
         write_requests(tmp / "r", [("encode", b"a")]), axes={{}}, scratch=tmp)
"""
    child = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE)
    for _ in range(500):
        if (tmp_path / "up").exists():
            break
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    _, words = child.communicate(timeout=20)
    assert b"KeyboardInterrupt" in words
    assert none_left(probe)


def test_lanes_in_threads_do_not_disturb_each_other(script: Make, tmp_path: Path) -> None:
    probe = script(hook="if text == '63': os.abort()")
    requests = asked(tmp_path, *ABCDE * 20)
    found: list[LaneRun] = []

    def one() -> None:
        found.append(
            run_lane(Native(), probe, Path("/dev/null"), requests, axes=AXES, scratch=tmp_path)
        )

    threads = [threading.Thread(target=one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({done.outcomes.status.tobytes() for done in found}) == 1
    assert (
        found[0].outcomes.status.tolist()
        == ([Status.OK] * 2 + [Status.CRASH] + [Status.OK] * 2) * 20
    )
    assert none_left(probe)


# One question at a time.


def session(probe: Probe, tmp_path: Path, limits: Limits = QUICK) -> Session:
    return Session(Native(), probe, Path("/dev/null"), axes=AXES, scratch=tmp_path, limits=limits)


def test_a_session_asks_one_question_at_a_time(script: Make, tmp_path: Path) -> None:
    hook = """
    if text == '63': os.abort()
    if text == '64': time.sleep(60)
    """
    probe = script(hook=hook)
    with session(probe, tmp_path) as ask:
        assert ask.hello.subject == "s"
        assert ask.ask("encode", b"ab").values.tolist() == [97, 98]
        assert ask.ask("decode", ["97"]).values.tolist() == [97]
        assert ask.ask("nothing", b"").status is Status.UNSUPPORTED
        died = ask.ask("encode", b"c")
        assert (died.status, died.note) == (Status.CRASH, "SIGABRT (signal 6)")
        assert ask.ask("encode", b"d").status is Status.TIMEOUT
        assert ask.ask("encode", b"e").values.tolist() == [101]
    assert none_left(probe)


def test_a_session_with_questions_larger_than_any_pipe(script: Make, tmp_path: Path) -> None:
    text = b"abc" * 400_000
    with session(script(), tmp_path, Limits(case_seconds=20)) as ask:
        assert ask.ask("encode", text).values.astype("u1").tobytes() == text


def test_a_session_with_a_probe_that_will_not(script: Make, tmp_path: Path) -> None:
    with pytest.raises(InstrumentInvalid) as caught, session(script("sys.exit(1)"), tmp_path):
        pass
    assert caught.value.where == LANE.name
    refusing = script("""say('tokparity/1 {"operations":[],"refused":"no"}')""")
    with session(refusing, tmp_path) as ask:
        assert ask.ask("encode", b"a").status is Status.UNSUPPORTED
    babbling = script(hook="if text == '61': say('what?')")
    with session(babbling, tmp_path) as ask:
        assert ask.ask("encode", b"a").status is Status.UNRESOLVED
