"""From what was observed of one tokenizer and operation to claims, each with its cause and proof.

Every (lane, case) that is not as it should be ends up in exactly one claim: first what the platform
induces, then what a proven hypothesis explains, then what speaks for itself (a crash, a hang, a
refusal, an error, no answer), and the rest is *unexplained*.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from harness.attribute import Attribution
from harness.diff import Mask, differs
from harness.hypotheses.hypothesis import STAGES
from harness.hypotheses.trial import Examined
from harness.isolate import NONDETERMINISM, Separation, cause_of
from harness.outcomes import Status
from harness.verdict.question import Grade, Grades, Question

UNEXPLAINED = "unexplained"
CRASH, HANG, UNSUPPORTED, UNRESOLVED, ERROR_ANSWER = (
    "crash",
    "hang",
    "unsupported",
    "unresolved",
    "error-answer",
)
# Causes that a status says by itself, in the order in which they are claimed.
_SPEAKING = {
    CRASH: (Status.CRASH, "the probe died while it answered"),
    HANG: (Status.TIMEOUT, "no answer came within the case's time"),
    UNSUPPORTED: (Status.UNSUPPORTED, "the subject refuses the tokenizer or the operation"),
    UNRESOLVED: (Status.UNRESOLVED, "the case was never answered, or not in a way to be believed"),
    ERROR_ANSWER: (Status.ERROR, "the subject answered with an error where the oracle has ids"),
}
SPEAKING_CAUSES = tuple(_SPEAKING)


@dataclass(frozen=True, kw_only=True, eq=False)
class Claim:
    """A cause, and bool[lanes, n] ``where`` it shows. ``aliases`` are causes it may equally be."""

    cause: str
    summary: str
    where: Mask
    axes: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    evidence: Mapping[str, Any] = field(default_factory=dict)
    proof: Examined | None = None


def claims(question: Question, graded: Grades) -> list[Claim]:
    """Return what is claimed of one question, given its :func:`grades`."""
    left = (graded != Grade.PASS) & (graded != Grade.UNGRADED)
    explained = _explained(question, graded)
    found: list[Claim] = []
    for separation in question.separations:
        where = np.zeros_like(left)
        where[:, separation.cases] = left[:, separation.cases]
        where &= graded != Grade.UNRESOLVED
        # What a proven hypothesis explains is no fault of the platform, unless nothing else is.
        beyond = where & ~explained
        where = np.where(beyond.any(axis=0), beyond, where)
        if where.any():
            found.append(_platform(question, separation, where))
            left &= ~where
    if (left & explained).any() and question.attribution is not None:
        found.append(_attributed(question, question.attribution, left & explained))
        left &= ~explained
    for cause, (status, summary) in _SPEAKING.items():
        says = np.asarray([one.status == status for one in question.observed.values()])
        if (left & says).any():
            found.append(_speaking(question, cause, summary, left & says))
            left &= ~says
    if left.any():
        found.append(_unexplained(question, left))
    return settle_nondeterminism(found)


def settle_nondeterminism(found: Sequence[Claim], *, known: bool = False) -> list[Claim]:
    """Fold into nondeterminism what cannot be believed beside it.

    While one lane gives two answers, a difference between lanes and a mismatch that no hypothesis
    explains may both be chance. ``known`` says that another operation of the same tokenizer showed
    the nondeterminism.
    """
    proven = [one for one in found if one.cause == NONDETERMINISM]
    if not proven and not known:
        return list(found)
    chance = [one for one in found if one.axes or one.cause == UNEXPLAINED]
    kept = [one for one in found if one not in chance and one not in proven]
    if not proven and not chance:
        return kept
    where = np.logical_or.reduce([one.where for one in [*proven, *chance]])
    evidence = dict(proven[0].evidence) if proven else {"contradicted": 0}
    return [
        Claim(cause=NONDETERMINISM, summary=_RANDOM, where=where, evidence=evidence),
        *kept,
    ]


_RANDOM = "the same lane, or two lanes equal on every axis, gave two answers to one case"


def _explained(question: Question, graded: Grades) -> Mask:
    """Return bool[lanes, n]: failures that the first proven hypothesis foretells id for id."""
    attribution = question.attribution
    proof = attribution.causes[0] if attribution is not None and attribution.causes else None
    if proof is None or proof.predicted is None or proof.changes is None:
        return np.zeros(graded.shape, dtype=np.bool_)
    predicted, changes = proof.predicted, proof.changes
    same = np.asarray([~differs(predicted, one) for one in question.observed.values()])
    return np.asarray(same & changes & (graded == Grade.FAIL), dtype=np.bool_)


def _platform(question: Question, separation: Separation, where: Mask) -> Claim:
    if separation.cause == NONDETERMINISM:
        evidence: dict[str, Any] = {
            "contradicted": separation.contradicted,
            "repeated_on": sorted(lane for lane, cases in question.repeats.items() if len(cases)),
        }
        return Claim(cause=NONDETERMINISM, summary=_RANDOM, where=where, evidence=evidence)
    axes = separation.axes
    case = int(np.flatnonzero(where.any(axis=0))[0])
    evidence = {
        "groups": [list(group) for group in separation.partition],
        "outcomes": {
            lane: Status(one.status[case]).name.lower() for lane, one in question.observed.items()
        },
    }
    if separation.confounded:
        evidence["confounded"] = list(separation.confounded)
        evidence["separating_lanes"] = list(separation.separating)
        evidence["inseparable"] = list(separation.inseparable)
    named = " and ".join(axes)
    return Claim(
        cause=separation.cause,
        summary=f"lanes differ, and the outcome is a function of {named}",
        where=where,
        axes=axes,
        aliases=tuple(cause_of((axis,)) for axis in separation.confounded if len(axes) == 1),
        evidence=evidence,
    )


def _attributed(question: Question, attribution: Attribution, where: Mask) -> Claim:
    proof, *ties = attribution.causes
    evidence: dict[str, Any] = {
        "hypothesis": proof.hypothesis.label,
        "stage": proof.hypothesis.stage,
        "stages": sorted(proof.hypothesis.stages, key=STAGES.index),
        "parameters": dict(proof.hypothesis.parameters),
        "judged": int(attribution.judged.shape[0]),
        "mismatching": int(attribution.mismatching.shape[0]),
        "explained": proof.explained,
        "would_break": proof.would_break,
    }
    if proof.sets_equal is not None:
        evidence["normalized_form_differs"] = proof.normalized_differs
        evidence["sets_equal"] = proof.sets_equal
    if proof.needed:
        evidence["needed"] = dict(
            zip((part.name for part in proof.hypothesis.parts), proof.needed, strict=True)
        )
    if proof.thin:
        evidence["thin"] = True
    # One change under several byte policies is told once.
    labels = dict.fromkeys(one.hypothesis.label for one in ties)
    if others := [label for label in labels if label != proof.hypothesis.label]:
        evidence["ties"] = others
    evidence["tried"] = tried(attribution)
    evidence["refuted"] = refuted(question, attribution)
    return Claim(
        cause=proof.hypothesis.name,
        summary=proof.hypothesis.summary,
        where=where,
        aliases=tuple(dict.fromkeys(one.hypothesis.name for one in ties)),
        evidence=evidence,
        proof=proof,
    )


def _speaking(question: Question, cause: str, summary: str, where: Mask) -> Claim:
    notes: dict[str, int] = {}
    for row, one in zip(where, question.observed.values(), strict=True):
        for case in np.flatnonzero(row).tolist():
            if case in one.notes:
                notes[one.notes[case]] = notes.get(one.notes[case], 0) + 1
    commonest = sorted(notes.items(), key=lambda item: -item[1])[:5]
    evidence = {"words": dict(commonest)} if notes else {}
    return Claim(cause=cause, summary=summary, where=where, evidence=evidence)


def _unexplained(question: Question, where: Mask) -> Claim:
    attribution = question.attribution
    evidence: dict[str, Any] = {}
    if attribution is None:
        summary = f"no hypothesis speaks of {question.operation}"
    else:
        summary = "no hypothesis reproduces the observed ids on every case"
        evidence["judged"] = int(attribution.judged.shape[0])
        evidence["mismatching"] = int(attribution.mismatching.shape[0])
        evidence["tried"] = tried(attribution)
        evidence["refuted"] = refuted(question, attribution)
    return Claim(cause=UNEXPLAINED, summary=summary, where=where, evidence=evidence)


def tried(attribution: Attribution) -> dict[str, int]:
    """Return how many hypotheses of each size were put to the oracle."""
    sizes = zip(("single", "pair", "triple"), attribution.asked, strict=False)
    return {size: count for size, count in sizes if count}


def refuted(question: Question, attribution: Attribution) -> list[dict[str, Any]]:
    """Return every refuted hypothesis with how closely it came and the case that refutes it."""
    return [
        {
            "hypothesis": one.hypothesis.label,
            "explained": one.explained,
            "of": one.tried,
            "would_break": one.would_break,
            "refuted_by": None if one.refuted_by is None else question.cases[one.refuted_by],
            "sets_equal": one.sets_equal,
            "note": one.note,
        }
        for one in sorted(attribution.tested, key=lambda one: -one.explained)
        if not one.accepted
    ]


def rename(claim: Claim, cause: str) -> Claim:
    """Return the claim under one of its aliases, which the evidence cannot tell from its cause."""
    evidence = {**claim.evidence, "declared_as": cause, "named_otherwise": claim.cause}
    return replace(claim, cause=cause, evidence=evidence)
