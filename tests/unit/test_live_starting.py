"""A server of one's own: waited for, told apart from a stranger, and ended with all it started."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.errors import LaneUnavailable, UsageError
from harness.places import bundled
from harness.served.live import starting
from harness.served.live.http import Server
from harness.served.live.settings import Start
from harness.served.live.starting import started
from harness.toolchain import Toolchains, load_toolchains
from tests.unit.wired import answering, closed_port, wired

SERVE = """
import os, socket, sys
def serve(port, loading=0):
    listening = socket.create_server(("127.0.0.1", port))
    while True:
        one, _ = listening.accept()
        with one:
            one.recv(65536)
            status, loading = (503 if loading else 200), max(0, loading - 1)
            body = f"{os.getpid()} {os.environ.get('OF_THE_USER')}".encode()
            head = f"HTTP/1.1 {status} X\\r\\nContent-Length: {len(body)}\\r\\nConnection: close"
            one.sendall(head.encode() + b"\\r\\n\\r\\n" + body)
port = int(sys.argv[1])
"""


@pytest.fixture(scope="module")
def toolchains() -> Iterator[Toolchains]:
    yield load_toolchains([bundled("toolchains")])


def script(directory: Path, lines: str, port: int, seconds: float = 20) -> Start:
    path = directory / "serve.py"
    path.write_text(SERVE + lines)
    return Start((sys.executable, "-IS", str(path), str(port)), directory, None, seconds)


def alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return status != "Z"


def gone(pid: int) -> bool:
    """Whether a process ends in a moment; whoever inherits it may take one to see it."""
    deadline = time.monotonic() + 2
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not alive(pid)


def test_it_is_waited_for_and_ends_with_all_it_started(
    tmp_path: Path, toolchains: Toolchains, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_THE_USER", "kept")
    port = closed_port()
    url = f"http://127.0.0.1:{port}"
    lines = """
import subprocess
child = subprocess.Popen(["sleep", "60"])
open("child", "w").write(str(child.pid))
print("x" * 3_000_000, flush=True)  # more than any pipe holds
serve(port, loading=2)
"""
    with started(script(tmp_path, lines, port), url, toolchains), Server(url) as server:
        reply = server.alive()
        assert reply.status == 200
        pid, kept = reply.body.split()
        child = int((tmp_path / "child").read_text())
        assert kept == b"kept"
        assert alive(int(pid))
        assert alive(child)
    assert gone(int(pid))
    assert gone(child)


def test_one_that_will_not_end_is_ended(
    tmp_path: Path, toolchains: Toolchains, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starting, "_PATIENCE", 0.1)
    port = closed_port()
    url = f"http://127.0.0.1:{port}"
    lines = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); serve(port)"
    with (
        pytest.raises(KeyboardInterrupt),
        started(script(tmp_path, lines, port), url, toolchains),
        Server(url) as server,
    ):
        pid = int(server.alive().body.split()[0])
        raise KeyboardInterrupt
    assert gone(pid)


def test_a_daemon_in_a_session_of_its_own_is_ended_too(
    tmp_path: Path, toolchains: Toolchains
) -> None:
    port = closed_port()
    url = f"http://127.0.0.1:{port}"
    lines = """
if os.fork():
    import time; time.sleep(60)
os.setsid()
if os.fork():
    os._exit(0)  # whose child is nobody's from now on
serve(port)
"""
    with started(script(tmp_path, lines, port), url, toolchains), Server(url) as server:
        pid = int(server.alive().body.split()[0])
        assert alive(pid)
    assert gone(pid)


def test_one_that_dies_is_quoted(tmp_path: Path, toolchains: Toolchains) -> None:
    port = closed_port()
    lines = 'print("loading", file=sys.stderr); sys.exit("no model \\x1b[31m here")'
    with (
        pytest.raises(LaneUnavailable) as died,
        started(script(tmp_path, lines, port), f"http://127.0.0.1:{port}", toolchains),
    ):
        raise AssertionError("the block does not begin")
    assert died.value.what == "the server ended by itself (exit status 1)"
    assert died.value.remedy == "it said last: loading / no model \x1b[31m here"
    assert str(port) in (died.value.where or "")


@pytest.mark.parametrize(
    ("last", "words"),
    [
        ("os.kill(os.getpid(), 9)", "SIGKILL (signal 9)); it said last: out of \x1b[31m memory"),
        ("sys.exit(3)", "exit status 3); it said last: out of \x1b[31m memory"),
    ],
)
def test_one_that_dies_later_tells_how(
    last: str, words: str, tmp_path: Path, toolchains: Toolchains
) -> None:
    port = closed_port()
    url = f"http://127.0.0.1:{port}"
    lines = f"""
import threading
threading.Thread(target=serve, args=(port,), daemon=True).start()
while not os.path.exists("enough"):
    threading.Event().wait(0.01)
print("out of \\x1b[31m memory", flush=True)
{last}
"""
    with started(script(tmp_path, lines, port), url, toolchains) as ended:
        assert ended() is None
        (tmp_path / "enough").touch()
        deadline = time.monotonic() + 10
        while (told := ended()) is None and time.monotonic() < deadline:
            pass
        assert told == f"the server ended by itself ({words}"


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("import time; time.sleep(60)", "refused the connection"),
        ("serve(port, loading=10**6)", "status 503"),
    ],
)
def test_one_that_does_not_answer_in_time(
    lines: str, words: str, tmp_path: Path, toolchains: Toolchains
) -> None:
    port = closed_port()
    begun = time.monotonic()
    with (
        pytest.raises(LaneUnavailable, match=r"within 0\.3 s") as late,
        started(script(tmp_path, lines, port, 0.3), f"http://127.0.0.1:{port}", toolchains),
    ):
        raise AssertionError("the block does not begin")
    assert words in late.value.what
    assert time.monotonic() - begun < 2


def test_a_stranger_at_the_port_is_not_measured(tmp_path: Path, toolchains: Toolchains) -> None:
    lines = 'open("started", "w"); serve(port)'
    with wired(answering(lambda *_: (404, b""))) as at:
        with (
            pytest.raises(LaneUnavailable, match=r"there already.*status 404") as refused,
            started(script(tmp_path, lines, at.port), at.url, toolchains),
        ):
            raise AssertionError("the block does not begin")
        assert refused.value.where == at.url
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize(
    ("command", "lane", "words"),
    [
        ("no-such-server", None, "no such program"),
        ("./no-such-server", None, "no such program"),
        ("sleep", "x86_64-linux-gnu/default/docker", "cannot be started on lane"),
        ("sleep", "x86_64-linux-gnu/default/ssh-there", "cannot be started on lane"),
        ("sleep", "riscv64-linux-gnu/default/native", "unknown triple"),
    ],
)
def test_what_cannot_be_started(
    command: str, lane: str | None, words: str, tmp_path: Path, toolchains: Toolchains
) -> None:
    start = Start((command, "60"), tmp_path, lane)
    with (
        pytest.raises(UsageError, match=words),
        started(start, f"http://127.0.0.1:{closed_port()}", toolchains),
    ):
        raise AssertionError("the block does not begin")
