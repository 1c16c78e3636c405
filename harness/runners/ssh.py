"""Another machine, reached over ssh: the one runner that is other silicon.

The machine needs an account, ``sh``, ``setsid`` and ``sha256sum``. Files go to its cache directory
once, named by their sha256. How it is reached is ssh's own configuration, or the file named by
``TOKPARITY_SSH_CONFIG``; nothing is ever asked for interactively.
"""

import hashlib
import os
import resource
import shlex
import threading
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PurePosixPath

from plumbum import local
from plumbum.commands.processes import CommandNotFound, ProcessExecutionError, ProcessTimedOut

from harness.errors import LaneUnavailable
from harness.lane import Lane
from harness.runners.carried import carried, exit_status, readdressed
from harness.runners.native import processor
from harness.runners.spawn import Lost, Process, start
from harness.toolchain_file import Toolchain

CONFIG_VARIABLE = "TOKPARITY_SSH_CONFIG"
_CONNECT_SECONDS = 5
_COPY_SECONDS = 600
_SSH_ERROR = 255
_WRAPPER = Path(__file__).with_name("remote.sh")
_OPTIONS = {
    "BatchMode": "yes",
    "ConnectTimeout": str(_CONNECT_SECONDS),
    # A machine that vanishes without a word is given up after ten seconds.
    "ServerAliveInterval": "5",
    "ServerAliveCountMax": "2",
    # A connection of its own for every probe, so that its end is the probe's end.
    "ControlMaster": "no",
    "ControlPath": "none",
    "ClearAllForwardings": "yes",
    "RequestTTY": "no",
}
# What a machine is asked, each a line for whatever shell the account has.
_ABOUT = (
    "command -v setsid && command -v sha256sum && uname -m && uname -a && "
    'echo "${XDG_CACHE_HOME:-$HOME/.cache}/tokparity" && cat /proc/cpuinfo'
)
_FACTS = 5  # lines of it before the processor
_NOT_FIT = "it lacks setsid or sha256sum, or is no Linux"
# Prints each file, of pairs of a file and its sha256, that it has not, or not whole.
_LACKS = (
    "while [ $# -gt 1 ]; do "
    '[ "$(sha256sum <"$1" | cut -c1-64)" = "$2" ] && [ -x "$1" ] || echo "$1"; shift 2; done'
)
_KEEP = (
    'umask 077; mkdir -p "${1%/*}" && cat >"$1.$$" && chmod 700 "$1.$$" && '
    '[ "$(sha256sum <"$1.$$" | cut -c1-64)" = "$2" ] && mv "$1.$$" "$1"'
)
_Errors = (ProcessExecutionError, ProcessTimedOut, CommandNotFound, OSError)


@dataclass(frozen=True, eq=False)
class Machine:
    """A machine that has answered: what it is, and which files it was seen to have."""

    name: str
    arch: str
    system: str
    cpu: str
    cache: PurePosixPath
    options: tuple[str, ...]
    placed: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def place(self, paths: Sequence[Path]) -> list[str]:
        """Return where the machine has the files, copying those it has not; raises Lost."""
        digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths]
        there = [
            str(self.cache / sha / path.name) for sha, path in zip(digests, paths, strict=True)
        ]
        with self.lock:
            unseen = {
                place: (sha, path)
                for place, sha, path in zip(there, digests, paths, strict=True)
                if place not in self.placed
            }
            try:
                self._copy(unseen)
            except _Errors as error:
                raise Lost(
                    f"the probe's files could not be copied to {self.name}: {_words(error)}",
                    remedy=f"see whether {self.name} has room in {self.cache}",
                ) from error
            self.placed.update(unseen)
        return there

    def exited_so(self, work: str) -> bool:
        """Whether 255 was the probe's own exit status, and not ssh's word for a failure."""
        try:
            self.run('rm "$1"', f"{work}.255")
        except _Errors:
            return False
        return True

    def run(self, script: str, *words: str, stdin: Path | None = None) -> str:
        """Run a line of shell over there and return what it prints; raises plumbum's errors."""
        return _run(self.name, self.options, script, *words, stdin=stdin)

    def _copy(self, files: dict[str, tuple[str, Path]]) -> None:
        if not files:
            return
        asked = [word for place, (sha, _) in files.items() for word in (place, sha)]
        for place in self.run(_LACKS, *asked).splitlines():
            sha, path = files[place]
            self.run(_KEEP, place, sha, stdin=path)


