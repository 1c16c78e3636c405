"""Which axes separate the lanes: the smallest set of axes that an outcome is a function of.

An outcome *is a function of* a set of axes when lanes with equal values on those axes always gave
equal outcomes. Smaller sets win; among sets of one size those that refine another explaining set
are dropped, because they say more than the observation does. Axes that vary together over the lanes
that ran cannot be told apart by them: one is named, by the precedence of :data:`AXES`, the others
are its confounded axes, together with the fewest further lanes that would tell.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from harness.diff import Labels, Mask, Rows, classes
from harness.outcomes import Outcomes
from harness.untangle import untangle

AXES = (
    "arch",
    "char",
    "wchar",
    "long-double",
    "pointer",
    "compiler",
    "optimisation",
    "fp-contract",
    "link",
    "libc",
    "endian",
    "cpu",
    "emulator",
    "container",
    "locale",
    "address-layout",
)
NONDETERMINISM = "nondeterminism"
_CAUSES = {
    ("arch",): "architecture",
    ("char",): "char-signedness",
    ("wchar",): "wchar-signedness",
    ("long-double",): "long-double-precision",
    ("pointer",): "pointer-width",
    ("compiler",): "compiler",
    ("optimisation",): "optimisation",
    ("fp-contract",): "fp-contraction",
    ("arch", "fp-contract"): "fp-contraction",
    ("link",): "linkage",
    ("libc",): "libc",
    ("endian",): "endianness",
    ("cpu",): "cpu",
    ("emulator",): "emulator",
    ("container",): "container",
    ("locale",): "locale",
    ("address-layout",): "address-layout",
}
PLATFORM_CAUSES = tuple(dict.fromkeys(_CAUSES.values()))
PLATFORM_PREFIX = "platform-"

AxisSet = tuple[str, ...]
Axes = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, eq=False)
class Separation:
    """Cases whose outcome is a function of ``axes``, and what else it might be a function of.

    ``cases``        int64[k], ascending.
    ``partition``    the lanes in groups that agree, as most of the cases have them.
    ``axes``         the axes named, by precedence; empty for nondeterminism.
    ``cause``        the cause's name, see :func:`cause_of`.
    ``confounded``   axes that the lanes which ran cannot tell from those named.
    ``separating``   the fewest candidate lanes which would tell them apart.
    ``inseparable``  confounded axes that no candidate lane would tell apart.
    ``contradicted`` nondeterminism only: cases on which one lane, or two lanes equal on every axis,
                     gave two outcomes. The other cases differ between lanes in a way that cannot be
                     believed while the same lane gives two answers.
    """

    cases: Rows
    partition: tuple[tuple[str, ...], ...]
    axes: AxisSet
    cause: str
    confounded: AxisSet = ()
    separating: tuple[str, ...] = ()
    inseparable: AxisSet = ()
    contradicted: int = 0


@dataclass(frozen=True, eq=False)
class _Pattern:
    """One partition of the lanes, the cases that show it, and the axis sets that explain it."""

    labels: tuple[int, ...]
    cases: Rows
    options: tuple[AxisSet, ...]


def cause_of(axes: Sequence[str]) -> str:
    """Return the cause named for a set of axes: a fixed name, or ``platform-`` and the axes."""
    ordered = tuple(sorted(axes, key=_precedence))
    if not ordered:
        return NONDETERMINISM
    return _CAUSES.get(ordered, PLATFORM_PREFIX + "-".join(ordered))


def axes_of_cause(cause: str, known: Collection[str] = AXES) -> tuple[AxisSet, ...]:
    """Return the axis sets that ``cause`` is the name of; empty for what is no platform cause.

    ``known`` are the axes that there are: ``platform-arch-moon`` is a cause only where ``moon`` is
    an axis, and ``platform-char-arch`` never is, for axes are named by precedence.
    """
    fixed = tuple(axes for axes, name in _CAUSES.items() if name == cause)
    if fixed or not cause.startswith(PLATFORM_PREFIX):
        return fixed
    words = cause.removeprefix(PLATFORM_PREFIX)
    return tuple(axes for axes in axes_read(words, known) if cause_of(axes) == cause)


def axes_read(words: str, known: Collection[str]) -> Iterator[AxisSet]:
    """Yield every way to read words joined by hyphens, which axes have too, as different axes."""
    for axis in known:
        if words == axis:
            yield (axis,)
        elif words.startswith(f"{axis}-"):
            others = [one for one in known if one != axis]
            rest = words.removeprefix(f"{axis}-")
            yield from ((axis, *more) for more in axes_read(rest, others))


def separate(
    outcomes: Mapping[str, Outcomes],
    axes: Axes,
    *,
    candidates: Axes | None = None,
    repeats: Mapping[str, Sequence[int]] | None = None,
) -> tuple[Separation, ...]:
    """Return one separation for each set of axes that separates the lanes in ``outcomes``.

    ``axes`` gives every lane's effective value on every axis; ``candidates`` the same for lanes
    that did not run and could; ``repeats`` the cases a lane answered differently when asked again.
    If anything is nondeterministic the only separation returned is nondeterminism, with every case
    on which lanes differ. Raises KeyError when a lane of ``outcomes`` is missing from ``axes``.
    """
    lanes = tuple(outcomes)
    labels = classes(outcomes)
    codes = _value_codes(lanes, axes)
    patterns = [
        _Pattern(column, cases, _options(column, codes)) for column, cases in _patterns(labels)
    ]
    repeated = sorted({int(case) for cases in (repeats or {}).values() for case in cases})
    contradicting = [p.cases for p in patterns if not p.options]
    if repeated or contradicting:
        contradicted = np.unique(np.concatenate([np.asarray(repeated, np.int64), *contradicting]))
        every = np.unique(np.concatenate([contradicted, *(p.cases for p in patterns)]))
        shape = max(patterns, key=lambda p: p.cases.shape[0]).labels if patterns else ()
        return (
            Separation(
                every,
                _groups(lanes, shape),
                (),
                NONDETERMINISM,
                contradicted=int(contradicted.shape[0]),
            ),
        )
    offered = {name: own for name, own in (candidates or {}).items() if name not in outcomes}
    return tuple(
        _separation(lanes, chosen, members, axes, offered) for chosen, members in _choose(patterns)
    )


def induced(separations: Sequence[Separation], count: int) -> Mask:
    """Return bool[count]: the cases that any separation speaks of."""
    mask = np.zeros(count, dtype=np.bool_)
    for separation in separations:
        mask[separation.cases] = True
    return mask


def _precedence(axis: str) -> tuple[int, str]:
    return (AXES.index(axis) if axis in AXES else len(AXES), axis)


def _value_codes(lanes: Sequence[str], axes: Axes) -> dict[str, tuple[int, ...]]:
    """Return, for each axis on which the lanes differ and by precedence, a code a lane.

    Equal values have equal codes; an axis that a lane does not state has a value of its own.
    """
    names = {axis for lane in lanes for axis in axes[lane]}
    codes = {axis: _canonical([axes[lane].get(axis, "") for lane in lanes]) for axis in names}
    return {axis: codes[axis] for axis in sorted(names, key=_precedence) if max(codes[axis])}


def _canonical(values: Sequence[object]) -> tuple[int, ...]:
    codes: dict[object, int] = {}
    return tuple(codes.setdefault(value, len(codes)) for value in values)


def _patterns(labels: Labels) -> list[tuple[tuple[int, ...], Rows]]:
    """Return each distinct column that splits the lanes, with its cases, commonest first."""
    cases = np.flatnonzero((labels > 0).any(axis=0)).astype(np.int64)
    if not cases.shape[0]:
        return []
    lanes, base = labels.shape[0], labels.shape[0] + 1
    columns = labels[:, cases]
    if base**lanes < 2**63:
        # One integer a column sorts ten times faster than rows of bytes do.
        keys = np.zeros(cases.shape[0], dtype=np.int64)
        for row in columns:
            keys = keys * base + (row.astype(np.int64) + 1)
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    else:
        _, first, inverse = np.unique(columns, axis=1, return_index=True, return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    bounds = np.cumsum(np.bincount(inverse))[:-1]
    members = np.split(cases[order], bounds)
    found = [
        (tuple(columns[:, index].tolist()), rows)
        for index, rows in zip(first, members, strict=True)
    ]
    return sorted(found, key=lambda item: (-item[1].shape[0], int(item[1][0])))


def _explains(labels: Sequence[int], codes: Sequence[Sequence[int]]) -> bool:
    """Whether the labels are a function of the codes, over the lanes that answered."""
    seen: dict[tuple[int, ...], int] = {}
    for label, *values in zip(labels, *codes, strict=True):
        if label >= 0 and seen.setdefault(tuple(values), label) != label:
            return False
    return True


def _joint(
    labels: Sequence[int], codes: Mapping[str, tuple[int, ...]], axes: AxisSet
) -> tuple[int, ...]:
    """Return the partition that the axes make of the lanes that answered."""
    rows = zip(*(codes[axis] for axis in axes), strict=True)
    return _canonical([row for row, label in zip(rows, labels, strict=True) if label >= 0])


def _refines(fine: Sequence[int], coarse: Sequence[int]) -> bool:
    """Whether ``fine`` strictly refines ``coarse``."""
    return fine != coarse and _explains(coarse, [fine])


def _options(labels: tuple[int, ...], codes: Mapping[str, tuple[int, ...]]) -> tuple[AxisSet, ...]:
    """Return every smallest, coarsest set of axes that explains the labels, by precedence."""
    # Axes that make the same partition explain the same: one of each is searched with.
    twins: dict[tuple[int, ...], list[str]] = {}
    for axis in codes:
        twins.setdefault(_joint(labels, codes, (axis,)), []).append(axis)
    names = {own[0]: own for shape, own in twins.items() if max(shape, default=0)}
    for size in range(1, len(names) + 1):
        found = [
            axes
            for axes in combinations(names, size)
            if _explains(labels, [codes[axis] for axis in axes])
        ]
        if found:
            shapes = {axes: _joint(labels, codes, axes) for axes in found}
            coarsest = [
                axes
                for axes in found
                if not any(_refines(shapes[axes], shapes[other]) for other in found)
            ]
            return tuple(
                tuple(sorted(own, key=_precedence))
                for axes in coarsest
                for own in product(*(names[axis] for axis in axes))
            )
    return ()


def _choose(patterns: Sequence[_Pattern]) -> list[tuple[AxisSet, list[_Pattern]]]:
    """Explain all patterns with few axis sets: repeatedly the one that explains the most cases."""
    left = list(patterns)
    chosen: list[tuple[AxisSet, list[_Pattern]]] = []
    while left:
        weight: dict[AxisSet, int] = {}
        for pattern in left:
            for axes in pattern.options:
                weight[axes] = weight.get(axes, 0) + int(pattern.cases.shape[0])
        best = min(weight, key=lambda axes: (-weight[axes], [_precedence(a) for a in axes]))
        chosen.append((best, [p for p in left if best in p.options]))
        left = [p for p in left if best not in p.options]
    return chosen


def _groups(lanes: Sequence[str], labels: Sequence[int]) -> tuple[tuple[str, ...], ...]:
    """Return the lanes in groups of one label; lanes without an answer are left out."""
    return tuple(
        tuple(lane for lane, own in zip(lanes, labels, strict=True) if own == label)
        for label in sorted({label for label in labels if label >= 0})
    )


def _separation(
    lanes: Sequence[str],
    named: AxisSet,
    members: Sequence[_Pattern],
    axes: Axes,
    candidates: Axes,
) -> Separation:
    """Join the patterns that one axis set explains; confounded is what explains all of them."""
    common = set.intersection(*(set(p.options) for p in members))
    rivals = sorted(common - {named}, key=lambda own: [_precedence(axis) for axis in own])
    others = {axis for option in rivals for axis in option if axis not in named}
    labels = dict(zip(lanes, members[0].labels, strict=True))
    separating, inseparable = untangle(named, rivals, labels, axes, candidates)
    return Separation(
        np.sort(np.concatenate([p.cases for p in members])),
        _groups(lanes, members[0].labels),
        named,
        cause_of(named),
        confounded=tuple(sorted(others, key=_precedence)),
        separating=separating,
        inseparable=tuple(sorted(inseparable, key=_precedence)),
    )
