"""Changes to the bytes before any stage sees them, and what becomes of bytes that are not UTF-8.

Bytes that are no character count as characters of their own and stay what they are, so that a
change to the text never settles what becomes of them: that is a byte policy's.
"""

import codecs
import json
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

from harness.hypotheses import truncation
from harness.hypotheses.hypothesis import Hypothesis, Pieces
from harness.hypotheses.seen import Seen

Change = Callable[[bytes], bytes]


def _until_nul(data: bytes) -> Pieces:
    return (data.partition(b"\0")[0],)


def _without_last(data: bytes) -> Pieces:
    return (data[:-1],)


NUL_ENDS_TEXT = Hypothesis(
    "nul-ends-text", "input", "the text ends at its first NUL byte", text=_until_nul
)
LAST_BYTE_DROPPED = Hypothesis(
    "last-byte-dropped", "input", "the text's last byte is left out", text=_without_last
)


def _of_text(change: Callable[[str], str]) -> Change:
    return lambda data: change(data.decode("utf-8", "surrogateescape")).encode(
        "utf-8", "surrogateescape"
    )


def _each_valid(change: Callable[[str], str]) -> Change:
    """Change each stretch of valid UTF-8, and leave the bytes between them alone."""
    return _of_text(lambda text: re.sub("[^\udc80-\udcff]+", lambda match: change(match[0]), text))


# isspace() in the C locale, and White_Space of Unicode. str.strip() by itself would take U+001C to
# U+001F too, which are in neither.
_ASCII_SPACE = "\t\n\v\f\r "
_UNICODE_SPACE = (
    _ASCII_SPACE
    + "\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    + "\u2028\u2029\u202f\u205f\u3000"
)


def _trimmed(
    trim: Callable[[str, str], str], trim_bytes: Callable[[bytes, bytes], bytes]
) -> Mapping[str, Change]:
    ascii_space = _ASCII_SPACE.encode()
    wide = _of_text(lambda text: trim(text, _UNICODE_SPACE))

    def trimmed(data: bytes) -> bytes:
        return trim_bytes(data, ascii_space)

    return {
        "ascii": trimmed,
        "unicode": lambda data: trimmed(data) if data.isascii() else wide(data),
    }


def _escaped(*, ascii_only: bool) -> Change:
    return _each_valid(lambda text: json.dumps(text, ensure_ascii=ascii_only)[1:-1])


# Windows-1252 as browsers and most converters have it: the five bytes it leaves open are controls.
_CP1252 = {
    byte: bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in range(0x80, 0xA0)
}
_HIGH_CONTROLS = re.compile(rb"[\x80-\x9f]")


def _twice(data: bytes) -> bytes:
    return data.decode("latin-1").encode()


def _twice_cp1252(data: bytes) -> bytes:
    if not _HIGH_CONTROLS.search(data):  # what the two codecs read alike, the faster reads
        return _twice(data)
    return data.decode("latin-1").translate(_CP1252).encode()


def _without_newline(data: bytes) -> bytes:
    return data.removesuffix(b"\n")


# name → (summary, parameter, its values with the change of each). Narrow changes come first.
_CHANGES: Mapping[str, tuple[str, str, Mapping[str, Change]]] = {
    "bom-dropped": (
        "a byte order mark at the beginning is left out",
        "",
        {"": lambda data: data.removeprefix(codecs.BOM_UTF8)},
    ),
    "final-newline-dropped": ("one newline at the end is left out", "", {"": _without_newline}),
    "crlf-to-lf": (
        "each CR LF is read as LF",
        "",
        {"": lambda data: data.replace(b"\r\n", b"\n")},
    ),
    "leading-whitespace-trimmed": (
        "white space at the beginning is left out",
        "whitespace",
        _trimmed(str.lstrip, bytes.lstrip),
    ),
    "trailing-whitespace-trimmed": (
        "white space at the end is left out",
        "whitespace",
        _trimmed(str.rstrip, bytes.rstrip),
    ),
    "outer-whitespace-trimmed": (
        "white space at the beginning and at the end is left out",
        "whitespace",
        _trimmed(str.strip, bytes.strip),
    ),
    "json-escapes-undecoded": (
        "the text is read as it stands in JSON, its escapes not decoded",
        "escapes",
        {"minimal": _escaped(ascii_only=False), "ascii": _escaped(ascii_only=True)},
    ),
    "double-utf8": (
        "the text's UTF-8 is taken for single bytes and made UTF-8 again",
        "codec",
        {"latin-1": _twice, "cp1252": _twice_cp1252},
    ),
}
LAST_CHARACTER_DROPPED = Hypothesis(
    "last-character-dropped",
    "input",
    "the text's last character is left out",
    text=lambda data: (_of_text(lambda text: text[:-1])(data),),
)
NAMES = (
    NUL_ENDS_TEXT.name,
    LAST_BYTE_DROPPED.name,
    LAST_CHARACTER_DROPPED.name,
    *_CHANGES,
    *truncation.NAMES,
)
# The keys of the parameters of those that have any; so in each stage's file.
PARAMETERS = {
    **{name: (key,) for name, (_, key, _) in _CHANGES.items() if key},
    **truncation.PARAMETERS,
}


