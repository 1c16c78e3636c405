"""The normalizer: each change is a normalizer edited by hand, and adds up with others."""

import unicodedata
from typing import Any

import pytest

from harness.hypotheses import Hypothesis
from harness.hypotheses.normalizer import FORMS, VERSIONS, proposed
from harness.hypotheses.normalizer_steps import Step, edited, extended, steps
from tests.unit import tiny
from tests.unit.observed import seen

NFC, NFD, NFKD, LOWER, STRIP = (
    {"type": kind} for kind in ("NFC", "NFD", "NFKD", "Lowercase", "StripAccents")
)
PREPEND = {"type": "Prepend", "prepend": "▁"}
SPACES = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
QUOTES = {"type": "Replace", "pattern": {"String": "``"}, "content": '"'}
CASES = [
    b"the cat",
    b"The CAT sat",
    "naïve Résumé".encode(),
    "e\u0301 E\u0301".encode(),
    "한글 ﬁne ①".encode(),
    b"``the``",
    "\u0915\u093f\u0940 a\u20dd".encode(),
]


def sequence(*inner: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"type": "Sequence", "normalizers": list(inner)}


def bert(**fields: object) -> dict[str, Any]:
    return {**tiny.word_piece()["normalizer"], **fields}


def offered(normalizer: object, cases: list[bytes] | None = None) -> list[Hypothesis]:
    return list(proposed(seen({"normalizer": normalizer}, cases or CASES, [])))


def labels(normalizer: object, cases: list[bytes] | None = None) -> list[str]:
    return [one.label for one in offered(normalizer, cases)]


BYTE_LEVEL, FALLBACK = tiny.byte_level(), tiny.with_fallback()
WORD_PIECE, UNIGRAM = tiny.word_piece(), tiny.unigram()
STRIP_NONSPACING = bert(clean_text=False, handle_chinese_chars=False, strip_accents=True)
STRIP_NONSPACING["lowercase"] = False


@pytest.mark.parametrize(
    ("file", "name", "parameters", "by_hand"),
    [
        (FALLBACK, "prepend-left-out", {}, SPACES),
        (FALLBACK, "replace-left-out", {"step": 2}, PREPEND),
        (FALLBACK, "normalizer-left-out", {}, None),
        (FALLBACK, "normalizer-nfd", {"declared": "kept"}, sequence(NFD, PREPEND, SPACES)),
        (FALLBACK, "normalizer-nfd", {}, NFD),
        (FALLBACK, "lowercase-added", {}, sequence(PREPEND, SPACES, LOWER)),
        (UNIGRAM, "replace-left-out", {"step": 1}, sequence(NFKD, STRIP, LOWER)),
        (UNIGRAM, "lowercase-left-out", {}, sequence(QUOTES, NFKD, STRIP)),
        (UNIGRAM, "accents-strip-left-out", {}, sequence(QUOTES, NFKD, LOWER)),
        (UNIGRAM, "accents-strip-left-out", {"without": "NFKD"}, sequence(QUOTES, LOWER)),
        (UNIGRAM, "normalizer-nfc", {"declared": "kept"}, sequence(QUOTES, NFC, STRIP, LOWER)),
        (WORD_PIECE, "lowercase-left-out", {}, bert(lowercase=False, strip_accents=True)),
        (WORD_PIECE, "lowercase-left-out", {"accents": "kept"}, bert(lowercase=False)),
        (WORD_PIECE, "accents-strip-left-out", {}, bert(strip_accents=False)),
        (BYTE_LEVEL, "lowercase-added", {}, sequence(NFC, LOWER)),
        (
            BYTE_LEVEL,
            "accents-stripped",
            {"marks": "all", "form": "NFD"},
            sequence(NFC, NFD, STRIP),
        ),
        (
            BYTE_LEVEL,
            "accents-stripped",
            {"marks": "all", "form": "NFC"},
            sequence(NFC, NFD, STRIP, NFC),
        ),
        (
            BYTE_LEVEL,
            "accents-stripped",
            {"marks": "nonspacing", "form": "NFD"},
            sequence(NFC, STRIP_NONSPACING),
        ),
        (
            BYTE_LEVEL,
            "accents-stripped",
            {"marks": "nonspacing", "form": "NFC"},
            sequence(NFC, STRIP_NONSPACING, NFC),
        ),
        (BYTE_LEVEL, "normalizer-left-out", {}, None),
        *((BYTE_LEVEL, f"normalizer-{form.lower()}", {}, {"type": form}) for form in FORMS[1:]),
    ],
)
def test_a_change_is_the_normalizer_edited_by_hand(
    file: tiny.File, name: str, parameters: dict[str, int | str], by_hand: Step | None
) -> None:
    given = tiny.encoded({**file, "normalizer": by_hand}, [case.decode() for case in CASES])
    observed = tiny.observed(file, CASES, given)
    assert observed.mismatching.shape[0]
    change = tiny.only(proposed(observed), name, **parameters)
    assert tiny.answers(file, CASES, change) == given
    assert steps(change.describe(observed.description)["normalizer"]) == steps(by_hand)


