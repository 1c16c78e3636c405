"""What a report says of the run itself: its lanes, its limits, what was reused, how to start it."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.build import Built, Probe
from harness.canary import CanaryResult, invalid_lanes
from harness.config import Config
from harness.evidence import Evidence
from harness.lane import Lane
from harness.plan import Plan
from harness.plural import counted
from harness.store import Store
from harness.verdict import LaneInfo


def command(config: Config) -> tuple[str, ...]:
    """Return the words that start this run, without what the report adds to show one case."""
    words = ["tokparity", "run"]
    if config.file is not None:
        words.append(os.path.relpath(config.file))
    words += [f"--probe-arg={argument}" for argument in config.probe_args]
    if "corpora" in config.overridden:
        words += [word for one in config.corpora for word in ("--corpus", as_typed(one))]
    return tuple(words)


def as_typed(item: str) -> str:
    """Return a name as it is, and a path such that it reads as one from here."""
    if not Path(item).is_absolute():
        return item
    path = os.path.relpath(item)
    return path if "/" in path else f"./{path}"


def lane_infos(
    plan: Plan,
    built: Built,
    canaries: Mapping[Lane, CanaryResult],
    evidence: Sequence[Evidence],
) -> list[LaneInfo]:
    """Return the lanes that were asked, and why one of them is not to be believed."""
    names = list(built.probes)
    broken = dict(invalid_lanes(canaries, names, {one: plan.lanes.axes(one) for one in names}))
    for one in evidence:
        for lane, answer in one.answers.items():
            if answer.invalid is not None:
                place = one.tokenizer.name
                if answer.invalid_request is not None:
                    operation, row = one.sheet.asked(answer.invalid_request)
                    place += f", {operation} of {plan.case_ids[row]}"
                broken.setdefault(lane, f"{place}: {answer.invalid}")
    infos = []
    for lane, result in built.probes.items():
        probe = result if isinstance(result, Probe) else None
        infos.append(
            LaneInfo(
                name=lane.name,
                axes=plan.lanes.axes(lane),
                probe_sha256=None if probe is None else probe.sha256,
                control=lane == plan.lanes.control,
                emulated=plan.lanes.axes(lane)["emulator"] != "none",
                invalid=broken.get(lane),
                status="ran" if probe is not None else "unavailable",
                unavailable=None if isinstance(result, Probe) else result.why,
            )
        )
    return infos


def limits(plan: Plan, store: Store, evidence: Sequence[Evidence]) -> list[str]:
    """Return what this run could not compare as it should, in sentences."""
    found = [] if store.trouble is None else [store.trouble]
    for one in evidence:
        name = one.tokenizer.name
        if one.expected.golden_sha256 is None:
            found.append(f"{name}: no golden; every expected answer is the live oracle's")
        elif one.expected.live:
            found.append(
                f"{name}: {counted(one.expected.live, 'case')} not in the golden; "
                "what is expected of them is the live oracle's"
            )
        for operation in one.sheet.blocks:
            heard = [answer for answer in one.answers.values() if answer.invalid is None]
            if heard and not any(answer.offers(operation) for answer in heard):
                found.append(f"{name}: the subject does not offer {operation}: not compared")
    return found


def reused(built: Built, evidence: Sequence[Evidence]) -> list[str]:
    """Return what was not done again, in sentences."""
    answers = [answer for one in evidence for answer in one.answers.values()]
    kept = sum(answer.reused for answer in answers)
    oracles = sum(one.expected.reused for one in evidence)
    said = []
    if not built.rebuilt:
        probes = sum(isinstance(one, Probe) for one in built.probes.values())
        said.append(f"{counted(probes, 'probe')} unchanged")
    if kept:
        said.append(f"{kept} of {counted(len(answers), 'lane run')} reused")
    if oracles:
        said.append(f"{oracles} of {counted(len(evidence), 'oracle check')} reused")
    return said
