"""Ragged answers with one status a case, in numpy.

An answer is a sequence of unsigned integers: token ids for ``encode``, byte values for ``decode``.
All answers of one lane, tokenizer and operation lie end to end in one array, so that comparing
lanes is array arithmetic and memory grows with the ids alone.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from types import MappingProxyType
from typing import Literal

import numpy as np
import numpy.typing as npt

# What a probe may be asked that the oracle has a word for.
Operation = Literal["encode", "encode_special", "decode"]
OPERATIONS: tuple[Operation, ...] = ("encode", "encode_special", "decode")

Ids = npt.NDArray[np.uint32]
Offsets = npt.NDArray[np.int64]
Statuses = npt.NDArray[np.uint8]


class Status(IntEnum):
    """What became of one case. Only ``OK`` carries ids; every other status has an empty answer."""

    OK = 0
    UNSUPPORTED = 1  # the subject refuses the tokenizer or the operation
    ERROR = 2  # the subject answered `err`
    CRASH = 3  # the probe died on this case
    TIMEOUT = 4  # no answer within the case's time
    UNRESOLVED = 5  # never asked, or its answer cannot be believed
    UNGRADED = 6  # the oracle cannot take the bytes


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The outcomes of ``n`` cases.

    ``status``  uint8[n], values of :class:`Status`.
    ``offsets`` int64[n + 1]; the answer of case ``i`` is ``ids[offsets[i]:offsets[i + 1]]``.
    ``ids``     uint32[offsets[n]].
    ``notes``   case index → words for a person (a signal's name, a subject's error message).
    """

    status: Statuses
    offsets: Offsets
    ids: Ids
    notes: Mapping[int, str] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        """Refuse arrays whose shapes contradict each other."""
        if self.offsets.shape != (self.status.shape[0] + 1,):
            raise ValueError("offsets must have one element more than status")
        if self.offsets[0] != 0 or self.offsets[-1] != self.ids.shape[0]:
            raise ValueError("offsets must span ids from 0 to its length")

    def __len__(self) -> int:
        """Return the number of cases."""
        return int(self.status.shape[0])

    @property
    def lengths(self) -> Offsets:
        """The number of ids of every case, int64[n]."""
        return np.diff(self.offsets)

    @cached_property
    def sha256(self) -> str:
        """The digest of statuses, lengths and ids; equal answers, notes aside, share it."""
        digest = hashlib.sha256(f"{len(self)} {self.ids.shape[0]} ".encode())
        for array in (self.status, self.offsets, self.ids):
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def answer(self, index: int) -> Ids:
        """Return the ids of one case as a view, uint32[k]."""
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    def take(self, indices: Sequence[int] | npt.NDArray[np.int64]) -> "Outcomes":
        """Return the outcomes of the cases at ``indices``, in that order."""
        rows = np.asarray(indices, dtype=np.int64)
        if rows.size and (np.diff(rows) == 1).all():
            return self._between(int(rows[0]), int(rows[-1]) + 1)
        lengths = self.lengths[rows]
        offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        source = np.arange(offsets[-1]) + np.repeat(self.offsets[rows] - offsets[:-1], lengths)
        notes = (
            {new: self.notes[old] for new, old in enumerate(rows.tolist()) if old in self.notes}
            if self.notes
            else {}
        )
        return Outcomes(self.status[rows], offsets, self.ids[source], notes)

    def _between(self, first: int, last: int) -> "Outcomes":
        """Return consecutive cases as views: large answers are cut up often, and never copied."""
        low, high = self.offsets[first], self.offsets[last]
        notes = {case - first: note for case, note in self.notes.items() if first <= case < last}
        return Outcomes(
            self.status[first:last],
            self.offsets[first : last + 1] - low,
            self.ids[low:high],
            notes,
        )


def from_answers(
    answers: Iterable[Sequence[int] | Ids | Status],
    notes: Mapping[int, str] | None = None,
) -> Outcomes:
    """Build outcomes from one element a case: its ids (status ``OK``), or a bare status."""
    status: list[int] = []
    parts: list[Ids] = []
    lengths: list[int] = [0]
    for answer in answers:
        if isinstance(answer, Status):
            status.append(answer)
            lengths.append(0)
        else:
            ids = np.asarray(answer, dtype=np.uint32)
            status.append(Status.OK)
            parts.append(ids)
            lengths.append(ids.shape[0])
    return Outcomes(
        np.asarray(status, dtype=np.uint8),
        np.cumsum(np.asarray(lengths, dtype=np.int64)),
        np.concatenate(parts) if parts else np.empty(0, dtype=np.uint32),
        dict(notes or {}),
    )


def concatenate(parts: Sequence[Outcomes]) -> Outcomes:
    """Lay several outcomes end to end, keeping order."""
    if not parts:
        return from_answers([])
    if len(parts) == 1:
        return parts[0]
    starts = np.cumsum([0] + [p.ids.shape[0] for p in parts])
    firsts = np.cumsum([0] + [len(p) for p in parts])
    offsets = [p.offsets[:-1] + s for p, s in zip(parts, starts[:-1], strict=True)]
    notes = {
        int(first) + index: note
        for first, part in zip(firsts[:-1], parts, strict=True)
        for index, note in part.notes.items()
    }
    return Outcomes(
        np.concatenate([p.status for p in parts]),
        np.concatenate([*offsets, starts[-1:]]).astype(np.int64),
        np.concatenate([p.ids for p in parts]),
        notes,
    )
