"""The input changes: what each does to the bytes, and that limits are inferred where planted."""

from collections.abc import Callable, Sequence

import pytest

from harness.hypotheses import Hypothesis, combine
from harness.hypotheses.input import (
    LAST_BYTE_DROPPED,
    LAST_CHARACTER_DROPPED,
    NAMES,
    NUL_ENDS_TEXT,
    POLICIES,
    RECOMMENDED,
    can_show,
    proposed,
)
from harness.hypotheses.normalizer import proposed as proposed_normalizers
from tests.unit import tiny
from tests.unit.observed import seen

# Byte order marks, every kind of space at both ends, and what JSON escapes.
EVERYTHING = ["\ufeff\ufeff".encode(), ' \x85"é"\t\\\r\n\x1f 😀 \u3000\r\n\n'.encode()]


def offered(case: bytes, name: str, **parameters: str) -> Hypothesis:
    return tiny.only(proposed(seen({}, [case, *EVERYTHING], [])), name, **parameters)


@pytest.mark.parametrize(
    ("name", "parameters", "before", "after"),
    [
        ("nul-ends-text", {}, b"ab\0cd\0", b"ab"),
        ("bom-dropped", {}, b"\xef\xbb\xbf\xef\xbb\xbfa\xef\xbb\xbf", b"\xef\xbb\xbfa\xef\xbb\xbf"),
        ("final-newline-dropped", {}, b"\na\n\n", b"\na\n"),
        ("final-newline-dropped", {}, b"a\r\n", b"a\r"),
        ("crlf-to-lf", {}, b"a\r\r\n\n\r", b"a\r\n\n\r"),
        ("last-byte-dropped", {}, "aé".encode(), b"a\xc3"),
        ("last-character-dropped", {}, "aé".encode(), b"a"),
        ("last-character-dropped", {}, b"a\xe2\x82", b"a\xe2"),
        ("leading-whitespace-trimmed", {"whitespace": "ascii"}, b"\t\v a \n", b"a \n"),
        ("trailing-whitespace-trimmed", {"whitespace": "ascii"}, b" a \x0c\r\n", b" a"),
        ("outer-whitespace-trimmed", {"whitespace": "ascii"}, b" \n\xffa\xff ", b"\xffa\xff"),
        ("outer-whitespace-trimmed", {"whitespace": "ascii"}, b"\xc2\xa0a ", b"\xc2\xa0a"),
        (
            "outer-whitespace-trimmed",
            {"whitespace": "unicode"},
            "\u3000\x85 \x1ca\u200b\u2028\n".encode(),
            "\x1ca\u200b".encode(),
        ),
        (
            "json-escapes-undecoded",
            {"escapes": "minimal"},
            'a"\\\n\x01é\x7f/'.encode() + b"\xff",
            'a\\"\\\\\\n\\u0001é\x7f/'.encode() + b"\xff",
        ),
        (
            "json-escapes-undecoded",
            {"escapes": "ascii"},
            'é😀"'.encode() + b"\xff",
            b'\\u00e9\\ud83d\\ude00\\"\xff',
        ),
        ("double-utf8", {"codec": "latin-1"}, "é€".encode(), "Ã©â\x82¬".encode()),
        ("double-utf8", {"codec": "cp1252"}, "é€\u0201".encode(), "Ã©â‚¬È\x81".encode()),
    ],
)
def test_what_each_change_does_to_the_bytes(
    name: str, parameters: dict[str, str], before: bytes, after: bytes
) -> None:
    assert offered(before, name, **parameters).text(before) == (after,)


def test_what_a_change_leaves_alone_does_not_offer_it() -> None:
    assert [one.name for one in proposed(seen({}, [b"abc", b""], []))] == [
        "last-byte-dropped",
        "last-character-dropped",
    ]
    assert proposed(seen({}, [b""], [])) == ()
    every = [one.name for one in proposed(seen({}, [*EVERYTHING, b"a\0b"], []))]
    assert set(every) == {name for name in NAMES if not name.startswith("truncated-")}


def test_a_parameter_is_told_only_where_the_ways_differ() -> None:
    alike = proposed(seen({}, [b" a ", b'"'], []))
    assert tiny.only(alike, "outer-whitespace-trimmed").parameters == ()
    assert tiny.only(alike, "json-escapes-undecoded").parameters == ()
    wide = [one.label for one in proposed(seen({}, ["\u3000a".encode()], []))]
    assert "leading-whitespace-trimmed (whitespace unicode)" in wide
    assert not [label for label in wide if "ascii" in label and "white" in label]


