"""Files that are whole or absent, and storage that fails in words.

A reader never sees half a file: bytes go to a temporary name in the same directory and are renamed
over the target. An operating-system error that means "this place cannot be written" becomes a
:class:`~harness.errors.StorageError` that names the place.
"""

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from harness.errors import StorageError

_UNWRITABLE = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EROFS,
    errno.EACCES,
    errno.EPERM,
    errno.ENOTDIR,
    errno.EFBIG,
    errno.EIO,
    errno.ENAMETOOLONG,
    # A directory stands where a file belongs, or a file where a directory belongs.
    errno.EISDIR,
    errno.EEXIST,
}
REMEDY = "free some space, or name another directory with --cache DIR"


@contextmanager
def storage(path: Path) -> Iterator[None]:
    """Turn errors of writing below ``path`` into :class:`StorageError`; others pass unchanged."""
    try:
        yield
    except OSError as error:
        if error.errno not in _UNWRITABLE:
            raise
        where = error.filename if isinstance(error.filename, str) else str(path)
        raise StorageError(
            f"cannot be written: {os.strerror(error.errno)}", where=where, remedy=REMEDY
        ) from error


@contextmanager
def remedied(remedy: str) -> Iterator[None]:
    """Name what helps in a place that is not the cache, which :data:`REMEDY` speaks of."""
    try:
        yield
    except StorageError as error:
        if error.remedy == REMEDY:
            error.remedy = remedy
        raise


@contextmanager
def whole_file(path: Path, *, mode: int = 0o644) -> Iterator[BinaryIO]:
    """Yield a file that becomes ``path`` as the block ends, and nothing where it fails.

    Its directory is created. Raises :class:`StorageError`. ``mode`` is what the file is left with,
    whatever the process's umask says of a temporary file.
    """
    with storage(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".partial-", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
            Path(temporary).chmod(mode)
            Path(temporary).replace(path)
        except BaseException:
            with suppress(OSError):
                Path(temporary).unlink()
            raise


def write_atomically(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Write ``data`` to ``path`` as a whole, as :func:`whole_file` does."""
    with whole_file(path, mode=mode) as file:
        file.write(data)


def directory(path: Path) -> Path:
    """Return ``path`` as a directory that exists; raises :class:`StorageError`."""
    with storage(path):
        path.mkdir(parents=True, exist_ok=True)
    return path
