"""Judged benchmark files as JSON, ``tokparity-bench/1``; other programs rely on these fields."""

from typing import Any

from harness.report.escape import json_text
from harness.served.benchfiles import Run
from harness.served.benchmark import Bench, Judged
from harness.served.bias import Bias, Range
from harness.served.prompts import Checked
from harness.served.shortfall import Shortfall

SCHEMA = "tokparity-bench/1"


def to_dict(bench: Bench) -> dict[str, Any]:
    """Return everything as a JSON-ready dictionary; what is not known is null."""
    spread = bench.spread
    return {
        "schema": SCHEMA,
        "exit": bench.exit,
        "binding_eligible": bench.eligible,
        "reasons": list(bench.reasons),
        "runs": [_judged(one) for one in bench.runs],
        "prompts": None if bench.prompts is None else _prompts(bench.prompts),
        "spread": None
        if spread is None
        else {
            "output_throughput": list(spread.values),
            "mean": spread.mean,
            "cv_population": spread.population,
            "cv_sample": spread.sample,
        },
        "no_repetitions": list(bench.apart),
    }


def dumps(bench: Bench) -> str:
    """Return the JSON in printable ASCII: no text in it acts on a terminal."""
    return json_text(to_dict(bench))


def _judged(judged: Judged) -> dict[str, Any]:
    run, short = judged.run, judged.shortfall
    return {
        "place": run.place,
        "file": run.file,
        "format": run.format,
        "endpoint": run.traffic.endpoint,
        "model": run.traffic.model,
        "request_rate": run.traffic.request_rate,
        "concurrency": run.traffic.concurrency,
        "requests": run.size,
        "failed": run.failed,
        "input_tokens": run.input_tokens,
        "output_tokens": run.claimed.output_tokens,
        "duration": run.claimed.duration,
        "input_lengths": _lengths(run),
        "origin": {
            "source": run.origin.source.value,
            "basis": run.origin.basis,
            "reason": run.origin.reason,
        },
        "binding_eligible": judged.receipt.eligible,
        "reasons": list(judged.reasons),
        "guards": [
            {"name": one.name, "state": one.state, "words": one.words} for one in judged.guards
        ],
        "shortfall": None if short is None else _shortfall(short),
        "bias": None if judged.bias is None else _bias(judged.bias),
        "receipt": judged.receipt.to_dict(),
    }


def _lengths(run: Run) -> list[int | None] | None:
    return None if run.requests is None else [one.input_tokens for one in run.requests]


def _shortfall(short: Shortfall) -> dict[str, Any]:
    return {
        "missing": short.missing,
        "at_least": short.at_least,
        "unknown": short.unknown,
        "constant": short.constant,
        "reordered": short.reordered,
        "requests": [
            {
                "row": one.row,
                "length": one.length,
                "target": one.target,
                "missing": one.missing,
                "traits": list(one.traits),
            }
            for one in short.off
        ],
        "common": [
            {"trait": one.trait, "off": one.off, "others": one.others} for one in short.common
        ],
    }


def _bias(bias: Bias) -> dict[str, Any]:
    return {
        "missing": bias.missing,
        "if_counts_are_right": {
            "seconds": _range(bias.seconds),
            "output_throughput": _range(bias.output),
            "total_throughput": _range(bias.total),
        },
        "if_counts_are_wrong": {
            "output_throughput": [0.0, 0.0],
            "total_throughput": bias.total_if_wrong,
        },
        "lower_bound": bias.lower_bound,
        "why": bias.why,
    }


def _range(found: Range | None) -> list[float] | None:
    return None if found is None else [found.low, found.high]


def _prompts(checked: Checked) -> dict[str, Any]:
    band, margins = checked.band, checked.margins
    prompts = checked.file.prompts
    return {
        "file": str(checked.file.path),
        "sha256": checked.file.sha256,
        "prompts": len(prompts),
        "tokens": sum(checked.counts),
        "shortest": min(checked.counts),
        "longest": max(checked.counts),
        "band": None
        if band is None
        else {"low": band.low, "high": band.high, "boundary": band.boundary},
        "margins": None if margins is None else {"lower": margins[0], "upper": margins[1]},
        "repeated": [prompts[row].id for row in checked.twins],
        "outside": [
            {"id": prompts[row].id, "tokens": checked.counts[row]} for row in checked.outside
        ],
        "unstable": [prompts[row].id for row in checked.unstable],
        "violations": list(checked.violations),
    }
