"""The table: lanes down, corpora across; a tokenizer that is all as it should be is one line."""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.plural import counted
from harness.report.model import Cell, Report
from harness.report.words import Show

# What stands beside a cell's count, and what the legend says of it.
_MARKS = {
    "fail": ("✗", "differ"),
    "xpass": ("gone ", "a declared deviation is gone"),
    "crash": ("crash ", "the probe died"),
    "timeout": ("hang ", "no answer in time"),
    "unsupported": ("refused ", "the subject refuses the tokenizer or operation"),
    "unresolved": ("unresolved ", "never answered"),
    "xfail": ("≈", "a declared deviation, proven"),
    "ungraded": ("+", "ungraded: not UTF-8, compared lane against lane only"),
}


@dataclass(frozen=True)
class Table:
    """One tokenizer's table; ``rows`` hold the lane's name and one cell a corpus."""

    tokenizer: str
    corpora: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def cell_text(cell: Cell | None) -> str:
    """Return ``43/43``, ``40/43 ✗3``: cases as they should be of those graded, and the others."""
    if cell is None:
        return "-"
    words = [f"{cell.passed + cell.xfail}/{cell.cases - cell.ungraded}"]
    for name, (sign, _) in _MARKS.items():
        count: int = getattr(cell, name)
        if count:
            words.append(f"{sign}{count}")
    return " ".join(words)


def legend(report: Report) -> str:
    """Return what the signs in this report's cells mean; empty when there are none."""
    used = [
        f"{sign.strip()} {words}"
        for name, (sign, words) in _MARKS.items()
        if any(getattr(cell, name) for cell in report.cells)
    ]
    return " · ".join(used)


def split(report: Report, show: Show) -> tuple[list[Table], list[str]]:
    """Return the tables to show, and one line for each tokenizer that needs none.

    A lone tokenizer always has its table. Of several, those where every lane gave the same counts
    with nothing failing are a line each.
    """
    tables: list[Table] = []
    lines: list[str] = []
    names = list(dict.fromkeys(cell.tokenizer for cell in report.cells))
    control = {lane.name for lane in report.lanes if lane.control}
    for name in names:
        own = {(c.lane, c.corpus): c for c in report.cells if c.tokenizer == name}
        lanes = list(dict.fromkeys(lane for lane, _ in own))
        corpora = list(dict.fromkeys(corpus for _, corpus in own))
        if len(names) > 1 and _quiet(list(own.values())):
            lines.append(_line(name, list(own.values()), show))
            continue
        rows = [
            (
                show(lane) + (" (control)" if lane in control else ""),
                *(cell_text(own.get((lane, corpus))) for corpus in corpora),
            )
            for lane in lanes
        ]
        tables.append(Table(show(name), tuple(show(c) for c in corpora), tuple(rows)))
    return tables, lines


def _quiet(cells: Sequence[Cell]) -> bool:
    """Whether every graded case on every lane is as it should be, and the lanes count alike."""
    counts: dict[str, set[tuple[int, ...]]] = {}
    for cell in cells:
        if cell.passed + cell.xfail + cell.ungraded != cell.cases:
            return False
        counts.setdefault(cell.corpus, set()).add((cell.cases, cell.xfail, cell.ungraded))
    return all(len(seen) == 1 for seen in counts.values())


def _line(name: str, cells: Sequence[Cell], show: Show) -> str:
    lane = [cell for cell in cells if cell.lane == cells[0].lane]
    total = Cell(
        lane="",
        tokenizer=name,
        corpus="",
        cases=sum(cell.cases for cell in lane),
        passed=sum(cell.passed for cell in lane),
        xfail=sum(cell.xfail for cell in lane),
        ungraded=sum(cell.ungraded for cell in lane),
    )
    lanes = len({cell.lane for cell in cells})
    where = f"{counted(lanes, 'lane')}, {counted(len(lane), 'corpus', 'corpora')}"
    return f"{show(name)}: {cell_text(total)} on each of {where}"
