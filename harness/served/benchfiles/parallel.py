"""What vllm's and sglang's benchmarks write alike: totals, and the requests as parallel lists."""

from collections.abc import Sequence
from itertools import repeat
from typing import Any

from harness.served.benchfiles.documents import Loose, Number, Rate, Tokens, words
from harness.served.benchfiles.run import Request


class Parallel(Loose):
    """A result; the i-th entries of its lists are one request's."""

    backend: str | None = None
    request_rate: Rate | None = None
    max_concurrency: Tokens | None = None
    duration: Number | None = None
    completed: Tokens | None = None
    total_input_tokens: Tokens | None = None
    total_output_tokens: Tokens | None = None
    request_throughput: Number | None = None
    output_throughput: Number | None = None
    input_lens: list[Tokens | None] | None = None
    output_lens: list[Tokens | None] | None = None
    ttfts: list[float | None] | None = None
    itls: list[list[object] | None] | None = None
    generated_texts: list[object] | None = None
    errors: list[object] | None = None


def detailed(result: Parallel) -> tuple[tuple[Request, ...] | None, tuple[str, ...]]:
    """Return the requests of parallel lists, and what does not fit in words.

    A list of another length than ``input_lens`` cannot be laid beside it, and is left out.
    """
    lengths = result.input_lens
    if lengths is None:
        return None, ()
    columns: dict[str, Sequence[Any] | None] = {name: getattr(result, name) for name in _COLUMNS}
    misfits = tuple(
        f"{name} has {len(column)} entries and input_lens {len(lengths)}"
        for name, column in columns.items()
        if column is not None and len(column) != len(lengths)
    )
    aligned = {
        name: column if column is not None and len(column) == len(lengths) else repeat(None)
        for name, column in columns.items()
    }
    rows = zip(lengths, *aligned.values(), strict=False)
    return tuple(_request(*row) for row in rows), misfits


_COLUMNS = ("output_lens", "ttfts", "itls", "generated_texts", "errors")


def _request(
    length: int | None,
    output: int | None,
    ttft: float | None,
    itl: list[object] | None,
    text: object,
    error: object,
) -> Request:
    said = words(error)
    # A server that ends a response without a reason leaves the error empty: nothing came at all.
    nothing = output == 0 and not ttft and not itl and not text
    return Request(
        input_tokens=length,
        output_tokens=output,
        failed=said is not None or nothing,
        error=said,
        chunks=len(itl) + 1 if ttft and itl is not None else None,
        text=words(text),
    )
