"""What the dialects ask and read: recorded traffic of vLLM and llama.cpp, others as documented."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from harness.served.live.dialects import DIALECTS
from harness.served.live.dialects.llamacpp import LlamaCpp
from harness.served.live.dialects.ollama import Ollama
from harness.served.live.dialects.openai import OpenAI
from harness.served.live.dialects.sglang import SGLang
from harness.served.live.dialects.tgi import Tgi
from harness.served.live.dialects.vllm import Vllm
from harness.served.live.values import (
    Answer,
    Ask,
    Call,
    Kind,
    Message,
    Processed,
    Reply,
    TooLong,
    Usage,
)
from tests.unit.wire import LLAMA, LLAMA_TOLD, VLLM, recorded

HELLO = (9707, 1879, 11, 94880, 586, 51950)  # "Hello world, naïve café"
CHAT = (151644, 872, 198, *HELLO, 151645, 198, 151644, 77091, 198)
RENDERED = (
    "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant."
    "<|im_end|>\n<|im_start|>user\nWhat is 2 + 2? Reply with just the number.<|im_end|>\n"
    "<|im_start|>assistant\n"
)
TIMINGS = "timings.cache_n + timings.prompt_n"
TEXT = Ask("Hello", "m", chat=False, output_tokens=2)
TEXTS = Ask(("a b c", "d"), "m", chat=False)
TALK = Ask((Message("system", "Be brief."), Message("user", "Hi")), "m", chat=True)
NAMELESS = Ask("Hello", None, chat=False)
STREAMS = (Kind.STREAMED, Kind.STREAMED_USAGE)

_vllm, _llama, _told = recorded(VLLM), recorded(LLAMA), recorded(LLAMA_TOLD)


def body(value: object, status: int = 200) -> Reply:
    return Reply(status, json.dumps(value).encode())


def stream(*values: object, end: bool = True) -> Reply:
    events = [json.dumps(value) for value in values]
    return Reply(200, events=(*events, "[DONE]") if end else tuple(events))


def called(found: Call | None) -> tuple[str, Mapping[str, Any]]:
    assert found is not None
    assert found.body is not None
    return found.path, found.body


# --- vLLM, recorded ---


@pytest.mark.parametrize(
    ("kind", "title", "place", "prompt", "done"),
    [
        (Kind.PLAIN, "cmpl", "response", 6, None),
        (Kind.PLAIN, "chat", "response", 14, None),
        (Kind.PLAIN, "near ctx: 2040 toks + 100", "response", 2040, None),
        (Kind.PLAIN, "array", "response", 4, None),
        (Kind.STREAMED_USAGE, "cmpl stream usage", "event-without-choices", 6, True),
        (Kind.STREAMED_USAGE, "chat stream usage", "event-without-choices", 14, True),
    ],
)
def test_vllm_usage(kind: Kind, title: str, place: str, prompt: int, done: bool | None) -> None:
    answer = Vllm().read(kind, _vllm[title])
    assert [(one.place, one.prompt, one.cached) for one in answer.usages] == [(place, prompt, 0)]
    assert (answer.prompt_tokens, answer.error, answer.done) == (prompt, None, done)
    assert answer.processed is None


@pytest.mark.parametrize("title", ["cmpl stream no opts", "chat stream no opts"])
def test_vllm_gives_no_usage_in_a_stream_that_does_not_ask(title: str) -> None:
    answer = Vllm().read(Kind.STREAMED, _vllm[title])
    assert (answer.usages, answer.prompt_tokens, answer.error) == ((), None, None)
    assert (answer.done, answer.whole, answer.events) == (True, True, len(_vllm[title].events))


def test_every_usage_of_a_stream_is_kept_with_its_event() -> None:
    answer = Vllm().read(Kind.STREAMED_USAGE, _vllm["return_token_ids stream"])
    assert answer.usages == (
        Usage(6, 1, None, "event-with-choices", 0),
        Usage(6, 2, None, "event-with-choices", 1),
        Usage(6, 2, 0, "event-without-choices", 2),
    )
    assert answer.processed == Processed("prompt_token_ids", 6, HELLO)


@pytest.mark.parametrize(
    ("title", "ids"), [("return_token_ids", HELLO), ("chat return_token_ids", CHAT)]
)
def test_vllm_returns_the_ids_processed(title: str, ids: tuple[int, ...]) -> None:
    answer = Vllm().read(Kind.PROCESSED, _vllm[title])
    assert answer.processed == Processed("prompt_token_ids", len(ids), ids)


def test_a_truncated_prompt_shows_in_vllm_s_ids() -> None:
    answer = Vllm().read(Kind.PROCESSED, _vllm["truncate"])
    assert answer.processed is not None
    assert answer.processed.ids == (*HELLO[2:], *HELLO, *HELLO)
    assert (answer.prompt_tokens, answer.processed.truncated) == (16, None)


@pytest.mark.parametrize("title", ["prompt_logprobs", "echo max0"])
def test_log_probabilities_count_the_prompt(title: str) -> None:
    answer = Vllm(by_logprobs=True).read(Kind.PROCESSED, _vllm[title])
    assert answer.processed == Processed("prompt_logprobs", 2)


@pytest.mark.parametrize(
    ("title", "ids"), [("tok", HELLO), ("tokenize no special", HELLO), ("tokenize chat", CHAT)]
)
def test_vllm_tokenizes(title: str, ids: tuple[int, ...]) -> None:
    answer = Vllm().read(Kind.TOKENIZE, _vllm[title])
    assert (answer.count, answer.ids, answer.error) == (len(ids), ids, None)


@pytest.mark.parametrize("title", ["overlong cmpl", "overlong cmpl stream", "overlong chat"])
def test_vllm_names_a_least_count_and_the_limit(title: str) -> None:
    answer = Vllm().read(Kind.STREAMED, _vllm[title])
    assert answer.too_long == TooLong(2049, exact=False, limit=2048)
    assert (answer.status, answer.usages, answer.done) == (400, (), None)
    assert (answer.error or "").startswith("HTTP 400: This model's maximum context length is 2048")


@pytest.mark.parametrize(
    ("title", "words"),
    [
        ("chat render", "HTTP 403: Scale-out endpoints are disabled."),
        ("tokenizer_info", "HTTP 404: Not Found"),
    ],
)
def test_a_refusal_is_told_in_the_server_s_words(title: str, words: str) -> None:
    answer = Vllm().read(Kind.PLAIN, _vllm[title])
    assert (answer.error or "").startswith(words)
    assert (answer.too_long, answer.count, answer.prompt_tokens) == (None, None, None)


# --- llama.cpp, recorded ---


@pytest.mark.parametrize(
    ("kind", "title", "usages", "processed"),
    [
        (Kind.PLAIN, "cmpl", [("response", None, 6, 0)], 6),
        (Kind.PLAIN, "chat", [("response", None, 14, 0)], 14),
        (Kind.STREAMED, "cmpl stream no opts", [("event-with-choices", 2, 6, 5)], 6),
        (Kind.STREAMED_USAGE, "cmpl stream usage", [("event-with-choices", 2, 6, 5)], 6),
        (Kind.STREAMED, "chat stream no opts", [], 14),
        (Kind.STREAMED_USAGE, "chat stream usage", [("event-without-choices", 2, 14, 13)], 14),
    ],
)
def test_llama_usage_and_timings(
    kind: Kind,
    title: str,
    usages: list[tuple[str, int | None, int, int]],
    processed: int,
) -> None:
    answer = LlamaCpp().read(kind, _llama[title])
    # The recording of a stream lacks its first event or two, so events count from what is left.
    assert [(one.place, one.event, one.prompt, one.cached) for one in answer.usages] == usages
    assert answer.processed == Processed(TIMINGS, processed)
    assert answer.error is None
    assert answer.done is (True if kind in STREAMS else None)


def test_llama_answers_for_several_texts_with_the_first_alone() -> None:
    plain = LlamaCpp().read(Kind.PLAIN, _told["cmpl array"])
    streamed = LlamaCpp().read(Kind.STREAMED, _told["cmpl array stream"])
    told = LlamaCpp().read(Kind.PROCESSED, _told["completion array"])
    assert (plain.prompt_tokens, plain.processed) == (3, None)
    assert [one.prompt for one in streamed.usages] == [3, 1]
    assert (streamed.processed, streamed.error) == (Processed(TIMINGS, 4), None)
    assert told.processed == Processed("tokens_evaluated", 4, truncated=False)


def test_timings_of_one_text_are_not_those_of_several() -> None:
    timed = {"choices": [{"index": 0}], "timings": {"cache_n": 0, "prompt_n": 3}}
    answer = LlamaCpp().read(Kind.STREAMED, stream(timed, {"choices": [{"index": 1}]}))
    assert answer.processed is None


@pytest.mark.parametrize(
    ("title", "count", "text"),
    [("cmpl verbose", 6, "Hello world, naïve café"), ("chat verbose", 43, RENDERED)],
)
def test_llama_s_verbose_answer_has_the_text_processed(title: str, count: int, text: str) -> None:
    answer = LlamaCpp().read(Kind.PROCESSED, _told[title])
    assert answer.processed == Processed(
        "__verbose.tokens_evaluated", count, text=text, truncated=False
    )
    assert answer.prompt_tokens == count


def test_a_verbose_part_says_more_than_the_timings_of_a_later_event() -> None:
    answer = LlamaCpp().read(Kind.STREAMED_USAGE, _told["chat verbose stream usage"])
    assert answer.processed is not None
    assert (answer.processed.count, answer.processed.text) == (43, RENDERED)


@pytest.mark.parametrize(
    ("title", "ids"),
    [
        ("tok", HELLO),
        ("tokenize parse_special default", (151644, 872)),
        ("tokenize parse_special false add_special", (27, 91, 318, 4906, 91, 29, 872)),
        ("pieces bad utf8", (9284, 104, 254, 963)),
    ],
)
def test_llama_tokenizes(title: str, ids: tuple[int, ...]) -> None:
    answer = LlamaCpp().read(Kind.TOKENIZE, _llama[title])
    assert (answer.count, answer.ids, answer.error) == (len(ids), ids, None)


def test_llama_is_asked_to_tokenize_under_the_key_that_it_reads() -> None:
    path, sent = called(LlamaCpp().call(Kind.TOKENIZE, TEXT))
    title = "tok" if "content" in sent else "tokenize prompt key only (vllm aligner form)"
    answer = LlamaCpp().read(Kind.TOKENIZE, _llama[title])
    assert (path, answer.count, answer.ids) == ("/tokenize", 6, HELLO)


def test_llama_counts_and_renders_a_chat() -> None:
    counted = LlamaCpp().read(Kind.TOKENIZE, _told["input_tokens"])
    rendered = LlamaCpp().read(Kind.RENDERED, _told["apply-template"])
    assert (counted.count, counted.ids) == (43, None)
    assert rendered.processed == Processed("/apply-template", text=RENDERED)


@pytest.mark.parametrize(
    ("title", "count"),
    [("overlong cmpl", 3001), ("overlong cmpl stream", 3001), ("overlong chat", 3009)],
)
def test_llama_names_the_exact_count_and_the_limit(title: str, count: int) -> None:
    answer = LlamaCpp().read(Kind.PLAIN, _llama[title])
    assert answer.too_long == TooLong(count, exact=True, limit=2048)


# --- SGLang, TGI, Ollama, as their sources and documents have it ---


def test_sglang_returns_ids_with_log_probabilities() -> None:
    rows = [[None, 9707, None], [-1.5, 1879, None]]
    meta = {"prompt_tokens": 2, "cached_tokens": 1, "input_token_logprobs": rows}
    answer = SGLang().read(Kind.PROCESSED, body({"text": "x", "meta_info": meta}))
    assert answer.processed == Processed("meta_info.input_token_logprobs", 2, (9707, 1879))


def test_sglang_s_count_stands_where_the_ids_are_not_all_there() -> None:
    meta = {"prompt_tokens": 3, "input_token_logprobs": [[-1.5, 1879, None]]}
    answer = SGLang().read(Kind.PROCESSED, body({"meta_info": meta}))
    assert answer.processed == Processed("meta_info.prompt_tokens", 3)


def test_sglang_answers_for_every_text() -> None:
    one = {
        "meta_info": {"prompt_tokens": 2, "input_token_logprobs": [[None, 1, None], [-1, 2, None]]}
    }
    two = {"meta_info": {"prompt_tokens": 1, "input_token_logprobs": [[None, 3, None]]}}
    answer = SGLang().read(Kind.PROCESSED, body([one, two]))
    assert answer.processed == Processed("meta_info.input_token_logprobs", 3, (1, 2, 3))
    tokens = SGLang().read(Kind.TOKENIZE, body({"tokens": [[1, 2], [3]], "count": [2, 1]}))
    assert (tokens.ids, tokens.count, tokens.error) == ((1, 2, 3), 3, None)


def test_sglang_s_chat_has_ids_in_its_choices() -> None:
    choice = {"index": 0, "message": {}, "prompt_token_ids": [5, 6]}
    usage = {"prompt_tokens": 2, "completion_tokens": 1, "prompt_tokens_details": None}
    answer = SGLang().read(Kind.PROCESSED, body({"choices": [choice], "usage": usage}))
    assert answer.processed == Processed("prompt_token_ids", 2, (5, 6))
    assert answer.usages == (Usage(2, 1, None, "response"),)


def test_tgi_returns_the_prefill() -> None:
    prefill = [{"id": 1, "text": "<s>", "logprob": None}, {"id": 15043, "text": "Hello"}]
    answer = Tgi().read(
        Kind.PROCESSED, body({"generated_text": "", "details": {"prefill": prefill}})
    )
    assert answer.processed == Processed("details.prefill", 2, (1, 15043))


def test_a_prefill_that_was_not_kept_is_no_empty_prompt() -> None:
    answer = Tgi().read(Kind.PROCESSED, body({"generated_text": "", "details": {"prefill": []}}))
    assert (answer.processed, answer.error) == (None, None)


def test_tgi_tokenizes_text_and_chat() -> None:
    tokens = [{"id": 1, "text": "", "start": 0, "stop": 0}, {"id": 7, "text": "x"}]
    text = Tgi().read(Kind.TOKENIZE_SPECIAL, body(tokens))
    reply = body({"tokenize_response": tokens, "templated_text": "<s>x"})
    chat, rendered = Tgi().read(Kind.TOKENIZE, reply), Tgi().read(Kind.RENDERED, reply)
    assert text.ids == chat.ids == (1, 7)
    assert text.count == chat.count == 2
    assert rendered.processed == Processed("templated_text", text="<s>x")


def test_ollama_s_usage_of_zero_rides_on_every_event_before_the_last() -> None:
    zero = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    told = {"prompt_tokens": 11, "completion_tokens": 1, "total_tokens": 12}
    answer = Ollama().read(
        Kind.STREAMED_USAGE,
        stream(
            {"choices": [{"index": 0, "text": "x"}], "usage": zero}, {"choices": [], "usage": told}
        ),
    )
    assert [(one.prompt, one.place) for one in answer.usages] == [
        (0, "event-with-choices"),
        (11, "event-without-choices"),
    ]
    assert answer.prompt_tokens == 11


def test_ollama_tells_its_count_and_its_rendered_text() -> None:
    counted = Ollama().read(Kind.PROCESSED, body({"response": "x", "prompt_eval_count": 26}))
    silent = Ollama().read(Kind.PROCESSED, body({"response": "x", "done": True}))
    debug = {"model": "m", "_debug_info": {"rendered_template": "<s>Hi"}}
    rendered = Ollama().read(Kind.RENDERED, body(debug))
    old = Ollama().read(Kind.RENDERED, body({"response": "x"}))
    assert counted.processed == Processed("prompt_eval_count", 26)
    assert silent.processed is None
    assert rendered.processed == Processed("_debug_info.rendered_template", text="<s>Hi")
    words = "the answer has no rendered text (_debug_info.rendered_template)"
    assert (old.processed, old.error) == (None, words)


# --- what is asked ---


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("ask", [TEXT, TALK])
def test_every_server_is_asked_as_any_client_asks(name: str, ask: Ask) -> None:
    dialect = DIALECTS[name]()
    path = "/v1/chat/completions" if ask.chat else "/v1/completions"
    plain, streamed, usage = (
        dialect.call(kind, ask) for kind in (Kind.PLAIN, Kind.STREAMED, Kind.STREAMED_USAGE)
    )
    assert called(plain)[0] == called(streamed)[0] == called(usage)[0] == path
    assert plain is not None and not plain.streamed and "stream" not in called(plain)[1]
    assert called(streamed)[1] == {**called(plain)[1], "stream": True}
    assert called(usage)[1] == {**called(streamed)[1], "stream_options": {"include_usage": True}}
    assert streamed is not None and streamed.streamed
    assert called(plain)[1]["max_tokens"] == ask.output_tokens
    if ask.chat:
        assert called(plain)[1]["messages"] == [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hi"},
        ]
    else:
        assert called(plain)[1]["prompt"] == "Hello"
    assert called(plain)[1].get("model") == (None if name == "tgi" else "m")


@pytest.mark.parametrize("name", DIALECTS)
def test_a_server_without_models_is_sent_none(name: str) -> None:
    for kind in Kind:
        call = DIALECTS[name]().call(kind, NAMELESS)
        assert call is None or "model" not in called(call)[1]


@pytest.mark.parametrize(
    ("name", "kind", "ask", "path", "sent"),
    [
        (
            "vllm",
            Kind.TOKENIZE,
            TEXT,
            "/tokenize",
            {"prompt": "Hello", "add_special_tokens": False},
        ),
        ("vllm", Kind.TOKENIZE_SPECIAL, TEXT, "/tokenize", {"add_special_tokens": True}),
        (
            "vllm",
            Kind.PROCESSED,
            TEXTS,
            "/v1/completions",
            {"return_token_ids": True, "max_tokens": 1},
        ),
        ("vllm", Kind.PROCESSED, TALK, "/v1/chat/completions", {"return_prompt_text": True}),
        ("llama.cpp", Kind.TOKENIZE, TEXT, "/tokenize", {"content": "Hello", "add_special": False}),
        ("llama.cpp", Kind.TOKENIZE_SPECIAL, TEXT, "/tokenize", {"add_special": True}),
        ("llama.cpp", Kind.TOKENIZE, TEXTS, "/tokenize", {"content": ["a b c", "d"]}),
        ("llama.cpp", Kind.TOKENIZE, TALK, "/v1/chat/completions/input_tokens", {"model": "m"}),
        ("llama.cpp", Kind.PROCESSED, TEXT, "/v1/completions", {"verbose": True, "max_tokens": 2}),
        ("llama.cpp", Kind.PROCESSED, TALK, "/v1/chat/completions", {"verbose": True}),
        (
            "llama.cpp",
            Kind.PROCESSED,
            TEXTS,
            "/completion",
            {"prompt": ["a b c", "d"], "n_predict": 1},
        ),
        ("sglang", Kind.TOKENIZE, TEXTS, "/v1/tokenize", {"add_special_tokens": False}),
        ("sglang", Kind.PROCESSED, TEXT, "/generate", {"text": "Hello", "logprob_start_len": 0}),
        ("sglang", Kind.PROCESSED, TALK, "/v1/chat/completions", {"return_prompt_token_ids": True}),
        ("tgi", Kind.TOKENIZE_SPECIAL, TEXT, "/tokenize", {"inputs": "Hello"}),
        ("tgi", Kind.PROCESSED, TEXT, "/generate", {"inputs": "Hello"}),
        ("ollama", Kind.PROCESSED, TEXT, "/api/generate", {"stream": False, "prompt": "Hello"}),
        ("ollama", Kind.RENDERED, TALK, "/api/chat", {"_debug_render_only": True}),
        ("ollama", Kind.RENDERED, TEXT, "/api/generate", {"_debug_render_only": True}),
    ],
)
def test_more_is_asked_in_the_dialect_s_own_words(
    name: str, kind: Kind, ask: Ask, path: str, sent: dict[str, Any]
) -> None:
    found_path, found = called(DIALECTS[name]().call(kind, ask))
    assert found_path == path
    assert {key: found.get(key) for key in sent} == sent


@pytest.mark.parametrize(
    ("name", "kind", "ask"),
    [
        ("openai", Kind.TOKENIZE, TEXT),
        ("openai", Kind.PROCESSED, TEXT),
        ("openai", Kind.RENDERED, TALK),
        ("vllm", Kind.TOKENIZE, TEXTS),
        ("vllm", Kind.TOKENIZE_SPECIAL, TALK),
        ("vllm", Kind.RENDERED, TALK),
        ("llama.cpp", Kind.TOKENIZE_SPECIAL, TEXTS),
        ("llama.cpp", Kind.TOKENIZE_SPECIAL, TALK),
        ("llama.cpp", Kind.RENDERED, TEXT),
        ("sglang", Kind.TOKENIZE, TALK),
        ("tgi", Kind.TOKENIZE, TEXT),
        ("tgi", Kind.PROCESSED, TALK),
        ("ollama", Kind.TOKENIZE, TEXT),
        ("ollama", Kind.PLAIN, TEXTS),
    ],
)
def test_what_a_server_cannot_be_asked_is_not_asked(name: str, kind: Kind, ask: Ask) -> None:
    assert DIALECTS[name]().call(kind, ask) is None


def test_the_text_of_a_completion_is_not_asked_for() -> None:
    assert "return_prompt_text" not in called(Vllm().call(Kind.PROCESSED, TEXT))[1]


def test_an_older_vllm_is_asked_for_log_probabilities() -> None:
    _, sent = called(Vllm(by_logprobs=True).call(Kind.PROCESSED, TEXT))
    assert sent["prompt_logprobs"] == 0
    assert "return_token_ids" not in sent


@pytest.mark.parametrize("name", DIALECTS)
def test_a_dialect_says_what_would_determine_a_verdict(name: str) -> None:
    dialect = DIALECTS[name]()
    assert dialect.name == name
    assert len(dialect.determines) > 40


# --- what is not as it should be ---


def test_part_of_the_ids_is_no_truncated_prompt() -> None:
    choices = [{"index": 0, "prompt_token_ids": [1, 2]}, {"index": 1, "prompt_token_ids": None}]
    assert Vllm().read(Kind.PROCESSED, body({"choices": choices})).processed is None


def test_ids_of_several_texts_come_in_the_order_of_the_texts() -> None:
    choices = [{"index": 1, "prompt_token_ids": [3]}, {"index": 0, "prompt_token_ids": [1, 2]}]
    answer = Vllm().read(Kind.PROCESSED, body({"choices": choices}))
    assert answer.processed == Processed("prompt_token_ids", 3, (1, 2, 3))


def test_a_count_that_is_not_that_of_the_ids_is_not_believed() -> None:
    answer = Vllm().read(Kind.TOKENIZE, body({"count": 3, "tokens": [1, 2]}))
    assert (answer.count, answer.ids, answer.error) == (None, None, "2 ids and a count of 3")


def test_a_stream_that_breaks_off_keeps_what_came_and_says_why() -> None:
    usage = {"prompt_tokens": 6, "completion_tokens": 1}
    reply = Reply(
        200,
        events=(json.dumps({"choices": [{}], "usage": usage}),),
        failure="the connection was closed in the middle",
        whole=False,
    )
    answer = OpenAI().read(Kind.STREAMED, reply)
    assert (answer.prompt_tokens, answer.whole, answer.done) == (6, False, False)
    assert answer.error == "the connection was closed in the middle"


def test_an_error_in_the_middle_of_a_stream_is_told() -> None:
    answer = OpenAI().read(
        Kind.STREAMED,
        stream({"choices": [{}]}, {"error": {"message": "out of memory", "code": 500}}),
    )
    assert (answer.status, answer.error, answer.usages) == (200, "out of memory", ())


def test_what_comes_after_the_end_mark_is_told_to_nobody() -> None:
    usage = '{"choices": [], "usage": {"prompt_tokens": %d}}'
    reply = Reply(200, events=(usage % 6, "[DONE]", usage % 999, "[DONE]"))
    answer = OpenAI().read(Kind.STREAMED_USAGE, reply)
    assert [one.prompt for one in answer.usages] == [6]
    assert (answer.done, answer.error) == (True, "2 events come after [DONE]")


@pytest.mark.parametrize(
    ("usage", "prompt", "words"),
    [
        ('{"prompt_tokens": 5, "prompt_tokens": 6}', None, "two values under one key"),
        ('{"prompt_tokens": 6, "prompt_tokens": true}', None, "two values under one key"),
        ('{"prompt_tokens": 6, "prompt_tokens": 6}', 6, None),
        ('{"prompt_tokens": 6}, "usage": {"prompt_tokens": 7}', None, "two values under one key"),
        ('{"prompt_tokens": %s}' % ("9" * 5000), None, "out of all bounds"),
        ('{"prompt_tokens": 6, "x": %s}' % ("9" * 5000), 6, None),
    ],
)
def test_a_member_that_stands_twice_is_no_count_and_a_long_number_hides_no_other(
    usage: str, prompt: int | None, words: str | None
) -> None:
    whole = f'{{"choices": [{{}}], "usage": {usage}}}'
    for kind, reply in (
        (Kind.PLAIN, Reply(200, whole.encode())),
        (Kind.STREAMED, Reply(200, events=(whole,))),
    ):
        answer = OpenAI().read(kind, reply)
        assert answer.prompt_tokens == prompt
        assert answer.error is None if words is None else words in (answer.error or "")


def test_an_error_with_a_member_that_stands_twice_is_told() -> None:
    answer = OpenAI().read(Kind.PLAIN, Reply(422, b'{"detail": [{"count": 1, "count": 2}]}'))
    assert answer.error == 'HTTP 422: [{"count": "two values under one key"}]'


def test_a_thousand_faults_are_told_in_three() -> None:
    answer = OpenAI().read(Kind.STREAMED, Reply(200, events=("broken",) * 1000))
    words = "event 0 is no JSON object; event 1 is no JSON object; event 2 is no JSON object"
    assert answer.error == f"{words}; and 997 faults more"


def test_a_server_that_does_not_stream_is_told_of() -> None:
    answer = OpenAI().read(Kind.STREAMED, _vllm["cmpl"])
    assert answer.error == "answered at once where a stream was asked for"
    assert (answer.prompt_tokens, answer.done) == (6, None)


def test_no_answer_has_the_reason() -> None:
    answer = OpenAI().read(Kind.PLAIN, Reply(None, failure="connection refused", retries=2))
    assert answer == Answer(None, error="connection refused", whole=False, retries=2)


@pytest.mark.parametrize(
    "value", [True, -1, 1.5, "7", [7], {"n": 7}, 10**30, float("nan"), float("inf"), [[]]]
)
def test_what_is_no_count_is_none_and_an_error(value: object) -> None:
    for dialect, kind, reply in (
        (OpenAI(), Kind.PLAIN, {"usage": {"prompt_tokens": value}}),
        (LlamaCpp(), Kind.PROCESSED, {"__verbose": {"tokens_evaluated": value}}),
        (LlamaCpp(), Kind.TOKENIZE, {"input_tokens": value}),
        (SGLang(), Kind.PROCESSED, {"meta_info": {"prompt_tokens": value}}),
        (Ollama(), Kind.PROCESSED, {"prompt_eval_count": value}),
        (Vllm(), Kind.TOKENIZE, {"count": value}),
        (Vllm(), Kind.TOKENIZE, {"tokens": [1, value]}),
        (Vllm(), Kind.PROCESSED, {"prompt_token_ids": [1, value]}),
    ):
        answer = dialect.read(kind, body(reply))
        assert (answer.prompt_tokens, answer.count, answer.ids) == (None, None, None)
        assert answer.processed is None
        assert answer.error is not None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"7",
        b'"words"',
        b"[1, 2",
        b"<html>502 Bad Gateway</html>",
        b'{"usage": {"prompt_tokens": ' + b"9" * 5000 + b"}}",
        b"[" * 200_000,
        b"\xff\xfe{}",
        b'{"usage": 7, "choices": 7, "error": 7}',
        b'{"choices": [7, null, {"index": "x"}], "timings": [], "__verbose": "x"}',
        b'{"details": {"prefill": "x"}, "meta_info": [], "tokens": {"id": 1}}',
    ],
)
@pytest.mark.parametrize("name", DIALECTS)
def test_any_bytes_are_read_and_count_nothing(name: str, data: bytes) -> None:
    for kind in Kind:
        for reply in (
            Reply(200, data),
            Reply(500, data),
            Reply(200, events=(data.decode("utf-8", "replace"),)),
        ):
            answer = DIALECTS[name]().read(kind, reply)
            assert (answer.prompt_tokens, answer.count, answer.ids) == (None, None, None)
            assert answer.processed is None
            assert reply.status == 200 or (answer.error or "").startswith("HTTP 500")


# Values of every type; each goes into the place of every value in every recorded reply.
_ODD: tuple[object, ...] = (None, True, -1, 1.5, "x", [], {}, [None], {"id": None}, 10**30)


def _with(value: Any, odd: object) -> list[Any]:  # noqa: ANN401
    """Return copies of a value with one part of it replaced, each part in its turn."""
    found: list[Any] = [odd]
    if isinstance(value, dict):
        for key, part in value.items():
            found += [{**value, key: one} for one in _with(part, odd)]
    elif isinstance(value, list):
        for place, part in enumerate(value[:2]):
            found += [[*value[:place], one, *value[place + 1 :]] for one in _with(part, odd)]
    return found


@pytest.mark.parametrize(
    ("name", "kind", "reply"),
    [
        ("vllm", Kind.PROCESSED, _vllm["return_token_ids"]),
        ("vllm", Kind.TOKENIZE, _vllm["tok"]),
        ("llama.cpp", Kind.PROCESSED, _told["cmpl verbose"]),
        ("llama.cpp", Kind.PLAIN, _llama["chat"]),
    ],
)
def test_one_odd_value_hides_no_other_and_makes_no_count(
    name: str, kind: Kind, reply: Reply
) -> None:
    dialect, whole = DIALECTS[name](), json.loads(reply.body)
    right = dialect.read(kind, reply)
    assert right.processed is not None or right.count is not None
    seen = 0
    for odd in _ODD:
        for changed in _with(whole, odd):
            answer = dialect.read(kind, body(changed))
            seen += 1
            assert answer.prompt_tokens in (right.prompt_tokens, None)
            assert answer.count in (right.count, None)
            processed = answer.processed.count if answer.processed else None
            if odd != []:  # no ids at all are a statement, and a wrong one
                assert processed in (right.processed.count if right.processed else None, None)
    assert seen > 80


# --- refusals of other servers, in their words ---


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (
            {
                "message": "The input (36000 tokens) is longer than the model's context length "
                "(32768 tokens)."
            },
            TooLong(36000, exact=True, limit=32768),
        ),
        (
            {
                "message": "Requested token count exceeds the model's maximum context length of "
                "32768 tokens. You requested a total of 40000 tokens: 39000 tokens from the input "
                "messages and 1000 tokens for the completion."
            },
            TooLong(39000, exact=True, limit=32768),
        ),
        (
            {
                "message": "This model's maximum context length is 2048 tokens. However, you "
                "requested 3010 tokens (3001 in the messages, 9 in the completion)."
            },
            TooLong(3001, exact=True, limit=2048),
        ),
        (
            {
                "message": "The decoder prompt (length 3001) is longer than the maximum model "
                "length of 2048."
            },
            TooLong(3001, exact=True, limit=2048),
        ),
        (
            {"message": "Requested tokens (3001) exceed context window of 2048"},
            TooLong(3001, exact=True, limit=2048),
        ),
        (
            "Input validation error: `inputs` must have less than 1024 tokens. Given: 3001",
            TooLong(3001, exact=True, limit=1024),
        ),
        (
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: "
            "2040 `inputs` tokens and 100 `max_new_tokens`",
            TooLong(2040, exact=True, limit=2048),
        ),
        ("the input length exceeds the context length", TooLong(None, exact=False, limit=None)),
        (
            {"type": "exceed_context_size_error", "n_prompt_tokens": "3001", "n_ctx": 2048},
            TooLong(None, exact=False, limit=2048),
        ),
        ("model 'x' not found", None),
        ({"message": "max_tokens must be at least 1"}, None),
        ({"message": 7}, None),
    ],
)
def test_refusals_in_the_words_of_many_servers(error: object, expected: TooLong | None) -> None:
    for name in DIALECTS:
        answer = DIALECTS[name]().read(Kind.PLAIN, body({"error": error}, 400))
        assert answer.too_long == expected
        assert answer.error is not None


def test_a_refusal_without_an_error_object_is_read_too() -> None:
    words = "The input (43028 tokens) is longer than the model's context length (40960 tokens)."
    reply = body({"object": "error", "message": words, "type": "BadRequestError", "code": 400}, 400)
    assert SGLang().read(Kind.PLAIN, reply).too_long == TooLong(43028, exact=True, limit=40960)
