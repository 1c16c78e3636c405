"""The report for a terminal: the table, then each finding, its proof, and how to see it again."""

from collections.abc import Sequence

from tabulate import tabulate

from harness.plural import counted
from harness.report import table, told
from harness.report.escape import terminal
from harness.report.model import Finding, Policy, Report


def render(report: Report, *, width: int = 100) -> str:
    """Return the report as lines of text with no control character but the line feed.

    Tables wider than ``width`` columns are broken into several, corpus by corpus.
    """
    parts = [f"tokparity: {told.headline(report)}"]
    parts += [f"  invalid: {terminal(reason)}" for reason in report.invalid]
    for lane in report.lanes:
        if lane.status == "unavailable":
            why = [terminal(line) for line in (lane.unavailable or "").splitlines()]
            parts.append(f"  lane unavailable: {': '.join([terminal(lane.name), *why[:1]])}")
            parts += [f"    {line}" for line in why[1:]]
    parts += [f"  drift: {terminal(sentence)}" for sentence in report.drift]
    tables, lines = table.split(report, terminal)
    for one in tables:
        parts += ["", *_table(one, width)]
    if lines:
        parts += ["", *lines]
    if signs := table.legend(report):
        parts += ["", f"as it should be / graded; {signs}"]
    for finding in report.findings:
        parts += ["", *_finding(finding, report)]
    if report.policies:
        parts += ["", *policies(report.policies)]
    if report.limits:
        parts += ["", "limits:", *(f"  {terminal(limit)}" for limit in report.limits)]
    if report.reused:
        parts += ["", f"reused: {', '.join(map(terminal, report.reused))}"]
    return "\n".join(parts)


def _table(one: table.Table, width: int) -> list[str]:
    """Return the table's lines, in as many blocks of corpora as the width asks for."""
    lines: list[str] = []
    start = 0
    while start < len(one.corpora):
        stop = len(one.corpora)
        block = _block(one, start, stop)
        while stop > start + 1 and max(map(len, block)) > width:
            stop -= 1
            block = _block(one, start, stop)
        lines += ([""] if lines else []) + block
        start = stop
    return lines


def _block(one: table.Table, start: int, stop: int) -> list[str]:
    rows = [[row[0], *row[1 + start : 1 + stop]] for row in one.rows]
    headers = [one.tokenizer, *one.corpora[start:stop]]
    return tabulate(rows, headers=headers, tablefmt="simple", disable_numparse=True).splitlines()


def _finding(finding: Finding, report: Report) -> list[str]:
    sign = "✗" if finding.fails else "≈"
    lines = [f"{sign} {told.title(finding, report, terminal)}"]
    lines += [f"    {sentence}" for sentence in told.sentences(finding, terminal)]
    lines += [f"    {label + ':':9} {words}" for label, words in told.witness(finding, terminal)]
    command = told.again(finding, report)
    if command is not None:
        lines.append(f"    {'again:':9} {command}")
    # Changes that were made together have a heading each.
    parts = terminal(finding.cause or "").split("+")
    lines.append(f"    {'means:':9} {', '.join(f'docs/attribution.md#{part}' for part in parts)}")
    return lines


def policies(found: Sequence[Policy]) -> list[str]:
    """Return one line for each byte policy, with the tokenizers and operations that have it."""
    groups: dict[str, list[Policy]] = {}
    for policy in found:
        groups.setdefault(policy.name or "unknown: no policy reproduces them all", []).append(
            policy
        )
    return [
        f"invalid UTF-8 is {terminal(name)}: "
        f"{', '.join(dict.fromkeys(terminal(policy.tokenizer) for policy in own))} "
        f"({counted(max(policy.cases for policy in own), 'ungraded case')})"
        for name, own in groups.items()
    ]
