"""Defects that no list of causes has: what the product must leave unexplained."""

import zlib
from collections.abc import Callable

from tests.bank.planted import Ids, NotHere, Subject, defect
from tests.bank.planted.texts import on_text


def _text(name: str, change: Callable[[str], str]) -> None:
    def plant(subject: Subject, value: str) -> None:
        subject.texts.append(on_text(change))

    defect(name)(plant)


def _ids(name: str, change: Callable[[Ids], Ids]) -> None:
    def plant(subject: Subject, value: str) -> None:
        subject.ids.append(change)

    defect(name)(plant)


def _digits_reversed(text: str) -> str:
    found, run = "", ""
    for char in text + "\0":
        if char.isascii() and char.isdigit():
            run += char
        else:
            found, run = found + run[::-1] + char, ""
    return found[:-1]


_CYRILLIC = str.maketrans("АВЕКМНОРСТХаеорсух", "ABEKMHOPCTXaeopcyx")
_text("third-character-dropped", lambda text: "".join(c for i, c in enumerate(text) if i % 3 != 2))
_text("vowels-doubled", lambda text: "".join(c * 2 if c in "aeiouAEIOU" else c for c in text))
_text("first-uppercased", lambda text: text[:1].upper() + text[1:])
_text("digits-reversed", _digits_reversed)
_text("even-length-loses-first", lambda text: text if len(text) % 2 else text[1:])
_text("cyrillic-folded", lambda text: text.translate(_CYRILLIC))
_text("beyond-bmp-dropped", lambda text: "".join(c for c in text if ord(c) < 0x10000))
_text(
    "beyond-bmp-as-question-mark",
    lambda text: "".join(c if c < "\U00010000" else "?" for c in text),
)
_text("tabs-expanded", lambda text: text.replace("\t", "    "))
_text("newlines-squeezed", lambda text: text.replace("\n\n", "\n"))
_text(
    "fullwidth-digits-to-ascii",
    lambda text: text.translate({0xFF10 + i: 0x30 + i for i in range(10)}),
)
_text("long-texts-halved", lambda text: text[: len(text) // 2] if len(text) > 100 else text)

_ids("ids-sorted", sorted)
_ids("last-id-repeated", lambda ids: ids + ids[-1:])
_ids("fifth-id-lost", lambda ids: ids[:4] + ids[5:])
_ids(
    "equal-neighbours-joined",
    lambda ids: [x for i, x in enumerate(ids) if not i or x != ids[i - 1]],
)


def _swapped(ids: Ids) -> Ids:
    seed = zlib.crc32(repr(ids).encode())
    if len(ids) < 2 or seed % 3:
        return ids
    place = seed % (len(ids) - 1)
    return [*ids[:place], ids[place + 1], ids[place], *ids[place + 2 :]]


_ids("two-ids-swapped", _swapped)


@defect("vocabulary-entries-exchanged")
def _(subject: Subject, value: str) -> None:
    """Exchange two entries of the vocabulary, named by their spelling: ``a,b``."""
    first, second = value.split(",")
    vocabulary = subject.model["vocab"]
    if first not in vocabulary or second not in vocabulary:
        raise NotHere("no such entries")
    vocabulary[first], vocabulary[second] = vocabulary[second], vocabulary[first]


@defect("merges-missing")
def _(subject: Subject, value: str) -> None:
    """Leave out the merge of this rank."""
    if "merges" not in subject.model:
        raise NotHere("no merges")
    del subject.model["merges"][int(value)]
