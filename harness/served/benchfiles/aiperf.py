"""aiperf and genai-perf: the records a request (``profile_export.jsonl``) and the summary.

Read from aiperf's ``docs/tutorials/working-with-profile-exports.md`` and
``aiperf/common/models/export_models.py``. ``input_sequence_length`` is counted on the client, as is
the output. Where a record also has ``usage_prompt_tokens``, which later versions have (their
metrics reference names it), that is the server's, and it is taken.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from harness.served.benchfiles.documents import Document, Loose, Number, Tokens
from harness.served.benchfiles.run import Claimed, Origin, Request, Run, Source, Traffic

NAME = "aiperf"
_USAGE = "usage_prompt_tokens"


class _Value(Loose):
    value: Tokens | None = None


class _Metrics(Loose):
    input_sequence_length: _Value | None = None
    output_sequence_length: _Value | None = None
    error_isl: _Value | None = None
    usage_prompt_tokens: _Value | None = None


class _Metadata(Loose):
    request_start_ns: int | None = Field(default=None, ge=0, le=10**19)
    request_end_ns: int | None = Field(default=None, ge=0, le=10**19)
    benchmark_phase: str | None = None


class _Error(Loose):
    code: int | None = None
    type: str | None = None
    message: object = None


class _Record(Loose):
    metadata: _Metadata
    metrics: _Metrics
    error: _Error | None = None


class _Statistic(Loose):
    avg: Number | None = None


class _Endpoint(Loose):
    type: str | None = None


class _Load(Loose):
    concurrency: Tokens | None = None


class _Input(Loose):
    endpoint: _Endpoint | None = None
    loadgen: _Load | None = None


class _Summary(Loose):
    input_sequence_length: _Statistic
    request_count: _Statistic | None = None
    error_request_count: _Statistic | None = None
    benchmark_duration: _Statistic | None = None
    total_isl: _Statistic | None = None
    total_osl: _Statistic | None = None
    output_token_throughput: _Statistic | None = None
    request_throughput: _Statistic | None = None
    input_config: _Input | None = None


def claims(value: Any) -> bool:  # noqa: ANN401 - any JSON
    """Whether a JSON value is a record of aiperf, or its or genai-perf's summary."""
    return isinstance(value, Mapping) and (_is_record(value) or _is_summary(value))


def runs(documents: Sequence[Document]) -> list[Run]:
    """Return one run of all the records, or one a summary; raises UsageError."""
    records = [one for one in documents if _is_record(one.value)]
    found = [_summarized(one) for one in documents if not _is_record(one.value)]
    return [*([_recorded(records)] if records else []), *found]


def _is_record(value: Mapping[str, Any]) -> bool:
    return isinstance(value.get("metadata"), Mapping) and isinstance(value.get("metrics"), Mapping)


def _is_summary(value: Mapping[str, Any]) -> bool:
    found = value.get("input_sequence_length")
    return isinstance(found, Mapping) and "unit" in found


def _recorded(documents: Sequence[Document]) -> Run:
    records = [one.as_model(_Record) for one in documents]
    records = [one for one in records if one.metadata.benchmark_phase != "warmup"]
    by_server = any(one.metrics.usage_prompt_tokens is not None for one in records)
    starts = [r.metadata.request_start_ns for r in records]
    ends = [r.metadata.request_end_ns for r in records]
    first = min((one for one in starts if one is not None), default=None)
    last = max((one for one in ends if one is not None), default=None)
    return Run(
        place="",  # of all the lines, so of none
        format=NAME,
        requests=tuple(_request(one, by_server=by_server) for one in records),
        claimed=Claimed(
            duration=None if first is None or last is None or last < first else (last - first) / 1e9
        ),
        traffic=Traffic(),
        origin=Origin(Source.SERVER, "count", f"the records have the server's own count ({_USAGE})")
        if by_server
        else _client(),
    )


def _request(record: _Record, *, by_server: bool) -> Request:
    metrics = record.metrics
    counted = metrics.input_sequence_length or metrics.error_isl
    if by_server:
        counted = metrics.usage_prompt_tokens
    error = record.error
    return Request(
        input_tokens=None if counted is None else counted.value,
        output_tokens=_of(metrics.output_sequence_length),
        failed=error is not None,
        error=None if error is None else f"{error.type or 'error'}: {error.message}",
    )


def _of(value: _Value | None) -> int | None:
    return None if value is None else value.value


def _summarized(document: Document) -> Run:
    summary = document.as_model(_Summary)
    given = summary.input_config or _Input()
    return Run(
        place=document.place,
        format=NAME,
        requests=None,
        claimed=Claimed(
            completed=_whole(summary.request_count),
            failed=_whole(summary.error_request_count),
            input_tokens=_whole(summary.total_isl),
            output_tokens=_whole(summary.total_osl),
            duration=_average(summary.benchmark_duration),
            request_throughput=_average(summary.request_throughput),
            output_throughput=_average(summary.output_token_throughput),
        ),
        traffic=Traffic(
            endpoint=_endpoint(given.endpoint),
            concurrency=given.loadgen.concurrency if given.loadgen else None,
        ),
        origin=_client(),
    )


def _client() -> Origin:
    return Origin(
        Source.CLIENT,
        "format",
        "aiperf and genai-perf count the text they send, whatever the server reports",
    )


def _average(statistic: _Statistic | None) -> float | None:
    return None if statistic is None else statistic.avg


def _whole(statistic: _Statistic | None) -> int | None:
    found = _average(statistic)
    return None if found is None else round(found)


def _endpoint(endpoint: _Endpoint | None) -> Literal["chat", "completions"] | None:
    kind = endpoint.type if endpoint is not None else None
    return "chat" if kind == "chat" else "completions" if kind == "completions" else None
