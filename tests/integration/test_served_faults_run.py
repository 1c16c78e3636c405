"""A real server behind a proxy that does to its answers what no real server does on demand."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.errors import UsageError
from harness.served.live.http import Limits
from tests.served import fault_proxy as faults
from tests.served.asking import TOKENIZER, answers, judged, row, verdicts, written
from tests.served.fault_proxy import Fault, fault_proxy
from tests.served.gguf_made import Model, make
from tests.served.llama_server import llama_server

MODEL = Model(bos="<|bos|>", eos="<|endoftext|>", add_bos=True, context=512)
TEXTS = ("Hello world, naïve café", "A somewhat longer text, of more than one sentence. So.")
BOTH = ["1", "2"]


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    model = make(TOKENIZER, MODEL, tmp_path_factory.mktemp("model") / "tiny.gguf")
    with llama_server(model, context=MODEL.context) as url:
        yield url


Behind = Callable[..., dict[str, Any]]


@pytest.fixture
def behind(llama: str, tmp_path: Path) -> Behind:
    """Judge the real server behind a proxy with a fault."""

    def run(fault: Fault, *texts: object, **more: Any) -> dict[str, Any]:  # noqa: ANN401
        prompts = written(tmp_path / "p.jsonl", *(texts or TEXTS))
        with fault_proxy(llama, fault) as proxy:
            found = judged(proxy.url, prompts, **more)
        assert proxy.heard, "the proxy was not asked"
        return {**found, "heard": proxy.heard}

    return run


def test_without_a_fault_it_agrees(behind: Behind) -> None:
    """What every other test here rests on: the proxy by itself changes nothing."""
    found = behind(Fault())
    assert (found["exit"], found["verdict"]) == (0, "agrees")


def test_lowered_usage_is_under_reported(behind: Behind) -> None:
    found = behind(Fault(change=faults.lowered(2)))
    assert (found["exit"], verdicts(found)) == (8, {"under-reported": BOTH})
    assert "the usage is off by -2 on 2 of 2 prompts" in found["text"]
    raised = behind(Fault(change=faults.lowered(-1)))
    assert (raised["exit"], verdicts(raised)) == (8, {"over-reported": BOTH})


def test_lowered_usage_alone_is_undetermined(behind: Behind) -> None:
    """Asked as any OpenAI-like server nobody tells what was processed, and nobody guesses."""
    found = behind(Fault(change=faults.lowered(2)), dialect="openai")
    assert (found["exit"], verdicts(found)) == (8, {"undetermined": BOTH})
    assert "--dialect" in found["text"]
    assert found["templates"] == []


def test_dropped_usage_is_no_count_and_never_zero(behind: Behind) -> None:
    found = behind(Fault(change=faults.dropped()))
    assert (found["exit"], set(verdicts(found))) == (6, {"no-count", "stream-fault"})
    for one in found["rows"]:
        for question in ("plain", "streamed", "streamed-usage"):
            assert {it["prompt_tokens"] for it in answers(one, question)} == {None}
    assert found["receipt"]["method"] is None
    assert found["prompt_tokens"] is None


def test_doubled_usage_is_a_stream_fault(behind: Behind) -> None:
    found = behind(Fault(change=faults.doubled()))
    assert (found["exit"], verdicts(found)) == (8, {"stream-fault": BOTH})
    assert "2 usages: 13, 13" in found["text"]


def test_a_prompt_cut_before_it_is_processed_is_truncated(behind: Behind) -> None:
    found = behind(Fault(ask=faults.halved_prompt))
    assert (found["exit"], verdicts(found)) == (8, {"truncated": BOTH})
    assert "the end of ours" in found["text"]


@pytest.mark.parametrize("write", [faults.split_within_characters, faults.without_end_mark])
def test_what_http_may_do_to_a_stream_changes_nothing(
    behind: Behind, write: Callable[[faults.Handler, int, bytes], None]
) -> None:
    found = behind(Fault(write=write), "naïve café \u2028 日本語")
    assert (found["exit"], found["verdict"]) == (0, "agrees")
    unended = write is faults.without_end_mark
    assert [bool(one["notes"]) for one in found["rows"]] == [unended]


@pytest.mark.parametrize(
    ("write", "verdict", "words"),
    [
        (faults.cut, "stream-fault", "cut"),
        (faults.fails_within, "stream-fault", "engine died"),
        (faults.always(500, b'{"error":"boom \\u001b[31m"}'), "server-failed", "boom"),
        (faults.always(200, b"\xff\xfe garbage"), "no-count", "not JSON"),
        (faults.endless_headers, "server-failed", "headers"),
        (faults.not_http, "server-failed", "HTTP"),
        (faults.redirecting("http://elsewhere.invalid/"), "server-failed", "elsewhere.invalid"),
    ],
    ids=["cut", "fails-within", "500", "garbage", "headers", "not-http", "redirect"],
)
def test_a_broken_answer_is_no_count_and_says_how(
    behind: Behind,
    write: Callable[[faults.Handler, int, bytes], None],
    verdict: str,
    words: str,
) -> None:
    found = behind(Fault(write=write))
    assert (found["exit"], verdicts(found)[verdict]) == (6, BOTH), found["text"]
    assert words in found["text"]


def test_only_the_prompt_that_fails_is_lost(behind: Behind) -> None:
    def write(handler: faults.Handler, status: int, body: bytes) -> None:
        if b"somewhat" in handler.heard[-1].body:
            faults.always(500, b'{"error":"boom"}')(handler, status, body)
        else:
            kind = "text/event-stream" if body.startswith(b"data:") else "application/json"
            handler.plain(status, kind, body)

    found = behind(Fault(write=write), in_flight=1)
    assert (found["exit"], verdicts(found)["server-failed"]) == (6, ["2"])
    assert row(found, "1")["verdict"] == "agrees"


def test_a_slow_server_is_given_its_time_and_no_more(behind: Behind) -> None:
    limits = Limits(silence_seconds=0.2, total_seconds=0.2, retries=0)
    found = behind(Fault(write=faults.slow(0.6)), TEXTS[0], limits=limits, dialect="openai")
    assert (found["exit"], verdicts(found)["server-failed"]) == (6, ["1"])
    assert "0.2 s" in found["text"]


def test_a_busy_server_is_asked_again_and_that_is_counted(behind: Behind) -> None:
    found = behind(Fault(write=faults.Busy(2)), TEXTS[0])
    assert (found["exit"], found["verdict"]) == (0, "agrees")
    retries = sum({id(one): one["retries"] for one in found["rows"][0]["answers"]}.values())
    assert retries >= 2
    assert "sent again" in found["text"]


def test_both_spellings_of_a_body_go_out_and_are_compared(behind: Behind) -> None:
    found = behind(Fault(), "é")
    sent = {one.body for one in found["heard"] if one.path == "/v1/completions"}
    assert any(b"\\u00e9" in body for body in sent)
    assert any("é".encode() in body for body in sent)

    def escaped_is_taken_literally(body: bytes) -> bytes:
        return body.replace(b"\\u00e9", b"\\\\u00e9")

    apart = behind(Fault(ask=escaped_is_taken_literally), "é")
    assert apart["exit"] == 8
    assert "spelling" in verdicts(apart)


def test_the_key_goes_to_the_server_and_into_no_report(
    behind: Behind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_KEY", "sk-1234567890abcdef")

    def repeat(handler: faults.Handler, status: int, body: bytes) -> None:
        del status, body
        said = b'{"error":"wrong key: sk-1234567890abcdef"}'
        handler.plain(401, "application/json", said)

    found = behind(Fault(write=repeat), key_env="THE_KEY")
    assert found["heard"][0].headers["authorization"] == "Bearer sk-1234567890abcdef"
    assert "1234567890" not in str({**found, "heard": None})
    assert "wrong key" in found["text"]


def test_a_preflight_spends_one_token_a_prompt_and_stops_at_the_first_that_is_wrong(
    behind: Behind,
) -> None:
    found = behind(Fault(), *TEXTS, "x " * 600, "never sent", preflight=True, chat=False)
    assert (found["exit"], found["preflight"]["sent"]) == (6, 3)
    assert found["preflight"]["violation"].startswith("prompt 3: ")
    bodies = [one.body for one in found["heard"] if "completion" in one.path]
    assert all(b'"max_tokens": 1' in body for body in bodies)
    assert not any(b"never sent" in body for body in bodies)
    lowered = behind(Fault(change=faults.lowered(1)), preflight=True)
    assert (lowered["exit"], lowered["preflight"]["sent"]) == (8, 1)


def test_a_wrong_model_name_is_refused_with_those_served(behind: Behind) -> None:
    with pytest.raises(UsageError) as raised:
        behind(Fault(), model="gpt-none")
    assert "tiny.gguf" in str(raised.value)


def test_an_unset_key_variable_is_refused_before_anything_is_asked(
    llama: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as raised:
        judged(llama, written(tmp_path / "p.jsonl", "x"), key_env="NO_SUCH_KEY")
    assert "NO_SUCH_KEY" in str(raised.value)


def test_a_prompt_with_a_lone_surrogate_is_refused(llama: str, tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text('{"prompt": "a\\ud800"}\n', encoding="utf-8")
    with pytest.raises(UsageError, match="U\\+D800"):
        judged(llama, path)


def test_no_tls_there(llama: str, tmp_path: Path) -> None:
    with fault_proxy(llama, Fault()) as proxy:
        url = proxy.url.replace("http://", "https://")
        found = judged(url, written(tmp_path / "p.jsonl", "x"))
    assert (found["exit"], found["rows"]) == (6, [])
    assert "TLS" in found["failure"]
