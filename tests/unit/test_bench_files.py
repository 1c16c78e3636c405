"""Benchmark files: real ones of ``vllm bench serve``, others as documented, and broken ones."""

import gzip
import json
import math
from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.served.benchfiles import Source, read
from tests.unit.benched import (
    DATA,
    LLMPERF_SUMMARY,
    Json,
    aiperf,
    aiperf_summary,
    failing,
    guidellm,
    llmperf,
    run,
    sglang,
    vllm,
    written,
)


@pytest.mark.parametrize(
    ("name", "endpoint", "lengths", "total", "source", "basis"),
    [
        ("vllm-cmpl", "completions", (512,) * 6, 3072, Source.SERVER, "chunks"),
        # llama.cpp's usage rides on a chunk with choices, which the client does not look into.
        ("llama-cmpl", "completions", (512,) * 6, 3072, Source.CLIENT, "chunks"),
        ("llama-chat", "chat", (520,) * 6, 3120, Source.UNKNOWN, "none"),
    ],
)
def test_a_real_file(
    name: str, endpoint: str, lengths: tuple[int, ...], total: int, source: Source, basis: str
) -> None:
    [found] = read(DATA / f"{name}.json")
    assert found.format == "vllm bench serve"
    assert found.traffic.endpoint == endpoint
    assert (found.lengths, found.input_tokens, found.size, found.failed) == (lengths, total, 6, 0)
    assert (found.origin.source, found.origin.basis) == (source, basis)
    assert found.traffic.request_rate == "inf"
    assert found.traffic.concurrency == 2
    assert len(found.sha256) == 64


def test_appended_results_are_runs_with_a_line_each(tmp_path: Path) -> None:
    # `--append-result` writes one JSON after another, each on one line.
    path = written(tmp_path / "r.json", vllm([8]), vllm([9]))
    assert [(one.lengths, one.place) for one in read(path)] == [
        ((8,), f"{path}:1"),
        ((9,), f"{path}:2"),
    ]
    path.write_text(json.dumps(vllm([8])) + json.dumps(vllm([9])), "utf-8")
    assert [one.lengths for one in read(path)] == [(8,), (9,)]


