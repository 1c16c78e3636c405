"""The report as GitHub-flavoured Markdown, for a workflow's step summary."""

from tabulate import tabulate

from harness.report import table, told
from harness.report.escape import markdown
from harness.report.model import Finding, Report


def render(report: Report) -> str:
    """Return the report as Markdown in which nothing that others wrote is markup or a command."""
    parts = [f"### tokparity: {told.headline(report)}", ""]
    parts += [f"- **invalid** {markdown(reason)}" for reason in report.invalid]
    for lane in report.lanes:
        if lane.status == "unavailable":
            why = [markdown(line) for line in (lane.unavailable or "").splitlines()]
            parts.append(f"- **lane unavailable** {': '.join([markdown(lane.name), *why[:1]])}")
            parts += [f"  - {line}" for line in why[1:]]
    parts += [f"- **drift** {markdown(sentence)}" for sentence in report.drift]
    tables, lines = table.split(report, markdown)
    for one in tables:
        headers = [one.tokenizer, *one.corpora]
        parts += ["", tabulate(one.rows, headers=headers, tablefmt="github", disable_numparse=True)]
    parts += ["", *(f"- {line}" for line in lines)] if lines else []
    if signs := table.legend(report):
        parts += ["", f"as it should be / graded; {signs}"]
    for finding in report.findings:
        parts += ["", *_finding(finding, report)]
    if report.limits:
        parts += ["", "#### Limits", "", *(f"- {markdown(limit)}" for limit in report.limits)]
    return "\n".join(parts)


def _finding(finding: Finding, report: Report) -> list[str]:
    sign = "✗" if finding.fails else "≈"
    lines = [f"#### {sign} {told.title(finding, report, markdown)}", ""]
    lines += [f"- {sentence}" for sentence in told.sentences(finding, markdown)]
    lines += [f"- {label}: {words}" for label, words in told.witness(finding, markdown)]
    command = told.again(finding, report)
    if command is not None:
        lines.append(f"- again: <code>{markdown(command)}</code>")
    return lines
