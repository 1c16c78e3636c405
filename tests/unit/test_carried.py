"""Which words of a command are files, and what an exit code means."""

import signal
from pathlib import Path

import pytest

from harness.runners.carried import carried, exit_status, readdressed


def test_files_are_found_by_whole_words(tmp_path: Path) -> None:
    probe, vocabulary = tmp_path / "probe", tmp_path / "vo cab"
    probe.touch()
    vocabulary.touch()
    command = [str(probe), "/dev/null", "--x", f"--vocab={vocabulary}", str(vocabulary), "probe"]
    found = carried([*command, str(tmp_path), "/no/such/file"])
    assert found == {0: probe, 4: vocabulary}
    assert readdressed(command, {0: "/a", 4: "/b"}) == [
        "/a",
        "/dev/null",
        "--x",
        f"--vocab={vocabulary}",
        "/b",
        "probe",
    ]


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (0, 0),
        (1, 1),
        (127, 127),
        (128, 128),
        (128 + signal.SIGABRT, -signal.SIGABRT),
        (128 + signal.SIGSEGV, -signal.SIGSEGV),
        (128 + 64, -64),
        (193, 193),
        (255, 255),
    ],
)
def test_a_signal_is_negative(code: int, status: int) -> None:
    assert exit_status(code) == status
