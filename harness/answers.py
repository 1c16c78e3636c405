"""Answer lines into numbers, many at a time.

Every operation's answer becomes uint32 values: ids as they are, text as one value a byte,
``pretokenize`` as the length and the bytes of each piece, ``request`` as the length and the bytes
of the prompt and then the ids. Reading is strict: a line is exactly what the protocol allows, or
it is a :class:`BadAnswer`, since a lenient reader would agree with a probe that is wrong.
"""

import hashlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.hello import shown
from harness.outcomes import Ids, Outcomes, Status, concatenate, from_answers

# Answers are read by so many at once.
PARSED_TOGETHER = 2048

_WIDEST = 2**32 - 1
_DIGITS = b"0123456789 \n"
_NO_IDS: Ids = np.empty(0, dtype=np.uint32)


class BadAnswer(Exception):
    """A line that is no answer; ``index`` counts from the first line handed in."""

    def __init__(self, index: int, why: str) -> None:
        super().__init__(why)
        self.index = index
        self.why = why


@dataclass(frozen=True)
class Answer:
    """One answer: its status, its values (uint32[k], empty unless ``OK``), and words."""

    status: Status
    values: Ids
    note: str | None = None


def parse_answers(chunk: bytes, operations: Sequence[str]) -> Outcomes:
    """Read whole answer lines, ``operations[i]`` being what line ``i`` answers.

    ``chunk`` ends in a newline and has exactly ``len(operations)`` lines. Raises
    :class:`BadAnswer` for the first line that is no answer.
    """
    parts, first, begin = [], 0, 0
    while first < len(operations):
        last = first + 1
        while last < len(operations) and operations[last] == operations[first]:
            last += 1
        end = len(chunk) if last == len(operations) else after_lines(chunk, last - first, begin)
        try:
            parts.append(_run_of(chunk[begin:end], operations[first], last - first))
        except BadAnswer as bad:
            raise BadAnswer(first + bad.index, bad.why) from None
        first, begin = last, end
    return concatenate(parts)


class Known:
    """Answers that were read before: lanes mostly answer alike, byte for byte.

    Lanes are cut at the same requests (every :data:`PARSED_TOGETHER`), so equal answers are equal
    chunks. Lanes that run side by side answer the same chunk at about the same time: the first to
    come reads it, the others wait for what it found.
    """

    def __init__(self) -> None:
        self._read: dict[tuple[bytes, tuple[str, ...]], Outcomes] = {}
        self._joined: dict[tuple[int, ...], tuple[tuple[Outcomes, ...], Outcomes]] = {}
        self._reading = threading.Lock()

    def read(self, chunk: bytes, operations: Sequence[str]) -> Outcomes:
        """Return :func:`parse_answers` of the chunk, or what it gave the first time."""
        kinds = tuple(dict.fromkeys(operations))
        if len(kinds) > 1:
            return parse_answers(chunk, operations)
        name = (hashlib.sha256(chunk).digest(), kinds)
        with self._reading:
            if name not in self._read:
                self._read[name] = parse_answers(chunk, operations)
            return self._read[name]

    def joined(self, parts: Sequence[Outcomes]) -> Outcomes:
        """Return :func:`concatenate` of the parts; the same value for the same parts.

        Lanes that answered alike then share one value, which costs its memory, its digest and its
        comparison once.
        """
        name = tuple(map(id, parts))
        with self._reading:
            if name not in self._joined:
                # The parts are kept, so that no later part is taken for one of them.
                self._joined[name] = tuple(parts), concatenate(parts)
            return self._joined[name][1]


def after_lines(text: bytes | bytearray, lines: int, begin: int = 0) -> int:
    """Return where the line after the first ``lines`` lines from ``begin`` begins."""
    ends = np.flatnonzero(np.frombuffer(text, dtype=np.uint8, offset=begin) == ord("\n"))
    return begin + int(ends[lines - 1]) + 1


def parse_answer(line: bytes, operation: str) -> Answer:
    """Read one answer without its newline; raises :class:`BadAnswer`."""
    if line == b"ok" or line.startswith(b"ok "):
        return Answer(Status.OK, _READERS.get(operation, _ids)(line[3:]))
    if line == b"unsupported":
        return Answer(Status.UNSUPPORTED, _NO_IDS)
    if line == b"err" or line.startswith(b"err "):
        message = _bytes(line[4:]).decode("utf-8", "backslashreplace")
        return Answer(Status.ERROR, _NO_IDS, message)
    raise BadAnswer(0, f"answered {shown(line)}")


