"""Real servers held to their counts: llama.cpp's own, and what a vLLM was recorded to answer."""

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.oracle import Oracle
from harness.toolchain import host_arch
from tests.integration.conftest import TOKPARITY, Command
from tests.served.asking import (
    BOS,
    DEFAULT,
    TOKENIZER,
    TURNS,
    answers,
    judged,
    row,
    verdicts,
    written,
)
from tests.served.gguf_made import Model, make
from tests.served.llama_server import command, free_port, llama_server
from tests.served.replay import PROMPT, replay

MODEL = Model(
    template=BOS + DEFAULT + TURNS, bos="<|bos|>", eos="<|endoftext|>", add_bos=True, context=512
)
SOUND = ("Hello world, naïve café", "Ends in punctuation.", "é", "line\u2028separated", "x <|y", "")
# Another text than NFC makes of it, and longer as it is.
DECOMPOSED = "cafe\u0301 e\u0301"


@pytest.fixture(scope="module")
def gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(TOKENIZER, MODEL, tmp_path_factory.mktemp("model") / "tiny.gguf")


@pytest.fixture(scope="module")
def llama(gguf: Path) -> Iterator[str]:
    with llama_server(gguf, context=MODEL.context) as url:
        yield url


@pytest.fixture(scope="module")
def unopened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A server that puts no token before a prompt, and its tokenizer."""
    place = tmp_path_factory.mktemp("unopened")
    described = json.loads(TOKENIZER.read_text(encoding="utf-8"))
    tokenizer = place / "tokenizer.json"
    tokenizer.write_text(json.dumps({**described, "post_processor": None}), encoding="utf-8")
    model = replace(MODEL, add_bos=False, template=DEFAULT + TURNS)
    with llama_server(make(tokenizer, model, place / "tiny.gguf"), context=512) as url:
        yield url, tokenizer


def chatml(place: Path, *, default: bool = False) -> Path:
    path = place / "chatml.jinja"
    path.write_text(BOS + (DEFAULT if default else "") + TURNS, encoding="utf-8")
    return path


def test_a_sound_server_agrees(llama: str, tmp_path: Path, tokparity: Command) -> None:
    prompts = written(tmp_path / "p.jsonl", *SOUND)
    asked = ("served", llama, "--tokenizer", TOKENIZER, "--prompts", prompts)
    done = tokparity(*asked, "--json")
    assert done.code == 0, done.out + done.err
    [server] = done.report["servers"]
    assert (server["dialect"], server["verdict"], server["verdicts"]) == ("llama.cpp", "agrees", [])
    oracle = Oracle.load(TOKENIZER)
    raw, special = oracle.encode_both(SOUND)
    for number, found in enumerate(server["rows"]):
        due = int(raw.lengths[number]), int(special.lengths[number])
        assert (found["client"]["raw"], found["client"]["special"]) == due
        told = {
            question: {one["prompt_tokens"] for one in answers(found, question)}
            for question in ("plain", "streamed", "streamed-usage")
        }
        assert told == {question: {due[1]} for question in told}
        assert {one["count"] for one in answers(found, "tokenize")} == {due[0]}
        assert {one["count"] for one in answers(found, "tokenize-special")} == {due[1]}
        assert {one["processed"]["count"] for one in answers(found, "processed")} == {due[1]}
        # Both spellings of the body were sent, and are told apart.
        assert {one["spelling"] for one in answers(found, "plain")} == {
            "ascii-escaped",
            "raw-utf-8",
        }
    assert server["receipt"]["method"] == "server_usage"
    assert server["receipt"]["template"] is None
    shown = tokparity(*asked)
    assert shown.code == 0
    assert "verdict: agrees (exit 0)" in shown.out


def test_another_tokenizer_than_the_servers_is_found_by_its_ids(llama: str, tmp_path: Path) -> None:
    """The file is not believed: a vocabulary with two tokens changed round is another."""
    described = json.loads(TOKENIZER.read_text(encoding="utf-8"))
    vocab = described["model"]["vocab"]
    vocab["H"], vocab["x"] = vocab["x"], vocab["H"]
    other = tmp_path / "tokenizer.json"
    other.write_text(json.dumps(described), encoding="utf-8")
    found = judged(llama, written(tmp_path / "p.jsonl", "Hx. xH.", "so", "é"), tokenizer=other)
    assert (found["exit"], set(verdicts(found))) == (8, {"tokenizer"})
    assert verdicts(found)["tokenizer"] == ["1"]
    # As many tokens: no count could have told.
    assert (
        found["rows"][0]["client"]["special"]
        == answers(found["rows"][0], "plain")[0]["prompt_tokens"]
    )


def test_composed_and_decomposed_are_not_one_text_to_it(llama: str, tmp_path: Path) -> None:
    found = judged(llama, written(tmp_path / "p.jsonl", "café é", DECOMPOSED, *SOUND))
    assert (found["exit"], verdicts(found)) == (8, {"tokenizer": ["2"]})
    assert found["causes"]["names"] == ["normalizer-left-out"]
    assert found["causes"]["by"] == "ids"
    assert row(found, "1")["verdict"] == "agrees"


def test_an_array_is_under_reported_and_streamed_as_two_usages(
    unopened: tuple[str, Path], tmp_path: Path
) -> None:
    url, tokenizer = unopened
    prompts = written(tmp_path / "p.jsonl", ["a b c", "d"], "a b c")
    found = judged(url, prompts, tokenizer=tokenizer)
    assert found["exit"] == 8
    assert verdicts(found) == {"under-reported": ["1"], "stream-fault": ["1"]}
    first = row(found, "1")
    assert first["client"]["special"] == 4
    assert {one["prompt_tokens"] for one in answers(first, "plain")} == {3}
    streamed = answers(first, "streamed-usage")[0]["usages"]
    assert [one["prompt_tokens"] for one in streamed] == [3, 1]
    assert "4 tokens were processed" in found["text"]


def test_the_opening_token_written_out_is_there_twice(llama: str, tmp_path: Path) -> None:
    found = judged(llama, written(tmp_path / "p.jsonl", "<|bos|>Hello", "Hello"))
    twice, once = found["rows"]
    counts = [answers(one, "plain")[0]["prompt_tokens"] for one in (twice, once)]
    assert counts == [once["client"]["special"] + 1, once["client"]["special"]]
    assert any("twice" in note for note in twice["notes"]), twice
    assert once["notes"] == []


def test_cached_tokens_stand_apart(llama: str, tmp_path: Path) -> None:
    text = "The same words again and again, so that they come out of the cache."
    found = judged(llama, written(tmp_path / "p.jsonl", text))
    assert found["exit"] == 0
    [only] = found["rows"]
    last = answers(only, "streamed-usage")[0]["usages"][-1]
    assert last["cached_tokens"] == only["client"]["special"] - 1
    assert last["prompt_tokens"] == only["client"]["special"]
    assert "llamacpp:prompt_tokens_total" in found["text"]


def test_too_long_is_refused_with_both_numbers(llama: str, tmp_path: Path) -> None:
    found = judged(llama, written(tmp_path / "p.jsonl", "x " * 600, "short"))
    assert (found["exit"], verdicts(found)) == (6, {"refused": ["1"]})
    limit = answers(row(found, "1"), "plain")[0]["too_long"]
    assert limit == {"count": 1201, "exact": True, "limit": 512}
    assert answers(row(found, "1"), "plain")[0]["prompt_tokens"] is None


def test_a_chat_agrees_with_the_template_of_the_model_file(
    llama: str, gguf: Path, tmp_path: Path
) -> None:
    conversation = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "é?"}]
    prompts = written(tmp_path / "p.jsonl", "Hello world", {"messages": conversation}, "")
    found = judged(llama, prompts, chat=True, gguf=gguf)
    assert (found["exit"], found["verdict"]) == (0, "agrees"), found["text"]
    assert found["receipt"]["template"] == "the GGUF"
    assert all(one["client"]["rendered"] for one in found["rows"])
    # In chat the usage is on an event of its own, and only where it was asked for.
    assert {one["prompt_tokens"] for one in answers(found["rows"][0], "streamed")} == {None}


def test_another_template_is_named(llama: str, gguf: Path, tmp_path: Path) -> None:
    prompts = written(tmp_path / "p.jsonl", "Hello world", "And so on.")
    found = judged(llama, prompts, chat=True, template=chatml(tmp_path), gguf=gguf)
    assert (found["exit"], verdicts(found)) == (8, {"template": ["1", "2"]}), found["text"]
    assert "the GGUF" in found["templates"]
    assert found["receipt"]["template"] == "chatml.jinja"


def test_a_template_with_more_than_the_servers_is_not_called_truncation(
    unopened: tuple[str, Path], tmp_path: Path
) -> None:
    """The text that the server processes is the end of ours, and nothing was cut off it."""
    url, tokenizer = unopened
    path = tmp_path / "t.jinja"
    path.write_text("<|im_start|>user\nOne turn more.<|im_end|>\n" + DEFAULT + TURNS)
    prompts = written(tmp_path / "p.jsonl", "Hello world", "And so on.")
    found = judged(url, prompts, chat=True, template=path, tokenizer=tokenizer)
    assert (found["exit"], verdicts(found)) == (8, {"template": ["1", "2"]}), found["text"]


def test_another_template_is_seen_though_the_opening_token_is_not_told(
    llama: str, tmp_path: Path
) -> None:
    """It counts among the tokens processed, and the text of the template endpoint is without."""
    path = tmp_path / "t.jinja"
    path.write_text("### {{ messages[-1].content }}\n### answer:\n", encoding="utf-8")
    found = judged(llama, written(tmp_path / "p.jsonl", "Hello"), chat=True, template=path)
    assert (found["exit"], verdicts(found)) == (8, {"template": ["1"]}), found["text"]
    assert found["templates"] == []


def test_a_template_that_fits_no_shape_is_not_named(llama: str, tmp_path: Path) -> None:
    """Without the opening token every count is off by one, which proves nothing."""
    path = tmp_path / "t.jinja"
    path.write_text(DEFAULT + TURNS, encoding="utf-8")
    found = judged(llama, written(tmp_path / "p.jsonl", "Hello"), chat=True, template=path)
    assert found["templates"] == []
    assert "+1" in found["text"]
    # Its own doing: the template names a token, and no file beside it says which.
    path.write_text(BOS + DEFAULT + TURNS, encoding="utf-8")
    found = judged(llama, written(tmp_path / "p.jsonl", "Hello"), chat=True, template=path)
    assert "t.jinja: writes bos_token, and no file here says which token that is" in found["text"]
    assert "proves nothing" in found["text"]


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("{% for i in range(10**12) %}{% endfor %}", "t.jinja: the template fails: Overflow"),
        ("{{ raise_exception('no such thing') }}", "refuses the messages: no such thing"),
        ("{{ messages.pop() }}", "what the sandbox forbids"),
        ("{% if %}", "is no template: line 1"),
    ],
)
def test_a_template_that_gives_no_text_gives_no_count(
    llama: str, tmp_path: Path, template: str, words: str
) -> None:
    path = tmp_path / "t.jinja"
    path.write_text(template, encoding="utf-8")
    found = judged(llama, written(tmp_path / "p.jsonl", "Hello"), chat=True, template=path)
    assert (found["exit"], verdicts(found)) == (6, {"no-count": ["1"]}), found["text"]
    assert words in found["text"]
    assert found["rows"][0]["client"]["rendered"] is None


def test_bands_and_what_a_preflight_spends(llama: str, tmp_path: Path, tokparity: Command) -> None:
    texts = [f"{number} " + "x " * 20 for number in range(4)]
    lengths = Oracle.load(TOKENIZER).encode(texts).lengths.tolist()
    assert len(set(lengths)) == 1
    meta = {"target": lengths[0], "tolerance": 2, "count": 4, "boundary": "raw"}
    prompts = written(tmp_path / "p.jsonl", *texts, meta=meta)
    found = judged(llama, prompts, preflight=True)
    assert (found["exit"], found["preflight"]["sent"]) == (0, 4)
    assert found["bands"]["client"]["margins"] == {"lower": 2, "upper": 2}
    assert found["bands"]["server"]["state"] == "held"
    # Rendered, the opening token is in it: out of a band that has no room for it.
    found = judged(llama, prompts_with(prompts, {"target": lengths[0], "boundary": "rendered"}))
    assert (found["exit"], found["bands"]["server"]["state"]) == (7, "broken")
    # The file is not as it says, so nothing is spent on it.
    wrong = prompts_with(prompts, {**meta, "count": 5})
    done = tokparity(
        "served", llama, "--tokenizer", TOKENIZER, "--prompts", wrong, "--preflight", "--json"
    )
    assert done.code == 7
    assert done.report["servers"][0]["preflight"]["sent"] == 0


def prompts_with(path: Path, meta: dict[str, Any]) -> Path:
    other = path.with_name("other.jsonl")
    rows = path.read_text(encoding="utf-8").splitlines()[1:]
    return written(other, *(json.loads(one) for one in rows), meta=meta)


def test_servers_side_by_side_one_of_them_started(
    llama: str, gguf: Path, tmp_path: Path, tokparity: Command
) -> None:
    port = free_port()
    written(tmp_path / "p.jsonl", "Hello world", "é")
    config = {
        "served": {
            "tokenizer": str(TOKENIZER),
            "prompts": "p.jsonl",
            "servers": [
                {"name": "running", "url": llama},
                {
                    "url": f"http://127.0.0.1:{port}",
                    "server": {
                        "command": command(gguf, port, 512),
                        "lane": f"{host_arch()}-linux-gnu/default/native",
                    },
                },
                {"name": "gone", "url": "http://127.0.0.1:1"},
            ],
        }
    }
    (tmp_path / "tokparity.yaml").write_text(json.dumps(config), encoding="utf-8")
    done = tokparity("served", "--json", cwd=tmp_path)
    assert done.code == 6, done.err
    running, started, gone = done.report["servers"]
    assert (running["verdict"], started["verdict"], gone["verdict"]) == ("agrees", "agrees", None)
    assert started["name"] == f"{host_arch()}-linux-gnu/default/native"
    assert "127.0.0.1:1" in gone["failure"]
    assert gone["rows"] == []
    # It was ended for good.
    again = judged(f"http://127.0.0.1:{port}", tmp_path / "p.jsonl")
    assert again["failure"] is not None


def test_an_interrupt_ends_it_at_once(llama: str, tmp_path: Path) -> None:
    prompts = written(tmp_path / "p.jsonl", *(f"prompt {number}" for number in range(3000)))
    argv = [TOKPARITY, "served", llama, "--tokenizer", TOKENIZER, "--prompts", prompts]
    process = subprocess.Popen(
        list(map(str, argv)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (130, ""), err
    assert time.monotonic() - began < 5
    assert "interrupted" in err


def test_a_recorded_vllm_agrees(tmp_path: Path, real_tokenizers: Path) -> None:
    with replay() as url:
        prompts = written(tmp_path / "p.jsonl", PROMPT)
        found = judged(url, prompts, tokenizer="qwen2.5", cache=real_tokenizers)
    assert (found["dialect"], found["exit"], found["verdict"]) == ("vllm", 0, "agrees")
    [only] = found["rows"]
    assert answers(only, "processed")[0]["processed"]["count"] == 6
    assert {one["prompt_tokens"] for one in answers(only, "streamed")} == {None}


def test_a_recorded_vllm_truncates(tmp_path: Path, real_tokenizers: Path) -> None:
    with replay(truncating=True) as url:
        prompts = written(tmp_path / "p.jsonl", PROMPT * 4)
        found = judged(url, prompts, tokenizer="qwen2.5", cache=real_tokenizers)
    assert found["exit"] == 8
    assert verdicts(found)["truncated"] == ["1"]
    assert "truncated to 16 tokens, the end kept" in found["text"]


def test_the_figures_of_the_public_reports(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, real_tokenizers: Path
) -> None:
    """14 tokens as they are, 22 in bare ChatML, 43 with the model's default system message."""
    sha256 = "c0382117ea329cdf097041132f6d735924b697924d6f6fc3945713e96ce87539"
    tokenizer = real_tokenizers / "tokenizers" / f"{sha256}.json"
    config = json.loads(tokenizer.with_suffix(".config.json").read_text(encoding="utf-8"))
    model = Model(template=config["chat_template"], eos="<|im_end|>")
    place = tmp_path_factory.mktemp("qwen")
    sum_ = "What is 2 + 2? Reply with just the number."
    long = "The quick brown fox jumps over the lazy dog. " * 50 + "And so it was."
    prompts = written(tmp_path / "p.jsonl", sum_, long)
    with llama_server(make(tokenizer, model, place / "tiny.gguf")) as url:
        given: dict[str, Any] = {"tokenizer": "qwen2.5", "cache": real_tokenizers}
        plain = judged(url, prompts, **given)
        chat = judged(url, prompts, chat=True, **given)
        bare = tmp_path / "chatml.jinja"
        bare.write_text(TURNS, encoding="utf-8")
        wrapped = judged(url, prompts, chat=True, template=bare, **given)
    assert [plain["exit"], chat["exit"], wrapped["exit"]] == [0, 0, 8]
    for number, lengths in enumerate([(14, 22, 43), (505, 513, 534)]):
        told = [one["rows"][number]["client"] for one in (plain, wrapped, chat)]
        assert (told[0]["special"], told[1]["rendered"], told[2]["rendered"]) == lengths
        counts = [
            answers(one["rows"][number], "plain")[0]["prompt_tokens"] for one in (plain, chat)
        ]
        assert counts == [lengths[0], lengths[2]]
    assert set(verdicts(wrapped)) == {"template"}
    assert any("Qwen2.5" in name for name in wrapped["templates"])
