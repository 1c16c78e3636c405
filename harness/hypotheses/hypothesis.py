"""One suspected change, as a value: to the bytes that go in, or to the tokenizer's description.

A changed tokenizer answers a case so: the case's bytes become one or more pieces
(:attr:`Hypothesis.text`), the oracle under the changed description encodes each piece by itself,
the answers are laid end to end, and the ids are changed last. Because all three are plain
functions, hypotheses compose: :func:`combine` applies them in the order of the stages.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.outcomes import Ids

# The tokenizer.json's object without the vocabulary and merges: normalizer, pre_tokenizer,
# post_processor, decoder, added_tokens, and the scalar fields of model. Beside them stands
# ``asked``: ``{"special": bool}``, whether special tokens are asked for.
Description = Mapping[str, Any]
Pieces = tuple[bytes, ...]
Parameters = tuple[tuple[str, int | str], ...]

STAGES = ("input", "added-tokens", "normalizer", "pre-tokenizer", "model", "post-processor")


def whole(data: bytes) -> Pieces:
    """Return the input as its one piece: the change that changes nothing."""
    return (data,)


def same(description: Description) -> Description:
    """Return the description itself: the change that changes nothing."""
    return description


def unchanged(ids: Ids) -> Ids:
    """Return the ids themselves: the change that changes nothing."""
    return ids


@dataclass(frozen=True)
class Hypothesis:
    """One suspected change, with a stable kebab-case name that is also the cause's name.

    ``parameters``  what was inferred, as (name, value) pairs; the name does not contain it.
    ``text``        the input change: the case's bytes → the pieces encoded one by one.
    ``describe``    the description change; returns a new mapping and leaves its argument alone.
    ``ids``         the change to the ids that come out, uint32[k] → uint32[j].
    ``parts``       the hypotheses this one combines; empty for a single change.
    ``order``       its place among changes of its stage in a combination: lower ones come first.
    """

    name: str
    stage: str
    summary: str
    parameters: Parameters = ()
    text: Callable[[bytes], Pieces] = whole
    describe: Callable[[Description], Description] = same
    ids: Callable[[Ids], Ids] = unchanged
    parts: tuple["Hypothesis", ...] = ()
    order: int = 0

    def __post_init__(self) -> None:
        """Refuse a stage the design does not know."""
        if self.stage not in STAGES:
            raise ValueError(f"'{self.stage}' is not a stage")

    @property
    def size(self) -> int:
        """How many changes this is; smaller explanations are preferred."""
        return max(1, len(self.parts))

    @property
    def stages(self) -> frozenset[str]:
        """The stages that any of its changes touches."""
        return frozenset(part.stage for part in self.parts) or frozenset({self.stage})

    @property
    def label(self) -> str:
        """The name with its parameters, ``marks-capped (cap 6, counted normalized)``."""
        values = ", ".join(f"{key} {value}" for key, value in self.parameters)
        return f"{self.name} ({values})" if values else self.name


def combine(hypotheses: Sequence[Hypothesis]) -> Hypothesis:
    """Return one hypothesis that makes every change of ``hypotheses``, named ``a+b``.

    Raises ValueError for fewer than two.
    """
    if len(hypotheses) < 2:
        raise ValueError("a combination needs two hypotheses")
    parts = tuple(part for one in hypotheses for part in (one.parts or (one,)))
    staged = sorted(parts, key=lambda part: (STAGES.index(part.stage), part.order))

    def text(data: bytes) -> Pieces:
        pieces: Pieces = (data,)
        for part in staged:
            pieces = tuple(after for before in pieces for after in part.text(before))
        return pieces

    def describe(description: Description) -> Description:
        for part in staged:
            description = part.describe(description)
        return description

    def ids(found: Ids) -> Ids:
        for part in staged:
            found = part.ids(found)
        return found

    return Hypothesis(
        "+".join(part.name for part in parts),
        staged[0].stage,
        "; ".join(part.summary for part in parts),
        tuple((f"{part.name}.{key}", value) for part in parts for key, value in part.parameters),
        text,
        describe,
        ids,
        parts,
    )
