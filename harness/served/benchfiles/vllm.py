"""``vllm bench serve``, its ``--save-result`` and ``--append-result`` files.

Read from ``vllm/benchmarks/serve.py``. Every request's length starts as the client's own number and
is overwritten by the server's ``usage`` where that comes in a chunk without choices; nothing in the
file says which of the two it is. ``input_lens`` has the failed requests in it and
``total_input_tokens`` has not; a failed request's output is 0. ``request_rate`` may be "inf".
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from harness.served.benchfiles.documents import Document, Number, Tokens, rate
from harness.served.benchfiles.parallel import Parallel, detailed
from harness.served.benchfiles.run import Claimed, Origin, Request, Run, Source, Traffic
from harness.served.origin import from_stream

NAME = "vllm bench serve"


class _Result(Parallel):
    endpoint_type: str | None = None
    model_id: str | None = None
    tokenizer_id: str | None = None
    num_prompts: Tokens | None = None
    failed: Tokens | None = None
    total_token_throughput: Number | None = None


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
    requests, misfits = detailed(result)
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
