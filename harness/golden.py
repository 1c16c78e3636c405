"""Goldens: the oracle's recorded answers, held against cases and against the live oracle.

The file's form is :mod:`harness.golden_file`'s. A run takes what is recorded, asks the live oracle
for the rest, and reports it as drift where the installed library no longer gives what it gave.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.atomic import write_atomically
from harness.corpus import Corpus
from harness.errors import GoldenRefused
from harness.golden_file import (
    Document,
    Entry,
    Golden,
    Ungraded,
    parse,
    read,
    read_document,
    refuse,
    rendered,
)
from harness.oracle import Oracle, library_version, unicode_facts
from harness.outcomes import Ids, Operation, Outcomes, Status, concatenate, from_answers
from harness.plural import counted
from harness.tokenizers import TokenizerFile

__all__ = [
    "Blessed",
    "Drift",
    "Entry",
    "Expected",
    "Golden",
    "Operation",
    "Ungraded",
    "answers",
    "bless",
    "check",
    "expected",
    "fill",
    "read",
    "verify",
]

NOT_UTF8 = "not UTF-8"
_SHOWN = 10
_VERSION = re.compile(r"tokenizers (\d[\w.+-]*)\Z")


@dataclass(frozen=True)
class Expected:
    """One row a case. ``missing`` rows have no entry and the status ``UNRESOLVED``."""

    outcomes: Outcomes
    missing: tuple[int, ...]


@dataclass(frozen=True)
class Drift:
    """One recorded answer that the installed library no longer gives.

    ``field`` is ids, ids_special or decoded; ``index`` is the first place at which the two differ.
    """

    id: str
    field: str
    expected: Sequence[int] | str
    observed: Sequence[int] | str
    index: int

    @property
    def words(self) -> str:
        """Both sides around the first difference, on one line."""
        start = max(0, self.index - 2)
        before, after = (
            ascii(side[start : self.index + 4]) for side in (self.expected, self.observed)
        )
        return f"{self.id}: {self.field} from index {start}: {before} recorded, {after} now"


@dataclass(frozen=True)
class Blessed:
    """What blessing did: the ids appended, and how many entries were there and stayed."""

    path: Path
    added: tuple[str, ...]
    kept: int


def check(golden: Golden, tokenizer: TokenizerFile, version: str) -> None:
    """Refuse a golden of another tokenizer or of another version of the library.

    ``version`` is the installed one, as in ``0.22.2``. Raises :class:`GoldenRefused`. A legacy
    file that names no tokenizer, or no version of ``tokenizers``, is taken as it is.
    """
    if golden.tokenizer_sha256 not in (None, tokenizer.sha256):
        raise GoldenRefused(
            f"is a golden for another tokenizer, of sha256 {golden.tokenizer_sha256}",
            where=str(golden.path),
            expected=f"{tokenizer.sha256}, the sha256 of {tokenizer.path}",
        )
    recorded = _VERSION.match(golden.oracle)
    if recorded is None and golden.tokenizer_sha256 is not None:
        raise GoldenRefused(
            f"names the oracle '{golden.oracle}'",
            where=str(golden.path),
            expected="tokenizers and its version",
        )
    if recorded is not None and recorded[1] != version:
        raise GoldenRefused(
            f"was recorded with tokenizers {recorded[1]}, and {version} is installed",
            where=str(golden.path),
            remedy=f"pip install tokenizers=={recorded[1]}",
        )


def expected(
    golden: Golden | None, corpora: Sequence[Corpus], operation: Operation = "encode"
) -> Expected:
    """Return the recorded outcomes of all cases of all corpora, end to end.

    ``decode`` gives the UTF-8 bytes of the decoded text. A case that is not UTF-8 is ``UNGRADED``
    whether it is recorded or not. Raises :class:`GoldenRefused` as :meth:`Golden.entry` does.
    """
    answers: list[Ids | Status] = []
    notes: dict[int, str] = {}
    missing: list[int] = []
    for corpus in corpora:
        for case in corpus.cases:
            found = golden.entry(corpus.name, case) if golden is not None else None
            answer = None if found is None else _answer(found, operation)
            if isinstance(found, Ungraded) and found.reason != NOT_UTF8:
                notes[len(answers)] = found.reason
            if answer is None and case.text is None:
                answer = Status.UNGRADED
            if answer is None:
                missing.append(len(answers))
                answer = Status.UNRESOLVED
            answers.append(answer)
    return Expected(from_answers(answers, notes), tuple(missing))


def fill(
    recorded: Mapping[Operation, Expected], oracle: Oracle, corpora: Sequence[Corpus]
) -> dict[Operation, Outcomes]:
    """Return the expected outcomes with the missing rows answered by the live oracle."""
    cases = [case for corpus in corpora for case in corpus.cases]
    missing = sorted({row for one in recorded.values() for row in one.missing})
    asked = answers(oracle, [cases[row].text for row in missing], tuple(recorded))
    place = {row: index for index, row in enumerate(missing)}
    filled: dict[Operation, Outcomes] = {}
    for operation, one in recorded.items():
        known = one.outcomes
        source = np.arange(len(known))
        for row in one.missing:
            source[row] = len(known) + place[row]
        filled[operation] = concatenate([known, asked[operation]]).take(source)
    return filled


def answers(
    oracle: Oracle, texts: Sequence[str | None], operations: Sequence[Operation]
) -> dict[Operation, Outcomes]:
    """Ask the live oracle for these operations; ``decode`` is asked of the ids of ``encode``."""
    found: dict[Operation, Outcomes] = {}
    if "encode_special" in operations:
        found["encode"], found["encode_special"] = oracle.encode_both(texts)
    else:
        found["encode"] = oracle.encode(texts)
    if "decode" in operations:
        found["decode"] = _decoded(oracle, found["encode"])
    return {operation: found[operation] for operation in operations}


def _decoded(oracle: Oracle, encoded: Outcomes) -> Outcomes:
    graded = np.flatnonzero(encoded.status == Status.OK)
    decoded = iter(oracle.decode([encoded.answer(int(row)).tolist() for row in graded]))
    rows = [
        _bytes(next(decoded)) if status == Status.OK else Status(status)
        for status in encoded.status
    ]
    return from_answers(rows, encoded.notes)


def verify(golden: Golden, oracle: Oracle) -> tuple[Drift, ...]:
    """Return every recorded answer that the oracle does not give now, in the golden's order."""
    entries = list(golden.entries.values())
    now = _entries(oracle, [(entry.id, entry.text) for entry in entries])
    found: list[Drift] = []
    for entry, again in zip(entries, now, strict=True):
        for field in ("ids", "ids_special", "decoded"):
            recorded, now_given = _plain(entry, field), _plain(again, field)
            if recorded is not None and recorded != now_given:
                observed = now_given if now_given is not None else []
                index = _first_difference(recorded, observed)
                found.append(Drift(entry.id, field, recorded, observed, index))
    return tuple(found)


