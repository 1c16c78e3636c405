"""What each lane needs on this machine, what is missing, and the one line that installs it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.errors import LaneUnavailable
from harness.lane import Lane
from harness.toolchain import Find, Need, Toolchains, check, needs, toolchain_for, which


@dataclass(frozen=True)
class LaneHealth:
    """One lane here: every need, those that are missing, and how to get them.

    ``obstacle`` says why no package helps: a native lane of another architecture.
    """

    lane: Lane
    needs: tuple[Need, ...]
    missing: tuple[Need, ...]
    obstacle: str | None = None

    @property
    def available(self) -> bool:
        """Whether the lane can be built and run here."""
        return not self.missing and self.obstacle is None

    @property
    def install(self) -> str | None:
        """The line that installs what is missing, or None where nothing is."""
        return install_line(need.package for need in self.missing) if self.missing else None


def diagnose(
    lanes: Sequence[Lane], toolchains: Toolchains, host: str, find: Find = which
) -> tuple[LaneHealth, ...]:
    """Return the health of every lane, in order; raises :class:`UsageError` for an unknown lane."""
    found = []
    for one in lanes:
        obstacle = None
        try:
            check(one, toolchains, host)
        except LaneUnavailable as error:
            obstacle = error.what
        wanted = needs(one, toolchain_for(one, toolchains), host, find)
        missing = tuple(need for need in wanted if need.found is None)
        found.append(LaneHealth(one, wanted, missing, obstacle))
    return tuple(found)


def require(lanes: Sequence[Lane], toolchains: Toolchains, host: str, find: Find = which) -> None:
    """Raise :class:`LaneUnavailable` naming every lane that cannot run here and one install line.

    A run never goes on with fewer lanes than were asked for.
    """
    ill = [one for one in diagnose(lanes, toolchains, host, find) if not one.available]
    if not ill:
        return
    missing = [need for one in ill for need in one.missing]
    obstacles = list(dict.fromkeys(one.obstacle for one in ill if one.obstacle))
    programs = list(dict.fromkeys(need.program for need in missing))
    reasons = [*([f"missing {', '.join(programs)}"] if programs else []), *obstacles]
    packages = [need.package for need in missing]
    raise LaneUnavailable(
        f"{len(ill)} of {len(lanes)} lanes cannot run here: {'; '.join(reasons)}",
        where=", ".join(one.lane.name for one in ill),
        remedy=install_line(packages) if packages else "tokparity lanes",
    )


def install_line(packages: Iterable[str]) -> str:
    """Return one command that installs the packages, each once, in alphabetical order."""
    return f"apt-get install -y {' '.join(sorted(set(packages)))}"
