r"""Case and Corpus: inputs with ids, bytes and traits, read from JSON Lines.

One line is one case::

    {"id": "crlf", "text": "a\r\nb", "traits": ["newline"], "source": "a/b#1", "catches": "…"}

``text`` carries Unicode; ``hex`` carries any bytes and is the only way to write invalid UTF-8.
``source`` says where the case comes from and ``catches`` what it can reveal; both may be left out.
Every line is checked, and a claimed trait that its bytes do not have is an error: see
:mod:`harness.traits`.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.errors import CorpusError
from harness.files import read_ordinary
from harness.traits import computed_traits, objection

KEYS = ("id", "text", "hex", "traits", "source", "catches")
FIRST = "smoke"
_GZIP = b"\x1f\x8b"
_MARK = b"\xef\xbb\xbf"  # what some editors put before UTF-8; no part of the first line
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+:-]{0,199}\Z")


@dataclass(frozen=True)
class Case:
    """One input. ``claimed`` holds the traits that its line names, each one verified by `load`."""

    id: str
    data: bytes
    claimed: frozenset[str] = frozenset()
    source: str | None = None
    catches: str | None = None

    @cached_property
    def traits(self) -> frozenset[str]:
        """The claimed traits and all that can be computed; worked out when first asked for."""
        return self.claimed | computed_traits(self.data)

    @property
    def text(self) -> str | None:
        """The case as text, or None where its bytes are not UTF-8."""
        try:
            return self.data.decode("utf-8")
        except UnicodeDecodeError:
            return None


@dataclass(frozen=True)
class Statistics:
    """What a corpus holds. ``longest`` and ``bytes`` count bytes; ``ungraded`` is not UTF-8."""

    cases: int
    bytes: int
    code_points: int
    longest: int
    ungraded: int
    traits: Mapping[str, int]


@dataclass(frozen=True)
class Corpus:
    """A file of cases. ``sha256`` is of the content in canonical form, not of the file's layout."""

    name: str
    cases: tuple[Case, ...]
    sha256: str
    path: Path

    @cached_property
    def case_ids(self) -> tuple[str, ...]:
        """Every case's id across corpora, ``CORPUS/ID``, in order."""
        return tuple(case_id(self.name, case) for case in self.cases)

    def statistics(self) -> Statistics:
        """Count cases, bytes, code points and traits; every ``marks:N`` counts as ``marks``."""
        texts = [case.text for case in self.cases]
        traits = Counter(
            name.partition(":")[0] if name.startswith("marks:") else name
            for case in self.cases
            for name in case.traits
        )
        return Statistics(
            cases=len(self.cases),
            bytes=sum(len(case.data) for case in self.cases),
            code_points=sum(len(text) for text in texts if text is not None),
            longest=max((len(case.data) for case in self.cases), default=0),
            ungraded=sum(text is None for text in texts),
            traits=dict(sorted(traits.items())),
        )


def case_id(corpus: str, case: Case) -> str:
    """Return the id of a case across corpora: ``CORPUS/ID``."""
    return f"{corpus}/{case.id}"


def bundled_names(directory: Path) -> tuple[str, ...]:
    """Return the names of a directory's corpora, ``smoke`` first and the others by alphabet."""
    names = (path.stem for path in directory.glob("*.jsonl"))
    return tuple(sorted(names, key=lambda name: (name != FIRST, name)))


def load(path: Path) -> Corpus:
    """Read a corpus file.

    Raises :class:`CorpusError` with file and line: a file that cannot be read or holds no case; a
    line that is not JSON, not an object, has an unknown key, a wrong type, both or neither of text
    and hex, a lone surrogate, a repeated id, or a trait that is unknown or false. Blank lines are
    skipped. Lines end with LF or CRLF only: U+2028 and its like are content.
    """
    try:
        content = read_ordinary(path)
    except OSError as error:
        raise CorpusError(
            f"cannot be read: {error.strerror}", where=str(path), expected="a corpus, JSON Lines"
        ) from error
    if content.startswith(_GZIP):
        raise CorpusError("is compressed", where=str(path), remedy=f"gunzip {path}")
    cases: list[Case] = []
    lines: dict[str, int] = {}
    digest = hashlib.sha256()
    for number, line in enumerate(content.removeprefix(_MARK).split(b"\n"), start=1):
        if not line.strip(b" \t\r"):
            continue
        where = f"{path}:{number}"
        record = _record(line, where)
        case = _case(record, where)
        if case.id in lines:
            raise CorpusError(
                f"the id '{case.id}' appears twice, first on line {lines[case.id]}", where=where
            )
        lines[case.id] = number
        cases.append(case)
        digest.update(_canonical(case))
    if not cases:
        raise CorpusError("holds no case", where=str(path), expected="one JSON object a line")
    return Corpus(path.stem, tuple(cases), digest.hexdigest(), path)