def test_narrow_changes_stand_before_wide_ones() -> None:
    order = [one.name for one in proposed(seen({}, [*EVERYTHING, b" a", b"b"], []))]
    for narrow, wide in [
        ("final-newline-dropped", "trailing-whitespace-trimmed"),
        ("leading-whitespace-trimmed", "outer-whitespace-trimmed"),
        ("trailing-whitespace-trimmed", "outer-whitespace-trimmed"),
    ]:
        assert order.index(narrow) < order.index(wide)


def test_a_character_goes_whole_where_the_cases_tell() -> None:
    """Without what is left of it, a character less its last byte is no character."""
    assert proposed(seen({}, ["é".encode()], []))[-2:] == (
        LAST_CHARACTER_DROPPED,
        LAST_BYTE_DROPPED,
    )
    assert proposed(seen({}, [b"e"], []))[-2:] == (LAST_BYTE_DROPPED, LAST_CHARACTER_DROPPED)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"a\xe2\x82", "a"),
        (b"a\xf0\x9f\x98", "a"),
        (b"\xe2\x82 a\xff\xc3", "\ufffd a\ufffd"),
        (b"a\xed\xa0", "a\ufffd\ufffd"),
        (b"a\xff", "a\ufffd"),
        ("aé".encode(), "aé"),
    ],
)
def test_only_an_incomplete_tail_is_dropped(data: bytes, expected: str) -> None:
    assert POLICIES["incomplete-tail-dropped"](data) == expected


CASES = [
    b"the cat sat",
    "naïve résumé, and\r\n café\n".encode(),
    b"  the mat ",
    b'a "word"\0 after',
    "\ufeffthe".encode(),
    "日本".encode(),
    b"",
]


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        ("nul-ends-text", lambda text: text.split("\0")[0]),
        ("bom-dropped", lambda text: text[1:] if text.startswith("\ufeff") else text),
        ("final-newline-dropped", lambda text: text[:-1] if text.endswith("\n") else text),
        ("crlf-to-lf", lambda text: text.replace("\r\n", "\n")),
        ("leading-whitespace-trimmed", str.lstrip),
        ("trailing-whitespace-trimmed", str.rstrip),
        ("outer-whitespace-trimmed", str.strip),
        ("last-character-dropped", lambda text: text[:-1]),
        ("json-escapes-undecoded", lambda text: ascii(text)[1:-1].replace("\\x", "\\u00")),
        ("double-utf8", lambda text: text.encode().decode("cp1252", "replace")),
    ],
)
def test_the_subject_that_edits_its_text_is_explained(
    name: str, edit: Callable[[str], str]
) -> None:
    cases = [case for case in CASES if name != "json-escapes-undecoded" or b'"' not in case]
    file = tiny.byte_level()
    given = tiny.encoded(file, [edit(case.decode()) for case in cases])
    found = tiny.explaining(file, tiny.observed(file, cases, given), proposed)
    assert found[0].name == name


LONG = [
    b"the cat",
    b"the cat sat on the mat, and 42 other",
    b"the cat sat on the mat, and 42 other cats sat there too, and there they sat, and sat",
    "naïve résumé café, naïve café résumé, the résumé and the cat, naïve, and the résumé".encode(),
    "日本語日本語日本語日本語日本語日本語日本語日本語 and the cat".encode(),
    "the naïve cat's résumé — no.".encode(),
    b"a b c d e " * 10,
]


def cut_bytes(file: tiny.File, cases: Sequence[bytes], n: int, special: bool) -> list[list[int]]:
    texts = [case[:n].decode("utf-8", "replace") for case in cases]
    return tiny.encoded(file, texts, special=special)


def cut_characters(
    file: tiny.File, cases: Sequence[bytes], n: int, special: bool
) -> list[list[int]]:
    return tiny.encoded(file, [case.decode()[:n] for case in cases], special=special)


def cut_ids(file: tiny.File, cases: Sequence[bytes], n: int, special: bool) -> list[list[int]]:
    texts = [case.decode() for case in cases]
    return [ids[:n] for ids in tiny.encoded(file, texts, special=special)]


