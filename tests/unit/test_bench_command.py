"""``tokparity bench`` as it is typed: output, exit codes, and nothing hostile in either."""

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.cli.root import outcome
from harness.errors import UsageError
from harness.oracle import Oracle
from harness.places import bundled
from harness.served.bench_json import dumps
from harness.served.bench_text import render
from harness.served.benchmark import Asked, judge
from harness.served.bias import cost_of_rate
from harness.served.prompts import read_prompts
from tests.unit.benched import (
    DATA,
    LLMPERF_SUMMARY,
    aiperf,
    aiperf_summary,
    failing,
    guidellm,
    llmperf,
    sglang,
    vllm,
    written,
)

Typed = Callable[..., tuple[int, str, str]]
TOKENIZER = bundled("goldens") / "bundled" / "tokenizer.json"


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Typed:
    """Type a command; return its exit code, its output and its complaints."""

    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["tokparity", "bench", *map(str, words)])
        code = outcome()
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


def counts(texts: Sequence[str]) -> list[int]:
    found: list[int] = Oracle.load(TOKENIZER).encode(list(texts)).lengths.tolist()
    return found


@pytest.mark.parametrize(
    ("name", "options", "code"),
    [
        ("vllm-cmpl", ["--expect", "512"], 0),
        ("vllm-cmpl", ["--expect", "513"], 7),
        ("vllm-cmpl", ["--expect", "513", "--tolerance", "1"], 0),
        ("vllm-cmpl", [], 7),
        ("llama-cmpl", ["--expect", "512"], 7),
        ("llama-chat", ["--expect", "512"], 7),
        ("llama-chat", ["--expect", "520", "--boundary", "rendered"], 7),
    ],
)
def test_the_real_files(typed: Typed, name: str, options: list[str], code: int) -> None:
    found, out, err = typed(DATA / f"{name}.json", *options)
    assert (found, err) == (code, "")
    assert f"binding eligible: {'NO' if code else 'yes'}" in out
    assert typed(DATA / f"{name}.json", *options, "--json")[0] == code


def test_the_receipt_is_in_the_json(typed: Typed) -> None:
    _, out, _ = typed(DATA / "vllm-cmpl.json", "--expect", 512, "--json")
    document = json.loads(out)
    assert document["schema"] == "tokparity-bench/1"
    assert (document["exit"], document["binding_eligible"], document["reasons"]) == (0, True, [])
    [run] = document["runs"]
    assert run["input_lengths"] == [512] * 6
    assert run["request_rate"] == "inf"
    receipt = run["receipt"]
    assert (receipt["method"], receipt["boundary"], receipt["tokenizer_sha256"]) == (
        "server_usage",
        "raw",
        None,
    )


def test_a_vacuous_pass_says_so(typed: Typed) -> None:
    _, out, _ = typed(DATA / "llama-cmpl.json", "--expect", 512)
    assert "vacuously" in out
    assert "usage was ignored" in out


def test_the_first_public_report(typed: Typed, tmp_path: Path) -> None:
    lengths = [1024, 1024, 915, 1024, 1024, 931]
    path = written(
        tmp_path / "r.json",
        vllm(
            lengths,
            duration=174.39,
            request_throughput=None,
            output_throughput=None,
            total_token_throughput=None,
        ),
    )
    code, out, _ = typed(path, "--expect", 1024, "--prefill-ms-per-token", 1.027)
    assert code == 7
    assert "5,942 of 6,144 tokens, 202 missing" in out
    assert "202 missing tokens are 0.2075 s" in out
    assert "output throughput is off by at least +0.119 %" in out


