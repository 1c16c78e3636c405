import unicodedata
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from harness import unicode_pins
from harness.traits import COMPUTED, DECLARED, CodePoints, computed_traits, nfc, objection

EXPLANATIONS = Path(__file__).resolve().parents[2] / "corpora" / "traits.yaml"


@pytest.mark.parametrize(
    ("text", "trait"),
    [
        ("abc", "ascii"),
        ("", "empty"),
        (" \u3000\n", "empty"),
        ("a\u0085b", "whitespace"),
        ("a\rb", "newline"),
        ("a\0b", "nul"),
        ("a\x1fb", "control"),
        ("\ufeffa", "bom"),
        ("a" * 4096, "long"),
        ("WE'RE", "contraction"),
        ("it'ſ", "contraction"),
        ("½", "digits"),
        ("\U00010d40", "digits"),
        ("」", "punctuation"),
        ("e\u0301", "nfd"),
        ("\u2000", "nfd"),
        ("q\u0301", "nfc-stable"),
        ("कि", "devanagari"),
        ("ที", "thai"),
        ("ب", "arabic"),
        ("\ufefc", "arabic"),
        ("א", "hebrew"),
        ("\u1161", "hangul"),
        ("カ", "cjk"),
        ("𠀀", "cjk"),
        ("я", "cyrillic"),
        ("λ", "greek"),
        ("😀", "emoji"),
        ("a\u200db", "zwj"),
        ("\ufe0f", "variation-selector"),
        ("\uf059", "private-use"),
        ("\U0010ffff", "astral"),
        ("\U0001fae8", "unicode-15"),
        ("\u1c89", "unicode-16"),
        ("a\u1df6", "normalizer-age"),
        ("\U00011935", "normalizer-age"),
        ("क्षि" * 30, "marks:60"),
    ],
)
def test_a_trait_is_computed_from_the_bytes(text: str, trait: str) -> None:
    assert trait in computed_traits(text.encode())


@pytest.mark.parametrize(
    ("text", "trait"),
    [
        ("é", "ascii"),
        ("a", "empty"),
        ("\u200b", "whitespace"),
        ("\u001c", "whitespace"),
        ("\u0085", "newline"),
        ("a\ufeff", "bom"),
        ("a" * 4095, "long"),
        ("it'x", "contraction"),
        ("三", "digits"),
        ("$", "punctuation"),
        ("\ufeff", "arabic"),
        ("\U0001fae8", "unicode-14"),
        ("\u0301", "normalizer-age"),
        ("\t", "control"),
        ("\x85", "control"),
    ],
)
def test_a_trait_is_not_computed_where_it_does_not_hold(text: str, trait: str) -> None:
    assert trait not in computed_traits(text.encode())


def test_every_text_is_either_stable_or_not() -> None:
    for text in ("", "a", "e\u0301", "\u0958", "\u1100\u1161"):
        assert len({"nfd", "nfc-stable"} & computed_traits(text.encode())) == 1


def test_bytes_that_are_not_utf8_have_no_trait_of_a_text() -> None:
    assert computed_traits(b"a b\xff") == {"invalid-utf8"}
    assert computed_traits(b"\0\xff") == {"invalid-utf8", "nul"}
    assert computed_traits(b"\xed\xa0\x80") == {"invalid-utf8"}


def test_marks_are_counted_as_written_and_never_zero() -> None:
    assert "marks:1" in computed_traits("e\u0301".encode())
    assert not any(one.startswith("marks") for one in computed_traits("é".encode()))


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("e\u0301", "é"),
        ("\u1100\u1161\u11a8", "\uac01"),
        ("\u0958", "\u0915\u093c"),
        ("a\u0301\u0323", "\u1ea1\u0301"),
        # 9.0 does not know U+1DF6 (10.0): it stays a starter, which blocks what stands behind it.
        ("a\u1df6\u0334", "a\u1df6\u0334"),
        ("e\u0301\u1df6e\u0301", "é\u1df6é"),
        ("a\U00010d24\u0301", "a\U00010d24\u0301"),
        ("\U00011935\U00011930", "\U00011935\U00011930"),
        ("\u0378e\u0301", "\u0378é"),
    ],
)
def test_nfc_is_that_of_unicode_9(text: str, form: str) -> None:
    assert nfc(text) == form


def test_a_current_nfc_would_say_otherwise() -> None:
    # The planted defect: taking this Python's own tables makes the traits depend on its age.
    assert unicodedata.normalize("NFC", "a\u1df6\u0334") != nfc("a\u1df6\u0334")


def test_code_points_hold_the_ends_of_their_ranges() -> None:
    some = CodePoints("41-43 61")
    assert [char in some for char in "@ABCD`ab"] == [0, 1, 1, 1, 0, 0, 1, 0]
    assert "A" not in CodePoints("")
    assert 65 not in some


@pytest.mark.parametrize(
    ("claimed", "data", "what", "remedy"),
    [
        ("nfd", b"abc", "false", None),
        ("marks:3", "e\u0301".encode(), "has marks:1", None),
        ("marks:3", b"e", "has no marks", None),
        ("marks:0", b"e", "unknown", "did you mean 'marks:N'?"),
        ("whitespce", b" ", "unknown", "did you mean 'whitespace'?"),
        ("qqqq", b" ", "unknown", "x-qqqq"),
    ],
)
def test_a_false_or_unknown_claim_is_objected_to(
    claimed: str, data: bytes, what: str, remedy: str | None
) -> None:
    found = objection(claimed, computed_traits(data))
    assert found is not None
    assert what in found[0]
    assert found[1] is None if remedy is None else remedy in str(found[1])


@pytest.mark.parametrize("claimed", ["ascii", "metaspace", "utf8-edge", "x-mine"])
def test_a_true_a_declared_and_an_own_claim_stand(claimed: str) -> None:
    assert objection(claimed, computed_traits(b"abc")) is None


def unexplained(explained: Mapping[str, Mapping[str, str]]) -> set[str]:
    kinds = dict.fromkeys({*COMPUTED, "marks:N"}, "computed")
    kinds |= dict.fromkeys(DECLARED, "declared")
    wrong = {name for name, kind in kinds.items() if explained.get(name, {}).get("kind") != kind}
    wrong |= explained.keys() - kinds.keys()
    return wrong | {
        name for name, one in explained.items() if set(one) != {"kind", "meaning", "reveals"}
    }


def test_every_trait_is_explained_and_nothing_else_is() -> None:
    explained = yaml.safe_load(EXPLANATIONS.read_text("utf-8"))
    assert unexplained(explained) == set()
    # Planted: one explanation lost, one of the wrong kind, one of no trait, one without a meaning.
    assert unexplained({k: v for k, v in explained.items() if k != "nul"}) == {"nul"}
    assert unexplained({**explained, "nul": {**explained["nul"], "kind": "declared"}}) == {"nul"}
    assert unexplained({**explained, "new": explained["nul"]}) == {"new"}
    assert unexplained({**explained, "nul": {"kind": "computed"}}) == {"nul"}


def test_the_pinned_sets_have_the_sizes_of_their_unicode_versions() -> None:
    # Counted by the oracle's pattern classes of Unicode 16.0.
    def size(ranges: str) -> int:
        ends = [part.split("-") for part in ranges.split()]
        return sum(int(end[-1], 16) - int(end[0], 16) + 1 for end in ends)

    assert size(unicode_pins.MARKS) == 2501
    assert size(unicode_pins.NUMBERS) == 1911
