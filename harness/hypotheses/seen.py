"""What was observed of one tokenizer under one operation, for hypotheses to infer from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from harness.diff import Mask, Rows, differs
from harness.hypotheses.hypothesis import Description
from harness.outcomes import Ids, Outcomes

# The text of a sequence of ids, as bytes: what the oracle decodes, special tokens included.
DecodeIds = Callable[[Ids], bytes]


@dataclass(frozen=True, eq=False)
class Seen:
    """The n cases, what the oracle gives and what the subject gave.

    ``judged`` bool[n] says on which of them a hypothesis is held against what was observed.
    ``decode`` turns ids into the text they stand for, where that can be had.
    """

    description: Description
    cases: Sequence[bytes]
    expected: Outcomes
    observed: Outcomes
    judged: Mask
    decode: DecodeIds | None = None

    def only(self, rows: Rows) -> "Seen":
        """Return what was observed of the cases at ``rows`` alone."""
        return replace(
            self,
            cases=[self.cases[row] for row in rows.tolist()],
            expected=self.expected.take(rows),
            observed=self.observed.take(rows),
            judged=self.judged[rows],
        )

    @cached_property
    def mismatching(self) -> Rows:
        """The judged cases whose observed ids are not the expected ones, int64[m], ascending."""
        return np.flatnonzero(self.judged & differs(self.expected, self.observed))

    @cached_property
    def agreeing(self) -> Rows:
        """The other judged cases, int64[j - m], ascending."""
        return np.flatnonzero(self.judged & ~differs(self.expected, self.observed))
