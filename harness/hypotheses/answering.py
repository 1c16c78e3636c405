"""What the oracle answers under a hypothesis: the pieces of a text, their ids laid end to end."""

from collections.abc import Callable, Sequence

import numpy as np

from harness.diff import Rows
from harness.hypotheses.hypothesis import Description, Hypothesis, unchanged
from harness.outcomes import Outcomes, Status, from_answers

# The oracle under a description: one outcome a text.
Encode = Callable[[Description, Sequence[str]], Outcomes]
# What becomes of bytes that need not be UTF-8.
Decode = Callable[[bytes], str]


def answers(
    data: Sequence[bytes],
    hypothesis: Hypothesis | None,
    description: Description,
    encode: Encode,
    decode: Decode,
) -> Outcomes:
    """Encode each text under the hypothesis: piece by piece, the pieces' ids laid end to end."""
    changed = description if hypothesis is None else hypothesis.describe(description)
    return answers_under(changed, data, hypothesis, encode, decode)


def answers_under(
    changed: Description,
    data: Sequence[bytes],
    hypothesis: Hypothesis | None,
    encode: Encode,
    decode: Decode,
) -> Outcomes:
    """Do the same with a description that is changed already."""
    if not data:
        return from_answers([])
    pieces = [(one,) if hypothesis is None else hypothesis.text(one) for one in data]
    found = encode(changed, [text_of(piece, decode) for own in pieces for piece in own])
    bounds = np.cumsum([0] + [len(own) for own in pieces])
    status = np.maximum.reduceat(found.status, bounds[:-1])
    joined = Outcomes(status, found.offsets[bounds], found.ids)
    if hypothesis is None or hypothesis.ids is unchanged:
        return joined
    return from_answers(
        [
            hypothesis.ids(joined.answer(row)) if one == Status.OK else Status(one)
            for row, one in enumerate(status.tolist())
        ]
    )


def text_of(data: bytes, decode: Decode) -> str:
    """Return the text; ``decode`` has a say only where the bytes are not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return decode(data)


def spliced(base: Outcomes, other: Outcomes, rows: Rows, *, dense: bool = False) -> Outcomes:
    """Return ``base`` with the cases at ``rows`` from ``other``.

    ``other`` holds as many cases as ``base``, or with ``dense`` exactly the cases at ``rows``.
    """
    source = np.arange(len(base), dtype=np.int64)
    source[rows] = len(base) + (np.arange(rows.shape[0]) if dense else rows)
    joined = Outcomes(
        np.concatenate([base.status, other.status]),
        np.concatenate([base.offsets, base.offsets[-1] + other.offsets[1:]]),
        np.concatenate([base.ids, other.ids]),
    )
    return joined.take(source)
