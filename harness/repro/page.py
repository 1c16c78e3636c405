"""``README.md`` of a reproducer, and the one above all of them; no text in it is markup."""

from collections.abc import Sequence
from dataclasses import dataclass

from tabulate import tabulate

from harness.needs import install_line
from harness.plural import counted
from harness.report import told
from harness.report.escape import markdown
from harness.report.model import Finding, Report
from harness.report.words import byte_words, input_words
from harness.repro.script import by_hand, debugger, one_line
from harness.repro.value import ASKED, EXPECTED, INPUT, OBSERVED, TOKENIZER, Reproducer, Side

# How the page above all reproducers starts, and is known again.
HEADING = "# Reproducers"
# Carried files beyond these are counted, not listed.
_FILES = 40


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One finding in the index; ``why_not`` says why it has no reproducer, or is None."""

    finding: Finding
    why_not: str | None = None


def page(one: Reproducer, report: Report) -> str:
    """Return the README of one reproducer, as Markdown."""
    found = one.finding
    parts = [f"# {told.title(found, report, markdown)}", ""]
    parts += [f"- {sentence}" for sentence in told.sentences(found, markdown)]
    parts += [f"- {label}: {words}" for label, words in told.witness(found, markdown)]
    parts += ["", *_run(one)]
    parts += ["", *_input(one)]
    for number, side in enumerate(one.sides, start=1):
        if side.emulator or one.status == "crash":
            parts += ["", *_debugger(number, side)]
    parts += ["", *_files(one)]
    if one.missing:
        parts += ["", "## What could not be carried", ""]
        parts += [f"- {markdown(sentence)}" for sentence in one.missing]
    return "\n".join(parts) + "\n"


def index(entries: Sequence[Entry], report: Report) -> str:
    """Return the README above the reproducers: which finding has one, and why others have none.

    Of one that has none there is the command that shows it again with tokparity, if any can.
    """
    rows = [
        (
            f"[{entry.finding.id}]({entry.finding.id}/README.md)"
            if entry.why_not is None
            else markdown(entry.finding.id),
            markdown(entry.finding.cause or "no cause"),
            markdown(entry.finding.tokenizer),
            ", ".join(map(markdown, entry.finding.operations)),
            "`sh run.sh` there" if entry.why_not is None else _none(entry, report),
        )
        for entry in entries
    ]
    parts = [HEADING, ""]
    if rows:
        headers = ["finding", "cause", "tokenizer", "operations", "reproducer"]
        parts.append(tabulate(rows, headers=headers, tablefmt="github", disable_numparse=True))
    else:
        parts.append("The run has no finding: there is nothing to reproduce.")
    parts += ["", "A directory that is not listed here is left over from an earlier run."]
    return "\n".join(parts) + "\n"


def _none(entry: Entry, report: Report) -> str:
    """Say why a finding has no reproducer, and what there is in its place."""
    words = f"none: {markdown(entry.why_not or '')}"
    again = None if entry.finding.absent else told.again(entry.finding, report)
    if again is None:
        return words
    return f"{words}; with tokparity: <code>{markdown(again)}</code>"


def _run(one: Reproducer) -> list[str]:
    wanted = dict(need for side in one.sides for need in side.needs)
    if one.repeats > 1:
        what = "one lane gives two answers to one request"
    elif len(one.sides) > 1:
        what = "lane 1 answers as it was observed, and lane 2 otherwise"
    else:
        what = "the lane answers as it was observed, which is not as expected"
    parts = [
        "## Run it",
        "",
        "    sh run.sh",
        "",
        f"Exit status 0 says *reproduced*: {what}.",
        "1 says that it is not, 2 that it could not be built or run here. Nothing of tokparity is",
        "needed but the header of the probe protocol, which is among the sources.",
        "",
    ]
    parts += [f"{n}. {markdown(side.lane)}" for n, side in enumerate(one.sides, start=1)]
    if wanted:
        parts += ["", f"It takes {', '.join(map(markdown, wanted))}:", ""]
        parts += [f"    {install_line(wanted.values())}"]
    return parts


def _input(one: Reproducer) -> list[str]:
    evidence = {"bytes": len(one.input), "hex": one.input[:96].hex()}
    parts = ["## The input", "", input_words(evidence, markdown)]
    if 0 < len(one.input) <= 16:
        parts += ["", byte_words(one.input, markdown)]
    if one.reduced_from is not None:
        case = markdown(one.reduced_from)
        parts += ["", f"It was shrunk from {case}, with the same cause on the same lanes."]
    hand = by_hand(one, one.sides[0])
    if hand is not None:
        parts += ["", "By hand, once `run.sh` has run:", "", f"    {one_line(hand)}"]
    return parts


def _debugger(number: int, side: Side) -> list[str]:
    commands = [one_line(one) for one in debugger(side)]
    where = "In two terminals" if len(commands) > 1 else "In one terminal"
    return [
        f"## Lane {number} in a debugger",
        "",
        f"{where}, once `run.sh` has run (with `-g` in its compile command there are lines too):",
        "",
        *(f"    {one}" for one in commands),
        "",
        f"It takes {'gdb-multiarch' if side.emulator else 'gdb'}:",
        "",
        f"    {install_line(['gdb-multiarch' if side.emulator else 'gdb'])}",
    ]


def _files(one: Reproducer) -> list[str]:
    source = "oracle's" if one.expected_from == "golden" else f"of {one.expected_from}"
    rows = [
        (INPUT, f"the text, {counted(len(one.input), 'byte')}"),
        *([(ASKED, "the ids that are decoded")] if one.asked is not None else []),
        (EXPECTED, f"the answer expected, {source}"),
        (OBSERVED, f"the answer of lane 1: {one.status}"),
        (TOKENIZER, f"sha256 {one.tokenizer_sha256}; its own terms apply"),
    ]
    parts = ["## The files", ""]
    parts += [f"- `{name}`: {markdown(words)}" for name, words in rows]
    names = sorted(one.files)
    parts += [f"- <code>{markdown(name)}</code>" for name in names[:_FILES]]
    if len(names) > _FILES:
        parts += [f"- and {counted(len(names) - _FILES, 'source')} more"]
    return parts
