"""Benchmark files as their programs write them, to be changed in one place a test.

``vllm`` is the shape of the real files in tests/data/bench. The others are shaped after the
programs' own sources and documentation, with their field names: sglang's
``python/sglang/bench_serving.py``, guidellm's ``src/guidellm/schemas``, aiperf's
``docs/tutorials/working-with-profile-exports.md`` and ``export_models.py``, llmperf's
``token_benchmark_ray.py``. No real file of them was at hand.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.served.benchfiles import Run, read

DATA = Path(__file__).resolve().parents[1] / "data" / "bench"
Json = dict[str, Any]


def written(path: Path, *documents: object) -> Path:
    """Write JSON values, one a line."""
    path.write_text("\n".join(json.dumps(one) for one in documents), "utf-8")
    return path


def run(path: Path, document: object) -> Run:
    """Return the one run of a document."""
    [found] = read(written(path / "result.json", document))
    return found


def vllm(lengths: Sequence[int | None], outputs: int = 16, **changed: object) -> Json:
    """A consistent result of ``vllm bench serve`` that the server counted."""
    rows, duration = len(lengths), 2.0
    total, out = sum(one or 0 for one in lengths), rows * outputs
    return {
        "date": "20261201-024157",
        "endpoint_type": "openai",
        "backend": "openai",
        "label": None,
        "model_id": "m",
        "tokenizer_id": "t",
        "num_prompts": rows,
        "request_rate": "inf",
        "max_concurrency": 1,
        "duration": duration,
        "completed": rows,
        "failed": 0,
        "total_input_tokens": total,
        "total_output_tokens": out,
        "request_throughput": rows / duration,
        "output_throughput": out / duration,
        "total_token_throughput": (total + out) / duration,
        "input_lens": list(lengths),
        "output_lens": [outputs] * rows,
        "ttfts": [0.1] * rows,
        "itls": [[0.01] * (outputs - 1)] * rows,
        "generated_texts": ["x"] * rows,
        "errors": [""] * rows,
        **changed,
    }


def failing(lengths: Sequence[int], row: int, error: str = "Bad Request") -> Json:
    """A result in which one request failed: it has a length and is in no total."""
    done = vllm([one for at, one in enumerate(lengths) if at != row])
    whole = vllm(lengths)
    for name, value in (("output_lens", 0), ("ttfts", 0.0), ("itls", []), ("errors", error)):
        whole[name] = [value if at == row else one for at, one in enumerate(whole[name])]
    kept = ("input_lens", "output_lens", "ttfts", "itls", "generated_texts", "errors")
    return {**done, **{name: whole[name] for name in kept}, "num_prompts": len(lengths)} | {
        "failed": 1
    }


def sglang(lengths: Sequence[int] | None, total: int, **changed: object) -> Json:
    """A line of sglang's ``--output-file``; with lengths as ``--output-details`` adds them."""
    rows = len(lengths or [1, 1])
    details: Mapping[str, object] = {
        "input_lens": lengths,
        "output_lens": [4] * rows,
        "ttfts": [0.1] * rows,
        "itls": [[0.1] * 3] * rows,
        "generated_texts": ["x"] * rows,
        "errors": [""] * rows,
    }
    return {
        "backend": "sglang-oai",
        "dataset_name": "random",
        "request_rate": float("inf"),
        "max_concurrency": None,
        "sharegpt_output_len": None,
        "random_input_len": 512,
        "random_output_len": 4,
        "random_range_ratio": 1.0,
        "duration": 2.0,
        "completed": rows,
        "total_input_tokens": total,
        "total_output_tokens": rows * 4,
        "total_output_tokens_retokenized": rows * 4,
        "request_throughput": rows / 2,
        "input_throughput": total / 2,
        "output_throughput": rows * 2.0,
        **(details if lengths is not None else {}),
        **changed,
    }