def bless(
    path: Path, oracle: Oracle, tokenizer: TokenizerFile, corpora: Sequence[Corpus], command: str
) -> Blessed:
    """Record the oracle's answers for every case that the golden does not hold yet.

    Existing entries stay byte for byte. Raises :class:`GoldenRefused`, and writes nothing, where
    the golden is another tokenizer's or another version's, is a legacy file, was edited into
    another layout, or holds an answer that would now change: the message shows which.
    """
    document = read_document(path) if path.exists() else _empty(tokenizer, command)
    golden = parse(path, document)
    if golden.tokenizer_sha256 is None:
        refuse(path, "is a legacy golden without a tokenizer's sha256; nothing can be added to it")
    check(golden, tokenizer, oracle.version)
    if path.exists() and rendered(document) != path.read_bytes():
        refuse(path, "is not in the layout that blessing writes, so its lines could not be kept")
    drift = verify(golden, oracle)
    if drift:
        shown = "\n".join(f"    {one.words}" for one in drift[:_SHOWN])
        rest = f"\n    and {len(drift) - _SHOWN} more" if len(drift) > _SHOWN else ""
        raise GoldenRefused(
            f"{counted(len(drift), 'recorded answer')} would change:\n{shown}{rest}",
            where=str(path),
            expected="existing entries that stay as they are",
            remedy="if the change is meant, remove those entries from the file and bless again",
        )
    new = [
        (name, case)
        for corpus in corpora
        for name, case in zip(corpus.case_ids, corpus.cases, strict=True)
        if golden.entry(corpus.name, case) is None
    ]
    texts = [(name, case.text) for name, case in new]
    for (name, case), entry in zip(new, _entries(oracle, texts), strict=True):
        if isinstance(entry, Ungraded):
            document["ungraded"].append(
                {"id": name, "hex": case.data.hex(), "reason": entry.reason}
            )
        else:
            fields = ("ids", "ids_special", "decoded")
            answered = {field: _plain(entry, field) for field in fields}
            document["entries"].append({"id": name, "text": entry.text, **answered})
    if new or not path.exists():
        write_atomically(path, rendered(document))
    kept = len(golden.entries) + len(golden.ungraded)
    return Blessed(path, tuple(name for name, _ in new), kept)


def _empty(tokenizer: TokenizerFile, command: str) -> Document:
    version = library_version()
    return {
        "oracle": f"tokenizers {version}",
        "tokenizer_sha256": tokenizer.sha256,
        "provenance": {
            "library": "tokenizers",
            "version": version,
            "tokenizer": {"name": tokenizer.name, "sha256": tokenizer.sha256},
            "unicode": dict(unicode_facts()),
            "command": command,
        },
        "entries": [],
        "ungraded": [],
    }


def _entries(oracle: Oracle, cases: Sequence[tuple[str, str | None]]) -> list[Entry | Ungraded]:
    """Ask the oracle for everything that an entry records."""
    texts = [text for _, text in cases]
    plain, special = oracle.encode_both(texts)
    decoded = oracle.decode([plain.answer(row).tolist() for row in range(len(plain))])
    return [
        Entry(name, text, plain.answer(row), special.answer(row), decoded[row])
        if text is not None and plain.status[row] == special.status[row] == Status.OK
        else Ungraded(name, (text or "").encode(), plain.notes.get(row, NOT_UTF8))
        for row, (name, text) in enumerate(cases)
    ]


def _plain(entry: Entry | Ungraded, field: str) -> list[int] | str | None:
    value = getattr(entry, field, None)
    return value.tolist() if isinstance(value, np.ndarray) else value


def _answer(entry: Entry | Ungraded, operation: Operation) -> Ids | Status | None:
    if isinstance(entry, Ungraded):
        return Status.UNGRADED
    if operation == "decode":
        return None if entry.decoded is None else _bytes(entry.decoded)
    return entry.ids if operation == "encode" else entry.ids_special


def _bytes(text: str) -> Ids:
    return np.frombuffer(text.encode(), dtype=np.uint8).astype(np.uint32)


def _first_difference(one: Sequence[int] | str, other: Sequence[int] | str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))
