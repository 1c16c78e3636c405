"""Caps on one word: on the combining marks in a run of letters and marks, and on its characters.

An engine that scans words by hand may stop a word after N combining marks, and begin a new one. The
cap can be counted on the text as it came in (then each part is normalized and split by itself), or
on the normalized text, in the pre-tokenizer; and the new word can begin right after the N-th mark,
or only before an N+1-th. All four are tried, for every N that the mismatching cases allow.

One that gathers words in a buffer may begin a new one after every N characters. What N can be is
inferred from where tokens end (:mod:`harness.hypotheses.word_cap`).
"""

import re
import unicodedata
from collections.abc import Callable, Iterator

from harness.hypotheses.hypothesis import Description, Hypothesis, Pieces
from harness.hypotheses.seen import Seen
from harness.hypotheses.steps import Change, Steps, changing, is_byte_level, split
from harness.hypotheses.word_cap import COMMON, allowed
from harness.plural import counted

MARKS_CAPPED = "marks-capped"
WORD_CAPPED = "word-capped"
NAMES = (MARKS_CAPPED, WORD_CAPPED)
PARAMETERS = {MARKS_CAPPED: ("cap", "broken", "counted"), WORD_CAPPED: ("characters",)}
# A run longer than this is cut by other limits than a cap on marks.
_LARGEST = 256
# Caps are laid over whatever else is changed.
_CAPPED = 6
_LONG = re.compile(rf"\S{{{COMMON[0] + 1}}}|\s{{{COMMON[0] + 1}}}")


def proposed(seen: Seen) -> tuple[Hypothesis, ...]:
    """Return the caps that every mismatching case allows; none without any."""
    return (*_marks_capped(seen), *_word_capped(seen))


def can_show(name: str, seen: Seen) -> bool:
    """Whether any case holds a mark, or a run longer than the smallest cap that is usual."""
    if name == MARKS_CAPPED:
        return any(
            _marks_in_runs(unicodedata.normalize("NFD", data.decode("utf-8", "replace")))
            for data in seen.cases
        )
    return any(_LONG.search(data.decode("utf-8", "replace")) for data in seen.cases)


def _marks_in_runs(text: str) -> int:
    """Return the largest number of marks in one run of letters and marks."""
    most = count = 0
    for char in text:
        kind = unicodedata.category(char)[0]
        if kind == "M":
            count += 1
            most = max(most, count)
        elif kind != "L":
            count = 0
    return most


def _cut(cap: int, *, before: bool) -> Callable[[bytes], Pieces]:
    """Return the input change: a break after ``cap`` marks, or before one mark more.

    Letters and marks are told by CPython's Unicode data, which may be older than the subject's: a
    character newer than it ends the run here, and the hypothesis is then refuted, never misnamed.
    """

    def pieces(data: bytes) -> Pieces:
        text = data.decode("utf-8", "surrogateescape")
        parts: list[str] = []
        start = count = 0
        for place, char in enumerate(text):
            kind = unicodedata.category(char)[0]
            if count == cap and (kind == "M" or not before):
                parts.append(text[start:place])
                start, count = place, 0
            if kind == "M":
                count += 1
            elif kind != "L":
                count = 0
        parts.append(text[start:])
        return tuple(part.encode("utf-8", "surrogateescape") for part in parts)

    return pieces


def _split_first(cap: int, *, before: bool) -> Callable[[Description], Description]:
    r"""Return the description change: one more Split, ahead of the declared pre-tokenizer.

    The Split's pattern takes a run up to its ``cap``-th mark. ``MergedWithPrevious`` puts a break
    behind each match and none before the first, so a space stays with the word it leads. A match
    does not begin inside a stretch of letters, and its stretches are atomic: a word of 36,000
    letters is looked at once, not once for each letter.
    """
    stretch = r"(?>\p{L}*)"
    pattern = rf"(?:(?<!\p{{L}})|(?=\p{{M}}))(?:{stretch}\p{{M}}){{{cap}}}"
    if before:
        pattern += rf"{stretch}(?=\p{{M}})"
    ahead = split(pattern, "MergedWithPrevious")

    def describe(description: Description) -> Description:
        declared = description.get("pre_tokenizer")
        steps = [ahead] if declared is None else [ahead, declared]
        return {**description, "pre_tokenizer": {"type": "Sequence", "pretokenizers": steps}}

    return describe


def _marks_capped(seen: Seen) -> tuple[Hypothesis, ...]:
    """Return a cap for every N that could have broken each mismatching case; none without any.

    NFD shows the most marks a text can come to have, whatever the normalizer.
    """
    most = _LARGEST
    for case in seen.mismatching.tolist():
        text = seen.cases[case].decode("utf-8", "replace")
        most = min(most, _marks_in_runs(unicodedata.normalize("NFD", text)))
        if not most:
            return ()
    if not len(seen.mismatching):
        return ()
    found: list[Hypothesis] = []
    for cap in range(1, most + 1):
        for before in (False, True):
            summary = (
                f"a word ends before mark number {cap + 1} of a run of letters and marks"
                if before
                else f"a word ends after mark number {cap} of a run of letters and marks"
            )
            broken: tuple[str, str] = ("broken", "before-next-mark" if before else "after-mark")
            found.append(
                Hypothesis(
                    MARKS_CAPPED,
                    "pre-tokenizer",
                    f"{summary}, counted in the text as given",
                    (("cap", cap), broken, ("counted", "raw")),
                    text=_cut(cap, before=before),
                    order=_CAPPED,
                )
            )
            found.append(
                Hypothesis(
                    MARKS_CAPPED,
                    "pre-tokenizer",
                    f"{summary}, counted in the normalized text",
                    (("cap", cap), broken, ("counted", "normalized")),
                    describe=_split_first(cap, before=before),
                    order=_CAPPED,
                )
            )
    return tuple(found)


def _word_capped(seen: Seen) -> Iterator[Hypothesis]:
    for cap in allowed(seen):
        yield Hypothesis(
            WORD_CAPPED,
            "pre-tokenizer",
            f"a word ends after {counted(cap, 'character')}, and a new one begins",
            (("characters", cap),),
            describe=changing(_cut_words(cap)),
            order=_CAPPED,
        )


def _cut_words(cap: int) -> Change:
    """Return the change that cuts what the declared steps leave whole, before bytes are spelled.

    ``(?m:.)`` is any character, a newline too.
    """
    cut = split(f"(?m:.{{{cap}}})")

    def change(steps: Steps) -> Steps:
        at = len(steps) - 1 if is_byte_level(steps) else len(steps)
        return (*steps[:at], cut, *steps[at:])

    return change
