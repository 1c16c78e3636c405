"""Attribution by the real library: what is planted is named, what only looks like it refuted."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from harness.attribute import Attribution, agreed, attribute, byte_policy, judged
from harness.errors import TokenizerError
from harness.hypotheses import Description, Hypothesis, Seen, combine, proposed
from harness.hypotheses.panel import SAMPLE
from harness.isolate import separate
from harness.outcomes import Outcomes, Status, from_answers
from tests.unit.observed import seen
from tests.unit.trained import DECLARED, MARK, encode, normalized

CASES = [
    b"plain words, and 42 numbers",
    b"nothing at all",
    "re\u0301sume\u0301 cafe\u0301".encode(),
    ("q" + MARK * 3).encode(),
    ("q" + MARK * 9 + "r" + MARK * 2 + " s" + MARK * 14).encode(),
    "\ufb01ne \u2460 \uff21".encode(),
    "ends with é".encode(),
    b"a\0b",
    "\u1e69 \ud55c\uae00".encode(),
    "<\uff5cend\uff5c> x".encode(),
    b"",
    b"bad \xe2\x82 bytes \xff",
    b"\xed\xa0\x80 more",
]


def oracle(cases: Sequence[bytes] = CASES) -> Outcomes:
    answers: list[list[int] | Status] = []
    for data in cases:
        try:
            answers.append(encode(DECLARED, [data.decode()]).ids.tolist())
        except UnicodeDecodeError:
            answers.append(Status.UNGRADED)
    return from_answers(answers)


def subject(
    change: Hypothesis | None,
    cases: Sequence[bytes] = CASES,
    decode: Callable[[bytes], str] = lambda data: data.decode("utf-8", "replace"),
) -> list[list[int]]:
    """What a subject with this defect answers."""
    found = []
    for data in cases:
        pieces = [data] if change is None else change.text(data)
        description = DECLARED if change is None else change.describe(DECLARED)
        found.append(encode(description, [decode(piece) for piece in pieces]).ids.tolist())
    return found


def planted(name: str, **parameters: int | str) -> Hypothesis:
    offered = proposed(seen(DECLARED, CASES, [4]))
    return next(
        one
        for one in offered
        if one.name == name and parameters.items() <= dict(one.parameters).items()
    )


def attributed(
    answers: Sequence[Sequence[int] | Status],
    cases: Sequence[bytes] = CASES,
    **options: Any,  # noqa: ANN401
) -> Attribution:
    expected, observed = oracle(cases), from_answers(answers)
    policy = byte_policy(cases, observed, expected.status == Status.UNGRADED, DECLARED, encode)
    mask = judged(expected, {"lane": observed}, ())
    options.setdefault("normalized", normalized)
    options.setdefault("policy", policy)
    return attribute(cases, expected, observed, mask, DECLARED, encode, **options)


def names(found: Attribution) -> list[str]:
    return [one.hypothesis.name for one in found.causes]


def test_a_healthy_subject_has_no_cause() -> None:
    found = attributed(subject(None))
    assert (names(found), found.mismatching.tolist(), found.tested) == ([], [], ())
    assert found.judged.tolist() == list(range(11))


@pytest.mark.parametrize(
    "name",
    [
        "normalizer-left-out",
        "normalizer-nfd",
        "normalizer-nfkc",
        "normalizer-nfkd",
        "nul-ends-text",
        "last-byte-dropped",
    ],
)
def test_what_is_planted_is_named_and_nothing_else(name: str) -> None:
    found = attributed(subject(planted(name)))
    assert names(found) == [name]
    assert found.mismatching.shape[0]
    cause = found.causes[0]
    assert (cause.explained, cause.would_break) == (found.mismatching.shape[0], 0)
    assert cause.refuted_by is None
    if name.startswith("normalizer"):
        assert (cause.sets_equal, cause.normalized_differs) == (True, found.mismatching.shape[0])


@pytest.mark.parametrize("counted", ["raw", "normalized"])
@pytest.mark.parametrize("broken", ["after-mark", "before-next-mark"])
@pytest.mark.parametrize("cap", [1, 3, 6])
def test_the_cap_on_marks_is_inferred(cap: int, broken: str, counted: str) -> None:
    change = planted("marks-capped", cap=cap, broken=broken, counted=counted)
    found = attributed(subject(change))
    assert set(names(found)) == {"marks-capped"}
    assert change.parameters in [one.hypothesis.parameters for one in found.causes]


def test_a_cause_that_explains_the_mismatches_and_breaks_a_match_is_refuted() -> None:
    """NFC is left out in all cases but one: the hypothesis would break that one."""
    answers = subject(planted("normalizer-left-out"))
    healthy = subject(None)
    changed = [n for n, (a, b) in enumerate(zip(answers, healthy, strict=True)) if a != b]
    answers[changed[-1]] = healthy[changed[-1]]
    found = attributed(answers)
    assert names(found) == []
    left_out = next(one for one in found.tested if one.hypothesis.name == "normalizer-left-out")
    assert not left_out.accepted
    assert left_out.explained == left_out.tried == len(changed) - 1
    assert (left_out.would_break, left_out.refuted_by) == (1, changed[-1])


def test_a_cause_that_misses_one_mismatch_is_refuted() -> None:
    answers = subject(planted("normalizer-left-out"))
    answers[0] = [*answers[0], 1]
    found = attributed(answers)
    assert names(found) == []
    left_out = next(one for one in found.tested if one.hypothesis.name == "normalizer-left-out")
    assert left_out.explained == left_out.tried - 1
    assert left_out.refuted_by == 0


def test_ids_that_fit_are_not_enough_where_the_sets_differ() -> None:
    """A normalizer that says it changes one case more than the ids show."""

    def lying(description: Description, texts: Sequence[str]) -> list[str]:
        shown = normalized(description, texts)
        return [t + "!" if t == "nothing at all" and description != DECLARED else t for t in shown]

    found = attributed(subject(planted("normalizer-left-out")), normalized=lying)
    assert names(found) == []
    left_out = next(one for one in found.tested if one.hypothesis.name == "normalizer-left-out")
    assert (left_out.sets_equal, left_out.refuted_by) == (False, None)
    assert left_out.normalized_differs == left_out.explained + 1


def test_an_added_token_that_normalization_never_sees_is_not_in_the_set() -> None:
    """NFKC would change U+FF5C, but the token is matched before any normalizer."""
    found = attributed(subject(planted("normalizer-nfkc")))
    assert names(found) == ["normalizer-nfkc"]
    assert CASES.index("<\uff5cend\uff5c> x".encode()) not in found.mismatching


def test_a_defect_outside_the_list_stays_unexplained_with_what_was_refuted() -> None:
    answers = [ids[::-1] for ids in subject(None)]
    found = attributed(answers)
    assert names(found) == []
    assert {one.hypothesis.name for one in found.tested} >= {"normalizer-left-out", "nul-ends-text"}
    assert all(not one.accepted and one.tried for one in found.tested)


def test_of_a_subject_that_answers_nothing_no_pair_is_named() -> None:
    cases = [b"hello", b"two words", b"a third case", b"12345", b"five", b"and six"]
    found = attributed([[] for _ in cases], cases)
    assert names(found) == []
    told = [one.note for one in found.tested if one.note]
    assert any("the same outcome" in note for note in told)


def test_the_refuted_are_one_a_name_the_closest() -> None:
    answers = subject(planted("marks-capped", cap=6, broken="after-mark", counted="raw"))
    answers[0] = [*answers[0], 1]
    found = attributed(answers)
    assert names(found) == []
    tested = [one.hypothesis.name for one in found.tested]
    assert len(tested) == len(set(tested))


def test_ties_are_all_reported() -> None:
    cases = ["cafe\u0301".encode()]
    found = attributed(subject(planted("normalizer-left-out"), cases), cases)
    assert names(found) == ["normalizer-left-out", "normalizer-nfd", "normalizer-nfkd"]


def test_the_smaller_explanation_wins() -> None:
    def offer(_: Seen) -> list[Hypothesis]:
        single = planted("normalizer-left-out")
        return [combine([planted("normalizer-nfd"), single]), single]

    found = attributed(subject(planted("normalizer-left-out")), propose=offer)
    assert names(found) == ["normalizer-left-out"]


def test_two_causes_at_once_are_explained_by_their_combination() -> None:
    pair = combine([planted("nul-ends-text"), planted("normalizer-left-out")])
    answers = subject(pair)
    assert names(attributed(answers)) == []
    found = attributed(answers, propose=lambda *_: [pair])
    assert names(found) == ["nul-ends-text+normalizer-left-out"]


def test_crashes_and_errors_are_not_held_against_a_hypothesis() -> None:
    answers: list[list[int] | Status] = list(subject(planted("normalizer-left-out")))
    answers[0], answers[2] = Status.CRASH, Status.ERROR
    found = attributed(answers)
    assert names(found) == ["normalizer-left-out"]
    assert 0 not in found.judged


def test_cases_the_platform_splits_are_not_judged() -> None:
    expected = oracle()
    lanes = {
        "a": from_answers(subject(planted("normalizer-left-out"))),
        "b": from_answers([[9, 9], *subject(planted("normalizer-left-out"))[1:]]),
    }
    found = separate(lanes, {"a": {"char": "signed"}, "b": {"char": "unsigned"}})
    mask = judged(expected, lanes, found)
    assert not mask[0]
    result = attribute(CASES, expected, agreed(lanes), mask, DECLARED, encode)
    assert names(result) == ["normalizer-left-out"]


def test_agreed_fills_what_a_lane_left_unresolved() -> None:
    lanes = {
        "a": from_answers([[1], Status.UNRESOLVED, Status.UNRESOLVED, [4]]),
        "b": from_answers([[1], [2, 2], Status.UNRESOLVED, [5]]),
    }
    found = agreed(lanes)
    assert found.status.tolist() == [Status.OK, Status.OK, Status.UNRESOLVED, Status.OK]
    assert [found.answer(n).tolist() for n in range(4)] == [[1], [2, 2], [], [4]]


def test_a_declared_hypothesis_is_tested_where_nothing_mismatches() -> None:
    found = attributed(subject(None), declared=["normalizer-left-out"])
    (tested,) = found.tested
    assert not tested.accepted
    assert tested.changes is not None
    assert tested.would_break == int(tested.changes.sum()) > 0
    assert (found.causes, found.absent, found.untestable) == ((), (), ())


def test_declared_hypotheses_that_cannot_show_and_those_without_a_trace() -> None:
    cases = [b"plain", ("q" + MARK).encode()]
    names_declared = ["normalizer-nfc", "nul-ends-text", "marks-capped"]
    found = attributed(subject(None, cases), cases, declared=names_declared)
    assert found.untestable == ("normalizer-nfc", "nul-ends-text")
    assert found.absent == ("marks-capped",)


def test_an_oracle_that_refuses_a_description_is_a_note_and_not_the_end() -> None:
    def refusing(description: Description, texts: Sequence[str]) -> Outcomes:
        if description["normalizer"] is None:
            raise TokenizerError("no normalizer, no answer")
        return encode(description, texts)

    expected, observed = oracle(), from_answers(subject(planted("normalizer-left-out")))
    mask = judged(expected, {"lane": observed}, ())
    found = attribute(CASES, expected, observed, mask, DECLARED, refusing)
    assert names(found) == []
    assert [one.note for one in found.tested if one.note] == ["no normalizer, no answer"]


def test_only_a_few_cases_are_asked_of_a_hypothesis_that_falls_at_once() -> None:
    asked: dict[str, int] = {}

    def counting(description: Description, texts: Sequence[str]) -> Outcomes:
        kind = str(description["normalizer"])
        asked[kind] = asked.get(kind, 0) + len(texts)
        return encode(description, texts)

    cases = [f"plain {n} q{MARK}".encode() for n in range(300)]
    expected = oracle(cases)
    observed = from_answers([[1] for _ in cases])
    mask = judged(expected, {"lane": observed}, ())
    one = [planted("normalizer-left-out")]
    attribute(cases, expected, observed, mask, DECLARED, counting, propose=lambda *_: one)
    # One probe, and a sample of the mismatches to say how close it came.
    assert asked == {"None": 1 + SAMPLE}


@pytest.mark.parametrize(
    ("policy", "decode"),
    [
        ("replaced-per-subpart", lambda data: data.decode("utf-8", "replace")),
        ("dropped", lambda data: data.decode("utf-8", "ignore")),
        ("latin-1", lambda data: data.decode("latin-1")),
    ],
)
def test_the_byte_policy_is_named(policy: str, decode: Callable[[bytes], str]) -> None:
    expected = oracle()
    observed = from_answers(subject(None, decode=decode))
    found = byte_policy(CASES, observed, expected.status == Status.UNGRADED, DECLARED, encode)
    assert found is not None
    assert (found.name, found.cases, found.tried[policy]) == (policy, 2, 2)


def test_a_refusing_and_an_unknown_byte_policy() -> None:
    expected = oracle()
    ungraded = expected.status == Status.UNGRADED
    refusing = from_answers([Status.ERROR] * len(CASES))
    found = byte_policy(CASES, refusing, ungraded, DECLARED, encode)
    assert found is not None
    assert found.name == "refused"
    odd = from_answers([[7]] * len(CASES))
    found = byte_policy(CASES, odd, ungraded, DECLARED, encode)
    assert found is not None
    assert (found.name, set(found.tried.values())) == (None, {0})
    assert byte_policy(CASES, odd, np.zeros_like(ungraded), DECLARED, encode) is None


@pytest.mark.parametrize("policy", ["replaced-per-subpart", "dropped"])
def test_a_dropped_byte_is_named_whatever_the_subject_makes_of_the_rest(policy: str) -> None:
    """Dropping the last byte cuts characters, so its proof depends on the byte policy."""

    def decode(data: bytes) -> str:
        return data.decode("utf-8", "replace" if policy == "replaced-per-subpart" else "ignore")

    found = attributed(subject(planted("last-byte-dropped"), decode=decode))
    # Where incomplete characters are dropped, it is the same as to drop the last character.
    assert "last-byte-dropped" in names(found)
    assert set(names(found)) <= {"last-byte-dropped", "last-character-dropped"}
    assert found.byte_policy is not None
    assert found.byte_policy.name == policy
