"""Which cases differ, where they first differ, and which lanes agree.

Two outcomes are the same when status and ids are the same; words attached to them (a signal's
name, an error message) are not compared. The same *number* of different ids is a difference.

All of it is array arithmetic, in chunks of :data:`CHUNK` ids, so that memory beyond the answers
themselves stays small whatever their size.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.outcomes import Ids, Outcomes, Status

Mask = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.int64]
Labels = npt.NDArray[np.int8]

CHUNK = 1 << 18
# Beyond this many stretches of equal-length cases gathering costs less than a loop over them.
_STRETCHES = 20_000


@dataclass(frozen=True)
class Difference:
    """Where two answers part: at ``index``, and what stands there until they meet again.

    ``left`` and ``right`` are the ids between the common start and the common end; either may be
    empty (ids were inserted or left out), both are empty when only the statuses differ.
    """

    index: int
    left: tuple[int, ...]
    right: tuple[int, ...]


def differs(a: Outcomes, b: Outcomes) -> Mask:
    """Return bool[n]: the cases whose status or ids differ between ``a`` and ``b``.

    Raises ValueError when the two do not hold the same number of cases.
    """
    if len(a) != len(b):
        raise ValueError(f"cannot compare {len(a)} cases with {len(b)}")
    if a is b:
        return np.zeros(len(a), dtype=np.bool_)
    different: Mask = a.status != b.status
    if a.ids is b.ids and a.offsets is b.offsets:
        return different
    unequal = a.lengths != b.lengths
    different |= unequal
    # Between two cases of unequal length the answers lie parallel: one slice compares them all.
    edges = np.flatnonzero(unequal)
    if edges.shape[0] > _STRETCHES:
        rows = np.flatnonzero(~different)
        different[rows[_unequal_rows(a, b, rows)]] = True
        return different
    first = 0
    for edge in [*edges.tolist(), len(a)]:
        if first < edge:
            _mark_stretch(a, b, first, edge, different)
        first = edge + 1
    return different


def _mark_stretch(a: Outcomes, b: Outcomes, first: int, last: int, different: Mask) -> None:
    """Mark the differing cases of ``first:last``, in which every case has one length in both."""
    start, stop = int(a.offsets[first]), int(a.offsets[last])
    shift = int(b.offsets[first]) - start
    for low in range(start, stop, CHUNK):
        high = min(low + CHUNK, stop)
        places = np.flatnonzero(a.ids[low:high] != b.ids[low + shift : high + shift])
        if places.shape[0]:
            # Bounds of cases are looked up among places, not the reverse: places may be every id.
            begin = int(np.searchsorted(a.offsets, low, side="right")) - 1
            end = int(np.searchsorted(a.offsets, high, side="left"))
            found = np.diff(np.searchsorted(places, a.offsets[begin : end + 1] - low))
            different[begin:end] |= found > 0


def _unequal_rows(a: Outcomes, b: Outcomes, rows: Rows) -> Mask:
    """Return bool[k]: which cases at ``rows``, of equal lengths in both, have different ids."""
    lengths = a.offsets[rows + 1] - a.offsets[rows]
    ends = np.cumsum(lengths)
    result = np.zeros(rows.shape[0], dtype=np.bool_)
    low = 0
    while low < rows.shape[0]:
        begun = int(ends[low] - lengths[low])
        high = max(int(np.searchsorted(ends, begun + CHUNK, side="right")), low + 1)
        counts, stops = lengths[low:high], ends[low:high] - begun
        positions = np.arange(int(stops[-1]))
        left = a.ids[positions + np.repeat(a.offsets[rows[low:high]] - (stops - counts), counts)]
        right = b.ids[positions + np.repeat(b.offsets[rows[low:high]] - (stops - counts), counts)]
        places = np.flatnonzero(left != right)
        result[low + np.searchsorted(stops, places, side="right")] = True
        low = high
    return result


def _differs_at(a: Outcomes, b: Outcomes, rows: Rows) -> Mask:
    """Return bool[k]: :func:`differs` restricted to the cases at ``rows``."""
    if rows.shape[0] * 4 > len(a):
        return differs(a, b)[rows]
    different: Mask = a.status[rows] != b.status[rows]
    different |= a.offsets[rows + 1] - a.offsets[rows] != b.offsets[rows + 1] - b.offsets[rows]
    alike = np.flatnonzero(~different)
    different[alike[_unequal_rows(a, b, rows[alike])]] = True
    return different


def first_difference(a: Outcomes, b: Outcomes, case: int) -> Difference | None:
    """Return where the answers to ``case`` part and for how long; None when they are the same."""
    left, right = a.answer(case), b.answer(case)
    if a.status[case] == b.status[case] and np.array_equal(left, right):
        return None
    start = _common(left, right)
    end = _common(left[start:][::-1], right[start:][::-1])
    return Difference(
        start,
        tuple(left[start : left.shape[0] - end].tolist()),
        tuple(right[start : right.shape[0] - end].tolist()),
    )


def _common(left: Ids, right: Ids) -> int:
    """Return the length of the longest common start."""
    shared = min(left.shape[0], right.shape[0])
    places = np.flatnonzero(left[:shared] != right[:shared])
    return int(places[0]) if places.shape[0] else shared


def classes(outcomes: Mapping[str, Outcomes]) -> Labels:
    """Return int8[lanes, n]: for each case, lanes with the same label gave the same outcome.

    Labels count from 0 in order of first appearance down the lanes, so equal columns are equal
    partitions. A lane that is ``UNRESOLVED`` on a case has label -1 there: it says nothing, neither
    that it agrees nor that it differs. At most 127 lanes.
    """
    lanes = list(outcomes.values())
    count = len(lanes[0]) if lanes else 0
    if len(lanes) > np.iinfo(np.int8).max:
        raise ValueError(f"{len(lanes)} lanes are more than labels can tell apart")
    labels = np.full((len(lanes), count), -1, dtype=np.int8)
    # fresh[r, i]: lane r was the first to give its outcome of case i.
    fresh = np.zeros((len(lanes), count), dtype=np.bool_)
    next_label = np.zeros(count, dtype=np.int8)
    for lane, current in enumerate(lanes):
        pending = np.flatnonzero(current.status != Status.UNRESOLVED)
        for earlier in range(lane):
            rows = pending[fresh[earlier, pending]]
            if not rows.shape[0]:
                continue
            same = rows[~_differs_at(lanes[earlier], current, rows)]
            labels[lane, same] = labels[earlier, same]
            pending = pending[labels[lane, pending] < 0]
        labels[lane, pending] = next_label[pending]
        fresh[lane, pending] = True
        next_label[pending] += 1
    return labels


def diverging(labels: Labels) -> Mask:
    """Return bool[n]: the cases on which two lanes that answered gave different outcomes."""
    return np.asarray((labels > 0).any(axis=0), dtype=np.bool_)
