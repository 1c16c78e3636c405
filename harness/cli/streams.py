"""Standard streams without surprises: all three there, any character written, no error late."""

import errno
import os
import sys
from contextlib import suppress

import click

from harness.errors import StorageError


class ReaderGone(Exception):
    """Whoever read our output has stopped, as in ``tokparity lanes | head -1``."""


def prepare() -> None:
    """Open the streams that are closed, and let every character be written in some form.

    Where 0, 1 or 2 is closed the next file that is opened takes its number, and what is meant for
    a person is written into it. A locale without a character (``LC_ALL=C``) gets an escape.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number, which is this one
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", closefd=False)
    for stream in (sys.stdout, sys.stderr):
        # Tests put streams of their own in their place.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def print_out(words: str) -> None:
    """Print to stdout, whole; raises :class:`ReaderGone` or :class:`StorageError`."""
    try:
        print(words, flush=True)
    except OSError as error:
        raise failure(error) from error


def flush() -> None:
    """Write out what stdout still holds; raises :class:`ReaderGone` or :class:`StorageError`."""
    try:
        sys.stdout.flush()
    except OSError as error:
        raise failure(error) from error


def failure(error: OSError) -> Exception:
    """Return an error of writing to stdout in our own words, and let nothing more be written."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if error.errno == errno.EPIPE:
        return ReaderGone()
    return StorageError(
        f"the output cannot be written: {error.strerror}",
        where="standard output",
        remedy="make room there, or send it elsewhere" + _besides(),
    )


def _besides() -> str:
    """Return, of a command that has ``--out``, that it is there."""
    context = click.get_current_context(silent=True)
    options = [] if context is None else context.command.params
    has = any("--out" in one.opts for one in options)
    return "; --out DIR writes the report besides" if has else ""


def complain(words: str) -> None:
    """Say something on stderr; where nobody can hear it, the exit code alone has to do."""
    try:
        print(words, file=sys.stderr, flush=True)
    except OSError:
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
