"""Changes to the normalizer: left out whole or in part, or with a Unicode form in its place."""

import re
from collections.abc import Callable, Iterable, Sequence

from harness.hypotheses import casing
from harness.hypotheses.hypothesis import Description, Hypothesis
from harness.hypotheses.normalizer_steps import (
    FIRST,
    Edit,
    Step,
    edited,
    extended,
    steps,
    with_normalizer,
    with_steps,
)
from harness.hypotheses.seen import Seen

FORMS = ("NFC", "NFD", "NFKC", "NFKD")
# The versions of Unicode after that of the library's own normalization data, which is 9.0. Newest
# first: where the cases cannot tell versions apart, a current one is the likelier.
VERSIONS = ("16.0", "15.1", "15.0", "14.0", "13.0", "12.1", "12.0", "11.0", "10.0")
LEFT_OUT = "normalizer-left-out"
PREPEND_LEFT_OUT, REPLACE_LEFT_OUT = "prepend-left-out", "replace-left-out"
UNICODE_VERSION = "normalizer-unicode-version"
NAMES = (
    PREPEND_LEFT_OUT,
    REPLACE_LEFT_OUT,
    *casing.NAMES,
    UNICODE_VERSION,
    LEFT_OUT,
    *(f"normalizer-{form.lower()}" for form in FORMS),
)
PARAMETERS = {
    REPLACE_LEFT_OUT: ("step",),
    **casing.PARAMETERS,
    UNICODE_VERSION: ("unicode",),
    **{f"normalizer-{form.lower()}": ("declared",) for form in FORMS},
}


def _plain(normalizer: Step | None) -> Step | None:
    """Return the normalizer without Sequences of one, and None for an empty one."""
    own = steps(normalizer)
    return own[0] if len(own) == 1 else normalizer if own else None


def proposed(seen: Seen) -> tuple[Hypothesis, ...]:
    """Return the normalizer changes that differ from what the tokenizer declares."""
    declared = seen.description.get("normalizer")
    return (
        *_steps_left_out(declared),
        *casing.proposed(seen),
        *_versions(declared),
        *_replaced(declared),
    )


def _steps_left_out(declared: Step | None) -> list[Hypothesis]:
    """Return all Prepends left out, and each Replace, numbered among the steps from 1."""
    found: list[Hypothesis] = []
    own = steps(declared)
    if any(step.get("type") == "Prepend" for step in own):
        left = with_steps(lambda step: None if step.get("type") == "Prepend" else step)
        summary = "nothing is put before the text though the normalizer asks for it"
        found.append(Hypothesis(PREPEND_LEFT_OUT, "normalizer", summary, describe=left))
    for number, step in enumerate(own, 1):
        if step.get("type") == "Replace" and step not in own[: number - 1]:
            found.append(_replace_left_out(number, step))
    return found


def _replace_left_out(number: int, replace: Step) -> Hypothesis:
    return Hypothesis(
        REPLACE_LEFT_OUT,
        "normalizer",
        f"step {number} of the normalizer, a Replace, is not applied",
        (("step", number),),
        describe=with_steps(lambda step: None if step == replace else step),
    )


def _is_form(step: Step) -> bool:
    return step.get("type") in FORMS


def _versions(declared: Step | None) -> list[Hypothesis]:
    if not any(map(_is_form, steps(declared))):
        return []
    return [
        Hypothesis(
            UNICODE_VERSION,
            "normalizer",
            f"the normal form is that of Unicode {version}, newer than the oracle's",
            (("unicode", version),),
            describe=with_steps(_of_version(version)),
        )
        for version in VERSIONS
    ]


def _of_version(version: str) -> Edit:
    return lambda step: {**step, "unicode": version} if _is_form(step) else step


def _replaced(declared: Step | None) -> list[Hypothesis]:
    """Return the whole left out, and each form: beside what is declared besides, or alone."""
    plain = _plain(declared)
    found: list[Hypothesis] = []
    if plain is not None:
        summary = "the declared normalizer is not applied"
        none = with_normalizer(lambda normalizer: None)
        found.append(Hypothesis(LEFT_OUT, "normalizer", summary, describe=none, order=FIRST))
    for form in FORMS:
        name, alone = f"normalizer-{form.lower()}", {"type": form}
        if plain is not None and not _is_form(plain):
            beside = _beside(form)
            if beside(declared) != declared:
                summary = f"{form} is applied beside the declared normalizer's other steps"
                found.append(
                    Hypothesis(
                        name,
                        "normalizer",
                        summary,
                        (("declared", "kept"),),
                        describe=with_normalizer(beside),
                    )
                )
        if plain != alone:
            place = "in place of the declared normalizer" if plain else "though none is declared"
            found.append(
                Hypothesis(
                    name,
                    "normalizer",
                    f"{form} is applied {place}",
                    describe=with_normalizer(_always(alone)),
                    order=FIRST,
                )
            )
    return found


def _always(step: Step) -> Callable[[Step | None], Step | None]:
    return lambda normalizer: step


def _beside(form: str) -> Callable[[Step | None], Step | None]:
    """Return the change that puts ``form`` in place of the declared forms, or before all steps."""
    step = {"type": form}

    def change(normalizer: Step | None) -> Step | None:
        if any(map(_is_form, steps(normalizer))):
            return edited(normalizer, lambda own: step if _is_form(own) else own)
        return extended(normalizer, first=step)

    return change


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
