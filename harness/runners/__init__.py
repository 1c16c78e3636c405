"""How a probe is executed. Everything above this package sees the :class:`Runner` protocol only."""

import subprocess
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from harness.errors import LaneUnavailable
from harness.lane import Lane
from harness.needs import Find, install_line, which
from harness.runners.native import Native
from harness.runners.qemu import Qemu
from harness.runners.spawn import Running
from harness.toolchain import axes_of, surroundings_of
from harness.toolchain_file import Toolchain

__all__ = ["Runner", "Running", "runner_for"]


class Runner(Protocol):
    """One way of executing probes.

    ``identity`` names everything of the runner that could change an answer: it enters the keys of
    stored results and the provenance. ``emulated`` lanes are given longer time limits and canaries.
    """

    @property
    def identity(self) -> str:
        """Everything of the runner that could change an answer."""

    @property
    def emulated(self) -> bool:
        """Whether another processor than the lane's executes it."""

    def argv(self, command: Sequence[str]) -> list[str]:
        """Return what is really executed for a probe's command."""

    def start(self, command: Sequence[str], *, stdin: int, cwd: Path) -> Running:
        """Start a probe; raises :class:`LaneUnavailable` where it cannot be executed.

        ``stdin`` is a file at its place, or a pipe, and stays the caller's to close. Raises
        :class:`~harness.runners.spawn.Lost` where its machine or engine is there no more.
        """


def runner_for(lane: Lane, toolchain: Toolchain, host: str, find: Find = which) -> Runner:
    """Return a lane's runner; raises :class:`LaneUnavailable` where there is none.

    That is where its emulator is missing, its container engine or its machine does not answer.
    """
    # Their libraries take a third of a second to import, and few runs have such a lane.
    if lane.contained:
        from harness.runners import docker

        return docker.connect(lane, toolchain, host)
    if lane.machine is not None:
        from harness.runners import ssh

        return ssh.connect(lane, toolchain)
    surroundings = surroundings_of(lane, toolchain)
    refusal = _refusal(surroundings.command) if surroundings.command else None
    if refusal is not None:
        raise LaneUnavailable(
            f"cannot be run here: {refusal}",
            where=lane.name,
            expected=f"'{' '.join(surroundings.command)} true' to succeed",
            remedy="allow it, or leave the lane out: a container may forbid the system call",
        )
    if lane.native or toolchain.emulator is None or lane.cpu is None:
        return Native(surroundings=surroundings)
    emulator = toolchain.emulator
    program = find(emulator.program)
    if program is None:
        raise LaneUnavailable(
            f"cannot be run here: {emulator.program} is missing",
            where=lane.name,
            remedy=install_line([emulator.package]),
        )
    # A host of the target's own arch has the target's libraries where they belong.
    foreign_dynamic = axes_of(lane, toolchain, host)["link"] == "dynamic" and toolchain.arch != host
    sysroot = Path(emulator.sysroot) if foreign_dynamic and emulator.sysroot else None
    return Qemu(program, lane.cpu, sysroot, surroundings=surroundings)


@lru_cache(maxsize=8)
def _refusal(words: tuple[str, ...]) -> str | None:
    """Return why this machine does not let a program be started behind these words, or None."""
    try:
        done = subprocess.run(
            [*words, "true"], capture_output=True, text=True, errors="replace", check=False
        )
    except OSError as error:
        return f"{words[0]}: {error.strerror}"
    return None if done.returncode == 0 else " ".join((done.stderr or words[0]).split())
