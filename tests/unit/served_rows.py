"""Rows as a server's answers make them, to be changed in one place a test."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from harness.served.live.values import (
    Answer,
    Ask,
    Client,
    Kind,
    Message,
    Processed,
    Row,
    Spelling,
    Usage,
)

Place = Literal["response", "event-with-choices", "event-without-choices"]


def usage(prompt: int | None, *, cached: int | None = None, place: Place = "response") -> Usage:
    """One usage object."""
    return Usage(prompt, 1, cached, place)


def said(*prompts: int | None, cached: int | None = None) -> Answer:
    """An answer with a usage for each number, and none without any."""
    return Answer(200, tuple(usage(one, cached=cached) for one in prompts))


def endpoint(ids: Sequence[int] | int | None) -> Answer:
    """A tokenizer endpoint's answer: ids, or a count alone."""
    if isinstance(ids, int):
        return Answer(200, count=ids)
    return Answer(
        200, count=None if ids is None else len(ids), ids=None if ids is None else tuple(ids)
    )


def processed(
    *,
    ids: Sequence[int] | None = None,
    count: int | None = None,
    text: str | None = None,
    truncated: bool | None = None,
) -> Answer:
    """An answer that says what was processed."""
    told = Processed(
        "the ids returned", count, None if ids is None else tuple(ids), text, truncated
    )
    return Answer(200, processed=told)


def healthy(
    ids: Sequence[int] = (1, 2, 3, 4, 5),
    *,
    name: str = "a",
    text: str = "one two three",
    raw: Sequence[int] | None = None,
) -> Row:
    """A prompt of which the server says everything, and all of it right."""
    ids, bare = tuple(ids), tuple(ids if raw is None else raw)
    answers = {
        Kind.TOKENIZE: endpoint(bare),
        Kind.TOKENIZE_SPECIAL: endpoint(ids),
        Kind.PLAIN: said(len(ids)),
        Kind.STREAMED: said(),
        Kind.STREAMED_USAGE: said(len(ids)),
        Kind.PROCESSED: processed(ids=ids),
    }
    return Row(
        name,
        Ask(text, "m", chat=False),
        Client(bare, ids),
        {(kind, one): answer for kind, answer in answers.items() for one in Spelling},
    )


def chat(
    ids: Sequence[int] = (9, 1, 2, 3, 9),
    *,
    rendered: str = "<s>user one two three<s>",
    name: str = "a",
) -> Row:
    """The same as a conversation, the server's text told."""
    row = healthy(ids, name=name)
    row = replace(
        row,
        ask=Ask((Message("user", "one two three"),), "m", chat=True),
        client=Client((1, 2, 3), (1, 2, 3), rendered, tuple(ids)),
    )
    text = Answer(200, processed=Processed("/apply-template", text=rendered))
    return but(row, rendered=text, tokenize=endpoint(ids), tokenize_special=None)


def but(row: Row, *, only: Spelling | None = None, **changed: Answer | None) -> Row:
    """The row with other answers, by the questions' names; None for one that was not asked."""
    answers = dict(row.answers)
    for name, answer in changed.items():
        for spelling in Spelling if only is None else (only,):
            key = (Kind[name.upper()], spelling)
            answers.pop(key, None)
            if answer is not None:
                answers[key] = answer
    return replace(row, answers=answers)
