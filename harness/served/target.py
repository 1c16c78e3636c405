"""The frozen corpus that a benchmark is held against: a length for every request. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

Boundary = Literal["raw", "rendered"]
# How the target came about: a number on the command line or in a prompt file's `_meta`, or the
# prompts' own counts, made here with the tokenizer.
Method = Literal["given", "client_tokenizer"]


@dataclass(frozen=True)
class Band:
    """Lengths from ``low`` to ``high``, both included, on one side of the chat template.

    ``ends`` says that it was given by its two ends, and is to be shown so.
    """

    low: int
    high: int
    boundary: Boundary
    ends: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        """Return the band in words: ``512 ± 8 raw``, ``500 to 520 raw``."""
        if self.low != self.high and (self.ends or (self.high - self.low) % 2):
            return f"{self.low:,} to {self.high:,} {self.boundary}"
        middle, half = (self.low + self.high) // 2, (self.high - self.low) // 2
        return f"{middle:,} ± {half:,} {self.boundary}" if half else f"{middle:,} {self.boundary}"


@dataclass(frozen=True)
class Target:
    """What every request's length should be, in tokens.

    ``each`` is one length for all, ``counts`` one a prompt in the prompts' order; one of the two is
    there. ``boundary`` is the side of the chat template that they were counted on.
    """

    each: int | None
    counts: tuple[int, ...] | None
    tolerance: int
    boundary: Boundary
    method: Method

    def of(self, row: int) -> int | None:
        """Return the length that request ``row`` should have, None where there is no such prompt.

        >>> Target(512, None, 0, "raw", "given").of(7)
        512
        """
        if self.counts is None:
            return self.each
        return self.counts[row] if row < len(self.counts) else None

    def total(self, rows: Sequence[int]) -> int | None:
        """Return what the lengths of these requests should sum to, None if one has no prompt."""
        if self.each is not None:
            return self.each * len(rows)
        if self.counts is None or len(rows) > len(self.counts):
            return None
        found = [self.of(row) for row in rows]
        known = [one for one in found if one is not None]
        return sum(known) if len(known) == len(found) else None