CUTS = {
    "truncated-bytes": cut_bytes,
    "truncated-characters": cut_characters,
    "truncated-tokens": cut_ids,
}


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize(
    ("n", "decode"), [(10, True), (37, True), (41, True), (10, False), (40, False)]
)
@pytest.mark.parametrize("name", CUTS)
@pytest.mark.parametrize("make", [tiny.byte_level, tiny.with_fallback, tiny.word_piece])
def test_a_planted_limit_is_inferred(
    make: Callable[[], tiny.File], name: str, n: int, decode: bool, special: bool
) -> None:
    file = make()
    given = CUTS[name](file, LONG, n, special)
    observed = tiny.observed(file, LONG, given, special=special, decode=decode)
    assert observed.mismatching.shape[0]
    found = tiny.explaining(file, observed, proposed)
    assert (name, (("n", n),)) in [(one.name, one.parameters) for one in found]


def test_of_limits_that_explain_as_much_the_round_one_is_first() -> None:
    file = tiny.byte_level()
    case = b"the cat sat on the mat, and there"
    for name, n in [("truncated-bytes", 16), ("truncated-tokens", 8)]:
        given = CUTS[name](file, [case], n, False)
        found = tiny.explaining(file, tiny.observed(file, [case], given), proposed)
        assert found[0].label == f"{name} (n {n})"


def test_a_common_limit_is_tried_where_nothing_puts_it_closer() -> None:
    file = tiny.byte_level()
    cases = [b"the cat " * 10, b"the cat " * 500]
    given = CUTS["truncated-bytes"](file, cases, 1023, False)
    found = tiny.explaining(file, tiny.observed(file, cases, given, decode=False), proposed)
    assert "truncated-bytes (n 1023)" in [one.label for one in found]


@pytest.mark.parametrize(
    ("name", "n"), [("truncated-bytes", 33), ("truncated-characters", 33), ("truncated-tokens", 21)]
)
def test_a_limit_is_inferred_beside_another_cause(name: str, n: int) -> None:
    """Short cases differ too, and some of the long ones; together both causes explain all."""
    file = tiny.byte_level()
    cases = [*LONG, "e\u0301".encode(), "cafe\u0301 and the cat, cafe\u0301 and the cat".encode()]
    plain = {**file, "normalizer": None}
    given = CUTS[name](plain, cases, n, False)
    observed = tiny.observed(file, cases, given)
    limit = tiny.only(proposed(observed), name, n=n)
    normalizer = tiny.only(proposed_normalizers(observed), "normalizer-left-out")
    assert tiny.answers(file, cases, combine([limit, normalizer])) == given
    assert tiny.answers(file, cases, limit) != given


def test_no_limit_is_offered_where_nothing_was_cut() -> None:
    file = tiny.byte_level()
    healthy = proposed(tiny.observed(file, LONG))
    longer = proposed(
        tiny.observed(file, LONG, [[*ids, 1] for ids in tiny.answers(file, LONG, None)])
    )
    for found in (healthy, longer):
        assert not [one.label for one in found if one.name == "truncated-tokens"]
    assert not [one.label for one in healthy if one.name.startswith("truncated-")]


def test_a_limit_can_show_only_in_a_long_case() -> None:
    file = tiny.byte_level()
    short, long = tiny.observed(file, [b"the cat"]), tiny.observed(file, ["☃".encode() * 100])
    for name in CUTS:
        assert not can_show(name, short)
    assert can_show("truncated-bytes", long)
    assert can_show("truncated-tokens", long)
    assert not can_show("truncated-characters", long)
    assert can_show("nul-ends-text", seen({}, [b"\0"], []))
    assert not can_show("nul-ends-text", seen({}, [b"a"], []))


def test_cut_pieces_stay_bytes_for_the_policy_to_settle() -> None:
    found = proposed(tiny.observed(tiny.byte_level(), ["日本".encode()], [[7]], decode=False))
    limit = tiny.only(found, "truncated-bytes", n=4)
    assert limit.text("日本".encode()) == (b"\xe6\x97\xa5\xe6",)
    assert tiny.only(found, "truncated-characters", n=1).text(b"\xff\xfe") == (b"\xff",)
    assert (NUL_ENDS_TEXT.text(b"a"), RECOMMENDED) == ((b"a",), "replaced-per-subpart")
