"""What a run has learnt of each tokenizer.

What was expected, what every lane answered, and whether the lanes that differ answer the same when
they are asked once more.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from harness.ask import Answered, Asker, Rows, Sheet, together, write_sheet
from harness.build import Built, Probe
from harness.diff import differs
from harness.expect import Expected, OracleOnDemand, expect
from harness.lane import Lane
from harness.outcomes import Operation, Outcomes, Status
from harness.plan import Plan, golden_path
from harness.store import Store
from harness.tokenizers import TokenizerFile
from harness.watch import Watch

# Enough to tell chance from cause, few enough to cost little beside loading the tokenizer again.
MOST_REPEATED = 64
# Each costs two or three starts of the probe.
MOST_CRASHES = 2


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """All that is known of one tokenizer.

    ``repeats`` maps operation → lane name → the case rows that were answered differently when the
    same lane was asked again.
    """

    tokenizer: TokenizerFile
    oracle: OracleOnDemand
    expected: Expected
    sheet: Sheet
    answers: Mapping[Lane, Answered]
    repeats: Mapping[str, Mapping[str, tuple[int, ...]]] = field(default_factory=dict)

    def observed(self, operation: Operation) -> dict[Lane, Outcomes]:
        """Return the outcomes of one operation on every lane that offers it and is believed.

        One row for each row of ``sheet.blocks[operation]``.
        """
        return {
            lane: answered.outcomes[operation]
            for lane, answered in self.answers.items()
            if answered.offers(operation)
        }

    def wanted(self, operation: Operation) -> Outcomes:
        """Return the expected outcomes, in the rows of ``sheet.blocks[operation]``."""
        return self.expected.outcomes[operation].take(self.sheet.blocks[operation])


def expectations(plan: Plan, store: Store, scratch: Path, watch: Watch) -> list[Evidence]:
    """Find what every tokenizer should give, and write its requests; nothing is answered yet."""
    watch.stage("oracle", len(plan.tokenizers))
    found = []
    for tokenizer in plan.tokenizers:
        oracle = OracleOnDemand(tokenizer)
        operations = plan.config.operations
        expected = expect(
            tokenizer,
            oracle,
            golden_path(plan.config, tokenizer),
            plan.corpora,
            operations,
            store,
        )
        sheet = write_sheet(tokenizer, plan.cases, expected.outcomes, operations, scratch)
        found.append(
            Evidence(tokenizer=tokenizer, oracle=oracle, expected=expected, sheet=sheet, answers={})
        )
        watch.step(f"oracle: {tokenizer.name}")
    return found


def answered(
    evidence: Sequence[Evidence], built: Built, asker: Asker, jobs: int, watch: Watch
) -> list[Evidence]:
    """Ask every tokenizer of every lane that was built, and add the answers to the evidence."""
    probes = [probe for probe in built.probes.values() if isinstance(probe, Probe)]
    pairs = [(one, probe) for one in evidence for probe in probes]
    # The longest first, so that no core waits at the end: emulated lanes, large tokenizers.
    pairs.sort(key=lambda pair: (pair[1].lane.native, -pair[0].tokenizer.path.stat().st_size))
    watch.stage("lanes", len(pairs))

    def ask(pair: tuple[Evidence, Probe], cancel: threading.Event) -> Answered:
        one, probe = pair
        result = asker.ask(one.sheet, probe, cancel)
        watch.step(f"{one.tokenizer.name} on {probe.lane.name}")
        return result

    results = together(ask, pairs, jobs)
    by_tokenizer: dict[str, dict[Lane, Answered]] = {one.tokenizer.name: {} for one in evidence}
    for (one, probe), result in zip(pairs, results, strict=True):
        by_tokenizer[one.tokenizer.name][probe.lane] = result
    return [
        replace(
            one,
            answers={
                lane: answer
                for lane in [*one.answers, *built.probes]
                for answer in [by_tokenizer[one.tokenizer.name].get(lane, one.answers.get(lane))]
                if answer is not None
            },
        )
        for one in evidence
    ]


def repeated(
    plan: Plan,
    evidence: Sequence[Evidence],
    probes: Mapping[Lane, Probe],
    asker: Asker,
    scratch: Path,
    watch: Watch,
) -> list[Evidence]:
    """Ask once more, in fresh processes, what differed anywhere.

    A lane that answers differently the second time is nondeterministic, and no other cause may be
    named for those cases.
    """
    found = []
    for one in evidence:
        rows = {op: _doubtful(one, op) for op in one.sheet.blocks}
        rows = {op: some for op, some in rows.items() if some.size}
        if not rows:
            found.append(one)
            continue
        sheet = _sheet_of(plan, one, rows, scratch)
        lanes = [lane for lane in one.answers if lane in probes and not one.answers[lane].invalid]
        watch.stage(f"asking again: {one.tokenizer.name}", len(lanes))

        def ask(lane: Lane, cancel: threading.Event, sheet: Sheet = sheet) -> Answered:
            result = asker.ask(sheet, probes[lane], cancel, again=True)
            watch.step(f"asking again: {lane.name}")
            return result

        again = dict(zip(lanes, together(ask, lanes, plan.config.jobs), strict=True))
        # Lanes that were asked again before, of a run that now adds lanes, keep their finding.
        found.append(_with_repeats(one, _unsteady(one, rows, again)))
    return found


def _sheet_of(plan: Plan, one: Evidence, rows: Mapping[Operation, Rows], scratch: Path) -> Sheet:
    """Write the requests at some ``rows`` of each operation's block, to be asked again."""
    return write_sheet(
        one.tokenizer,
        plan.cases,
        one.expected.outcomes,
        tuple(rows),
        scratch,
        rows={operation: one.sheet.blocks[operation][some] for operation, some in rows.items()},
    )


