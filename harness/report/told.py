"""A finding in sentences, for every renderer; only text that others wrote goes through ``show``."""

from collections.abc import Mapping, Sequence
from typing import Any

from harness.plural import counted
from harness.report.escape import shell
from harness.report.model import Finding, First, Report
from harness.report.reduced import sentence as reduced_sentence
from harness.report.words import Show, byte_words, input_words, token_words

# Cases and refuted hypotheses beyond these are counted, not listed.
_CASES = 5
_REFUTED = 4
_WORDS = {
    0: "parity",
    1: "NO parity",
    3: "INVALID, the instrument is not to be believed",
    4: "INCOMPLETE, a requested lane is missing",
    5: "DRIFT, the oracle no longer gives the goldens",
}


def headline(report: Report) -> str:
    """Return the run in one line."""
    lanes = sum(lane.status == "ran" for lane in report.lanes)
    tokenizers = len({cell.tokenizer for cell in report.cells})
    corpora = len({cell.corpus for cell in report.cells})
    return (
        f"{_WORDS.get(report.exit, report.verdict)} (exit {report.exit}): "
        f"{counted(lanes, 'lane')}, {counted(tokenizers, 'tokenizer')}, "
        f"{counted(corpora, 'corpus', 'corpora')}"
    )


def title(finding: Finding, report: Report, show: Show) -> str:
    """Return what, with which tokenizer, on which lanes, in how many cases."""
    ran = [lane.name for lane in report.lanes if lane.status == "ran"]
    if len(ran) > 1 and set(ran) == set(finding.lanes):
        lanes = f"all {len(ran)} lanes"
    else:
        lanes = ", ".join(show(lane) for lane in finding.lanes)
    state = "gone, " if finding.absent else "declared, " if finding.declared else ""
    return (
        f"{show(finding.cause or 'no cause')} [{show(finding.id)}]: {state}"
        f"{show(finding.tokenizer)}, {', '.join(map(show, finding.operations))}, "
        f"{counted(len(finding.cases), 'case')} on {lanes}"
    )


def sentences(finding: Finding, show: Show) -> list[str]:
    """Return the finding's cause in words, its evidence, and its cases."""
    evidence = finding.evidence
    told = [show(finding.summary)]
    if finding.declared and finding.reason:
        link = f" ({show(finding.link)})" if finding.link else ""
        told.append(f"declared because: {show(finding.reason)}{link}")
    if "declared_as" in evidence:
        told.append(
            f"these lanes and cases cannot tell it from {show(str(evidence['named_otherwise']))}"
        )
    told += _proof(evidence, show)
    told += _first_stage(evidence.get("first_stage"), show)
    told += _platform(evidence, show)
    if "contradicted" in evidence:
        told.append(f"proven on {counted(evidence['contradicted'], 'case')}")
    for words, times in evidence.get("words", {}).items():
        told.append(f"{times} x {show(str(words))}")
    told += _sanitizer(evidence.get("sanitizer", ()), show)
    told += _tried(evidence.get("tried", {}))
    told += _refuted(evidence.get("refuted", ()), show)
    if "reduced" in evidence:
        told.append(reduced_sentence(evidence["reduced"], show))
    if len(finding.cases) > 1:
        listed = ", ".join(show(case) for case in finding.cases[:_CASES])
        more = len(finding.cases) - _CASES
        told.append(f"cases: {listed}{f' and {more} more' if more > 0 else ''}")
    return told


def _proof(evidence: Mapping[str, Any], show: Show) -> list[str]:
    if "hypothesis" not in evidence:
        return []
    told = [
        f"proven: {show(str(evidence['hypothesis']))} gives the observed ids on all "
        f"{counted(evidence['judged'], 'judged case')}, "
        f"{evidence['mismatching']} that differ from the golden and "
        f"{evidence['judged'] - evidence['mismatching']} that agree"
    ]
    if evidence.get("sets_equal"):
        count = evidence["mismatching"]
        which = "that differs is" if count == 1 else "that differ are"
        told.append(
            f"the {counted(count, 'case')} {which} exactly the "
            f"{evidence['normalized_form_differs']} whose normalized form differs"
        )
    if evidence.get("needed"):
        parts = ", ".join(f"{show(part)} {count}" for part, count in evidence["needed"].items())
        told.append(f"cases that differ and come out as observed only with each part: {parts}")
    if evidence.get("thin"):
        told.append("it rests on one case that differs: take it with care")
    if evidence.get("ties"):
        ties = ", ".join(show(str(tie)) for tie in evidence["ties"])
        told.append(f"these cases cannot tell it from: {ties}")
    return told


def _first_stage(evidence: Mapping[str, Any] | None, show: Show) -> list[str]:
    """Return the independent evidence of the stages in one line."""
    if evidence is None:
        return []
    left = evidence["left_out"]
    if evidence["stage"] is None:
        why = "each has an added token in it, or no answer"
        return [f"stages: none of {counted(left, 'case')} can be compared: {why}"] if left else []
    out = f"{counted(left, 'case')} {'is' if left == 1 else 'are'} left out, for an added token"
    beside = f" ({out})" if left else ""
    if evidence["stage"] == "later":
        words = "normalizer and pre-tokenizer give what the oracle's give"
    else:
        words = f"the first that differs from the oracle's is the {show(str(evidence['stage']))}"
    words = f"stages: {words}, in {evidence['cases']} of {counted(evidence['of'], 'case')}{beside}"
    if evidence["agrees"] is False:
        words += "; the cause named would show elsewhere: the two DISAGREE"
    elif evidence["agrees"]:
        words += "; that fits the cause named"
    return [words]


