"""``tokparity bench``: what a benchmark's result files are worth."""

import math
from pathlib import Path
from typing import Any

import click

from harness.cli.options import CACHE, JSON, options
from harness.cli.streams import print_out
from harness.errors import UsageError
from harness.places import bundled, default_cache
from harness.served.bench_json import dumps
from harness.served.bench_text import render
from harness.served.benchmark import Asked, judge
from harness.served.bias import Range, cost_of_milliseconds, cost_of_rate
from harness.tokenizers import resolve


@click.command(name="bench")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="FILE...")
@click.option("--expect", type=click.IntRange(1, 10**9), metavar="N", help="Tokens a request.")
@click.option(
    "--prompts",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The prompts that were sent, each to be counted; checked itself. Needs --tokenizer.",
)
@click.option("--tokenizer", metavar="NAME|FILE", help="The tokenizer that the server has.")
@click.option(
    "--boundary",
    type=click.Choice(["raw", "rendered"]),
    help="The side of the chat template that the target is on (default: _meta's, else raw).",
)
@click.option(
    "--tolerance", type=click.IntRange(0, 10**9), metavar="K", help="Tokens a request may be off."
)
@click.option(
    "--prefill-ms-per-token",
    type=click.FloatRange(0, 1e6, min_open=True),
    metavar="MS",
    help="Marginal cost of prefill, for the size of the bias.",
)
@click.option(
    "--prefill-rate",
    metavar="LOW:HIGH",
    help="The same, as tokens prefilled a second; one number for both.",
)
@options(CACHE, JSON)
def command(
    files: tuple[Path, ...],
    expect: int | None,
    prompts: Path | None,
    tokenizer: str | None,
    boundary: Any,  # noqa: ANN401 - one of the choices
    tolerance: int | None,
    prefill_ms_per_token: float | None,
    prefill_rate: str | None,
    cache: Path | None,
    as_json: bool,
) -> int:
    """Judge result files of vllm bench serve, sglang, guidellm, aiperf and llmperf.

    Are the input lengths the server's, are they what they should be, does the file contradict
    itself, and what does a shortfall do to throughput? Several files, and several runs in one, are
    repetitions. Exit codes: 0 eligible, 6 a file has no count at all, 7 a guard objects.
    """
    found = None
    if tokenizer is not None:
        found = resolve(tokenizer, bundled("goldens"), cache or default_cache())
    bench = judge(
        Asked(
            files=files,
            expect=expect,
            prompts=prompts,
            tokenizer=found,
            boundary=boundary,
            tolerance=tolerance,
            cost=_cost(prefill_ms_per_token, prefill_rate),
        )
    )
    print_out(dumps(bench) if as_json else render(bench))
    return bench.exit


def _cost(milliseconds: float | None, rate: str | None) -> Range | None:
    """Return the cost of prefill in seconds a token; raises :class:`UsageError`."""
    if milliseconds is not None and rate is not None:
        raise UsageError("--prefill-ms-per-token and --prefill-rate give two costs of prefill")
    if milliseconds is not None:
        if math.isnan(milliseconds):
            raise UsageError("--prefill-ms-per-token is not a number")
        return cost_of_milliseconds(milliseconds)
    if rate is None:
        return None
    low, _, high = rate.partition(":")
    try:
        found = float(low), float(high or low)
    except ValueError:
        found = math.nan, math.nan
    # Of a rate near nothing the cost of one token is beyond every number.
    if not 1e-6 <= found[0] <= found[1] < math.inf:
        raise UsageError(
            f"--prefill-rate {rate} is no rate",
            expected="LOW:HIGH in tokens a second, as in 1300:1800",
        )
    return cost_of_rate(*found)
