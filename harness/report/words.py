"""A token, a text or a byte in words a person can hold against an editor: code points and bytes."""

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

from harness.plural import counted

# Makes text that others wrote safe for the place it is shown in (``harness.report.escape``).
Show = Callable[[str], str]


def _byte_alphabet() -> dict[str, int]:
    """Return GPT-2's alphabet: the character that stands for each byte in a byte-level vocabulary.

    Printable Latin-1 stands for itself, the rest from U+0100 upward in byte order
    (``bytes_to_unicode`` in openai/gpt-2, src/encoder.py).
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [byte for byte in range(0x100) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {
        chr(0x100 + place): byte for place, byte in enumerate(rest)
    }


_BYTE_OF = _byte_alphabet()
_BYTE_PIECE = re.compile(r"<0x[0-9A-Fa-f]{2}>")


def token(
    identity: int,
    piece: str | None,
    *,
    byte_level: bool,
    byte_fallback: bool = False,
    metaspace: bool = False,
) -> dict[str, Any]:
    """Return a token as evidence: its id, vocabulary entry, and the bytes it stands for in hex.

    A piece with a character outside the byte alphabet (an added token) stands for its own UTF-8,
    with ``byte_fallback`` ``<0x0A>`` for its byte, with ``metaspace`` U+2581 for a space.
    """
    if piece is None:
        return {"id": identity}
    if byte_level and all(char in _BYTE_OF for char in piece):
        data = bytes(_BYTE_OF[char] for char in piece)
    elif byte_fallback and _BYTE_PIECE.fullmatch(piece):
        data = bytes.fromhex(piece[3:5])
    else:
        spelt = piece.replace("\u2581", " ") if metaspace else piece
        data = spelt.encode("utf-8", "surrogatepass")
    return {"id": identity, "piece": piece, "hex": data.hex()}


def token_words(evidence: Mapping[str, Any], show: Show) -> str:
    """Return a token in words: ``12 "é" U+00E9 (c3 a9)``; bytes alone where they are no text."""
    words = [str(evidence["id"])]
    if "hex" in evidence:
        words.append(byte_words(bytes.fromhex(evidence["hex"]), show))
    return " ".join(words)


def byte_words(data: bytes, show: Show, most: int = 16) -> str:
    """Return at most ``most`` bytes in words: the text quoted, its code points, the bytes."""
    if not data:
        return "(no bytes)"
    more = " …" if len(data) > most else ""
    shown = data[:most]
    text = _readable(shown, cut=bool(more))
    if text is None:
        return f"({shown.hex(' ')}{more})"
    points = " ".join(f"U+{ord(char):04X}" for char in text)
    name = unicodedata.name(text, "").lower() if len(text) == 1 and not text.isascii() else ""
    title = f" {name}" if name else ""
    quoted = show('"' + text + '"')
    return f"{quoted}{more} {points}{title} ({shown.hex(' ')}{more})"


def input_words(evidence: Mapping[str, Any], show: Show) -> str:
    """Return the start of a case's input: quoted where it is text, in hex where it is not."""
    data = bytes.fromhex(evidence["hex"])
    size = evidence["bytes"]
    more = " …" if size > len(data) else ""
    text = _readable(data, cut=bool(more))
    quoted = data.hex(" ") if text is None else show('"' + text + '"')
    return f"{quoted}{more} ({counted(size, 'byte')})"


def _readable(data: bytes, *, cut: bool) -> str | None:
    """Return the text of bytes, less a character that a cut left incomplete; None if not text."""
    for dropped in range(4 if cut else 1):
        try:
            return data[: len(data) - dropped].decode("utf-8")
        except UnicodeDecodeError:
            continue
    return None
