"""A process of which nothing is left behind: its own session, ended as a whole, in a fixed world.

Probes see this environment and nothing else, so that a variable of the person who runs tokparity
(``LD_PRELOAD``, ``MALLOC_PERTURB_``, ``QEMU_CPU``, a locale) cannot change an answer:

``LC_ALL=C``   the locale every C program starts in; a lane may name another
``TZ=UTC``
``PATH``       as it is here, for a subject that is a script

A subject that needs more is given as a command that sets it: ``[env, NAME=value, ./my-probe]``.
"""

import errno
import fcntl
import os
import resource
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from harness.errors import LaneUnavailable

_PIPE_BYTES = 1 << 20


class Cancelled(Exception):
    """The run was asked to stop; whatever was started has been ended."""


class Lost(LaneUnavailable):
    """What carried the probe is gone, its machine or its engine: nothing is known of the probe."""


class Running(Protocol):
    """One started probe. ``stdout`` and ``stderr`` are file descriptors of pipes to read from."""

    @property
    def stdout(self) -> int:
        """The reading end of what it prints."""

    @property
    def stderr(self) -> int:
        """The reading end of what else it prints."""

    def wait(self, seconds: float) -> int | None:
        """Return the exit status, negative for the signal it died of, or None while it lives.

        Raises :class:`Lost` where that cannot be known any more.
        """

    def kill(self) -> None:
        """End the probe with everything it started, and close the pipes. May be repeated."""


class Process:
    """A probe that is a process of this machine."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdout is not None and process.stderr is not None  # noqa: S101
        self._process = process
        self._out, self._err = process.stdout, process.stderr
        self.stdout = self._out.fileno()
        self.stderr = self._err.fileno()
        ready_to_read(self.stdout, self.stderr)

    @property
    def pid(self) -> int:
        """The process id, which is also the id of its session and process group."""
        return self._process.pid

    def wait(self, seconds: float) -> int | None:
        """Return the exit status, negative for the signal it died of, or None while it lives.

        The process is not reaped before :meth:`kill`, so that its id stays its own until then.
        """
        if self._process.returncode is not None:
            return self._process.returncode
        deadline, pause = time.monotonic() + seconds, 0.0005
        while True:
            found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
            if found is not None:
                own = found.si_code == os.CLD_EXITED
                return found.si_status if own else -found.si_status
            if time.monotonic() >= deadline:
                return None
            time.sleep(pause)
            pause = min(2 * pause, 0.02)

    def kill(self) -> None:
        """End the process with everything it started, and close the pipes. May be repeated."""
        end_group(self._process, patience=0)
        for pipe in (self._out, self._err):
            pipe.close()


def ready_to_read(stdout: int, stderr: int) -> None:
    """Make the reading ends of a probe's pipes what :class:`~harness.wire.Wire` expects."""
    for pipe in (stdout, stderr):
        os.set_blocking(pipe, False)
    # Fewer, larger reads; a system that grants no larger pipe serves as well.
    with suppress(OSError):
        fcntl.fcntl(stdout, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def start(
    argv: Sequence[str], *, stdin: int, cwd: Path, more: Mapping[str, str] | None = None
) -> Process:
    """Start a program with the fixed environment and pipes for stdout and stderr.

    ``more`` is what a lane sets in it otherwise (``LC_ALL``), or what the environment of a program
    that is no probe has besides. Raises :class:`LaneUnavailable` where it cannot be executed.
    """
    _no_core_files()
    try:
        process = _popen(argv, stdin=stdin, cwd=cwd, env={**environment(), **(more or {})})
    except OSError as error:
        raise LaneUnavailable(
            f"cannot be executed: {error.strerror}",
            where=argv[0],
            expected="a program for this lane",
        ) from error
    return Process(process)


def _popen(
    argv: Sequence[str], *, stdin: int, cwd: Path, env: Mapping[str, str]
) -> "subprocess.Popen[bytes]":
    for attempt in range(50):
        try:
            process = subprocess.Popen(
                list(argv),
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=cwd,
                env=env,
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            # Another thread forked while the probe's file was still open for writing:
            # https://github.com/golang/go/issues/22315
            if error.errno != errno.ETXTBSY or attempt == 49:
                raise
            time.sleep(0.02)
        else:
            return process
    raise AssertionError("the loop returns or raises")


def environment() -> dict[str, str]:
    """Return the whole environment of a probe."""
    return {"LC_ALL": "C", "TZ": "UTC", "PATH": os.environ.get("PATH", "/usr/bin:/bin")}


def end_group(process: "subprocess.Popen[bytes]", patience: float) -> None:
    """End a process that leads its own session, waiting up to ``patience`` seconds before killing.

    The group is killed before its leader is reaped, for what the leader may have started: until
    then the id cannot have been given to a stranger.
    """
    if process.returncode is not None:
        return
    deadline = time.monotonic() + patience
    gone = os.WEXITED | os.WNOWAIT | os.WNOHANG
    while os.waitid(os.P_PID, process.pid, gone) is None and time.monotonic() < deadline:
        time.sleep(0.01)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def signal_name(status: int) -> str:
    """Return an exit status in words: ``SIGSEGV (signal 11)`` or ``exit status 3``.

    qemu-user dies of the signal its guest died of, so both are read alike.
    """
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"{signal.Signals(-status).name} (signal {-status})"
    except ValueError:
        return f"signal {-status}"


def _no_core_files() -> None:
    """Let no crash leave a core file: children inherit the limit, and qemu-user obeys it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    if soft != 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
