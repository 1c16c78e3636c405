"""A server started for the length of a block: natively or under a lane's emulator, ended for good.

Its environment is the caller's own, for servers find their models and devices by it; a lane adds
its variables. It reads nothing, and what it prints is kept in part, for the message should it fail.
"""

import os
import secrets
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from select import POLLIN, poll

from harness.errors import LaneUnavailable, UsageError
from harness.lane import Lane, parse
from harness.report.escape import shell
from harness.runners import runner_for
from harness.runners.spawn import Process, signal_name
from harness.runners.spawn import start as spawn
from harness.served.live.http import Limits, Server
from harness.served.live.settings import Start
from harness.toolchain import (
    Toolchains,
    check,
    host_arch,
    surroundings_of,
    toolchain_for,
    with_settings,
)
from harness.wire import Tail

_LOADING = 503  # what servers answer while their model loads
_PAUSE = 0.05
_LONGEST_PAUSE = 1.0
_PATIENCE = 3.0  # seconds for a server to end itself
_GLANCE = 0.1
_READ = 1 << 16
_LAST_READS = 64  # of a server that never stops talking
_MARK = "TOKPARITY_SERVER"  # the variable that tells our server's processes from all others
_ROUNDS = 5
_SHOWN = 1000  # bytes of what it said last


@contextmanager
def started(
    start: Start, url: str, toolchains: Toolchains, *, host: str | None = None
) -> Iterator[Callable[[], str | None]]:
    """Run a server while the block runs; the block begins once ``url`` answers HTTP.

    The block is given a function that says in words how the server ended, None while it runs.
    An answer of 503 is a model that loads still. Raises :class:`UsageError`: no such lane or
    program; :class:`LaneUnavailable`: the lane cannot run here, something answers at ``url``
    already, the server died or did not answer in ``start.seconds``.
    """
    argv, more = _command(start, toolchains, host or host_arch())
    limits = Limits(connect_seconds=2.0, retries=0)
    with Server(url, limits=limits) as server:
        _refuse_stranger(server)
        mark = secrets.token_hex(16)
        process = spawn(
            argv,
            stdin=subprocess.DEVNULL,
            cwd=start.directory,
            more={**os.environ, **more, _MARK: mark},
        )
        try:
            with _Run(process) as run:
                run.answers(server, start)
                yield run.ended
        finally:
            _end_marked(mark)


def _command(
    start: Start, toolchains: Toolchains, host: str
) -> tuple[list[str], Mapping[str, str]]:
    """Return what is executed, and the variables that the lane adds."""
    command = [_program(start), *start.command[1:]]
    if start.lane is None:
        return command, {}
    lane = parse(start.lane)
    check(lane, toolchains, host)
    if lane.contained or lane.machine is not None:
        raise UsageError(
            f"a server cannot be started on lane '{lane.name}'",
            expected="a lane whose runner is native or an emulator",
            remedy="start it there by other means, and give its url alone",
        )
    toolchain = toolchain_for(lane, toolchains)
    runner = runner_for(_dynamic(lane, toolchains), toolchain, host)
    return runner.argv(command), dict(surroundings_of(lane, toolchain).environment)


def _dynamic(lane: Lane, toolchains: Toolchains) -> Lane:
    """Return the lane linked dynamically, as servers are; a static one loses nothing by it."""
    toolchain = toolchain_for(lane, toolchains)
    if lane.native or "dynamic" not in toolchain.axes["link"].values:
        return lane
    return with_settings(lane, {"link": "dynamic"}, toolchain)


def _program(start: Start) -> str:
    """Return the program's path: an emulator looks for none in PATH."""
    name = start.command[0]
    if "/" in name:
        found = start.directory / name
        if found.is_file():
            return str(found)
    elif (path := shutil.which(name)) is not None:
        return path
    raise UsageError(
        "there is no such program", where=shell(name), expected="the server's own command"
    )


def _refuse_stranger(server: Server) -> None:
    """Refuse to measure a server that is not the one we are about to start."""
    if server.nobody():
        return
    found = server.alive()
    what = f"status {found.status}" if found.failure is None else found.failure
    raise LaneUnavailable(
        f"something is there already, before the server was started: {what}",
        where=server.url,
        expected="a port of this machine on which nobody listens",
        remedy="end it, or leave the server's command out to measure what runs there",
    )


def _end_marked(mark: str) -> None:
    """End what the server started and put into a session of its own, as daemons do.

    It has inherited the server's environment, which /proc shows; where there is no /proc, the
    server's own group is all that is ended.
    """
    wanted = f"{_MARK}={mark}".encode()
    for _ in range(_ROUNDS):  # one may start another between the look and the signal
        found = [one for one in Path("/proc").glob("[0-9]*/environ") if _holds(one, wanted)]
        if not found:
            return
        for one in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(int(one.parent.name), signal.SIGKILL)
        time.sleep(_PAUSE)


def _holds(environment: Path, wanted: bytes) -> bool:
    try:
        return wanted in environment.read_bytes().split(b"\0")
    except OSError:
        return False


def _by_itself(status: int) -> str:
    return f"the server ended by itself ({signal_name(status)})"


class _Run:
    """The running server: a thread keeps the end of what it prints, so that no pipe fills up."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._said = Tail()
        self._over = threading.Event()
        self._reader = threading.Thread(target=self._listen, name="server-output", daemon=True)

    def __enter__(self) -> "_Run":
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End the server with everything in its group, first by asking."""
        try:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGTERM)
            self._process.wait(_PATIENCE)
        finally:
            self._over.set()
            self._reader.join()
            self._process.kill()

    def answers(self, server: Server, start: Start) -> None:
        """Return once the server answers; raises :class:`LaneUnavailable` where it will not."""
        deadline = time.monotonic() + start.seconds
        pause, reply = _PAUSE, None
        while time.monotonic() < deadline:
            status = self._process.wait(0)
            if status is not None:
                raise self._failed(_by_itself(status), start)
            reply = server.alive()
            if reply.status not in (None, _LOADING):
                return
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        last = f"status {_LOADING}" if reply and reply.status else reply and reply.failure
        words = f"the server did not answer at {server.url} within {start.seconds:g} s"
        raise self._failed(f"{words} (the last look: {last or 'none'})", start)

    def ended(self) -> str | None:
        """Return how the server ended and what it said last, in words; None while it runs."""
        # Its connections close a moment before it is gone.
        status = self._process.wait(_GLANCE)
        return None if status is None else f"{_by_itself(status)}; {self._last_words()}"

    def _failed(self, what: str, start: Start) -> LaneUnavailable:
        return LaneUnavailable(
            what,
            where=" ".join(map(shell, start.command)),
            expected="a server that answers HTTP",
            remedy=self._last_words(),
        )

    def _last_words(self) -> str:
        """Return what it said last, and listen no more."""
        self._over.set()
        self._reader.join()  # that is still on its way
        said = self._said.last_words(_SHOWN).splitlines()
        lines = [line for line in said if line.strip()]
        return f"it said last: {' / '.join(lines)}" if lines else "it said nothing"

    def _listen(self) -> None:
        watched, pipes = poll(), {self._process.stdout, self._process.stderr}
        for pipe in pipes:
            watched.register(pipe, POLLIN)
        left = _LAST_READS
        while pipes and left:
            ready = watched.poll(_GLANCE * 1000)
            if self._over.is_set():
                left = left - 1 if ready else 0
            for pipe, _ in ready:
                data = os.read(pipe, _READ)
                self._said.add(data)
                if not data:
                    watched.unregister(pipe)
                    pipes.discard(pipe)