@dataclass(frozen=True)
class Ssh:
    """Runs a probe on another machine's own processor."""

    machine: Machine
    emulated: bool = False

    @property
    def identity(self) -> str:
        """Which machine it is, by what it says of itself."""
        return f"ssh {self.machine.name}; {self.machine.system}; {self.machine.cpu}"

    def argv(self, command: Sequence[str], work: str = "WORK") -> list[str]:
        """Return the local ssh command; ``work`` is the probe's directory over there.

        Raises :class:`Lost` where the probe's files cannot be copied.
        """
        files = carried(command)
        wrapper, *there = self.machine.place([_WRAPPER, *files.values()])
        places = dict(zip(files, there, strict=True))
        stack, _ = resource.getrlimit(resource.RLIMIT_STACK)
        limit = "unlimited" if stack == resource.RLIM_INFINITY else str(stack // 1024)
        words = ["sh", wrapper, work, limit, *readdressed(command, places)]
        return ["ssh", *self.machine.options, self.machine.name, f"exec {shlex.join(words)}"]

    def start(self, command: Sequence[str], *, stdin: int, cwd: Path) -> "Distant":
        """Start the probe, in a directory of its own; raises :class:`Lost`."""
        work = str(self.machine.cache / "work" / uuid.uuid4().hex)
        # An agent may hold the key; only ssh sees this, never the probe.
        agent = {k: v for k in ("SSH_AUTH_SOCK", "HOME") if (v := os.environ.get(k))}
        process = start(self.argv(command, work), stdin=stdin, cwd=cwd, more=agent)
        return Distant(process, self.machine, work)


class Distant:
    """A probe on another machine. Implements :class:`~harness.runners.spawn.Running`."""

    def __init__(self, process: Process, machine: Machine, work: str) -> None:
        self._process, self._machine, self._work = process, machine, work
        self._own_255: bool | None = None
        self.stdout, self.stderr = process.stdout, process.stderr

    def wait(self, seconds: float) -> int | None:
        """Return the exit status, negative for a signal, or None while it lives; raises Lost."""
        status = self._process.wait(seconds)
        if status is None or 0 <= status < _SSH_ERROR:
            return None if status is None else exit_status(status)
        if self._own_255 is None:
            self._own_255 = status > 0 and self._machine.exited_so(self._work)
        if self._own_255:
            return _SSH_ERROR
        raise Lost(
            f"the connection to {self._machine.name} was lost",
            remedy=f"ssh {self._machine.name} true",
        )

    def kill(self) -> None:
        """Hang up: the other machine ends the probe within a second. May be repeated."""
        self._process.kill()


def connect(lane: Lane, toolchain: Toolchain) -> Ssh:
    """Return the runner of an ssh lane; raises :class:`LaneUnavailable` in words."""
    name = lane.machine or ""
    try:
        machine = _reached(name, os.environ.get(CONFIG_VARIABLE))
    except _Errors as error:
        raise LaneUnavailable(
            f"{name} cannot be reached over ssh: {_words(error)}",
            where=lane.name,
            expected=f"a machine on which 'ssh {name} true' succeeds without a question",
            remedy=_remedy(name, error),
        ) from error
    if machine.arch != toolchain.arch:
        raise LaneUnavailable(
            f"{name} is a machine of {machine.arch}; the lane needs {toolchain.arch}",
            where=lane.name,
        )
    return Ssh(machine)


@lru_cache(maxsize=64)
def _reached(name: str, config: str | None) -> Machine:
    """Return what a machine says of itself, asked once; a failure is not remembered."""
    options = tuple(_options(config))
    said = _run(name, options, _ABOUT, seconds=2 * _CONNECT_SECONDS).splitlines()
    if len(said) < _FACTS:
        raise OSError(_NOT_FIT)
    _, _, arch, system, cache, *cpu = said
    arch = {"arm64": "aarch64", "amd64": "x86_64"}.get(arch, arch)
    return Machine(name, arch, system, processor("\n".join(cpu)), PurePosixPath(cache), options)


def _run(
    name: str,
    options: Sequence[str],
    script: str,
    *words: str,
    stdin: Path | None = None,
    seconds: float = _COPY_SECONDS,
) -> str:
    line = f"exec sh -c {shlex.join([script, 'sh', *words])}"
    command = local["ssh"][(*options, name, line)]
    bound = command < str(stdin or os.devnull)
    return str(bound.run(timeout=seconds)[1])


def _options(config: str | None) -> list[str]:
    named = ["-F", config] if config else []
    return [*named, *(word for key, value in _OPTIONS.items() for word in ("-o", f"{key}={value}"))]


def _words(error: Exception) -> str:
    """Return what ssh said, or else what the error is, on one line."""
    if isinstance(error, ProcessTimedOut):
        return "it does not answer in time"
    if isinstance(error, ProcessExecutionError):
        said = str(error.stderr).strip() or _NOT_FIT
    else:
        said = str(error)
    return " ".join(said.split())[-300:]


def _remedy(name: str, error: Exception) -> str:
    said = _words(error)
    if "Host key verification failed" in said:
        return f"ssh {name}, once, to see its key and accept it"
    if "Permission denied" in said:
        return f"ssh-copy-id {name}"
    return f"ssh {name} true; name the machine in ~/.ssh/config or the file of ${CONFIG_VARIABLE}"
