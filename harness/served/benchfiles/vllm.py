"""``vllm bench serve``, its ``--save-result`` and ``--append-result`` files.

Read from ``vllm/benchmarks/serve.py``. Every request's length starts as the client's own number and
is overwritten by the server's ``usage`` where that comes in a chunk without choices; nothing in the
file says which of the two it is. ``input_lens`` has the failed requests in it and
``total_input_tokens`` has not; a failed request's output is 0. ``request_rate`` may be "inf".
"""

from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Any, Literal

from harness.served.benchfiles.documents import Document, Loose, Number, Rate, Tokens, rate, words
from harness.served.benchfiles.run import Claimed, Origin, Request, Run, Source, Traffic
from harness.served.origin import from_stream

NAME = "vllm bench serve"


class _Result(Loose):
    backend: str | None = None
    endpoint_type: str | None = None
    model_id: str | None = None
    tokenizer_id: str | None = None
    num_prompts: Tokens | None = None
    request_rate: Rate | None = None
    max_concurrency: Tokens | None = None
    duration: Number | None = None
    completed: Tokens | None = None
    failed: Tokens | None = None
    total_input_tokens: Tokens | None = None
    total_output_tokens: Tokens | None = None
    request_throughput: Number | None = None
    output_throughput: Number | None = None
    total_token_throughput: Number | None = None
    input_lens: list[Tokens | None] | None = None
    output_lens: list[Tokens | None] | None = None
    ttfts: list[float | None] | None = None
    itls: list[list[object] | None] | None = None
    generated_texts: list[object] | None = None
    errors: list[object] | None = None


def claims(value: Any) -> bool:  # noqa: ANN401 - any JSON
    """Whether a JSON value is a result of ``vllm bench serve``, or of its predecessor script."""
    return (
        isinstance(value, Mapping)
        and "model_id" in value
        and ("backend" in value or "endpoint_type" in value)
        and ("total_input_tokens" in value or "input_lens" in value or "num_prompts" in value)
    )


def runs(documents: Sequence[Document]) -> list[Run]:
    """Return one run a document; raises :class:`~harness.errors.UsageError`."""
    return [_run(one) for one in documents]


def _run(document: Document) -> Run:
    result = document.as_model(_Result)
    endpoint = _endpoint(result.endpoint_type or result.backend)
    requests, misfits = detailed(
        result.input_lens,
        {
            "output_lens": result.output_lens,
            "ttfts": result.ttfts,
            "itls": result.itls,
            "generated_texts": result.generated_texts,
            "errors": result.errors,
        },
    )
    return Run(
        place=document.place,
        format=NAME,
        requests=requests,
        claimed=Claimed(
            requests=result.num_prompts,
            completed=result.completed,
            failed=result.failed,
            input_tokens=result.total_input_tokens,
            output_tokens=result.total_output_tokens,
            duration=result.duration,
            request_throughput=result.request_throughput,
            output_throughput=result.output_throughput,
            total_throughput=result.total_token_throughput,
        ),
        traffic=Traffic(
            endpoint=endpoint,
            model=result.model_id,
            tokenizer=result.tokenizer_id,
            concurrency=result.max_concurrency,
            request_rate=rate(result.request_rate),
        ),
        origin=_origin(requests, endpoint),
        misfits=misfits,
    )


def _endpoint(name: str | None) -> Literal["chat", "completions"] | None:
    if name is None:
        return None
    if "chat" in name:
        return "chat"
    return "completions" if name in ("openai", "vllm", "openai-completions") else None


def _origin(
    requests: tuple[Request, ...] | None, endpoint: Literal["chat", "completions"] | None
) -> Origin:
    if requests is None:
        return Origin(
            Source.UNKNOWN,
            "none",
            "the file has no details of its requests, which alone can tell: --save-detailed",
        )
    return from_stream(requests, endpoint)


def detailed(
    lengths: Sequence[int | None] | None, columns: Mapping[str, Sequence[Any] | None]
) -> tuple[tuple[Request, ...] | None, tuple[str, ...]]:
    """Return the requests of parallel lists, and what does not fit in words.

    ``columns``: output_lens, ttfts, itls, generated_texts, errors. A list of another length than
    ``lengths`` cannot be laid beside it, and is left out.
    """
    if lengths is None:
        return None, ()
    misfits = tuple(
        f"{name} has {len(column)} entries and input_lens {len(lengths)}"
        for name, column in columns.items()
        if column is not None and len(column) != len(lengths)
    )
    aligned = {
        name: column if column is not None and len(column) == len(lengths) else repeat(None)
        for name, column in columns.items()
    }
    rows = zip(lengths, *(aligned[name] for name in _COLUMNS), strict=False)
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
