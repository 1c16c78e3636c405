"""One text explained: columns, alignment, characters, and text of others that cannot act."""

import json
import unicodedata
from collections.abc import Mapping

import pytest

from harness.report.explain import render
from harness.report.explanation import (
    Added,
    Answer,
    Explanation,
    aligned,
    columns,
    special_characters,
    to_dict,
)
from harness.report.words import token
from tests.unit.test_report import HOSTILE

CONTROL, OTHER, THIRD = "x/default/native", "x/unsigned/native", "a/default/qemu"


def answers(ids: tuple[int, ...], *, normalized: bytes | None = b"ab") -> dict[str, Answer]:
    found = {"encode": Answer("ok", ids), "encode_special": Answer("ok", (1, *ids))}
    if normalized is not None:
        found |= {
            "normalize": Answer("ok", (normalized,)),
            "pretokenize": Answer("ok", (normalized,)),
        }
    return found


ORACLE = answers((7, 8))


def explanation(
    lanes: Mapping[str, Mapping[str, Answer]],
    *,
    data: bytes = b"ab",
    oracle: Mapping[str, Answer] | None = ORACLE,
    word: str = "ab",
) -> Explanation:
    return Explanation(
        tokenizer=word,
        case=f"smoke/{word}",
        data=data,
        columns=columns(oracle, lanes),
        added=(Added(id=7, content=word, special=True, by=(word,)),),
        silent={word: (word,)},
        broken={word: word},
        tokens={
            number: token(number, f"{word}{number}", byte_level=False) for number in range(1, 80)
        },
    )


def test_lanes_that_answer_as_the_oracle_stand_in_its_column_and_others_with_each_other() -> None:
    found = columns(ORACLE, {CONTROL: ORACLE, OTHER: answers((9,)), THIRD: answers((9,))})
    assert [(one.oracle, one.lanes) for one in found] == [
        (True, (CONTROL,)),
        (False, (OTHER, THIRD)),
    ]
    assert found[0].name == f"oracle = {CONTROL}"


def test_a_lane_that_offers_less_agrees_where_it_answers() -> None:
    [only] = columns(ORACLE, {CONTROL: answers((7, 8), normalized=None)})
    assert only.lanes == (CONTROL,)


def test_lanes_with_the_same_ids_after_another_normalized_text_stand_apart() -> None:
    found = columns(ORACLE, {CONTROL: answers((7, 8), normalized=b"a b")})
    assert [one.oracle for one in found] == [True, False]


def test_words_beside_an_outcome_make_no_column_of_their_own() -> None:
    one, two = (
        {**ORACLE, "encode": Answer("crash", (), note)} for note in ("SIGSEGV", "SIGSEGV also")
    )
    assert len(columns(ORACLE, {CONTROL: one, OTHER: two})) == 2


def test_without_a_word_of_the_oracle_lanes_are_held_against_each_other() -> None:
    found = columns(None, {CONTROL: answers((9,)), OTHER: answers((8,))})
    assert [one.lanes for one in found] == [(CONTROL,), (OTHER,)]


@pytest.mark.parametrize(
    ("left", "right", "rows"),
    [
        ((), (), []),
        ((1, 2), (1, 2), [(0, 0), (1, 1)]),
        ((1, 2, 3), (1, 3), [(0, 0), (1, None), (2, 1)]),
        ((1, 3), (1, 2, 3), [(0, 0), (None, 1), (1, 2)]),
        ((5, 2, 6), (7, 8, 2, 9), [(0, 0), (None, 1), (1, 2), (2, 3)]),
        ((1, 1), (1,), [(0, 0), (1, None)]),
        ((), (4,), [(None, 0)]),
    ],
)
def test_tokens_are_aligned_on_those_that_are_the_same(
    left: tuple[int, ...], right: tuple[int, ...], rows: list[tuple[int | None, int | None]]
) -> None:
    assert aligned(left, right) == rows


def test_long_answers_without_anything_in_common_are_paired_in_time() -> None:
    rows = aligned(range(50_000), range(50_000, 110_000))
    assert len(rows) == 60_000


