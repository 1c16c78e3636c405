"""Deviations an owner declares: excused where they are proven, a failure where they are gone."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

import numpy as np

from harness.diff import Mask
from harness.hypotheses.trial import Examined
from harness.isolate import AXES, axes_of_cause
from harness.report.model import Finding, ReportLane
from harness.verdict.claims import Claim, rename
from harness.verdict.deviation import (
    AND,
    DECLARABLE_NAMES,
    Deviation,
    declarable,
    declared_for,
    parameters_known,
)
from harness.verdict.question import Grade, Grades, Question
from harness.verdict.wider import Reading, parameters_of, readings, wider
from harness.verdict.witness import finding, gone

__all__ = [
    "DECLARABLE_NAMES",
    "Answer",
    "Deviation",
    "declarable",
    "declare",
    "declared_for",
    "hold_to_declarations",
    "parameters_known",
]


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
    """Turn claims into findings, those that deviations cover apart, and mark what is excused."""
    for claim in answer.claims:
        left = claim
        for (name, covering), lanes in _covered(answer, claim, deviations).items():
            where = claim.where & lanes[:, np.newaxis]
            if not where.any():
                continue
            named = claim if name == claim.cause else rename(claim, name)
            reasons = dict.fromkeys(one.reason for one in covering if one.reason)
            links = [one.link for one in covering if one.link is not None]
            answer.findings.append(
                finding(
                    answer.question,
                    replace(named, where=where),
                    control,
                    declared=True,
                    reason="; ".join(reasons),
                    link=links[0] if links else None,
                )
            )
            answer.graded[where & (answer.graded != Grade.UNSUPPORTED)] = Grade.XFAIL
            left = replace(left, where=left.where & ~where)
        if left.where.any():
            told = wider(answer.question, left, deviations)
            answer.findings.append(finding(answer.question, told, control))


def _covered(
    answer: Answer, claim: Claim, deviations: Sequence[Deviation]
) -> dict[tuple[str, tuple[Deviation, ...]], Mask]:
    """Return bool[lanes] for each (cause, deviations) that together cover the claim there.

    The first deviation that names the whole cause covers a lane; failing that, deviations that
    name its parts do, where each part has one.
    """
    known = readings(answer.question, claim)
    found: dict[tuple[str, tuple[Deviation, ...]], Mask] = {}
    for row, lane in enumerate(answer.lanes):
        here = [one for one in deviations if one.covers(answer.question.tokenizer, lane)]
        key = _covering(known, here)
        if key is not None:
            found.setdefault(key, np.zeros(len(answer.lanes), dtype=np.bool_))[row] = True
    return found


def _covering(
    known: Sequence[Reading], deviations: Sequence[Deviation]
) -> tuple[str, tuple[Deviation, ...]] | None:
    """Return the cause under which deviations cover a claim, and these deviations."""
    for deviation in deviations:
        for name, parameters in known:
            if deviation.names(name) and deviation.agrees(parameters):
                return name, (deviation,)
    for name, parameters in known:
        owners = [
            next((d for d in deviations if d.cause == part and d.agrees(parameters)), None)
            for part in name.split(AND)
        ]
        named = tuple(dict.fromkeys(one for one in owners if one is not None))
        if named and None not in owners:
            return name, named
    return None


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
        elif deviation.tested:
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
    name = f"declared deviation {deviation.label} with {question.tokenizer}"
    covered = np.asarray([deviation.covers(question.tokenizer, lane) for lane in answer.lanes])
    tested = [one for one in attribution.tested if deviation.names(one.hypothesis.name)]
    proof = _proof(answer, deviation)
    if proof is None or proof.changes is None:
        # With other values than those declared it was found, or would change what did not change.
        other = any(
            one.accepted or (one.changes is not None and bool(one.changes.any()))
            for one in tested
            if not deviation.agrees(parameters_of(one))
        )
        # Of changes declared together it takes one that would show, since they were not found.
        other |= len(deviation.parts) > 1 and any(
            one.hypothesis.name in deviation.parts
            and one.changes is not None
            and bool(one.changes.any())
            for one in attribution.tested
        )
        if deviation.cause in attribution.absent or other:
            answer.findings.append(
                gone(
                    question,
                    deviation.cause,
                    deviation.among(answer.lanes, question.tokenizer),
                    reason=deviation.reason,
                    link=deviation.link,
                )
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
                deviation.among(answer.lanes, question.tokenizer),
                reason=deviation.reason,
                link=deviation.link,
                where=where,
                proof=proof,
            )
        )
    return []


def _proof(answer: Answer, deviation: Deviation) -> Examined | None:
    """Return what says which cases the deviation changes: a proven cause it is part of, or itself.

    Where it is proven together with another change, what both make of a case is what counts.
    """
    attribution = answer.question.attribution
    if attribution is None:
        return None
    together = [
        one for one in attribution.causes if deviation.parts <= set(one.hypothesis.name.split(AND))
    ]
    alone = [one for one in attribution.tested if deviation.names(one.hypothesis.name)]
    return next(
        (
            one
            for one in (*together, *alone)
            if one.changes is not None and deviation.agrees(parameters_of(one))
        ),
        None,
    )


def _hold_other(
    concerned: Sequence[Answer], lanes: Sequence[ReportLane], deviation: Deviation
) -> list[str]:
    """Find a declared cause of which no finding of any tokenizer it names shows a trace."""
    stated = {axis for lane in lanes for axis in lane.axes}
    varying = {axis for axis in stated if len({lane.axes.get(axis, "") for lane in lanes}) > 1}
    axes = axes_of_cause(deviation.cause, {*AXES, *stated})
    if axes and not any(varying.issuperset(own) for own in axes):
        return [f"declared deviation {deviation.cause}: the lanes that ran do not differ in it"]
    for glob in deviation.tokenizers:
        own = [one for one in concerned if fnmatchcase(one.question.tokenizer, glob)]
        seen = {found.cause for one in own for found in one.findings if not found.absent}
        if own and deviation.cause not in seen:
            own[0].findings.append(
                gone(
                    own[0].question,
                    deviation.cause,
                    deviation.among(own[0].lanes, own[0].question.tokenizer),
                    reason=deviation.reason,
                    link=deviation.link,
                )
            )
    return []
