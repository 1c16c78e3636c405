"""Changes to the model: how pieces become ids, and how ids are numbered."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from harness.hypotheses.hypothesis import Description, Hypothesis
from harness.hypotheses.seen import Seen
from harness.outcomes import Ids

SHIFTED = "vocabulary-shifted"
IGNORE_MERGES = "ignore-merges-flipped"
NAMES = (
    IGNORE_MERGES,
    "byte-fallback-off",
    "fuse-unk-flipped",
    "merge-ties-rightmost",
    "longest-match",
    "dropout-set",
    "scores-single-precision",
    SHIFTED,
)
PARAMETERS = {SHIFTED: ("by",)}
# As many mismatching cases are compared id for id.
_COMPARED = 256


def kind(model: Mapping[str, Any]) -> str:
    """Return the model's type; files from before it was written are told by their fields."""
    declared = model.get("type")
    if declared is not None:
        return str(declared)
    if "unk_id" in model:
        return "Unigram"
    if "max_input_chars_per_word" in model:
        return "WordPiece"
    return "BPE" if "dropout" in model or "fuse_unk" in model else "WordLevel"


def byte_level(description: Description) -> bool:
    """Whether the model sees bytes, spelled as letters by a ByteLevel step."""
    steps = [description.get("normalizer"), description.get("pre_tokenizer")]
    while steps:
        step = steps.pop()
        if isinstance(step, Mapping):
            if step.get("type") == "ByteLevel":
                return True
            steps += step.get("normalizers") or step.get("pretokenizers") or []
    return False


def can_show(name: str, seen: Seen) -> bool:
    """Whether the tokenizer can be so changed; for a shift, whether any id could be shifted."""
    if name != SHIFTED:
        return any(one.name == name for one in _changes(seen.description))
    return bool((~np.isin(seen.expected.ids, _added(seen.description))).any())


def proposed(seen: Seen) -> tuple[Hypothesis, ...]:
    """Return the changes that this tokenizer's model knows, and the shifts that cases allow."""
    return (*_changes(seen.description), *_shifts(seen))


def _set(key: str, value: object) -> Callable[[Description], Description]:
    return lambda description: {**description, "model": {**description["model"], key: value}}


def _changes(description: Description) -> list[Hypothesis]:
    model = description.get("model") or {}
    found: list[tuple[str, str, str, object]] = []
    if kind(model) == "BPE":
        ignored = bool(model.get("ignore_merges"))
        how = "is split by its merges" if ignored else "is one id, whatever its merges say"
        summary = f"a piece that is in the vocabulary whole {how}"
        found.append((IGNORE_MERGES, summary, "ignore_merges", not ignored))
    if kind(model) in {"BPE", "Unigram"} and model.get("byte_fallback"):
        summary = "what is not in the vocabulary is unknown, and not spelled in bytes"
        found.append(("byte-fallback-off", summary, "byte_fallback", False))
    if kind(model) == "BPE":
        if model.get("unk_token") is not None:
            fused = bool(model.get("fuse_unk"))
            summary = (
                f"unknown characters in a row are {'several tokens' if fused else 'one token'}"
            )
            found.append(("fuse-unk-flipped", summary, "fuse_unk", not fused))
        if byte_level(description):
            summary = "of pairs of one rank the rightmost is merged first"
            found.append(("merge-ties-rightmost", summary, "merging", "ties-rightmost"))
            summary = "the longest token is taken at each place, whatever the merges say"
            found.append(("longest-match", summary, "merging", "longest-match"))
        if model.get("dropout") != 1.0:
            summary = "no pair is merged, as under a dropout of 1"
            found.append(("dropout-set", summary, "dropout", 1.0))
    if kind(model) == "Unigram":
        summary = "scores are added up in single precision"
        found.append(("scores-single-precision", summary, "scores", "single"))
    return [
        Hypothesis(name, "model", summary, describe=_set(key, value))
        for name, summary, key, value in found
    ]


def _added(description: Description) -> Ids:
    tokens = description.get("added_tokens") or []
    return np.asarray([token["id"] for token in tokens if "id" in token], dtype=np.uint32)


def _shifts(seen: Seen) -> list[Hypothesis]:
    """Return the shift that mismatching cases show, and those by the number of added tokens."""
    if not seen.mismatching.shape[0]:
        return []
    added = _added(seen.description)
    by = [_shown(seen, added), added.shape[0], -added.shape[0]]
    return [_shift(one, added) for one in dict.fromkeys(by) if one]


def _shift(by: int, added: Ids) -> Hypothesis:
    def ids(found: Ids) -> Ids:
        # Below zero wraps around, as it does in a subject's unsigned integers.
        moved = (found.astype(np.int64) + by).astype(np.uint32)
        return np.where(np.isin(found, added), found, moved)

    summary = f"every id but those of added tokens is off by {by:+}"
    return Hypothesis(SHIFTED, "model", summary, (("by", by),), ids=ids)


def _shown(seen: Seen, added: Ids) -> int:
    """Return the one difference by which most of the cases that have only one differ; 0 for none.

    Cases with another number of ids than expected differ for another reason as well.
    """
    rows = seen.mismatching
    alike = rows[seen.expected.lengths[rows] == seen.observed.lengths[rows]]
    votes: Counter[int] = Counter()
    for row in alike[:_COMPARED].tolist():
        due, given = seen.expected.answer(row), seen.observed.answer(row)
        plain = ~np.isin(due, added)
        apart = np.unique((given[plain] - due[plain]).astype(np.int32))  # modulo 2 ** 32
        if apart.shape[0] == 1 and apart[0]:
            votes[int(apart[0])] += 1
    return votes.most_common(1)[0][0] if votes else 0