def test_the_second_public_report(typed: Typed, tmp_path: Path) -> None:
    lengths = [1024] * 44 + [504] * 4
    assert sum(lengths) == 47072
    rates = ("request_throughput", "output_throughput", "total_token_throughput")
    files = [
        written(
            tmp_path / f"{number}.json",
            vllm(
                lengths,
                outputs=128,
                max_concurrency=4,
                duration=271.4 * (1 + number * 0.000478),
                **dict.fromkeys(rates),
            ),
        )
        for number in (-1, 0, 1)
    ]
    code, out, _ = typed(*files, "--expect", 1024, "--prefill-rate", "1300:1800")
    assert code == 7
    assert "47,072 of 49,152 tokens, 2,080 missing" in out
    assert "2,080 missing tokens are 1.156 to 1.6 s" in out
    assert "off by about +0.43 to +0.59 %, 8.9 to 12 times the spread of the repetitions" in out
    assert "0.0390 % (population), 0.0478 % (sample)" in out


def test_a_file_without_any_count(typed: Typed, tmp_path: Path) -> None:
    code, out, _ = typed(written(tmp_path / "s.json", LLMPERF_SUMMARY), "--expect", 512)
    assert code == 6
    assert "the file has no count of input tokens" in out


def test_prompts_are_counted_and_the_short_one_is_named(typed: Typed, tmp_path: Path) -> None:
    texts = ["The first prompt of three.", "e\u0301tude", "Another, and quite another length"]
    due = counts(texts)
    prompts = written(tmp_path / "p.jsonl", *({"prompt": one} for one in texts))
    whole = written(tmp_path / "whole.json", vllm(due))
    options = ("--prompts", prompts, "--tokenizer", TOKENIZER)
    code, out, _ = typed(whole, *options, "--json")
    document: dict[str, Any] = json.loads(out)
    assert (code, document["reasons"]) == (0, [])
    receipt = document["runs"][0]["receipt"]
    assert receipt["tokenizer_sha256"] == Oracle.load(TOKENIZER).sha256
    assert receipt["target_method"] == "client_tokenizer"
    assert receipt["method"] == "server_usage"
    short = written(tmp_path / "short.json", vllm([due[0], due[1] - 1, due[2]]))
    code, out, _ = typed(short, *options)
    assert code == 7
    assert f"request 2: {due[1] - 1} of {due[1]}, 1 missing: 2" in out
    assert "in common: marks:1 (1 of the 1 that are off, 0 others), nfd" in out


def test_a_prompt_file_alone(typed: Typed, tmp_path: Path) -> None:
    texts = ["one prompt", "another one"]
    due = counts(texts)
    half = max(due) - min(due) + 1
    meta = {"target": due[0], "tolerance": half, "count": 2, "boundary": "raw"}
    path = written(tmp_path / "p.jsonl", {"_meta": meta}, *texts)
    code, out, _ = typed("--prompts", path, "--tokenizer", TOKENIZER)
    assert code == 0
    assert "from its lower edge" in out
    written(path, {"_meta": {**meta, "tolerance": 0, "target": due[0] + 50}}, *texts)
    code, out, _ = typed("--prompts", path, "--tokenizer", TOKENIZER)
    assert code == 7
    assert "out of the band" in out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "there is nothing to judge"),
        (["FILE", "--prompts", "PROMPTS"], "prompts are counted with a tokenizer"),
        (["FILE", "--prompts", "PROMPTS", "--boundary", "rendered"], "the chat template"),
        (["FILE", "--prompts", "META", "--tokenizer", "T", "--expect", "9"], "two targets"),
        (["FILE", "--prompts", "META", "--boundary", "rendered"], "two boundaries"),
        (["FILE", "--prefill-ms-per-token", "1", "--prefill-rate", "1:2"], "two costs"),
        (["FILE", "--prefill-ms-per-token", "nan"], "is not a number"),
        (["FILE", "--prefill-rate", "2:1"], "is no rate"),
        (["FILE", "--prefill-rate", "0:1"], "is no rate"),
        (["FILE", "--prefill-rate", "fast"], "is no rate"),
        (["FILE", "--prefill-rate", "1e-320"], "is no rate"),
        (["FILE", "--tokenizer", "qwen33"], "no tokenizer that has a name here"),
        (["FILE", "--expect", "0"], "0 is not in the range"),
        (["nowhere.json"], "cannot be read: No such file"),
        (["DIRECTORY"], "cannot be read: Is a directory"),
    ],
)
def test_usage_is_exit_2(typed: Typed, tmp_path: Path, words: list[str], complaint: str) -> None:
    named = {
        "FILE": written(tmp_path / "r.json", vllm([8])),
        "PROMPTS": written(tmp_path / "p.jsonl", "alpha"),
        "META": written(tmp_path / "m.jsonl", {"_meta": {"target": 8, "boundary": "raw"}}, "alpha"),
        "T": TOKENIZER,
        "DIRECTORY": tmp_path,
    }
    code, out, err = typed(*(named.get(one, one) for one in words))
    assert (code, out) == (2, "")
    assert complaint in " ".join(err.split())
    assert "Traceback" not in err