def guidellm(lengths: Sequence[int], errored: Sequence[int] = (), **config: object) -> Json:
    """A guidellm report with one benchmark."""

    def stats(length: int, output: int | None, error: str | None = None) -> Json:
        return {
            "type_": "generative_request_stats",
            "request_id": "r",
            "info": {"status": "completed", "error": error},
            "input_metrics": {"text_tokens": length, "cached_tokens": None},
            "output_metrics": {"text_tokens": output},
            "prompt_tokens": length,
            "output_tokens": output,
        }

    counts = {"successful": len(lengths), "errored": len(errored), "incomplete": 0}
    return {
        "metadata": {"version": 2, "guidellm_version": "0.6.0"},
        "config": {},
        "benchmarks": [
            {
                "type_": "generative_benchmark",
                "config": {
                    "prefer_response_metrics": True,
                    "strategy": {"type_": "synchronous"},
                    "backend": {"model": "m", "request_format": "/v1/completions"},
                    **config,
                },
                "metrics": {
                    "request_totals": {**counts, "total": sum(counts.values())},
                    "prompt_token_count": {
                        "successful": {"total_sum": float(sum(lengths)), "count": len(lengths)}
                    },
                    "output_token_count": {"successful": {"total_sum": 4.0 * len(lengths)}},
                },
                "requests": {
                    "successful": [stats(one, 4) for one in lengths],
                    "errored": [stats(one, None, "boom") for one in errored],
                    "incomplete": [],
                },
                "duration": 2.0,
            }
        ],
    }


def aiperf(length: int, usage: int | None = None, *, failed: bool = False, at: int = 0) -> Json:
    """One record of aiperf's ``profile_export.jsonl``."""
    metrics: Json = {"error_isl": {"value": length, "unit": "tokens"}}
    if not failed:
        metrics = {
            "input_sequence_length": {"value": length, "unit": "tokens"},
            "output_sequence_length": {"value": 4, "unit": "tokens"},
            "request_latency": {"value": 297.5, "unit": "ms"},
            "inter_chunk_latency": {"value": [4.8, 5.3], "unit": "ms"},
        }
    if usage is not None:
        metrics["usage_prompt_tokens"] = {"value": usage, "unit": "tokens"}
    start = 1759813207532900363 + at * 10**9
    return {
        "metadata": {
            "session_num": at,
            "request_start_ns": start,
            "request_end_ns": start + 10**9,
            "benchmark_phase": "profiling",
            "was_cancelled": failed,
        },
        "metrics": metrics,
        "error": {"code": 499, "type": "RequestCancellationError", "message": "cancelled"}
        if failed
        else None,
    }


def aiperf_summary(**changed: object) -> Json:
    """aiperf's ``profile_export_aiperf.json``."""
    return {
        "request_throughput": {"unit": "requests/sec", "avg": 3.0},
        "request_count": {"unit": "requests", "avg": 6.0},
        "output_token_throughput": {"unit": "tokens/sec", "avg": 12.0},
        "input_sequence_length": {"unit": "tokens", "avg": 512.0, "min": 512, "max": 512},
        "benchmark_duration": {"unit": "sec", "avg": 2.0},
        "total_isl": {"unit": "tokens", "avg": 3072.0},
        "total_osl": {"unit": "tokens", "avg": 24.0},
        "input_config": {
            "endpoint": {"type": "chat", "streaming": True},
            "loadgen": {"concurrency": 2},
        },
        "was_cancelled": False,
        **changed,
    }


def llmperf(length: int, code: int | None = None) -> Json:
    """One record of llmperf's ``*_individual_responses.json``."""
    return {
        "error_code": code,
        "error_msg": "" if code is None else "too many",
        "inter_token_latency_s": 0.01,
        "ttft_s": 0.1,
        "end_to_end_latency_s": 1.0,
        "request_output_throughput_token_per_s": 4.0,
        "number_total_tokens": length + 4,
        "number_output_tokens": 4,
        "number_input_tokens": length,
    }


LLMPERF_SUMMARY: Json = {
    "version": "2023-08-31",
    "name": "m_550_150_summary",
    "model": "m",
    "mean_input_tokens": 550,
    "num_concurrent_requests": 1,
    "results_number_input_tokens_mean": 550.5,
    "results_num_requests_started": 6,
    "results_number_errors": 0,
    "results_mean_output_throughput_token_per_s": 4.0,
    "results_num_completed_requests": 6,
    "timestamp": 1,
}
