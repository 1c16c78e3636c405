"""``tokparity doctor``: what is here, what is missing, and how to get it."""

import json
from pathlib import Path

import click
from tabulate import tabulate

from harness.cli.options import CONFIG, JSON, LANES, configured, options
from harness.cli.streams import print_out
from harness.doctor import LaneHealth, diagnose, remedies
from harness.errors import LaneUnavailable
from harness.needs import install_line
from harness.plan import plan_lanes


@click.command(name="doctor")
@options(CONFIG, LANES, JSON)
def command(config: Path | None, lane_globs: tuple[str, ...], as_json: bool) -> int:
    """Say of each lane what is here, what is missing, and how to get it.

    Exits with 4 where a selected lane cannot be built or run on this machine.
    """
    lanes = plan_lanes(configured(config, lane_globs=lane_globs))
    health = diagnose(lanes.chosen, lanes.toolchains, lanes.host)
    well = all(one.available for one in health)
    if as_json:
        packages = {need.package for one in health for need in one.missing}
        line = install_line(packages) if packages else None
        print_out(
            json.dumps({"lanes": [_as_json(one) for one in health], "install": line}, indent=2)
        )
    else:
        print_out(
            tabulate([_row(one) for one in health], headers=["lane", "state", "here", "missing"])
        )
        ways = "\n".join(remedies(health))
        print_out("\nnothing is missing" if well else f"\nto get what is missing:\n{ways}")
    return 0 if well else LaneUnavailable.exit_code


def _row(one: LaneHealth) -> list[str]:
    here = [str(need.found) for need in one.needs if need.found is not None]
    missing = [f"{need.program} ({need.why}; package {need.package})" for need in one.missing]
    if one.obstacle is not None:
        missing.append(one.obstacle.what)
    state = "ready" if one.available else "not here"
    return [one.lane.name, state, ", ".join(here), ", ".join(missing)]


def _as_json(one: LaneHealth) -> dict[str, object]:
    return {
        "name": one.lane.name,
        "available": one.available,
        "obstacle": None if one.obstacle is None else one.obstacle.what,
        "remedy": None if one.obstacle is None else one.obstacle.remedy,
        "needs": [
            {
                "program": need.program,
                "found": None if need.found is None else str(need.found),
                "package": need.package,
                "why": need.why,
            }
            for need in one.needs
        ],
    }
