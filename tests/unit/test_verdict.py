"""The verdict: every status, every exit, and every rule of the design with a run that breaks it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from harness.attribute import Attribution, BytePolicy, Examined
from harness.hypotheses import Hypothesis
from harness.hypotheses.hypothesis import Parameters
from harness.isolate import separate
from harness.outcomes import Outcomes, Status, from_answers
from harness.report.model import Cell, Finding, Report
from harness.sanitizer_words import SANITIZER_CAUSES
from harness.verdict import (
    DECLARABLE_NAMES,
    Deviation,
    LaneInfo,
    Question,
    declarable,
    declared_for,
    judge,
)

Answer = Sequence[int] | Status

CONTROL, SIGNED, UNSIGNED, ARM = "x/default", "x/signed", "x/unsigned", "a/default"
AXES = {
    CONTROL: {"arch": "x86_64", "char": "signed", "compiler": "gcc 12.2.0"},
    SIGNED: {"arch": "x86_64", "char": "signed", "compiler": "gcc 12.2.0"},
    UNSIGNED: {"arch": "x86_64", "char": "unsigned", "compiler": "gcc 12.2.0"},
    ARM: {"arch": "aarch64", "char": "unsigned", "compiler": "gcc 12.2.0"},
}
CASES = ("smoke/a", "smoke/b", "digits/a", "digits/b")
EXPECTED: list[Answer] = [[1], [2, 2], [3], [4, 4, 4]]


def lanes(**invalid: str) -> list[LaneInfo]:
    return [
        LaneInfo(
            name=name,
            axes=own,
            probe_sha256="0" * 64,
            control=name == CONTROL,
            emulated=name == ARM,
            invalid=invalid.get(name.replace("/", "_")),
        )
        for name, own in AXES.items()
    ]


def attribution(
    expected: Outcomes,
    observed: Outcomes,
    predicted: Outcomes,
    name: str = "normalizer-left-out",
    *,
    ties: Sequence[str] = (),
    parameters: Parameters = (),
) -> Attribution:
    """What ``attribute`` would return for a hypothesis with these predictions."""
    graded = (expected.status == Status.OK) & (observed.status == Status.OK)

    def same(a: Outcomes, b: Outcomes) -> list[bool]:
        return [a.answer(n).tolist() == b.answer(n).tolist() for n in range(len(a))]

    mismatching = np.flatnonzero(graded & ~np.asarray(same(expected, observed)))
    accepted = all(np.asarray(same(predicted, observed))[graded]) and bool(mismatching.shape[0])
    tested = [
        Examined(
            Hypothesis(one, "normalizer", "the declared normalizer is not applied", parameters),
            accepted=accepted,
            tried=int(mismatching.shape[0]),
            explained=int(mismatching.shape[0]) if accepted else 0,
            would_break=0,
            refuted_by=None if accepted else 0,
            predicted=predicted,
            changes=~np.asarray(same(predicted, expected)),
        )
        for one in (name, *ties)
    ]
    causes = tuple(one for one in tested if one.accepted)
    return Attribution(np.flatnonzero(graded), mismatching, causes, tuple(tested))


def question(
    observed: Mapping[str, Sequence[Answer]],
    *,
    expected: Sequence[Answer] = EXPECTED,
    predicted: Sequence[Answer] | None = None,
    tokenizer: str = "tiny",
    operation: str = "encode",
    cases: tuple[str, ...] = CASES,
    repeats: Mapping[str, Sequence[int]] | None = None,
    name: str = "normalizer-left-out",
    ties: Sequence[str] = (),
    notes: Mapping[int, str] | None = None,
    parameters: Parameters = (),
) -> Question:
    outcomes = {lane: from_answers(answers, notes) for lane, answers in observed.items()}
    wanted = from_answers(expected)
    separations = separate(outcomes, AXES, repeats=repeats)
    tried = None
    if predicted is not None:
        seen = next(iter(outcomes.values()))
        foretold = from_answers(predicted)
        tried = attribution(wanted, seen, foretold, name, ties=ties, parameters=parameters)
    return Question(
        tokenizer=tokenizer,
        operation=operation,
        cases=cases,
        data=[case.encode() for case in cases],
        expected=wanted,
        observed=outcomes,
        separations=separations,
        attribution=tried,
        repeats=repeats or {},
        token_text=lambda token: f"t{token}",
    )


def alike(answers: Sequence[Answer]) -> dict[str, Sequence[Answer]]:
    return dict.fromkeys(AXES, answers)


def cell(report: Report, lane: str, corpus: str, tokenizer: str = "tiny") -> Cell:
    (found,) = [
        c for c in report.cells if (c.lane, c.corpus, c.tokenizer) == (lane, corpus, tokenizer)
    ]
    return found


def the_finding(report: Report) -> Finding:
    assert len(report.findings) == 1, [one.cause for one in report.findings]
    return report.findings[0]


def test_parity() -> None:
    report = judge(lanes(), [question(alike(EXPECTED))])
    assert (report.verdict, report.exit, report.findings) == ("pass", 0, ())
    assert cell(report, ARM, "digits").passed == 2
    assert len(report.cells) == 8
    assert any("not silicon" in limit for limit in report.limits)
    assert any("gcc 12.2.0" in limit for limit in report.limits)


def test_a_mismatch_nothing_explains() -> None:
    wrong = [*EXPECTED[:2], [9], EXPECTED[3]]
    report = judge(lanes(), [question(alike(wrong), predicted=EXPECTED)])
    found = the_finding(report)
    assert (report.verdict, report.exit, found.cause) == ("fail", 1, "unexplained")
    assert (found.cases, found.lanes) == (("digits/a",), tuple(AXES))
    assert found.evidence["refuted"][0]["hypothesis"] == "normalizer-left-out"
    assert found.evidence["refuted"][0]["refuted_by"] == "smoke/a"
    assert found.first is not None
    assert (found.first.index, found.first.expected, found.first.observed) == (0, (3,), (9,))
    assert found.evidence["tokens"]["observed"] == {"id": 9, "piece": "t9", "hex": b"t9".hex()}
    assert cell(report, CONTROL, "digits").fail == 1


def test_the_same_number_of_different_ids_fails() -> None:
    report = judge(lanes(), [question(alike([[1], [2, 2], [3], [4, 5, 4]]))])
    assert report.exit == 1
    first = the_finding(report).first
    assert first is not None
    assert first.index == 1


def test_a_proven_cause() -> None:
    wrong: list[Answer] = [[1], [2, 2], [3, 3], [4, 4, 4]]
    report = judge(lanes(), [question(alike(wrong), predicted=wrong, ties=["normalizer-nfd"])])
    found = the_finding(report)
    assert (report.exit, found.cause, found.declared) == (1, "normalizer-left-out", False)
    assert found.evidence["explained"] == found.evidence["mismatching"] == 1
    assert found.evidence["ties"] == ["normalizer-nfd"]


def test_a_tie_with_itself_is_no_tie() -> None:
    again = ["normalizer-left-out", "normalizer-nfd", "normalizer-nfd"]
    [found] = judge(lanes(), [question(alike(WRONG), predicted=WRONG, ties=again)]).findings
    assert found.evidence["ties"] == ["normalizer-nfd"]


LEFT_OUT = Deviation(cause="normalizer-left-out", tokenizers=("tiny",), reason="by design")
WRONG: list[Answer] = [[1], [2, 2], [3, 3], [4, 4, 4]]


def test_a_declared_cause_that_is_proven_is_expected() -> None:
    report = judge(lanes(), [question(alike(WRONG), predicted=WRONG)], deviations=[LEFT_OUT])
    found = the_finding(report)
    assert (report.verdict, report.exit) == ("pass", 0)
    assert (found.declared, found.fails, found.reason) == (True, False, "by design")
    assert cell(report, ARM, "digits").xfail == 1


def test_a_declaration_is_of_one_subject() -> None:
    asked = question(alike(WRONG), predicted=WRONG)
    own = replace(LEFT_OUT, subject="eng*")
    assert judge(lanes(), [asked], deviations=[own], subject="engine").exit == 0
    other = judge(lanes(), [asked], deviations=[own], subject="reference")
    assert (other.exit, the_finding(other).declared) == (1, False)
    assert any("of the subject eng*, not of reference" in limit for limit in other.limits)
    # Nor is it gone there.
    fine = question(alike(EXPECTED), predicted=WRONG)
    assert judge(lanes(), [fine], deviations=[own], subject="reference").exit == 0
    assert judge(lanes(), [fine], deviations=[own], subject="engine").exit == 1


OLDER = Deviation(
    cause="normalizer-left-out", parameters=(("unicode", "15.0"), ("cap", "6")), reason="r"
)


def test_a_declaration_with_parameters_is_of_these_values_alone() -> None:
    same: Parameters = (("cap", 6), ("unicode", "15.0"), ("other", "x"))
    asked = question(alike(WRONG), predicted=WRONG, parameters=same)
    assert judge(lanes(), [asked], deviations=[OLDER]).exit == 0
    asked = question(alike(WRONG), predicted=WRONG, parameters=(("cap", 6), ("unicode", "14.0")))
    report = judge(lanes(), [asked], deviations=[OLDER])
    assert [(one.declared, one.absent) for one in report.findings] == [(False, False), (True, True)]
    assert "unicode 15.0, cap 6) is declared, and found was cap 6, unicode 14.0" in (
        report.findings[0].summary
    )
    assert report.exit == 1


def test_wider_than_declared_says_where_and_by_which_cases() -> None:
    narrow = replace(LEFT_OUT, lanes=("x/*",))
    report = judge(lanes(), [question(alike(WRONG), predicted=WRONG)], deviations=[narrow])
    [_, wide] = report.findings
    assert (report.exit, wide.fails) == (1, True)
    assert wide.summary.endswith(
        "wider than declared: 1 case: digits/a; "
        "normalizer-left-out is declared for tiny on lanes x/*"
    )
    assert wide.evidence["wider_than_declared"]["lanes"] == [ARM]
    # Where nothing of the kind is declared there is nothing to be wider than.
    crash = Deviation(cause="crash", lanes=("none",), reason="r")
    report = judge(lanes(), [question(alike(WRONG), predicted=WRONG)], deviations=[crash])
    assert "wider" not in the_finding(report).summary


def test_cases_that_a_declared_hypothesis_does_not_explain_are_named() -> None:
    """Left out is declared, and one case goes wrong besides, which refutes it as the one cause."""
    worse: list[Answer] = [[1], [2, 2], [3, 3], [7]]
    report = judge(lanes(), [question(alike(worse), predicted=WRONG)], deviations=[LEFT_OUT])
    found = the_finding(report)
    assert (report.exit, found.cause) == (1, "unexplained")
    assert "wider than declared: 1 case: digits/b; " in found.summary
    assert "normalizer-left-out explains 1 of 2 and not these" in found.summary
    assert found.evidence["wider_than_declared"]["cases"] == ["digits/b"]
    # Without the declaration nothing of it is said.
    plain = the_finding(judge(lanes(), [question(alike(worse), predicted=WRONG)]))
    assert "wider" not in plain.summary


A, B = "normalizer-left-out", "nul-ends-text"


def both(*, cause: str = f"{A}+{B}") -> Question:
    return question(alike(WRONG), predicted=WRONG, name=cause)


@pytest.mark.parametrize("declared", [[f"{A}+{B}"], [f"{B}+{A}"], [A, B], [B, A]])
def test_two_causes_at_once_are_declared_together_or_each(declared: list[str]) -> None:
    deviations = [Deviation(cause=cause, reason=f"for {cause}") for cause in declared]
    report = judge(lanes(), [both()], deviations=deviations)
    found = the_finding(report)
    assert (report.exit, found.declared) == (0, True)
    assert all(f"for {cause}" in (found.reason or "") for cause in declared)


def test_one_of_two_causes_declared_excuses_neither() -> None:
    report = judge(lanes(), [both()], deviations=[Deviation(cause=A, reason="r")])
    found = the_finding(report)
    assert (report.exit, found.declared) == (1, False)
    assert f"{B} is not declared" in found.summary


def test_two_declarations_cover_where_both_do() -> None:
    deviations = [
        Deviation(cause=A, reason="r"),
        Deviation(cause=B, lanes=("x/*",), reason="r"),
    ]
    report = judge(lanes(), [both()], deviations=deviations)
    assert [(one.declared, one.lanes) for one in report.findings] == [
        (True, (CONTROL, SIGNED, UNSIGNED)),
        (False, (ARM,)),
    ]


def test_two_causes_declared_together_of_which_one_is_left() -> None:
    report = judge(lanes(), [both(cause=A)], deviations=[Deviation(cause=f"{A}+{B}", reason="r")])
    assert report.exit == 1
    assert [(one.cause, one.absent) for one in report.findings] == [
        (A, False),
        (f"{A}+{B}", True),
    ]


def test_two_causes_declared_together_and_both_gone() -> None:
    asked = question(alike(EXPECTED), predicted=WRONG, name=A)
    report = judge(lanes(), [asked], deviations=[Deviation(cause=f"{A}+{B}", reason="r")])
    assert (report.exit, the_finding(report).absent) == (1, True)


def test_a_declaration_does_not_excuse_another_cause() -> None:
    wrong = [*EXPECTED[:2], [9], EXPECTED[3]]
    report = judge(lanes(), [question(alike(wrong), predicted=WRONG)], deviations=[LEFT_OUT])
    assert report.exit == 1
    assert "unexplained" in [one.cause for one in report.findings]
    assert cell(report, ARM, "digits").xfail == 0


def test_a_declaration_for_some_lanes_leaves_the_others_failing() -> None:
    narrow = replace(LEFT_OUT, lanes=("x/*",))
    report = judge(lanes(), [question(alike(WRONG), predicted=WRONG)], deviations=[narrow])
    assert report.exit == 1
    assert [(one.declared, one.lanes) for one in report.findings] == [
        (True, (CONTROL, SIGNED, UNSIGNED)),
        (False, (ARM,)),
    ]
    assert len({one.id for one in report.findings}) == 2


def test_a_tie_may_be_declared_under_its_other_name() -> None:
    asked = question(alike(WRONG), predicted=WRONG, ties=["normalizer-nfd"])
    other = replace(LEFT_OUT, cause="normalizer-nfd")
    found = the_finding(judge(lanes(), [asked], deviations=[other]))
    assert (found.cause, found.declared) == ("normalizer-nfd", True)
    assert found.evidence["named_otherwise"] == "normalizer-left-out"


def test_declared_and_gone_fails() -> None:
    report = judge(lanes(), [question(alike(EXPECTED), predicted=WRONG)], deviations=[LEFT_OUT])
    found = the_finding(report)
    assert (report.verdict, report.exit, found.absent, found.declared) == ("fail", 1, True, True)
    assert (found.cases, found.lanes) == (("digits/a",), tuple(AXES))
    assert cell(report, CONTROL, "digits").xpass == 1
    assert found.first is not None
    assert (found.first.expected, found.first.observed) == ((3, 3), (3,))


@pytest.mark.parametrize("cause", ["normalizer-left-out", "char-signedness"])
def test_what_is_gone_still_says_why_and_where_it_was_declared(cause: str) -> None:
    deviation = Deviation(cause=cause, reason="r", link="https://example.org/1")
    asked = question(alike(EXPECTED), predicted=WRONG)
    found = the_finding(judge(lanes(), [asked], deviations=[deviation]))
    assert (found.absent, found.reason, found.link) == (True, "r", "https://example.org/1")


def test_declared_and_gone_on_one_lane_only() -> None:
    """One lane stopped deviating: that is a platform difference and a declaration too wide."""
    observed = {**alike(WRONG), ARM: EXPECTED}
    report = judge(lanes(), [question(observed, predicted=WRONG)], deviations=[LEFT_OUT])
    assert report.exit == 1
    gone = [one for one in report.findings if one.absent]
    assert [one.lanes for one in gone] == [(ARM,)]


def test_a_declaration_no_case_could_show_is_a_limit() -> None:
    asked = question(alike(EXPECTED), predicted=EXPECTED)
    report = judge(lanes(), [asked], deviations=[LEFT_OUT])
    assert (report.exit, report.findings) == (0, ())
    assert any("no case of this run could show it" in limit for limit in report.limits)


@pytest.mark.parametrize(("field", "exit_status"), [("untestable", 0), ("absent", 1)])
def test_a_declaration_untestable_or_without_a_trace(field: str, exit_status: int) -> None:
    asked = question(alike(EXPECTED))
    empty = Attribution(np.arange(4), np.arange(0), (), ())
    name = "marks-capped"
    attributed = (
        replace(empty, untestable=(name,))
        if field == "untestable"
        else replace(empty, absent=(name,))
    )
    report = judge(
        lanes(),
        [replace(asked, attribution=attributed)],
        deviations=[Deviation(cause=name, reason="r")],
    )
    assert report.exit == exit_status
    assert [one.absent for one in report.findings] == [True] * exit_status


def char_sensitive() -> dict[str, Sequence[Answer]]:
    bad = [*EXPECTED[:2], [9], EXPECTED[3]]
    return {CONTROL: EXPECTED, SIGNED: EXPECTED, UNSIGNED: bad, ARM: bad}


def test_a_platform_cause_on_the_lanes_that_are_wrong() -> None:
    report = judge(lanes(), [question(char_sensitive())])
    found = the_finding(report)
    assert (report.exit, found.cause, found.axes) == (1, "char-signedness", ("char",))
    assert found.lanes == (UNSIGNED, ARM)
    assert found.evidence["groups"] == [[CONTROL, SIGNED], [UNSIGNED, ARM]]
    assert (cell(report, SIGNED, "digits").passed, cell(report, ARM, "digits").fail) == (2, 1)


def test_a_declared_platform_cause() -> None:
    deviation = Deviation(cause="char-signedness", reason="r")
    report = judge(lanes(), [question(char_sensitive())], deviations=[deviation])
    assert (report.exit, the_finding(report).declared) == (0, True)


def test_a_declared_platform_cause_that_is_gone() -> None:
    deviation = Deviation(cause="char-signedness", reason="r")
    report = judge(lanes(), [question(alike(EXPECTED))], deviations=[deviation])
    assert (report.exit, the_finding(report).absent) == (1, True)


def test_a_declared_platform_cause_these_lanes_cannot_show() -> None:
    deviation = Deviation(cause="endianness", reason="r")
    report = judge(lanes(), [question(alike(EXPECTED))], deviations=[deviation])
    assert report.exit == 0
    assert any("do not differ in it" in limit for limit in report.limits)


def test_a_declared_set_of_axes_these_lanes_cannot_show() -> None:
    deviation = Deviation(cause="platform-char-endian", reason="r")
    report = judge(lanes(), [question(alike(EXPECTED))], deviations=[deviation])
    assert report.exit == 0
    assert any("do not differ in it" in limit for limit in report.limits)


def test_a_confounded_axis_may_be_declared() -> None:
    wchar = {ARM: "unsigned"}
    known = {n: {**own, "wchar": wchar.get(n, "signed")} for n, own in AXES.items()}
    outcomes = {**alike(EXPECTED), ARM: [*EXPECTED[:3], [9]]}
    asked = question(outcomes)
    split = separate({n: from_answers(a) for n, a in outcomes.items()}, known)
    infos = [replace(info, axes=known[info.name]) for info in lanes()]
    report = judge(
        infos,
        [replace(asked, separations=split)],
        deviations=[Deviation(cause="wchar-signedness", reason="r")],
    )
    found = the_finding(report)
    assert (report.exit, found.cause) == (0, "wchar-signedness")
    assert found.evidence["confounded"] == ["wchar"]


def test_a_platform_cause_beside_a_proven_one() -> None:
    """NFC left out everywhere, and one case goes wrong on unsigned lanes besides."""
    bad = [[1], [2, 2], [8], [4, 4, 4, 4]]
    left_out = [[1], [2, 2], [3, 3], [4, 4, 4, 4]]
    observed = {CONTROL: left_out, SIGNED: left_out, UNSIGNED: bad, ARM: bad}
    asked = question(observed)
    wanted = from_answers(EXPECTED)
    predicted = from_answers(left_out)
    tried = attribution(wanted, predicted, predicted)
    report = judge(lanes(), [replace(asked, attribution=tried)], deviations=[LEFT_OUT])
    found = {one.cause: one for one in report.findings}
    assert set(found) == {"char-signedness", "normalizer-left-out"}
    assert found["char-signedness"].lanes == (UNSIGNED, ARM)
    assert found["char-signedness"].cases == ("digits/a",)
    assert cell(report, CONTROL, "digits").xfail == 2


def test_nondeterminism_is_named_before_anything_else() -> None:
    observed = char_sensitive()
    report = judge(lanes(), [question(observed, repeats={ARM: [2]})])
    found = the_finding(report)
    assert (report.exit, found.cause, found.axes) == (1, "nondeterminism", ())


def test_nondeterminism_where_every_first_answer_is_right() -> None:
    report = judge(lanes(), [question(alike(EXPECTED), repeats={SIGNED: [3]})])
    found = the_finding(report)
    assert (report.exit, found.cause, found.lanes) == (1, "nondeterminism", (SIGNED,))
    assert cell(report, SIGNED, "digits").fail == 1


def test_nondeterminism_of_one_operation_holds_for_the_tokenizer() -> None:
    random = question(alike(EXPECTED), repeats={SIGNED: [3]})
    by_chance = question(char_sensitive(), operation="encode_special")
    report = judge(lanes(), [random, by_chance])
    assert {one.cause for one in report.findings} == {"nondeterminism"}
    other = question(char_sensitive(), tokenizer="other")
    report = judge(lanes(), [random, other])
    assert {one.cause for one in report.findings} == {"nondeterminism", "char-signedness"}


@pytest.mark.parametrize(
    ("status", "cause", "column"),
    [
        (Status.CRASH, "crash", "crash"),
        (Status.TIMEOUT, "hang", "timeout"),
        (Status.ERROR, "error-answer", "fail"),
        (Status.UNRESOLVED, "unresolved", "unresolved"),
        (Status.UNSUPPORTED, "unsupported", "unsupported"),
    ],
)
def test_what_speaks_for_itself_on_every_lane(status: Status, cause: str, column: str) -> None:
    answers = [*EXPECTED[:3], status]
    report = judge(lanes(), [question(alike(answers), notes={3: "SIGSEGV"})])
    found = the_finding(report)
    assert (report.exit, found.cause, found.cases) == (1, cause, ("digits/b",))
    assert found.evidence["words"] == {"SIGSEGV": 4}
    assert getattr(cell(report, CONTROL, "digits"), column) == 1
    if cause == "unresolved":
        assert not declarable(cause)
        return
    declared = judge(
        lanes(),
        [question(alike(answers))],
        deviations=[Deviation(cause=cause, reason="r")],
    )
    assert declared.exit == 0
    kept = "unsupported" if cause == "unsupported" else "xfail"
    assert getattr(cell(declared, CONTROL, "digits"), kept) == 1


def test_a_crash_on_some_lanes_is_the_platforms() -> None:
    bad = [*EXPECTED[:3], Status.CRASH]
    observed = {CONTROL: EXPECTED, SIGNED: EXPECTED, UNSIGNED: bad, ARM: bad}
    report = judge(lanes(), [question(observed)])
    found = the_finding(report)
    assert found.cause == "char-signedness"
    assert found.evidence["outcomes"][ARM] == "crash"
    assert cell(report, ARM, "digits").crash == 1


def test_an_unresolved_lane_is_no_platform_difference() -> None:
    observed = {**alike(EXPECTED), ARM: [*EXPECTED[:3], Status.UNRESOLVED]}
    found = the_finding(judge(lanes(), [question(observed)]))
    assert (found.cause, found.lanes) == ("unresolved", (ARM,))


UNGRADED: list[Answer] = [*EXPECTED[:3], Status.UNGRADED]


def test_ungraded_cases_are_compared_lane_against_lane_and_counted_apart() -> None:
    asked = question(alike([*EXPECTED[:3], [7]]), expected=UNGRADED)
    policy = BytePolicy("dropped", 1, {"dropped": 1})
    report = judge(lanes(), [replace(asked, byte_policy=policy)])
    assert (report.exit, cell(report, ARM, "digits").ungraded) == (0, 1)
    assert [(one.name, one.cases) for one in report.policies] == [("dropped", 1)]


def test_an_ungraded_case_on_which_lanes_differ_fails_against_the_control() -> None:
    bad = [*EXPECTED[:3], [8]]
    good = [*EXPECTED[:3], [7]]
    observed = {CONTROL: good, SIGNED: good, UNSIGNED: bad, ARM: bad}
    report = judge(lanes(), [question(observed, expected=UNGRADED)])
    found = the_finding(report)
    assert (report.exit, found.cause, found.lanes) == (1, "char-signedness", (UNSIGNED, ARM))
    assert found.first is not None
    assert (found.first.expected, found.first.expected_from) == ((7,), CONTROL)
    assert (cell(report, ARM, "digits").fail, cell(report, SIGNED, "digits").ungraded) == (1, 1)


def test_the_control_must_reproduce_the_smoke_corpus() -> None:
    wrong = [[9], *EXPECTED[1:3], [9]]
    report = judge(lanes(), [question(alike(wrong))])
    assert (report.verdict, report.exit, report.findings) == ("invalid", 3, ())
    assert {c.lane for c in report.cells} == {CONTROL}
    assert "smoke/a" in report.invalid[0]


def test_a_proven_cause_on_the_control_is_a_wrong_subject_not_a_wrong_instrument() -> None:
    wrong: list[Answer] = [[9], *EXPECTED[1:]]
    report = judge(lanes(), [question(alike(wrong), predicted=wrong)])
    assert (report.exit, the_finding(report).cause) == (1, "normalizer-left-out")


def test_a_platform_cause_on_the_control_needs_a_lane_that_is_right() -> None:
    wrong: list[Answer] = [[9], *EXPECTED[1:]]
    worse: list[Answer] = [[8], *EXPECTED[1:]]
    right = {CONTROL: wrong, SIGNED: wrong, UNSIGNED: EXPECTED, ARM: EXPECTED}
    report = judge(lanes(), [question(right)])
    assert (report.exit, the_finding(report).cause) == (1, "char-signedness")
    none = {CONTROL: wrong, SIGNED: wrong, UNSIGNED: worse, ARM: worse}
    assert judge(lanes(), [question(none)]).exit == 3


def test_a_crash_in_smoke_is_the_subjects_unless_nothing_was_reproduced() -> None:
    some: list[Answer] = [Status.CRASH, *EXPECTED[1:]]
    report = judge(lanes(), [question(alike(some))])
    assert (report.exit, the_finding(report).cause) == (1, "crash")
    every: list[Answer] = [Status.CRASH, Status.CRASH, *EXPECTED[2:]]
    report = judge(lanes(), [question(alike(every))])
    assert (report.exit, report.findings) == (3, ())
    assert "none of 2" in report.invalid[0]


def test_only_the_controls_ids_are_held_against_the_instrument() -> None:
    wrong: list[Answer] = [[9], *EXPECTED[1:]]
    asked = [question(alike(EXPECTED)), question(alike(wrong), operation="decode")]
    report = judge(lanes(), asked)
    found = the_finding(report)
    assert (report.exit, found.cause, found.operations) == (1, "unexplained", ("decode",))
    assert "decode" in found.summary


def test_a_tokenizer_the_control_refuses_is_not_a_broken_instrument() -> None:
    refused = question(alike([Status.UNSUPPORTED] * 4), tokenizer="other")
    report = judge(lanes(), [question(alike(EXPECTED)), refused])
    assert (report.exit, the_finding(report).cause) == (1, "unsupported")
    deviation = Deviation(cause="unsupported", tokenizers=("other",), reason="r")
    assert judge(lanes(), [question(alike(EXPECTED)), refused], deviations=[deviation]).exit == 0


def test_every_name_of_a_declaration_must_be_found() -> None:
    """`unsupported` declared for two tokenizers, one of which is supported by now."""
    refused = question(alike([Status.UNSUPPORTED] * 4), tokenizer="other")
    deviation = Deviation(cause="unsupported", tokenizers=("other", "tiny"), reason="r")
    report = judge(lanes(), [question(alike(EXPECTED)), refused], deviations=[deviation])
    assert report.exit == 1
    assert [(one.tokenizer, one.absent) for one in report.findings] == [
        ("tiny", True),
        ("other", False),
    ]


@pytest.mark.parametrize("asked", [[], [question(alike([Status.UNSUPPORTED] * 4))]])
def test_a_run_that_compared_nothing_is_invalid(asked: list[Question]) -> None:
    report = judge(lanes(), asked)
    assert (report.verdict, report.exit) == ("invalid", 3)
    assert report.invalid == ("nothing was compared",)


def test_a_run_that_compared_nothing_says_what_the_subject_said() -> None:
    asked = question(alike([Status.UNSUPPORTED] * 4))
    said = {
        lane: replace(outcomes, notes=dict.fromkeys(range(4), "no NFC here"))
        for lane, outcomes in asked.observed.items()
    }
    report = judge(lanes(), [replace(asked, observed=said)])
    assert report.invalid == ("nothing was compared: tiny: no NFC here",)


def test_one_lane_and_ungraded_cases_alone_compare_nothing() -> None:
    asked = question({CONTROL: [[7]]}, expected=[Status.UNGRADED], cases=("bytes/a",))
    assert judge(lanes(), [asked]).exit == 3
    two = question({CONTROL: [[7]], ARM: [[7]]}, expected=[Status.UNGRADED], cases=("bytes/a",))
    assert judge(lanes(), [two]).exit == 0


def test_an_invalid_lane_leaves_the_others_results() -> None:
    observed = {name: EXPECTED for name in AXES if name != ARM}
    report = judge(lanes(a_default="hello says x86_64"), [question(observed)])
    assert (report.verdict, report.exit) == ("invalid", 3)
    assert report.invalid == ("a/default: hello says x86_64",)
    assert cell(report, SIGNED, "smoke").passed == 2
    assert [lane.status for lane in report.lanes] == ["ran", "ran", "ran", "invalid"]


def test_precedence_of_exits() -> None:
    wrong = question(alike([*EXPECTED[:3], [9]]))
    gone = [replace(lanes()[0], name="z/none", status="unavailable", control=False), *lanes()]
    assert judge(lanes(), [wrong]).exit == 1
    assert judge(lanes(), [wrong], drift=["tiny: 3 cases"]).exit == 5
    assert judge(gone, [wrong], drift=["tiny: 3 cases"]).exit == 4
    report = judge(gone, [wrong], drift=["tiny: 3 cases"], canaries=["qemu: add is wrong"])
    assert (report.exit, report.invalid) == (3, ("canary: qemu: add is wrong",))
    assert judge(lanes(), [question(alike(EXPECTED))], drift=["d"]).verdict == "fail"


def test_a_control_held_against_a_golden_that_has_drifted_is_drift() -> None:
    wrong = question(alike([[9], *EXPECTED[1:]]))
    assert judge(lanes(), [wrong]).exit == 3
    report = judge(lanes(), [wrong], drift=["tiny: smoke/a: other ids"])
    assert (report.verdict, report.exit) == ("invalid", 5)
    assert judge(lanes(), [wrong], drift=["d"], canaries=["add is wrong"]).exit == 3


def test_a_case_counts_once_with_its_worst_operation() -> None:
    bad = [*EXPECTED[:3], Status.CRASH]
    asked = [
        question(alike(EXPECTED)),
        question(alike(bad), operation="encode_special"),
        question(
            {CONTROL: EXPECTED[2:]}, expected=EXPECTED[2:], cases=CASES[2:], operation="decode"
        ),
    ]
    report = judge(lanes(), asked)
    found = cell(report, ARM, "digits")
    assert (found.cases, found.passed, found.crash) == (2, 1, 1)
    assert sum(c.cases for c in report.cells) == 16


def test_operations_that_show_the_same_are_one_finding() -> None:
    asked = [
        question(alike(WRONG), predicted=WRONG, operation=operation)
        for operation in ("encode", "encode_special")
    ]
    found = the_finding(judge(lanes(), asked))
    assert found.operations == ("encode", "encode_special")


def test_a_finding_keeps_its_id_from_run_to_run() -> None:
    first = the_finding(judge(lanes(), [question(char_sensitive())]))
    again = the_finding(judge(lanes(), [question(char_sensitive())]))
    assert first.id == again.id
    assert len(first.id) == 8


def test_limits_say_when_the_control_was_not_judged() -> None:
    cases = ("digits/a", "digits/b")
    asked = question(alike(EXPECTED[2:]), expected=EXPECTED[2:], cases=cases)
    assert any("smoke corpus did not run" in one for one in judge(lanes(), [asked]).limits)
    without = [replace(lane, control=False) for lane in lanes()]
    assert any("control lane did not run" in one for one in judge(without, [asked]).limits)


def test_every_failure_is_in_exactly_one_finding() -> None:
    """Whatever lanes answer, cells and findings count the same failures."""
    random = np.random.default_rng(11)
    pool: list[Answer] = [[1], [2], Status.CRASH, Status.ERROR, Status.UNSUPPORTED, [1], [1]]
    for _ in range(60):
        wanted: list[Answer] = [*([[1]] * 6), Status.UNGRADED, Status.UNGRADED]
        cases = tuple(f"digits/{n}" for n in range(8))
        observed = {
            lane: [pool[int(random.integers(0, len(pool)))] for _ in cases] for lane in AXES
        }
        report = judge(lanes(), [question(observed, expected=wanted, cases=cases)])
        failing = sum(c.cases - c.passed - c.ungraded for c in report.cells)
        assert (failing > 0) == any(one.fails for one in report.findings)
        spoken = {
            (lane, case) for one in report.findings for lane in one.lanes for case in one.cases
        }
        assert failing <= len(spoken)


def test_what_may_be_declared() -> None:
    assert declarable("char-signedness")
    assert declarable("platform-arch-char")
    assert declarable("normalizer-left-out")
    assert not declarable("nondeterminism")
    assert not declarable("unexplained")
    assert not declarable("char-signednes")
    assert not declarable("platform-anything")
    assert not declarable("platform-char-arch")
    assert not declarable("platform-char")
    assert not declarable("platform-")
    assert not declarable("platform-arch-moon")
    assert declarable("platform-arch-moon", ["arch", "moon"])
    assert declarable("normalizer-left-out+nul-ends-text")
    assert not declarable("normalizer-left-out+normalizer-left-out")
    assert not declarable("normalizer-left-out+char-signedness")
    # A fault is not a way to answer.
    assert not any(declarable(cause) for cause in SANITIZER_CAUSES)
    assert len(set(DECLARABLE_NAMES)) == len(DECLARABLE_NAMES)


def test_declared_hypotheses_of_a_tokenizer() -> None:
    deviations = [LEFT_OUT, Deviation(cause="crash"), replace(LEFT_OUT, tokenizers=("*",))]
    assert declared_for(deviations, "tiny") == ("normalizer-left-out",)
    assert declared_for(deviations[:1], "qwen3") == ()
    together = [Deviation(cause=f"{B}+{A}")]
    assert declared_for(together, "tiny") == (f"{B}+{A}", A, B)
