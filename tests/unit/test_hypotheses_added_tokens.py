"""Added tokens: each change is a list edited by hand, and offered where it is another list."""

from typing import Any

import pytest

from harness.hypotheses.added_tokens import NAMES, proposed
from tests.unit import tiny
from tests.unit.observed import seen

CASES = [
    b"the cat <bos> sat<eos>",
    b"the <l> <r> cat",
    b"words word sword word",
    b"<a>b <a> <a>bc",
    "<é> <e\u0301> <É> <E\u0301>".encode(),
    b"none",
]
FILE = tiny.byte_level()
TOKENS = FILE["added_tokens"]


def edited(**flags: bool) -> list[dict[str, Any]]:
    return [{**token, **flags} for token in TOKENS]


def without(*contents: str) -> list[dict[str, Any]]:
    """The list by hand: what is gone is there under another name, which keeps the ids."""
    return [
        {**token, "content": f"gone{token['id']}"} if token["content"] in contents else token
        for token in TOKENS
    ]


PLAIN = [token["content"] for token in TOKENS if not token["special"]]


@pytest.mark.parametrize(
    ("name", "by_hand", "differing"),
    [
        ("added-tokens-unrecognised", without("<bos>", "<eos>", *PLAIN), {0, 1, 2, 3, 4}),
        ("added-tokens-only-special", without(*PLAIN), {1, 2, 3, 4}),
        ("added-tokens-only-non-special", without("<bos>", "<eos>"), {0}),
        ("added-lstrip-ignored", edited(lstrip=False), {1}),
        ("added-rstrip-ignored", edited(rstrip=False), {1}),
        ("added-single-word-ignored", edited(single_word=False), {2}),
        ("added-normalized-ignored", edited(normalized=False), {4}),
        ("added-after-normalization", edited(normalized=True), {4}),
        ("added-shortest-first", without("<a>b"), {3}),
    ],
)
def test_a_change_is_the_list_edited_by_hand(
    name: str, by_hand: list[dict[str, Any]], differing: set[int]
) -> None:
    change = tiny.only(proposed(tiny.observed(FILE, CASES)), name)
    found = tiny.answers(FILE, CASES, change)
    texts = [case.decode() for case in CASES]
    assert found == tiny.encoded({**FILE, "added_tokens": by_hand}, texts)
    healthy = tiny.answers(FILE, CASES, None)
    assert {row for row, ids in enumerate(found) if ids != healthy[row]} == differing


@pytest.mark.parametrize("name", NAMES)
def test_the_planted_change_is_found(name: str) -> None:
    change = tiny.only(proposed(tiny.observed(FILE, CASES)), name)
    given = tiny.answers(FILE, CASES, change)
    found = tiny.explaining(FILE, tiny.observed(FILE, CASES, given), proposed)
    assert [one.name for one in found] == [name]


def test_a_token_left_out_moves_no_other() -> None:
    """The list says which id a token has; the last one has the file's, whatever is gone."""
    change = tiny.only(proposed(tiny.observed(FILE, CASES)), "added-tokens-only-special")
    kept = change.describe(tiny.described(FILE))["added_tokens"]
    assert [(token["content"], token["id"]) for token in kept] == [
        (token["content"], token["id"]) for token in TOKENS[:2]
    ]


def token(content: str, **flags: bool) -> dict[str, Any]:
    off = dict.fromkeys(("special", "lstrip", "rstrip", "single_word", "normalized"), False)
    return {"id": 9, "content": content, **off, **flags}


def offered(tokens: list[dict[str, Any]], normalizer: object = None) -> list[str]:
    description = {"added_tokens": tokens, "normalizer": normalizer}
    return [one.name for one in proposed(seen(description, [b"a"], []))]


def test_only_what_makes_another_list_is_offered() -> None:
    nfc = {"type": "NFC"}
    assert proposed(seen({}, [b"a"], [])) == ()
    assert offered([]) == []
    assert offered([token("<a>")]) == ["added-tokens-unrecognised"]
    assert offered([token("<a>", special=True), token("<b>")]) == [
        "added-tokens-only-special",
        "added-tokens-only-non-special",
        "added-tokens-unrecognised",
    ]
    assert offered([token("<a>", lstrip=True)])[0] == "added-lstrip-ignored"
    assert offered([token("<a>")], nfc)[0] == "added-after-normalization"
    assert offered([token("<a>", normalized=True)], nfc)[0] == "added-normalized-ignored"
    assert offered([token("<a>", normalized=True)]) == ["added-tokens-unrecognised"]
    # Without a normalizer, those that come before it still have the first choice.
    assert "added-normalized-ignored" in offered([token("<a>", normalized=True), token("<a>b")])


def test_shortest_first_is_among_tokens_of_one_pass() -> None:
    assert "added-shortest-first" in offered([token("<a>"), token("<a>b")])
    assert "added-shortest-first" not in offered([token("<a>"), token("<a>b", normalized=True)])
    assert "added-shortest-first" not in offered([token("<a>"), token("<b>"), token("x<a>")])
    assert "added-shortest-first" not in offered([token(""), token("<b>")])


def test_changes_add_up_and_leave_the_description_alone() -> None:
    plain = tiny.described(FILE)
    found = {one.name: one for one in proposed(tiny.observed(FILE, CASES))}
    both = found["added-lstrip-ignored"].describe(
        found["added-tokens-only-special"].describe(plain)
    )
    assert [one["content"] for one in both["added_tokens"]] == ["<bos>", "<eos>"]
    assert plain["added_tokens"] is TOKENS
    assert any(one["lstrip"] for one in TOKENS)


def test_the_same_list_gives_the_same_list() -> None:
    """The oracle tells lists of hundreds of tokens by identity."""
    observed = tiny.observed(FILE, CASES)
    for one in proposed(observed):
        first, second = (one.describe(observed.description)["added_tokens"] for _ in range(2))
        assert first is second
