"""Guards, each with a defect planted for it; who counted; which requests are short."""

from pathlib import Path

import pytest

from harness.served.benchfiles import Run, Source, read
from harness.served.consistency import contradictions
from harness.served.guards import guards, reasons
from harness.served.origin import from_stream
from harness.served.prompts import Checked, Meta, Prompt, PromptFile, check
from harness.served.receipt import receipt
from harness.served.shortfall import shortfall
from harness.served.target import Target
from tests.unit.benched import DATA, Json, failing, guidellm, llmperf, run, sglang, vllm


def expect(length: int, tolerance: int = 0, boundary: str = "raw") -> Target:
    return Target(length, None, tolerance, "raw" if boundary == "raw" else "rendered", "given")


def counts(*lengths: int) -> Target:
    return Target(None, lengths, 0, "raw", "client_tokenizer")


def prompts(*texts: str, meta: Meta | None = None) -> Checked:
    file = PromptFile(
        Path("p"),
        "0" * 64,
        meta or Meta(),
        tuple(Prompt(str(row + 1), text) for row, text in enumerate(texts)),
    )
    return check(file, [len(one) for one in texts], [True] * len(texts), band=None)


def states(found: Run, target: Target | None, checked: Checked | None = None) -> dict[str, str]:
    short = None if target is None else shortfall(found, target)
    return {one.name: one.state for one in guards(found, target, short, checked)}


def objections(found: Run, target: Target | None, checked: Checked | None = None) -> list[str]:
    short = None if target is None else shortfall(found, target)
    return [one.partition(":")[0] for one in reasons(guards(found, target, short, checked))]


def test_the_file_that_a_real_vllm_made_is_eligible() -> None:
    [found] = read(DATA / "vllm-cmpl.json")
    assert objections(found, expect(512)) == []
    assert states(found, expect(512))["lengths"] == "pass"


def test_the_file_in_which_usage_was_ignored_passes_vacuously_and_is_not_eligible() -> None:
    [found] = read(DATA / "llama-cmpl.json")
    state = states(found, expect(512))
    assert (state["total"], state["lengths"]) == ("vacuous", "vacuous")
    assert objections(found, expect(512)) == ["origin", "total", "lengths"]


def test_a_boundary_that_is_not_checked_says_why(tmp_path: Path) -> None:
    def words(found: Run, target: Target | None) -> str:
        short = None if target is None else shortfall(found, target)
        [one] = [one for one in guards(found, target, short, None) if one.name == "boundary"]
        assert one.state == "unchecked"
        return one.words

    [said] = read(DATA / "vllm-cmpl.json")
    assert words(said, None) == "there is no target: --expect or --prompts"
    silent = run(tmp_path, vllm([512], endpoint_type=None, backend=None))
    assert words(silent, expect(512)) == "the file does not say which endpoint was used"


def test_a_chat_file_on_the_raw_boundary() -> None:
    [found] = read(DATA / "llama-chat.json")
    short = shortfall(found, expect(512))
    assert (short.constant, short.missing, len(short.off)) == (8, -48, 6)
    assert set(objections(found, expect(512))) == {"origin", "total", "lengths", "boundary"}
    words = [one.words for one in guards(found, expect(512), short, None) if one.name == "lengths"]
    assert "one offset proves neither" in words[0]
    assert objections(found, expect(520, boundary="rendered")) == ["origin"]


@pytest.mark.parametrize(
    ("document", "target", "objecting"),
    [
        (vllm([512] * 6), expect(512), []),
        (vllm([512] * 5 + [511]), expect(512), ["total", "lengths"]),
        (vllm([512] * 5 + [511]), expect(512, 1), []),
        (vllm([513] + [512] * 4 + [511]), expect(512), ["lengths"]),
        (vllm([514] + [512] * 4 + [511]), expect(512, 1), ["lengths"]),
        (failing([512] * 6, 2), expect(512), ["failures"]),
        (failing([512] * 6, 2), counts(*[512] * 6), ["failures"]),
        (vllm([512] * 6), counts(*[512] * 5), ["corpus", "total", "lengths"]),
        (vllm([512] * 5), counts(*[512] * 6), ["corpus"]),
        (vllm([10, 20]), counts(10, 20), []),
        (vllm([10, 19]), counts(10, 20), ["total", "lengths"]),
        (vllm([512, None], total_input_tokens=512), expect(512), ["total", "lengths"]),
        (vllm([512], total_input_tokens=None, input_lens=None), expect(512), None),
        (vllm([512], endpoint_type="openai-chat"), expect(512), ["origin", "boundary"]),
        (vllm([512], total_input_tokens=500), expect(512), ["total", "consistent"]),
        (guidellm([512, 512]), expect(512), []),
        (guidellm([512, 512], errored=[512]), expect(512), ["failures"]),
        (sglang([512, 500], 1024), expect(512), ["total", "lengths"]),
        ([llmperf(512)], expect(512), ["origin", "total", "lengths"]),
        (vllm([512]), None, ["total", "lengths"]),
    ],
)
def test_each_defect_is_met_by_its_guard(
    tmp_path: Path, document: object, target: Target | None, objecting: list[str] | None
) -> None:
    found = run(tmp_path, document)
    if objecting is None:
        assert {"counted", "origin", "total", "lengths"} <= set(objections(found, target))
    else:
        assert objections(found, target) == objecting


