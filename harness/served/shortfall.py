"""Which requests are not of the length they should be, by how much, and what they have in common.

Pure. A length that is not known is no shortfall of any size; it is counted apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.served.benchfiles import Run
from harness.served.target import Target


@dataclass(frozen=True)
class Off:
    """One request off its length; ``missing`` is negative where it is longer than it should be."""

    row: int
    length: int
    target: int
    traits: tuple[str, ...] = ()

    @property
    def missing(self) -> int:
        """The tokens that are missing."""
        return self.target - self.length


@dataclass(frozen=True)
class Common:
    """A trait of requests that are off: how many of them have it, and how many of the others."""

    trait: str
    off: int
    others: int


@dataclass(frozen=True)
class Shortfall:
    """A run against its target.

    ``missing`` is the sum over all completed requests whose length is known, those within the
    tolerance included; None where not even a total is known. ``unknown`` requests have no length.
    ``constant`` is the one difference that every request has, None where they differ.
    """

    off: tuple[Off, ...]
    missing: int | None
    unknown: int
    constant: int | None
    reordered: bool
    common: tuple[Common, ...] = ()

    @property
    def at_least(self) -> bool:
        """Whether ``missing`` leaves out requests of unknown length."""
        return self.unknown > 0


def shortfall(
    run: Run, target: Target, traits: Sequence[frozenset[str]] | None = None
) -> Shortfall:
    """Return what the run lacks of the target; ``traits`` are the prompts', in their order."""
    if run.requests is None:
        return _of_totals(run, target)
    known = [(row, one.input_tokens) for row, one in run.completed if one.input_tokens is not None]
    unknown = len(run.completed) - len(known)
    pairs = [(row, length, due) for row, length in known if (due := target.of(row)) is not None]
    if _reordered(pairs):
        return Shortfall((), 0, unknown, None, True)
    off = tuple(
        Off(row, length, due, tuple(sorted(traits[row])) if traits and row < len(traits) else ())
        for row, length, due in pairs
        if abs(due - length) > target.tolerance
    )
    differences = {due - length for _, length, due in pairs}
    return Shortfall(
        off=off,
        missing=sum(due - length for _, length, due in pairs) if pairs else None,
        unknown=unknown,
        constant=-differences.pop() if len(differences) == 1 and off else None,
        reordered=False,
        common=_common(off, [row for row, _, _ in pairs], traits) if traits else (),
    )


def _of_totals(run: Run, target: Target) -> Shortfall:
    size, total = run.claimed.completed, run.input_tokens
    due = None if size is None else target.total(range(size))
    missing = None if total is None or due is None else due - total
    return Shortfall((), missing, size or 0, None, False)


def _reordered(pairs: Sequence[tuple[int, int, int]]) -> bool:
    lengths, dues = [length for _, length, _ in pairs], [due for _, _, due in pairs]
    return lengths != dues and sorted(lengths) == sorted(dues)


def _common(
    off: Sequence[Off], rows: Sequence[int], traits: Sequence[frozenset[str]]
) -> tuple[Common, ...]:
    apart = {one.row for one in off}
    others = [row for row in rows if row not in apart and row < len(traits)]
    names = {trait for one in off for trait in one.traits}
    found = [
        Common(
            name,
            sum(name in one.traits for one in off),
            sum(name in traits[row] for row in others),
        )
        for name in names
    ]
    # What the others have as often tells nothing of why these are off.
    telling = [
        one
        for one in found
        if not others or not off or one.off / len(off) > one.others / len(others)
    ]
    return tuple(sorted(telling, key=lambda one: (-one.off, one.others, one.trait)))
