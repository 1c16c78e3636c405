"""Programs of this machine as provenance knows them: path, version in words, hash of the bytes."""

import hashlib
import subprocess
import threading
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path


@dataclass(frozen=True)
class Tool:
    """One program. ``version`` is the first line of ``--version``."""

    path: Path
    version: str
    sha256: str


def tool(path: Path) -> Tool:
    """Describe a program; remembered until its size or time changes.

    A program that cannot be read or run is described as ``unknown``: saying what was used never
    fails a run that could go on.
    """
    try:
        found = path.stat()
    except OSError:
        return Tool(path, "unknown", "unknown")
    with _ONCE:
        return _tool(path, found.st_mtime_ns, found.st_size)


# lru_cache may compute one key twice in two threads; a hash of a compiler is worth a lock.
_ONCE = threading.Lock()


@lru_cache(maxsize=64)
def _tool(path: Path, _mtime_ns: int, _size: int) -> Tool:
    try:
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        sha256 = "unknown"
    return Tool(path, _version(path), sha256)


def _version(path: Path) -> str:
    try:
        asked = subprocess.run(
            [str(path), "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=20,
            check=False,
            env={"LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    words = (asked.stdout or asked.stderr).strip().splitlines()
    return words[0] if words else "unknown"
