"""A claim as a finding of the report: its lanes and cases, and the first case as its witness."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from harness.diff import Mask, first_difference
from harness.hypotheses.trial import Examined
from harness.outcomes import Outcomes, Status
from harness.report.model import Finding, First
from harness.report.words import token
from harness.verdict.claims import Claim
from harness.verdict.question import Question

# As much of a case's bytes as a person reads; the whole case is one command away.
_INPUT = 96


def finding(
    question: Question,
    claim: Claim,
    control: str | None,
    *,
    declared: bool = False,
    reason: str | None = None,
    link: str | None = None,
) -> Finding:
    """Return the finding of a claim that shows on at least one lane and case."""
    names = tuple(question.observed)
    lanes = tuple(names[row] for row in np.flatnonzero(claim.where.any(axis=1)))
    cases = np.flatnonzero(claim.where.any(axis=0))
    case = int(cases[0])
    lane = names[int(np.argmax(claim.where[:, case]))]
    expected, source = question.expected, "golden"
    if expected.status[case] != Status.OK:
        expected, source = question.reference(control), question.reference_lane(control)
    first = _first(question, case, lane, expected, source)
    return Finding(
        id=identity(question, claim.cause, lanes),
        tokenizer=question.tokenizer,
        operations=(question.operation,),
        lanes=lanes,
        cases=tuple(question.cases[row] for row in cases.tolist()),
        axes=claim.axes,
        cause=claim.cause,
        declared=declared,
        summary=claim.summary,
        reason=reason,
        link=link,
        evidence={**claim.evidence, **_witness(question, case, first)},
        first=first,
    )


def gone(
    question: Question,
    cause: str,
    lanes: Sequence[str],
    *,
    reason: str,
    link: str | None = None,
    where: Mask | None = None,
    proof: Examined | None = None,
) -> Finding:
    """Return the finding that a declared deviation has left no trace.

    ``where`` is bool[lanes, n], the cases that ``proof`` would change and that came out as the
    oracle has them; without it nothing at all shows the deviation.
    """
    first = None
    cases: tuple[str, ...] = ()
    evidence: dict[str, Any] = {}
    if where is not None and proof is not None and proof.predicted is not None:
        rows = np.flatnonzero(where.any(axis=0))
        names = tuple(question.observed)
        lanes = [names[row] for row in np.flatnonzero(where.any(axis=1))]
        cases = tuple(question.cases[row] for row in rows.tolist())
        case = int(rows[0])
        lane = names[int(np.argmax(where[:, case]))]
        first = _first(question, case, lane, proof.predicted, "declared deviation")
        evidence = {
            "would_change": int(proof.changes.sum()) if proof.changes is not None else 0,
            "unchanged": len(cases),
            **_witness(question, case, first),
        }
    return Finding(
        id=identity(question, f"gone {cause}", lanes),
        tokenizer=question.tokenizer,
        operations=(question.operation,),
        lanes=tuple(lanes),
        cases=cases,
        axes=(),
        cause=cause,
        declared=True,
        absent=True,
        summary="declared, but gone: remove the declaration",
        reason=reason,
        link=link,
        evidence=evidence,
        first=first,
    )


def identity(question: Question, cause: str, lanes: Sequence[str]) -> str:
    """Return eight hex digits that stay the same from run to run for the same finding."""
    words = [question.tokenizer, question.operation, cause, *sorted(lanes)]
    return hashlib.sha256("\0".join(words).encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _first(question: Question, case: int, lane: str, expected: Outcomes, source: str) -> First:
    observed = question.observed[lane]
    difference = first_difference(expected, observed, case)
    return First(
        case=question.cases[case],
        index=0 if difference is None else difference.index,
        expected=tuple(expected.answer(case).tolist()),
        observed=tuple(observed.answer(case).tolist()),
        lane=lane,
        operation=question.operation,
        observed_status=Status(observed.status[case]).name.lower(),
        expected_from=source,
    )


def _witness(question: Question, case: int, first: First) -> Mapping[str, Any]:
    """Return the case's bytes, and the tokens at which the answers part, as evidence."""
    data = question.data[case]
    found: dict[str, Any] = {
        "input": {"bytes": len(data), "hex": data[:_INPUT].hex()},
    }
    note = question.observed[first.lane].notes.get(case)
    if note:
        found["note"] = note
    if question.operation != "decode" and question.token_text is not None:
        found["tokens"] = {
            side: token(
                ids[first.index],
                question.token_text(ids[first.index]),
                byte_level=question.byte_level,
            )
            for side, ids in (("expected", first.expected), ("observed", first.observed))
            if first.index < len(ids)
        }
    return found
