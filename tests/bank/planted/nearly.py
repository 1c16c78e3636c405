"""Defects close to a listed one and not it: what a careless attribution would name."""

import unicodedata
from collections.abc import Callable

import unicodedata2
from tokenizers import Tokenizer

from tests.bank.planted import Ids, NotHere, Subject, defect
from tests.bank.planted.cutters import Scanner, cut_by
from tests.bank.planted.patterns import respell
from tests.bank.planted.texts import on_text


def _text(name: str, change: Callable[[str], str]) -> None:
    def plant(subject: Subject, value: str) -> None:
        subject.texts.append(on_text(change))

    defect(name)(plant)


def _ascii_lower(text: str) -> str:
    return "".join(char.lower() if char.isascii() else char for char in text)


def _latin_1_bare(text: str) -> str:
    return "".join(
        unicodedata.normalize("NFD", char)[0] if "\xc0" <= char <= "\xff" else char for char in text
    )


def _marks_dropped(text: str) -> str:
    """Leave out every mark after the sixth of a run, where a cap would begin a new word."""
    kept, marks = "", 0
    for char in text:
        marks = marks + 1 if unicodedata.category(char)[0] == "M" else 0
        kept += char if marks <= 6 else ""
    return kept


def _but_hangul(text: str) -> str:
    """Compose everything but Hangul."""
    found, run = "", ""
    for char in text:
        if "\u1100" <= char <= "\u11ff":
            found, run = found + unicodedata2.normalize("NFC", run) + char, ""
        else:
            run += char
    return found + str(unicodedata2.normalize("NFC", run))


_text("spaces-alone-trimmed", lambda text: text.strip(" "))
_text("universal-newlines", lambda text: text.replace("\r\n", "\n").replace("\r", "\n"))
_text("all-final-newlines-dropped", lambda text: text.rstrip("\n"))
_text("nul-to-space", lambda text: text.replace("\0", " "))
_text("nul-dropped", lambda text: text.replace("\0", ""))
_text("last-two-characters-dropped", lambda text: text[:-2])
_text("every-bom-dropped", lambda text: text.replace("\ufeff", ""))
_text("lowercased-ascii", _ascii_lower)
_text("casefolded", str.casefold)
_text("latin-1-accents-stripped", _latin_1_bare)
_text("quotes-escaped", lambda text: text.replace('"', '\\"'))
_text("marks-beyond-six-dropped", _marks_dropped)
_text("truncated-words", lambda text: text[:60].rpartition(" ")[0] if len(text) > 60 else text)


@defect("composed-but-hangul")
def _(subject: Subject, value: str) -> None:
    if subject.described["normalizer"] != {"type": "NFC"}:
        raise NotHere("no NFC")
    subject.described["normalizer"] = None
    subject.texts.append(on_text(_but_hangul))


@defect("digits-by-two")
def _(subject: Subject, value: str) -> None:
    respell(subject, (r"\p{N}{1,3}", r"\p{N}{1,2}"), (r"|\p{N}|", r"|\p{N}{1,2}|"))


@defect("newlines-not-apart")
def _(subject: Subject, value: str) -> None:
    respell(subject, (r"|\s*[\r\n]+", ""))


@defect("newlines-not-with-punctuation")
def _(subject: Subject, value: str) -> None:
    respell(subject, (r"+[\r\n]*", "+"))


@defect("one-added-token-unrecognised")
def _(subject: Subject, value: str) -> None:
    if all(token["content"] != value for token in subject.added):
        raise NotHere(f"no added token {value}")
    subject.recognised = lambda token: bool(token["content"] != value)


@defect("ids-shifted-from-the-middle")
def _(subject: Subject, value: str) -> None:
    subject.ids.append(lambda ids: [one + (one > 1000) for one in ids])


@defect("digits-alone-of-an-older-version")
def _(subject: Subject, value: str) -> None:
    """Numbers newer than a version are none, and letters are as new as the library's."""

    class Mixed(Scanner):
        def _kind(self, char: str) -> str:
            number = unicodedata2.category(char)[0] == "N"
            kind = super()._kind(char)
            return "letter" if not number and unicodedata2.category(char)[0] == "L" else kind

    cut_by(subject, value, Mixed)


@defect("first-merge-at-random")
def _(subject: Subject, value: str) -> None:
    """A word that is long enough has its first two characters apart, whatever the merges say."""

    def word(tokenizer: Tokenizer, spelt: str) -> Ids:
        cut = [spelt[:1], spelt[1:]] if len(spelt) > 6 else [spelt]
        return [token.id for part in cut for token in tokenizer.model.tokenize(part)]

    subject.word = word
