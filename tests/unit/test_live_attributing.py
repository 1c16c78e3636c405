"""Causes of a live server's ids and counts: what is planted is named, and nothing without proof."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import pytest

from harness.oracle import Oracle
from harness.outcomes import Status
from harness.served.live import served_changes
from harness.served.live.attributing import aids, attributed
from harness.served.live.facts import facts
from harness.served.live.finding import Causes
from harness.served.live.tried import Tried
from harness.served.live.values import Ask, Client, Kind, Message, Row
from harness.served.live.verdict import judge
from tests.unit import tiny
from tests.unit.served_rows import but, healthy, processed, said

Encode = Callable[[str], list[int]]
TEXTS = (
    "the cat sat",
    "re\u0301sume\u0301 cafe\u0301",
    "say <eos> twice <eos> now",
    "<|x|> and <bos>",
    "42 other <a>b cats, too ",
    "naïve",
)
OPEN, CLOSE = "<bos>user\n", "<eos>\n"


@cache
def oracle(kind: str = "byte_level") -> Oracle:
    return Oracle.from_description(getattr(tiny, kind)())


def ids(text: str, *, special: bool = False, **changed: object) -> list[int]:
    """What the tokenizer gives, with a description changed."""
    under = oracle().described({**oracle().description, **changed})
    found = under.encode([text], special=special)
    assert found.status[0] == Status.OK
    return [int(one) for one in found.answer(0)]


def completion(
    number: int, text: str, observed: Sequence[int] | None, count: int | None = None
) -> Row:
    raw, special = ids(text), ids(text, special=True)
    size = count if observed is None else len(observed)
    return but(
        healthy(special, name=str(number), text=text, raw=raw),
        plain=said(size),
        streamed_usage=said(size),
        processed=None if observed is None else processed(ids=observed),
        tokenize=None,
        tokenize_special=None,
    )


def rows(observe: Encode, texts: Sequence[str] = TEXTS) -> list[Row]:
    return [completion(number, text, observe(text)) for number, text in enumerate(texts)]


def rendered(content: str) -> str:
    return f"{OPEN}{content}{CLOSE}<bos>model\n"


def chats(observe: Encode, texts: Sequence[str] = TEXTS) -> list[Row]:
    found = []
    for row in rows(observe, texts):
        content = str(row.ask.prompt)
        text = rendered(content)
        client = Client(tuple(ids(content)), tuple(ids(content)), text, tuple(ids(text)))
        ask = Ask((Message("user", content),), "m", chat=True)
        found.append(replace(row, ask=ask, client=client))
    return found


def names(found: Causes | None) -> list[str]:
    return [] if found is None else [one.name for one in found.causes]


def test_a_healthy_server_has_nothing_to_attribute() -> None:
    assert attributed(rows(lambda text: ids(text, special=True)), oracle()) is None
    assert attributed([], oracle()) is None
    refused = completion(1, "a", None)
    assert attributed([replace(refused, client=Client(None, None))], oracle()) is None


def special_as_text(text: str) -> list[int]:
    kept = [one for one in oracle().description["added_tokens"] if not one["special"]]
    return [*ids("<bos>"), *ids(text, added_tokens=kept)]


@pytest.mark.parametrize(
    ("name", "observe"),
    [
        ("special-tokens-missing", ids),
        ("special-tokens-doubled", lambda text: [*ids("<bos>"), *ids(text, special=True)]),
        ("normalizer-left-out", lambda text: ids(text, special=True, normalizer=None)),
        (
            "zero-width-in-specials",
            lambda text: ids(text.replace("<|", "<\u200b|"), special=True),
        ),
        (
            "specials-removed-from-text",
            lambda text: ids(text.replace("<eos>", "").replace("<bos>", ""), special=True),
        ),
        ("added-tokens-only-non-special", special_as_text),
        ("truncated-tokens", lambda text: ids(text, special=True)[:6]),
    ],
)
def test_what_is_planted_is_named(name: str, observe: Encode) -> None:
    found = attributed(rows(observe), oracle())
    assert found is not None
    assert names(found) == [name]
    assert (found.by, found.judged) == ("ids", len(TEXTS))
    assert 0 < found.mismatching <= len(TEXTS)


def plain(text: str) -> list[int]:
    return ids(text, added_tokens=[])


@pytest.mark.parametrize(
    ("name", "observe"),
    [
        (
            "user-text-without-added-tokens",
            lambda text: [*ids(OPEN), *plain(text), *ids(f"{CLOSE}<bos>model\n")],
        ),
        (
            "user-span-without-added-tokens",
            lambda text: [*ids(OPEN), *plain(text + CLOSE), *ids("<bos>model\n")],
        ),
        ("zero-width-in-specials", lambda text: ids(rendered(text.replace("<|", "<\u200b|")))),
        ("opening-token-dropped", lambda text: ids(rendered(text))[1:]),
        ("special-tokens-added", lambda text: [*ids("<bos>"), *ids(rendered(text))]),
        ("normalizer-left-out", lambda text: ids(rendered(text), normalizer=None)),
    ],
)
def test_what_is_planted_in_a_chat_is_named(name: str, observe: Encode) -> None:
    assert names(attributed(chats(observe), oracle())) == [name]


def test_a_token_that_our_tokenizer_never_puts() -> None:
    bare = Oracle.from_description({**tiny.byte_level(), "post_processor": None})
    number = ids("<eos>")[0]
    asked = []
    for row in rows(lambda text: [number, *ids(text)]):
        asked.append(replace(row, client=Client(row.client.raw, row.client.raw)))
    found = attributed(asked, bare)
    assert found is not None
    assert [one.label for one in found.causes] == [f"token-put-first (token {number})"]


def test_a_token_behind_the_prompt_that_our_tokenizer_puts_nowhere() -> None:
    """Though it puts another before it; of its own tokens its own changes are named."""
    number = ids("a")[0]
    found = attributed(chats(lambda text: [*ids(rendered(text)), number]), oracle())
    assert found is not None
    assert [one.label for one in found.causes] == [f"token-put-last (token {number})"]


def told(row: Row, text: str) -> Row:
    made = ids(text)
    row = but(row, plain=said(len(made)), streamed_usage=said(len(made)))
    return but(row, processed=processed(ids=made, text=text))


def test_a_change_to_messages_is_named_by_the_texts_that_the_server_tells() -> None:
    asked = chats(lambda text: ids(rendered(text)))
    texts = [rendered(text.replace("<|", "<\u200b|")) for text in TEXTS]
    changed = [told(row, text) for row, text in zip(asked, texts, strict=True)]
    found = attributed(changed, oracle())
    assert found is not None
    assert (names(found), found.by) == (["zero-width-in-specials"], "texts")
    assert (found.judged, found.mismatching) == (len(TEXTS), 1)
    judged = judge(changed, aids(oracle()), causes=found)
    assert judged.verdict == "template"
    assert judged.groups[0].words.startswith("zero-width-in-specials: ")
    # One text that it does not give, and it is not named.
    changed[0] = told(asked[0], rendered("another text"))
    assert attributed(changed, oracle()) is None


def test_a_cause_that_one_prompt_contradicts_is_not_named() -> None:
    asked = rows(ids)
    asked[2] = completion(2, TEXTS[2], ids(TEXTS[2], special=True))
    found = attributed(asked, oracle())
    assert found is not None
    assert names(found) == []
    assert any(one.startswith("special-tokens-missing explains 5 of 5") for one in found.refuted)


def test_another_vocabulary_is_not_searched_for_and_said() -> None:
    found = attributed(rows(lambda text: [331 - one % 300 for one in ids(text * 2)]), oracle())
    assert found is not None
    assert names(found) == []
    assert found.note is not None
    assert "another vocabulary" in found.note
    beyond = attributed(rows(lambda text: [10**6 + one for one in ids(text)]), oracle())
    assert beyond is not None
    assert "another vocabulary" in str(beyond.note)


def test_another_template_is_no_matter_of_the_tokenizer() -> None:
    asked = chats(lambda text: ids(f"system {rendered(text)}"))
    told = [
        but(
            row,
            processed=processed(
                ids=ids(f"system {row.client.rendered}"), text=f"system {row.client.rendered}"
            ),
        )
        for row in asked
    ]
    assert attributed(told, oracle()) is None


def counted(observe: Encode, texts: Sequence[str] = TEXTS) -> list[Row]:
    return [
        completion(number, text, None, count=len(observe(text)))
        for number, text in enumerate(texts)
    ]


COUNTED = (*TEXTS, "e\u0301", "o\u0301 and e\u0301e\u0301", "a plain one")


def test_counts_alone_name_a_cause_only_where_no_other_gives_them() -> None:
    found = attributed(
        counted(lambda text: ids(text, special=True, normalizer=None), COUNTED), oracle()
    )
    assert found is not None
    assert (found.by, found.judged) == ("counts", len(COUNTED))
    assert (names(found), found.note) == (["normalizer-left-out"], None)
    # Of decomposed texts NFC left out and NFD in its place are one and the same.
    texts = [one for one in COUNTED if one != "naïve"]
    found = attributed(
        counted(lambda text: ids(text, special=True, normalizer=None), texts), oracle()
    )
    assert found is not None
    assert names(found) == []
    assert found.note is not None
    assert "normalizer-left-out" in found.note
    assert "cannot tell them apart" in found.note


def test_a_constant_offset_and_a_few_prompts_prove_nothing() -> None:
    found = attributed(counted(ids), oracle())
    assert found is not None
    assert (names(found), found.note) == (
        [],
        "every count is off by -1: a constant proves no cause",
    )
    few = attributed(counted(lambda text: ids(text, special=True, normalizer=None)), oracle())
    assert few is not None
    assert (names(few), few.note) == (
        [],
        "1 prompts with another count are too few to prove a cause by counts",
    )


def test_lowered_counts_that_nothing_gives() -> None:
    found = attributed(counted(lambda text: ids(text, special=True)[::2]), oracle())
    assert found is not None
    assert (names(found), found.note, found.mismatching) == ([], None, len(TEXTS))
    words = judge(counted(lambda text: ids(text)[::2]), aids(oracle()), causes=found).notes
    assert any(one.startswith("no change known here gives") for one in words)


def test_the_proof_reaches_the_verdict() -> None:
    asked = rows(lambda text: ids(text, special=True, normalizer=None))
    judged = judge(asked, aids(oracle()), causes=attributed(asked, oracle()))
    assert (judged.verdict, judged.exit) == ("tokenizer", 8)
    assert judged.notes[0].startswith("cause: normalizer-left-out")
    cut = rows(lambda text: ids(text, special=True)[:6])
    judged = judge(cut, aids(oracle()), causes=attributed(cut, oracle()))
    assert judged.verdict == "truncated"
    trimmed = rows(lambda text: ids(text.rstrip(), special=True))
    judged = judge(trimmed, aids(oracle()), causes=attributed(trimmed, oracle()))
    assert judged.verdict == "tokenizer"
    assert "trailing-whitespace-trimmed" in judged.notes[0]


def test_contents_are_found_where_a_template_strips_them() -> None:
    [row] = chats(ids, ["  padded  "])
    text = f"{OPEN}padded{CLOSE}"
    assert served_changes.spans(row, text) == [served_changes.Span(len(OPEN), len(OPEN) + 6)]
    assert served_changes.spans(row, "nothing of it") is None


def test_pieces_keep_what_the_post_processor_puts_around() -> None:
    [row] = rows(ids, ["cats"])
    [side] = facts(row, aids(oracle()))[:1]
    tried = Tried([side], oracle(), aids(oracle()))
    assert tried.answer([(served_changes.Piece("cats"),)], [0]) == [ids("cats", special=True)]
    assert side.answer(Kind.PLAIN) is not None
