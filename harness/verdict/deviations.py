"""Deviations an owner declares: excused where they are proven, a failure where they are gone."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

import numpy as np

from harness.hypotheses import NAMES
from harness.isolate import PLATFORM_CAUSES, PLATFORM_PREFIX, axes_of_cause
from harness.report.model import Finding, ReportLane
from harness.verdict.claims import SPEAKING_CAUSES, UNRESOLVED, Claim, rename
from harness.verdict.question import Grade, Grades, Question
from harness.verdict.witness import finding, gone

# What an owner may declare. Nobody can promise nondeterminism, nor declare the unexplained.
DECLARABLE_NAMES: tuple[str, ...] = (
    *NAMES,
    *PLATFORM_CAUSES,
    *(cause for cause in SPEAKING_CAUSES if cause != UNRESOLVED),
)


def declarable(cause: str) -> bool:
    """Whether a deviation may name ``cause``: one of the fixed names or any ``platform-…``."""
    return cause in DECLARABLE_NAMES or cause.startswith(PLATFORM_PREFIX)


@dataclass(frozen=True, kw_only=True)
class Deviation:
    """A divergence the subject's owner declares: its cause, and where it may appear, as globs."""

    cause: str
    tokenizers: tuple[str, ...] = ("*",)
    lanes: tuple[str, ...] = ("*",)
    reason: str = ""
    link: str | None = None

    def covers(self, tokenizer: str, lane: str | None = None) -> bool:
        """Whether the deviation may appear with this tokenizer, and on this lane if given."""
        return any(fnmatchcase(tokenizer, glob) for glob in self.tokenizers) and (
            lane is None or any(fnmatchcase(lane, glob) for glob in self.lanes)
        )

    def among(self, answer: "Answer") -> tuple[str, ...]:
        """Return the lanes of an answer that the deviation speaks of."""
        tokenizer = answer.question.tokenizer
        return tuple(lane for lane in answer.lanes if self.covers(tokenizer, lane))


def declared_for(deviations: Sequence[Deviation], tokenizer: str) -> tuple[str, ...]:
    """Return the hypotheses declared for this tokenizer, for ``attribute`` to test in full."""
    names = [one.cause for one in deviations if one.covers(tokenizer) and one.cause in NAMES]
    return tuple(dict.fromkeys(names))


@dataclass(eq=False)
class Answer:
    """A question on its way to a verdict: its grades change as deviations are considered."""

    question: Question
    graded: Grades
    claims: list[Claim]
    findings: list[Finding] = field(default_factory=list)

    @property
    def lanes(self) -> tuple[str, ...]:
        """The lanes that were asked, as the rows of ``graded``."""
        return tuple(self.question.observed)


def declare(answer: Answer, deviations: Sequence[Deviation], control: str | None) -> None:
    """Turn claims into findings, those that a deviation covers apart, and mark what it excuses."""
    for claim in answer.claims:
        left = claim
        for deviation in deviations:
            if deviation.cause not in (claim.cause, *claim.aliases):
                continue
            covered = np.asarray(
                [deviation.covers(answer.question.tokenizer, lane) for lane in answer.lanes]
            )
            where = left.where & covered[:, np.newaxis]
            if not where.any():
                continue
            named = claim if deviation.cause == claim.cause else rename(claim, deviation.cause)
            answer.findings.append(
                finding(
                    answer.question,
                    replace(named, where=where),
                    control,
                    declared=True,
                    reason=deviation.reason,
                    link=deviation.link,
                )
            )
            answer.graded[where & (answer.graded != Grade.UNSUPPORTED)] = Grade.XFAIL
            left = replace(left, where=left.where & ~where)
        if left.where.any():
            answer.findings.append(finding(answer.question, left, control))


def hold_to_declarations(
    answers: Sequence[Answer], lanes: Sequence[ReportLane], deviations: Sequence[Deviation]
) -> list[str]:
    """Find what was declared and is gone; return sentences on what could not be tested here."""
    said: list[str] = []
    for deviation in deviations:
        concerned = [
            one
            for one in answers
            if any(deviation.covers(one.question.tokenizer, lane) for lane in one.lanes)
        ]
        if not concerned:
            said.append(f"declared deviation {deviation.cause}: nothing it speaks of was run")
        elif deviation.cause in NAMES:
            for one in concerned:
                said += _hold_hypothesis(one, deviation)
        else:
            said += _hold_other(concerned, lanes, deviation)
    return list(dict.fromkeys(said))


def _hold_hypothesis(answer: Answer, deviation: Deviation) -> list[str]:
    """Find cases that the declared hypothesis would change and that came out as the oracle's."""
    question, attribution = answer.question, answer.question.attribution
    if attribution is None:
        return []
    name = f"declared deviation {deviation.cause} with {question.tokenizer}"
    covered = np.asarray([deviation.covers(question.tokenizer, lane) for lane in answer.lanes])
    tested = [one for one in attribution.tested if one.hypothesis.name == deviation.cause]
    proof = next((one for one in tested if one.changes is not None), None)
    if proof is None or proof.changes is None:
        if deviation.cause in attribution.absent:
            answer.findings.append(
                gone(question, deviation.cause, deviation.among(answer), reason=deviation.reason)
            )
            return []
        notes = [f": the oracle refuses it ({one.note})" for one in tested if one.note]
        return [f"{name}: cannot be tested{''.join(notes[:1])}"]
    if not proof.changes.any():
        return [f"{name}: no case of this run could show it"]
    where = (answer.graded == Grade.PASS) & covered[:, np.newaxis] & proof.changes
    if where.any():
        answer.graded[where] = Grade.XPASS
        answer.findings.append(
            gone(
                question,
                deviation.cause,
                deviation.among(answer),
                reason=deviation.reason,
                where=where,
                proof=proof,
            )
        )
    return []


def _hold_other(
    concerned: Sequence[Answer], lanes: Sequence[ReportLane], deviation: Deviation
) -> list[str]:
    """Find a declared cause of which no finding of any tokenizer it names shows a trace."""
    axes = axes_of_cause(deviation.cause)
    values = {tuple(lane.axes.get(axis, "") for axis in own) for own in axes for lane in lanes}
    if axes and len(values) <= len(axes):
        return [f"declared deviation {deviation.cause}: the lanes that ran do not differ in it"]
    for glob in deviation.tokenizers:
        own = [one for one in concerned if fnmatchcase(one.question.tokenizer, glob)]
        seen = {found.cause for one in own for found in one.findings if not found.absent}
        if own and deviation.cause not in seen:
            own[0].findings.append(
                gone(
                    own[0].question,
                    deviation.cause,
                    deviation.among(own[0]),
                    reason=deviation.reason,
                )
            )
    return []