@pytest.mark.parametrize("target", [expect(8), counts(8, 8)])
def test_a_claim_of_a_million_million_requests_costs_no_time(
    tmp_path: Path, target: Target
) -> None:
    kept = {key: value for key, value in vllm([8]).items() if not isinstance(value, list)}
    found = run(tmp_path, kept | {"completed": 10**12, "num_prompts": 10**12})
    assert not {"total", "consistent"} - set(objections(found, target))


def test_prompts_in_another_order_are_the_same_corpus(tmp_path: Path) -> None:
    found = run(tmp_path, vllm([20, 10, 30]))
    short = shortfall(found, counts(10, 20, 30))
    assert (short.off, short.missing, short.reordered) == ((), 0, True)
    assert objections(found, counts(10, 20, 30)) == []


def test_prompts_that_stand_twice(tmp_path: Path) -> None:
    found = run(tmp_path, vllm([3, 3]))
    assert objections(found, counts(3, 3), prompts("abc", "abd")) == []
    assert objections(found, counts(3, 3), prompts("abc", "abc")) == ["distinct", "prompts"]


def test_words_of_one_and_of_many(tmp_path: Path) -> None:
    one = run(tmp_path, vllm([3]))
    words = {got.name: got.words for got in guards(one, counts(3), None, prompts("abc"))}
    assert words["corpus"] == "1 request, one a prompt"
    assert words["distinct"] == "the one prompt is distinct"
    assert words["total"].endswith("the sum of 1 prompt")
    two = run(tmp_path, vllm([3, 3]))
    words = {got.name: got.words for got in guards(two, counts(3), None, prompts("abc", "abc"))}
    assert words["corpus"] == "2 requests, and the file has 1 prompt"
    assert words["distinct"].startswith("1 prompt stands twice")


def test_a_prompt_file_that_is_not_as_it_says(tmp_path: Path) -> None:
    found = run(tmp_path, vllm([3]))
    assert objections(found, counts(3), prompts("abc", meta=Meta(count=2))) == ["prompts"]


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (vllm([8, 8], total_input_tokens=15, total_token_throughput=23.5), "says 15 input tokens"),
        (
            failing([8, 8], 0) | {"total_input_tokens": 16, "total_token_throughput": 16.0},
            "has the failed requests in it",
        ),
        (vllm([8, 8], completed=3, request_throughput=1.5), "says that 3 requests completed"),
        (vllm([8, 8], failed=1), "says that 1 requests failed, and 0 did"),
        (vllm([8, 8], num_prompts=3), "says that 3 prompts were sent"),
        (
            vllm(
                [8, 8], total_output_tokens=31, output_throughput=15.5, total_token_throughput=23.5
            ),
            "says 31 output tokens",
        ),
        (vllm([8, 8], duration=3.0), "requests a second"),
        (vllm([8, 8], duration=0.0), "in no time at all"),
        (vllm([8, 8], output_throughput=17.0), "output tokens a second"),
        (vllm([8, 8], total_token_throughput=25.0), "tokens a second"),
        (vllm([8, 8], output_lens=[16]), "output_lens has 1 entries and input_lens 2"),
        ([llmperf(8), "ttft_s"], "1 entries of the list are no requests"),
    ],
)
def test_what_a_file_says_twice_and_not_alike(tmp_path: Path, document: object, words: str) -> None:
    found = contradictions(run(tmp_path, document))
    assert any(words in one for one in found), found


@pytest.mark.parametrize(
    "document",
    [vllm([8, 8]), failing([8, 8, 8], 1), sglang([7, 8], 16), guidellm([8], errored=[8])],
)
def test_a_file_that_does_not_contradict_itself(tmp_path: Path, document: Json) -> None:
    assert contradictions(run(tmp_path, document)) == ()


@pytest.mark.parametrize("name", ["vllm-cmpl", "llama-cmpl", "llama-chat"])
def test_the_real_files_do_not_contradict_themselves(name: str) -> None:
    [found] = read(DATA / f"{name}.json")
    assert contradictions(found) == ()


