"""What the integration tests share: the command itself, run as a user runs it, and one cache."""

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.integration.clone import Clone

REPOSITORY = Path(__file__).resolve().parents[2]
TOKPARITY = Path(sys.executable).with_name("tokparity")


@dataclass(frozen=True)
class Done:
    """A finished command."""

    code: int
    out: str
    err: str

    @property
    def report(self) -> dict[str, Any]:
        """The report on stdout; shows what was said where there is none."""
        assert self.out, self.err
        found: dict[str, Any] = json.loads(self.out)
        return found


Command = Callable[..., Done]


def _cache(worker: str, base: Path) -> Path:
    # One cache for the whole session, workers included: the product promises that runs at once
    # do not spoil each other, and the reference would be built once a worker otherwise.
    kept = os.environ.get("TOKPARITY_TESTS_CACHE")
    if kept:
        return Path(kept) / "cache"
    root = base.parent if worker != "master" else base
    return root / "cache"


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    return _cache(worker_id, tmp_path_factory.getbasetemp())


@pytest.fixture(scope="session")
def real_tokenizers(cache: Path, tokparity: Command) -> Path:
    """The session's cache with every real tokenizer in it, fetched once whatever the workers."""
    cache.mkdir(parents=True, exist_ok=True)
    with cache.with_name("fetching.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = tokparity("fetch", "all")
    assert done.code == 0, done.err
    return cache


@pytest.fixture
def clone(tmp_path: Path, cache: Path) -> Clone:
    """A copy of this tree as a clone has it, with an environment already made; see ``Clone``."""
    return Clone.of(REPOSITORY, tmp_path / "clone", cache)


@pytest.fixture(scope="session")
def tokparity(cache: Path) -> Command:
    """Run ``tokparity`` with arguments; stdin is closed, stdout and stderr are kept apart."""

    def run(
        *arguments: str | Path,
        cwd: Path = REPOSITORY,
        environment: dict[str, str] | None = None,
        timeout: float = 900,
    ) -> Done:
        command: Sequence[str] = [str(TOKPARITY), *map(str, arguments)]
        done = subprocess.run(
            command,
            cwd=cwd,
            env={**os.environ, "TOKPARITY_CACHE": str(cache), **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    return run
