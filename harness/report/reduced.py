"""A reduced case in a report: as evidence of its finding, as JSON, and in words."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.errors import TokparityError
from harness.plural import counted
from harness.reduced import Reduced
from harness.report.escape import terminal
from harness.report.model import Report
from harness.report.words import Show

# As many ids and code points as a person reads; the rest is counted.
_SHOWN = 24


def to_dict(reduced: Reduced) -> dict[str, Any]:
    """Return the reduced case as a JSON-ready dictionary; ``text`` is None where it is no UTF-8."""
    return {
        "case": reduced.case,
        "finding": reduced.finding,
        "cause": reduced.cause,
        "tokenizer": reduced.tokenizer,
        "operation": reduced.operation,
        "original": {"hex": reduced.original.hex(), "bytes": len(reduced.original)},
        "hex": reduced.data.hex(),
        "bytes": len(reduced.data),
        "text": reduced.text,
        "escaped": None if reduced.text is None else terminal(reduced.text),
        "code_points": None if reduced.text is None else [ord(char) for char in reduced.text],
        "expected": None if reduced.expected is None else list(reduced.expected),
        "observed": {
            lane: None if ids is None else list(ids) for lane, ids in reduced.observed.items()
        },
        "kinds": dict(reduced.kinds),
        "lanes": list(reduced.lanes),
        "questions": dict(reduced.questions),
        "unit": reduced.unit,
        "minimal": reduced.minimal,
        "confirmed": reduced.confirmed,
        "stopped": reduced.stopped,
        "signature": reduced.signature,
        "notes": list(reduced.notes),
    }


def with_reduced(report: Report, done: Mapping[str, Reduced | TokparityError]) -> Report:
    """Return the report with what became of each finding's case as its evidence ``reduced``.

    Where nothing became of it the evidence is ``{"why_not": words}``.
    """
    return replace(
        report,
        findings=tuple(
            replace(one, evidence={**one.evidence, "reduced": _evidence(done[one.id])})
            if one.id in done
            else one
            for one in report.findings
        ),
    )


def _evidence(found: Reduced | TokparityError) -> dict[str, Any]:
    if isinstance(found, Reduced):
        return to_dict(found)
    return {"why_not": found.what if found.where is None else f"{found.where}: {found.what}"}


def sentence(evidence: Mapping[str, Any], show: Show) -> str:
    """Return the evidence ``reduced`` of a finding in one line."""
    if "why_not" in evidence:
        return f"not reduced: {show(str(evidence['why_not']))}"
    text = evidence["text"]
    shown = evidence["hex"] if text is None else show('"' + text + '"')
    asked = max(evidence["questions"].values(), default=0)
    sure = _sure(evidence["minimal"], evidence["unit"], evidence["stopped"], show)
    return (
        f"reduced: {show(str(evidence['case']))} to {shown} ({counted(evidence['bytes'], 'byte')}, "
        f"{sure}; {counted(asked, 'question')} a lane)"
    )


def render(reduced: Reduced) -> str:
    """Return the reduced case as lines of text, safe for a terminal."""
    text = reduced.text
    before, after = len(reduced.original), len(reduced.data)
    sure = _sure(reduced.minimal, reduced.unit, reduced.stopped, terminal)
    lines = [
        f"{terminal(reduced.case)}: {counted(before, 'byte')} reduced to "
        f"{counted(after, 'byte')}, {sure}",
        f"    finding:   {terminal(reduced.cause)} [{terminal(reduced.finding)}], "
        f"{terminal(reduced.tokenizer)}, {terminal(reduced.operation)}",
    ]
    if text is not None:
        lines.append(f"    text:      {terminal(chr(34) + text + chr(34))}")
        points = [f"U+{ord(char):04X}" for char in text]
        lines.append(f"    points:    {_some(points) or '(none)'}")
    lines.append(f"    bytes:     {_some([f'{byte:02x}' for byte in reduced.data]) or '(none)'}")
    expected = "no word of the oracle" if reduced.expected is None else _ids(reduced.expected)
    lines.append(f"    expected:  {expected}")
    for answer, lanes in _by_answer(reduced).items():
        lines.append(f"    observed:  {terminal(answer)}, on {', '.join(map(terminal, lanes))}")
    lines.append(f"    kept:      {terminal(reduced.signature)}")
    asked = sorted(set(reduced.questions.values()))
    span = "-".join(dict.fromkeys(map(str, (asked[0], asked[-1])))) if asked else "0"
    lines.append(f"    questions: {span} a lane")
    lines += [f"    note:      {terminal(note)}" for note in reduced.notes]
    return "\n".join(lines)


def _sure(minimal: bool, unit: str, stopped: str | None, show: Show) -> str:
    if minimal:
        return f"minimal: no single {unit} can go"
    return f"NOT minimal: {show(stopped or 'the search was not finished')}"


def _by_answer(reduced: Reduced) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for lane, ids in reduced.observed.items():
        words = reduced.kinds[lane] if ids is None else _ids(ids)
        found.setdefault(words, []).append(lane)
    return found


def _ids(ids: Sequence[int]) -> str:
    return _some([str(one) for one in ids]) or "(no ids)"


def _some(words: Sequence[str]) -> str:
    more = len(words) - _SHOWN
    return " ".join([*words[:_SHOWN], *([f"… {more} more"] if more > 0 else [])])
