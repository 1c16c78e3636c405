"""A run's own directory in the cache: gone when the run ends, however it ends.

A run that was killed outright cannot clean up. Each directory is therefore locked by its run; the
next run removes those that nobody holds.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from harness.atomic import storage

_PREFIX = "run-"


@contextmanager
def scratch(cache: Path) -> Iterator[Path]:
    """Yield a new directory in ``cache``; raises :class:`~harness.errors.StorageError`."""
    with storage(cache):
        _remove_abandoned(cache)
        directory, held = _held(cache)
    try:
        yield directory
    finally:
        os.close(held)
        shutil.rmtree(directory, ignore_errors=True)


def _held(cache: Path) -> tuple[Path, int]:
    """Return a new directory and the open file that holds its lock."""
    while True:
        directory = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=cache))
        with suppress(FileNotFoundError):
            held = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            fcntl.flock(held, fcntl.LOCK_SH)
            # Another run may have taken it for abandoned before it was locked.
            if directory.is_dir():
                return directory, held
            os.close(held)


def _remove_abandoned(cache: Path) -> None:
    for directory in cache.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            held = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(directory, ignore_errors=True)
            finally:
                os.close(held)
