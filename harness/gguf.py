"""What a GGUF file says of itself: its metadata, read without its weights.

A file has a header, then keys with typed values, then tensors. Single values are read; arrays, the
vocabulary among them, are only walked over and read when asked for. Versions 2 and 3, either byte
order. Text is UTF-8; bytes that are none stand as lone surrogates, so nothing is lost.
"""

import os
import stat
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO

from harness.errors import TokenizerError

Scalar = bool | int | float | str

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_UINT32, _STRING, _ARRAY, _UINT64 = 4, 8, 9, 10
# The format's number of a type → how struct spells it; strings and arrays are apart.
_NUMBERS = dict(enumerate("BbHhIif?")) | {10: "Q", 11: "q", 12: "d"}
_SIZES = {kind: struct.calcsize(f"<{spelt}") for kind, spelt in _NUMBERS.items()}
# Real files have some dozens of keys; the longest single text is a chat template of some 10 KB.
_MOST_KEYS = 1 << 16
_LONGEST_TEXT = 64 << 20
_LONGEST_KEY = 1 << 16
_DEEPEST = 4
_WHAT = "a GGUF file of version 2 or 3"
_TEMPLATE = "tokenizer.chat_template"


@dataclass(frozen=True)
class Array:
    """An array that lies in the file: ``length`` elements of the format's type ``kind``."""

    kind: int
    length: int
    offset: int


@dataclass(frozen=True)
class Metadata:
    """A file's keys with their values; an array is an :class:`Array` until it is read."""

    path: Path
    version: int
    big_endian: bool
    values: Mapping[str, Scalar | Array]

    def text(self, key: str) -> str | None:
        """Return a text, None where there is none; raises TokenizerError for another type."""
        found = self._of(key, str, "a text")
        return None if found is None else str(found)

    def number(self, key: str) -> int | None:
        """Return an integer, None where there is none; raises TokenizerError for another type."""
        found = self._of(key, int, "an integer")
        return None if found is None else int(found)

    def flag(self, key: str) -> bool | None:
        """Return a yes or no, None where there is none; raises TokenizerError for another type."""
        found = self._of(key, bool, "true or false")
        return None if found is None else bool(found)

    def _of(self, key: str, kind: type[Scalar], what: str) -> Scalar | None:
        found = self.values.get(key)
        if found is None:
            return None
        if isinstance(found, Array) or type(found) is not kind:
            raise TokenizerError(f"'{key}' is of another type", where=str(self.path), expected=what)
        return found

    def texts(self, key: str, most: int | None = None) -> tuple[str, ...]:
        """Return an array of texts, or its first ``most``; empty where there is none.

        Raises :class:`TokenizerError`: the value is no array of texts, or the file has changed.
        """
        found = self.values.get(key)
        if found is None:
            return ()
        if not isinstance(found, Array) or found.kind != _STRING:
            raise TokenizerError(
                f"'{key}' is of another type", where=str(self.path), expected="an array of texts"
            )
        wanted = found.length if most is None else min(most, found.length)
        with _opened(self.path) as reader:
            reader.big_endian = self.big_endian
            reader.file.seek(found.offset)
            return tuple(reader.text(_LONGEST_TEXT) for _ in range(wanted))


@dataclass(frozen=True)
class Vocabulary:
    """What a file says of its tokenizer; None and empty where it does not say.

    ``templates`` are chat templates by name, the unnamed one as ``default``. ``pattern`` is the
    name of the pre-tokenizer. ``bos`` and ``eos`` are token spellings.
    """

    name: str | None
    model: str | None
    pattern: str | None
    templates: Mapping[str, str]
    bos_id: int | None
    eos_id: int | None
    bos: str | None
    eos: str | None
    add_bos: bool | None


def vocabulary(metadata: Metadata) -> Vocabulary:
    """Return what the file says of its tokenizer.

    Raises :class:`TokenizerError` for a value of another type than the format's.
    """
    bos = metadata.number("tokenizer.ggml.bos_token_id")
    eos = metadata.number("tokenizer.ggml.eos_token_id")
    return Vocabulary(
        name=metadata.text("general.name"),
        model=metadata.text("tokenizer.ggml.model"),
        pattern=metadata.text("tokenizer.ggml.pre"),
        templates=_templates(metadata),
        bos_id=bos,
        eos_id=eos,
        bos=_spelling(metadata, bos),
        eos=_spelling(metadata, eos),
        add_bos=metadata.flag("tokenizer.ggml.add_bos_token"),
    )


def _templates(metadata: Metadata) -> Mapping[str, str]:
    found = {}
    for key in metadata.values:
        if key == _TEMPLATE or key.startswith(f"{_TEMPLATE}."):
            found[key[len(_TEMPLATE) + 1 :] or "default"] = metadata.text(key) or ""
    return MappingProxyType(found)


def _spelling(metadata: Metadata, number: int | None) -> str | None:
    if number is None or number < 0:
        return None
    first = metadata.texts("tokenizer.ggml.tokens", number + 1)
    return first[number] if number < len(first) else None


