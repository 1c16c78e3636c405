"""What sanitizers saw beside what lanes showed: findings of their own, and evidence of others."""

from dataclasses import replace

from harness.report import json, markdown, text
from harness.report.model import Finding, Report, ReportLane
from harness.sanitizer_words import MEMORY_ERROR, UNDEFINED_BEHAVIOUR, Fault, Sighting
from harness.verdict.sanitized import Sanitized, with_sanitizers

OVERFLOW = Fault(UNDEFINED_BEHAVIOUR, "signed integer overflow", "a.cpp:3", "overflow: 1 + 2")
HEAP = Fault(MEMORY_ERROR, "heap-buffer-overflow", "b.cpp:9", "heap-buffer-overflow")
DIVERGENCE = Finding(
    id="0" * 8,
    tokenizer="tiny",
    operations=("encode",),
    lanes=("x/O0",),
    cases=("digits/a", "digits/b"),
    axes=("optimisation",),
    cause="optimisation",
    declared=False,
    summary="lanes differ",
)
PARITY = Report(verdict="pass", exit=0)


def seen(fault: Fault, case: str | None, tokenizer: str = "tiny") -> Sighting:
    lane = "x/sanitizer=" + ("address" if fault.cause == MEMORY_ERROR else "undefined")
    return Sighting(tokenizer=tokenizer, operation="encode", case=case, lane=lane, fault=fault)


def test_nothing_seen_changes_nothing() -> None:
    assert with_sanitizers(PARITY, Sanitized()) == PARITY


def test_a_fault_fails_a_run_whose_ids_are_right() -> None:
    found = with_sanitizers(PARITY, Sanitized(sightings=(seen(HEAP, "digits/a"),)))
    assert (found.verdict, found.exit) == ("fail", 1)
    [one] = found.findings
    assert (one.cause, one.cases, one.axes, one.declared) == (
        MEMORY_ERROR,
        ("digits/a",),
        (),
        False,
    )
    assert one.evidence["kind"] == "sanitizer"
    [place] = one.evidence["sanitizer"]
    assert (place["place"], place["kind"]) == ("b.cpp:9", "heap-buffer-overflow")
    told = text.render(found)
    assert "sanitizer: b.cpp:9: heap-buffer-overflow, shown by digits/a" in told
    assert "tokparity run --sanitize --tokenizer tiny --case digits/a" in told
    assert json.from_dict(json.to_dict(found)) == found


def test_the_command_names_a_tokenizer_as_it_was_given() -> None:
    report = replace(PARITY, called={"tiny": "./tiny.json"})
    told = text.render(with_sanitizers(report, Sanitized(sightings=(seen(HEAP, "digits/a"),))))
    assert "tokparity run --sanitize --tokenizer ./tiny.json --case digits/a" in told


def test_one_finding_for_each_tokenizer_and_kind() -> None:
    sightings = (
        seen(HEAP, "digits/a"),
        seen(OVERFLOW, "digits/a"),
        seen(replace(OVERFLOW, place="a.cpp:7"), "digits/b"),
        seen(OVERFLOW, "digits/a", "other"),
    )
    found = with_sanitizers(PARITY, Sanitized(sightings=sightings)).findings
    assert [(one.tokenizer, one.cause, len(one.cases)) for one in found] == [
        ("tiny", MEMORY_ERROR, 1),
        ("tiny", UNDEFINED_BEHAVIOUR, 2),
        ("other", UNDEFINED_BEHAVIOUR, 1),
    ]
    assert len({one.id for one in found}) == 3


def test_a_divergence_keeps_its_cause_and_gains_the_place() -> None:
    report = Report(verdict="fail", exit=1, findings=(DIVERGENCE,))
    sightings = (seen(OVERFLOW, "digits/b"), seen(HEAP, "smoke/a"))
    first = with_sanitizers(report, Sanitized(sightings=sightings)).findings[0]
    assert first.cause == "optimisation"
    assert [one["place"] for one in first.evidence["sanitizer"]] == ["a.cpp:3"]
    other = (seen(OVERFLOW, "digits/b", "other"),)
    first = with_sanitizers(report, Sanitized(sightings=other)).findings[0]
    assert "sanitizer" not in first.evidence


def test_a_fault_while_loading_has_no_case() -> None:
    found = with_sanitizers(PARITY, Sanitized(sightings=(seen(OVERFLOW, None),)))
    assert found.findings[0].cases == ()
    assert "shown by the load of the tokenizer" in text.render(found)


def test_a_lane_that_is_not_believed_makes_the_run_invalid() -> None:
    found = with_sanitizers(PARITY, Sanitized(invalid={"x/sanitizer=address": "no hello"}))
    assert (found.verdict, found.exit) == ("invalid", 3)
    assert found.invalid == ("x/sanitizer=address: no hello",)


def test_a_sanitizer_that_cannot_be_built_leaves_the_run_its_results() -> None:
    why = "cannot be built here: missing libasan.so\nremedy: apt-get install -y x"
    lane = ReportLane(name="x/sanitizer=address", axes={}, status="unavailable", unavailable=why)
    report = Report(verdict="fail", exit=1, findings=(DIVERGENCE,))
    found = with_sanitizers(report, Sanitized(lanes=(lane,)))
    assert (found.verdict, found.exit, found.findings) == ("fail", 4, (DIVERGENCE,))
    [limit] = found.limits
    assert limit.startswith("1 sanitizer lane could not be built")
    assert limit.endswith("the run itself came to 'fail', exit 1")
    for told in (text.render(found), markdown.render(found)):
        lines = told.splitlines()
        [first] = [n for n, line in enumerate(lines) if "x/sanitizer" in line]
        assert "missing libasan.so" in lines[first]
        assert "apt-get install -y x" in lines[first + 1]
    assert json.from_dict(json.to_dict(found)) == found
    assert with_sanitizers(PARITY, Sanitized(lanes=(lane,))).exit == 4
    invalid = Report(verdict="invalid", exit=3, invalid=("no",))
    assert with_sanitizers(invalid, Sanitized(lanes=(lane,))).exit == 3


def test_words_of_a_subject_do_not_act_on_a_terminal() -> None:
    bad = replace(HEAP, place="\x1b[2J.cpp:1", words="\x1b]0;x\x07")
    found = with_sanitizers(PARITY, Sanitized(sightings=(seen(bad, "digits/a"),)))
    assert "\x1b" not in text.render(found)
