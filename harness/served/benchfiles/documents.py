"""The JSON of a benchmark's file: one value, one after another, or one a line; and its models.

Python's writers put ``Infinity`` and ``NaN`` where numbers are none, so both are read; a field in
which they mean nothing refuses them. Everything else that is not JSON is an error with its place.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AllowInfNan, BaseModel, ConfigDict, Field

from harness.errors import UsageError
from harness.files import read_ordinary
from harness.validated import validate

LARGEST = 512 * 1024 * 1024
_SPACE = re.compile(r"[ \t\r\n]*")
_COMPRESSED: Mapping[bytes, tuple[str, str]] = {
    b"\x1f\x8b": ("gzip", "gunzip"),
    b"\x28\xb5\x2f\xfd": ("zstd", "unzstd"),
    b"PK\x03\x04": ("zip", "unzip"),
}

Tokens = Annotated[int, Field(ge=0, le=10**12)]
Number = Annotated[float, Field(ge=0, le=1e15)]
Rate = Annotated[float, AllowInfNan(True)] | str


class Loose(BaseModel):
    """Base of the models of other programs' files: unknown keys pass, wrong types do not."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True, allow_inf_nan=False)


M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class Document:
    """One JSON value and its place, ``FILE`` or ``FILE:LINE``."""

    value: Any
    place: str

    def as_model(self, model: type[M]) -> M:
        """Return the value checked; raises :class:`UsageError` with the key and what is due."""
        return fitted(self.value, model, self.place)


@dataclass(frozen=True)
class Content:
    """All that a file holds. ``sha256`` is of its bytes."""

    path: Path
    sha256: str
    documents: tuple[Document, ...]


def fitted(value: object, model: type[M], place: str) -> M:
    """Return ``value`` as ``model``; raises :class:`UsageError` for its first mistake."""
    try:
        return validate(value, model, place)
    except UsageError as error:
        # What helps in YAML, to quote a truth value, is no help here.
        error.remedy = "this is no file as the benchmark wrote it: take the original"
        raise


def load(path: Path, what: str) -> Content:
    """Return the JSON values of a file; ``what`` names what it should be.

    Raises :class:`UsageError`: a file that cannot be read, is too large, compressed, empty, not
    UTF-8, cut off, not JSON, nested too deeply, or with a key given twice in one object.
    """
    try:
        data = read_ordinary(path, LARGEST)
    except (OSError, ValueError) as error:
        words = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"cannot be read: {words}", where=str(path), expected=what) from error
    for magic, (name, program) in _COMPRESSED.items():
        if data.startswith(magic):
            raise UsageError(
                f"is compressed ({name})", where=str(path), remedy=f"{program} it first"
            )
    text = _text(data, path, what)
    values = tuple(_values(text, path, what))
    if not values:
        raise UsageError("is empty", where=str(path), expected=what)
    return Content(path, hashlib.sha256(data).hexdigest(), values)


def _text(data: bytes, path: Path, what: str) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UsageError(
            "is UTF-16", where=str(path), remedy=f"iconv -f UTF-16 -t UTF-8 '{path}'", expected=what
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(
            f"is not UTF-8 at byte {error.start}", where=f"{path}:{line}", expected=what
        ) from error


def _values(text: str, path: Path, what: str) -> list[Document]:
    found: list[Document] = []
    decoder = json.JSONDecoder(object_pairs_hook=_without_twins)
    at, line = _skip(text, 0), 1
    line += text.count("\n", 0, at)
    while at < len(text):
        place = str(path) if not found and _alone(text, at) else f"{path}:{line}"
        try:
            value, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise _broken(error, text, path, what) from error
        except RecursionError as error:
            raise UsageError("is nested too deeply", where=place, expected=what) from error
        except ValueError as error:  # a key given twice; an integer of 5,000 digits
            words = str(error).partition(";")[0]
            raise UsageError(f"is not to be read: {words}", where=place, expected=what) from error
        found.append(Document(value, place))
        after = _skip(text, end)
        line += text.count("\n", at, after)
        at = after
    return found


def _alone(text: str, at: int) -> bool:
    """Whether a file looks like one value over many lines and not like one value a line."""
    first = text.find("\n", at)
    return first < 0 or not text[first:].strip() or text[at:first].strip() in ("{", "[")


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _broken(error: json.JSONDecodeError, text: str, path: Path, what: str) -> UsageError:
    where = f"{path}:{error.lineno}:{error.colno}"
    if not text[error.pos :].strip() or error.msg.startswith("Unterminated string"):
        return UsageError(
            "is cut off: the JSON ends before its value does",
            where=where,
            expected=what,
            remedy="copy the file again, or run the benchmark again: nothing is taken from a part",
        )
    return UsageError(f"is not JSON: {error.msg}", where=where, expected=what)


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [key for key, _ in pairs]
        twin = next(key for key in names if names.count(key) > 1)
        raise ValueError(f"the key {twin[:60]!r} is given twice in one object")
    return found


def rate(value: float | str | None) -> float | str | None:
    """Return a request rate as JSON can carry it: ``"inf"`` for no limit."""
    if not isinstance(value, float) or value - value == 0:
        return value
    return "inf" if value > 0 else None


def words(value: object) -> str | None:
    """Return a text of a file, None where it is none or empty."""
    return value if isinstance(value, str) and value else None
