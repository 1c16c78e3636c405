"""``tokparity doctor``: what is here, what is missing, and the install line."""

import json
from pathlib import Path

import click
from tabulate import tabulate

from harness.cli.options import CONFIG, JSON, LANES, configured, options
from harness.doctor import LaneHealth, diagnose, install_line
from harness.errors import LaneUnavailable
from harness.plan import plan_lanes


@click.command(name="doctor")
@options(CONFIG, LANES, JSON)
def command(config: Path | None, lane_globs: tuple[str, ...], as_json: bool) -> int:
    """Say of each lane what is here, what is missing, and how to get it.

    Exits with 4 where a selected lane cannot be built or run on this machine.
    """
    lanes = plan_lanes(configured(config, lane_globs=lane_globs))
    health = diagnose(lanes.chosen, lanes.toolchains, lanes.host)
    missing = {need.package for one in health for need in one.missing}
    line = install_line(missing) if missing else None
    if as_json:
        print(json.dumps({"lanes": [_as_json(one) for one in health], "install": line}, indent=2))
    else:
        print(tabulate([_row(one) for one in health], headers=["lane", "state", "here", "missing"]))
        print(f"\nto get what is missing, as root:\n{line}" if line else "\nnothing is missing")
    return LaneUnavailable.exit_code if missing else 0


def _row(one: LaneHealth) -> list[str]:
    here = [str(need.found) for need in one.needs if need.found is not None]
    missing = [f"{need.program} ({need.why}; package {need.package})" for need in one.missing]
    state = "ready" if one.available else "not here"
    return [one.lane.name, state, ", ".join(here), ", ".join(missing)]


def _as_json(one: LaneHealth) -> dict[str, object]:
    return {
        "name": one.lane.name,
        "available": one.available,
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
