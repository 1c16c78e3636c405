"""Changes to how added tokens are found in the text.

A token left out of ``added_tokens`` is no longer found there. The ids of the others stay what the
list says: the oracle gives each token its own ``id``, whatever stands before it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness.hypotheses.hypothesis import Description, Hypothesis
from harness.hypotheses.seen import Seen

Token = Mapping[str, Any]
Tokens = Sequence[Token]


def _without(flag: str) -> Callable[[Tokens], list[Token]]:
    return lambda tokens: [{**one, flag: False} if one.get(flag) else one for one in tokens]


def _all_late(tokens: Tokens) -> list[Token]:
    return [one if _late(one) else {**one, "normalized": True} for one in tokens]


def _late(token: Token) -> bool:
    """Whether the token is looked for in the normalized text; the library's default."""
    return bool(token.get("normalized", True))


def _shortest(tokens: Tokens) -> list[Token]:
    """Return the tokens that are found when a shorter one at the same place ends the search."""
    return [
        one
        for one in tokens
        if not any(
            _late(other) == _late(one)
            and other["content"]
            and other["content"] != one["content"]
            and one["content"].startswith(other["content"])
            for other in tokens
        )
    ]


# name → (summary, change of the list). Narrow changes come first.
_CHANGES: Mapping[str, tuple[str, Callable[[Tokens], list[Token]]]] = {
    "added-single-word-ignored": (
        "an added token is found inside a word though it asks not to be",
        _without("single_word"),
    ),
    "added-lstrip-ignored": (
        "white space before an added token stays text though the token claims it",
        _without("lstrip"),
    ),
    "added-rstrip-ignored": (
        "white space behind an added token stays text though the token claims it",
        _without("rstrip"),
    ),
    "added-shortest-first": (
        "of two added tokens that begin alike the shorter is found",
        _shortest,
    ),
    "added-normalized-ignored": (
        "added tokens that belong in the normalized text are found before it is normalized",
        _without("normalized"),
    ),
    "added-after-normalization": (
        "added tokens that belong in the text as given are found in the normalized text",
        _all_late,
    ),
    "added-tokens-only-special": (
        "added tokens that are not special are taken for text",
        lambda tokens: [one for one in tokens if one.get("special")],
    ),
    "added-tokens-only-non-special": (
        "special tokens are taken for text, other added tokens are found",
        lambda tokens: [one for one in tokens if not one.get("special")],
    ),
    "added-tokens-unrecognised": ("added tokens are taken for text", lambda tokens: []),
}
NAMES = tuple(_CHANGES)
PARAMETERS: Mapping[str, tuple[str, ...]] = {}
# What these change is told apart from added-tokens-unrecognised only where there are both kinds.
_OF_ONE_KIND = ("added-tokens-only-special", "added-tokens-only-non-special")
# These move tokens past the normalizer.
_MOVING = ("added-normalized-ignored", "added-after-normalization")


def proposed(seen: Seen) -> tuple[Hypothesis, ...]:
    """Return the changes that make another list of this tokenizer's added tokens."""
    tokens = seen.description.get("added_tokens") or []
    found = []
    for name, (summary, change) in _CHANGES.items():
        changed = change(tokens)
        if changed == list(tokens) or (name in _OF_ONE_KIND and not changed):
            continue
        if name in _MOVING and not _movable(seen.description):
            continue
        found.append(
            Hypothesis(
                name,
                "added-tokens",
                summary,
                describe=_described(tokens, change),
            )
        )
    return tuple(found)


def _movable(description: Description) -> bool:
    """Whether it matters on which side of the normalizer a token is looked for.

    Without a normalizer only the order does: the tokens before it have the first choice.
    """
    tokens = description.get("added_tokens") or []
    return bool(description.get("normalizer")) or len({_late(one) for one in tokens}) > 1


def _described(
    tokens: Tokens, change: Callable[[Tokens], list[Token]]
) -> Callable[[Description], Description]:
    changed = change(tokens)

    def describe(description: Description) -> Description:
        # The same list for the same list: the oracle tells lists of hundreds of tokens by identity.
        own = description.get("added_tokens") or []
        return {**description, "added_tokens": changed if own is tokens else change(own)}

    return describe
