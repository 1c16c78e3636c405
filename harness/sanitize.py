"""The subject built with sanitizers and asked every case, to tie each report to its case.

A sanitizer lane is the control lane with one sanitizer in its probe. It is compared with nothing:
neither its ids nor its speed are the subject's. What counts is what it writes to stderr, and on
which case (:mod:`harness.sanitizer_look`).
"""

import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

from harness.ask import Asker, together
from harness.build import Probe, build
from harness.errors import LaneUnavailable, UsageError
from harness.evidence import Evidence
from harness.lane import Lane
from harness.matrix import control_of
from harness.needs import install_line, needs
from harness.plan import Plan
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

    Raises :class:`UsageError` for a subject that is not built here, or a toolchain without any, and
    :class:`LaneUnavailable` with an install line where a sanitizer's library is missing.
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
    wanted = [need for lane in lanes for need in needs(lane, toolchain, known.host)]
    missing = [need for need in wanted if need.found is None]
    if missing:
        names = ", ".join(dict.fromkeys(need.program for need in missing))
        raise LaneUnavailable(
            f"{len(lanes)} sanitizer lanes cannot be built here: missing {names}",
            where=", ".join(lane.name for lane in lanes),
            remedy=install_line(need.package for need in missing),
        )
    return lanes


def sanitizer_probes(plan: Plan, watch: Watch) -> tuple[Probe, ...]:
    """Build the subject with every sanitizer; raises as :func:`sanitizer_lanes` and ``build``."""
    lanes = sanitizer_lanes(plan)
    watch.stage(f"building {plan.config.subject.name} with {len(lanes)} sanitizers", None)
    built = build(
        plan.config.subject,
        lanes,
        plan.lanes.toolchains,
        cache=plan.config.cache,
        host_arch=plan.lanes.host,
        jobs=plan.config.jobs,
        say=watch.say,
    )
    probes = []
    for result in built.probes.values():
        if isinstance(result, LaneUnavailable):
            raise result
        probes.append(result)
    return tuple(probes)


def looked(
    plan: Plan,
    evidence: Sequence[Evidence],
    report: Report,
    probes: Sequence[Probe],
    asker: Asker,
    scratch: Path,
    watch: Watch,
) -> Sanitized:
    """Ask the sanitizers' probes everything, and then what diverges in ``report`` by itself."""
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
    lanes = tuple(
        ReportLane(
            name=probe.lane.name,
            axes=axes_of(
                probe.lane, toolchain_for(probe.lane, plan.lanes.toolchains), plan.lanes.host
            ),
            status="invalid" if probe.lane.name in invalid else "sanitized",
            probe_sha256=probe.sha256,
            invalid=invalid.get(probe.lane.name),
        )
        for probe in probes
    )
    return Sanitized(
        lanes=lanes,
        sightings=tuple(one for part in parts for one in part.sightings),
        limits=tuple(dict.fromkeys(words for part in parts for words in part.limits)),
        invalid=invalid,
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
