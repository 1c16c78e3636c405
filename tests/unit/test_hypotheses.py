"""Hypotheses: each changes what it says, is offered only where it can be tested, and composes."""

import json
import random
from collections.abc import Callable, Iterator
from copy import deepcopy

import numpy as np
import pytest
from tokenizers import Regex, pre_tokenizers

from harness.hypotheses import NAMES, PARAMETERS, Hypothesis, can_show, combine, proposed
from harness.hypotheses.input import LAST_BYTE_DROPPED, NUL_ENDS_TEXT, POLICIES
from harness.hypotheses.normalizer import beside_added, normalized_contents, segments
from tests.bank.bank import TOKENIZERS
from tests.unit import tiny
from tests.unit.observed import seen

NFC = {"normalizer": {"type": "NFC"}, "pre_tokenizer": {"type": "ByteLevel"}}
MARK = "\u0301"


def names(found: tuple[Hypothesis, ...]) -> list[str]:
    return list(dict.fromkeys(one.name for one in found))


def test_names_are_kebab_case_and_unique() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert all(name == name.lower() and " " not in name and "_" not in name for name in NAMES)


def test_a_hypothesis_that_changes_nothing_is_not_offered() -> None:
    plain = names(proposed(seen(NFC, [b"abc"], [])))
    assert {"normalizer-left-out", "normalizer-nfd", "last-byte-dropped"} <= set(plain)
    assert not {"normalizer-nfc", "nul-ends-text", "added-tokens-unrecognised"} & set(plain)
    bare = names(proposed(seen({"normalizer": None}, [b"a\0b"], [])))
    assert "normalizer-left-out" not in bare
    assert {"normalizer-nfc", "nul-ends-text"} <= set(bare)


