"""llmperf: ``*_individual_responses.json``, and the ``*_summary.json`` beside it.

Read from ``token_benchmark_ray.py`` and ``src/llmperf/common_metrics.py``. Input and output are
both counted on the client, with a Llama tokenizer whatever the model is. The summary has statistics
of the lengths and no count.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from harness.served.benchfiles.documents import Document, Loose, Number, Tokens, fitted, words
from harness.served.benchfiles.run import Claimed, Origin, Request, Run, Source, Traffic

NAME = "llmperf"


class _Response(Loose):
    number_input_tokens: Tokens | None = None
    number_output_tokens: Tokens | None = None
    error_code: object = None
    error_msg: object = None


class _Summary(Loose):
    model: str | None = None
    num_concurrent_requests: Tokens | None = None
    results_num_completed_requests: Tokens | None = None
    results_number_errors: Tokens | None = None
    results_mean_output_throughput_token_per_s: Number | None = None


def claims(value: Any) -> bool:  # noqa: ANN401 - any JSON
    """Whether a JSON value is one of llmperf's two files."""
    if isinstance(value, list):
        return any(isinstance(one, Mapping) and "number_input_tokens" in one for one in value)
    return isinstance(value, Mapping) and "results_num_requests_started" in value


def runs(documents: Sequence[Document]) -> list[Run]:
    """Return one run a document; raises :class:`~harness.errors.UsageError`."""
    return [_responses(one) if isinstance(one.value, list) else _summary(one) for one in documents]


def _responses(document: Document) -> Run:
    records = [
        fitted(one, _Response, f"{document.place}: {row}")
        for row, one in enumerate(document.value)
        if isinstance(one, Mapping)
    ]
    stray = len(document.value) - len(records)
    return Run(
        place=document.place,
        format=NAME,
        requests=tuple(
            Request(
                input_tokens=one.number_input_tokens,
                output_tokens=one.number_output_tokens,
                failed=one.error_code is not None,
                error=words(one.error_msg),
            )
            for one in records
        ),
        claimed=Claimed(),
        traffic=Traffic(endpoint="chat"),
        origin=_client(),
        misfits=(f"{stray} entries of the list are no requests",) if stray else (),
    )


def _summary(document: Document) -> Run:
    summary = document.as_model(_Summary)
    return Run(
        place=document.place,
        format=NAME,
        requests=None,
        claimed=Claimed(
            completed=summary.results_num_completed_requests,
            failed=summary.results_number_errors,
            output_throughput=summary.results_mean_output_throughput_token_per_s,
        ),
        traffic=Traffic(
            endpoint="chat", model=summary.model, concurrency=summary.num_concurrent_requests
        ),
        origin=_client(),
    )


def _client() -> Origin:
    return Origin(
        Source.CLIENT, "format", "llmperf counts on the client, with a Llama tokenizer of its own"
    )
