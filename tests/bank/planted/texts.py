"""What can be done to a text before any tokenizer sees it."""

import json
from collections.abc import Callable
from contextlib import suppress

from tests.bank.planted import Subject, defect

ASCII_SPACE = b" \t\n\x0b\x0c\r"
# White_Space of Unicode, spelt out: Python's own str.strip() takes U+001C to U+001F besides.
SPACE = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009"
    "\u200a\u2028\u2029\u202f\u205f\u3000"
)


def on_text(change: Callable[[str], str]) -> Callable[[bytes], bytes]:
    """Return a change of text as one of bytes; bytes that are not UTF-8 pass as they are."""

    def changed(data: bytes) -> bytes:
        return change(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    return changed


@defect("nul-ends-text")
def _(subject: Subject, value: str) -> None:
    subject.texts.append(lambda data: data.split(b"\0")[0])


@defect("last-byte-dropped")
def _(subject: Subject, value: str) -> None:
    subject.texts.append(lambda data: data[:-1])


@defect("last-character-dropped")
def _(subject: Subject, value: str) -> None:
    subject.texts.append(on_text(lambda text: text[:-1]))


@defect("crlf-to-lf")
def _(subject: Subject, value: str) -> None:
    subject.texts.append(lambda data: data.replace(b"\r\n", b"\n"))


def _trimmed(data: bytes, value: str, *, front: bool, back: bool) -> bytes:
    if value == "ascii":
        data = data.lstrip(ASCII_SPACE) if front else data
        return data.rstrip(ASCII_SPACE) if back else data

    def trim(text: str) -> str:
        text = text.lstrip(SPACE) if front else text
        return text.rstrip(SPACE) if back else text

    return on_text(trim)(data)


@defect("leading-whitespace-trimmed")
def _(subject: Subject, value: str) -> None:
    subject.texts.append(lambda data: _trimmed(data, value, front=True, back=False))


@defect("trailing-whitespace-trimmed")
def _(subject: Subject, value: str) -> None:
    subject.texts.append(lambda data: _trimmed(data, value, front=False, back=True))


@defect("outer-whitespace-trimmed")
def _(subject: Subject, value: str) -> None:
    subject.texts.append(lambda data: _trimmed(data, value, front=True, back=True))


@defect("final-newline-dropped")
def _(subject: Subject, value: str) -> None:
    subject.texts.append(lambda data: data[:-1] if data.endswith(b"\n") else data)


@defect("bom-dropped")
def _(subject: Subject, value: str) -> None:
    subject.texts.append(lambda data: data[3:] if data.startswith(b"\xef\xbb\xbf") else data)


@defect("truncated-bytes")
def _(subject: Subject, value: str) -> None:
    subject.texts.append(lambda data: data[: int(value)])


@defect("truncated-characters")
def _(subject: Subject, value: str) -> None:
    subject.texts.append(on_text(lambda text: text[: int(value)]))


@defect("json-escapes-undecoded")
def _(subject: Subject, value: str) -> None:
    escape_all = value == "ascii"
    subject.texts.append(on_text(lambda text: json.dumps(text, ensure_ascii=escape_all)[1:-1]))


@defect("double-utf8")
def _(subject: Subject, value: str) -> None:
    def as_text(byte: int) -> str:
        one = bytes([byte])
        try:
            return one.decode(value)
        except UnicodeDecodeError:  # five bytes have no character in cp1252; browsers keep them
            return chr(byte)

    subject.texts.append(lambda data: "".join(map(as_text, data)).encode())


@defect("policy")
def _(subject: Subject, value: str) -> None:
    """Another policy for bytes that are not UTF-8: nothing that a graded case shows."""

    def runs(data: bytes, mark: Callable[[str], str]) -> str:
        text, found, bad = data.decode("utf-8", "surrogateescape"), "", ""
        for char in text:
            if "\udc80" <= char <= "\udcff":
                bad += char
                continue
            found, bad = found + mark(bad) + char, ""
        return found + mark(bad)

    def whole(tail: bytes) -> bool:
        """Whether more bytes could make one character of these."""
        for filler in (b"\x80", b"\xa0"):
            for more in range(1, 4):
                with suppress(UnicodeDecodeError):
                    return len((tail + filler * more).decode()) == 1
        return False

    def tail(data: bytes) -> str:
        cut = next((cut for cut in (1, 2, 3) if data[-cut:] and whole(data[-cut:])), 0)
        return data[: len(data) - cut].decode("utf-8", "replace")

    policies: dict[str, Callable[[bytes], str]] = {
        "replaced-per-byte": lambda data: runs(data, lambda bad: "\ufffd" * len(bad)),
        "replaced-per-run": lambda data: runs(data, lambda bad: "\ufffd" if bad else ""),
        "dropped": lambda data: runs(data, lambda bad: ""),
        "latin-1": lambda data: data.decode("latin-1"),
        "latin-1-per-byte": lambda data: runs(
            data, lambda bad: "".join(chr(ord(char) - 0xDC00) for char in bad)
        ),
        "incomplete-tail-dropped": tail,
    }
    subject.policy = policies[value]
