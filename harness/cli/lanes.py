"""``tokparity lanes``: which lanes a configuration selects."""

import json
from pathlib import Path

import click
from tabulate import tabulate

from harness.cli.options import CONFIG, JSON, LANES, configured, options
from harness.cli.streams import print_out
from harness.plan import plan_lanes

# What a person compares lanes by; `--json` has every axis.
SHOWN = ("arch", "char", "compiler", "optimisation", "fp-contract", "link", "cpu", "emulator")


@click.command(name="lanes")
@options(CONFIG, LANES, JSON)
def command(config: Path | None, lane_globs: tuple[str, ...], as_json: bool) -> int:
    """List the lanes a configuration selects, with the effective value of every axis."""
    lanes = plan_lanes(configured(config, lane_globs=lane_globs))
    axes = {lane: lanes.axes(lane) for lane in lanes.chosen}
    if as_json:
        rows = [
            {"name": lane.name, "axes": dict(axes[lane]), "control": lane == lanes.control}
            for lane in lanes.chosen
        ]
        print_out(json.dumps(rows, indent=2))
        return 0
    table = [
        [lane.name + (" (control)" if lane == lanes.control else "")]
        + [axes[lane].get(axis, "") for axis in SHOWN]
        for lane in lanes.chosen
    ]
    print_out(tabulate(table, headers=["lane", *SHOWN], disable_numparse=True))
    return 0
