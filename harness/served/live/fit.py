"""Which template a server uses, from no more than its counts of the shapes. Pure.

A candidate is named only where it gives the server's count of every shape, and every shape was
answered. One that is off by the same number everywhere is reported as such: many wrong templates
are, so it proves nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from harness.served.live.candidates import Candidate, Tried
from harness.served.live.shapes import SHAPES, Shape

_NEAR = 3


@dataclass(frozen=True)
class Held:
    """A candidate held against the server's counts.

    ``offsets`` are, shape by shape, what the server counts more than the candidate has tokens; None
    where the server told nothing or the candidate makes no text. ``errors`` are why it makes none.
    """

    candidate: Candidate
    offsets: tuple[int | None, ...]
    errors: tuple[str, ...] = ()

    @property
    def exact(self) -> int:
        """The shapes whose count is the server's."""
        return sum(one == 0 for one in self.offsets)

    @property
    def constant(self) -> int | None:
        """By what the server is off where that is one number on every shape, and not 0."""
        first = self.offsets[0] if self.offsets else None
        if not first or any(one != first for one in self.offsets):
            return None
        return first


@dataclass(frozen=True)
class Fit:
    """What the counts say of a server's template.

    ``named`` give every count exactly; several are not to be told apart by these shapes.
    ``constant`` are off by one number throughout, ``rest`` are all others, the nearest first.
    ``unanswered`` are the shapes that the server gave no count of: with any, nothing is named.
    """

    named: tuple[Held, ...]
    constant: tuple[Held, ...]
    rest: tuple[Held, ...]
    shapes: tuple[str, ...]
    unanswered: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the templates that fit, those that make the same texts included."""
        return tuple(
            name for one in self.named for name in (one.candidate.name, *one.candidate.aliases)
        )

    @property
    def words(self) -> str:
        """What was found, in a sentence; it may hold names from files."""
        if self.unanswered:
            return f"no template is named: the server gave no count of {', '.join(self.unanswered)}"
        if self.named:
            held = " or ".join(one.candidate.name for one in self.named)
            apart = "" if len(self.named) == 1 else "; these shapes cannot tell them apart"
            return f"the server's template is {held}: exact on all {len(self.shapes)} shapes{apart}"
        words = (
            f"no template that is known gives the server's counts of all {len(self.shapes)} shapes"
        )
        near = [f"{one.candidate.name} by {one.constant:+,}" for one in self.constant[:_NEAR]]
        if near:
            words += f"; on each of them off are {', '.join(near)}, which proves nothing"
        return words


def fit(
    tried: Sequence[Tried],
    counts: Mapping[str, int | None],
    count: Callable[[Sequence[str]], Sequence[int | None]],
    shapes: Sequence[Shape] = SHAPES,
) -> Fit:
    """Hold candidates against a server's counts.

    ``tried`` has each candidate's texts of ``shapes``; ``counts`` are the server's tokens by a
    shape's name, None or absent where it told none; ``count`` gives the tokens of rendered texts,
    None for one that cannot be encoded.
    """
    texts = list(
        dict.fromkeys(one.text for each in tried for one in each.texts if one.text is not None)
    )
    lengths = dict(zip(texts, count(texts), strict=True))
    asked = [counts.get(one.name) for one in shapes]
    unanswered = tuple(
        one.name for one, number in zip(shapes, asked, strict=True) if number is None
    )
    held = [_held(one, asked, lengths) for one in tried]
    whole = not unanswered and bool(shapes)
    named = [one for one in held if whole and one.exact == len(shapes)]
    constant = [one for one in held if whole and one.constant is not None]
    rest = [one for one in held if not whole or (one.exact < len(shapes) and not one.constant)]
    return Fit(
        named=tuple(named),
        constant=tuple(sorted(constant, key=lambda one: abs(one.constant or 0))),
        rest=tuple(sorted(rest, key=lambda one: -one.exact)),
        shapes=tuple(one.name for one in shapes),
        unanswered=unanswered,
    )


def _held(tried: Tried, asked: Sequence[int | None], lengths: Mapping[str, int | None]) -> Held:
    offsets: list[int | None] = []
    for number, one in zip(asked, tried.texts, strict=True):
        ours = None if one.text is None else lengths[one.text]
        offsets.append(None if number is None or ours is None else number - ours)
    errors = dict.fromkeys(one.error for one in tried.texts if one.error is not None)
    return Held(tried.candidate, tuple(offsets), tuple(errors))