MAKERS = (tiny.byte_level, tiny.with_fallback, tiny.word_piece, tiny.unigram)
CASES = [
    "<bos> The naïve cat\r\n".encode(),
    b' "a"\0 ``b ',
    "e\u0301 \ufb01 한글 word ".encode(),
    b"and the cat sat on the mat there",
]


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("make", MAKERS)
def test_whatever_is_offered_changes_something_and_nothing_else(
    make: Callable[[], tiny.File], special: bool
) -> None:
    due = tiny.answers(make(), CASES, None, special=special)
    given = [ids[: len(ids) // 2] for ids in due]
    observed = tiny.observed(make(), CASES, given, special=special)
    before = deepcopy(observed.description)
    offered = proposed(observed)
    for one in offered:
        changes_text = any(one.text(case) != (case,) for case in CASES)
        changes_description = one.describe(observed.description) != before
        changes_ids = any(one.ids(np.asarray(ids, dtype=np.uint32)).tolist() != ids for ids in due)
        assert changes_text + changes_description + changes_ids == 1, one.label
        assert one.name in NAMES
        assert observed.description == before, one.label
    assert len({one.label for one in offered}) == len(offered)


OTHERS = "\u3000naïve a\u0903\u20dd 한글 don't 123 \U0001fae8\u3000".encode()
MARKED = "abcdefghijklmnopqrstuvwxyz\u0301\u0302\u0303".encode()


def keys_offered(file: tiny.File, *, special: bool) -> Iterator[tuple[str, str]]:
    """Yield each hypothesis that is offered, and the key of each of its parameters."""
    for cases in ([*CASES, OTHERS], [MARKED]):
        due = tiny.answers(file, cases, None, special=special)
        given = [ids[: len(ids) // 2] for ids in due]
        for one in proposed(tiny.observed(file, cases, given, special=special)):
            yield from ((one.name, key) for key, _ in one.parameters)


def test_the_keys_of_parameters_are_those_that_are_listed() -> None:
    several_splits = json.loads((TOKENIZERS / "deepseek-like.json").read_text("utf-8"))
    files = [several_splits, *(make() for make in MAKERS)]
    asked = [(file, special) for file in files for special in (False, True)]
    found = {pair for file, special in asked for pair in keys_offered(file, special=special)}
    assert found == {(name, key) for name, keys in PARAMETERS.items() for key in keys}


def test_ties_are_named_in_the_order_of_the_stages() -> None:
    offered = [one.stage for one in proposed(tiny.observed(tiny.byte_level(), CASES, special=True))]
    assert list(dict.fromkeys(offered)) == [
        "normalizer",
        "input",
        "added-tokens",
        "pre-tokenizer",
        "model",
        "post-processor",
    ]


@pytest.mark.parametrize(
    "declared",
    [
        {"type": "Sequence", "normalizers": [{"type": "NFC"}]},
        {
            "type": "Sequence",
            "normalizers": [{"type": "Sequence", "normalizers": [{"type": "NFC"}]}],
        },
    ],
)
def test_a_sequence_of_one_is_what_it_holds(declared: dict[str, object]) -> None:
    found = names(proposed(seen({"normalizer": declared}, [], [])))
    assert "normalizer-nfc" not in found
    assert "normalizer-left-out" in found


def test_an_empty_sequence_is_no_normalizer() -> None:
    empty = {"normalizer": {"type": "Sequence", "normalizers": []}}
    assert "normalizer-left-out" not in names(proposed(seen(empty, [], [])))


def test_a_longer_sequence_is_replaced_whole() -> None:
    declared = {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Lowercase"}]}
    found = {one.name: one for one in proposed(seen({"normalizer": declared}, [], []))}
    assert found["normalizer-nfc"].describe({"normalizer": declared}) == {
        "normalizer": {"type": "NFC"}
    }


def test_describing_a_change_leaves_the_description_alone() -> None:
    before = {"normalizer": {"type": "NFC"}, "pre_tokenizer": {"type": "ByteLevel"}}
    for one in proposed(seen(before, [MARK.encode() * 3], [0])):
        one.describe(before)
    assert before == NFC


def test_input_changes() -> None:
    assert NUL_ENDS_TEXT.text(b"ab\0cd\0") == (b"ab",)
    assert NUL_ENDS_TEXT.text(b"ab") == (b"ab",)
    assert LAST_BYTE_DROPPED.text(b"ab") == (b"a",)
    assert LAST_BYTE_DROPPED.text(b"") == (b"",)


def test_combined_changes_apply_to_input_and_description() -> None:
    nfd = next(one for one in proposed(seen(NFC, [], [])) if one.name == "normalizer-nfd")
    both = combine([NUL_ENDS_TEXT, combine([nfd, LAST_BYTE_DROPPED])])
    assert both.name == "nul-ends-text+normalizer-nfd+last-byte-dropped"
    assert both.size == 3
    assert both.stages == {"input", "normalizer"}
    assert both.text(b"abc\0d") == (b"ab",)
    assert both.describe(NFC)["normalizer"] == {"type": "NFD"}
    with pytest.raises(ValueError, match="two"):
        combine([nfd])


def test_an_unknown_stage_is_refused() -> None:
    with pytest.raises(ValueError, match="middle"):
        Hypothesis("x", "middle", "")


def capped(cap: int, *, before: bool, raw: bool) -> Hypothesis:
    data = ("a" + MARK * 40).encode()
    return next(
        one
        for one in proposed(seen({"pre_tokenizer": None}, [data], [0]))
        if one.name == "marks-capped"
        and dict(one.parameters)
        == {
            "cap": cap,
            "broken": "before-next-mark" if before else "after-mark",
            "counted": "raw" if raw else "normalized",
        }
    )


@pytest.mark.parametrize(
    ("before", "pieces"),
    [
        (False, ["x ab" + MARK * 2, "c" + MARK * 2, "d-" + MARK]),
        (True, ["x ab" + MARK * 2 + "c", MARK * 2 + "d-" + MARK]),
    ],
)
def test_a_cap_breaks_the_run_and_counts_anew(before: bool, pieces: list[str]) -> None:
    text = "".join(pieces).encode()
    found = capped(2, before=before, raw=True).text(text)
    assert [piece.decode() for piece in found] == pieces


def test_a_cap_in_the_text_and_in_the_pre_tokenizer_break_alike() -> None:
    """The regular expression, in the library that will run it, against the plain loop."""
    source = random.Random(1)  # noqa: S311 - any texts will do
    for cap in (1, 2, 3):
        for before in (False, True):
            described = capped(cap, before=before, raw=False).describe({"pre_tokenizer": None})
            (step,) = described["pre_tokenizer"]["pretokenizers"]
            split = pre_tokenizers.Split(Regex(step["pattern"]["Regex"]), "merged_with_previous")
            for _ in range(400):
                text = "".join(source.choice(f"ab {MARK}\u0327{MARK}!") for _ in range(12))
                ours = capped(cap, before=before, raw=True).text(text.encode())
                theirs = [piece for piece, _ in split.pre_tokenize_str(text)]
                assert theirs == [piece.decode() for piece in ours if piece]


def test_a_long_word_costs_the_cap_no_square() -> None:
    described = capped(3, before=True, raw=False).describe({"pre_tokenizer": None})
    (step,) = described["pre_tokenizer"]["pretokenizers"]
    split = pre_tokenizers.Split(Regex(step["pattern"]["Regex"]), "merged_with_previous")

    # A pattern that began anew at each letter would take minutes over this word.
    assert len(split.pre_tokenize_str("x" * 300_000)) == 1


def test_the_declared_pre_tokenizer_stays_behind_the_cap() -> None:
    declared = {"type": "ByteLevel"}
    described = capped(2, before=False, raw=False).describe({"pre_tokenizer": declared})
    assert described["pre_tokenizer"]["pretokenizers"][1] == declared


def test_caps_are_inferred_from_the_mismatching_cases() -> None:
    cases = [("a" + MARK * 9).encode(), ("a" + MARK * 4).encode(), b"none"]
    caps = {dict(one.parameters).get("cap") for one in proposed(seen(NFC, cases, [0, 1]))}
    assert caps - {None} == {1, 2, 3, 4}
    assert "marks-capped" not in names(proposed(seen(NFC, cases, [0, 2])))
    assert "marks-capped" not in names(proposed(seen(NFC, cases, [])))


def test_composed_letters_count_their_marks() -> None:
    """A subject may decompose first, so U+00E9 can hold a mark."""
    assert "marks-capped" in names(proposed(seen(NFC, ["é".encode()], [0])))


def test_testable() -> None:
    assert can_show("normalizer-left-out", seen(NFC, [], []))
    assert not can_show("normalizer-nfc", seen(NFC, [], []))
    assert can_show("nul-ends-text", seen(NFC, [b"\0"], []))
    assert not can_show("nul-ends-text", seen(NFC, [b"a"], []))
    assert can_show("marks-capped", seen(NFC, [("a" + MARK).encode()], []))
    assert not can_show("marks-capped", seen(NFC, [b"a"], []))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (
            b"a\xe2\x82b\xff\xfe",
            ("a\ufffdb\ufffd\ufffd", "a\ufffd\ufffdb\ufffd\ufffd", "a\ufffdb\ufffd", "ab"),
        ),
        (b"\xed\xa0\x80", ("\ufffd" * 3, "\ufffd" * 3, "\ufffd", "")),
        (b"\xef\xbf\xbd\xff", ("\ufffd\ufffd", "\ufffd\ufffd", "\ufffd\ufffd", "\ufffd")),
    ],
)
def test_byte_policies(data: bytes, expected: tuple[str, ...]) -> None:
    order = ("replaced-per-subpart", "replaced-per-byte", "replaced-per-run", "dropped")
    assert tuple(POLICIES[name](data) for name in order) == expected


def test_latin_1_policies() -> None:
    data = "é".encode() + b"\xff"
    assert POLICIES["latin-1"](data) == "Ã©ÿ"
    assert POLICIES["latin-1-per-byte"](data) == "éÿ"


def test_segments_leave_out_tokens_matched_before_normalization() -> None:
    description = {
        "added_tokens": [
            {"content": "<a>", "normalized": False},
            {"content": "<a>b", "normalized": False},
            {"content": "<c>", "normalized": True},
            {"content": "", "normalized": False},
        ]
    }
    assert segments("x<a>by<a>z<c>", description) == ("x", "y", "z<c>")
    assert segments("x<a>", {}) == ("x<a>",)


def test_segments_follow_the_flags_of_added_tokens() -> None:
    flags = {"normalized": False, "lstrip": False, "rstrip": False, "single_word": False}
    description = {
        "added_tokens": [
            {**flags, "content": "<l>", "lstrip": True},
            {**flags, "content": "<r>", "rstrip": True},
            {**flags, "content": "word", "single_word": True},
        ]
    }
    assert segments("a \u3000<l> b", description) == ("a", " b")
    assert segments("a <r>\u3000 b", description) == ("a ", "b")
    assert segments("a word b", description) == ("a ", " b")
    assert segments("swords éword", description) == ("swords éword",)


def test_tokens_matched_in_the_normalized_text_hide_its_form() -> None:
    description = {"added_tokens": [{"content": "<é>", "normalized": True}, {"content": "x"}]}
    assert normalized_contents(description) == ["<é>", "x"]
    composed = beside_added("a<é>b", ["<é>", "x"])
    decomposed = beside_added("a<e\u0301>b", ["<e\u0301>", "x"])
    assert composed == decomposed == ("a", "\x000", "b")
    assert beside_added("a<e\u0301>b", ["<é>"]) == ("a<e\u0301>b",)
    assert beside_added("axb", ["<é>", "x"]) != beside_added("a<é>b", ["<é>", "x"])
