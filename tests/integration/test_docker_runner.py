"""Probes in containers of a real engine, started here on a socket of its own."""

import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import docker
import pytest

from harness.build import Probe
from harness.errors import LaneUnavailable
from harness.lane import parse
from harness.outcomes import Status
from harness.probe import Session
from harness.runners import docker as docker_runner
from harness.runners import runner_for
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

LANE = parse(f"{TRIPLE}/default/docker")
ROOT_BY = [] if os.getuid() == 0 else ["sudo", "-n"]


def until(true: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not (found := true()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def answers(url: str) -> bool:
    try:
        return bool(docker.DockerClient(url, timeout=2).ping())
    except docker.errors.DockerException:
        return False


@contextmanager
def engine() -> Iterator[tuple[str, Callable[[], None]]]:
    """Start an engine; yields its URL and what stops it."""
    place = Path(tempfile.mkdtemp(prefix="dockerd-"))
    url = f"unix://{place}/socket"
    with (place / "log").open("wb") as log:
        command = [*ROOT_BY, "dockerd", "--iptables=false", "--ip6tables=false", "--bridge=none"]
        command += ["--host", url, "--group", str(os.getgid()), "--pidfile", f"{place}/pid"]
        command += ["--data-root", f"{place}/data", "--exec-root", f"{place}/exec"]
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)

    def stop() -> None:
        if process.poll() is None:
            # sudo cannot be told to stop by who started it; what it runs can, by sudo.
            pid = (place / "pid").read_text() if ROOT_BY else str(process.pid)
            subprocess.run([*ROOT_BY, "kill", "-TERM", pid], check=True)
            process.wait(30)

    try:
        assert until(lambda: answers(url), 60), (place / "log").read_text()
        yield url, stop
    finally:
        stop()
        if ROOT_BY:
            subprocess.run([*ROOT_BY, "rm", "-rf", str(place)], check=True)
        else:
            shutil.rmtree(place)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with engine() as (url, _):
        yield url


@pytest.fixture
def here(url: str, monkeypatch: pytest.MonkeyPatch) -> docker.DockerClient:
    """The engine, which ``DOCKER_HOST`` names for the runner too."""
    monkeypatch.setenv("DOCKER_HOST", url)
    return docker.DockerClient(url)


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Probe:
    return build_misbehaving(LANE, tmp_path_factory.mktemp("docker"))


def left(client: docker.DockerClient) -> list[str]:
    return [one.name or "" for one in client.containers.list(all=True, ignore_removed=True)]


def test_the_bundled_subject_has_parity_in_a_container(
    here: docker.DockerClient, tokparity: Command
) -> None:
    done = tokparity("run", "--lanes", LANE.name, "--corpus", "smoke", "--json", "--fresh")
    assert done.code == 0, done.err
    (cell,) = [one for one in done.report["cells"] if one["lane"] == LANE.name]
    assert (cell["pass"], cell["cases"]) == (SMOKE_CASES, SMOKE_CASES)
    (lane,) = [one for one in done.report["lanes"] if one["name"] == LANE.name]
    assert (lane["axes"]["container"], lane["axes"]["emulator"]) == ("docker", "none")
    runner = done.report["provenance"]["lanes"][LANE.name]["runner"]
    version, image = here.version()["Version"], here.images.get(docker_runner.EMPTY_IMAGE)
    assert f"docker {version}; image {image.id}; kernel {os.uname().release}" in runner
    assert left(here) == []


def test_a_crash_is_its_signal_and_a_hang_leaves_no_container(
    here: docker.DockerClient, probe: Probe, tmp_path: Path
) -> None:
    texts = [b"a", b"segv", b"abort", b"b", b"raise", b"exit3", b"hang", b"exit255", b"c"]
    done = ask(probe, tmp_path, *texts, case_seconds=2)
    assert done.invalid is None
    assert {
        index: note.removesuffix(", also alone") for index, note in done.outcomes.notes.items()
    } == {
        1: "SIGSEGV (signal 11)",
        2: "SIGABRT (signal 6)",
        4: "SIGFPE (signal 8)",
        5: "exit status 3",
        6: "no answer within 2 s",
        7: "exit status 255",
    }
    crash, hang, ok = Status.CRASH, Status.TIMEOUT, Status.OK
    assert done.outcomes.status.tolist() == [ok, crash, crash, ok, crash, crash, hang, crash, ok]
    assert done.outcomes.ids.tolist() == [97, 98, 99]
    assert left(here) == []


def test_the_container_is_sealed(here: docker.DockerClient, probe: Probe, tmp_path: Path) -> None:
    done = ask(probe, tmp_path, b"world", b"lines", b"child", b"a")
    user, root, own, networks, etc = done.outcomes.answer(0).tolist()
    assert user == (os.getuid() or 65534)
    assert (root, own) == (0, 1)
    assert networks == 3  # two lines of heading, and the loopback
    assert etc == 0
    assert done.outcomes.answer(1).tolist() == [3]
    assert done.outcomes.answer(3).tolist() == [97]
    assert done.remarks == ()
    assert left(here) == []


def test_answers_larger_than_any_buffer_come_whole(
    here: docker.DockerClient, probe: Probe, tmp_path: Path
) -> None:
    texts = [bytes([65 + n % 26]) * 100_000 for n in range(40)]
    done = ask(probe, tmp_path, *texts, case_seconds=20)
    assert done.invalid is None
    assert [done.outcomes.answer(n).tolist() == list(text) for n, text in enumerate(texts)] == (
        [True] * 40
    )


def test_too_much_memory_says_so(
    here: docker.DockerClient, probe: Probe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docker_runner, "_MEMORY", "96m")
    done = ask(probe, tmp_path, b"a", b"greedy", b"b", case_seconds=20)
    assert done.outcomes.notes[1].startswith("SIGKILL (signal 9)")
    assert "over the container's memory limit" in done.stderr_tail
    assert done.outcomes.ids.tolist() == [97, 98]
    assert left(here) == []


def test_one_question_at_a_time(here: docker.DockerClient, probe: Probe, tmp_path: Path) -> None:
    toolchain = TOOLCHAINS[TRIPLE]
    axes = axes_of(LANE, toolchain, HOST)
    runner = runner_for(LANE, toolchain, HOST)
    with Session(runner, probe, Path("/dev/null"), axes=axes, scratch=tmp_path) as session:
        assert session.ask("encode", b"ab").values.tolist() == [97, 98]
        assert session.ask("encode", b"segv").note == "SIGSEGV (signal 11)"
        assert session.ask("encode", b"b").values.tolist() == [98]
        assert len(left(here)) == 1
    assert left(here) == []


def test_an_engine_that_goes_away_is_no_crash(
    probe: Probe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with engine() as (url, stop):
        monkeypatch.setenv("DOCKER_HOST", url)
        client = docker.DockerClient(url)

        def stop_when_it_runs() -> None:
            assert until(lambda: bool(client.containers.list(ignore_removed=True)), 20)
            time.sleep(1)
            stop()

        thread = threading.Thread(target=stop_when_it_runs)
        thread.start()
        done = ask(probe, tmp_path, b"a", b"hang", b"b", case_seconds=20)
        thread.join()
    assert done.invalid is not None
    assert "the container engine was lost" in done.invalid
    assert done.outcomes.status.tolist() == [Status.UNRESOLVED] * 3


def test_an_image_is_named_and_never_pulled(
    here: docker.DockerClient, probe: Probe, tmp_path: Path
) -> None:
    toolchain = TOOLCHAINS[TRIPLE].model_copy(update={"image": "some/image:1"})
    with pytest.raises(LaneUnavailable, match="no image 'some/image:1'") as caught:
        runner_for(LANE, toolchain, HOST)
    assert caught.value.remedy == "docker pull some/image:1"
    runner_for(LANE, TOOLCHAINS[TRIPLE], HOST)
    here.images.get(docker_runner.EMPTY_IMAGE).tag("some/image", "1")
    done = ask(probe, tmp_path, b"a", runner=runner_for(LANE, toolchain, HOST))
    assert done.outcomes.ids.tolist() == [97]
    here.images.remove("some/image:1")


def test_a_file_only_root_may_read(
    here: docker.DockerClient, probe: Probe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 0)
    secret = tmp_path / "secret.json"
    secret.touch(0o600)
    runner = runner_for(LANE, TOOLCHAINS[TRIPLE], HOST)
    with Path(os.devnull).open("rb") as nothing, pytest.raises(LaneUnavailable) as caught:
        runner.start([*probe.command, str(secret)], stdin=nothing.fileno(), cwd=tmp_path)
    assert caught.value.remedy == f"chmod a+r {secret}"
    assert left(here) == []


@pytest.mark.parametrize("command", ["doctor", "run"])
@pytest.mark.parametrize(
    ("host", "words"),
    [
        ("unix:///nowhere/docker.sock", "no container engine answers"),
        ("tcp://127.0.0.1:9", "no container engine answers"),
        ("nonsense://", "no container engine answers"),
    ],
)
def test_no_engine_is_said_in_words(
    tokparity: Command, command: str, host: str, words: str
) -> None:
    done = tokparity(command, "--lanes", LANE.name, environment={"DOCKER_HOST": host})
    assert done.code == 4
    said = done.out + done.err
    assert words in said
    assert "DOCKER_HOST" in said
    assert "Traceback" not in said
