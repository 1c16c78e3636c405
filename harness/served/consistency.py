"""What one benchmark file says of itself twice, and not alike. Pure."""

from collections.abc import Iterator

from harness.served.benchfiles import Run

# Rates are written as they were computed, or rounded to a few digits.
_ROUNDING = 0.005


def contradictions(run: Run) -> tuple[str, ...]:
    """Return every contradiction inside one run, in words."""
    return (*run.misfits, *_numbers(run), *_sums(run), *_rates(run))


def _numbers(run: Run) -> Iterator[str]:
    said = run.claimed
    if run.requests is not None:
        rows, failed = len(run.requests), sum(one.failed for one in run.requests)
        if said.completed is not None and said.completed != rows - failed:
            yield (
                f"it says that {said.completed:,} requests completed, and {rows - failed:,} of its "
                f"{rows:,} requests did"
            )
        elif said.failed is not None and said.failed != failed:
            yield f"it says that {said.failed:,} requests failed, and {failed:,} did"
        if said.requests is not None and said.requests != rows:
            yield f"it says that {said.requests:,} prompts were sent, and has {rows:,} requests"
    elif (
        said.requests is not None
        and said.completed is not None
        and (run.failed is None or said.requests != said.completed + run.failed)
    ):
        yield (
            f"{said.requests:,} prompts were sent, {said.completed:,} completed and "
            f"{run.failed or 0:,} failed"
        )


def _sums(run: Run) -> Iterator[str]:
    said, lengths = run.claimed, run.lengths
    total = said.input_tokens
    if lengths is not None and total is not None and total != sum(lengths):
        everything = [one.input_tokens for one in run.requests or ()]
        if None not in everything and total == sum(one or 0 for one in everything):
            yield f"its total of {total:,} input tokens has the failed requests in it"
        elif said.input_by in (None, run.origin.source):
            yield (
                f"it says {total:,} input tokens, and the lengths of its completed requests sum to "
                f"{sum(lengths):,}"
            )
    outputs = [one.output_tokens for _, one in run.completed]
    known = [one for one in outputs if one is not None]
    if (
        run.requests is not None
        and said.output_tokens is not None
        and len(known) == len(outputs)
        and sum(known) != said.output_tokens
    ):
        yield f"it says {said.output_tokens:,} output tokens, and its requests have {sum(known):,}"


def _rates(run: Run) -> Iterator[str]:
    said = run.claimed
    if said.duration is None:
        return
    both = None
    if said.input_tokens is not None and said.output_tokens is not None:
        both = said.input_tokens + said.output_tokens
    for name, rate, amount in (
        ("requests", said.request_throughput, said.completed),
        ("output tokens", said.output_throughput, said.output_tokens),
        ("tokens", said.total_throughput, both),
    ):
        if rate is None or amount is None:
            continue
        if said.duration == 0:
            if rate:
                yield f"it says {rate:g} {name} a second, in no time at all"
        elif abs(rate - amount / said.duration) > _ROUNDING * max(rate, amount / said.duration):
            yield (
                f"it says {rate:,.6g} {name} a second, and {amount:,} in {said.duration:,.6g} s "
                f"are {amount / said.duration:,.6g}"
            )
