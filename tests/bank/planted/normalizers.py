"""Normalizers: other ones in the file, and one of our own making."""

from collections.abc import Callable

import unicodedata2
from tokenizers import NormalizedString, Regex, Tokenizer
from tokenizers.normalizers import Normalizer

from tests.bank.planted import NotHere, Step, Subject, defect
from tests.bank.planted.ages import known


@defect("normalizer-left-out")
def _(subject: Subject, value: str) -> None:
    if subject.described["normalizer"] is None:
        raise NotHere("no normalizer")
    subject.described["normalizer"] = None


def _form(name: str) -> Callable[[Subject, str], None]:
    def plant(subject: Subject, value: str) -> None:
        if subject.described["normalizer"] == {"type": name}:
            raise NotHere(f"{name} is declared")
        subject.described["normalizer"] = {"type": name}

    return plant


for _name in ("NFC", "NFD", "NFKC", "NFKD"):
    defect(f"normalizer-{_name.lower()}")(_form(_name))


def _steps(normalizer: Step | None) -> list[Step]:
    if normalizer is None:
        return []
    return list(normalizer["normalizers"]) if normalizer["type"] == "Sequence" else [normalizer]


def _then(subject: Subject, *more: str) -> None:
    steps = [*_steps(subject.described["normalizer"]), *({"type": name} for name in more)]
    subject.described["normalizer"] = {"type": "Sequence", "normalizers": steps}


@defect("lowercase-added")
def _(subject: Subject, value: str) -> None:
    _then(subject, "Lowercase")


@defect("accents-stripped")
def _(subject: Subject, value: str) -> None:
    _then(subject, "NFD", "StripAccents", *([value] if value else []))


def _bert(subject: Subject, flag: str) -> None:
    normalizer = subject.described["normalizer"]
    if normalizer is None or normalizer["type"] != "BertNormalizer":
        raise NotHere("no BertNormalizer")
    normalizer[flag] = False


@defect("lowercase-left-out")
def _(subject: Subject, value: str) -> None:
    _bert(subject, "lowercase")


@defect("accents-strip-left-out")
def _(subject: Subject, value: str) -> None:
    _bert(subject, "strip_accents")


def _without(subject: Subject, kind: str) -> None:
    steps = _steps(subject.described["normalizer"])
    kept = [step for step in steps if step["type"] != kind]
    if len(kept) == len(steps):
        raise NotHere(f"no {kind}")
    subject.described["normalizer"] = {"type": "Sequence", "normalizers": kept}


@defect("replace-left-out")
def _(subject: Subject, value: str) -> None:
    _without(subject, "Replace")


@defect("prepend-left-out")
def _(subject: Subject, value: str) -> None:
    _without(subject, "Prepend")


def normalized_as_of(form: str, version: str, text: str) -> str:
    """Return a normal form as a version of Unicode has it: to it, newer characters are nothing."""
    is_known = known(version)
    found, run = "", ""
    for char in text:
        if is_known(char):
            run += char
            continue
        found, run = found + unicodedata2.normalize(form, run) + char, ""
    return found + str(unicodedata2.normalize(form, run))


class _AsOf:
    """A normalizer of our own for the library to call."""

    def __init__(self, form: str, version: str) -> None:
        self._form, self._version = form, version

    def normalize(self, text: NormalizedString) -> None:
        after = normalized_as_of(self._form, self._version, text.normalized)
        if after != text.normalized:
            text.replace(Regex(r"(?m)\A.*\z"), after)


@defect("normalizer-unicode-version")
def _(subject: Subject, value: str) -> None:
    steps = _steps(subject.described["normalizer"])
    if [step["type"] for step in steps] not in (["NFC"], ["NFD"], ["NFKC"], ["NFKD"]):
        raise NotHere("no normal form alone")
    form = steps[0]["type"]

    def replace(tokenizer: Tokenizer) -> None:
        tokenizer.normalizer = Normalizer.custom(_AsOf(form, value))
        # The contents of normalized added tokens are made anew when tokens are added, even none.
        tokenizer.add_tokens([])

    subject.loaded.append(replace)
