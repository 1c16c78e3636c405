"""The host's own processor."""

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.runners.spawn import Running, start
from harness.toolchain import ORDINARY, Surroundings


@dataclass(frozen=True)
class Native:
    """Runs a probe as it is, in its lane's surroundings."""

    emulated: bool = False
    surroundings: Surroundings = ORDINARY

    @property
    def identity(self) -> str:
        """The machine: the C library picks its routines by the processor it finds."""
        inside = f"; {self.surroundings.words}" if self.surroundings.words else ""
        return f"native {platform.machine()} {_processor()}{inside}"

    def argv(self, command: Sequence[str]) -> list[str]:
        """Return the command, behind the words that its lane puts before it."""
        return [*self.surroundings.command, *command]

    def start(self, command: Sequence[str], *, stdin: int, cwd: Path) -> Running:
        """Start the probe; raises :class:`~harness.errors.LaneUnavailable`."""
        more = dict(self.surroundings.environment)
        return start(self.argv(command), stdin=stdin, cwd=cwd, more=more)


def _processor() -> str:
    try:
        return processor(Path("/proc/cpuinfo").read_text(errors="replace"))
    except OSError:
        return "unknown"


def processor(text: str) -> str:
    """Return what a ``/proc/cpuinfo`` says the processor is."""
    # x86 names its model; arm64 numbers its implementer and part.
    wanted = ("model name", "CPU implementer", "CPU part")
    found: dict[str, str] = {}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key.strip() in wanted:
            found.setdefault(key.strip(), value.strip())
    return " ".join(found.values()) or "unknown"
