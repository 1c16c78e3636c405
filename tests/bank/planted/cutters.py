"""Pre-tokenizers of our own, which the library calls: runs cut short, and two patterns by hand."""

import json
import re
import unicodedata
from collections.abc import Callable, Iterator

import unicodedata2
from tokenizers import NormalizedString, PreTokenizedString, Tokenizer
from tokenizers import pre_tokenizers as pre

from tests.bank.planted import NotHere, Step, Subject, defect
from tests.bank.planted.ages import known
from tests.bank.planted.patterns import PATTERNS, set_steps, steps_of
from tests.bank.planted.texts import SPACE


class _Cutter:
    """A pre-tokenizer of our own for the library to call: it cuts every piece as it is told."""

    def __init__(self, cut: Callable[[str], Iterator[str]]) -> None:
        self._cut = cut

    def pre_tokenize(self, text: PreTokenizedString) -> None:
        def pieces(_: int, normal: NormalizedString) -> list[NormalizedString]:
            found, start = [], 0
            for piece in self._cut(normal.normalized):
                if piece:
                    found.append(normal[start : start + len(piece)])
                start += len(piece)
            return found

        text.split(pieces)


def _made(step: Step) -> pre.PreTokenizer:
    """Return a step of the file as the library's own object."""
    holder = {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": step,
        "model": {"type": "BPE", "vocab": {}, "merges": []},
    }
    return Tokenizer.from_str(json.dumps(holder)).pre_tokenizer


def _cutting(subject: Subject, cut: Callable[[str], Iterator[str]], *, instead: bool) -> None:
    """Cut the pieces once more, or ``instead`` of the declared Splits; bytes are spelt after it."""
    steps = steps_of(subject)
    if instead:
        steps = [step for step in steps if step["type"] != "Split"]
    set_steps(subject, steps)

    def replace(tokenizer: Tokenizer) -> None:
        made = [_made(step) for step in steps_of(subject)]
        last = [one for one in made if type(one).__name__ == "ByteLevel"]
        first = [one for one in made if type(one).__name__ != "ByteLevel"]
        cutter = pre.PreTokenizer.custom(_Cutter(cut))
        tokenizer.pre_tokenizer = pre.Sequence([*first, cutter, *last])

    subject.loaded.append(replace)


@defect("marks-capped")
def _(subject: Subject, value: str) -> None:
    cap = int(value)

    def cut(piece: str) -> Iterator[str]:
        start = marks = 0
        for place, char in enumerate(piece):
            kind = unicodedata.category(char)[0]
            marks = marks + 1 if kind == "M" else marks if kind == "L" else 0
            if marks == cap:
                yield piece[start : place + 1]
                start, marks = place + 1, 0
        yield piece[start:]

    _cutting(subject, cut, instead=False)


@defect("word-capped")
def _(subject: Subject, value: str) -> None:
    cap = int(value)

    def cut(piece: str) -> Iterator[str]:
        for start in range(0, len(piece), cap):
            yield piece[start : start + cap]

    _cutting(subject, cut, instead=False)


class Scanner:
    """The patterns of Llama 3 and Qwen 2 by hand, letters and numbers as of a Unicode version."""

    def __init__(self, version: str, digits: int) -> None:
        self._known, self._digits = known(version), digits

    def _kind(self, char: str) -> str:
        if char in SPACE:
            return "space"
        kind = unicodedata2.category(char)[0] if self._known(char) else "C"
        return {"L": "letter", "N": "number"}.get(kind, "other")

    def __call__(self, text: str) -> Iterator[str]:
        kinds = [*map(self._kind, text), "end"]
        place = 0
        while place < len(text):
            end = self._end(text, kinds, place)
            yield text[place:end]
            place = end

    def _end(self, text: str, kinds: list[str], place: int) -> int:
        def run(start: int, kind: str, most: int | None = None) -> int:
            end = start
            while kinds[end] == kind and (most is None or end - start < most):
                end += 1
            return end

        ending = re.match(r"'(?:[sdmtſ]|ll|ve|re)", text[place : place + 3], re.IGNORECASE)
        if ending:
            return place + ending.end()
        first = text[place]
        if kinds[place] == "letter":
            return run(place, "letter")
        if kinds[place] == "number":
            return run(place, "number", self._digits)
        if first not in "\r\n" and kinds[place + 1] == "letter":
            return run(place + 1, "letter")
        start = place + 1 if first == " " and kinds[place + 1] == "other" else place
        if kinds[start] == "other":
            end = run(start, "other")
            while text[end : end + 1] in ("\r", "\n"):
                end += 1
            return end
        end = run(place, "space")
        last = max(text.rfind("\n", place, end), text.rfind("\r", place, end))
        if last >= 0:
            return last + 1
        return end if end == len(text) or end - place == 1 else end - 1


def cut_by(subject: Subject, version: str, scanner: type[Scanner]) -> None:
    """Cut by a scanner in the place of the pattern, where it is one of the two that it knows."""
    splits = [step for step in steps_of(subject) if step["type"] == "Split"]
    scanned = {PATTERNS["llama3"]: 3, PATTERNS["qwen2"]: 1}
    digits = scanned.get(splits[0]["pattern"]["Regex"]) if len(splits) == 1 else None
    if digits is None:
        raise NotHere("the scanner is written for two patterns")
    _cutting(subject, scanner(version, digits), instead=True)


@defect("classes-unicode-version")
def _(subject: Subject, value: str) -> None:
    cut_by(subject, value, Scanner)
