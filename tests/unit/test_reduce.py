"""Shrinking: what is found, in how many questions, and what is promised of it."""

import random
from collections.abc import Callable, Sequence

import pytest

from harness.reduce import Shrunk, characters, is_utf8, shrink

ACUTE = "\u0301"


class Oracle:
    """Answers by a predicate over bytes, and keeps what it was asked."""

    def __init__(self, good: Callable[[bytes], bool]) -> None:
        self.good = good
        self.batches: list[list[bytes]] = []

    def __call__(self, candidates: Sequence[bytes]) -> list[bool]:
        self.batches.append(list(candidates))
        return [self.good(one) for one in candidates]

    @property
    def asked(self) -> list[bytes]:
        return [one for batch in self.batches for one in batch]


def text(good: Callable[[str], bool]) -> Oracle:
    return Oracle(lambda data: good(data.decode("utf-8")))


def run(data: str | bytes, oracle: Oracle, budget: int = 2000, together: int = 64) -> Shrunk:
    whole = data.encode() if isinstance(data, str) else data
    assert oracle.good(whole)
    done = shrink(whole, oracle, budget=budget, together=together)
    assert oracle.good(done.data)
    assert done.asked == len(oracle.asked) <= budget
    assert len(set(oracle.asked)) == len(oracle.asked), "a candidate was asked about twice"
    assert all(len(batch) <= together for batch in oracle.batches)
    if done.minimal:
        units = characters(done.data)
        if done.unit == "byte":
            units = [bytes([byte]) for byte in done.data]
        for one in range(len(units)):
            left = b"".join(units[:one] + units[one + 1 :])
            assert not oracle.good(left), f"{units[one]!r} can go from {done.data!r}"
    return done


def long_text(size: int, seed: int = 3) -> list[str]:
    letters = random.Random(seed)  # noqa: S311 - a text to cut up, no secret
    return [letters.choice("abcdefghij klmnop\u00e9\u4e2d\U0001f600") for _ in range(size)]


@pytest.mark.parametrize("at", [1, 17, 5000, 9998])
@pytest.mark.parametrize("together", [64, 1])
def test_one_mark_in_ten_thousand_characters(at: int, together: int) -> None:
    units = long_text(10_000)
    units[at - 1 : at + 1] = ["e", ACUTE]
    oracle = text(lambda one: "e" + ACUTE in one)
    done = run("".join(units), oracle, together=together)
    assert done.data.decode() == "e" + ACUTE
    assert (done.minimal, done.unit) == (True, "character")
    assert done.asked < 100
    if together == 64:
        assert len(oracle.batches) < 25


def test_a_mark_that_needs_something_far_before_it() -> None:
    units = long_text(10_000)
    units[700], units[9100] = "Q", ACUTE
    done = run("".join(units), text(lambda one: ACUTE in one and "Q" in one[: one.index(ACUTE)]))
    assert done.data.decode() == "Q" + ACUTE
    assert done.minimal
    assert done.asked < 200


def test_many_marks_are_all_needed() -> None:
    units = long_text(4000)
    for at in range(100, 4000, 600):
        units[at] = ACUTE
    done = run("".join(units), text(lambda one: one.count(ACUTE) >= 7), budget=500)
    assert done.data.decode() == ACUTE * 7
    assert done.minimal


def test_the_first_of_several_is_enough() -> None:
    done = run(("ab" + "e" + ACUTE + "cd") * 1000, text(lambda one: "e" + ACUTE in one))
    assert done.data.decode() == "e" + ACUTE


def test_a_text_that_cannot_shrink_stays_whole_and_is_minimal() -> None:
    done = run("abcdefg", text(lambda one: one == "abcdefg"))
    assert (done.data, done.minimal) == (b"abcdefg", True)


def test_the_empty_text_is_the_smallest() -> None:
    done = run("abc", text(lambda one: True))
    assert (done.data, done.minimal, done.asked) == (b"", True, 1)


def test_a_single_character_and_nothing() -> None:
    assert run("\u4e2d", text(bool)).data.decode() == "\u4e2d"
    assert run("", text(lambda one: True)).data == b""


def test_interest_without_order_still_ends_minimal() -> None:
    # An odd number of a's: bisection has nothing to hold on to.
    done = run("a" * 301, text(lambda one: one.count("a") % 2 == 1))
    assert (done.data, done.minimal) == (b"a", True)


@pytest.mark.parametrize("seed", range(30))
def test_any_interest_ends_minimal(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - a text to cut up, no secret
    units = long_text(chance.randint(1, 120), seed)
    needed = [chance.choice(units) for _ in range(chance.randint(0, 5))]
    least = chance.randint(0, 4)

    def good(one: str) -> bool:
        rest = iter(one)
        return all(char in rest for char in needed) and len(one) % 7 >= min(least, len(one) % 7)

    done = run("".join(units[:60] + needed + units[60:]), text(good))
    assert done.minimal


def test_characters_of_valid_text_stay_whole() -> None:
    oracle = text(lambda one: "\u4e2d" in one)  # decoding a cut character would raise
    done = run("\U0001f600\u4e2d\u00e9" * 50, oracle)
    assert (done.data.decode(), done.unit) == ("\u4e2d", "character")


def test_raw_bytes_are_cut_to_single_bytes() -> None:
    data = b"\xe4\xb8\xad" * 40 + b"ab\xffcd" + b"\xf0\x9f\x98\x80" * 40
    done = run(data, Oracle(lambda one: b"\xff" in one and b"\x9f" in one))
    assert (done.data, done.unit, done.minimal) == (b"\xff\x9f", "byte", True)
    assert not is_utf8(done.data)


def test_raw_bytes_may_become_text() -> None:
    done = run(b"ab\xff", Oracle(lambda one: b"b" in one))
    assert (done.data, done.unit) == (b"b", "byte")


def test_a_spent_budget_is_said_and_the_best_is_kept() -> None:
    units = long_text(10_000)
    whole = "".join(units)
    done = run(whole, text(lambda one: len(one) >= 3000), budget=40)
    assert not done.minimal
    assert 3000 <= len(done.data.decode()) < 10_000


def test_a_budget_that_is_just_enough_is_not_spent() -> None:
    exact = run("xxxxabxxxx", text(lambda one: "ab" in one)).asked
    assert run("xxxxabxxxx", text(lambda one: "ab" in one), budget=exact).minimal
    assert not run("xxxxabxxxx", text(lambda one: "ab" in one), budget=exact - 1).minimal


def test_every_new_best_is_told_and_is_smaller() -> None:
    told: list[bytes] = []
    whole = ("x" * 500 + "ab" + "y" * 500).encode()
    done = shrink(
        whole, lambda some: [b"ab" in one for one in some], budget=2000, found=told.append
    )
    assert told[-1] == done.data == b"ab"
    assert all(b"ab" in one for one in told)
    assert sorted(map(len, told), reverse=True) == list(map(len, told))
    assert len(set(map(len, told))) == len(told)


def test_the_same_answers_give_the_same_questions() -> None:
    units = "".join(long_text(2000))
    first, second = (text(lambda one: one.count("\u00e9") > 3) for _ in range(2))
    assert run(units, first) == run(units, second)
    assert first.batches == second.batches


def test_stray_bytes_are_characters_of_their_own() -> None:
    assert characters(b"a\xff\xe4\xb8\xad\xe4") == [b"a", b"\xff", b"\xe4\xb8\xad", b"\xe4"]
