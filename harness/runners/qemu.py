"""QEMU's user-mode emulation of one named CPU."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.runners.spawn import Running, start
from harness.toolchain import ORDINARY, Surroundings
from harness.tools import tool


@dataclass(frozen=True)
class Qemu:
    """Runs a probe under ``qemu-ARCH -cpu CPU``.

    ``sysroot`` is where a dynamically linked probe finds its libraries; a static one needs none.
    """

    program: Path
    cpu: str
    sysroot: Path | None = None
    emulated: bool = True
    surroundings: Surroundings = ORDINARY

    @property
    def identity(self) -> str:
        """Which emulator it is, to the byte: a distribution patches one version many times."""
        emulator = tool(self.program)
        root = f" -L {self.sysroot}" if self.sysroot else ""
        inside = f"; {self.surroundings.words}" if self.surroundings.words else ""
        return (
            f"{self.program.name} -cpu {self.cpu}{root}; {emulator.version}; {emulator.sha256}"
            f"{inside}"
        )

    def argv(self, command: Sequence[str]) -> list[str]:
        """Return the command under the emulator."""
        root = ["-L", str(self.sysroot)] if self.sysroot else []
        words = [str(self.program), "-cpu", self.cpu, *root, *command]
        return [*self.surroundings.command, *words]

    def start(self, command: Sequence[str], *, stdin: int, cwd: Path) -> Running:
        """Start the probe; raises :class:`~harness.errors.LaneUnavailable`."""
        more = dict(self.surroundings.environment)
        return start(self.argv(command), stdin=stdin, cwd=cwd, more=more)
