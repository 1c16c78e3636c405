"""Judged benchmark files in words, safe for a terminal: every name and error in them is escaped."""

from collections.abc import Iterator

from harness.plural import grouped
from harness.report.escape import terminal
from harness.served.benchmark import Bench, Judged
from harness.served.bias import Bias, Range
from harness.served.prompts import Checked
from harness.served.shortfall import Off, Shortfall

_SIGNS = {"pass": "✓", "fail": "✗", "vacuous": "○", "unchecked": "-"}
# As many rows as a person reads; the rest is counted.
_SHOWN = 8


def render(bench: Bench) -> str:
    """Return the whole result as lines of text."""
    lines: list[str] = []
    if bench.prompts is not None:
        lines += _prompts(bench.prompts)
    for one in bench.runs:
        lines += _judged(one, bench)
    if len(bench.runs) > 1:
        lines += _repetitions(bench)
    if bench.runs:
        lines.append(f"binding eligible: {'yes' if bench.eligible else 'NO'}")
    return "\n".join(lines)


def percent(value: float, digits: int = 3) -> str:
    """Return a relative effect with its sign and so many significant digits.

    >>> percent(0.2075 / 174.39)
    '+0.119 %'
    """
    return f"{_digits(value * 100, digits)} %"


def effect(found: Range) -> str:
    """Return a range of effects: two ends with two digits, or one number with three.

    >>> effect(Range(0.0042575, 0.0058953))
    '+0.43 to +0.59 %'
    """
    low, high = (_digits(end * 100, 2) for end in (found.low, found.high))
    return percent((found.low + found.high) / 2) if low == high else f"{low} to {high} %"


def _digits(value: float, digits: int) -> str:
    if value == 0:
        return "0"
    places = 0
    while places < 12 and abs(value) * 10**places < 10 ** (digits - 1) - 0.5:
        places += 1
    return f"{value:+.{places}f}"


def _judged(judged: Judged, bench: Bench) -> Iterator[str]:
    run = judged.run
    words = [run.format]
    if run.traffic.model:
        words.append(run.traffic.model[:80])
    if run.traffic.endpoint:
        words.append(run.traffic.endpoint)
    unknown = "an unknown number of requests"
    words.append(unknown if run.size is None else grouped(run.size, "request"))
    if run.failed:
        words.append(f"{run.failed:,} failed")
    yield f"{terminal(run.place)}: {terminal(', '.join(words))}"
    for guard in judged.guards:
        yield f"    {_SIGNS[guard.state]} {guard.name + ':':<12} {terminal(guard.words)}"
    short = judged.shortfall
    if short is not None and short.off:
        yield from _rows(short, bench.prompts)
    if judged.bias is not None:
        yield from _bias(judged.bias, bench)
    errors = [one.error for one in run.requests or () if one.failed and one.error]
    for error in list(dict.fromkeys(errors))[:3]:
        yield f"      failed with: {terminal(error[:200])}"
    yield f"    receipt: {terminal(str(judged.receipt))}"
    yield f"    eligible: {'yes' if judged.receipt.eligible else 'NO'}"


def _rows(short: Shortfall, prompts: Checked | None) -> Iterator[str]:
    for one in short.off[:_SHOWN]:
        yield f"      {_row(one, prompts)}"
    if len(short.off) > _SHOWN:
        yield f"      … and {len(short.off) - _SHOWN:,} more"
    told = [
        f"{one.trait} ({one.off:,} of the {len(short.off):,} that are off, {one.others:,} others)"
        for one in short.common[:_SHOWN]
    ]
    if told:
        yield f"      in common: {terminal(', '.join(told))}"


def _row(one: Off, prompts: Checked | None) -> str:
    gap = f"{one.missing:,} missing" if one.missing > 0 else f"{-one.missing:,} too many"
    words = f"request {one.row + 1}: {one.length:,} of {one.target:,}, {gap}"
    if prompts is None or one.row >= len(prompts.file.prompts):
        return words
    prompt = prompts.file.prompts[one.row]
    cut = prompt.text[:40] + ("…" if len(prompt.text) > 40 else "")
    traits = f" [{', '.join(one.traits)}]" if one.traits else ""
    return f"{words}: {terminal(prompt.id)} {terminal(chr(34) + cut + chr(34))}{terminal(traits)}"


def _bias(bias: Bias, bench: Bench) -> Iterator[str]:
    gap = f"{bias.missing:,} missing" if bias.missing > 0 else f"{-bias.missing:,} surplus"
    if bias.output is None or bias.seconds is None:
        yield (
            f"    bias: {gap} tokens; --prefill-ms-per-token or --prefill-rate gives its size"
            if bias.seconds is None
            else f"    bias: {gap} tokens; the file has no duration to hold it against"
        )
    else:
        least = "at least " if bias.lower_bound else "about "
        yield f"    bias, if the counts are right: {gap} tokens are {_seconds(bias.seconds)} s"
        yield (
            f"      output throughput is off by {least}{effect(bias.output)}"
            f"{_against(bias.output, bench)}"
        )
        if bias.total is not None:
            yield f"      total throughput is off by about {effect(bias.total)}"
        yield f"      ({terminal(bias.why)})"
    if bias.total_if_wrong is not None:
        yield (
            "    bias, if the counts are wrong: output throughput is as it is, total throughput is "
            f"off by {percent(bias.total_if_wrong)}"
        )


def _against(output: Range, bench: Bench) -> str:
    if bench.spread is None or bench.spread.sample == 0:
        return ""
    low, high = sorted(abs(one) / bench.spread.sample for one in (output.low, output.high))
    times = f"{low:.2g}" if low == high else f"{low:.2g} to {high:.2g}"
    return f", {times} times the spread of the repetitions"


def _seconds(found: Range) -> str:
    if found.low == found.high:
        return f"{found.low:.4g}"
    return f"{found.low:.4g} to {found.high:.4g}"


def _repetitions(bench: Bench) -> Iterator[str]:
    if bench.apart:
        yield f"no repetitions, so no spread: {', '.join(bench.apart)}"
    elif bench.spread is None:
        yield "no spread: a run has no output throughput"
    else:
        one = bench.spread
        yield (
            f"{len(one.values)} repetitions: output throughput {one.mean:,.6g} tokens/s on "
            f"average, coefficient of variation {one.population * 100:.4f} % (population), "
            f"{one.sample * 100:.4f} % (sample)"
        )


def _prompts(checked: Checked) -> Iterator[str]:
    counts = checked.counts
    yield (
        f"{terminal(str(checked.file.path))}: {grouped(len(counts), 'prompt')}, "
        f"{grouped(sum(counts), 'token')}, "
        f"{min(counts):,} to {max(counts):,} each"
    )
    if checked.band is not None and checked.margins is not None:
        lower, upper = checked.margins
        yield f"    band {checked.band}: {lower:,} from its lower edge, {upper:,} from its upper"
    for words in checked.violations:
        yield f"    ✗ {terminal(words)}"
    if not checked.violations:
        yield "    ✓ in order: distinct, none too short, stable when encoded again"