ABSENT = {"type": "NFC"}, sequence(NFC), sequence(sequence(NFC))


def test_steps_that_are_not_there_are_not_left_out() -> None:
    for normalizer in ABSENT:
        found = labels(normalizer, [b"a"])
        assert not [label for label in found if "left-out" in label and "normalizer" not in label]
        assert "normalizer-nfc" not in found
        assert not [label for label in found if "kept" in label]
    bare = labels(None, [b"a"])
    assert bare == [
        "lowercase-added",
        "accents-stripped",
        *(f"normalizer-{f.lower()}" for f in FORMS),
    ]
    assert labels(sequence(), [b"a"]) == bare


def test_what_is_done_already_is_not_added() -> None:
    assert "lowercase-added" not in labels(LOWER)
    assert "lowercase-added" not in labels(bert())
    assert "accents-stripped" in [one.name for one in offered(LOWER)]
    assert "accents-stripped" not in [one.name for one in offered(bert())]
    assert "accents-stripped" not in [one.name for one in offered(sequence(NFD, STRIP))]
    assert "lowercase-left-out" not in labels(bert(lowercase=False))
    assert "accents-strip-left-out" not in labels(bert(lowercase=False))
    assert "accents-strip-left-out" in labels(bert(lowercase=False, strip_accents=True))
    assert "accents-strip-left-out" not in labels(bert(strip_accents=False))
    assert "lowercase-left-out (accents kept)" not in labels(bert(strip_accents=True))
    assert "lowercase-left-out (accents kept)" not in labels(bert(strip_accents=False))


def test_ways_to_strip_are_told_by_the_characters_of_the_cases() -> None:
    def ways(*texts: str) -> list[str]:
        cases = [text.encode() for text in texts]
        return [one.label for one in offered(NFC, cases) if one.name == "accents-stripped"]

    assert ways("é") == ["accents-stripped"]
    assert ways("é", "한") == ["accents-stripped (form NFD)", "accents-stripped (form NFC)"]
    assert ways("a\u20dd") == [
        "accents-stripped (marks nonspacing)",
        "accents-stripped (marks all)",
    ]
    assert len(ways("한", "\u0940")) == 4
    # U+2260 comes apart into a letter and a mark that goes; U+212B is put back together as another.
    assert ways("\u2260\u212b") == ["accents-stripped"]
    assert ways("\u212a\u0344") == ["accents-stripped"]


