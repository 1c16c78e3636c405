"""Differences: every shape of ragged answers against the plain loop."""

import tracemalloc
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from harness import diff
from harness.diff import Difference, classes, differs, diverging, first_difference
from harness.outcomes import Outcomes, Status, from_answers

Answer = Sequence[int] | Status


def plainly(a: Sequence[Answer], b: Sequence[Answer]) -> list[bool]:
    return [
        (x != y) if isinstance(x, Status) or isinstance(y, Status) else list(x) != list(y)
        for x, y in zip(a, b, strict=True)
    ]


def test_each_way_two_outcomes_can_differ() -> None:
    a: list[Answer] = [[1, 2], [], [3], [4, 5], Status.CRASH, [7], [8, 9], Status.ERROR]
    b: list[Answer] = [[1, 2], [], [9], [4], Status.CRASH, [], [9, 8], []]
    expected = [False, False, True, True, False, True, True, True]
    assert differs(from_answers(a), from_answers(b)).tolist() == expected


def test_the_same_number_of_different_ids_is_a_divergence() -> None:
    a, b = from_answers([[1, 2, 3]]), from_answers([[1, 9, 3]])
    assert a.lengths.tolist() == b.lengths.tolist()
    assert differs(a, b).tolist() == [True]


def test_words_beside_an_outcome_are_not_compared() -> None:
    a = from_answers([Status.CRASH], {0: "SIGSEGV"})
    b = from_answers([Status.CRASH], {0: "SIGABRT"})
    assert differs(a, b).tolist() == [False]


def test_different_numbers_of_cases_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="2 cases with 1"):
        differs(from_answers([[1], [2]]), from_answers([[1]]))


def random_answers(random: np.random.Generator, count: int) -> list[Answer]:
    answers: list[Answer] = []
    for _ in range(count):
        kind = random.integers(0, 12)
        if kind == 0:
            answers.append(Status(int(random.integers(1, 7))))
        else:
            answers.append(random.integers(0, 3, int(random.integers(0, 6))).tolist())
    return answers


def mutated(random: np.random.Generator, answers: Sequence[Answer], rate: float) -> list[Answer]:
    fresh = random_answers(random, len(answers))
    return [f if random.random() < rate else a for a, f in zip(answers, fresh, strict=True)]


@pytest.mark.parametrize("chunk", [1, 3, 7, 1 << 18])
@pytest.mark.parametrize("stretches", [0, 20_000])
def test_random_answers_against_the_plain_loop(
    chunk: int, stretches: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diff, "CHUNK", chunk)
    monkeypatch.setattr(diff, "_STRETCHES", stretches)
    random = np.random.default_rng(chunk)
    for size in (0, 1, 2, 5, 40, 120):
        for rate in (0.0, 0.02, 0.5, 1.0):
            a = random_answers(random, size)
            b = mutated(random, a, rate)
            assert differs(from_answers(a), from_answers(b)).tolist() == plainly(a, b)


def test_first_difference_and_extent() -> None:
    a = from_answers([[1, 2, 3, 4], [1, 2], [1, 1, 1], [5], Status.CRASH, [7]])
    b = from_answers([[1, 9, 9, 4], [1, 2], [1, 1], [], [5], [7]])
    found = [first_difference(a, b, case) for case in range(6)]
    assert found == [
        Difference(1, (2, 3), (9, 9)),
        None,
        Difference(2, (1,), ()),
        Difference(0, (5,), ()),
        Difference(0, (), (5,)),
        None,
    ]


def test_a_status_alone_is_a_difference_without_extent() -> None:
    a, b = from_answers([Status.CRASH]), from_answers([Status.TIMEOUT])
    assert first_difference(a, b, 0) == Difference(0, (), ())


def test_labels_are_partitions_in_order_of_first_appearance() -> None:
    lanes = {
        "a": from_answers([[1], [1], [1], [1]]),
        "b": from_answers([[1], [2], [2], Status.UNRESOLVED]),
        "c": from_answers([[1], [2], [3], [2]]),
        "d": from_answers([[1], [1], [2], [2]]),
    }
    labels = classes(lanes)
    assert labels.T.tolist() == [[0, 0, 0, 0], [0, 1, 1, 0], [0, 1, 2, 1], [0, -1, 1, 1]]
    assert diverging(labels).tolist() == [False, True, True, True]


def test_an_unresolved_lane_neither_agrees_nor_differs() -> None:
    unresolved = from_answers([Status.UNRESOLVED])
    labels = classes({"a": unresolved, "b": from_answers([[1]]), "c": unresolved})
    assert labels.T.tolist() == [[-1, 0, -1]]
    assert not diverging(labels).any()


def test_random_labels_against_the_plain_loop() -> None:
    random = np.random.default_rng(3)
    for rate in (0.05, 0.6):
        base = random_answers(random, 60)
        lanes = [base] + [mutated(random, base, rate) for _ in range(5)]
        labels = classes({str(n): from_answers(lane) for n, lane in enumerate(lanes)})
        for case in range(60):
            seen: list[Answer] = []
            for lane, own in enumerate(lanes):
                answer = own[case]
                if answer == Status.UNRESOLVED and isinstance(answer, Status):
                    assert labels[lane, case] == -1
                    continue
                same = [i for i, s in enumerate(seen) if plainly([s], [answer]) == [False]]
                if not same:
                    seen.append(answer)
                assert labels[lane, case] == (same[0] if same else len(seen) - 1)


def test_more_lanes_than_labels_are_refused() -> None:
    one = from_answers([[1]])
    with pytest.raises(ValueError, match="128 lanes"):
        classes({str(n): one for n in range(128)})


def peak(work: Callable[[], object]) -> int:
    tracemalloc.start()
    work()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


@pytest.mark.parametrize("shift", [0, 1])
def test_memory_stays_below_the_ids_own_size(shift: int) -> None:
    lengths = np.full(20_000, 50, dtype=np.int64)
    lanes = {}
    for lane in range(6):
        own = lengths.copy()
        own[:: 2 + lane] += shift * (lane % 2)
        offsets = np.concatenate(([0], np.cumsum(own)))
        ids = np.zeros(int(offsets[-1]), dtype=np.uint32)
        lanes[str(lane)] = Outcomes(np.zeros(own.shape[0], dtype=np.uint8), offsets, ids)
    size = sum(lane.ids.nbytes for lane in lanes.values())
    # The agreement is 4 times the ids' own size, the ids included.
    assert peak(lambda: classes(lanes)) < size
