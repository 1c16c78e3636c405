"""Probes on another machine over real ssh: a real sshd, started here on a port of its own."""

import getpass
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.build import Probe
from harness.errors import LaneUnavailable
from harness.lane import parse
from harness.outcomes import Status
from harness.probe import Session
from harness.runners import runner_for, ssh
from harness.runners.spawn import Lost
from harness.toolchain import axes_of
from tests.integration.conftest import Command
from tests.integration.misbehaving import (
    HOST,
    SMOKE_CASES,
    TOOLCHAINS,
    TRIPLE,
    ask,
    build_misbehaving,
)

LANE = parse(f"{TRIPLE}/default/ssh-board")
SSHD = "/usr/sbin/sshd"


@dataclass(frozen=True)
class Board:
    """The other machine: its sshd, its cache directory, and the ssh configuration that names it."""

    config: Path
    cache: Path
    server: int

    def processes(self) -> list[int]:
        """Every process that runs a file of the machine's cache."""
        found = []
        for one in Path("/proc").glob("[0-9]*"):
            try:
                program = os.readlink(one / "exe")  # noqa: PTH115 - may end in " (deleted)"
            except OSError:
                continue
            if program.startswith(str(self.cache)):
                found.append(int(one.name))
        return found

    def hang_up(self) -> None:
        """End every connection at the server's side, as a machine that loses its network does."""
        for one in Path("/proc").glob("[0-9]*"):
            try:
                parent = int((one / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if parent == self.server:
                os.kill(int(one.name), 9)


def until(true: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not (found := true()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def listens(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Board]:
    place = tmp_path_factory.mktemp("sshd")
    for name in ("host", "user", "stranger"):
        key = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(place / name)]
        subprocess.run(key, check=True)
    shutil.copy(place / "user.pub", place / "authorized")
    port, nobody, cache = free_port(), free_port(), place / "cache"
    (place / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {place}/host\nPidFile {place}/pid\n"
        f"AuthorizedKeysFile {place}/authorized\nStrictModes no\nUsePAM no\n"
        f"PasswordAuthentication no\nPermitRootLogin yes\nSetEnv XDG_CACHE_HOME={cache}\n"
    )
    words = (place / "host.pub").read_text().split()
    (place / "known").write_text(f"[127.0.0.1]:{port} {words[0]} {words[1]}\n")
    (place / "none").touch()
    hosts = {
        "board": (port, "user", "known"),
        "nobody": (nobody, "user", "known"),
        "unknown-key": (port, "user", "none"),
        "refused": (port, "stranger", "known"),
    }
    (place / "config").write_text(
        "".join(
            f"Host {name}\n  HostName 127.0.0.1\n  Port {at}\n  User {getpass.getuser()}\n"
            f"  IdentityFile {place}/{key}\n  IdentitiesOnly yes\n"
            f"  UserKnownHostsFile {place}/{known}\n  GlobalKnownHostsFile none\n"
            for name, (at, key, known) in hosts.items()
        )
    )
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # where sshd, as root, gives up its privileges
    with (place / "log").open("wb") as log:
        command = [SSHD, "-D", "-e", "-f", str(place / "sshd_config")]
        process = subprocess.Popen(command, stderr=log)
    try:
        assert until(lambda: listens(port), 20), (place / "log").read_text()
        yield Board(place / "config", cache / "tokparity", process.pid)
    finally:
        process.terminate()
        process.wait(10)


@pytest.fixture
def board(server: Board, monkeypatch: pytest.MonkeyPatch) -> Iterator[Board]:
    """The machine, which the runner finds by name; nothing of it is remembered."""
    monkeypatch.setenv(ssh.CONFIG_VARIABLE, str(server.config))
    ssh._reached.cache_clear()
    yield server
    assert until(lambda: not server.processes(), 3), "a probe outlived its connection"
    assert until(lambda: not list((server.cache / "work").glob("*")), 3)


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Probe:
    return build_misbehaving(LANE, tmp_path_factory.mktemp("ssh"))


def test_the_bundled_subject_has_parity_over_ssh(board: Board, tokparity: Command) -> None:
    done = tokparity("run", "--lanes", LANE.name, "--corpus", "smoke", "--json", "--fresh")
    assert done.code == 0, done.err
    (cell,) = [one for one in done.report["cells"] if one["lane"] == LANE.name]
    assert (cell["pass"], cell["cases"]) == (SMOKE_CASES, SMOKE_CASES)
    (lane,) = [one for one in done.report["lanes"] if one["name"] == LANE.name]
    assert (lane["axes"]["cpu"], lane["axes"]["emulator"]) == ("board", "none")
    runner = done.report["provenance"]["lanes"][LANE.name]["runner"]
    assert runner.startswith(f"ssh board; Linux {os.uname().nodename} {os.uname().release} ")
    assert "emulat" not in " ".join(done.report["limits"])


def test_a_crash_is_its_signal_and_a_hang_is_ended(
    board: Board, probe: Probe, tmp_path: Path
) -> None:
    texts = [b"a", b"segv", b"b", b"abort", b"hang", b"exit255", b"c"]
    done = ask(probe, tmp_path, *texts, case_seconds=2)
    assert done.invalid is None
    notes = done.outcomes.notes.items()
    assert {index: note.removesuffix(", also alone") for index, note in notes} == {
        1: "SIGSEGV (signal 11)",
        3: "SIGABRT (signal 6)",
        4: "no answer within 2 s",
        5: "exit status 255",
    }
    crash, hang, ok = Status.CRASH, Status.TIMEOUT, Status.OK
    assert done.outcomes.status.tolist() == [ok, crash, ok, crash, hang, crash, ok]
    assert done.outcomes.ids.tolist() == [97, 98, 99]
    assert done.stderr_tail == ""


def test_the_tokenizer_travels_and_nothing_is_left_behind(
    board: Board, probe: Probe, tmp_path: Path
) -> None:
    big = [bytes([65 + n % 26]) * 100_000 for n in range(40)]
    done = ask(probe, tmp_path, b"lines", b"child", b"a", *big, case_seconds=20)
    assert done.invalid is None
    assert done.outcomes.answer(0).tolist() == [3]
    assert done.outcomes.answer(2).tolist() == [97]
    assert [done.outcomes.answer(3 + n).tolist() == list(text) for n, text in enumerate(big)] == (
        [True] * 40
    )
    assert done.remarks == ()


def test_a_file_is_copied_once_and_again_where_it_was_spoilt(
    board: Board, probe: Probe, tmp_path: Path
) -> None:
    ask(probe, tmp_path, b"a")
    there = board.cache / probe.sha256 / probe.path.name
    first = there.stat()
    assert first.st_mode & 0o077 == 0
    ssh._reached.cache_clear()
    ask(probe, tmp_path, b"a")
    assert there.stat().st_ino == first.st_ino
    there.write_bytes(b"#!/bin/sh\necho spoilt\n")
    ssh._reached.cache_clear()
    done = ask(probe, tmp_path, b"a")
    assert done.outcomes.ids.tolist() == [97]
    assert there.read_bytes() == probe.path.read_bytes()
    assert not list(board.cache.glob("*/*.*[0-9]"))  # no unfinished copy


def test_one_question_at_a_time(board: Board, probe: Probe, tmp_path: Path) -> None:
    toolchain = TOOLCHAINS[TRIPLE]
    axes = axes_of(LANE, toolchain, HOST)
    runner = runner_for(LANE, toolchain, HOST)
    with Session(runner, probe, Path("/dev/null"), axes=axes, scratch=tmp_path) as session:
        assert session.ask("encode", b"ab").values.tolist() == [97, 98]
        assert session.ask("encode", b"segv").note == "SIGSEGV (signal 11)"
        assert session.ask("encode", b"b").values.tolist() == [98]
        assert len(board.processes()) == 1


def test_a_lost_connection_is_no_crash(board: Board, probe: Probe, tmp_path: Path) -> None:
    def hang_up_when_it_runs() -> None:
        assert until(lambda: bool(board.processes()), 20)
        time.sleep(1)
        board.hang_up()

    thread = threading.Thread(target=hang_up_when_it_runs)
    thread.start()
    done = ask(probe, tmp_path, b"a", b"hang", b"b", case_seconds=20)
    thread.join()
    assert done.invalid == "the connection to board was lost"
    assert done.outcomes.status.tolist() == [Status.UNRESOLVED] * 3
    assert done.seconds < 15


def test_a_machine_that_vanishes_before_the_files_are_there(
    board: Board, probe: Probe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = runner_for(LANE, TOOLCHAINS[TRIPLE], HOST)
    assert isinstance(runner, ssh.Ssh)
    gone = tmp_path / "config"
    gone.write_text(board.config.read_text().replace("HostName 127.0.0.1", "HostName 127.0.0.2"))
    options = tuple(
        str(gone) if one == str(board.config) else one for one in runner.machine.options
    )
    object.__setattr__(runner.machine, "options", options)
    with (
        Path(os.devnull).open("rb") as nothing,
        pytest.raises(Lost, match="files could not be copied to board"),
    ):
        runner.start(probe.command, stdin=nothing.fileno(), cwd=tmp_path)


def test_a_machine_of_another_arch(board: Board) -> None:
    other = next(triple for triple, one in TOOLCHAINS.items() if one.arch != HOST)
    lane = parse(f"{other}/default/ssh-board")
    with pytest.raises(LaneUnavailable, match=f"a machine of {HOST}; the lane needs"):
        runner_for(lane, TOOLCHAINS[other], HOST)


@pytest.mark.parametrize("command", ["doctor", "run"])
@pytest.mark.parametrize(
    ("name", "words", "remedy"),
    [
        ("nobody", "Connection refused", "ssh nobody true"),
        ("unknown-key", "Host key verification failed", "to see its key and accept it"),
        ("refused", "Permission denied", "ssh-copy-id refused"),
        ("no-such-machine.invalid", "Could not resolve hostname", "ssh no-such-machine.invalid"),
    ],
)
def test_no_machine_is_said_in_words(
    board: Board, tokparity: Command, command: str, name: str, words: str, remedy: str
) -> None:
    done = tokparity(command, "--lanes", f"{TRIPLE}/default/ssh-{name}")
    assert done.code == 4
    said = done.out + done.err
    assert words in said
    assert remedy in said
    assert "Traceback" not in said
    assert "plumbum" not in said
