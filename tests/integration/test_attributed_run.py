"""Causes with a real tokenizer: the figures that a public report gives, and how they come about."""

from pathlib import Path

from harness.oracle import Oracle
from harness.served.live.attributing import aids, attributed
from harness.served.live.values import Ask, Client, Message, Row
from harness.tokenizers import resolve
from tests.integration.conftest import REPOSITORY
from tests.unit.served_rows import but, healthy, processed, said

TEXTS = (
    "What is 2 + 2? Reply with just the number.",
    "ends in a letter",
    "has <|im_end|> in it",
)


def test_the_users_span_without_added_tokens_is_25_for_22(real_tokenizers: Path) -> None:
    found = resolve("qwen2.5", REPOSITORY / "goldens", real_tokenizers)
    oracle = Oracle.load(found.path)
    bare = oracle.described({**oracle.description, "added_tokens": []})

    def ids(text: str, under: Oracle = oracle) -> tuple[int, ...]:
        return tuple(under.encode([text]).answer(0).tolist())

    rows = []
    for text in TEXTS:
        rendered = f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n"
        theirs = (
            *ids("<|im_start|>user\n"),
            *ids(f"{text}<|im_end|>\n", bare),
            *ids("<|im_start|>assistant\n"),
        )
        row = but(healthy(name=text), plain=said(len(theirs)), streamed_usage=said(len(theirs)))
        row = but(row, processed=processed(ids=theirs), tokenize=None, tokenize_special=None)
        client = Client(ids(text), ids(text), rendered, ids(rendered))
        ask = Ask((Message("user", text),), "m", chat=True)
        rows.append(Row(row.id, ask, client, row.answers))
    assert found.sha256.startswith("c0382117")
    first = rows[0].client
    assert (len(first.raw or ()), len(first.rendered_ids or ())) == (14, 22)
    usages = [one.prompt_tokens for one in rows[0].answers.values() if one.usages]
    assert set(usages) == {25}
    named = attributed(rows, oracle)
    assert named is not None
    assert [one.name for one in named.causes] == ["user-span-without-added-tokens"]
    assert aids(oracle).special_ids
