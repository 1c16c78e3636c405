"""A smaller text that is still interesting: which candidates to ask about, and when to stop.

Units (characters, or single bytes where the text is not UTF-8) are only ever taken away, never
replaced, so what is left stood in the text in this order. Three steps, each asking about several
candidates at a time:

1. bisection for the shortest start, then the shortest end of that start, that is interesting;
2. stretches of half the length, a quarter, … , single units left out, all that can go at once;
3. single units again until none can go: the result is then *minimal*.

Whether a text is interesting is the caller's to say; nothing is asked twice. The same answers give
the same candidates, so the result is deterministic.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

Interesting = Callable[[Sequence[bytes]], Sequence[bool]]
Unit = Literal["character", "byte"]
Units = Sequence[bytes]

# Bisection into so many parts and one: more would take fewer rounds and more questions.
_PARTS = 5


@dataclass(frozen=True)
class Shrunk:
    """The smallest text found.

    ``minimal`` says that no single ``unit`` of it can go: each was left out and the rest was not
    interesting. It is False where the budget ended the search. ``asked`` counts the questions.
    """

    data: bytes
    unit: Unit
    minimal: bool
    asked: int


def shrink(
    data: bytes,
    interesting: Interesting,
    *,
    budget: int,
    together: int = 64,
    found: Callable[[bytes], None] = lambda _: None,
) -> Shrunk:
    """Return the smallest text found of which ``interesting`` says so; it must say so of ``data``.

    ``interesting`` is given at most ``together`` candidates at a time, all of them shorter than the
    best so far, and ``budget`` in all. ``found`` is told each new best: whoever interrupts the
    search still has that. Characters of valid UTF-8 stay whole; of other text first characters and
    stray bytes are taken away, then single bytes.
    """
    search = _Search(interesting, budget, together, found)
    search.best = data
    unit: Unit = "character" if is_utf8(data) else "byte"
    try:
        search.thin(characters(data))
        if unit == "byte":
            search.thin([bytes([byte]) for byte in search.best])
    except _Spent:
        return Shrunk(search.best, unit, False, search.asked)
    return Shrunk(search.best, unit, True, search.asked)


def is_utf8(data: bytes) -> bool:
    """Whether the bytes are valid UTF-8."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def characters(data: bytes) -> list[bytes]:
    """Return the characters of the text as bytes, each byte that is part of none by itself."""
    text = data.decode("utf-8", "surrogateescape")
    return [char.encode("utf-8", "surrogateescape") for char in text]


class _Spent(Exception):
    """The budget is spent."""


class _Search:
    """One search: what was asked, what was found, what is left of the budget."""

    def __init__(
        self,
        interesting: Interesting,
        budget: int,
        together: int,
        found: Callable[[bytes], None],
    ) -> None:
        self._interesting = interesting
        self._budget = budget
        self._together = together
        self._found = found
        self._known: dict[bytes, bool] = {}
        self.best = b""
        self.asked = 0

    def thin(self, units: Units) -> None:
        """Take away units until none can go; ``best`` is their bytes, before and after."""
        if self._ask([b""])[0]:
            self._accept(b"")
            return
        units = self._start(units)
        units = self._end(units)
        size = len(units)
        while True:
            size = max(1, min(size, len(units)) // 2)
            thinner = self._without_stretches(units, size)
            if size == 1 and len(thinner) == len(units):
                return
            units = thinner

    def _start(self, units: Units) -> Units:
        """Return an interesting start of the units that is not interesting without its last."""
        return self._shortest(len(units), lambda length: units[:length])

    def _end(self, units: Units) -> Units:
        """Return an interesting end of the units that is not interesting without its first."""
        return self._shortest(len(units), lambda length: units[len(units) - length :])

    def _shortest(self, longest: int, of_length: Callable[[int], Units]) -> Units:
        """Bisect between length 0, which is not interesting, and ``longest``, which is."""
        low, high = 0, longest
        parts = min(_PARTS, self._together)
        while high - low > 1:
            lengths = sorted(
                {low + (high - low) * part // (parts + 1) for part in range(1, parts + 1)} - {low}
            )
            answers = self._ask([b"".join(of_length(length)) for length in lengths])
            bounds = [low, *lengths, high]
            # The first of the lengths that is interesting, and the one before it.
            low, high = next(
                (before, length)
                for (before, length), good in zip(pairwise(bounds), [*answers, True], strict=True)
                if good
            )
            self._accept(b"".join(of_length(high)))
        return of_length(high)

    def _without_stretches(self, units: Units, size: int) -> Units:
        """Leave out every stretch of ``size`` units that can go, from left to right."""
        stretches = [units[at : at + size] for at in range(0, len(units), size)]
        kept: list[Units] = []
        while stretches:
            some, stretches = stretches[: self._together], stretches[self._together :]
            kept += self._thinned(kept, some, stretches)
        return [unit for stretch in kept for unit in stretch]

    def _thinned(
        self, before: Sequence[Units], some: Sequence[Units], behind: Sequence[Units]
    ) -> list[Units]:
        """Return ``some`` without those of them that can go, alone first and then together."""

        def without(left_out: set[int]) -> bytes:
            kept = [one for index, one in enumerate(some) if index not in left_out]
            return b"".join(
                unit for part in (before, kept, behind) for stretch in part for unit in stretch
            )

        gone: set[int] = set()

        def leave_out(loose: Sequence[int]) -> None:
            """Let as many of ``loose`` go as can go together: all, or what halves allow."""
            if not loose:
                return
            left = without(gone | set(loose))
            if self._ask([left])[0]:
                gone.update(loose)
                self._accept(left)
            elif len(loose) > 1:
                middle = len(loose) // 2
                leave_out(loose[:middle])
                leave_out(loose[middle:])

        alone = self._ask([without({index}) for index in range(len(some))])
        leave_out([index for index, good in enumerate(alone) if good])
        return [one for index, one in enumerate(some) if index not in gone]

    def _accept(self, data: bytes) -> None:
        if len(data) < len(self.best):
            self.best = data
            self._found(data)

    def _ask(self, candidates: Sequence[bytes]) -> list[bool]:
        """Return which candidates are interesting; raises :class:`_Spent`."""
        names = [hashlib.blake2b(one, digest_size=16).digest() for one in candidates]
        new = {
            name: one
            for name, one in zip(names, candidates, strict=True)
            if name not in self._known
        }
        if self.asked + len(new) > self._budget:
            raise _Spent
        if new:
            self.asked += len(new)
            answers = self._interesting(list(new.values()))
            self._known |= {name: bool(good) for name, good in zip(new, answers, strict=True)}
        return [self._known[name] for name in names]