def _platform(evidence: Mapping[str, Any], show: Show) -> list[str]:
    told = []
    for number, group in enumerate(evidence.get("groups", ()), start=1):
        told.append(f"answer {number}: {', '.join(show(lane) for lane in group)}")
    kinds = {show(str(kind)) for kind in evidence.get("outcomes", {}).values()}
    if len(kinds) > 1:
        told.append(f"outcomes of the first case: {', '.join(sorted(kinds))}")
    if evidence.get("confounded"):
        told.append(
            "the lanes that ran cannot tell it from "
            + ", ".join(show(axis) for axis in evidence["confounded"])
        )
        separating = [shell(lane) for lane in evidence.get("separating_lanes", ())]
        if separating:
            told.append(
                f"--isolate would run {' and '.join(map(show, separating))} to tell them apart"
            )
        if evidence.get("inseparable"):
            named = ", ".join(show(axis) for axis in evidence["inseparable"])
            told.append(f"no lane known here would tell {named} apart")
    return told


def _sanitizer(evidence: Sequence[Mapping[str, Any]], show: Show) -> list[str]:
    """Return each place that a sanitizer reported, and the first case that shows it."""
    told = []
    for one in evidence:
        case = one["cases"][0] if one["cases"] else "the load of the tokenizer"
        words = f"{show(str(one['place']))}: {show(str(one['words']))}"
        told.append(f"sanitizer: {words}, shown by {show(case)}")
    return told


def _tried(tried: Mapping[str, int]) -> list[str]:
    """Return how far the search for a combination went, where single changes did not do."""
    if len(tried) < 2:
        return []
    sizes = [counted(count, size) for size, count in tried.items()]
    return [f"tried: {', '.join(sizes)}"]


def _refuted(refuted: Sequence[Mapping[str, Any]], show: Show) -> list[str]:
    told = []
    for one in refuted[:_REFUTED]:
        words = (
            f"refuted: {show(str(one['hypothesis']))} explains {one['explained']} of {one['of']}"
        )
        if one.get("would_break"):
            words += f" and would break {one['would_break']} that agree"
        elif one.get("sets_equal") is False and one["explained"] == one["of"]:
            words += ", but the normalized forms differ on other cases than the ids do"
        if one.get("refuted_by") is not None:
            words += f", refuted by {show(str(one['refuted_by']))}"
        if one.get("note"):
            words += f": {show(str(one['note']))}"
        told.append(words)
    if len(refuted) > _REFUTED:
        more = len(refuted) - _REFUTED
        told.append(f"refuted besides: {counted(more, 'hypothesis', 'hypotheses')}")
    return told


def witness(finding: Finding, show: Show) -> list[tuple[str, str]]:
    """Return the first case as (label, words) pairs."""
    first = finding.first
    if first is None:
        return []
    unit = "byte" if first.operation == "decode" else "token"
    pairs = [("first", f"{show(first.case)}, {unit} {first.index}, on {show(first.lane)}")]
    if "input" in finding.evidence:
        pairs.append(("input", input_words(finding.evidence["input"], show)))
    source = "" if first.expected_from == "golden" else f" (from {show(first.expected_from)})"
    pairs.append(("expected", _side(finding, first, "expected", first.expected, show) + source))
    if first.observed_status == "ok":
        pairs.append(("observed", _side(finding, first, "observed", first.observed, show)))
    else:
        note = finding.evidence.get("note")
        words = f": {show(str(note))}" if note else ""
        pairs.append(("observed", show(first.observed_status) + words))
    return pairs


def _side(finding: Finding, first: First, side: str, ids: Sequence[int], show: Show) -> str:
    """Return what stands at the first difference on one side."""
    if first.index >= len(ids):
        return f"nothing more, after {len(ids)}"
    if first.operation == "decode":
        return byte_words(bytes(value & 0xFF for value in ids[first.index :][:16]), show)
    token = finding.evidence.get("tokens", {}).get(side)
    words = str(ids[first.index]) if token is None else token_words(token, show)
    return f"{words}, of {counted(len(ids), 'token')}"


def again(finding: Finding, report: Report) -> str | None:
    """Return the command that shows the finding's first case again; None where it has no case."""
    first = finding.first
    if first is None:
        words = finding.evidence.get("again", ())
        return " ".join(shell(word) for word in words) or None
    groups = finding.evidence.get("groups") or [[first.lane]]
    lanes = list(dict.fromkeys([first.lane, *(group[0] for group in groups if group)]))
    tokenizer = report.called.get(finding.tokenizer, finding.tokenizer)
    words = [*report.command, "--tokenizer", tokenizer, "--case", first.case]
    for lane in lanes:
        words += ["--lanes", lane]
    return " ".join(shell(word) for word in words)
