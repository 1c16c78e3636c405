"""A run's directory: gone afterwards, and one that a killed run left is removed by the next."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.errors import StorageError
from harness.scratch import scratch

HOLDS = """
import sys, time
from pathlib import Path
from harness.scratch import scratch
with scratch(Path(sys.argv[1])) as own:
    print(own, flush=True)
    time.sleep(60)
"""


def held(cache: Path) -> tuple["subprocess.Popen[str]", Path]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(cache)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_it_is_gone_afterwards_even_when_the_run_fails(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), scratch(tmp_path) as own:
        (own / "file").write_text("x")
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_run_left_is_removed_and_a_living_run_keeps_its_own(tmp_path: Path) -> None:
    (killed, left), (living, kept) = held(tmp_path), held(tmp_path)
    try:
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait()
        assert left.is_dir()
        with scratch(tmp_path):
            assert not left.exists()
            assert kept.is_dir()
    finally:
        for process in (killed, living):
            process.kill()
            process.communicate()


def test_a_cache_that_is_no_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("in the way")
    with pytest.raises(StorageError), scratch(tmp_path / "cache"):
        pass
