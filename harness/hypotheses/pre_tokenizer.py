r"""Changes to the pre-tokenizer: another pattern, other classes, a Split missing, a space, a cap.

A declared pre-tokenizer is brought into one shape first (:mod:`harness.hypotheses.steps`); known
patterns are exchanged for byte-level tokenizers only. A change that leaves the steps as they are is
not offered. Narrow changes come before wide ones: a pattern's digits before the whole pattern.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from harness.hypotheses import caps
from harness.hypotheses.hypothesis import Description, Hypothesis, Parameters
from harness.hypotheses.patterns import PATTERNS
from harness.hypotheses.rewriting import (
    ascii_whitespace,
    contractions_case_insensitive,
    contractions_case_sensitive,
    digits,
    marks_in_letter_run,
    marks_out_of_letter_run,
    no_whitespace_lookahead,
    older_classes,
)
from harness.hypotheses.seen import Seen
from harness.hypotheses.steps import (
    DIGIT,
    Change,
    Step,
    Steps,
    changing,
    flat,
    is_byte_level,
    prefix,
    rewritten,
    split,
    splits,
)
from harness.unicode_versions import characters_newer_than

PATTERN = "pattern-"
SPLIT_MISSING = "split-missing"
PREFIX_FLIPPED = "prefix-space-flipped"
CLASSES = "classes-unicode-version"
# Closest to the version of the oracle's classes, 16.0, first.
VERSIONS = ("15.1", "15.0", "14.0", "13.0")

# The places of changes that are made together: a pattern is exchanged before it is rewritten, and
# its classes are spelled out last.
_EXCHANGED, _LEFT_OUT, _REWRITTEN, _SPACES, _CLASSES, _PREFIXED = range(6)

_DIGITS: Mapping[str, tuple[str, str]] = {
    "digits-single": ("", "every digit is a word of its own"),
    "digits-by-three": ("{1,3}", "digits are taken three at a time, from the left"),
    "digits-unbounded": ("+", "a run of digits is one word, however long"),
}
_MARKS = {
    "marks-in-letter-run": (marks_in_letter_run, "combining marks are part of a run of letters"),
    "marks-out-of-letter-run": (
        marks_out_of_letter_run,
        "combining marks are no part of a run of letters",
    ),
}
_OTHERS = {
    "contractions-case-sensitive": (
        contractions_case_sensitive,
        "'s, 'll and their like are taken in lower case only",
    ),
    "contractions-case-insensitive": (
        contractions_case_insensitive,
        "'S, 'LL and their like are taken in upper case too",
    ),
    "no-whitespace-lookahead": (
        no_whitespace_lookahead,
        "a run of white space does not leave its last character to the word that follows",
    ),
    "ascii-whitespace": (ascii_whitespace, "only ASCII's white space is white space"),
}
NAMES = (
    *_DIGITS,
    *_MARKS,
    *_OTHERS,
    CLASSES,
    PREFIX_FLIPPED,
    SPLIT_MISSING,
    *(PATTERN + name for name in PATTERNS),
    *caps.NAMES,
)
PARAMETERS = {
    **dict.fromkeys(_MARKS, ("changed",)),
    CLASSES: ("unicode",),
    PREFIX_FLIPPED: ("before",),
    SPLIT_MISSING: ("split",),
    **caps.PARAMETERS,
}


def proposed(seen: Seen) -> tuple[Hypothesis, ...]:
    """Return the changes that differ from what the tokenizer declares, and the caps inferred."""
    return (*_changes(seen), *caps.proposed(seen))


def can_show(name: str, seen: Seen) -> bool:
    """Whether these cases could show ``name``; a cap shows in a run that is long enough."""
    if name in caps.NAMES:
        return caps.can_show(name, seen)
    return any(one.name == name for one in _changes(seen))


def _changes(seen: Seen) -> tuple[Hypothesis, ...]:
    candidates = (
        *_rewritings(),
        *_older(seen),
        *_flipped(seen),
        *_without_a_split(flat(seen.description.get("pre_tokenizer"))),
        *_exchanged(),
    )
    found: list[Hypothesis] = []
    known: list[tuple[str, Description]] = []
    for one in candidates:
        changed = one.describe(seen.description)
        # Two versions of the classes may well be one here; both are told of.
        alike = one.name != CLASSES and (one.name, changed) in known
        if changed != seen.description and not alike:
            found.append(one)
            known.append((one.name, changed))
    return tuple(found)


def _hypothesis(
    name: str, summary: str, change: Change, order: int, parameters: Parameters = ()
) -> Hypothesis:
    describe = changing(change)
    return Hypothesis(name, "pre-tokenizer", summary, parameters, describe=describe, order=order)


def _rewritings() -> Iterator[Hypothesis]:
    for name, (quantifier, summary) in _DIGITS.items():
        yield _hypothesis(name, summary, _digits(quantifier), _REWRITTEN)
    for name, (rewriting, summary) in _MARKS.items():
        for everywhere in (False, True):
            where = "letter-run-and-others" if everywhere else "letter-run"
            change = rewritten(rewriting(everywhere=everywhere))
            yield _hypothesis(name, summary, change, _REWRITTEN, (("changed", where),))
    for name, (plain, summary) in _OTHERS.items():
        order = _SPACES if plain is ascii_whitespace else _REWRITTEN
        yield _hypothesis(name, summary, rewritten(plain), order)


def _digits(quantifier: str) -> Change:
    patterns = rewritten(digits(quantifier))

    def own(step: Step) -> Step:
        if step.get("type") != "Digits":
            return step
        if quantifier == "{1,3}":
            return split(DIGIT + quantifier)
        return {**step, "individual_digits": not quantifier}

    return lambda steps: tuple(map(own, patterns(steps)))


def _older(seen: Seen) -> Iterator[Hypothesis]:
    """Yield each version of which these cases hold a character too new."""
    texts = (data.decode("utf-8", "ignore") for data in seen.cases if not data.isascii())
    newest = [text for text in texts if _newer(VERSIONS[-1]).search(text)]
    for version in VERSIONS:
        if any(map(_newer(version).search, newest)):
            yield _hypothesis(
                CLASSES,
                f"characters newer than Unicode {version} are in no class of a pattern",
                _classes(version),
                _CLASSES,
                (("unicode", version),),
            )


def _classes(version: str) -> Change:
    older = older_classes(version)
    patterns = rewritten(older)

    def own(step: Step) -> Step:
        if step.get("type") != "Digits":
            return step
        return split(older(r"\p{N}") + ("" if step.get("individual_digits") else "+"))

    return lambda steps: tuple(map(own, patterns(steps)))


@cache
def _newer(version: str) -> re.Pattern[str]:
    return re.compile(f"[{characters_newer_than(version)}]")


def _flipped(seen: Seen) -> Iterator[Hypothesis]:
    steps = flat(seen.description.get("pre_tokenizer"))
    if prefix() in steps:
        yield _flip("no space is put before the text", _without_prefix)
    elif is_byte_level(steps):
        wheres = {
            "section": ("a space is put before the text, and behind each added token", "always"),
            "text": ("a space is put before the text", "first"),
        }
        for where, (summary, scheme) in wheres.items():
            yield _flip(summary, _with_prefix(scheme), where)
        if any(map(splits, steps)):
            yield _flip("a space is put before every word", _with_prefix("always", -1), "word")
    elif any(step.get("type") == "Metaspace" for step in steps):
        for scheme in ("always", "first", "never"):
            change = _metaspace(scheme)
            before = "nothing" if scheme == "never" else "section" if scheme == "always" else "text"
            yield _flip(f"the word sign is put before {before}", change, before)


def _flip(summary: str, change: Change, before: str = "") -> Hypothesis:
    parameters: Parameters = (("before", before),) if before else ()
    return _hypothesis(PREFIX_FLIPPED, summary, change, _PREFIXED, parameters)


def _without_prefix(steps: Steps) -> Steps:
    return tuple(step for step in steps if step != prefix())


def _with_prefix(scheme: str, place: int = 0) -> Change:
    def change(steps: Steps) -> Steps:
        at = len(steps) + place if place else 0
        return (*steps[:at], prefix(scheme), *steps[at:]) if is_byte_level(steps) else steps

    return change


def _metaspace(scheme: str) -> Change:
    def own(step: Step) -> Step:
        if step.get("type") != "Metaspace" or step.get("prepend_scheme", "always") == scheme:
            return step
        # What older files say beside it would contradict it.
        left = {key: value for key, value in step.items() if key != "add_prefix_space"}
        return {**left, "prepend_scheme": scheme}

    return lambda steps: tuple(map(own, steps))


def _without_a_split(steps: Steps) -> Iterator[Hypothesis]:
    count = sum(map(splits, steps))
    for number in range(1, count + 1) if count > 1 else ():
        summary = f"step {number} of {count} that split the text is left out"
        change = _without(number)
        yield _hypothesis(SPLIT_MISSING, summary, change, _LEFT_OUT, (("split", number),))


def _without(number: int) -> Change:
    def change(steps: Steps) -> Steps:
        places = [place for place, step in enumerate(steps) if splits(step)]
        if not 1 < len(places) >= number:
            return steps
        place = places[number - 1]
        return (*steps[:place], *steps[place + 1 :])

    return change


def _exchanged() -> Iterator[Hypothesis]:
    for name, patterns in PATTERNS.items():
        summary = f"the text is split by the pattern of {_TITLES[name]}"
        yield _hypothesis(PATTERN + name, summary, _with_patterns(patterns), _EXCHANGED)


_TITLES = {
    "gpt2": "GPT-2",
    "cl100k": "cl100k",
    "llama3": "Llama-3",
    "qwen2": "Qwen2",
    "qwen3.5": "Qwen3.5",
    "deepseek-v3": "DeepSeek-V3",
    "o200k": "o200k",
    "tekken": "Tekken",
}


def _with_patterns(patterns: Sequence[str]) -> Change:
    def change(steps: Steps) -> Steps:
        if not is_byte_level(steps):
            return steps
        places = [place for place, step in enumerate(steps) if splits(step)]
        first = places[0] if places else len(steps) - 1
        behind = tuple(step for step in steps[first:] if not splits(step))
        return (*steps[:first], *map(split, patterns), *behind)

    return change