def metadata(path: Path) -> Metadata:
    """Return a file's metadata.

    Raises :class:`TokenizerError`: no ordinary file, not GGUF, another version, cut off inside the
    metadata, a key twice, or a length that no such file has.
    """
    with _opened(path) as reader:
        version = reader.header()
        reader.number(_UINT64)  # of tensors
        keys = reader.number(_UINT64)
        if keys > _MOST_KEYS:
            raise reader.wrong(f"claims {keys:,} keys of metadata")
        values: dict[str, Scalar | Array] = {}
        for _ in range(keys):
            key = reader.text(_LONGEST_KEY)
            if key in values:
                raise reader.wrong(f"has the key '{key}' twice")
            values[key] = reader.value(reader.number(_UINT32))
        return Metadata(path, version, reader.big_endian, MappingProxyType(values))


def _opened(path: Path) -> "_Reader":
    try:
        # Without O_NONBLOCK opening a named pipe waits until somebody writes to it.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise TokenizerError(
            f"cannot be read: {error.strerror}", where=str(path), expected=_WHAT
        ) from error
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode):
        os.close(handle)
        raise TokenizerError("is no ordinary file", where=str(path), expected=_WHAT)
    return _Reader(os.fdopen(handle, "rb", buffering=1 << 20), path, found.st_size)


class _Reader:
    """Reads an open file's values in order, and believes no length that the file has no room for.

    A context manager that closes the file.
    """

    def __init__(self, file: BinaryIO, path: Path, size: int) -> None:
        self.file = file
        self.path = path
        self.size = size
        self.big_endian = False

    def __enter__(self) -> "_Reader":
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def wrong(self, what: str) -> TokenizerError:
        """Return the error that says what is wrong, and where in the file."""
        where = f"{self.path}: byte {self.file.tell():,}"
        return TokenizerError(what, where=where, expected=_WHAT)

    def header(self) -> int:
        """Read magic and version, which shows the byte order; return the version."""
        magic = self.file.read(4)
        if magic != _MAGIC:
            raise TokenizerError("is no GGUF file", where=str(self.path), expected=_WHAT)
        version = self.number(_UINT32)
        swapped = int.from_bytes(version.to_bytes(4, "little"), "big")
        self.big_endian = swapped in _VERSIONS
        if self.big_endian:
            version = swapped
        if version not in _VERSIONS:
            raise self.wrong(f"is of version {version}")
        return version

    def number(self, kind: int) -> int:
        """Read an integer of the format's type ``kind``."""
        return int(self._unpacked(kind))

    def text(self, longest: int) -> str:
        """Read a text of at most ``longest`` bytes."""
        length = self.number(_UINT64)
        if length > longest:
            raise self.wrong(f"claims a text of {length:,} bytes")
        return self._bytes(length).decode("utf-8", "surrogateescape")

    def value(self, kind: int) -> Scalar | Array:
        """Read a value; an array is walked over."""
        if kind == _STRING:
            return self.text(_LONGEST_TEXT)
        if kind == _ARRAY:
            return self._array()
        return self._unpacked(kind)

    def _unpacked(self, kind: int) -> Scalar:
        if kind not in _NUMBERS:
            raise self.wrong(f"has a value of the unknown type {kind}")
        order = ">" if self.big_endian else "<"
        found: Scalar = struct.unpack(order + _NUMBERS[kind], self._bytes(_SIZES[kind]))[0]
        return found

    def _array(self, depth: int = 0) -> Array:
        kind, length = self.number(_UINT32), self.number(_UINT64)
        found = Array(kind, length, self.file.tell())
        # Every element takes at least a byte.
        if length > self.size - found.offset:
            raise self.wrong(f"claims an array of {length:,} elements")
        if kind in _SIZES:
            self._skip(length * _SIZES[kind])
        elif kind == _STRING:
            self._skip_texts(length)
        elif kind == _ARRAY and depth < _DEEPEST:
            for _ in range(length):
                self._array(depth + 1)
        else:
            raise self.wrong(f"has an array of the unknown type {kind}")
        return found

    def _skip_texts(self, length: int) -> None:
        """Walk over texts; a vocabulary has some hundred thousand, so this is spelt out."""
        read, unpack = self.file.read, struct.Struct(">Q" if self.big_endian else "<Q").unpack
        try:
            for _ in range(length):
                (size,) = unpack(read(8))
                if size > _LONGEST_TEXT:
                    raise self.wrong(f"claims a text of {size:,} bytes")
                if len(read(size)) != size:
                    raise self._cut()
        except struct.error:
            raise self._cut() from None

    def _skip(self, size: int) -> None:
        if size > self.size - self.file.tell():
            raise self._cut()
        self.file.seek(size, os.SEEK_CUR)

    def _bytes(self, size: int) -> bytes:
        data = self.file.read(size)
        if len(data) != size:
            raise self._cut()
        return data

    def _cut(self) -> TokenizerError:
        return TokenizerError(
            f"is cut off inside its metadata, after {self.size:,} bytes",
            where=str(self.path),
            expected=_WHAT,
            remedy="copy or fetch it again",
        )
