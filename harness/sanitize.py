"""The subject built with sanitizers and asked every case, to tie each report to its case.

A sanitizer lane is the control lane with one sanitizer in its probe. It is compared with nothing:
neither its ids nor its speed are the subject's. What counts is what it writes to stderr, and on
which case (:mod:`harness.sanitizer_look`).
"""

import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.ask import Asker, together
from harness.build import Probe, build
from harness.errors import InstrumentInvalid, LaneUnavailable, UsageError
from harness.evidence import Evidence
from harness.lane import Lane
from harness.matrix import control_of
from harness.needs import install_line, needs
from harness.plan import Plan
from harness.plural import counted
from harness.report.model import Report, ReportLane
from harness.sanitizer_look import Look
from harness.sanitizer_words import owner
from harness.session import Limits, Starter
from harness.toolchain import axes_of, sanitizers, toolchain_for, with_settings
from harness.verdict.sanitized import Sanitized
from harness.watch import Watch
from harness.wire import Tail

# The address sanitizer costs two to three times the time.
_PATIENCE = 4


def sanitizer_lanes(plan: Plan) -> tuple[Lane, ...]:
    """Return the control lane once with each sanitizer of its toolchain.

    Raises :class:`UsageError` for a subject that is not built here, or a toolchain without any.
    """
    if plan.config.subject.command is not None:
        raise UsageError(
            "--sanitize cannot build a subject that is given as a command",
            expected="a subject with sources",
            remedy="build the program with -fsanitize=address,undefined yourself",
        )
    known = plan.lanes
    control = control_of(known.toolchains, known.host)
    toolchain = toolchain_for(control, known.toolchains)
    lanes = tuple(
        with_settings(control, {**meaning.requires, axis: value}, toolchain)
        for axis in sanitizers(toolchain)
        for value, meaning in toolchain.axes[axis].values.items()
        if value != toolchain.axes[axis].default
    )
    if not lanes:
        raise UsageError(
            f"the toolchain of {control.triple} names no sanitizer",
            expected="an axis with 'when: sanitize' in its file",
        )
    return lanes


def sanitizer_probes(plan: Plan, watch: Watch) -> Mapping[Lane, Probe | LaneUnavailable]:
    """Build the subject with every sanitizer; raises as :func:`sanitizer_lanes` and ``build``.

    A lane that cannot be built is a value: its sanitizer's library is missing, or the subject does
    not build with it. The run goes on without it, and says so where it ends.
    """
    lanes = sanitizer_lanes(plan)
    watch.stage(
        f"building {plan.config.subject.name} with {counted(len(lanes), 'sanitizer')}", None
    )
    found: dict[Lane, Probe | LaneUnavailable] = {
        lane: lacking for lane in lanes if (lacking := _lacking(plan, lane)) is not None
    }
    built = build(
        plan.config.subject,
        [lane for lane in lanes if lane not in found],
        plan.lanes.toolchains,
        cache=plan.config.cache,
        host_arch=plan.lanes.host,
        jobs=plan.config.jobs,
        say=watch.say,
    )
    found |= built.probes
    for lane, result in found.items():
        if isinstance(result, LaneUnavailable):
            watch.say(f"{lane.name} is left out: {result.what}")
    return {lane: found[lane] for lane in lanes}


def _lacking(plan: Plan, lane: Lane) -> LaneUnavailable | None:
    """Return why the machine cannot build a lane, with an install line; None where it can."""
    toolchain = toolchain_for(lane, plan.lanes.toolchains)
    missing = [need for need in needs(lane, toolchain, plan.lanes.host) if need.found is None]
    if not missing:
        return None
    names = ", ".join(dict.fromkeys(need.program for need in missing))
    return LaneUnavailable(
        f"cannot be built here: missing {names}",
        where=lane.name,
        remedy=install_line(need.package for need in missing),
    )


def looked(
    plan: Plan,
    evidence: Sequence[Evidence],
    report: Report,
    built: Mapping[Lane, Probe | LaneUnavailable],
    asker: Asker,
    scratch: Path,
    watch: Watch,
) -> Sanitized:
    """Ask the sanitizers' probes everything, and then what diverges in ``report`` by itself.

    Of a report that believes nothing of the subject nothing more is asked.
    """
    believed = report.exit != InstrumentInvalid.exit_code
    probes = [one for one in built.values() if isinstance(one, Probe) and believed]
    pairs = [(one, probe) for one in evidence for probe in probes]
    watch.stage("sanitizers", len(pairs))
    config = plan.config
    base = Path.cwd() if config.file is None else config.file.parent
    subject = config.subject
    files = [*([subject.probe] if subject.probe else []), *subject.sources]
    own = owner(files, subject.include, base)

    def ask(pair: tuple[Evidence, Probe], cancel: threading.Event) -> Sanitized:
        one, probe = pair
        toolchain = toolchain_for(probe.lane, plan.lanes.toolchains)
        with tempfile.TemporaryDirectory(prefix="sanitizer-", dir=scratch) as cwd:
            starter = Starter(
                runner=asker.runner(probe.lane),
                probe=probe,
                tokenizer=one.tokenizer.path,
                axes=axes_of(probe.lane, toolchain, plan.lanes.host),
                limits=Limits(
                    case_seconds=config.case_seconds * _PATIENCE,
                    load_seconds=config.load_seconds * _PATIENCE,
                ),
                cwd=Path(cwd),
                tail=Tail(),
                cancel=cancel,
            )
            look = Look(starter, one.tokenizer.name, one.sheet, plan.case_ids, own)
            found = look.everything(_diverging(one.tokenizer.name, report))
        watch.step(f"{one.tokenizer.name} on {probe.lane.name}")
        return found

    parts = together(ask, pairs, config.jobs)
    invalid = {lane: why for part in parts for lane, why in part.invalid.items()}
    lanes = [_reported(plan, lane, one, invalid) for lane, one in built.items()]
    return Sanitized(
        lanes=tuple(one for one in lanes if believed or one.unavailable is not None),
        sightings=tuple(one for part in parts for one in part.sightings),
        limits=tuple(dict.fromkeys(words for part in parts for words in part.limits)),
        invalid=invalid,
    )


def _reported(
    plan: Plan, lane: Lane, one: Probe | LaneUnavailable, invalid: Mapping[str, str]
) -> ReportLane:
    axes = axes_of(lane, toolchain_for(lane, plan.lanes.toolchains), plan.lanes.host)
    if isinstance(one, LaneUnavailable):
        return ReportLane(name=lane.name, axes=axes, status="unavailable", unavailable=one.why)
    return ReportLane(
        name=lane.name,
        axes=axes,
        status="invalid" if lane.name in invalid else "sanitized",
        probe_sha256=one.sha256,
        invalid=invalid.get(lane.name),
    )


def _diverging(tokenizer: str, report: Report) -> list[tuple[str, str]]:
    """Return (operation, case) of what diverges, the first case of each finding first."""
    own = [one for one in report.findings if one.tokenizer == tokenizer and not one.absent]
    longest = max((len(one.cases) for one in own), default=0)
    pairs = [
        (operation, one.cases[rank])
        for rank in range(longest)
        for one in own
        if rank < len(one.cases)
        for operation in one.operations[:1]
    ]
    return list(dict.fromkeys(pairs))
