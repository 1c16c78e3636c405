"""Changes to the normalizer's lower-casing and accent stripping: left out, or added.

BertNormalizer does either by a flag, and strips accents where ``strip_accents`` is null and
``lowercase`` is true. Lowercase and StripAccents are steps; the latter leaves a composed letter
alone, so that NFD or NFKD stands before it.
"""

import unicodedata
from collections.abc import Callable, Sequence

from harness.hypotheses.hypothesis import Description, Hypothesis
from harness.hypotheses.normalizer_steps import (
    Step,
    extended,
    steps,
    with_normalizer,
    with_steps,
)
from harness.hypotheses.seen import Seen

LOWERCASE_LEFT_OUT, LOWERCASE_ADDED, ACCENTS_LEFT_OUT, ACCENTS_STRIPPED = NAMES = (
    "lowercase-left-out",
    "lowercase-added",
    "accents-strip-left-out",
    "accents-stripped",
)
PARAMETERS = {
    LOWERCASE_LEFT_OUT: ("accents",),
    ACCENTS_LEFT_OUT: ("without",),
    ACCENTS_STRIPPED: ("marks", "form"),
}
_LOWERCASE = {"type": "Lowercase"}
_NFC, _NFD, _STRIP = {"type": "NFC"}, {"type": "NFD"}, {"type": "StripAccents"}
# BertNormalizer strips what does not take room, as most ports of BERT do; StripAccents every mark.
_STRIP_NONSPACING = {
    "type": "BertNormalizer",
    "clean_text": False,
    "handle_chinese_chars": False,
    "strip_accents": True,
    "lowercase": False,
}


def _lowers(step: Step) -> bool:
    kind = step.get("type")
    return kind == "Lowercase" or (kind == "BertNormalizer" and bool(step.get("lowercase")))


def _strips(step: Step) -> bool:
    if step.get("type") != "BertNormalizer":
        return step.get("type") == "StripAccents"
    asked = step.get("strip_accents")
    return bool(step.get("lowercase") if asked is None else asked)


def _without_lowercase(step: Step) -> Step | None:
    if not _lowers(step):
        return step
    if step.get("type") == "Lowercase":
        return None
    return {**step, "lowercase": False, "strip_accents": _strips(step)}


def _as_if_cased(step: Step) -> Step | None:
    """Leave out lower-casing and, where accents follow it, their stripping as well."""
    if step.get("type") == "BertNormalizer" and step.get("strip_accents") is None:
        return {**step, "lowercase": False}
    return _without_lowercase(step)


def _without_strip(step: Step) -> Step | None:
    if not _strips(step):
        return step
    return None if step.get("type") == "StripAccents" else {**step, "strip_accents": False}


def _without_strip_or_form(step: Step) -> Step | None:
    return None if step.get("type") in {"NFD", "NFKD"} else _without_strip(step)


def proposed(seen: Seen) -> tuple[Hypothesis, ...]:
    """Return what the declared normalizer does left out, and what it does not do added."""
    declared = steps(seen.description.get("normalizer"))
    found: list[Hypothesis] = []
    if any(map(_lowers, declared)):
        found += _lowercase_left_out(declared)
    else:
        add = with_normalizer(lambda normalizer: extended(normalizer, last=_LOWERCASE))
        summary = "the text is lower-cased though the normalizer does not ask for it"
        found.append(Hypothesis(LOWERCASE_ADDED, "normalizer", summary, describe=add))
    if any(map(_strips, declared)):
        found += _accents_left_out(declared)
    else:
        found += _accents_stripped(seen)
    return tuple(found)


def _lowercase_left_out(declared: Sequence[Step]) -> list[Hypothesis]:
    summary = "the text is not lower-cased"
    one = Hypothesis(
        LOWERCASE_LEFT_OUT, "normalizer", summary, describe=with_steps(_without_lowercase)
    )
    if all(_as_if_cased(step) == _without_lowercase(step) for step in declared):
        return [one]
    other = Hypothesis(
        LOWERCASE_LEFT_OUT,
        "normalizer",
        f"{summary}, and its accents are kept with its case",
        (("accents", "kept"),),
        describe=with_steps(_as_if_cased),
    )
    return [one, other]


def _accents_left_out(declared: Sequence[Step]) -> list[Hypothesis]:
    summary = "accents are not stripped"
    one = Hypothesis(ACCENTS_LEFT_OUT, "normalizer", summary, describe=with_steps(_without_strip))
    forms = [step["type"] for step in declared if _without_strip_or_form(step) is None]
    also = next((form for form in forms if form != "StripAccents"), None)
    if also is None:
        return [one]
    other = Hypothesis(
        ACCENTS_LEFT_OUT,
        "normalizer",
        f"{summary}, nor is {also} applied",
        (("without", also),),
        describe=with_steps(_without_strip_or_form),
    )
    return [one, other]


def _accents_stripped(seen: Seen) -> list[Hypothesis]:
    """Return stripping in each way that can be told apart by the characters of the cases."""
    marks, composes = _tells(seen)
    found: list[Hypothesis] = []
    for kind in ("nonspacing", "all") if marks else ("all",):
        for form in ("NFD", "NFC") if composes else ("NFD",):
            summary = "accents are stripped though the normalizer does not ask for it"
            parameters = [("marks", kind)] * marks + [("form", form)] * composes
            ways = ", ".join(f"{key} {value}" for key, value in parameters)
            found.append(
                Hypothesis(
                    ACCENTS_STRIPPED,
                    "normalizer",
                    f"{summary} ({ways})" if ways else summary,
                    tuple(parameters),
                    describe=_stripping(nonspacing=kind == "nonspacing", composed=form == "NFC"),
                )
            )
    return found


def _stripping(*, nonspacing: bool, composed: bool) -> Callable[[Description], Description]:
    added: list[Step] = [_STRIP_NONSPACING] if nonspacing else [_NFD, _STRIP]
    if composed:
        added.append(_NFC)

    def change(normalizer: Step | None) -> Step | None:
        for step in added:
            normalizer = extended(normalizer, last=step)
        return normalizer

    return with_normalizer(change)


def _tells(seen: Seen) -> tuple[bool, bool]:
    """Return whether the cases hold marks that take room, and letters that NFC would compose again.

    Hangul syllables are such letters; most others come apart into a letter and a mark that goes.
    """
    characters = set().union(*(data.decode("utf-8", "ignore") for data in seen.cases))
    parts = set().union(*(unicodedata.normalize("NFD", one) for one in characters))
    return (
        any(unicodedata.category(part) in {"Mc", "Me"} for part in parts),
        any("\u1100" <= part <= "\u11ff" for part in parts)
        or any(_composes_again(one) for one in characters),
    )


def _composes_again(character: str) -> bool:
    left = "".join(
        part
        for part in unicodedata.normalize("NFD", character)
        if unicodedata.category(part)[0] != "M"
    )
    return unicodedata.normalize("NFC", left) != left
