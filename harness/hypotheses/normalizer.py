"""Changes to the normalizer: left out, or one of the four Unicode forms in its place."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from harness.hypotheses.hypothesis import Description, Hypothesis
from harness.hypotheses.seen import Seen

FORMS = ("NFC", "NFD", "NFKC", "NFKD")
LEFT_OUT = "normalizer-left-out"
NAMES = (LEFT_OUT, *(f"normalizer-{form.lower()}" for form in FORMS))


def _with(normalizer: dict[str, Any] | None) -> Callable[[Description], Description]:
    return lambda description: {**description, "normalizer": normalizer}


def _plain(normalizer: object) -> object:
    """Return the normalizer without Sequences of one, and None for an empty one."""
    while isinstance(normalizer, dict) and normalizer.get("type") == "Sequence":
        inner = normalizer.get("normalizers") or []
        if len(inner) > 1:
            return normalizer
        normalizer = inner[0] if inner else None
    return normalizer


def proposed(seen: Seen) -> tuple[Hypothesis, ...]:
    """Return the normalizer changes that differ from what the tokenizer declares."""
    declared = _plain(seen.description.get("normalizer"))
    found: list[Hypothesis] = []
    if declared is not None:
        summary = "the declared normalizer is not applied"
        found.append(Hypothesis(LEFT_OUT, "normalizer", summary, describe=_with(None)))
    for form in FORMS:
        if declared != {"type": form}:
            place = "in place of the declared normalizer" if declared else "though none is declared"
            found.append(
                Hypothesis(
                    f"normalizer-{form.lower()}",
                    "normalizer",
                    f"{form} is applied {place}",
                    describe=_with({"type": form}),
                )
            )
    return tuple(found)


def segments(text: str, description: Description) -> tuple[str, ...]:
    """Return the stretches of ``text`` that the normalizer sees.

    Added tokens with ``normalized`` false are taken out before it, with the white space that their
    ``lstrip`` and ``rstrip`` claim; the longest content wins where two begin alike, as in the
    library's matcher (``AddedVocabulary::find_matches``).
    """
    tokens = {
        token["content"]: token
        for token in description.get("added_tokens") or ()
        if not token.get("normalized", True) and token.get("content")
    }
    if not tokens:
        return (text,)
    found: list[str] = []
    start = 0
    for match in _longest_first(tokens).finditer(text):
        token = tokens[match[0]]
        before, after = text[start : match.start()], text[match.end() :]
        alone = not re.search(r"\w\Z", text[: match.start()]) and not re.match(r"\w", after)
        if token.get("single_word") and not alone:
            continue
        found.append(before.rstrip() if token.get("lstrip") else before)
        start = match.end()
        if token.get("rstrip"):
            start += len(after) - len(after.lstrip())
    return (*found, text[start:])


def normalized_contents(description: Description) -> list[str]:
    """Return the contents of the added tokens that are matched in the normalized text."""
    return [
        token["content"]
        for token in description.get("added_tokens") or ()
        if token.get("normalized", True) and token.get("content")
    ]


def beside_added(normalized: str, contents: Sequence[str]) -> tuple[str, ...]:
    """Return a normalized text with each added token in it replaced by the token's number.

    ``contents`` are the tokens' normalized contents. Two normal forms of one text that differ only
    inside an added token are the same to every stage that follows.
    """
    number = {content: f"\0{index}" for index, content in enumerate(contents) if content}
    if not number:
        return (normalized,)
    parts = re.split(f"({_longest_first(number).pattern})", normalized)
    return tuple(number[part] if place % 2 else part for place, part in enumerate(parts))


def _longest_first(contents: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, sorted(contents, key=len, reverse=True))))
