"""Traits: tagged properties of a case, computed from its bytes wherever a rule can decide them.

A trait is *computed* (a rule over the bytes decides it, and a corpus line that claims it falsely
is an error), *declared* (an intention that no rule sees, such as ``metaspace``), or a user's own,
whose name begins with ``x-``. ``corpora/traits.yaml`` explains each.

The rules rest on pinned Unicode data and never on the age of this Python's ``unicodedata``, so
a trait that holds on one machine holds on every other.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Container, Iterable, Mapping
from difflib import get_close_matches
from functools import cache

from harness import unicode_pins
from harness.unicode_versions import brought_by

LONG = 4096
OWN_PREFIX = "x-"
_MARKS = re.compile(r"marks:([1-9][0-9]*)\Z")

# The 25 characters of White_Space, unchanged since Unicode 6.3: what `\s` matches in the oracle.
WHITE_SPACE = frozenset(
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_CONTRACTION = re.compile(r"'(?:[sdmtſ]|ll|ve|re)", re.IGNORECASE | re.ASCII)


class CodePoints:
    """A set of code points, held as sorted inclusive ranges."""

    def __init__(self, ranges: str) -> None:
        """Read ``ranges``: hexadecimal, ``FIRST`` or ``FIRST-LAST``, in rising order."""
        self._firsts: list[int] = []
        self._lasts: list[int] = []
        for part in ranges.split():
            first, _, last = part.partition("-")
            self._firsts.append(int(first, 16))
            self._lasts.append(int(last or first, 16))

    def __contains__(self, char: object) -> bool:
        """Tell whether one character is in the set."""
        code = ord(char) if isinstance(char, str) else -1
        at = bisect_right(self._firsts, code) - 1
        return at >= 0 and code <= self._lasts[at]


_KNOWN_TO_NFC = CodePoints(unicode_pins.NORMALIZER_KNOWS)
_MARK = CodePoints(unicode_pins.MARKS)

# Blocks, not the Script property: a block's range never changes.
_SETS: Mapping[str, Container[str]] = {
    "devanagari": CodePoints("900-97F A8E0-A8FF 11B00-11B5F"),
    "thai": CodePoints("E00-E7F"),
    "arabic": CodePoints("600-6FF 750-77F 870-8FF FB50-FDFF FE70-FEFE"),
    "hebrew": CodePoints("590-5FF FB1D-FB4F"),
    "hangul": CodePoints("1100-11FF 3130-318F A960-A97F AC00-D7FF"),
    "cjk": CodePoints("2E80-2FDF 3040-30FF 31F0-31FF 3400-4DBF 4E00-9FFF F900-FAFF 20000-3FFFF"),
    "cyrillic": CodePoints("400-52F 1C80-1C8F 2DE0-2DFF A640-A69F"),
    "greek": CodePoints("370-3FF 1F00-1FFF"),
    "emoji": CodePoints("2600-27BF 1F1E6-1F1FF 1F300-1F6FF 1F900-1F9FF 1FA70-1FAFF"),
    "zwj": CodePoints("200D"),
    "variation-selector": CodePoints("180B-180D 180F FE00-FE0F E0100-E01EF"),
    "private-use": CodePoints("E000-F8FF F0000-FFFFD 100000-10FFFD"),
    "astral": CodePoints("10000-10FFFF"),
    "control": CodePoints("0-8 E-1F 7F-84 86-9F"),
    "digits": CodePoints(unicode_pins.NUMBERS),
    "punctuation": CodePoints(unicode_pins.PUNCTUATION),
    "normalizer-age": CodePoints(unicode_pins.NORMALIZER_NEW),
    **{f"unicode-{major}": CodePoints(brought_by(major)) for major in range(10, 17)},
}

_CHARACTER_RULES: Mapping[str, Container[str]] = {
    **_SETS,
    "whitespace": WHITE_SPACE,
    "newline": frozenset("\r\n"),
    "nul": frozenset("\0"),
}
_TEXT_RULES = ("ascii", "bom", "contraction", "empty", "invalid-utf8", "long", "nfc-stable", "nfd")

COMPUTED: frozenset[str] = frozenset({*_TEXT_RULES, *_CHARACTER_RULES})
DECLARED: frozenset[str] = frozenset({"added-token", "case", "metaspace", "model", "utf8-edge"})


def nfc(text: str) -> str:
    """Return NFC as Unicode 9.0 defines it, which is the pinned oracle's, on every Python.

    Newer versions differ from 9.0 only at characters that 9.0 had not assigned (Unicode's
    normalization stability policy, UAX #15 section 3). To 9.0 each of those is a starter that
    composes with nothing, so the text may be cut there and its pieces normalized alone.
    """
    if text.isascii():
        return text
    if all(map(_known_to_nfc, set(text))):
        return unicodedata.normalize("NFC", text)
    pieces: list[str] = []
    start = 0
    for at, char in enumerate(text):
        if not _known_to_nfc(char):
            pieces += [unicodedata.normalize("NFC", text[start:at]), char]
            start = at + 1
    return "".join([*pieces, unicodedata.normalize("NFC", text[start:])])


@cache
def _known_to_nfc(char: str) -> bool:
    return char in _KNOWN_TO_NFC


@cache
def _character_traits(char: str) -> frozenset[str]:
    return frozenset(name for name, members in _CHARACTER_RULES.items() if char in members)


@cache
def _is_mark(char: str) -> bool:
    return char in _MARK


def computed_traits(data: bytes) -> frozenset[str]:
    """Return every computed trait that the bytes have, ``marks:N`` among them where N > 0.

    N counts the code points of general category M (Unicode 16.0) in the whole case, as they stand
    in the bytes, before any normalization. Bytes that are not UTF-8 have ``invalid-utf8``, and
    ``nul`` where a zero byte is among them, and no other.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return frozenset({"invalid-utf8", "nul"} if b"\0" in data else {"invalid-utf8"})
    different = set(text)
    found = set[str]().union(*map(_character_traits, different))
    found.add("nfc-stable" if nfc(text) == text else "nfd")
    if text.isascii():
        found.add("ascii")
    if different <= WHITE_SPACE:
        found.add("empty")
    if len(text) >= LONG:
        found.add("long")
    if text.startswith("\ufeff"):
        found.add("bom")
    if _CONTRACTION.search(text):
        found.add("contraction")
    marks = sum(text.count(char) for char in filter(_is_mark, different))
    if marks:
        found.add(f"marks:{marks}")
    return frozenset(found)


def objection(claimed: str, computed: Iterable[str]) -> tuple[str, str | None] | None:
    """Return why a claimed trait cannot stand, with a remedy, or None where it stands.

    ``computed`` is what :func:`computed_traits` found in the same bytes.
    """
    here = set(computed)
    if claimed in here or claimed in DECLARED or claimed.startswith(OWN_PREFIX):
        return None
    if claimed in COMPUTED:
        return f"claims the trait '{claimed}', which is false", None
    if _MARKS.match(claimed):
        count = next((one for one in here if one.startswith("marks:")), "no marks")
        return f"claims '{claimed}' and has {count}", None
    known = sorted(COMPUTED | DECLARED | {"marks:N"})
    close = get_close_matches(claimed, known, n=1, cutoff=0.6)
    if close:
        return f"claims the unknown trait '{claimed}'", f"did you mean '{close[0]}'?"
    return f"claims the unknown trait '{claimed}'", f"name your own '{OWN_PREFIX}{claimed}'"
