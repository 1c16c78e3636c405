"""A normalizer as its steps: the JSON of tokenizer.json read, and edited into another."""

from collections.abc import Callable, Mapping
from typing import Any

from harness.hypotheses.hypothesis import Description

# {"type": "Lowercase"}, or a Sequence of others; None where there is none.
Step = Mapping[str, Any]
# The order in a combination of what replaces the whole: it would undo what came before.
FIRST = -1
# What becomes of one step; None takes it out.
Edit = Callable[[Step], Step | None]


def steps(normalizer: Step | None) -> list[Step]:
    """Return the steps in the order in which they are applied, Sequences laid flat."""
    if normalizer is None:
        return []
    if normalizer.get("type") != "Sequence":
        return [normalizer]
    return [step for inner in normalizer.get("normalizers") or [] for step in steps(inner)]


def edited(normalizer: Step | None, edit: Edit) -> Step | None:
    """Return the normalizer with each step as ``edit`` has it, and None when none is left."""
    if normalizer is None:
        return None
    if normalizer.get("type") != "Sequence":
        return edit(normalizer)
    left = [edited(inner, edit) for inner in normalizer.get("normalizers") or []]
    kept = [inner for inner in left if inner is not None]
    return {**normalizer, "normalizers": kept} if kept else None


def extended(
    normalizer: Step | None, *, first: Step | None = None, last: Step | None = None
) -> Step:
    """Return the normalizer with ``first`` applied before it and ``last`` after it."""
    own = [normalizer] if normalizer is not None else []
    if normalizer is not None and normalizer.get("type") == "Sequence":
        own = list(normalizer.get("normalizers") or [])
    found = [step for step in (first, *own, last) if step is not None]
    return found[0] if len(found) == 1 else {"type": "Sequence", "normalizers": found}


def with_normalizer(
    change: Callable[[Step | None], Step | None],
) -> Callable[[Description], Description]:
    """Return the description change that puts ``change`` of the normalizer in its place.

    It is worked out when it is applied, so that changes of several steps add up.
    """
    return lambda description: {**description, "normalizer": change(description.get("normalizer"))}


def with_steps(edit: Edit) -> Callable[[Description], Description]:
    """Return the description change that edits each step of the normalizer."""
    return with_normalizer(lambda normalizer: edited(normalizer, edit))
