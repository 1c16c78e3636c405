"""What a shortfall does to throughput: sign and size, and how that compares with the spread. Pure.

If the counts are right, and the server did process fewer tokens than it should have, it saved the
time of their prefill: with t saved of a duration D, the output throughput is reported higher by
t / D than it would have been (O/D against O/(D+t)). If the counts are wrong, and it processed what
was sent, output is as it was, and the total throughput is reported lower by the tokens left out.
With tokens too many all signs turn round.

Both public reports are vectors: 202 tokens at 1.027 ms are 0.2075 s of 174.39 s, +0.119 %; 2,080
tokens at 1,300 to 1,800 a second, of 271.4 s, are +0.43 to +0.59 %.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from harness.served.benchfiles import Run


@dataclass(frozen=True)
class Range:
    """From ``low`` to ``high``; both the same for one number."""

    low: float
    high: float

    def times(self, factor: float) -> "Range":
        """Return the range multiplied, its ends in order also for a negative factor."""
        ends = sorted((self.low * factor, self.high * factor))
        return Range(ends[0], ends[1])


def cost_of_milliseconds(milliseconds: float) -> Range:
    """Return seconds a token from a marginal prefill cost in ms a token."""
    return Range(milliseconds / 1000, milliseconds / 1000)


def cost_of_rate(low: float, high: float) -> Range:
    """Return seconds a token from a prefill rate in tokens a second, which must be positive."""
    return Range(1 / high, 1 / low)


@dataclass(frozen=True)
class Bias:
    """What ``missing`` tokens do to one run; relative effects, 0.01 is one per cent.

    ``seconds``, ``output`` and ``total`` hold if the counts are right; they are None without a cost
    of prefill, the latter two also without a duration. ``total_if_wrong`` is the effect on total
    throughput if the counts are wrong. ``lower_bound`` says that the effect on output is at least
    this, ``why`` says why, or why not.
    """

    missing: int
    seconds: Range | None
    output: Range | None
    total: Range | None
    total_if_wrong: float | None
    lower_bound: bool
    why: str


def bias(run: Run, missing: int, cost: Range | None, *, unknown: int = 0) -> Bias:
    """Return the bias of a run that lacks ``missing`` tokens (negative: it has too many).

    ``cost`` is in seconds a token; ``unknown`` requests have no length and may lack more.
    """
    counted, output = run.input_tokens, run.claimed.output_tokens
    reported = whole = None
    if counted is not None and output is not None:
        reported, whole = counted + output, counted + missing + output
    seconds = None if cost is None else cost.times(missing)
    duration = run.claimed.duration
    effect = total = None
    if seconds is not None and duration:
        effect = seconds.times(1 / duration)
        if reported is not None and whole:
            ends = sorted(
                reported / whole * (duration + end) / duration - 1
                for end in (seconds.low, seconds.high)
            )
            total = Range(ends[0], ends[1])
    bound, why = _bound(run, missing, unknown)
    return Bias(
        missing=missing,
        seconds=seconds,
        output=effect,
        total=total,
        total_if_wrong=reported / whole - 1 if reported is not None and whole else None,
        lower_bound=bound,
        why=why,
    )


def _bound(run: Run, missing: int, unknown: int) -> tuple[bool, str]:
    if missing <= 0:
        return False, "an estimate: tokens too many are no shortfall"
    if run.traffic.concurrency == 1:
        more = f"; {unknown:,} requests have no length and may lack more" if unknown else ""
        return True, (
            "requests went one at a time, so the prefill saved is time saved, and every decode "
            f"step over the shorter context saved some more{more}"
        )
    if run.traffic.concurrency is None:
        return False, "an estimate and no bound: the file does not say how many requests overlapped"
    return False, (
        f"an estimate and no bound: up to {run.traffic.concurrency} requests overlapped, and "
        "prefill may run beside another's decode"
    )


@dataclass(frozen=True)
class Spread:
    """How repetitions differ: coefficients of variation, 0.01 is one per cent.

    ``population`` divides by n, ``sample`` by n - 1: for three repetitions the sample's is larger
    by the square root of 1.5.
    """

    values: tuple[float, ...]
    mean: float
    population: float
    sample: float


def spread(values: Sequence[float]) -> Spread | None:
    """Return the spread of at least two positive values, None of fewer or of none."""
    if len(values) < 2 or min(values) <= 0:
        return None
    mean = statistics.fmean(values)
    return Spread(
        tuple(values), mean, statistics.pstdev(values) / mean, statistics.stdev(values) / mean
    )


def differing(runs: Sequence[Run]) -> tuple[str, ...]:
    """Return what keeps runs from being repetitions of one another, in words."""
    kinds: dict[str, set[object]] = {
        "the program": {run.format for run in runs},
        "the model": {run.traffic.model for run in runs},
        "the endpoint": {run.traffic.endpoint for run in runs},
        "the number of requests": {run.size for run in runs},
        "the concurrency": {run.traffic.concurrency for run in runs},
        "the request rate": {run.traffic.request_rate for run in runs},
    }
    found = [f"{name} differs" for name, values in kinds.items() if len(values) > 1]
    timed = [run.claimed for run in runs if run.claimed.duration is not None]
    if len(set(timed)) < len(timed):
        found.append("one run is there twice")
    return tuple(found)


def output_rate(run: Run) -> float | None:
    """Return the output throughput as the file states it, else from its totals; tokens a second."""
    said = run.claimed
    if said.output_throughput is not None:
        return said.output_throughput
    if said.output_tokens is None or not said.duration:
        return None
    return said.output_tokens / said.duration
