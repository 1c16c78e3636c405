"""What each lane needs on this machine, what is missing, and how to get it."""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.errors import LaneUnavailable
from harness.lane import Lane
from harness.needs import Find, Need, install_line, needs, which
from harness.plural import counted
from harness.runners import runner_for
from harness.toolchain import Toolchains, check, surroundings_of, toolchain_for


@dataclass(frozen=True)
class LaneHealth:
    """One lane here: every need, those that are missing, and how to get them.

    ``obstacle`` is what no package helps against: a native lane of another architecture, a
    container engine or a machine that cannot be reached, a system call that is forbidden.
    """

    lane: Lane
    needs: tuple[Need, ...]
    missing: tuple[Need, ...]
    obstacle: LaneUnavailable | None = None

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
    """Return the health of every lane, in order; raises :class:`UsageError` for an unknown lane.

    Of a docker or ssh lane that misses no program, the engine or the machine is asked as well, and
    the kernel of a lane whose probe is started otherwise than as it is.
    """
    found = []
    for one in lanes:
        toolchain = toolchain_for(one, toolchains)
        wanted = needs(one, toolchain, host, find)
        missing = tuple(need for need in wanted if need.found is None)
        obstacle = None
        try:
            check(one, toolchains, host)
            asked = one.contained or one.machine is not None
            if not missing and (asked or surroundings_of(one, toolchain).command):
                runner_for(one, toolchain, host, find)
        except LaneUnavailable as error:
            obstacle = error
        found.append(LaneHealth(one, wanted, missing, obstacle))
    return tuple(found)


def require(lanes: Sequence[Lane], toolchains: Toolchains, host: str, find: Find = which) -> None:
    """Raise :class:`LaneUnavailable` naming every lane that cannot run here, and every remedy.

    A run never goes on with fewer lanes than were asked for.
    """
    ill = [one for one in diagnose(lanes, toolchains, host, find) if not one.available]
    if not ill:
        return
    missing = [need for one in ill for need in one.missing]
    obstacles = list(dict.fromkeys(one.obstacle.what for one in ill if one.obstacle))
    programs = list(dict.fromkeys(need.program for need in missing))
    reasons = [*([f"missing {', '.join(programs)}"] if programs else []), *obstacles]
    raise LaneUnavailable(
        f"{len(ill)} of {counted(len(lanes), 'lane')} cannot run here: {'; '.join(reasons)}",
        where=", ".join(one.lane.name for one in ill),
        remedy="; ".join(remedies(ill)) or "tokparity lanes",
    )


def remedies(health: Sequence[LaneHealth]) -> list[str]:
    """Return one install line for everything missing, and the remedy of every obstacle, once."""
    packages = {need.package for one in health for need in one.missing}
    lines = [install_line(packages)] if packages else []
    obstacles = [one.obstacle.remedy for one in health if one.obstacle is not None]
    return [*lines, *dict.fromkeys(remedy for remedy in obstacles if remedy is not None)]
