import numpy as np
import pytest

from harness.outcomes import Outcomes, Status, concatenate, from_answers


def rows(outcomes: Outcomes) -> list[list[int] | Status]:
    return [
        outcomes.answer(i).tolist()
        if outcomes.status[i] == Status.OK
        else Status(outcomes.status[i])
        for i in range(len(outcomes))
    ]


ANSWERS: list[list[int] | Status] = [[1, 2, 3], [], Status.CRASH, [2**32 - 1], Status.UNGRADED]


def test_answers_come_back_as_they_went_in() -> None:
    outcomes = from_answers(ANSWERS, {2: "SIGSEGV"})
    assert rows(outcomes) == ANSWERS
    assert outcomes.lengths.tolist() == [3, 0, 0, 1, 0]


def test_taking_reorders_answers_and_notes_together() -> None:
    taken = from_answers(ANSWERS, {2: "SIGSEGV"}).take([3, 2, 0, 0])
    assert rows(taken) == [[2**32 - 1], Status.CRASH, [1, 2, 3], [1, 2, 3]]
    assert taken.notes == {1: "SIGSEGV"}


def test_taking_nothing_gives_nothing() -> None:
    assert rows(from_answers(ANSWERS).take([])) == []


def test_concatenating_shifts_notes() -> None:
    whole = concatenate(
        [from_answers(ANSWERS, {2: "a"}), from_answers([]), from_answers([[7]], {0: "b"})]
    )
    assert rows(whole) == [*ANSWERS, [7]]
    assert whole.notes == {2: "a", 5: "b"}
    assert rows(concatenate([])) == []


def test_contradicting_shapes_are_refused() -> None:
    status = np.zeros(2, dtype=np.uint8)
    ids = np.zeros(3, dtype=np.uint32)
    with pytest.raises(ValueError, match="one element more"):
        Outcomes(status, np.array([0, 3], dtype=np.int64), ids)
    with pytest.raises(ValueError, match="span"):
        Outcomes(status, np.array([0, 1, 2], dtype=np.int64), ids)