def test_accents_stripped_is_what_python_makes_of_it() -> None:
    texts = ["naïve", "e\u0301", "한", "\u0915\u093f", "a\u20dd"]
    file = {**BYTE_LEVEL, "normalizer": None, "added_tokens": []}
    cases = [text.encode() for text in texts]
    for kinds, marks in (({"Mn"}, "nonspacing"), ({"Mn", "Mc", "Me"}, "all")):
        for form in ("NFD", "NFC"):
            expected = [
                unicodedata.normalize(
                    form,
                    "".join(
                        one
                        for one in unicodedata.normalize("NFD", text)
                        if unicodedata.category(one) not in kinds
                    ),
                )
                for text in texts
            ]
            given = tiny.encoded(file, expected)
            observed = tiny.observed(file, cases, given)
            change = tiny.only(proposed(observed), "accents-stripped", marks=marks, form=form)
            assert tiny.answers(file, cases, change) == given


def test_each_replace_is_numbered_among_the_steps() -> None:
    declared = sequence(QUOTES, sequence(NFC, SPACES), QUOTES)
    found = [one for one in offered(declared) if one.name == "replace-left-out"]
    assert [one.parameters for one in found] == [(("step", 1),), (("step", 3),)]
    after = [one.describe({"normalizer": declared})["normalizer"] for one in found]
    assert after == [sequence(sequence(NFC, SPACES)), sequence(QUOTES, sequence(NFC), QUOTES)]


def test_a_version_of_unicode_is_said_to_the_oracle_in_each_form() -> None:
    declared = sequence(QUOTES, sequence(NFKD, STRIP))
    found = {
        dict(one.parameters)["unicode"]: one
        for one in offered(declared)
        if one.name == "normalizer-unicode-version"
    }
    assert tuple(found) == VERSIONS
    assert {"13.0", "14.0", "15.0", "15.1", "16.0"} <= set(VERSIONS)
    assert "9.0" not in VERSIONS  # is the library's own
    changed = found["15.0"].describe({"normalizer": declared})["normalizer"]
    assert changed == sequence(QUOTES, sequence({**NFKD, "unicode": "15.0"}, STRIP))
    for normalizer in (None, LOWER, bert()):
        assert "normalizer-unicode-version (unicode 15.0)" not in labels(normalizer)


def test_changes_of_several_steps_add_up() -> None:
    declared = sequence(QUOTES, NFKD, STRIP, LOWER)
    found = {one.label: one for one in offered(declared)}
    description = {"normalizer": declared}
    for label in (
        "normalizer-nfc (declared kept)",
        "normalizer-unicode-version (unicode 16.0)",
        "lowercase-left-out",
        "replace-left-out (step 1)",
    ):
        description = dict(found[label].describe(description))
    assert description["normalizer"] == sequence({**NFC, "unicode": "16.0"}, STRIP)
    assert declared == sequence(QUOTES, NFKD, STRIP, LOWER)


def test_narrow_changes_stand_before_wide_ones() -> None:
    order = labels(sequence(QUOTES, NFKD, STRIP, LOWER))
    for narrow in ("replace-left-out (step 1)", "lowercase-left-out", "accents-strip-left-out"):
        assert order.index(narrow) < order.index("normalizer-left-out")
    assert order.index("normalizer-nfc (declared kept)") < order.index("normalizer-nfc")
    assert order.index("normalizer-left-out") < order.index("normalizer-nfc (declared kept)")


def test_a_normalizer_is_read_and_edited_as_steps() -> None:
    nested = sequence(NFC, sequence(LOWER, sequence()), STRIP)
    assert steps(nested) == [NFC, LOWER, STRIP]
    assert steps(None) == []
    assert edited(nested, lambda step: None if step == LOWER else step) == sequence(NFC, STRIP)
    assert edited(nested, lambda step: None) is None
    assert edited(None, lambda step: step) is None
    assert extended(None, last=LOWER) == LOWER
    assert extended(NFC, first=LOWER, last=STRIP) == sequence(LOWER, NFC, STRIP)
    assert extended(sequence(), last=LOWER) == LOWER
    assert extended(sequence(NFC, NFD), last=LOWER) == sequence(NFC, NFD, LOWER)
