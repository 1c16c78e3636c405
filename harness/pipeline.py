"""The whole story, in one breath.

::

    Config → Lanes → Probes → Outcomes ┐
    Corpus ────────────────────────────┼→ Diff → Causes → Verdict → Report
    Golden (blessed from the Oracle) ──┘

Nothing is claimed before the instrument itself has been believed: the emulators' canaries, then the
control lane, then lane against lane, then lane against golden.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from harness import provenance
from harness.ask import Asker
from harness.build import Built, Probe, build
from harness.canary import CanaryResult, check_canaries, invalid_lanes
from harness.config import Config
from harness.doctor import diagnose, require
from harness.errors import LaneUnavailable
from harness.evidence import Evidence, answered, expectations, repeated
from harness.judgement import questions
from harness.lane import Lane
from harness.matrix import neighbours
from harness.places import bundled, writable
from harness.plan import Plan, plan_run
from harness.report.model import Report
from harness.scratch import scratch
from harness.stages import with_first_stages
from harness.store import Store
from harness.toolchain import toolchain_for
from harness.verdict import LaneInfo, Question, judge
from harness.watch import Watch


@dataclass(frozen=True, kw_only=True)
class _Run:
    """A run under way: the plan, and the rim it works through."""

    plan: Plan
    store: Store
    scratch: Path
    asker: Asker
    watch: Watch


@dataclass(frozen=True, kw_only=True)
class _Lanes:
    """The lanes asked so far: what was built for each, and what their emulators' canaries said."""

    built: Built
    canaries: Mapping[Lane, CanaryResult]

    @property
    def probes(self) -> dict[Lane, Probe]:
        """The probes of the lanes that could be built."""
        return {lane: p for lane, p in self.built.probes.items() if isinstance(p, Probe)}


def run(config: Config, watch: Watch | None = None) -> Report:
    """Run what ``config`` asks for, and return the report.

    Raises a :class:`~harness.errors.TokparityError` where there is nothing to report on: bad input,
    a lane this machine cannot run, a refused golden.
    """
    with _under_way(config, watch or Watch()) as job:
        lanes = _prepared(job, job.plan.lanes.all)
        evidence = expectations(job.plan, job.store, job.scratch, job.watch)
        evidence = _asked(job, evidence, lanes)
        asked = questions(job.plan, evidence, _candidates(job.plan), job.store)
        if config.isolate and (extra := _separating(job.plan, asked, lanes)):
            more = _prepared(job, extra)
            evidence = _asked(job, evidence, more)
            lanes = _joined(lanes, more)
            asked = questions(job.plan, evidence, _candidates(job.plan), job.store)
        report = _verdict(job, lanes, evidence, asked)
        return with_first_stages(report, job.plan, evidence, lanes.probes, job.asker)


@contextmanager
def _under_way(config: Config, watch: Watch) -> Iterator[_Run]:
    """Find everything the run needs, and give it a place of its own that is gone afterwards."""
    plan = plan_run(config)
    require(plan.lanes.all, plan.lanes.toolchains, plan.lanes.host)
    writable(config.cache, "cache", "name another directory with --cache DIR or $TOKPARITY_CACHE")
    store = Store(config.cache)
    with scratch(config.cache) as own:
        asker = Asker(config, plan.lanes, store, own)
        yield _Run(plan=plan, store=store, scratch=own, asker=asker, watch=watch)


def _prepared(job: _Run, lanes: Sequence[Lane]) -> _Lanes:
    """Check the emulators' canaries and build the subject for these lanes."""
    config, known = job.plan.config, job.plan.lanes
    job.watch.stage(f"building {config.subject.name} for {len(lanes)} lanes", None)
    canaries = check_canaries(
        lanes,
        known.toolchains,
        source=bundled("probes") / "canary" / "canary.cpp",
        cache=config.cache,
        host_arch=known.host,
        jobs=config.jobs,
        say=job.watch.say,
    )
    built = build(
        config.subject,
        lanes,
        known.toolchains,
        cache=config.cache,
        host_arch=known.host,
        jobs=config.jobs,
        say=job.watch.say,
    )
    failures = [result for result in built.probes.values() if isinstance(result, LaneUnavailable)]
    if len(failures) == len(built.probes):
        raise failures[0]
    return _Lanes(built=built, canaries=canaries)


def _asked(job: _Run, evidence: Sequence[Evidence], lanes: _Lanes) -> list[Evidence]:
    """Ask these lanes everything, and once more whatever differs."""
    found = answered(evidence, lanes.built, job.asker, job.plan.config.jobs, job.watch)
    return repeated(job.plan, found, lanes.probes, job.asker, job.scratch, job.watch)