def steadied(
    plan: Plan,
    evidence: Sequence[Evidence],
    probe: Probe,
    asker: Asker,
    scratch: Path,
    watch: Watch,
) -> list[Evidence]:
    """Ask one lane everything once more, so that what agreed by chance is found out as well.

    Left out are crashes and hangs, which were confirmed when they happened.
    """
    watch.stage("asking everything again", len(evidence))
    found = []
    for one in evidence:
        first = one.answers.get(probe.lane)
        rows = {} if first is None or first.invalid is not None else _answered_rows(one, probe.lane)
        if rows:
            sheet = _sheet_of(plan, one, rows, scratch)
            again = asker.ask(sheet, probe, threading.Event(), again=True)
            one = _with_repeats(one, _unsteady(one, rows, {probe.lane: again}))  # noqa: PLW2901
        found.append(one)
        watch.step(f"asking everything again: {one.tokenizer.name}")
    return found


def _answered_rows(one: Evidence, lane: Lane) -> dict[Operation, Rows]:
    """Return the rows of each operation's block that the lane answered in any way."""
    rows = {
        operation: np.flatnonzero(
            ~np.isin(outcomes.status, (Status.CRASH, Status.TIMEOUT, Status.UNRESOLVED))
        )
        for operation in one.sheet.blocks
        for asked, outcomes in one.observed(operation).items()
        if asked == lane
    }
    return {operation: some for operation, some in rows.items() if some.size}


def _with_repeats(one: Evidence, unsteady: Mapping[str, Mapping[str, tuple[int, ...]]]) -> Evidence:
    """Return the evidence with further cases that a lane answered in two ways."""
    repeats = {operation: dict(lanes) for operation, lanes in one.repeats.items()}
    for operation, lanes in unsteady.items():
        known = repeats.setdefault(operation, {})
        for lane, rows in lanes.items():
            known[lane] = tuple(sorted({*known.get(lane, ()), *rows}))
    return replace(one, repeats=repeats)


def _doubtful(one: Evidence, operation: Operation) -> Rows:
    """Return the rows (of the operation's block) that differ between lanes or from the golden."""
    observed = list(one.observed(operation).values())
    if not observed:
        return np.empty(0, dtype=np.int64)
    wanted = one.wanted(operation)
    graded = wanted.status == Status.OK
    doubt = np.zeros(len(wanted), dtype=np.bool_)
    costly = np.zeros(len(wanted), dtype=np.bool_)
    for outcomes in observed:
        doubt |= differs(observed[0], outcomes)
        doubt |= differs(wanted, outcomes) & graded
        # Crashes were confirmed when they happened; a hang would cost its whole time again.
        costly |= np.isin(outcomes.status, (Status.CRASH, Status.TIMEOUT, Status.UNRESOLVED))
    rows = np.flatnonzero(doubt & ~costly)
    if rows.size > MOST_REPEATED:
        rows = rows[np.linspace(0, rows.size - 1, MOST_REPEATED).astype(np.int64)]
    return np.union1d(rows, _crashes_to_repeat(observed))


def _crashes_to_repeat(observed: Sequence[Outcomes]) -> Rows:
    """Return a few rows on which some lanes crashed and others answered.

    Whether it was the platform or chance is worth the time of starting the probe again.
    """
    crashed = np.asarray([one.status == Status.CRASH for one in observed])
    answered = np.asarray(
        [
            ~np.isin(one.status, (Status.CRASH, Status.TIMEOUT, Status.UNRESOLVED))
            for one in observed
        ]
    )
    return np.flatnonzero(
        (crashed | answered).all(axis=0) & crashed.any(axis=0) & ~crashed.all(axis=0)
    )[:MOST_CRASHES]


def _unsteady(
    one: Evidence, rows: Mapping[Operation, Rows], again: Mapping[Lane, Answered]
) -> dict[str, dict[str, tuple[int, ...]]]:
    unsteady: dict[str, dict[str, tuple[int, ...]]] = {}
    for operation, some in rows.items():
        first = one.observed(operation)
        for lane, answer in again.items():
            if lane not in first:
                continue
            if operation not in answer.outcomes:
                changed = some  # the second run as a whole cannot be believed
            else:
                changed = some[differs(first[lane].take(some), answer.outcomes[operation])]
            if changed.size:
                found = unsteady.setdefault(operation, {})
                found[lane.name] = tuple(int(row) for row in changed)
    return unsteady
