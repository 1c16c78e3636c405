"""Changes that servers make and tokenizers do not: to a prompt's own text inside a template. Pure.

A candidate turns one prompt into pieces that are encoded one by one, some of them without added
tokens; or it is a hypothesis like any other, of tokens put around a prompt.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.hypotheses import Hypothesis, Seen
from harness.outcomes import Ids
from harness.served.live.facts import Aids
from harness.served.live.values import Message, Row

NAMES = (
    "user-text-without-added-tokens",
    "user-span-without-added-tokens",
    "zero-width-in-specials",
    "specials-removed-from-text",
    "token-put-first",
    "token-put-last",
    "opening-token-dropped",
)
_ZERO_WIDTH = "\u200b"


@dataclass(frozen=True)
class Piece:
    """A stretch of text to be encoded by itself; ``plain`` without added tokens."""

    text: str
    plain: bool = False


@dataclass(frozen=True)
class Span:
    """Where one stretch of a prompt's own words stands in its text; ``user`` says whose it is."""

    start: int
    end: int
    user: bool = True


# A prompt's text and where its own words stand in it → the pieces, None where nothing changes.
Spans = Sequence[Span]
Cut = Callable[[str, Spans], tuple[Piece, ...] | None]


@dataclass(frozen=True)
class Candidate:
    """One suspected change of a server's, named."""

    name: str
    summary: str
    cut: Cut


def spans(row: Row, text: str) -> Spans | None:
    """Return where the prompt's own words stand in its text; None where they are not found.

    Of a chat those are the contents of the messages, which templates may strip.
    """
    if not row.ask.chat:
        return (Span(0, len(text)),)
    found = []
    at = 0
    for message in row.ask.prompt:
        if not isinstance(message, Message):
            return None
        for content in (message.content, message.content.strip()):
            start = text.find(content, at)
            if start >= 0:
                found.append(Span(start, start + len(content), message.role == "user"))
                at = start + len(content)
                break
        else:
            return None
    return found


def candidates(aids: Aids) -> tuple[Candidate, ...]:
    """Return the changes to a prompt's own text that can be tested with these special tokens."""
    spellings = sorted((one for one, _ in aids.specials if one), key=len, reverse=True)
    if not spellings:
        return ()
    special = re.compile("|".join(map(re.escape, spellings)))

    def without(text: str, own: Spans) -> str:
        return _rewritten(text, own, lambda words: special.sub("", words))

    def zero_width(text: str, own: Spans) -> str:
        return _rewritten(text, own, lambda words: words.replace("<|", f"<{_ZERO_WIDTH}|"))

    return (
        Candidate(
            NAMES[0],
            "special tokens written in a message are text, those of the template are tokens",
            lambda text, own: _cut(text, own, lambda end: end),
        ),
        Candidate(
            NAMES[1],
            "a user's message and what closes it, up to the next one, are encoded as text",
            lambda text, own: _cut(
                text,
                [one for one in own if one.user],
                lambda end: _closing(text, end, special),
            ),
        ),
        Candidate(
            NAMES[2], "a zero-width space is put into each '<|' of a message", _of(zero_width)
        ),
        Candidate(NAMES[3], "special tokens written in a message are left out", _of(without)),
    )


def _of(rewrite: Callable[[str, Spans], str]) -> Cut:
    def cut(text: str, own: Spans) -> tuple[Piece, ...] | None:
        after = rewrite(text, own)
        return None if after == text else (Piece(after),)

    return cut


def _rewritten(text: str, own: Spans, change: Callable[[str], str]) -> str:
    parts: list[str] = []
    at = 0
    for one in own:
        parts += [text[at : one.start], change(text[one.start : one.end])]
        at = one.end
    return "".join([*parts, text[at:]])


def _closing(text: str, end: int, special: re.Pattern[str]) -> int:
    """Return where what closes a message ends: before the second special token behind it."""
    first = special.search(text, end)
    second = None if first is None else special.search(text, first.end())
    return len(text) if second is None else second.start()


def _cut(text: str, own: Spans, until: Callable[[int], int]) -> tuple[Piece, ...] | None:
    if tuple(own) == (Span(0, len(text)),):
        return None  # a text without a template: the hypotheses on added tokens say it
    pieces: list[Piece] = []
    at = 0
    for one in own:
        end = until(one.end)
        pieces += [Piece(text[at : one.start]), Piece(text[one.start : end], plain=True)]
        at = end
    return tuple(one for one in (*pieces, Piece(text[at:])) if one.text)


def proposed(seen: Seen, aids: Aids) -> tuple[Hypothesis, ...]:
    """Return the tokens that a server puts before or behind a prompt, or takes away there.

    Of special tokens that the tokenizer puts itself its own hypotheses say it.
    """
    found = []
    openings = [one for one, _ in aids.specials if one]
    if any(data.decode("utf-8", "replace").startswith(tuple(openings)) for data in seen.cases):
        summary = "a special token written at the very beginning is dropped"
        found.append(Hypothesis(NAMES[6], "input", summary, text=_without_opening(openings)))
    known = set(_put(seen.description.get("post_processor")))
    rows = seen.mismatching.tolist()
    answers = [seen.observed.answer(row) for row in rows]
    if answers and all(len(one) for one in answers):
        for name, place, where in ((NAMES[4], 0, "before"), (NAMES[5], -1, "behind")):
            numbers = {int(one[place]) for one in answers}
            if len(numbers) == 1 and not numbers & known:
                number = numbers.pop()
                summary = f"the token {number} is put {where} the prompt"
                found.append(
                    Hypothesis(
                        name,
                        "post-processor",
                        summary,
                        (("token", number),),
                        ids=_putting(number, first=place == 0),
                    )
                )
    return tuple(found)


def _put(processor: object) -> Iterator[int]:
    """Yield the ids that a post-processor can put around a text, whatever its type."""
    if isinstance(processor, list):
        for one in processor:
            yield from _put(one)
    if not isinstance(processor, Mapping):
        return
    for key, value in processor.items():
        if key in ("ids", "cls", "sep") and isinstance(value, list):
            yield from (one for one in value if isinstance(one, int))
        else:
            yield from _put(value)


def _putting(number: int, *, first: bool) -> Callable[[Ids], Ids]:
    token = np.asarray([number], dtype=np.uint32)
    return lambda ids: np.concatenate([token, ids] if first else [ids, token])


def _without_opening(openings: Sequence[str]) -> Callable[[bytes], tuple[bytes, ...]]:
    encoded = [one.encode() for one in openings]

    def change(data: bytes) -> tuple[bytes, ...]:
        found = next((one for one in encoded if data.startswith(one)), b"")
        return (data.removeprefix(found),)

    return change
