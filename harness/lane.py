"""Lanes: one value on every axis, one name, selected by glob.

A lane's name is ``TRIPLE/CHAR/RUNNER`` and, for every other axis set away from the toolchain's
default, one ``AXIS=VALUE`` more, in alphabetical order::

    aarch64-linux-gnu/unsigned/qemu-cortex-a53
    x86_64-linux-gnu/default/native/fp-contract=fast/optimisation=O3

``CHAR`` is what the compiler is told (``default`` tells it nothing); the *effective* axes of a
lane, in which ``default`` is resolved, come from its toolchain.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase

from harness.errors import UsageError

CHARS = ("default", "signed", "unsigned")
NATIVE = "native"
DOCKER = "docker"
SSH = "ssh-"  # and the name of the machine, as ssh knows it
_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*\Z")
_GLOB = re.compile(r"[*?\[]")


@dataclass(frozen=True, order=True)
class Lane:
    """One value on every axis. ``variations`` is sorted and names each axis at most once."""

    triple: str
    char: str
    runner: str
    variations: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """The lane's one name, as globs and reports use it."""
        extra = [f"{axis}={value}" for axis, value in self.variations]
        return "/".join([self.triple, self.char, self.runner, *extra])

    @property
    def native(self) -> bool:
        """Whether the lane's probe runs on the host's own processor."""
        return self.runner == NATIVE

    @property
    def cpu(self) -> str | None:
        """The CPU the lane names, or None; a lane that names a CPU is always emulated."""
        kind, _, cpu = self.runner.partition("-")
        return cpu if kind == "qemu" and cpu else None

    @property
    def contained(self) -> bool:
        """Whether the lane's probe runs in a container."""
        return self.runner == DOCKER

    @property
    def machine(self) -> str | None:
        """The machine the lane's probe runs on, as ssh knows it, or None for this one."""
        name = self.runner.removeprefix(SSH)
        # ssh would read a leading dash as an option.
        return name if name != self.runner and name and not name.startswith("-") else None


def lane(triple: str, char: str, runner: str, variations: Mapping[str, str] | None = None) -> Lane:
    """Make a lane with its variations in canonical order."""
    return Lane(triple, char, runner, tuple(sorted((variations or {}).items())))


def parse(name: str) -> Lane:
    """Read a lane's name; raises :class:`UsageError` naming the part that is wrong."""
    parts = name.split("/")
    if len(parts) < 3 or not all(_WORD.match(part) for part in parts[:3]):
        raise UsageError(
            f"'{name}' is not a lane",
            expected="TRIPLE/CHAR/RUNNER[/AXIS=VALUE…], as in x86_64-linux-gnu/default/native",
            remedy="tokparity lanes",
        )
    triple, char, runner, *extra = parts
    if char not in CHARS:
        raise UsageError(f"lane '{name}' has char '{char}'", expected=" or ".join(CHARS))
    variations: dict[str, str] = {}
    for part in extra:
        axis, equals, value = part.partition("=")
        if not equals or not _WORD.match(axis) or not _WORD.match(value):
            raise UsageError(f"lane '{name}' has the part '{part}'", expected="AXIS=VALUE")
        if axis in variations:
            raise UsageError(f"lane '{name}' names the axis '{axis}' twice")
        variations[axis] = value
    return lane(triple, char, runner, variations)


def select(lanes: Sequence[Lane], globs: Iterable[str]) -> tuple[Lane, ...]:
    """Return the lanes that any glob matches, in their own order, without repeats.

    A whole lane name selects that lane even where the matrix lacks it. A glob that selects nothing
    raises :class:`UsageError`: a selection must never shrink in silence.
    """
    wanted: set[Lane] = set()
    added: list[Lane] = []
    for glob in globs:
        hits = [one for one in lanes if fnmatchcase(one.name, glob)]
        if not hits:
            if _GLOB.search(glob) or glob.count("/") < 2:
                close = get_close_matches(glob, [one.name for one in lanes], n=1, cutoff=0.5)
                raise UsageError(
                    f"--lanes '{glob}' selects no lane of {len(lanes)}",
                    expected=f"a glob over lane names{f', such as {close[0]}' if close else ''}",
                    remedy="tokparity lanes",
                )
            hits = [parse(glob)]
            added += [one for one in hits if one not in added]
        wanted.update(hits)
    return tuple(one for one in [*lanes, *added] if one in wanted)
