"""Causes by counts alone: every count, and no other change that gives the same ones.

A constant difference proves nothing, for many changes make it; few prompts prove nothing either.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from harness.errors import TokparityError
from harness.hypotheses import Hypothesis, Seen, proposed
from harness.hypotheses.answering import answers
from harness.hypotheses.input import POLICIES, RECOMMENDED
from harness.judgement import encoder
from harness.oracle import Oracle
from harness.outcomes import Status
from harness.served.live import served_changes
from harness.served.live.facts import Facts
from harness.served.live.finding import Cause, Causes
from harness.served.live.served_changes import Candidate
from harness.served.live.tried import Tried

# Prompts that are other than ours, below which counts prove nothing.
_FEW = 3
_NAMED = 8

# Rows → the tokens of each under a change; None where it cannot be tested.
Predict = Callable[[Sequence[int]], list[int | None] | None]


def count_of(one: Facts) -> int | None:
    """Return the server's count of a prompt: what was processed, else the usage."""
    return one.usage if one.processed_count is None else one.processed_count


def by_counts(tried: Tried) -> Causes:
    """Name the one change that gives the server's count of every prompt, if there is but one."""
    counts = [count_of(one) for one in tried.sides]
    due = [one.client for one in tried.sides]
    off = [row for row, count in enumerate(counts) if count != due[row]]
    size = (len(counts), len(off))
    apart = {(count or 0) - (own or 0) for count, own in zip(counts, due, strict=True)}
    if len(apart) == 1:
        words = f"every count is off by {apart.pop():+,}: a constant proves no cause"
        return Causes((), *size, by="counts", note=words)
    if len(off) < _FEW:
        words = f"{len(off)} prompts with another count are too few to prove a cause by counts"
        return Causes((), *size, by="counts", note=words)
    first = tried.shortest(off)
    everything = range(len(counts))
    fits = [
        cause
        for cause, predict in _predictions(tried)
        if all(predict(rows) == [counts[row] for row in rows] for rows in (first, everything))
    ]
    if len(fits) == 1:
        return Causes(tuple(fits), *size, by="counts")
    note = None
    if fits:
        named = ", ".join(one.label for one in fits[:_NAMED])
        note = f"{named} give every count: these prompts cannot tell them apart, so none is named"
    return Causes((), *size, by="counts", note=note)


def _predictions(tried: Tried) -> Iterator[tuple[Cause, Predict]]:
    for candidate in served_changes.candidates(tried.aids):
        cause = Cause(candidate.name, candidate.name, candidate.summary)
        yield cause, _of_candidate(tried, candidate)
    # Nothing is known of the ids, so no parameter can be inferred from them.
    judged = np.ones(len(tried.sides), dtype=np.bool_)
    seen = Seen(tried.description, tried.cases, tried.expected, tried.expected, judged)
    for one in (*served_changes.proposed(seen, tried.aids), *proposed(seen)):
        yield Cause(one.name, one.label, one.summary), _of_hypothesis(tried, one)


def _of_candidate(tried: Tried, candidate: Candidate) -> Predict:
    def predict(rows: Sequence[int]) -> list[int | None] | None:
        pieces = tried.pieces(candidate, rows)
        return None if pieces is None else [len(ids) for ids in tried.answer(pieces, rows)]

    return predict


def _of_hypothesis(tried: Tried, hypothesis: Hypothesis) -> Predict:
    def oracle() -> Oracle:
        return tried.oracle

    def predict(rows: Sequence[int]) -> list[int | None] | None:
        data = [tried.cases[row] for row in rows]
        decode = POLICIES[RECOMMENDED]
        try:
            found = answers(data, hypothesis, tried.description, encoder(oracle), decode)
        except TokparityError:
            return None
        return [
            length if status == Status.OK else None
            for length, status in zip(found.lengths.tolist(), found.status.tolist(), strict=True)
        ]

    return predict
