"""Reading a file that somebody else named: an ordinary file of a sensible size, or an error.

A named pipe would wait for ever and ``/dev/zero`` would never end, so what is no ordinary file is
refused before a byte of it is read.
"""

import errno
import os
import stat
from pathlib import Path


def read_ordinary(path: Path, most: int | None = None) -> bytes:
    """Return the bytes of an ordinary file of at most ``most`` bytes.

    Raises :class:`OSError`, its ``strerror`` in words for a person: what the system says, or that
    it is no ordinary file, or too large.
    """
    # Without O_NONBLOCK opening a named pipe waits until somebody writes to it.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is a pipe or a device and no ordinary file")
        if most is not None and found.st_size > most:
            raise OSError(errno.EFBIG, f"it has {found.st_size:,} bytes, and at most {most:,} fit")
        return file.read()
