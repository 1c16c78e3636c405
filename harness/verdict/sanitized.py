"""What sanitizers saw, put beside what the lanes showed.

A fault is a finding of its own, ``memory-error`` or ``undefined-behaviour``, whatever the ids are.
It is never *the* cause of a divergence: that is proven by lanes or by the oracle. A divergence on a
case that also shows a fault has the fault's place in its evidence.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from harness.plural import counted
from harness.report.model import Finding, Report, ReportLane
from harness.sanitizer_words import MEMORY_ERROR, SANITIZER_CAUSES, Sighting

# Places told for one finding; the others are counted.
_PLACES = 8


@dataclass(frozen=True, kw_only=True)
class Sanitized:
    """What the sanitizers' lanes gave: ``invalid`` says of a lane why it is not to be believed."""

    lanes: tuple[ReportLane, ...] = ()
    sightings: tuple[Sighting, ...] = ()
    limits: tuple[str, ...] = ()
    invalid: Mapping[str, str] = field(default_factory=dict)


def with_sanitizers(report: Report, seen: Sanitized) -> Report:
    """Return the report with what the sanitizers saw; a fault, or a lane not believed, fails it.

    So does a lane that could not be built: what the lanes of the run itself came to stands, and a
    sentence says which verdict that is.
    """
    found = _faults(seen.sightings, report)
    findings = (*(_beside(one, seen.sightings) for one in report.findings), *found)
    invalid = (*report.invalid, *(f"{lane}: {why}" for lane, why in seen.invalid.items()))
    lacking = [lane for lane in seen.lanes if lane.status == "unavailable"]
    status = 3 if invalid else 4 if lacking else report.exit or (1 if found else 0)
    return replace(
        report,
        verdict="invalid" if invalid else "fail" if status else "pass",
        exit=status,
        lanes=(*report.lanes, *seen.lanes),
        findings=findings,
        limits=(*report.limits, *seen.limits, *_without(lacking, report)),
        invalid=invalid,
    )


def _without(lacking: Sequence[ReportLane], report: Report) -> list[str]:
    """Say what the run came to without the sanitizers that could not be built."""
    if not lacking:
        return []
    return [
        f"{counted(len(lacking), 'sanitizer lane')} could not be built: faults of that kind were "
        f"not looked for; the run itself came to '{report.verdict}', exit {report.exit}"
    ]


def _faults(sightings: Sequence[Sighting], report: Report) -> list[Finding]:
    """Return one finding for each tokenizer and kind of sanitizer that reported anything."""
    found = []
    for tokenizer in dict.fromkeys(one.tokenizer for one in sightings):
        for cause in SANITIZER_CAUSES:
            own = [s for s in sightings if s.tokenizer == tokenizer and s.fault.cause == cause]
            if own:
                found.append(_finding(tokenizer, cause, own, report))
    return found


def _finding(tokenizer: str, cause: str, own: Sequence[Sighting], report: Report) -> Finding:
    lanes = tuple(dict.fromkeys(one.lane for one in own))
    cases = tuple(dict.fromkeys(one.case for one in own if one.case is not None))
    places = {one.fault.place for one in own}
    name = "\0".join([tokenizer, cause, *sorted(places)])
    named = report.called.get(tokenizer, tokenizer)
    again = [*report.command, "--sanitize", "--tokenizer", named]
    again += ["--case", cases[0]] if cases else []
    kind = "memory was misused" if cause == MEMORY_ERROR else "the behaviour is undefined"
    many = f"at {counted(len(places), 'place')}"
    return Finding(
        id=hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8],
        tokenizer=tokenizer,
        operations=tuple(dict.fromkeys(one.operation for one in own)),
        lanes=lanes,
        cases=cases,
        axes=(),
        cause=cause,
        declared=False,
        summary=f"a sanitizer reports that {kind} {many}, whatever ids came of it",
        evidence={"kind": "sanitizer", "sanitizer": _told(own), "again": again},
    )


def _beside(finding: Finding, sightings: Sequence[Sighting]) -> Finding:
    """Return a divergence with the faults that its own cases show."""
    cases = set(finding.cases)
    own = [
        one
        for one in sightings
        if one.tokenizer == finding.tokenizer
        and one.operation in finding.operations
        and one.case in cases
    ]
    if not own or finding.absent:
        return finding
    return replace(finding, evidence={**finding.evidence, "sanitizer": _told(own)})


def _told(sightings: Sequence[Sighting]) -> list[dict[str, Any]]:
    """Return the places as plain values, each with the cases that showed it."""
    places: dict[tuple[str, str, str], list[Sighting]] = {}
    for one in sightings:
        places.setdefault((one.fault.cause, one.fault.place, one.fault.kind), []).append(one)
    return [
        {
            "cause": cause,
            "place": place,
            "kind": kind,
            "words": own[0].fault.words,
            "cases": list(dict.fromkeys(one.case for one in own if one.case is not None)),
            "loading": any(one.case is None for one in own),
        }
        for (cause, place, kind), own in list(places.items())[:_PLACES]
    ]
