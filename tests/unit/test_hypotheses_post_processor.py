"""Special tokens: each change is a template edited by hand, and offered where any are added."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.hypotheses.post_processor import proposed
from tests.unit import tiny
from tests.unit.observed import seen

CASES = [b"the cat sat", b"", b"and the mat"]
TEXTS = [case.decode() for case in CASES]
MAKERS = (tiny.byte_level, tiny.with_fallback, tiny.word_piece)


def template(*items: str, special: dict[str, int]) -> dict[str, Any]:
    """A template by hand: ``A`` is the text."""
    return {
        "type": "TemplateProcessing",
        "single": [
            {"Sequence": {"id": "A", "type_id": 0}}
            if item == "A"
            else {"SpecialToken": {"id": item, "type_id": 0}}
            for item in items
        ],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
        "special_tokens": {
            content: {"id": content, "ids": [number], "tokens": [content]}
            for content, number in special.items()
        },
    }


BOS = {"<bos>": 306}
ENDS = {"<s>": 1, "</s>": 2}
BERT = {"[CLS]": 1, "[SEP]": 2}
ROBERTA: dict[str, Any] = {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 1]}
ROBERTA |= {"trim_offsets": True, "add_prefix_space": True}


def roberta() -> tiny.File:
    return {**tiny.with_fallback(), "post_processor": ROBERTA}


@pytest.mark.parametrize(
    ("make", "name", "parameters", "by_hand"),
    [
        (tiny.byte_level, "special-tokens-missing", {}, None),
        (
            tiny.byte_level,
            "special-tokens-doubled",
            {},
            template("<bos>", "<bos>", "A", special=BOS),
        ),
        (tiny.byte_level, "pair-template", {}, template("<bos>", "A", "<bos>", special=BOS)),
        (tiny.with_fallback, "special-tokens-missing", {}, None),
        (
            tiny.with_fallback,
            "special-tokens-missing",
            {"side": "leading"},
            template("A", "</s>", special=ENDS),
        ),
        (
            tiny.with_fallback,
            "special-tokens-missing",
            {"side": "trailing"},
            template("<s>", "A", special=ENDS),
        ),
        (
            tiny.with_fallback,
            "special-tokens-doubled",
            {},
            template("<s>", "<s>", "A", "</s>", "</s>", special=ENDS),
        ),
        (
            tiny.with_fallback,
            "special-tokens-doubled",
            {"side": "leading"},
            template("<s>", "<s>", "A", "</s>", special=ENDS),
        ),
        (
            tiny.with_fallback,
            "pair-template",
            {},
            template("<s>", "A", "</s>", "</s>", "</s>", special=ENDS),
        ),
        (tiny.word_piece, "special-tokens-missing", {}, None),
        (
            tiny.word_piece,
            "special-tokens-missing",
            {"side": "trailing"},
            template("[CLS]", "A", special=BERT),
        ),
        (
            tiny.word_piece,
            "special-tokens-doubled",
            {"side": "trailing"},
            template("[CLS]", "A", "[SEP]", "[SEP]", special=BERT),
        ),
        (
            tiny.word_piece,
            "special-tokens-doubled",
            {},
            template("[CLS]", "[CLS]", "A", "[SEP]", "[SEP]", special=BERT),
        ),
        (
            roberta,
            "pair-template",
            {},
            template("<s>", "A", "</s>", "</s>", "</s>", special=ENDS),
        ),
        (
            roberta,
            "special-tokens-doubled",
            {},
            template("<s>", "<s>", "A", "</s>", "</s>", special=ENDS),
        ),
    ],
)
def test_a_change_is_the_template_edited_by_hand(
    make: Callable[[], tiny.File], name: str, parameters: dict[str, str], by_hand: dict[str, Any]
) -> None:
    file = make()
    given = tiny.encoded({**file, "post_processor": by_hand}, TEXTS, special=True)
    observed = tiny.observed(file, CASES, given, special=True)
    found = tiny.explaining(file, observed, proposed)
    # BERT's pair, less its second text, ends as a text whose last token is doubled.
    alike = [one for one in found if one.name != "pair-template" or name == "pair-template"]
    assert (name, parameters) in [(one.name, dict(one.parameters)) for one in alike]
    assert {one.name for one in alike} <= {name, "special-tokens-doubled"}
    assert given != tiny.answers(file, CASES, None, special=True)


def test_special_tokens_can_come_unasked() -> None:
    for make in MAKERS:
        file = make()
        given = tiny.encoded(file, TEXTS, special=True)
        found = tiny.explaining(file, tiny.observed(file, CASES, given), proposed)
        assert [one.name for one in found] == ["special-tokens-added"]


def offered(processor: object, *, special: bool = True) -> list[str]:
    description = {"post_processor": processor, "asked": {"special": special}}
    return [one.label for one in proposed(seen(description, [b"a"], []))]


def test_nothing_is_offered_where_no_special_tokens_are_put() -> None:
    for special in (False, True):
        assert offered(None, special=special) == []
        assert offered({"type": "ByteLevel"}, special=special) == []
        assert offered(template("A", special={}), special=special) == []
        assert offered({"type": "Sequence", "processors": []}, special=special) == []
    assert proposed(seen({}, [b"a"], [])) == ()


def test_sides_are_told_where_there_are_two() -> None:
    one, two = template("<bos>", "A", special=BOS), template("<s>", "A", "</s>", special=ENDS)
    assert [label for label in offered(one) if "side" in label] == []
    assert [label for label in offered(two) if "side" in label] == [
        "special-tokens-missing (side leading)",
        "special-tokens-missing (side trailing)",
        "special-tokens-doubled (side leading)",
        "special-tokens-doubled (side trailing)",
    ]


def test_a_pair_that_begins_as_one_text_does_is_not_offered() -> None:
    same = template("<bos>", "A", special=BOS)
    same["pair"] = [*same["single"], {"Sequence": {"id": "B", "type_id": 1}}]
    assert "pair-template" not in offered(same)
    assert "pair-template" in offered({**same, "pair": same["pair"] + same["single"][:1]})


def test_a_sequence_is_looked_into_and_left_alone() -> None:
    file = tiny.byte_level()
    plain = tiny.described(file, special=True)
    doubled = tiny.only(
        proposed(tiny.observed(file, CASES, special=True)), "special-tokens-doubled"
    )
    changed = doubled.describe(plain)["post_processor"]
    assert changed["processors"][0] == plain["post_processor"]["processors"][0]
    assert len(changed["processors"][1]["single"]) == 3
    assert len(plain["post_processor"]["processors"][1]["single"]) == 2
