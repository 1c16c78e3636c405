"""The pure parts of the ssh runner: no connection is made."""

import subprocess
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import cast

import pytest
from plumbum.commands.processes import ProcessExecutionError

from harness.runners import ssh
from harness.runners.spawn import Lost, Process


class Ended:
    """A local ssh that has ended."""

    stdout = stderr = 0

    def __init__(self, status: int | None) -> None:
        self.status = status

    def wait(self, seconds: float) -> int | None:
        del seconds
        return self.status


class Answering(ssh.Machine):
    """A machine that has every file, and knows one that exited with 255."""

    def exited_so(self, work: str) -> bool:
        return work == "its-own"

    def place(self, paths: Sequence[Path]) -> list[str]:
        return [f"{self.cache}/{path.name}" for path in paths]


MACHINE = Answering("pi", "aarch64", "Linux", "cpu", PurePosixPath("/c"), ())


@pytest.mark.parametrize(
    ("status", "meant"),
    [(None, None), (0, 0), (3, 3), (127, 127), (134, -6), (139, -11), (254, 254)],
)
def test_ssh_hands_on_the_exit_status(status: int | None, meant: int | None) -> None:
    distant = ssh.Distant(cast(Process, Ended(status)), MACHINE, "lost")
    assert distant.wait(0) == meant


@pytest.mark.parametrize("status", [255, -9, -15])
def test_what_only_ssh_says_is_a_lost_connection(status: int) -> None:
    distant = ssh.Distant(cast(Process, Ended(status)), MACHINE, "lost")
    with pytest.raises(Lost, match="the connection to pi was lost"):
        distant.wait(0)


def test_a_probe_that_exits_with_sshs_own_status() -> None:
    assert ssh.Distant(cast(Process, Ended(255)), MACHINE, "its-own").wait(0) == 255


def test_a_file_of_configuration_comes_before_every_option() -> None:
    assert ssh._options("/some/config")[:2] == ["-F", "/some/config"]
    assert ssh._options(None)[:2] == ["-o", "BatchMode=yes"]
    assert "ConnectTimeout=5" in ssh._options(None)


def test_no_word_is_read_by_the_other_shell() -> None:
    machine = Answering("pi", "aarch64", "Linux", "cpu", PurePosixPath("/c d"), ("-T",))
    argv = ssh.Ssh(machine).argv(["/no/probe", "a'b", "$(c)", "*"], work="/c d/work")
    assert argv[:3] == ["ssh", "-T", "pi"]
    line = argv[3].replace("exec sh ", "printf '%s\\n' ", 1)
    said = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, check=True)
    limit = said.stdout.splitlines()[2]
    assert said.stdout.splitlines() == [
        "/c d/remote.sh",
        "/c d/work",
        limit,
        "/no/probe",
        "a'b",
        "$(c)",
        "*",
    ]


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ("Host key verification failed.", "to see its key"),
        ("me@pi: Permission denied (publickey).", "ssh-copy-id pi"),
        ("ssh: connect to host pi port 22: Connection refused", "ssh pi true"),
        ("", "ssh pi true"),
    ],
)
def test_every_failure_has_a_remedy(said: str, remedy: str) -> None:
    error = ProcessExecutionError(["ssh"], 255, "", said)
    assert remedy in ssh._remedy("pi", error)
    assert ssh._words(error)
    assert "\n" not in ssh._words(error)
