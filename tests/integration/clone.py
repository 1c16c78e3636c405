"""A clone of the repository for tests that run its scripts as a user does."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

TOKPARITY = Path(sys.executable).with_name("tokparity")

# Stands where the environment's Python would: it keeps what it is asked and installs nothing.
_PYTHON = """#!/bin/sh
printf '%s\\n' "$*" >>"$(dirname "$0")/asked"
"""


def tracked(repository: Path) -> list[str]:
    """Every file of the work tree that git would hold; new ones are in it, ignored ones not."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],  # noqa: S607
        cwd=repository,
        capture_output=True,
        text=True,
        check=True,
    )
    names = dict.fromkeys(name for name in listed.stdout.split("\0") if name)
    return [name for name in names if (repository / name).is_file()]


@dataclass(frozen=True)
class Clone:
    """A copied work tree at ``path``.

    Its ``.venv`` has the ``tokparity`` of the environment that runs the tests, whose code and data
    are those of the tree that was copied; so builds are shared with every other test. Its Python
    installs nothing and keeps what it was asked (:meth:`asked`).
    """

    path: Path
    cache: Path

    @classmethod
    def of(cls, repository: Path, path: Path, cache: Path) -> "Clone":
        for name in tracked(repository):
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(repository / name, path / name)
        programs = path / ".venv" / "bin"
        programs.mkdir(parents=True)
        (programs / "python").write_text(_PYTHON)
        (programs / "python").chmod(0o755)
        (programs / "tokparity").symlink_to(TOKPARITY)
        return cls(path, cache)

    def run(
        self, line: str, environment: Mapping[str, str] | None = None, timeout: float = 900
    ) -> subprocess.CompletedProcess[str]:
        """Run a line of shell in the clone, as if typed there."""
        inherited = {
            name: value
            for name, value in os.environ.items()
            if name not in ("TOKPARITY_VENV", "TOKPARITY_PYTHON", "GITHUB_STEP_SUMMARY")
        }
        return subprocess.run(
            ["/bin/bash", "-c", line],
            cwd=self.path,
            env={**inherited, "TOKPARITY_CACHE": str(self.cache), **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def asked(self) -> list[str]:
        """What the environment's Python was asked, a line for each time."""
        kept = self.path / ".venv" / "bin" / "asked"
        return kept.read_text().splitlines() if kept.is_file() else []