def test_hostile_content_is_escaped(typed: Typed, tmp_path: Path) -> None:
    hostile = "\x1b[2J\u202e\x07\ud800::error::"
    path = tmp_path / "\x1b[31mr.json"
    written(path, failing([8, 8], 1, error=hostile) | {"model_id": hostile})
    for options in ([], ["--json"]):
        _, out, err = typed(path, "--expect", 8, *options)
        assert not set("\x1b\u202e\x07\x7f") & set(out + err)
    path.write_text('{"\\u001b[2J": 1}', "utf-8")
    code, out, err = typed(path)
    assert code == 2
    assert "\x1b" not in out + err


ODD: tuple[Any, ...] = (
    None, True, -1, 0, 10**13, 10**400, 1.5, float("nan"), float("inf"), -0.0, "", "\ud800", [], {},
    [None], ["x"], {"value": "x"}, [[]],
)  # fmt: skip


def changed(value: Any, chance: random.Random) -> Any:  # noqa: ANN401 - any JSON
    """Return a JSON value with one part of it replaced by something odd, or left out."""
    if not isinstance(value, dict | list) or not value or chance.random() < 0.1:
        return chance.choice(ODD)
    keys: list[Any] = list(value) if isinstance(value, dict) else list(range(len(value)))
    key, copy = chance.choice(keys), value.copy()
    if chance.random() < 0.2:
        del copy[key]
    else:
        copy[key] = changed(copy[key], chance)
    return copy


@pytest.mark.parametrize(
    "document",
    [
        vllm([8, 8]),
        sglang([8, 8], 16),
        guidellm([8], errored=[8]),
        aiperf(8, 8),
        aiperf_summary(),
        [llmperf(8), llmperf(8, 429)],
        LLMPERF_SUMMARY,
    ],
)
def test_no_oddity_is_a_bug(tmp_path: Path, document: Any) -> None:  # noqa: ANN401 - any JSON
    chance = random.Random(5)  # noqa: S311 - no secret
    prompts = tmp_path / "p.jsonl"
    for _ in range(100):
        path = written(tmp_path / "r.json", changed(document, chance))
        written(prompts, changed([{"_meta": {"target": 8}}, "a", {"prompt": "b"}], chance))
        try:
            read_prompts(prompts)
        except UsageError as error:
            assert error.where
        try:
            found = judge(Asked((path,), expect=8, cost=cost_of_rate(10, 20)))
        except UsageError as error:
            assert error.where
            continue
        assert render(found)
        assert json.loads(dumps(found))["exit"] in (0, 6, 7)


def test_a_bug_is_not_the_answer_to_any_cut(typed: Typed, tmp_path: Path) -> None:
    whole = json.dumps(vllm([8, 8])).encode()
    path = tmp_path / "r.json"
    for end in range(0, len(whole), 7):
        path.write_bytes(whole[:end])
        code, _, err = typed(path, "--expect", 8)
        assert code == 2, err