def _run_of(chunk: bytes, operation: str, count: int) -> Outcomes:
    """Read ``count`` lines that answer one operation."""
    if _READERS.get(operation, _ids) is _ids:
        outcomes = _all_ids(chunk, count)
        if outcomes is not None:
            return outcomes
    found: list[Ids | Status] = []
    notes: dict[int, str] = {}
    for index, line in enumerate(chunk[:-1].split(b"\n")):
        try:
            answer = parse_answer(line, operation)
        except BadAnswer as bad:
            raise BadAnswer(index, bad.why) from None
        found.append(answer.values if answer.status is Status.OK else answer.status)
        if answer.note is not None:
            notes[index] = answer.note
    return from_answers(found, notes)


def _all_ids(chunk: bytes, count: int) -> Outcomes | None:
    """Read lines that are all ``ok`` with ids, without a step for each; None where one is not.

    A None is no verdict: the caller reads line by line and says which line is wrong and why.
    """
    text = np.frombuffer(chunk, dtype=np.uint8).copy()
    separators = np.flatnonzero(text <= ord(" "))
    gaps = np.diff(separators)
    # No word is empty, and none has more than nine digits: those are read one by one, since numpy
    # lets a number that is too wide wrap.
    if separators[0] < 2 or gaps.min(initial=2) < 2 or gaps.max(initial=2) > 10:
        return None
    newlines = np.flatnonzero(text[separators] == ord("\n"))
    ends = separators[newlines]
    starts = np.concatenate(([0], ends[:-1] + 1))
    if not ((text[starts] == ord("o")) & (text[starts + 1] == ord("k"))).all():
        return None
    if (text[starts + 2] > ord(" ")).any():
        return None
    text[starts] = text[starts + 1] = ord(" ")
    numbers = text.tobytes()
    if numbers.translate(None, _DIGITS):
        return None
    values = np.fromstring(numbers, dtype=np.uint32, sep=" ")
    # A line's separators are one for each of its numbers, and its newline.
    offsets = np.concatenate(([0], newlines - np.arange(newlines.shape[0])))
    if offsets[-1] != values.shape[0] or newlines.shape[0] != count:
        return None
    return Outcomes(np.zeros(count, dtype=np.uint8), offsets.astype(np.int64), values)


def _ids(words: bytes) -> Ids:
    if not words:
        return _NO_IDS
    numbers = words.split(b" ")
    for number in numbers:
        if not number.isdigit() or len(number) > 10 or int(number) > _WIDEST:
            raise BadAnswer(0, f"answered the id {shown(number)}")
    return np.array([int(number) for number in numbers], dtype=np.uint32)


def _hex(words: bytes) -> Ids:
    return _values(_bytes(words))


def _pieces(words: bytes) -> Ids:
    if not words:
        return _NO_IDS
    parts: list[Ids] = []
    for word in words.split(b" "):
        piece = _values(_bytes(word))
        if not piece.shape[0]:
            raise BadAnswer(0, "answered an empty piece")
        parts += [np.array([piece.shape[0]], dtype=np.uint32), piece]
    return np.concatenate(parts)


def _prompt(words: bytes) -> Ids:
    prompt, _, ids = words.partition(b" ")
    text = _values(_bytes(prompt))
    return np.concatenate([np.array([text.shape[0]], dtype=np.uint32), text, _ids(ids)])


def _bytes(word: bytes) -> bytes:
    # bytes.fromhex would pass over spaces.
    if b" " in word:
        raise BadAnswer(0, f"answered hex with a space: {shown(word)}")
    try:
        return bytes.fromhex(word.decode("ascii"))
    except ValueError:
        raise BadAnswer(0, f"answered what is not hex: {shown(word)}") from None


def _values(data: bytes) -> npt.NDArray[np.uint32]:
    return np.frombuffer(data, dtype=np.uint8).astype(np.uint32)


_READERS: dict[str, Callable[[bytes], Ids]] = {
    "encode": _ids,
    "encode_special": _ids,
    "decode": _hex,
    "normalize": _hex,
    "pretokenize": _pieces,
    "request": _prompt,
}
