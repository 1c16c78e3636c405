"""``sglang.bench_serving``, its ``--output-file``: one JSON object a line, one a run.

Read from ``python/sglang/bench_serving.py``. ``total_input_tokens`` is the data set's own number.
``input_lens``, there with ``--output-details`` only, is the client's in older versions and the
server's in those that also write ``total_input_text_tokens``. The rate may be ``Infinity``.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from harness.served.benchfiles.documents import Document, Number, Tokens, rate
from harness.served.benchfiles.parallel import Parallel, detailed
from harness.served.benchfiles.run import Claimed, Origin, Request, Run, Source, Traffic

NAME = "sglang bench_serving"
_MARKS = {"total_output_tokens_retokenized", "sharegpt_output_len", "random_range_ratio"}


class _Result(Parallel):
    total_input_text_tokens: Tokens | None = None
    total_throughput: Number | None = None


def claims(value: Any) -> bool:  # noqa: ANN401 - any JSON
    """Whether a JSON value is a result of sglang's benchmark."""
    return isinstance(value, Mapping) and "backend" in value and bool(_MARKS & set(value))


def runs(documents: Sequence[Document]) -> list[Run]:
    """Return one run a line; raises :class:`~harness.errors.UsageError`."""
    return [_run(one) for one in documents]


def _run(document: Document) -> Run:
    result = document.as_model(_Result)
    requests, misfits = detailed(result)
    backend = result.backend or ""
    return Run(
        place=document.place,
        format=NAME,
        requests=requests,
        claimed=Claimed(
            completed=result.completed,
            input_tokens=result.total_input_tokens,
            input_by=Source.CLIENT,
            output_tokens=result.total_output_tokens,
            duration=result.duration,
            request_throughput=result.request_throughput,
            output_throughput=result.output_throughput,
            total_throughput=result.total_throughput,
        ),
        traffic=Traffic(
            endpoint="chat" if "chat" in backend else "completions",
            concurrency=result.max_concurrency,
            request_rate=rate(result.request_rate),
        ),
        origin=_origin(result, requests),
        misfits=misfits,
    )


def _origin(result: _Result, requests: tuple[Request, ...] | None) -> Origin:
    total = result.total_input_tokens
    if requests is None:
        return Origin(
            Source.CLIENT,
            "format",
            "without --output-details the file has the data set's own total and no length",
        )
    lengths = [one.input_tokens for one in requests if not one.failed]
    known = [one for one in lengths if one is not None]
    everything = sum(one.input_tokens or 0 for one in requests)
    if total is not None and len(known) == len(lengths) and total not in (sum(known), everything):
        return Origin(
            Source.SERVER,
            "count",
            f"the lengths sum to {sum(known):,} and the data set's own total is {total:,}: "
            "two counters, and the lengths are the server's",
        )
    if result.total_input_text_tokens is not None:
        return Origin(
            Source.SERVER,
            "format",
            "this version puts the server's usage into input_lens, and its own number where none "
            "comes, without a mark",
        )
    return Origin(
        Source.UNKNOWN,
        "none",
        "older versions write the client's own lengths, and nothing in the file tells the version",
    )
