"""What is more than was declared: a cause elsewhere, with other values, or cases it leaves over."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from harness.diff import Mask, differs
from harness.hypotheses.trial import Examined
from harness.plural import counted
from harness.verdict.claims import UNEXPLAINED, Claim
from harness.verdict.deviation import AND, Deviation
from harness.verdict.question import Question

# Cases and lanes named in a sentence; the others are counted, and all are in the evidence.
_SHOWN = 5
# One way to read a claim: a cause it may be, and the cause's parameters.
Reading = tuple[str, Mapping[str, str]]


def readings(question: Question, claim: Claim) -> list[Reading]:
    """Return every cause that the claim may be, its own first, each with its parameters."""
    if claim.proof is None or question.attribution is None:
        return [(cause, {}) for cause in (claim.cause, *claim.aliases)]
    return [(one.hypothesis.name, parameters_of(one)) for one in question.attribution.causes]


def parameters_of(one: Examined) -> dict[str, str]:
    """Return what a hypothesis was tested with, as a declaration writes it."""
    return {key: str(value) for key, value in one.hypothesis.parameters}


def wider(question: Question, left: Claim, deviations: Sequence[Deviation]) -> Claim:
    """Return what no deviation covers, saying of which declaration it is more than was declared."""
    lanes = tuple(question.observed)
    where, why = left.where, _beyond(question, left, deviations)
    if left.cause == UNEXPLAINED:
        where, why = _not_foretold(question, left, deviations)
    if not why:
        return left
    cases = [question.cases[row] for row in np.flatnonzero(where.any(axis=0)).tolist()]
    shown = [lanes[row] for row in np.flatnonzero(where.any(axis=1)).tolist()]
    count = counted(len(cases), "case")
    words = f"wider than declared: {count}: {_listed(cases)}; {'; '.join(why)}"
    evidence = {
        **left.evidence,
        "wider_than_declared": {"cases": cases, "lanes": shown, "why": list(why)},
    }
    return replace(left, summary=f"{left.summary}; {words}", evidence=evidence)


def _beyond(question: Question, left: Claim, deviations: Sequence[Deviation]) -> list[str]:
    """Return in which respect a claim's cause is declared, and differently from what was found."""
    why = []
    for name, parameters in readings(question, left):
        parts = name.split(AND)
        near = [d for d in deviations if d.names(name) or d.cause in parts]
        for deviation in near:
            if deviation.agrees(parameters):
                why.append(
                    f"{deviation.label} is declared for {_listed(deviation.tokenizers)} on lanes "
                    f"{_listed(deviation.lanes)}"
                )
            else:
                found = ", ".join(f"{key} {value}" for key, value in parameters.items())
                why.append(f"{deviation.label} is declared, and found was {found or 'no value'}")
        if near and not any(one.names(name) for one in near):
            known = {one.cause for one in near}
            why += [f"{part} is not declared" for part in parts if part not in known]
    return list(dict.fromkeys(why))


def _not_foretold(
    question: Question, left: Claim, deviations: Sequence[Deviation]
) -> tuple[Mask, list[str]]:
    """Return which unexplained cases a declared hypothesis does not explain, and of how many.

    Only of hypotheses that explain some: of the others there is no trace, which is told elsewhere.
    """
    attribution, beyond = question.attribution, np.zeros_like(left.where)
    why: list[str] = []
    if attribution is None:
        return beyond, why
    for deviation in deviations:
        covers = [deviation.covers(question.tokenizer, lane) for lane in question.observed]
        covered = np.asarray(covers)[:, np.newaxis] & left.where
        for one in attribution.tested:
            fits = deviation.names(one.hypothesis.name) and deviation.agrees(parameters_of(one))
            if not fits or one.predicted is None or not covered.any():
                continue
            predicted = one.predicted
            same = np.asarray([~differs(predicted, seen) for seen in question.observed.values()])
            told, other = covered & same, covered & ~same
            if told.any() and other.any():
                beyond |= other
                why.append(
                    f"{deviation.label} explains {int(told.any(axis=0).sum())} of "
                    f"{int(covered.any(axis=0).sum())} and not these"
                )
    return beyond, list(dict.fromkeys(why))


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