def _candidates(plan: Plan) -> list[Lane]:
    """Lanes one step away from those chosen that this machine could run besides."""
    known = plan.lanes
    near = {
        lane: None
        for chosen in known.all
        for lane in neighbours(chosen, toolchain_for(chosen, known.toolchains), known.host)
        if lane not in known.all
    }
    healthy = diagnose(tuple(near), known.toolchains, known.host)
    return [health.lane for health in healthy if health.available]


def _separating(plan: Plan, asked: Sequence[Question], lanes: _Lanes) -> tuple[Lane, ...]:
    """Return the lanes that would separate axes which the lanes run leave confounded."""
    names = {name for one in asked for found in one.separations for name in found.separating}
    return tuple(
        lane for lane in _candidates(plan) if lane.name in names and lane not in lanes.built.probes
    )


def _joined(first: _Lanes, second: _Lanes) -> _Lanes:
    return _Lanes(
        built=replace(
            first.built,
            probes={**first.built.probes, **second.built.probes},
            rebuilt=first.built.rebuilt + second.built.rebuilt,
        ),
        canaries={**first.canaries, **second.canaries},
    )


def _verdict(
    job: _Run, lanes: _Lanes, evidence: Sequence[Evidence], asked: Sequence[Question]
) -> Report:
    """Judge, and say what the judgement rests on."""
    failed = {r.lane: r.failure for r in lanes.canaries.values() if r.failure is not None}
    return judge(
        _lane_infos(job.plan, lanes, evidence),
        asked,
        deviations=job.plan.config.deviations,
        drift=[sentence for one in evidence for sentence in one.expected.drift],
        canaries=[f"{lane.name}: {words}" for lane, words in failed.items()],
        limits=_limits(job, evidence),
        provenance=provenance.collect(job.plan, job.asker, lanes.built, evidence),
        reused=_reused(lanes, evidence),
        command=_command(job.plan.config),
        called={
            one.name: _as_typed(str(one.path))
            for one in job.plan.tokenizers
            if str(one.path) in job.plan.config.tokenizers
        },
    )


def _command(config: Config) -> tuple[str, ...]:
    """Return the words that start this run, without what the report adds to show one case."""
    words = ["tokparity", "run"]
    if config.file is not None:
        words.append(os.path.relpath(config.file))
    words += [f"--probe-arg={argument}" for argument in config.probe_args]
    if "corpora" in config.overridden:
        words += [word for one in config.corpora for word in ("--corpus", _as_typed(one))]
    return tuple(words)


def _as_typed(item: str) -> str:
    """Return a name as it is, and a path such that it reads as one from here."""
    if not Path(item).is_absolute():
        return item
    path = os.path.relpath(item)
    return path if "/" in path else f"./{path}"


def _lane_infos(plan: Plan, lanes: _Lanes, evidence: Sequence[Evidence]) -> list[LaneInfo]:
    names = list(lanes.built.probes)
    broken = dict(
        invalid_lanes(lanes.canaries, names, {one: plan.lanes.axes(one) for one in names})
    )
    for one in evidence:
        for lane, answer in one.answers.items():
            if answer.invalid is not None:
                place = one.tokenizer.name
                if answer.invalid_request is not None:
                    operation, row = one.sheet.asked(answer.invalid_request)
                    place += f", {operation} of {plan.case_ids[row]}"
                broken.setdefault(lane, f"{place}: {answer.invalid}")
    infos = []
    for lane, result in lanes.built.probes.items():
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
            )
        )
    return infos


def _limits(job: _Run, evidence: Sequence[Evidence]) -> list[str]:
    limits = [] if job.store.trouble is None else [job.store.trouble]
    for one in evidence:
        name = one.tokenizer.name
        if one.expected.golden_sha256 is None:
            limits.append(f"{name}: no golden; every expected answer is the live oracle's")
        elif one.expected.live:
            limits.append(
                f"{name}: {one.expected.live} cases are not in the golden; "
                "their expected answers are the live oracle's"
            )
        for operation in one.sheet.blocks:
            heard = [answer for answer in one.answers.values() if answer.invalid is None]
            if heard and not any(answer.offers(operation) for answer in heard):
                limits.append(f"{name}: the subject does not offer {operation}: not compared")
    return limits


def _reused(lanes: _Lanes, evidence: Sequence[Evidence]) -> list[str]:
    answers = [answer for one in evidence for answer in one.answers.values()]
    kept = sum(answer.reused for answer in answers)
    oracles = sum(one.expected.reused for one in evidence)
    said = []
    if not lanes.built.rebuilt:
        said.append(f"{len(lanes.probes)} probes unchanged")
    if kept:
        said.append(f"{kept} of {len(answers)} lane runs reused")
    if oracles:
        said.append(f"{oracles} of {len(evidence)} oracle checks reused")
    return said