def _canonical(case: Case) -> bytes:
    # Computed traits follow from the bytes, so only the claimed ones are content. The length
    # before the data keeps one case's end from being read as another's beginning.
    rest = [sorted(case.claimed), case.source, case.catches]
    words = json.dumps(rest).encode() if any(rest) else b""
    return b"%s %d %d\n%b%b" % (case.id.encode(), len(case.data), len(words), case.data, words)


def _record(line: bytes, where: str) -> dict[str, Any]:
    """Return a line as an object with known keys and right types."""
    try:
        record = _DECODER.decode(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise CorpusError(
            f"is not UTF-8 at byte {error.start + 1} of the line",
            where=where,
            remedy='write such bytes in hexadecimal: {"id": …, "hex": "61ff"}',
        ) from error
    except json.JSONDecodeError as error:
        raise CorpusError(
            f"is not JSON: {error.msg} at column {error.colno}",
            where=where,
            expected='one object a line: {"id": "a-name", "text": "…"}',
        ) from error
    except _TwinError as error:
        raise CorpusError(f"names the key '{error}' twice", where=where) from None
    except RecursionError as error:
        raise CorpusError("is nested too deeply to be a case", where=where) from error
    except ValueError as error:  # an integer of more digits than Python converts
        raise CorpusError(f"is not a case: {error}", where=where) from error
    if not isinstance(record, dict):
        raise CorpusError(f"is a JSON {type(record).__name__}", where=where, expected="an object")
    for key in record:
        if key not in KEYS:
            close = get_close_matches(key, KEYS, n=1, cutoff=0.6)
            raise CorpusError(
                f"unknown key '{_shown(key)}'",
                where=where,
                expected=", ".join(KEYS),
                remedy=f"did you mean '{close[0]}'?" if close else None,
            )
    record.setdefault("traits", [])
    traits = record["traits"]
    if not isinstance(traits, list) or not all(isinstance(one, str) for one in traits):
        raise CorpusError("'traits' is not a list of names", where=where)
    for key in ("id", "text", "hex", "source", "catches"):
        if key in record and not isinstance(record[key], str):
            raise CorpusError(
                f"'{key}' is a JSON {type(record[key]).__name__}", where=where, expected="a string"
            )
    return record


def _case(record: Mapping[str, Any], where: str) -> Case:
    name = record.get("id")
    if name is None:
        raise CorpusError("has no 'id'", where=where)
    if not _ID.match(name):
        raise CorpusError(
            f"the id '{_shown(name)}' is not usable",
            where=where,
            expected="at most 200 of letters, digits and . _ + : - with a letter or digit first",
        )
    data = _data(record, where)
    case = Case(
        name, data, frozenset(record["traits"]), record.get("source"), record.get("catches")
    )
    for claimed in record["traits"]:
        computed = computed_traits(data)
        objected = objection(claimed, computed)
        if objected is not None:
            raise CorpusError(
                f"case '{name}' {_shown(objected[0], 200)}",
                where=where,
                expected=f"the traits computed from its bytes: {', '.join(sorted(computed))}",
                remedy=objected[1] and _shown(objected[1], 200),
            )
    return case


def _data(record: Mapping[str, Any], where: str) -> bytes:
    if ("text" in record) == ("hex" in record):
        raise CorpusError(
            "has both 'text' and 'hex'" if "text" in record else "has neither 'text' nor 'hex'",
            where=where,
            expected="exactly one of them",
        )
    if "text" in record:
        try:
            return str(record["text"]).encode("utf-8")
        except UnicodeEncodeError as error:
            raise CorpusError(
                f"'text' has the lone surrogate U+{ord(error.object[error.start]):04X} at character"
                f" {error.start}, which no UTF-8 can carry",
                where=where,
                remedy="write the bytes you mean in 'hex' (an encoded U+D800 is eda080)",
            ) from error
    written = str(record["hex"])
    if len(written) % 2 or not re.fullmatch(r"[0-9A-Fa-f]*", written):
        raise CorpusError("'hex' is not pairs of hexadecimal digits", where=where)
    return bytes.fromhex(written)


def _shown(text: str, most: int = 60) -> str:
    """Return text for a message: control characters escaped, cut at ``most`` characters."""
    safe = text if text.isprintable() else text.encode("unicode_escape").decode("ascii")
    return safe if len(safe) <= most else f"{safe[: most - 1]}…"


class _TwinError(ValueError):
    """A key given twice in one object."""


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [key for key, _ in pairs]
        raise _TwinError(_shown(next(key for key in names if names.count(key) > 1)))
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_without_twins)
