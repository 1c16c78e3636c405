"""Which further lanes would tell confounded axes apart.

Two axes are confounded when they foretell the same outcome on every lane that ran. A lane on
which they foretell *different* outcomes decides between them. A lane that keeps the value of one
and shows a new value of the other may decide: only if its outcome then differs from what the kept
value says.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations


def untangle(
    named: Sequence[str],
    confounded: Sequence[str],
    labels: Mapping[str, int],
    axes: Mapping[str, Mapping[str, str]],
    candidates: Mapping[str, Mapping[str, str]],
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return (the fewest candidates that tell the axes apart, confounded axes that none tells).

    ``labels`` gives each lane that ran the label of its outcome, ``axes`` its axis values. Deciding
    lanes are planned first; lanes that may decide only for what is left.
    """

    def tells(axis: str, lane: str, *, decisive: bool) -> bool:
        """Whether the lane could show that ``axis`` rather than a named axis separates."""
        theirs = _foretold(axis, candidates[lane], labels, axes)
        for own in named:
            ours = _foretold(own, candidates[lane], labels, axes)
            decides = bool(ours) and bool(theirs) and ours.isdisjoint(theirs)
            if decides if decisive else bool(ours) != bool(theirs):
                return True
        return False

    missing = list(confounded)
    planned: list[str] = []
    for decisive in (True, False):
        covers = {
            lane: frozenset(axis for axis in missing if tells(axis, lane, decisive=decisive))
            for lane in candidates
        }
        picked = _fewest({lane: cover for lane, cover in covers.items() if cover})
        planned += [lane for lane in picked if lane not in planned]
        told = {axis for lane in picked for axis in covers[lane]}
        missing = [axis for axis in missing if axis not in told]
    return tuple(planned), tuple(missing)


def _foretold(
    axis: str,
    candidate: Mapping[str, str],
    labels: Mapping[str, int],
    axes: Mapping[str, Mapping[str, str]],
) -> set[int]:
    """Return the labels seen on lanes with the candidate's value of ``axis``; empty if none was."""
    value = candidate.get(axis, "")
    return {
        label for lane, label in labels.items() if label >= 0 and axes[lane].get(axis, "") == value
    }


def _fewest(covers: Mapping[str, frozenset[str]]) -> list[str]:
    """Return the fewest lanes whose covers reach all that any reaches, the first offered first."""
    left = frozenset(axis for cover in covers.values() for axis in cover)
    for size in range(1, 4):
        for lanes in combinations(covers, size):
            if frozenset(axis for lane in lanes for axis in covers[lane]) == left:
                return list(lanes)
    picked: list[str] = []
    while left:
        best = max(covers, key=lambda lane: len(covers[lane] & left))
        picked.append(best)
        left -= covers[best]
    return picked
