"""Which further lanes would tell confounded axes apart.

Two sets of axes are confounded when they foretell the same outcome on every lane that ran. A lane
on which they foretell *different* outcomes decides between them. A lane that keeps the values of
one and shows new values of the other may decide: only if its outcome then differs from what the
kept values say.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

_Axes = Mapping[str, Mapping[str, str]]


def untangle(
    named: Sequence[str],
    rivals: Sequence[Sequence[str]],
    labels: Mapping[str, int],
    axes: _Axes,
    candidates: _Axes,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return (the fewest candidates that tell the axes apart, confounded axes that none tells).

    ``named`` and each of ``rivals`` is a set of axes that explains the lanes that ran: axes that
    act together foretell together, and not each by itself. ``labels`` gives each lane that ran the
    label of its outcome, ``axes`` its axis values. Deciding lanes are planned first; lanes that may
    decide only for what is left.
    """

    def tells(rival: Sequence[str], lane: str, *, decisive: bool) -> bool:
        """Whether the lane could show that ``rival`` rather than ``named`` separates."""
        ours = _foretold(named, candidates[lane], labels, axes)
        theirs = _foretold(rival, candidates[lane], labels, axes)
        if decisive:
            return bool(ours) and bool(theirs) and ours.isdisjoint(theirs)
        return bool(ours) != bool(theirs)

    missing = list(range(len(rivals)))
    planned: list[str] = []
    for decisive in (True, False):
        # What is planned to decide one thing may decide another besides.
        missing = [
            one
            for one in missing
            if not any(tells(rivals[one], lane, decisive=decisive) for lane in planned)
        ]
        covers: dict[frozenset[int], str] = {}
        for lane in candidates:
            cover = frozenset(one for one in missing if tells(rivals[one], lane, decisive=decisive))
            covers.setdefault(cover, lane)
        picked = _fewest({lane: cover for cover, lane in covers.items() if cover})
        planned += picked
        told = frozenset(one for cover, lane in covers.items() if lane in picked for one in cover)
        missing = [one for one in missing if one not in told]
    left = {axis: None for one in missing for axis in rivals[one] if axis not in named}
    return tuple(planned), tuple(left)


def _foretold(
    explaining: Sequence[str], candidate: Mapping[str, str], labels: Mapping[str, int], axes: _Axes
) -> set[int]:
    """Return the labels of lanes with the candidate's values on all these axes; empty if none."""
    return {
        label
        for lane, label in labels.items()
        if label >= 0
        and all(axes[lane].get(axis, "") == candidate.get(axis, "") for axis in explaining)
    }


def _fewest(covers: Mapping[str, frozenset[int]]) -> list[str]:
    """Return the fewest lanes whose covers reach all that any reaches, the first offered first."""
    left = frozenset(one for cover in covers.values() for one in cover)
    for size in range(1, 4):
        for lanes in combinations(covers, size):
            if frozenset(one for lane in lanes for one in covers[lane]) == left:
                return list(lanes)
    picked: list[str] = []
    while left:
        best = max(covers, key=lambda lane: len(covers[lane] & left))
        picked.append(best)
        left -= covers[best]
    return picked
