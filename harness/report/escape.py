r"""Text that others wrote, made safe to show: it cannot move a cursor, reorder a line, open a tag.

What cannot be shown as itself is shown as ``\u{HEX}``; a backslash is doubled, so that what is
shown can be read back in one way only.
"""

import json
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

# Shown as nothing although they are letters, symbols or marks: Hangul fillers, the blank Braille
# pattern, the combining grapheme joiner, and Khmer's inherent vowels.
_INVISIBLE = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5")
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
# More marks than this on one letter climb into the lines above and below.
_MARKS = 2
_MARKUP = frozenset("&<>|`*~[]#@$\\\"'")
# An underscore inside a word is no emphasis, and lane names are full of them.
_EMPHASIS = re.compile(r"(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])")


def terminal(text: str) -> str:
    """Return ``text`` on one line, free of anything a terminal or a log viewer would act upon.

    Control characters of both sets, format and direction characters, spaces other than U+0020, lone
    surrogates, private and unassigned characters, and marks without a letter to sit on are escaped.
    GitHub's runner takes ``##[`` for a command anywhere in a line, and ``::`` at its start; both
    are broken up.
    """
    shown: list[str] = []
    marks = _MARKS  # a mark at the start has no letter to sit on
    for char in text:
        kind = unicodedata.category(char)
        if kind[0] == "M" and not _variation(char) and char not in _INVISIBLE and marks < _MARKS:
            marks += 1
            shown.append(char)
            continue
        if char == " ":
            marks = _MARKS
            shown.append(char)
        elif char == "\\":
            marks = _MARKS
            shown.append("\\\\")
        elif kind in _UNSAFE or kind[0] == "M" or char in _INVISIBLE:
            marks = _MARKS
            shown.append(f"\\u{{{ord(char):x}}}")
        else:
            marks = 0 if kind[0] in "LN" else _MARKS
            shown.append(char)
    safe = "".join(shown).replace("##[", "#\\u{23}[")
    return "\\u{3a}" + safe[1:] if safe.startswith("::") else safe


def _variation(char: str) -> bool:
    """Whether the character only chooses how the one before it is drawn."""
    return "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"


def markdown(text: str) -> str:
    """Return ``text`` for a Markdown or HTML page: as :func:`terminal`, with no markup left in it.

    Every character that Markdown or HTML could read as markup becomes a numeric entity; so does a
    doubled colon, which starts a workflow command, and the colon of an address.
    """
    safe = "".join(f"&#{ord(char)};" if char in _MARKUP else char for char in terminal(text))
    safe = _EMPHASIS.sub("&#95;", safe)
    return safe.replace("::", "&#58;&#58;").replace("://", "&#58;//")


def shell(word: str) -> str:
    """Return one word of a command a person can paste into bash, in printable ASCII.

    Words of plain characters stand as they are, others in single quotes, and those with anything
    outside printable ASCII in bash's ``$'…'`` form, byte by byte.
    """
    plain = word.isascii() and word.isprintable() and "##[" not in word
    if plain and word and all(char.isalnum() or char in "_-./=:,+@%" for char in word):
        return word
    if plain:
        return "'" + word.replace("'", "'\\''") + "'"
    try:
        data = word.encode("utf-8", "surrogateescape")  # as the file system's own names have it
    except UnicodeEncodeError:
        data = word.encode("utf-8", "surrogatepass")
    return "$'" + "".join(map(_ansi_c, data)).replace("##[", "#\\x23[") + "'"


def _ansi_c(byte: int) -> str:
    if byte in (0x27, 0x5C):
        return "\\" + chr(byte)
    return chr(byte) if 0x20 <= byte < 0x7F else f"\\x{byte:02x}"


def json_text(document: Mapping[str, Any]) -> str:
    """Return indented JSON in printable ASCII: no text in it acts on a terminal."""
    text = json.dumps(document, indent=1, ensure_ascii=True, allow_nan=False)
    return text.replace("\x7f", "\\u007f")  # the one control character that json leaves alone
