"""Observations to hand to hypotheses: the cases at ``mismatching`` came out differently."""

from collections.abc import Sequence

import numpy as np

from harness.hypotheses import Description, Seen
from harness.outcomes import from_answers


def seen(description: Description, cases: Sequence[bytes], mismatching: Sequence[int]) -> Seen:
    expected = from_answers([[1]] * len(cases))
    observed = from_answers([[2] if row in mismatching else [1] for row in range(len(cases))])
    return Seen(description, cases, expected, observed, np.ones(len(cases), dtype=np.bool_))
