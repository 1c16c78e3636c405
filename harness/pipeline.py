"""The whole story, in one breath.

::

    Config → Lanes → Probes → Outcomes ┐
    Corpus ────────────────────────────┼→ Diff → Causes → Verdict → Report
    Golden (blessed from the Oracle) ──┘

Nothing is claimed before the instrument itself has been believed: the emulators' canaries, then the
control lane, then lane against lane, then lane against golden.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from harness import account, provenance
from harness.ask import Asker
from harness.build import Built, Probe, build
from harness.canary import CanaryResult, check_canaries
from harness.config import Config
from harness.doctor import diagnose, require
from harness.errors import LaneUnavailable
from harness.evidence import Evidence, answered, expectations, repeated, steadied
from harness.judgement import questions
from harness.lane import Lane
from harness.matrix import neighbours
from harness.places import bundled, writable
from harness.plan import Plan, plan_run
from harness.plural import counted
from harness.reduction import Reduced, reduce_findings
from harness.report.model import Report
from harness.report.reduced import with_reduced
from harness.rig import Rig
from harness.sanitize import looked, sanitizer_probes
from harness.scratch import scratch
from harness.stages import with_first_stages
from harness.store import Store
from harness.toolchain import toolchain_for
from harness.verdict import Question, judge
from harness.verdict.sanitized import with_sanitizers
from harness.wanted import Wanted, reduce_wanted
from harness.watch import Watch

# Each round of separating lanes proves an axis or refutes one, and there are not many more axes.
_ROUNDS = 8


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


def run(config: Config, watch: Watch | None = None, *, reducing: bool = False) -> Report:
    """Run what ``config`` asks for, and return the report; ``reducing`` shrinks a case a finding.

    Raises a :class:`~harness.errors.TokparityError` where there is nothing to report on: bad input,
    a lane this machine cannot run, a refused golden.
    """
    with _under_way(config, watch or Watch()) as job:
        # Built before anything is asked: what cannot be had must not be found out at the end.
        watchful = sanitizer_probes(job.plan, job.watch) if config.sanitize else {}
        report, rig = _done(job)
        report = with_first_stages(report, rig.plan, rig.evidence, rig.probes, rig.asker)
        report = _sanitized(job, rig.evidence, report, watchful)
        return with_reduced(report, reduce_findings(rig, report)) if reducing else report


def reduce(
    config: Config, wanted: Wanted, watch: Watch | None = None, questions: int | None = None
) -> Reduced:
    """Run what ``config`` asks for and shrink one case of it, or a text besides its cases.

    Raises as :func:`run` does, as :func:`~harness.reduction.reduce_case` does, and
    :class:`~harness.errors.UsageError` for a case that is not there or does not diverge.
    """
    with _under_way(config, watch or Watch(), wanted) as job:
        report, rig = _done(job)
        return reduce_wanted(rig, report, wanted, questions)


def _done(job: _Run) -> tuple[Report, Rig]:
    """Tell the story to its end, and leave what it takes to ask more."""
    lanes = _prepared(job, job.plan.lanes.all)
    evidence = expectations(job.plan, job.store, job.scratch, job.watch)
    evidence = _asked(job, evidence, lanes)
    if job.plan.config.isolate:
        evidence = _steadied(job, evidence, lanes)
    job.watch.stage("causes", None)
    asked = questions(job.plan, evidence, _candidates(job.plan), job.store)
    for _ in range(_ROUNDS if job.plan.config.isolate else 0):
        extra = _separating(job.plan, asked, lanes)
        if not extra:
            break
        more = _prepared(job, extra)
        evidence = _asked(job, evidence, more)
        lanes = _joined(lanes, more)
        asked = questions(job.plan, evidence, _candidates(job.plan), job.store)
    rig = Rig(
        plan=job.plan,
        asker=job.asker,
        probes=lanes.probes,
        evidence=evidence,
        questions=asked,
        unavailable={
            lane: why for lane, why in lanes.built.probes.items() if not isinstance(why, Probe)
        },
        watch=job.watch,
    )
    return _verdict(job, lanes, evidence, asked), rig


def _sanitized(
    job: _Run,
    evidence: Sequence[Evidence],
    report: Report,
    built: Mapping[Lane, Probe | LaneUnavailable],
) -> Report:
    """Add what sanitizers see, and which of them could not be had."""
    if not built:
        return report
    seen = looked(job.plan, evidence, report, built, job.asker, job.scratch, job.watch)
    return with_sanitizers(report, seen)


@contextmanager
def _under_way(config: Config, watch: Watch, wanted: Wanted | None = None) -> Iterator[_Run]:
    """Find everything the run needs, and give it a place of its own that is gone afterwards."""
    plan = plan_run(config)
    if wanted is not None:
        plan = wanted.among(plan)
    require(plan.lanes.all, plan.lanes.toolchains, plan.lanes.host)
    writable(config.cache, "cache", "name another directory with --cache DIR or $TOKPARITY_CACHE")
    store = Store(config.cache)
    with scratch(config.cache) as own:
        asker = Asker(config, plan.lanes, store, own)
        yield _Run(plan=plan, store=store, scratch=own, asker=asker, watch=watch)


def _prepared(job: _Run, lanes: Sequence[Lane]) -> _Lanes:
    """Check the emulators' canaries and build the subject for these lanes."""
    config, known = job.plan.config, job.plan.lanes
    job.watch.stage(f"building {config.subject.name} for {counted(len(lanes), 'lane')}", None)
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


def _steadied(job: _Run, evidence: Sequence[Evidence], lanes: _Lanes) -> list[Evidence]:
    """Ask the control lane everything a second time, what agrees by chance included."""
    probe = lanes.probes.get(job.plan.lanes.control)
    if probe is None:
        return list(evidence)
    return steadied(job.plan, evidence, probe, job.asker, job.scratch, job.watch)


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
        account.lane_infos(job.plan, lanes.built, lanes.canaries, evidence),
        asked,
        deviations=job.plan.config.deviations,
        subject=job.plan.config.subject.name,
        drift=[sentence for one in evidence for sentence in one.expected.drift],
        canaries=[f"{lane.name}: {words}" for lane, words in failed.items()],
        limits=account.limits(job.plan, job.store, evidence),
        provenance=provenance.collect(job.plan, job.asker, lanes.built, evidence),
        reused=account.reused(lanes.built, evidence),
        command=account.command(job.plan.config),
        called={
            one.name: account.as_typed(str(one.path))
            for one in job.plan.tokenizers
            if str(one.path) in job.plan.config.tokenizers
        },
    )
