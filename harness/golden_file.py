"""The form of a golden, ``encodings.json``: reading it with every check, and writing it.

One format, a superset of ``{"oracle": …, "entries": [{"text", "ids"}]}``, which is read too::

    {"oracle": "tokenizers 0.22.2", "tokenizer_sha256": "…", "provenance": {…},
     "entries": [{"id": "corpus/case", "text", "ids", "ids_special", "decoded"}, …],
     "ungraded": [{"id": "corpus/case", "hex", "reason"}, …]}

``ids`` has no special tokens added, ``ids_special`` has, and ``decoded`` is what the library makes
of ``ids``, which need not be the text. A case that the oracle cannot take is kept as ``hex`` with
the reason. Every entry is on a line of its own, so that blessing appends lines and changes none.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from harness.corpus import Case
from harness.errors import GoldenRefused
from harness.files import read_ordinary
from harness.outcomes import Ids

Document = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Entry:
    """What the oracle answered for one case. A legacy entry has ``ids`` alone."""

    id: str
    text: str
    ids: Ids
    ids_special: Ids | None
    decoded: str | None


@dataclass(frozen=True)
class Ungraded:
    """A case that the oracle cannot take, and why."""

    id: str
    data: bytes
    reason: str


@dataclass(frozen=True, eq=False)
class Golden:
    """A golden file. A legacy one has no ``tokenizer_sha256``, and its cases go by their text."""

    path: Path
    oracle: str
    tokenizer_sha256: str | None
    provenance: Mapping[str, Any]
    entries: Mapping[str, Entry]
    ungraded: Mapping[str, Ungraded]

    @cached_property
    def _by_text(self) -> Mapping[str, Entry]:
        return {entry.text: entry for entry in self.entries.values()}

    def entry(self, corpus: str, case: Case) -> Entry | Ungraded | None:
        """Return what is recorded for a case, by its id; in a legacy file by its text.

        Raises :class:`GoldenRefused` where the same id was recorded for other bytes.
        """
        if self.tokenizer_sha256 is None:
            return None if case.text is None else self._by_text.get(case.text)
        name = f"{corpus}/{case.id}"
        found = self.entries.get(name) or self.ungraded.get(name)
        if found is None:
            return None
        data = found.data if isinstance(found, Ungraded) else found.text.encode()
        if data != case.data:
            raise GoldenRefused(
                f"was recorded for other bytes under the id '{name}'",
                where=str(self.path),
                remedy="give the changed case a new id, or remove that entry and bless again",
            )
        return found


def read_document(path: Path) -> Document:
    """Return a golden's JSON with all its keys; raises :class:`GoldenRefused`."""
    try:
        document = json.loads(read_ordinary(path))
    except OSError as error:
        raise GoldenRefused(f"cannot be read: {error.strerror}", where=str(path)) from error
    except (ValueError, RecursionError) as error:
        raise GoldenRefused(
            f"is not JSON: {error}",
            where=str(path),
            remedy="restore it from version control, or remove it and bless again",
        ) from error
    if not isinstance(document, dict) or not isinstance(document.get("entries"), list):
        raise GoldenRefused(
            "is not a golden", where=str(path), expected='{"oracle": …, "entries": […]}'
        )
    return document


def parse(path: Path, document: Document) -> Golden:
    """Return a golden from its JSON; raises :class:`GoldenRefused` naming the wrong part."""
    sha256 = document.get("tokenizer_sha256")
    oracle = document.get("oracle")
    if not isinstance(oracle, str) or not isinstance(sha256, str | None):
        refuse(path, "names no oracle, or a sha256 that is not text")
    entries: dict[str, Entry] = {}
    for number, record in enumerate(document["entries"], start=1):
        entry = _entry(path, f"entry {number}", record, legacy=sha256 is None)
        if entry.id in entries and sha256 is not None:
            refuse(path, f"has the entry '{entry.id}' twice")
        entries[entry.id] = entry
    ungraded: dict[str, Ungraded] = {}
    for record in document.get("ungraded", []):
        one = _ungraded(path, record)
        if one.id in entries or one.id in ungraded:
            refuse(path, f"has the entry '{one.id}' twice")
        ungraded[one.id] = one
    return Golden(path, oracle, sha256, document.get("provenance") or {}, entries, ungraded)


def read(path: Path) -> Golden:
    """Read a golden; raises :class:`GoldenRefused` for a file that is none, naming the entry."""
    return parse(path, read_document(path))


def rendered(document: Document) -> bytes:
    """Return a golden's JSON as it is written: ASCII, one line an entry, one line a head key."""
    heads = [
        f"{json.dumps(key)}: {json.dumps(value)},"
        for key, value in document.items()
        if key not in ("entries", "ungraded")
    ]
    parts = ["{", *heads]
    for key, end in (("entries", "],"), ("ungraded", "]")):
        lines = [json.dumps(record) for record in document[key]]
        parts += [f'"{key}": [', *[f"{line}," for line in lines[:-1]], *lines[-1:], end]
    return ("\n".join([*parts, "}"]) + "\n").encode("ascii")


def refuse(path: Path, what: str, remedy: str | None = None) -> NoReturn:
    """Raise :class:`GoldenRefused` for a golden."""
    raise GoldenRefused(what, where=str(path), remedy=remedy)


def _entry(path: Path, place: str, record: object, *, legacy: bool) -> Entry:
    if not isinstance(record, dict) or not isinstance(record.get("text"), str):
        refuse(path, f"{place} has no text")
    text: str = record["text"]
    try:
        data = text.encode()
    except UnicodeEncodeError:
        refuse(path, f"{place} holds a lone surrogate")
    name = record.get("id", f"legacy/{hashlib.sha256(data).hexdigest()[:16]}" if legacy else None)
    if not isinstance(name, str):
        refuse(path, f"{place} has no id")
    special, decoded = record.get("ids_special"), record.get("decoded")
    if not isinstance(decoded, str | None):
        refuse(path, f"'{name}': 'decoded' is not text")
    return Entry(
        name,
        text,
        _ids(path, name, record.get("ids")),
        None if special is None else _ids(path, name, special),
        decoded,
    )


def _ids(path: Path, name: str, value: object) -> Ids:
    # bool is an int to Python, and numpy would take it: only whole numbers are ids.
    if isinstance(value, list) and all(type(one) is int and 0 <= one < 2**32 for one in value):
        return np.array(value, dtype=np.uint32)
    refuse(path, f"'{name}' has ids that are not whole numbers from 0 to 4294967295")


def _ungraded(path: Path, record: object) -> Ungraded:
    if isinstance(record, dict):
        name, written, reason = (record.get(key) for key in ("id", "hex", "reason"))
        if isinstance(name, str) and isinstance(written, str) and isinstance(reason, str):
            try:
                return Ungraded(name, bytes.fromhex(written), reason)
            except ValueError:
                refuse(path, f"'{name}': 'hex' is not hexadecimal")
    refuse(path, "has an ungraded entry without id, hex and reason")
