"""One text explained, as a value: what every stage makes of it, by the oracle and by each lane."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any, Literal

STAGES = ("normalize", "pretokenize", "encode", "encode_special")
Operation = Literal["normalize", "pretokenize", "encode", "encode_special"]
ORACLE = "oracle"
# Beyond this many tokens between the common ends no alignment is looked for.
_ALIGNED = 2000


@dataclass(frozen=True)
class Answer:
    """What one stage gave: ``status`` as the report has it, and values only where it is ``ok``.

    ``values`` are pieces (bytes) of ``normalize`` (one) and ``pretokenize``, ids of the others.
    """

    status: str
    values: tuple[bytes, ...] | tuple[int, ...] = ()
    note: str | None = None


@dataclass(frozen=True, kw_only=True)
class Column:
    """Lanes that answer alike in every stage; ``oracle`` says that the oracle answers so, too.

    ``answers`` are by operation; one that is missing was not offered.
    """

    lanes: tuple[str, ...]
    oracle: bool
    answers: Mapping[str, Answer]

    @property
    def name(self) -> str:
        """What stands above the column."""
        return " = ".join([*([ORACLE] if self.oracle else []), *self.lanes])


@dataclass(frozen=True, kw_only=True)
class Added:
    """An added token that was matched in the text; ``by`` names the columns that matched it."""

    id: int
    content: str
    special: bool
    by: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """One text under one tokenizer.

    ``columns``  the oracle's first, where it has one, then the lanes that differ from it.
    ``silent``   lanes with the operations that they do not offer.
    ``broken``   lanes that could not be asked, each with the reason.
    ``tokens``   evidence of every id that stands in an answer: id, piece, and hex of its bytes.
    """

    tokenizer: str
    case: str | None
    data: bytes
    columns: tuple[Column, ...]
    added: tuple[Added, ...] = ()
    silent: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    broken: Mapping[str, str] = field(default_factory=dict)
    tokens: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)


def columns(
    oracle: Mapping[str, Answer] | None, lanes: Mapping[str, Mapping[str, Answer]]
) -> tuple[Column, ...]:
    """Return the oracle and the lanes, those that answer alike in one column.

    A lane agrees with the oracle where it does in everything that both answer; ``oracle`` is None
    where it has no word, as of bytes that are not UTF-8.
    """
    first: list[str] = []
    groups: dict[tuple[tuple[str, Answer], ...], list[str]] = {}
    for name, answers in lanes.items():
        if oracle is not None and _agrees(oracle, answers):
            first.append(name)
        else:
            known = tuple(
                (operation, Answer(one.status, one.values)) for operation, one in answers.items()
            )
            groups.setdefault(known, []).append(name)
    found = [
        Column(lanes=tuple(names), oracle=False, answers=dict(lanes[names[0]]))
        for names in groups.values()
    ]
    if oracle is None:
        return tuple(found)
    return (Column(lanes=tuple(first), oracle=True, answers=dict(oracle)), *found)


def _agrees(oracle: Mapping[str, Answer], answers: Mapping[str, Answer]) -> bool:
    return all(
        (one.status, one.values) == (oracle[operation].status, oracle[operation].values)
        for operation, one in answers.items()
    )


def aligned(left: Sequence[int], right: Sequence[int]) -> list[tuple[int | None, int | None]]:
    """Return rows of places in both, None where one side has nothing beside the other.

    Equal ids stand side by side; what lies between is paired in order.
    """
    start = 0
    while start < min(len(left), len(right)) and left[start] == right[start]:
        start += 1
    end = 0
    while end < min(len(left), len(right)) - start and left[-1 - end] == right[-1 - end]:
        end += 1
    rows: list[tuple[int | None, int | None]] = [(at, at) for at in range(start)]
    a, b = left[start : len(left) - end], right[start : len(right) - end]
    blocks = [("replace", 0, len(a), 0, len(b))]
    if max(len(a), len(b)) <= _ALIGNED:
        blocks = list(SequenceMatcher(None, a, b, autojunk=False).get_opcodes())
    for _, a1, a2, b1, b2 in blocks:
        rows += zip_longest(range(start + a1, start + a2), range(start + b1, start + b2))
    tail = range(end, 0, -1)
    return [*rows, *((len(left) - at, len(right) - at) for at in tail)]


def special_characters(text: str) -> list[dict[str, Any]]:
    """Return every character that is not printable ASCII, once, with its name and its bytes."""
    found: dict[str, dict[str, Any]] = {}
    for at, char in enumerate(text):
        if char.isascii() and char.isprintable():
            continue
        one = found.setdefault(
            char,
            {
                "code_point": f"U+{ord(char):04X}",
                "name": unicodedata.name(char, "") or _unnamed(char),
                "category": unicodedata.category(char),
                "combining": unicodedata.combining(char),
                "hex": char.encode("utf-8", "surrogatepass").hex(),
                "at": at,
                "times": 0,
            },
        )
        one["times"] += 1
    return list(found.values())


def _unnamed(char: str) -> str:
    kinds = {"Cc": "control", "Cn": "unassigned", "Co": "private use"}
    return f"({kinds.get(unicodedata.category(char), 'no name')})"


def to_dict(one: Explanation) -> dict[str, Any]:
    """Return the explanation as a JSON-ready dictionary; bytes are in hex."""
    text = text_of(one.data)
    return {
        "tokenizer": one.tokenizer,
        "case": one.case,
        "input": {
            "hex": one.data.hex(),
            "text": text,
            "bytes": len(one.data),
            "characters": None if text is None else len(text),
            "special_characters": [] if text is None else special_characters(text),
        },
        "agree": len(one.columns) == 1,
        "added_tokens": [
            {"id": a.id, "content": a.content, "special": a.special, "by": list(a.by)}
            for a in one.added
        ],
        "columns": [
            {
                "lanes": list(column.lanes),
                "oracle": column.oracle,
                **{operation: _answer(column.answers.get(operation)) for operation in STAGES},
            }
            for column in one.columns
        ],
        "first_difference": [
            {"columns": [0, number], "index": _parting(one.columns[0], column)}
            for number, column in enumerate(one.columns)
            if number
        ],
        "tokens": [dict(token) for _, token in sorted(one.tokens.items())],
        "not_offered": {lane: list(names) for lane, names in one.silent.items()},
        "broken": dict(one.broken),
    }


def _answer(answer: Answer | None) -> dict[str, Any] | None:
    if answer is None:
        return None
    values = [one.hex() if isinstance(one, bytes) else one for one in answer.values]
    return {"status": answer.status, "values": values, "note": answer.note}


def _parting(a: Column, b: Column) -> int | None:
    """Return the index of the first token that differs, None where the ids are the same."""
    left, right = ids_of(a, "encode"), ids_of(b, "encode")
    return next(
        (at for at, pair in enumerate(zip_longest(left, right)) if pair[0] != pair[1]), None
    )


def ids_of(column: Column, operation: str) -> tuple[int, ...]:
    """Return the ids a column gives, none where it gives none."""
    answer = column.answers.get(operation)
    return tuple(one for one in answer.values if isinstance(one, int)) if answer else ()


def text_of(data: bytes) -> str | None:
    """Return bytes as text, None where they are not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None