def test_a_file_over_many_lines_with_a_mark_is_one_run(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text("\ufeff" + json.dumps(vllm([8]), indent=2) + "\n", "utf-8")
    assert [one.place for one in read(path)] == [str(path)]


def test_a_failed_request_has_a_length_and_is_in_no_sum(tmp_path: Path) -> None:
    found = run(tmp_path, failing([512] * 6, 2))
    assert (found.size, found.failed, found.lengths, found.input_tokens) == (
        6,
        1,
        (512,) * 5,
        2560,
    )
    assert found.requests is not None
    assert found.requests[2].error == "Bad Request"


def test_a_request_that_failed_without_a_word(tmp_path: Path) -> None:
    document = failing([512] * 6, 2, error="")
    document["generated_texts"][2] = ""
    assert run(tmp_path, document).failed == 1


def test_null_stays_null_and_is_never_zero(tmp_path: Path) -> None:
    found = run(tmp_path, vllm([512, None], total_input_tokens=None))
    assert found.requests is not None
    assert [one.input_tokens for one in found.requests] == [512, None]
    assert found.lengths is None
    assert found.input_tokens is None
    assert found.counted


def test_a_file_without_details_tells_its_totals_only(tmp_path: Path) -> None:
    kept = {key: value for key, value in vllm([8, 8]).items() if not isinstance(value, list)}
    found = run(tmp_path, kept)
    assert (found.requests, found.lengths, found.input_tokens, found.failed) == (None, None, 16, 0)
    assert found.origin.source is Source.UNKNOWN
    assert "--save-detailed" in found.origin.reason


def test_an_older_file_without_the_number_of_failures(tmp_path: Path) -> None:
    kept = {key: value for key, value in vllm([8, 8]).items() if not isinstance(value, list)}
    del kept["failed"]
    assert run(tmp_path, {**kept, "num_prompts": 3}).failed == 1


@pytest.mark.parametrize(
    ("document", "source", "basis"),
    [
        (sglang([500, 512], 1024), Source.SERVER, "count"),
        (sglang([512, 512], 1024, total_input_text_tokens=1024), Source.SERVER, "format"),
        (sglang([512, 512], 1024), Source.UNKNOWN, "none"),
        (sglang(None, 1024), Source.CLIENT, "format"),
    ],
)
def test_sglang(tmp_path: Path, document: Json, source: Source, basis: str) -> None:
    found = run(tmp_path, document)
    assert found.format == "sglang bench_serving"
    assert (found.origin.source, found.origin.basis) == (source, basis)
    assert found.traffic.request_rate == "inf"  # written as Infinity


def test_sglang_s_total_is_the_data_sets_and_its_lengths_are_the_servers(tmp_path: Path) -> None:
    found = run(tmp_path, sglang([500, 512], 1024))
    assert found.claimed.input_tokens == 1024
    assert found.input_tokens == 1012


def test_guidellm_keeps_its_groups_apart(tmp_path: Path) -> None:
    found = run(tmp_path, guidellm([512, 512], errored=[512]))
    assert (found.size, found.failed, found.lengths, found.input_tokens) == (3, 1, (512, 512), 1024)
    assert found.traffic.concurrency == 1
    assert found.traffic.endpoint == "completions"
    assert (found.origin.source, found.origin.basis) == (Source.SERVER, "format")
    assert "without a mark" in found.origin.reason


def test_guidellm_with_cached_tokens_shows_the_servers_usage(tmp_path: Path) -> None:
    document = guidellm([512])
    stats = document["benchmarks"][0]["requests"]["successful"][0]
    stats["input_metrics"]["cached_tokens"] = 0
    assert run(tmp_path, document).origin.basis == "count"


def test_guidellm_without_an_output_count_shows_that_there_was_no_usage(tmp_path: Path) -> None:
    document = guidellm([512, 512])
    document["benchmarks"][0]["requests"]["successful"][1]["output_metrics"]["text_tokens"] = None
    assert run(tmp_path, document).origin.source is Source.CLIENT


def test_guidellm_told_to_prefer_its_own(tmp_path: Path) -> None:
    found = run(tmp_path, guidellm([512], prefer_response_metrics=False))
    assert found.origin.source is Source.CLIENT


def test_guidellm_has_a_run_a_benchmark(tmp_path: Path) -> None:
    document = guidellm([512])
    document["benchmarks"] *= 2
    path = written(tmp_path / "g.json", document)
    assert [one.place for one in read(path)] == [
        f"{path}: benchmarks.0",
        f"{path}: benchmarks.1",
    ]


def test_aiperf_counts_on_the_client(tmp_path: Path) -> None:
    path = written(
        tmp_path / "a.jsonl", aiperf(512), aiperf(510, at=1), aiperf(512, failed=True, at=2)
    )
    [found] = read(path)
    assert (found.place, found.size, found.failed) == (str(path), 3, 1)
    assert (found.lengths, found.claimed.duration) == ((512, 510), 3.0)
    assert found.origin.source is Source.CLIENT


def test_aiperf_with_usage_takes_the_servers_and_leaves_what_is_missing(tmp_path: Path) -> None:
    [found] = read(written(tmp_path / "a.jsonl", aiperf(512, 500), aiperf(512, at=1)))
    assert found.origin.source is Source.SERVER
    assert found.requests is not None
    assert [one.input_tokens for one in found.requests] == [500, None]


def test_aiperf_s_summary_and_genai_perf_s(tmp_path: Path) -> None:
    found = run(tmp_path, aiperf_summary())
    assert (found.requests, found.input_tokens, found.size) == (None, 3072, 6)
    assert (found.traffic.endpoint, found.traffic.concurrency) == ("chat", 2)
    assert found.origin.source is Source.CLIENT


def test_a_warm_up_alone_has_no_count(tmp_path: Path) -> None:
    record = aiperf(512)
    record["metadata"]["benchmark_phase"] = "warmup"
    found = run(tmp_path, record)
    assert (found.size, found.input_tokens, found.counted) == (0, None, False)


def test_llmperf_counts_on_the_client(tmp_path: Path) -> None:
    found = run(tmp_path, [llmperf(512), llmperf(512, 429)])
    assert (found.size, found.failed, found.lengths) == (2, 1, (512,))
    assert found.origin.source is Source.CLIENT


def test_llmperf_s_stray_keys_are_a_misfit(tmp_path: Path) -> None:
    # Its last collection extends the list by a dictionary, which adds the dictionary's keys.
    assert run(tmp_path, [llmperf(512), *llmperf(1)]).misfits


def test_llmperf_s_summary_has_no_count(tmp_path: Path) -> None:
    assert not run(tmp_path, LLMPERF_SUMMARY).counted


def broken(document: Json, **changed: object) -> bytes:
    return json.dumps({**document, **changed}).encode()


TEN = vllm([512])


@pytest.mark.parametrize(
    ("content", "what", "where"),
    [
        (b"", "is empty", ""),
        (b" \n\t ", "is empty", ""),
        (json.dumps(TEN).encode()[:-40], "is cut off", ":1:"),
        (b'{"a": "b', "is cut off", ":1:7"),
        (b"{'a': 1}", "is not JSON", ":1:2"),
        (json.dumps(TEN).encode() + b"\n]", "is not JSON", ":2:1"),
        (gzip.compress(json.dumps(TEN).encode()), "is compressed (gzip)", ""),
        (json.dumps(TEN).encode("utf-16"), "is UTF-16", ""),
        (b'{\n"a": "\xff"}', "is not UTF-8 at byte 8", ":2"),
        (b"[" * 100_000, "is nested too deeply", ""),
        (b'{"model_id": 1' + b"0" * 5000 + b"}", "is not to be read: Exceeds the limit", ""),
        (b'{"completed": 1, "completed": 2}', "the key 'completed' is given twice", ""),
        (b"{}", "is of no format known here: an object with nothing in it", ""),
        (b"[1]", "is of no format known here: a list of 1, first a int", ""),
        (b"null", "is of no format known here", ""),
        (b"NaN", "is of no format known here", ""),
        (json.dumps([TEN]).encode(), "is of no format known here: a list of 1", ""),
        (broken(TEN, input_lens=[-1]), "has the number -1", "input_lens.0"),
        (broken(TEN, input_lens=[10**13]), "has the number 10000000000000", "input_lens.0"),
        (broken(TEN, input_lens=[512.5]), "has the number 512.5", "input_lens.0"),
        (broken(TEN, input_lens=["512"]), "has the text '512'", "input_lens.0"),
        (broken(TEN, input_lens=[True]), "has the truth value true", "input_lens.0"),
        (broken(TEN, input_lens=512), "has the number 512", "input_lens"),
        (broken(TEN, total_input_tokens=math.nan), "has the number nan", "total_input_tokens"),
        (broken(TEN, duration=math.inf), "has the number inf", "duration"),
        (broken(TEN, duration=-1.0), "has the number -1.0", "duration"),
        (broken(TEN, output_throughput=math.nan), "has the number nan", "output_throughput"),
        (broken({"benchmarks": [{"requests": []}]}), "has the list []", "requests"),
        (broken({"benchmarks": []}), "holds no run", ""),
        (broken(aiperf(1), metadata={"request_end_ns": 10**400}), "has the number 1000", "_end_ns"),
        (broken(aiperf(1), error="boom"), "has the text 'boom'", "error"),
        (json.dumps([llmperf(1), llmperf(-1)]).encode(), "has the number -1", ": 1"),
    ],
)
def test_a_broken_file_is_named_with_place_and_reason(
    tmp_path: Path, content: bytes, what: str, where: str
) -> None:
    path = tmp_path / "r.json"
    path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        read(path)
    assert what in caught.value.what
    assert str(caught.value.where).startswith(str(path))
    assert where in str(caught.value.where)
    assert caught.value.expected or caught.value.remedy


def test_what_is_no_ordinary_file(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nothing", Path("/dev/zero"), Path("a\0b")):
        with pytest.raises(UsageError, match="cannot be read"):
            read(path)


def test_results_of_two_programs_in_one_file(tmp_path: Path) -> None:
    path = written(tmp_path / "r.json", vllm([8]), sglang([8], 8))
    with pytest.raises(UsageError, match="no result of vllm bench serve, as the file's first is"):
        read(path)


def test_the_remedy_is_not_yaml_s(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        run(tmp_path, {**TEN, "duration": True})
    assert "YAML" not in str(caught.value)
