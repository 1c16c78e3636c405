"""Where tokparity's own data and its cache live.

A clone keeps its data at the top level; a wheel carries the same directories inside the package.
"""

import os
from pathlib import Path
from typing import Literal

from harness.errors import StorageError

_PACKAGE = Path(__file__).resolve().parent

Kind = Literal["toolchains", "corpora", "goldens", "probes"]


def bundled(kind: Kind) -> Path:
    """Return the directory of one kind of bundled data."""
    carried = _PACKAGE / "bundled" / kind
    return carried if carried.is_dir() else _PACKAGE.parent / kind


def default_cache() -> Path:
    """Return the cache directory: ``$TOKPARITY_CACHE``, else the user's XDG cache.

    Raises :class:`StorageError` for a user without a home directory.
    """
    named = os.environ.get("TOKPARITY_CACHE")
    if named:
        return Path(named).absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache").absolute() / "tokparity"
    except RuntimeError as error:
        raise StorageError(
            "there is no place for the cache: no HOME is set and this user has none",
            remedy="name a directory with --cache DIR or $TOKPARITY_CACHE",
        ) from error


def writable(directory: Path, what: str, remedy: str) -> Path:
    """Make ``directory`` and prove that a file can be written there, or raise StorageError.

    Asking ``os.access`` is not proof: root passes it on a read-only file system.
    """
    probe = directory / f".writable-{os.getpid()}"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        try:
            probe.write_bytes(b"tokparity")
        finally:
            probe.unlink(missing_ok=True)  # a full disk leaves the name with nothing in it
    except OSError as error:
        raise StorageError(
            f"the {what} cannot be written: {error.strerror}",
            where=str(directory),
            remedy=remedy,
        ) from error
    return directory
