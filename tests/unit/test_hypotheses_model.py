"""The model: flags only where the model has them, and shifts of ids inferred."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from harness.hypotheses.model import byte_level, can_show, kind, proposed
from tests.unit import tiny
from tests.unit.observed import seen

CASES = [b"the cat sat", "naïve ☃☃ Zz9 résumé".encode(), b"and the mats", b"<bos> the", b"t", b""]
MAKERS = (tiny.byte_level, tiny.with_fallback, tiny.word_piece, tiny.unigram)


def names(file: tiny.File) -> list[str]:
    return [one.name for one in proposed(tiny.observed(file, CASES))]


def test_each_kind_of_model_has_its_own() -> None:
    assert [names(make()) for make in MAKERS] == [
        ["ignore-merges-flipped", "merge-ties-rightmost", "longest-match", "dropout-set"],
        ["ignore-merges-flipped", "byte-fallback-off", "fuse-unk-flipped", "dropout-set"],
        [],
        ["byte-fallback-off", "scores-single-precision"],
    ]


def with_model(file: tiny.File, **fields: object) -> tiny.File:
    return {**file, "model": {**file["model"], **fields}}


def unmergeable() -> tiny.File:
    """A word of the vocabulary that no merges lead to, which only ignore_merges finds."""
    merges = [pair for pair in tiny.byte_level()["model"]["merges"] if "".join(pair) != "\u0120cat"]
    return with_model(tiny.byte_level(), merges=merges)


def unknown() -> tiny.File:
    return with_model(tiny.with_fallback(), byte_fallback=False)


@pytest.mark.parametrize(
    ("make", "fields", "name"),
    [
        (tiny.byte_level, {"dropout": 1.0}, "dropout-set"),
        (tiny.with_fallback, {"dropout": 1.0}, "dropout-set"),
        (tiny.with_fallback, {"byte_fallback": False}, "byte-fallback-off"),
        (tiny.unigram, {"byte_fallback": False}, "byte-fallback-off"),
        (unmergeable, {"ignore_merges": True}, "ignore-merges-flipped"),
        (unknown, {"fuse_unk": False}, "fuse-unk-flipped"),
    ],
)
def test_a_change_is_the_model_edited_by_hand(
    make: Callable[[], tiny.File], fields: Mapping[str, object], name: str
) -> None:
    file = make()
    given = tiny.encoded(with_model(file, **fields), [case.decode() for case in CASES])
    observed = tiny.observed(file, CASES, given)
    assert observed.mismatching.shape[0]
    assert [one.name for one in tiny.explaining(file, observed, proposed)] == [name]


def test_a_flag_that_is_set_is_flipped_back() -> None:
    file = with_model(unmergeable(), ignore_merges=True)
    given = tiny.encoded(unmergeable(), [case.decode() for case in CASES])
    found = tiny.explaining(file, tiny.observed(file, CASES, given), proposed)
    assert [one.name for one in found] == ["ignore-merges-flipped"]


@pytest.mark.parametrize(
    ("make", "name", "key", "value"),
    [
        (tiny.byte_level, "longest-match", "merging", "longest-match"),
        (tiny.byte_level, "merge-ties-rightmost", "merging", "ties-rightmost"),
        (tiny.unigram, "scores-single-precision", "scores", "single"),
    ],
)
def test_what_the_library_cannot_do_is_said_to_the_oracle(
    make: Callable[[], tiny.File], name: str, key: str, value: str
) -> None:
    plain = tiny.described(make())
    change = tiny.only(proposed(tiny.observed(make(), CASES)), name)
    assert change.describe(plain) == {**plain, "model": {**plain["model"], key: value}}
    assert key not in plain["model"]


def test_a_change_that_is_there_already_is_not_offered() -> None:
    assert "dropout-set" not in names(with_model(tiny.byte_level(), dropout=1.0))
    assert "byte-fallback-off" not in names(unknown())
    assert "fuse-unk-flipped" not in names(with_model(unknown(), unk_token=None))
    described: dict[str, Any] = {"model": {"type": "BPE"}, "pre_tokenizer": {"type": "Whitespace"}}
    assert "longest-match" not in [one.name for one in proposed(seen(described, [b"a"], []))]
    assert proposed(seen({}, [b"a"], [])) == ()


def test_a_model_without_its_type_is_known_by_its_fields() -> None:
    for make in MAKERS:
        model = tiny.described(make())["model"]
        untyped = {key: value for key, value in model.items() if key != "type"}
        assert kind(untyped) == kind(model) == model["type"]
    assert kind({"unk_token": "x"}) == "WordLevel"


def test_byte_level_is_found_wherever_it_stands() -> None:
    step = {"type": "ByteLevel"}
    nested = {"type": "Sequence", "pretokenizers": [{"type": "Digits"}, step]}
    deeper = {"type": "Sequence", "normalizers": [{"type": "Sequence", "normalizers": [step]}]}
    assert byte_level({"pre_tokenizer": nested})
    assert byte_level({"normalizer": deeper, "pre_tokenizer": None})
    assert not byte_level({"normalizer": {"type": "NFC"}, "pre_tokenizer": {"type": "Split"}})
    assert not byte_level({})


def shifted(file: tiny.File, by: int) -> list[list[int]]:
    added = {token["id"] for token in file["added_tokens"]}
    due = tiny.answers(file, CASES, None)
    return [[one if one in added else (one + by) % 2**32 for one in ids] for ids in due]


@pytest.mark.parametrize("by", [9, -9, 1, 256, -300])
def test_a_planted_shift_is_found(by: int) -> None:
    file = tiny.byte_level()
    observed = tiny.observed(file, CASES, shifted(file, by))
    [found] = tiny.explaining(file, observed, proposed)
    assert (found.name, found.parameters) == ("vocabulary-shifted", (("by", by),))


def test_a_shift_is_inferred_beside_another_cause() -> None:
    """Where something else changes the number of ids, the other cases still tell."""
    file = tiny.byte_level()
    given = shifted(file, 5)
    observed = tiny.observed(file, CASES, [[7, *given[0]], [3], *given[2:]])
    assert tiny.only(proposed(observed), "vocabulary-shifted", by=5)


def test_without_anything_constant_only_the_added_tokens_count_is_tried() -> None:
    file = tiny.byte_level()
    due = tiny.answers(file, CASES[:3], None)
    given = [[one + place for place, one in enumerate(ids, 1)] for ids in due]
    observed = tiny.observed(file, CASES[:3], given)
    shifts = [one for one in proposed(observed) if one.name == "vocabulary-shifted"]
    assert [one.parameters for one in shifts] == [(("by", 9),), (("by", -9),)]


def test_a_shift_shows_in_any_id_that_is_not_an_added_tokens() -> None:
    file = tiny.byte_level()
    assert can_show("vocabulary-shifted", tiny.observed(file, [b"the"]))
    assert not can_show("vocabulary-shifted", tiny.observed(file, [b"<bos>", b""]))
    assert can_show("dropout-set", tiny.observed(file, []))
    assert not can_show("fuse-unk-flipped", tiny.observed(file, CASES))
