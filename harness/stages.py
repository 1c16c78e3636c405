"""The first stage whose output is not the oracle's: evidence that owes nothing to any hypothesis.

A subject may offer ``normalize`` and ``pretokenize``. Both answer of the whole text, and so does
the oracle here: neither takes added tokens out first, as encoding does. A text that contains one is
therefore left out, for what a stage makes of an added token that it never receives says nothing.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol

from harness.answers import Answer
from harness.ask import Asker
from harness.build import Probe
from harness.errors import InstrumentInvalid, LaneUnavailable
from harness.evidence import Evidence
from harness.hypotheses.hypothesis import STAGES
from harness.lane import Lane
from harness.outcomes import Status
from harness.plan import Plan
from harness.report.model import Finding, Report
from harness.requests import pieces

NORMALIZER, PRE_TOKENIZER, LATER = "normalizer", "pre-tokenizer", "later"
# In the order of the stages; `later` is the model or the post-processor.
FIRST_STAGES = (NORMALIZER, PRE_TOKENIZER, LATER)
MOST_CASES = 64
# A stage that dies or hangs costs a start or its whole time, each time.
_MOST_STOPS = 2
_OPERATIONS = ("normalize", "pretokenize")
# Where a cause of each stage may first show. None: anywhere, for an entry that changes the input
# may or may not be shared by the operations that show a stage.
_SHOWS: Mapping[str, frozenset[str] | None] = {
    "input": None,
    "added-tokens": frozenset({LATER}),
    "normalizer": frozenset({NORMALIZER}),
    "pre-tokenizer": frozenset({PRE_TOKENIZER}),
    "model": frozenset({LATER}),
    "post-processor": frozenset({LATER}),
}
# Pieces are spans of the normalized text, so a space put before them does not show.
_HIDDEN = frozenset({"prefix-space-flipped"})


class Staged(Protocol):
    """The oracle's stages, of one text."""

    def normalize(self, text: str) -> str:
        """Return the whole text after the normalizer."""

    def pretokenize(self, text: str) -> list[str]:
        """Return the pieces of the normalized text."""


@dataclass(frozen=True, kw_only=True)
class FirstStage:
    """Where the subject first leaves the oracle, counted over mismatching cases.

    ``stage``     one of :data:`FIRST_STAGES`, the one of most cases and of equals the earliest;
                  None where no case could be compared.
    ``cases``     the cases that it is first in, of ``of`` that were compared.
    ``agrees``    whether the named cause may first show there; None where no cause with a stage
                  was named, or where its stage foretells nothing.
    ``counts``    every stage that is first in some case, with the number of its cases.
    ``left_out``  cases that could not be compared, for most an added token in the text.
    ``lane``      the lane that was asked.
    """

    stage: str | None
    cases: int
    of: int
    agrees: bool | None
    counts: tuple[tuple[str, int], ...] = ()
    left_out: int = 0
    lane: str = ""

    def evidence(self) -> dict[str, Any]:
        """Return the value as a finding's evidence keeps it."""
        return {
            "stage": self.stage,
            "cases": self.cases,
            "of": self.of,
            "agrees": self.agrees,
            "counts": dict(self.counts),
            "left_out": self.left_out,
            "lane": self.lane,
        }


def compatible(first: str, cause: str | None, stages: Iterable[str]) -> bool | None:
    """Whether a cause that changes ``stages`` may first show in ``first``; None: it cannot tell.

    A cause that changes several stages may first show where any of them does.
    """
    allowed: set[str] = set()
    for stage in stages:
        shows = _SHOWS[stage]
        if shows is None:
            return None
        allowed |= shows
    if not allowed:
        return None
    if cause is not None and _HIDDEN & set(cause.split("+")):
        allowed.add(LATER)
    return first in allowed


def first_stage(
    ask: Callable[[str, bytes], Answer],
    oracle: Staged,
    added: Sequence[str],
    cases: Sequence[bytes],
    *,
    cause: str | None = None,
    stages: Iterable[str] = (),
    lane: str = "",
) -> FirstStage:
    """Return the first stage that differs, over at most :data:`MOST_CASES` of mismatching cases.

    ``ask`` puts one operation and text to the subject, ``added`` are the contents of the added
    tokens, ``stages`` those that the named cause changes. The shortest cases are asked.
    """
    shortest = sorted(dict.fromkeys(cases), key=lambda data: (len(data), data))
    counts: Counter[str] = Counter()
    left_out = stops = 0
    for data in shortest[:MOST_CASES]:
        if stops >= _MOST_STOPS:
            left_out += 1
            continue
        text = _text(data)
        if text is None or _contains(added, text, oracle):
            left_out += 1
            continue
        found, stopped = _differing(ask, oracle, data, text)
        stops += stopped
        if found is None:
            left_out += 1
        else:
            counts[found] += 1
    named = max(FIRST_STAGES, key=lambda stage: counts[stage]) if counts else None
    return FirstStage(
        stage=named,
        cases=counts[named] if named is not None else 0,
        of=counts.total(),
        agrees=None if named is None else compatible(named, cause, stages),
        counts=tuple((stage, counts[stage]) for stage in FIRST_STAGES if counts[stage]),
        left_out=left_out,
        lane=lane,
    )


