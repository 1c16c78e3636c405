"""Answer lines into numbers: strict, and the same whether read in bulk or one by one."""

import random

import pytest

from harness.answers import BadAnswer, parse_answer, parse_answers
from harness.outcomes import Outcomes, Status
from harness.requests import pieces, prompt_and_ids


def lists(outcomes: Outcomes) -> list[list[int]]:
    return [outcomes.answer(index).tolist() for index in range(len(outcomes))]


def test_ids_in_bulk() -> None:
    found = parse_answers(b"ok 12 345 6\nok\nok 0\nok 4294967295\n", ["encode"] * 4)
    assert lists(found) == [[12, 345, 6], [], [0], [4294967295]]
    assert set(found.status.tolist()) == {Status.OK}


def test_bulk_and_one_by_one_agree_on_random_answers() -> None:
    choose = random.Random(7)  # noqa: S311 - a fixed seed: a failure repeats
    rows = [
        [choose.randrange(10 ** choose.randrange(1, 10)) for _ in range(choose.randrange(6))]
        for _ in range(500)
    ]
    lines = [" ".join(["ok", *map(str, row)]).encode() for row in rows]
    bulk = parse_answers(b"".join(line + b"\n" for line in lines), ["encode"] * 500)
    assert lists(bulk) == rows
    assert [parse_answer(line, "encode").values.tolist() for line in lines] == rows


@pytest.mark.parametrize("line", [b"ok", b"ok "])
@pytest.mark.parametrize(
    "operation", ["encode", "encode_special", "decode", "normalize", "pretokenize"]
)
def test_the_empty_answer(line: bytes, operation: str) -> None:
    assert parse_answers(line + b"\n", [operation]).ids.tolist() == []


def test_text_is_one_value_a_byte() -> None:
    found = parse_answers(b"ok 00fF80\nok 61\n", ["decode", "normalize"])
    assert lists(found) == [[0, 255, 128], [97]]


def test_pieces_keep_their_boundaries() -> None:
    one = parse_answers(b"ok 6162 63\n", ["pretokenize"])
    other = parse_answers(b"ok 61 6263\n", ["pretokenize"])
    assert pieces(one.ids) == [b"ab", b"c"]
    assert pieces(other.ids) == [b"a", b"bc"]
    assert one.ids.tolist() != other.ids.tolist()


def test_a_prompt_and_its_ids() -> None:
    prompt, ids = prompt_and_ids(parse_answers(b"ok 6162 7 8\n", ["request"]).ids)
    assert prompt == b"ab"
    assert ids.tolist() == [7, 8]
    prompt, ids = prompt_and_ids(parse_answers(b"ok  7\n", ["request"]).ids)
    assert (prompt, ids.tolist()) == (b"", [7])


def test_every_kind_of_line_among_ids() -> None:
    chunk = b"ok 1\nunsupported\nerr 6e6f00ff\nerr\nok 2 3\n"
    found = parse_answers(chunk, ["encode"] * 5)
    assert [Status(s) for s in found.status] == [
        Status.OK,
        Status.UNSUPPORTED,
        Status.ERROR,
        Status.ERROR,
        Status.OK,
    ]
    assert lists(found) == [[1], [], [], [], [2, 3]]
    assert found.notes[2] == "no\x00\\xff"
    assert found.notes[3] == ""


def test_operations_may_change_within_a_chunk() -> None:
    operations = ["encode", "encode", "decode", "encode", "pretokenize", "pretokenize"]
    chunk = b"ok 10\nok 11 12\nok 10\nok 10\nok 10\nunsupported\n"
    assert lists(parse_answers(chunk, operations)) == [[10], [11, 12], [16], [10], [1, 16], []]


@pytest.mark.parametrize(
    ("operation", "line"),
    [
        ("encode", b"ok 4294967296"),
        ("encode", b"ok 99999999999999999999"),
        ("encode", b"ok 00000000001"),
        ("encode", b"ok -1"),
        ("encode", b"ok +1"),
        ("encode", b"ok 1.5"),
        ("encode", b"ok 1e3"),
        ("encode", b"ok 0x10"),
        ("encode", b"ok 1  2"),
        ("encode", b"ok 1 "),
        ("encode", b"ok  1"),
        ("encode", b"ok\t1"),
        ("encode", b"ok 1\r"),
        ("encode", b"ok1"),
        ("encode", b"ok ok"),
        ("encode", b"ok 1ok2"),
        ("encode", b"okok 1"),
        ("encode", b"ok 1, 2"),
        ("encode", b"ok \xd9\xa1"),
        ("encode", b""),
        ("encode", b" ok 1"),
        ("encode", b"OK 1"),
        ("encode", b"1 2 3"),
        ("encode", b"loaded!"),
        ("encode", b"unsupported "),
        ("encode", b"unsupported: no"),
        ("encode", b"err not hex"),
        ("encode", b"error 61"),
        ("decode", b"ok 6"),
        ("decode", b"ok 61 62"),
        ("decode", b"ok 61 "),
        ("decode", b"ok zz"),
        ("pretokenize", b"ok 61  62"),
        ("pretokenize", b"ok 61 "),
        ("pretokenize", b"ok 6"),
        ("request", b"ok 61 62 x"),
    ],
)
@pytest.mark.parametrize("before", [b"", b"ok 31\n" * 3])
def test_a_line_that_is_no_answer_is_named(operation: str, line: bytes, before: bytes) -> None:
    count = before.count(b"\n")
    with pytest.raises(BadAnswer) as caught:
        parse_answers(before + line + b"\nok 31\n", [operation] * (count + 2))
    assert caught.value.index == count
    with pytest.raises(BadAnswer):
        parse_answer(line, operation)


def test_the_index_counts_over_operations() -> None:
    with pytest.raises(BadAnswer) as caught:
        parse_answers(b"ok 1\nok 61\nok 61\nok x\n", ["encode", "decode", "decode", "encode"])
    assert caught.value.index == 3


def test_nothing() -> None:
    assert len(parse_answers(b"", [])) == 0
