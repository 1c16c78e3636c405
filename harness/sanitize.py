"""The subject built with sanitizers and asked every case, to tie each report to its case.

A sanitizer lane is the control lane with one sanitizer in its probe. It is compared with nothing:
neither its ids nor its speed are the subject's. What counts is what it writes to stderr, and on
which case. Requests go out :data:`TOGETHER` at a time; where a report, a crash or a hang came with
such a group, the group is asked again one request at a time, in a fresh process.

Three bounds, all of them told where they were reached: a sanitizer reports one place once a
process, so a place is tied to the first case of its group that shows it; diverging cases that have
no report yet are asked each in a process of its own, :data:`ALONE` at most; and after
:data:`DEATHS` deaths of the probe the rest is not asked.
"""

import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.ask import Asker, Sheet, together
from harness.build import Probe, build
from harness.errors import LaneUnavailable, UsageError
from harness.evidence import Evidence
from harness.hello import Hello
from harness.lane import Lane
from harness.matrix import control_of
from harness.needs import install_line, needs
from harness.plan import Plan
from harness.report.model import Report, ReportLane
from harness.sanitizer_words import Own, Sighting, faults, owner
from harness.session import Limits, NoHello, Starter
from harness.toolchain import axes_of, sanitizers, toolchain_for, with_settings
from harness.verdict.sanitized import Sanitized
from harness.watch import Watch
from harness.wire import Ended, Endless, Tail, Wire

TOGETHER = 64
ALONE = 16
DEATHS = 16
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
            look = _Look(starter, one.tokenizer.name, one.sheet, plan.case_ids, own)
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


class _Died(Exception):
    """The probe ended or fell silent before it answered."""


@dataclass
class _Look:
    """One sanitizer's probe and one tokenizer, from the first request to the last."""

    starter: Starter
    tokenizer: str
    sheet: Sheet
    case_ids: Sequence[str]
    own: Own
    sightings: list[Sighting] = field(default_factory=list)
    deaths: int = 0
    _wire: Wire | None = None
    _hello: Hello | None = None

    def everything(self, diverging: Sequence[tuple[str, str]]) -> Sanitized:
        lane = self.starter.probe.lane.name
        limits: list[str] = []
        invalid: Mapping[str, str] = {}
        try:
            asked = self._all()
            if asked < len(self.sheet.requests):
                limits.append(
                    f"{lane}, {self.tokenizer}: {len(self.sheet.requests) - asked} requests were "
                    f"not asked, for the probe had died {self.deaths} times before them"
                )
            elif self.sightings:
                limits += self._alone(diverging)
        except NoHello as none:
            if not self._gather(None):
                invalid = {lane: f"{self.tokenizer}: {none.why}"}
        finally:
            self._end()
        return Sanitized(
            sightings=tuple(dict.fromkeys(self.sightings)), limits=tuple(limits), invalid=invalid
        )

    def _all(self) -> int:
        """Ask every request, and return how many were asked."""
        count = len(self.sheet.requests)
        for first in range(0, count, TOGETHER):
            group = range(first, min(first + TOGETHER, count))
            if self._quiet(group):
                continue
            for index in group:
                if self.deaths >= DEATHS:
                    return index
                self._one(index)
        return count

    def _quiet(self, group: range) -> bool:
        """Ask a group; whether every answer came and nothing was written to stderr."""
        try:
            self._ask(group)
        except _Died:
            self.starter.tail.take()
            return False
        if self._refused() or not self.starter.tail.take():
            return True
        # A place is reported once a process, and now each report is to be tied to its case.
        self._end()
        return False

    def _one(self, index: int) -> None:
        """Ask one request, and tie what is reported to its case."""
        try:
            self._ask(range(index, index + 1))
        except _Died:
            self.deaths += 1
        self._gather(index)

    def _alone(self, diverging: Sequence[tuple[str, str]]) -> list[str]:
        """Ask diverging cases that have no report yet, each in a process of its own."""
        known = {(one.operation, one.case) for one in self.sightings}
        left = [index for pair in diverging if pair not in known for index in self._index(pair)]
        for index in left[:ALONE]:
            if self.deaths >= DEATHS:
                break
            self._end()
            self._one(index)
        if len(left) <= ALONE:
            return []
        return [
            f"{self.starter.probe.lane.name}, {self.tokenizer}: of {len(left)} diverging cases "
            f"without a report of their own {ALONE} were asked by themselves"
        ]

    def _index(self, pair: tuple[str, str]) -> list[int]:
        """Return the request of an (operation, case), if there is one."""
        first = 0
        for operation, rows in self.sheet.blocks.items():
            if operation == pair[0]:
                return [
                    first + at
                    for at, row in enumerate(rows.tolist())
                    if self.case_ids[row] == pair[1]
                ][:1]
            first += rows.shape[0]
        return []

    def _ask(self, group: range) -> None:
        """Send requests and read their answers; raises :class:`_Died`, and :class:`NoHello`."""
        limits = self.starter.limits
        most = limits.longest_answer(self.sheet.requests.longest())
        if self._wire is None:
            self._wire, self._hello = self.starter.start_fed()
            self._wire.drain()
            self._gather(None)
        wire = self._wire
        if self._refused():
            return
        wire.send(b"".join(self.sheet.requests.line(index) for index in group))
        try:
            for _ in group:
                if wire.line(limits.case_seconds, most) is None:
                    raise _Died
        except (Ended, Endless, _Died):
            wire.status(limits.case_seconds)
            self._end()
            raise _Died from None
        # A sanitizer writes before its probe answers.
        wire.drain()

    def _refused(self) -> bool:
        """Whether the subject does not take the tokenizer, so that there is nothing to ask."""
        return self._hello is not None and bool(self._hello.refused or self._hello.error)

    def _gather(self, index: int | None) -> bool:
        """Tie what was written to stderr to a request, or to the load; whether it was a report."""
        written = self.starter.tail.take().decode("utf-8", "backslashreplace")
        operation, case = "load", None
        if index is not None:
            operation, row = self.sheet.asked(index)
            case = self.case_ids[row]
        found = faults(written, self.own)
        self.sightings += [
            Sighting(
                tokenizer=self.tokenizer,
                operation=operation,
                case=case,
                lane=self.starter.probe.lane.name,
                fault=fault,
            )
            for fault in found
        ]
        return bool(found)

    def _end(self) -> None:
        if self._wire is not None:
            self._wire.close()
            self._wire = None