def test_special_characters_are_named_once_with_their_bytes() -> None:
    found = special_characters("a\u0301b\u0301\t\u200b\U0010ffff")
    assert [one["code_point"] for one in found] == ["U+0301", "U+0009", "U+200B", "U+10FFFF"]
    assert found[0] == {
        "code_point": "U+0301",
        "name": "COMBINING ACUTE ACCENT",
        "category": "Mn",
        "combining": 230,
        "hex": "cc81",
        "at": 1,
        "times": 2,
    }
    assert [one["name"] for one in found[1:]] == ["(control)", "ZERO WIDTH SPACE", "(unassigned)"]
    assert special_characters("plain ~") == []


def marked(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("   →")]


def test_the_first_difference_is_marked_and_only_it() -> None:
    shown = render(explanation({CONTROL: ORACLE, OTHER: answers((7, 9, 10))}))
    [line] = marked(shown)
    assert " 8 ab8 " in line and " 9 ab9 " in line
    assert "smoke/ab under ab: 2 different answers" in shown


def test_a_text_on_which_all_agree_says_so_and_marks_nothing() -> None:
    shown = render(explanation({CONTROL: ORACLE}))
    assert "all agree" in shown
    assert marked(shown) == []
    assert "≠" not in shown
    assert " 8 ab8 " in shown


def test_a_lane_without_an_answer_is_shown_with_its_outcome() -> None:
    dead = {**ORACLE, "encode": Answer("crash", (), "SIGSEGV (signal 11)")}
    assert "B  (crash: SIGSEGV (signal 11))" in render(explanation({CONTROL: dead}))


def test_what_a_lane_does_not_offer_is_no_difference() -> None:
    shown = render(explanation({CONTROL: answers((9,), normalized=None)}))
    [line] = [one for one in shown.splitlines() if "not offered" in one][:1]
    assert "≠" not in line


def test_of_long_answers_what_surrounds_the_differences_is_shown() -> None:
    ids = tuple(range(1, 75))
    other = (*ids[:40], 79, *ids[41:])
    shown = render(explanation({CONTROL: answers(other)}, oracle=answers(ids)))
    assert "…" in shown
    assert " 41 ab41 " in marked(shown)[0]
    tokens = shown[shown.index("tokens:") : shown.index("ids with special")]
    assert len(tokens.splitlines()) < 30


@pytest.mark.parametrize("word", HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_of_others_acts_on_a_terminal(word: str) -> None:
    lanes = {CONTROL: answers((9,), normalized=word.encode("utf-8", "surrogatepass"))}
    data = word.encode("utf-8", "surrogatepass")
    one = explanation(lanes, data=data, word=word)
    for line in render(one).split("\n"):
        assert not any(unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp") for char in line)
        assert "##[" not in line
        assert not line.startswith("::")
    assert json.dumps(to_dict(one)).isascii()


def test_the_json_holds_every_stage_and_where_the_columns_part() -> None:
    found = to_dict(explanation({CONTROL: ORACLE, OTHER: answers((7, 9))}))
    assert found["agree"] is False
    assert found["first_difference"] == [{"columns": [0, 1], "index": 1}]
    assert found["columns"][0]["lanes"] == [CONTROL]
    assert found["columns"][1]["encode"] == {"status": "ok", "values": [7, 9], "note": None}
    assert found["columns"][0]["normalize"]["values"] == ["6162"]
    assert found["input"]["hex"] == "6162"
    same = to_dict(explanation({CONTROL: ORACLE}))
    assert same["agree"] is True
    assert same["first_difference"] == []


@pytest.mark.parametrize(
    ("piece", "kind", "data"),
    [
        ("Ġhi", {"byte_level": True}, " hi"),
        ("<|im_end|>", {"byte_level": True}, "<|im_end|>"),
        ("▁hi", {"byte_level": False, "metaspace": True}, " hi"),
        ("▁hi", {"byte_level": False}, "▁hi"),
        ("<0x0A>", {"byte_level": False, "byte_fallback": True}, "\n"),
        ("<0x0A>", {"byte_level": False}, "<0x0A>"),
    ],
)
def test_a_token_stands_for_the_bytes_that_its_kind_says(
    piece: str, kind: dict[str, bool], data: str
) -> None:
    assert bytes.fromhex(token(3, piece, **kind)["hex"]).decode() == data
