"""guidellm, its ``benchmarks.json``: one report with a list of benchmarks.

Read from ``docs/guides/outputs.md`` and ``src/guidellm/schemas``. Requests stand apart as
successful, errored and incomplete. What the server reports is preferred
(``config.prefer_response_metrics``), field by field: where it reports nothing the data set's own
number stays, without a mark. ``sample_size`` leaves requests out, and the totals still count them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from harness.served.benchfiles.documents import Document, Loose, Number, Tokens, fitted, words
from harness.served.benchfiles.run import Claimed, Origin, Request, Run, Source, Traffic

NAME = "guidellm"


class _Usage(Loose):
    text_tokens: Tokens | None = None
    cached_tokens: Tokens | None = None


class _Info(Loose):
    error: object = None


class _Stats(Loose):
    prompt_tokens: Tokens | None = None
    output_tokens: Tokens | None = None
    input_metrics: _Usage | None = None
    output_metrics: _Usage | None = None
    info: _Info | None = None


class _Requests(Loose):
    successful: list[_Stats] | None = None
    errored: list[_Stats] | None = None
    incomplete: list[_Stats] | None = None


class _Counts(Loose):
    successful: Tokens | None = None
    errored: Tokens | None = None
    incomplete: Tokens | None = None
    total: Tokens | None = None


class _Sum(Loose):
    total_sum: Number | None = None


class _Distribution(Loose):
    successful: _Sum | None = None


class _Metrics(Loose):
    request_totals: _Counts | None = None
    prompt_token_count: _Distribution | None = None
    output_token_count: _Distribution | None = None


class _Strategy(Loose):
    type_: str | None = None
    kind: str | None = None
    streams: Tokens | None = None
    max_concurrency: Tokens | None = None


class _Config(Loose):
    prefer_response_metrics: bool | None = None
    strategy: _Strategy | None = None
    backend: dict[str, object] = Field(default_factory=dict)


class _Benchmark(Loose):
    config: _Config | None = None
    requests: _Requests | None = None
    metrics: _Metrics | None = None
    duration: Number | None = None


def claims(value: Any) -> bool:  # noqa: ANN401 - any JSON
    """Whether a JSON value is a guidellm report."""
    if not isinstance(value, Mapping) or not isinstance(value.get("benchmarks"), list):
        return False
    return all(isinstance(one, Mapping) and "requests" in one for one in value["benchmarks"])


def runs(documents: Sequence[Document]) -> list[Run]:
    """Return one run a benchmark; raises :class:`~harness.errors.UsageError`."""
    found = []
    for document in documents:
        benchmarks = document.value["benchmarks"]
        for number, one in enumerate(benchmarks):
            place = document.place
            if len(benchmarks) > 1:
                place += f": benchmarks.{number}"
            found.append(_run(fitted(one, _Benchmark, place), place))
    return found


def _run(benchmark: _Benchmark, place: str) -> Run:
    config = benchmark.config or _Config()
    metrics = benchmark.metrics or _Metrics()
    totals = metrics.request_totals or _Counts()
    requests = _requests(benchmark.requests or _Requests())
    failed = [one for one in (totals.errored, totals.incomplete) if one is not None]
    return Run(
        place=place,
        format=NAME,
        requests=requests,
        claimed=Claimed(
            requests=totals.total,
            completed=totals.successful,
            failed=sum(failed) if failed else None,
            input_tokens=_total(metrics.prompt_token_count),
            output_tokens=_total(metrics.output_token_count),
            duration=benchmark.duration,
        ),
        traffic=Traffic(
            endpoint=_endpoint(config),
            model=words(config.backend.get("model")),
            concurrency=_concurrency(config.strategy),
        ),
        origin=_origin(config, benchmark.requests, requests),
    )


def _requests(groups: _Requests) -> tuple[Request, ...] | None:
    found = [_request(one, failed=False) for one in groups.successful or ()]
    found += [
        _request(one, failed=True) for one in [*(groups.errored or ()), *(groups.incomplete or ())]
    ]
    return tuple(found) or None


def _request(stats: _Stats, *, failed: bool) -> Request:
    usage = stats.input_metrics or _Usage()
    length = usage.text_tokens if stats.prompt_tokens is None else stats.prompt_tokens
    return Request(
        input_tokens=length,
        output_tokens=stats.output_tokens,
        failed=failed,
        error=words(stats.info.error) if stats.info else None,
    )


def _total(distribution: _Distribution | None) -> int | None:
    found = distribution.successful if distribution is not None else None
    return None if found is None or found.total_sum is None else round(found.total_sum)


def _endpoint(config: _Config) -> Literal["chat", "completions"] | None:
    asked = words(config.backend.get("request_format")) or ""
    if "chat" in asked:
        return "chat"
    return "completions" if "completions" in asked else None


def _concurrency(strategy: _Strategy | None) -> int | None:
    if strategy is None:
        return None
    if "synchronous" in (strategy.type_, strategy.kind):
        return 1
    return strategy.streams if strategy.streams is not None else strategy.max_concurrency


def _origin(
    config: _Config, groups: _Requests | None, requests: tuple[Request, ...] | None
) -> Origin:
    if config.prefer_response_metrics is False:
        return Origin(
            Source.CLIENT, "format", "prefer_response_metrics is false: the data set's own numbers"
        )
    if requests is None:
        return Origin(Source.UNKNOWN, "none", "the file has no request, which alone could tell")
    done = groups.successful or [] if groups is not None else []
    silent = [r for r in done if r.output_metrics is not None and _nothing(r.output_metrics)]
    if silent:
        return Origin(
            Source.CLIENT,
            "count",
            f"{len(silent)} of {len(done)} requests have no output count, so the server reported "
            "no usage for them, and their lengths are the data set's own",
        )
    if done and all(r.input_metrics and r.input_metrics.cached_tokens is not None for r in done):
        return Origin(
            Source.SERVER, "count", "every request has a count of cached tokens, a part of usage"
        )
    return Origin(
        Source.SERVER,
        "format",
        "guidellm prefers the server's usage, and keeps the data set's own number where none "
        "comes, without a mark",
    )


def _nothing(usage: _Usage) -> bool:
    return usage.text_tokens is None