def can_show(name: str, seen: Seen) -> bool:
    """Whether any case would be changed, or is long enough for a limit to show."""
    if name in truncation.NAMES:
        return truncation.can_show(name, seen)
    return any(one.name == name for one in _untold(seen))


def proposed(seen: Seen) -> tuple[Hypothesis, ...]:
    """Return the input changes that would change any case; the others cannot be tested."""
    return (*_untold(seen), *truncation.proposed(seen))


def _untold(seen: Seen) -> tuple[Hypothesis, ...]:
    """Return the changes in which no number is inferred from the cases."""
    last = [LAST_BYTE_DROPPED, LAST_CHARACTER_DROPPED]
    if any(data and data[-1] >= 0x80 for data in seen.cases):
        # The two differ here, but for a subject that besides leaves out what is left of a character
        # cut in two, and of that the simpler account is that the character goes.
        last.reverse()
    return (
        *_changing([NUL_ENDS_TEXT], seen),
        *(one for name in _CHANGES for one in _variants(name, seen)),
        *_changing(last, seen),
    )


def _changing(hypotheses: Sequence[Hypothesis], seen: Seen) -> list[Hypothesis]:
    return [one for one in hypotheses if any(one.text(data) != (data,) for data in seen.cases)]


def _variants(name: str, seen: Seen) -> list[Hypothesis]:
    """Return the ways of one change that can be told apart here.

    The parameter is named where the ways differ on any case; else nothing is known of it.
    """
    summary, key, ways = _CHANGES[name]
    apart = _apart(tuple(ways.values()), seen)
    told = any(pair in apart for pair in combinations(range(1, len(ways) + 1), 2))
    found: list[Hypothesis] = []
    for place, (value, change) in enumerate(ways.items(), 1):
        # Apart from the text itself, and from every way before it.
        if all((before, place) in apart for before in range(place)):
            found.append(
                Hypothesis(
                    name,
                    "input",
                    f"{summary} ({key}: {value})" if told else summary,
                    ((key, value),) if told else (),
                    text=_single(change),
                )
            )
    return found


def _apart(ways: Sequence[Change], seen: Seen) -> set[tuple[int, int]]:
    """Return which two of these differ on any case: the text, numbered 0, and the ways from 1.

    Each case is changed at most once each way, and none when all are known to differ.
    """
    pairs = set(combinations(range(len(ways) + 1), 2))
    apart: set[tuple[int, int]] = set()
    for data in seen.cases:
        if apart == pairs:
            break
        texts = (data, *(change(data) for change in ways))
        apart |= {(one, other) for one, other in pairs - apart if texts[one] != texts[other]}
    return apart


def _single(change: Change) -> Callable[[bytes], Pieces]:
    return lambda data: (change(data),)


def _per_byte(data: bytes) -> str:
    text = data.decode("utf-8", "surrogateescape")
    return "".join("\ufffd" if "\udc80" <= char <= "\udcff" else char for char in text)


def _per_run(data: bytes) -> str:
    text = data.decode("utf-8", "surrogateescape")
    kept: list[str] = []
    for char in text:
        if not "\udc80" <= char <= "\udcff":
            kept.append(char)
        elif not kept or kept[-1] != "":
            # An empty mark stands for the run, so that a genuine U+FFFD before it is not merged.
            kept.append("")
    return "".join(char or "\ufffd" for char in kept)


# The beginning of a character, and then the end. CPython's incremental decoder would not do: behind
# ED A0, which begins none, it waits for more.
_INCOMPLETE_TAIL = re.compile(
    rb"(?:[\xc2-\xf4]|\xe0[\xa0-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]|\xed[\x80-\x9f]"
    rb"|\xf0[\x90-\xbf][\x80-\xbf]?|[\xf1-\xf3][\x80-\xbf]{1,2}|\xf4[\x80-\x8f][\x80-\xbf]?)\Z"
)


def _without_incomplete_tail(data: bytes) -> str:
    return _INCOMPLETE_TAIL.sub(b"", data).decode("utf-8", "replace")


# What can become of bytes that are not UTF-8; the first is what Unicode recommends (chapter 3.9,
# "Substitution of maximal subparts"), and what CPython's "replace" does.
POLICIES: Mapping[str, Callable[[bytes], str]] = {
    "replaced-per-subpart": lambda data: data.decode("utf-8", "replace"),
    "replaced-per-byte": _per_byte,
    "replaced-per-run": _per_run,
    "incomplete-tail-dropped": _without_incomplete_tail,
    "dropped": lambda data: data.decode("utf-8", "ignore"),
    "latin-1": lambda data: data.decode("latin-1"),
    "latin-1-per-byte": lambda data: "".join(
        chr(ord(char) & 0xFF) if "\udc80" <= char <= "\udcff" else char
        for char in data.decode("utf-8", "surrogateescape")
    ),
}
RECOMMENDED = "replaced-per-subpart"
REFUSED = "refused"
