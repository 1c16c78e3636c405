"""Whose normalized form a changed normalizer changes, held against which cases mismatch."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from harness.diff import Mask
from harness.hypotheses.hypothesis import Description
from harness.hypotheses.normalizer import beside_added, normalized_contents, segments
from harness.hypotheses.seen import Seen

# A description's normalizer alone: one normalized text a text.
Normalized = Callable[[Description, Sequence[str]], Sequence[str]]

# Models that can give two texts the same ids, because what they do not know becomes one token.
_LOSSY = ("WordPiece", "WordLevel", "Unigram")


def changed_forms(
    seen: Seen, normalized: Normalized, description: Description, is_mismatch: Mask
) -> tuple[int, bool]:
    """Return (how many judged cases get another normalized form, are they the mismatches).

    ``is_mismatch`` is bool[n]. A model that gives what it does not know one id can give two forms
    the same ids: then the mismatches have to be among those cases, and need not be all of them.
    """
    rows = np.flatnonzero(seen.judged)
    parts = [segments(seen.cases[row].decode("utf-8"), seen.description) for row in rows.tolist()]
    flat = [part for own in parts for part in own]
    before = _forms(seen, normalized, seen.description, flat)
    after = _forms(seen, normalized, description, flat)
    changed = np.asarray([a != b for a, b in zip(before, after, strict=True)], dtype=np.bool_)
    starts = np.cumsum([0] + [len(own) for own in parts])[:-1]
    cases = np.logical_or.reduceat(changed, starts) if rows.shape[0] else changed
    wanted = is_mismatch[rows]
    if _loses(seen.description.get("model") or {}):
        return int(cases.sum()), not bool((wanted & ~cases).any())
    return int(cases.sum()), bool(np.array_equal(cases, wanted))


def _forms(
    seen: Seen, normalized: Normalized, description: Description, texts: Sequence[str]
) -> list[tuple[str, ...]]:
    """Return the texts' normal forms, as the stages after the normalizer see them."""
    contents = normalized_contents(seen.description)
    forms = normalized(description, [*contents, *texts])
    own = forms[: len(contents)]
    return [beside_added(form, own) for form in forms[len(contents) :]]


def _loses(model: Mapping[str, object]) -> bool:
    return model.get("type") in _LOSSY or model.get("unk_token") is not None