def _text(data: bytes) -> str | None:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _contains(added: Sequence[str], text: str, oracle: Staged) -> bool:
    """Whether an added token stands in the text, or in what the normalizer makes of it."""
    normal = oracle.normalize(text)
    return any(token in text or token in normal for token in added if token)


def _differing(
    ask: Callable[[str, bytes], Answer], oracle: Staged, data: bytes, text: str
) -> tuple[str | None, bool]:
    """Return the first stage that differs in one case, None for unknown; and whether it stopped."""
    answer = ask("normalize", data)
    wanted = oracle.normalize(text).encode("utf-8", "surrogatepass")
    if answer.status == Status.UNSUPPORTED:
        return None, False
    if answer.status != Status.OK:
        return NORMALIZER, answer.status != Status.ERROR
    if bytes(answer.values.tolist()) != wanted:
        return NORMALIZER, False
    answer = ask("pretokenize", data)
    if answer.status == Status.UNSUPPORTED:
        return None, False
    if answer.status != Status.OK:
        return PRE_TOKENIZER, answer.status != Status.ERROR
    split = [one.encode("utf-8", "surrogatepass") for one in oracle.pretokenize(text)]
    # A piece that is empty has nothing to encode: one side may leave it out.
    same = [one for one in pieces(answer.values) if one] == [one for one in split if one]
    return (LATER if same else PRE_TOKENIZER), False


def with_first_stages(
    report: Report,
    plan: Plan,
    evidence: Sequence[Evidence],
    probes: Mapping[Lane, Probe],
    asker: Asker,
) -> Report:
    """Return the report with ``first_stage`` in the evidence of every finding that allows it.

    That is a finding of ids that differ, of a lane that offers both operations. The control lane is
    asked where the finding shows there, and otherwise the lane of its first case.
    """
    known = {one.tokenizer.name: one for one in evidence}
    by_name = {lane.name: probe for lane, probe in probes.items()}
    control = plan.lanes.control.name
    wanted: dict[tuple[str, str], list[Finding]] = {}
    for found in report.findings:
        first = found.first
        if first is None or found.absent or first.observed_status != "ok":
            continue
        if not {"encode", "encode_special"} & set(found.operations):
            continue
        lane = control if control in found.lanes else first.lane
        if lane in by_name and _offers(known[found.tokenizer], by_name[lane].lane):
            wanted.setdefault((found.tokenizer, lane), []).append(found)
    if not wanted:
        return report
    data = dict(zip(plan.case_ids, (case.data for case in plan.cases), strict=True))
    told: dict[int, Finding] = {}
    for (tokenizer, lane), findings in wanted.items():
        # A probe that does not come up again costs this evidence and nothing else of the report.
        with suppress(InstrumentInvalid, LaneUnavailable):
            asked = _asked(known[tokenizer], by_name[lane], asker, findings, data)
            for found, stage in zip(findings, asked, strict=True):
                more = {**found.evidence, "first_stage": stage.evidence()}
                told[id(found)] = replace(found, evidence=more)
    return replace(report, findings=tuple(told.get(id(one), one) for one in report.findings))


def _offers(one: Evidence, lane: Lane) -> bool:
    answered = one.answers.get(lane)
    if answered is None or answered.invalid is not None or answered.hello is None:
        return False
    return set(_OPERATIONS) <= set(answered.hello.operations)


def _asked(
    one: Evidence,
    probe: Probe,
    asker: Asker,
    findings: Sequence[Finding],
    data: Mapping[str, bytes],
) -> list[FirstStage]:
    oracle = one.oracle()
    added = [token["content"] for token in oracle.description.get("added_tokens") or ()]
    with asker.session(probe, one.tokenizer) as session:
        return [
            first_stage(
                session.ask,
                oracle,
                added,
                [data[case] for case in found.cases],
                cause=found.cause,
                stages=stages_of(found.evidence),
                lane=probe.lane.name,
            )
            for found in findings
        ]


def stages_of(evidence: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the stages that a finding's cause changes, as its evidence has them."""
    named = evidence.get("stages") or [evidence.get("stage")]
    return tuple(stage for stage in named if stage in STAGES)
