"""Who counted, from what was streamed: the evidence in a file that does not say it itself. Pure.

A client that overwrites its own numbers by the server's ``usage`` does so for input and output
together. So the output tells of the input: where it was counted from the text, usage was ignored,
and the input lengths are the client's own.
"""

from collections.abc import Sequence
from typing import Literal

from harness.served.benchfiles.run import Origin, Request, Source

# A stream has at most one chunk before its first token (the role) and one after its last (the
# reason why it ended) that hold none.
_EMPTY_CHUNKS = 2


def from_stream(
    requests: Sequence[Request],
    endpoint: Literal["chat", "completions"] | None,
    text_counts: Sequence[int | None] | None = None,
) -> Origin:
    """Return who counted the input of these requests.

    ``text_counts`` are the tokens of each request's generated text by the tokenizer that the client
    used, None where there is none. More chunks than output tokens: the output was counted from the
    text. Output as the chunks have it and not as the text has it: it is the server's. As many
    tokens as chunks on every request of a completions endpoint: the server's too, unless every
    text happens to encode to what was generated, which the text can refute and not prove.
    """
    rows = [
        (row, one.output_tokens, one.chunks)
        for row, one in enumerate(requests)
        if not one.failed and one.output_tokens is not None and one.chunks is not None
    ]
    if not rows:
        return Origin(
            Source.UNKNOWN, "none", "no request has both its output count and its streamed chunks"
        )
    beyond = [(row, out, n) for row, out, n in rows if n > out + _EMPTY_CHUNKS]
    if beyond:
        row, out, chunks = beyond[0]
        same = text_counts is not None and all(text_counts[r] == out for r, out, _ in rows)
        encoded = ", which is what its text encodes to" if same else ""
        return Origin(
            Source.CLIENT,
            "text" if same else "chunks",
            f"{_some(len(beyond), len(rows))} more streamed chunks than output tokens (request "
            f"{row + 1}: {chunks} and {out}{encoded}): the output was counted from the text, so "
            "usage was ignored",
        )
    refuted = _refuted(rows, text_counts or [None] * len(requests))
    if refuted is not None:
        return refuted
    if endpoint == "completions" and all(out == chunks for _, out, chunks in rows):
        doubt = "" if text_counts is None else ", though every text encodes to that number too"
        return Origin(
            Source.SERVER,
            "chunks",
            f"all {len(rows)} requests have as many output tokens as streamed chunks, as the "
            f"server's usage has it{doubt}",
        )
    return Origin(
        Source.UNKNOWN,
        "none",
        "the output counts would be the same from usage and from the text"
        if text_counts is not None
        else "the chunks alone do not tell; --tokenizer, the one the client used, may",
    )


def _refuted(
    rows: Sequence[tuple[int, int, int]], text_counts: Sequence[int | None]
) -> Origin | None:
    """Return that the server counted, where the text refutes that the client did.

    A tokenizer that is not the client's would give other numbers too. It is believed where the
    number is that of the chunks, or where it agrees with the file on at least half of the texts.
    """
    known = [
        (row, out, n, count) for row, out, n in rows if (count := text_counts[row]) is not None
    ]
    other = [(row, out, n, count) for row, out, n, count in known if count != out]
    believed = len(other) * 2 <= len(known)
    for row, out, chunks, count in other:
        if believed or chunks >= out:
            return Origin(
                Source.SERVER,
                "text",
                f"request {row + 1} has {out} output tokens, and its text encodes to {count}: the "
                "number came with the server's usage",
            )
    return None


def _some(number: int, of: int) -> str:
    return f"all {of} requests have" if number == of else f"{number} of {of} requests have"
