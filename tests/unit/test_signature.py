"""The signature of a failure: what counts as the same, and what does not."""

from collections.abc import Mapping, Sequence

import pytest

from harness.hypotheses.hypothesis import Hypothesis, combine
from harness.outcomes import Outcomes, Status, from_answers
from harness.signature import (
    Foretold,
    Signature,
    alike,
    beside_the_oracle,
    combinations_of,
    kinds,
    lesser_than,
    signature,
)

Answer = Sequence[int] | Status
CRASH = Status.CRASH


def one(answer: Answer, note: str | None = None) -> Outcomes:
    return many([answer], note)


def many(answers: Sequence[Answer], note: str | None = None) -> Outcomes:
    notes = {row: note for row in range(len(answers)) if note is not None}
    return from_answers(answers, notes)


def of(
    observed: Mapping[str, Answer],
    expected: Answer,
    under: Answer | None = None,
    showing: str = "abc",
) -> Signature:
    return signature(
        "cause",
        {lane: one(answer) for lane, answer in observed.items()},
        Foretold(plain=one(expected), under=None if under is None else one(under)),
        frozenset(showing),
        None if under is None else Hypothesis("h", "input", "h"),
    )


def test_lanes_are_grouped_by_outcome_and_held_against_the_oracle() -> None:
    found = of({"a": [1], "b": [2], "c": [1]}, [1])
    assert dict(found.groups) == {"a": 0, "b": 1, "c": 0}
    assert (set(found.right), set(found.failing)) == ({"a", "c"}, {"b"})
    assert found.witnesses == ("a", "b")
    assert not found.costly
    assert of({"a": [1], "b": CRASH}, [1]).costly
    assert of({"a": [1], "b": Status.TIMEOUT}, [1]).costly


def test_a_lane_without_an_answer_plays_no_part() -> None:
    assert of({"a": [1], "b": Status.UNRESOLVED}, [1]).lanes == ("a",)


def test_without_a_word_of_the_oracle_nobody_is_right_or_wrong() -> None:
    found = of({"a": [1], "b": [2]}, Status.UNGRADED)
    assert not found.graded
    assert not found.right
    assert not found.failing


def test_only_the_finding_s_lanes_fail() -> None:
    found = of({"a": [5], "b": [6], "c": [1]}, [1], showing="b")
    assert (set(found.failing), set(found.right)) == ({"b"}, {"c"})


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ([1], [2], True),
        ([7, 7], [8], True),
        ([1], [1], False),  # no longer apart
        (CRASH, [2], False),  # apart, by an outcome of another kind
        ([1], Status.UNRESOLVED, False),
        ([1], Status.ERROR, False),
    ],
)
def test_the_same_lanes_stay_apart_with_the_same_kinds(a: Answer, b: Answer, same: bool) -> None:
    wanted = of({"a": [3], "b": [4]}, [3])
    assert alike(wanted, {"a": one(a), "b": one(b)}).tolist() == [same]


def test_lanes_that_were_alike_stay_alike() -> None:
    wanted = of({"a": [3], "b": [4], "c": [3]}, [3])
    observed = {"a": many([[1], [1]]), "b": many([[2], [2]]), "c": many([[1], [3]])}
    assert alike(wanted, observed).tolist() == [True, False]
    # The witnesses alone cannot tell.
    assert alike(wanted, {lane: observed[lane] for lane in "ab"}).tolist() == [True, True]
    assert alike(wanted, {"b": observed["b"]}).tolist() == [True, True]


def test_a_crash_of_another_signal_is_another_failure() -> None:
    wanted = signature(
        "crash",
        {"a": one(CRASH, "SIGSEGV (signal 11)")},
        Foretold(plain=one([1])),
        frozenset("a"),
    )
    assert alike(wanted, {"a": one(CRASH, "SIGSEGV (signal 11)")}).tolist() == [True]
    assert alike(wanted, {"a": one(CRASH, "SIGABRT (signal 6)")}).tolist() == [False]
    assert kinds(one(CRASH, "SIGABRT (signal 6)")) == ["crash, SIGABRT (signal 6)"]


@pytest.mark.parametrize(
    ("a", "b", "expected", "same"),
    [
        ([1], [2], [1], True),
        ([1], [2], [2], False),  # the other lane is wrong now
        ([1], [2], [3], False),  # a lane that was right is wrong now
        ([1], [2], Status.UNGRADED, False),  # no longer to be judged
    ],
)
def test_lanes_stand_to_the_oracle_as_before(
    a: Answer, b: Answer, expected: Answer, same: bool
) -> None:
    wanted = of({"a": [3], "b": [4]}, [3])
    observed, foretold = {"a": one(a), "b": one(b)}, Foretold(plain=one(expected))
    assert beside_the_oracle(wanted, observed, foretold).tolist() == [same]


def test_what_no_oracle_judged_may_become_what_it_can() -> None:
    wanted = of({"a": [1], "b": [2]}, Status.UNGRADED)
    observed = {"a": one([5]), "b": one([6])}
    for expected in ([5], [9], Status.UNGRADED):
        assert beside_the_oracle(wanted, observed, Foretold(plain=one(expected))).tolist() == [True]


def test_a_hypothesis_must_foretell_the_ids_and_change_them() -> None:
    wanted = of({"a": [4]}, [3], under=[4])
    assert wanted.failing == {"a"}
    for plain, under, same in (
        ([1], [2], True),
        ([2], [2], False),  # the oracle as it is gives them too
        ([1], [9], False),  # another failure, which happens to be smaller
        ([1], Status.UNGRADED, False),
    ):
        foretold = Foretold(plain=one(plain), under=one(under))
        assert beside_the_oracle(wanted, {"a": one([2])}, foretold).tolist() == [same]


def test_a_lane_that_the_hypothesis_does_not_explain_does_not_show_it() -> None:
    found = of({"a": [4], "b": [5]}, [3], under=[4])
    assert found.failing == {"a"}


def test_fewer_changes_must_not_do_as_well() -> None:
    wanted = of({"a": [4]}, [3], under=[4])
    foretold = Foretold(plain=one([1]), under=one([2]), lesser=[one([7]), one([2])])
    assert beside_the_oracle(wanted, {"a": one([2])}, foretold).tolist() == [False]
    foretold = Foretold(plain=one([1]), under=one([2]), lesser=[one([7]), one([8])])
    assert beside_the_oracle(wanted, {"a": one([2])}, foretold).tolist() == [True]


def test_the_combinations_of_a_combination() -> None:
    x, y, z = (Hypothesis(name, "input", name) for name in "xyz")
    assert combinations_of(x) == [x]
    assert lesser_than(x) == []
    names = [found.name for found in combinations_of(combine([x, y, z]))]
    assert names == ["x", "y", "z", "x+y", "x+z", "y+z", "x+y+z"]


def test_the_signature_in_words() -> None:
    assert of({"a": [1], "b": [2]}, [1]).words == (
        "lanes apart in 2 groups; a: the oracle's ids; b: other ids than the oracle's"
    )
    assert of({"a": [4], "b": [4]}, [3], under=[4]).words == (
        "all lanes alike; other ids than the oracle's; the ids that h foretells"
    )
    assert of({"a": Status.TIMEOUT}, [1]).words == "hang"