# What Qwen3's tokenizer makes of the generated texts of the three files: measured.
@pytest.mark.parametrize(
    ("name", "texts", "source", "basis"),
    [
        ("vllm-cmpl", [16, 16, 16, 32, 16, 16], Source.SERVER, "text"),
        ("llama-cmpl", [8] * 6, Source.CLIENT, "text"),
        ("llama-chat", [8] * 6, Source.SERVER, "text"),
        # Another tokenizer than the client's decides nothing against the chunks.
        ("llama-cmpl", [9] * 6, Source.CLIENT, "chunks"),
        # Where the text encodes to what was generated it refutes nothing.
        ("vllm-cmpl", [16] * 6, Source.SERVER, "chunks"),
        ("llama-chat", [16] * 6, Source.UNKNOWN, "none"),
        ("llama-chat", [None] * 6, Source.UNKNOWN, "none"),
    ],
)
def test_the_text_tells_who_counted(
    name: str, texts: list[int | None], source: Source, basis: str
) -> None:
    [found] = read(DATA / f"{name}.json")
    assert found.requests is not None
    origin = from_stream(found.requests, found.traffic.endpoint, texts)
    assert (origin.source, origin.basis) == (source, basis)


def test_one_request_counted_from_the_text_is_enough(tmp_path: Path) -> None:
    document = vllm([512] * 3)
    document["output_lens"] = [16, 9, 16]
    assert run(tmp_path, document).origin.source is Source.CLIENT


@pytest.mark.parametrize(
    ("texts", "source"),
    [([16, 16, 17], Source.SERVER), ([17, 17, 16], Source.UNKNOWN), ([16] * 3, Source.UNKNOWN)],
)
def test_several_tokens_a_chunk(tmp_path: Path, texts: list[int | None], source: Source) -> None:
    found = run(tmp_path, vllm([512] * 3, itls=[[0.1] * 7] * 3))
    assert found.origin.source is Source.UNKNOWN
    assert found.requests is not None
    assert from_stream(found.requests, "completions", texts).source is source


def test_requests_that_may_be_in_another_order(tmp_path: Path) -> None:
    found, target = run(tmp_path, vllm([20, 10, 29])), counts(10, 20, 30)
    why = reasons(guards(found, target, shortfall(found, target), None))
    assert any("in the prompts' order?" in one for one in why)


def test_without_streamed_chunks_nobody_knows(tmp_path: Path) -> None:
    document = vllm([512] * 3, ttfts=[0.0] * 3, itls=[[]] * 3)
    assert run(tmp_path, document).origin.source is Source.UNKNOWN


def test_which_requests_are_short_and_what_they_have_in_common(tmp_path: Path) -> None:
    traits = [frozenset(one) for one in (["nfd", "long"], ["ascii", "long"], ["nfd"], ["ascii"])]
    short = shortfall(run(tmp_path, vllm([915, 1024, 1000, 1024])), expect(1024), traits)
    assert [(one.row, one.missing, one.traits) for one in short.off] == [
        (0, 109, ("long", "nfd")),
        (2, 24, ("nfd",)),
    ]
    assert short.missing == 133
    # `long` is as frequent among the others, and tells nothing.
    assert [(one.trait, one.off, one.others) for one in short.common] == [("nfd", 2, 0)]


def test_a_length_that_is_not_known_makes_the_shortfall_a_least(tmp_path: Path) -> None:
    short = shortfall(run(tmp_path, vllm([1000, None])), expect(1024))
    assert (short.missing, short.unknown, short.at_least) == (24, 1, True)


@pytest.mark.parametrize(
    ("document", "method"),
    [
        (vllm([8]), "server_usage"),
        ([llmperf(8)], "client_tokenizer"),
        (sglang([8, 8], 16), None),
        (vllm([8], input_lens=None, total_input_tokens=None), None),
    ],
)
def test_a_receipt_names_the_method_that_was_used(
    tmp_path: Path, document: object, method: str | None
) -> None:
    given = {"tokenizer_sha256": "a" * 64, "prompts_sha256": "b" * 64}
    found = receipt(run(tmp_path, document), expect(8), **given, eligible=False).to_dict()
    assert found["method"] == method
    # A tokenizer that counted nothing here is not named, although there was one.
    assert (found["tokenizer_sha256"], found["prompts_sha256"]) == (None, None)
    assert found["target_method"] == "given"
    assert found["boundary"] == "raw"


def test_a_receipt_names_the_tokenizer_that_counted_the_prompts(tmp_path: Path) -> None:
    given = {"tokenizer_sha256": "a" * 64, "prompts_sha256": "b" * 64}
    found = receipt(run(tmp_path, vllm([8])), counts(8), **given, eligible=True)
    assert (found.tokenizer_sha256, found.target_method) == ("a" * 64, "client_tokenizer")
    assert "a" * 64 in str(found)


def test_a_receipt_without_a_target_claims_no_boundary(tmp_path: Path) -> None:
    found = receipt(
        run(tmp_path, vllm([8])),
        None,
        tokenizer_sha256="a" * 64,
        prompts_sha256=None,
        eligible=False,
    )
    assert (found.boundary, found.tokenizer_sha256, found.target_method) == (None, None, None)
