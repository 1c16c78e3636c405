"""Which server answers: by what it says of itself, in the shapes that real ones have."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from harness.errors import LaneUnavailable, UsageError
from harness.served.live.detect import detect
from harness.served.live.dialects.vllm import Vllm
from harness.served.live.values import Reply
from tests.unit.wire import LLAMA_TOLD, VLLM, recorded

_told = recorded(LLAMA_TOLD)
_ABSENT = recorded(VLLM)["tokenizer_info"]  # vLLM's own 404

Json = Any
Answers = Mapping[str, object]


def models(*names: str, owner: str, **more: Json) -> dict[str, Json]:
    return {
        "object": "list",
        "data": [{"id": name, "object": "model", "owned_by": owner} | more for name in names],
    }


VLLM_SERVER: Answers = {
    "/v1/models": models("tiny", owner="vllm", max_model_len=2048, root="/models/tiny"),
    "/version": {"version": "0.32.0"},
}
SGLANG: Answers = {
    "/v1/models": models("qwen", owner="sglang", max_model_len=4096),
    "/get_model_info": {"model_path": "qwen", "tokenizer_path": "qwen", "is_generation": True},
    "/get_server_info": {"model_path": "qwen", "context_length": 8192, "version": "0.5.13"},
    "/api/version": {"version": "0.9.0"},  # it takes Ollama's requests too
}
TGI: Answers = {
    "/v1/models": models("gpt2", owner="gpt2"),
    "/info": {
        "model_id": "gpt2",
        "max_input_tokens": 1024,
        "max_total_tokens": 2048,
        "router": "text-generation-router",
        "version": "3.3.5",
    },
}
OLLAMA: Answers = {
    "/v1/models": models("llama3:latest", owner="library"),
    "/api/version": {"version": "0.24.0"},
    "/api/ps": {"models": [{"name": "llama3:latest", "context_length": 4096}]},
}


def getting(answers: Answers) -> Callable[[str], Reply]:
    def get(path: str) -> Reply:
        found = answers.get(path, _ABSENT)
        return found if isinstance(found, Reply) else Reply(200, json.dumps(found).encode())

    return get


@pytest.mark.parametrize(
    ("answers", "name", "model", "version", "context"),
    [
        (VLLM_SERVER, "vllm", "tiny", "0.32.0", 2048),
        (
            {"/v1/models": _told["models"], "/props": _told["props"]},
            "llama.cpp",
            "tiny.gguf",
            "b0-unknown",
            512,
        ),
        (SGLANG, "sglang", "qwen", "0.5.13", 8192),
        (TGI, "tgi", "gpt2", "3.3.5", 2048),
        (OLLAMA, "ollama", "llama3:latest", "0.24.0", 4096),
        ({"/v1/models": models("gpt", owner="me")}, "openai", "gpt", None, None),
        ({"/v1/models": Reply(405, b"")}, "openai", None, None, None),
    ],
)
def test_a_server_is_known_by_what_it_says(
    answers: Answers, name: str, model: str | None, version: str | None, context: int | None
) -> None:
    found = detect(getting(answers))
    assert found.dialect.name == name
    assert (found.model, found.version, found.context) == (model, version, context)
    assert found.models == (() if model is None else (model,))


def test_the_evidence_is_what_was_said() -> None:
    assert detect(getting(VLLM_SERVER)).evidence == (
        "/v1/models: owned by vllm",
        "/version: vllm 0.32.0",
    )


@pytest.mark.parametrize(
    ("answers", "name"),
    [
        # An owner alone, where the other paths are closed.
        ({"/v1/models": models("tiny", owner="vllm")}, "vllm"),
        # Signs alone, where the list of models is not there.
        ({"/props": _told["props"]}, "llama.cpp"),
        ({"/get_model_info": SGLANG["/get_model_info"]}, "sglang"),
        ({"/server_info": SGLANG["/get_server_info"]}, "sglang"),
        # A version is told by many: it shows neither vLLM nor Ollama.
        ({"/v1/models": models(owner="me"), "/version": {"version": "1.2"}}, "openai"),
        ({"/api/version": {"version": "1.2", "name": "gateway"}}, "openai"),
        # A page for every path, as some gateways answer.
        ({"/props": Reply(200, b"<html>"), "/info": Reply(200, b"[]")}, "openai"),
        # The sign of an unfinished answer is none.
        ({"/props": Reply(200, _told["props"].body, failure="cut", whole=False)}, "openai"),
    ],
)
def test_part_of_the_signs(answers: Answers, name: str) -> None:
    assert detect(getting(answers)).dialect.name == name


def test_no_more_is_asked_than_needed() -> None:
    asked: list[str] = []

    def get(path: str) -> Reply:
        asked.append(path)
        return getting(VLLM_SERVER)(path)

    detect(get)
    assert asked == ["/v1/models", "/version"]


@pytest.mark.parametrize(
    ("version", "by_logprobs"),
    [
        ("0.32.0", False),
        ("0.10.2", False),
        ("0.10.2rc1", False),
        ("1.0", False),
        ("0.10.1.1", True),
        ("v0.8.5.post1", True),
        ("0.9", True),
        ("dev", False),
        ("0.0.0+unknown", False),
        ("0." + "9" * 5000, False),
    ],
)
def test_an_old_vllm_is_asked_in_its_way(version: str, by_logprobs: bool) -> None:
    answers = {**VLLM_SERVER, "/version": {"version": version}}
    assert detect(getting(answers)).dialect == Vllm(by_logprobs=by_logprobs)


def test_a_dialect_given_is_taken_and_asked_for_its_version_alone() -> None:
    found = detect(getting(VLLM_SERVER), dialect="sglang")
    assert (found.dialect.name, found.version) == ("sglang", None)
    assert found.evidence[-1] == "--dialect sglang, and no answer shows that it is one"
    assert detect(getting(SGLANG), dialect="ollama").version == "0.9.0"


def test_an_unknown_dialect_names_those_that_are_known() -> None:
    with pytest.raises(UsageError, match="unknown dialect 'vlm'") as caught:
        detect(getting({}), dialect="vlm")
    assert caught.value.remedy == "did you mean 'vllm'?"
    assert caught.value.expected == "vllm, llama.cpp, sglang, tgi, ollama, openai"
    with pytest.raises(UsageError, match="unknown dialect 'VLLM'") as caught:
        detect(getting({}), dialect="VLLM")
    assert caught.value.remedy == "did you mean 'vllm'?"


@pytest.mark.parametrize(
    ("answers", "given", "shown"),
    [
        ({"/v1/models": _told["models"], "/props": _told["props"]}, "vllm", "/props: llama.cpp"),
        # A version is told by many, and is no excuse.
        ({"/props": _told["props"], "/version": {"version": "1.2"}}, "vllm", "/props: llama.cpp"),
        (VLLM_SERVER, "tgi", "/version: vllm 0.32.0"),
        ({"/v1/models": models("tiny", owner="vllm")}, "tgi", "its models are owned by vllm"),
        (TGI, "vllm", "/info: tgi 3.3.5"),
    ],
)
def test_a_dialect_that_the_server_contradicts_is_noted(
    answers: Answers, given: str, shown: str
) -> None:
    found = detect(getting(answers), dialect=given)
    assert found.dialect.name == given
    [words] = found.notes
    assert f"--dialect {given} contradicts what the server shows ({shown}" in words
    assert "may be the dialect's doing" in words


@pytest.mark.parametrize(
    ("answers", "given"),
    [
        (VLLM_SERVER, "vllm"),
        ({"/version": {"version": "1.2"}}, "vllm"),
        ({}, "vllm"),
        (SGLANG, "ollama"),  # it takes Ollama's requests too
        (SGLANG, "openai"),
        (OLLAMA, None),
    ],
)
def test_a_dialect_that_nothing_contradicts(answers: Answers, given: str | None) -> None:
    assert detect(getting(answers), dialect=given).notes == ()


def test_an_address_where_nothing_known_answers() -> None:
    with pytest.raises(LaneUnavailable, match="nothing known answers at this address") as caught:
        detect(getting({}))
    assert "/v1/models, /props" in caught.value.what
    assert "is the path of the URL right?" in (caught.value.remedy or "")
    # One that answers completions alone is still asked, where the user says so.
    assert detect(getting({}), dialect="openai").dialect.name == "openai"


def test_a_model_that_is_not_served_names_those_that_are() -> None:
    with pytest.raises(UsageError, match="does not serve the model 'tinny'") as caught:
        detect(getting(VLLM_SERVER), model="tinny")
    assert (caught.value.expected, caught.value.remedy) == ("tiny", "did you mean 'tiny'?")


@pytest.mark.parametrize(
    ("answers", "model"),
    [
        (VLLM_SERVER, "tiny"),
        (OLLAMA, "llama3"),
        (OLLAMA, "llama3:latest"),
        ({"/v1/models": {"data": [{"id": "a.gguf", "aliases": ["short", 7]}]}}, "short"),
        ({"/v1/models": Reply(405, b"")}, "anything"),  # no list to hold it against
    ],
)
def test_a_model_given_is_sent_as_it_is_given(answers: Answers, model: str) -> None:
    assert detect(getting(answers), model=model).model == model


def test_several_models_and_none_named() -> None:
    answers = {"/v1/models": models("one", "two", owner="library")}
    with pytest.raises(UsageError, match="serves 2 models, and none is named") as caught:
        detect(getting(answers))
    assert (caught.value.expected, caught.value.remedy) == ("one, two", "--model NAME")
    assert detect(getting(answers), model="two").model == "two"


def test_one_model_under_two_names_needs_no_choice() -> None:
    answers = {"/v1/models": models("one", "alias", owner="vllm", root="/models/one")}
    assert detect(getting(answers)).model == "one"


def test_a_long_list_of_models_is_cut() -> None:
    answers = {"/v1/models": models(*(f"m{n}" for n in range(400)), owner="x")}
    with pytest.raises(UsageError) as caught:
        detect(getting(answers), model="none")
    assert (caught.value.expected or "").endswith("m11 and 388 more")


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply(None, failure="connection refused"), "does not answer: connection refused"),
        (Reply(200, b"{", failure="cut short", whole=False), "does not answer: cut short"),
        (Reply(401, b'{"error":"Unauthorized"}'), "wants a key: Unauthorized"),
        (
            Reply(503, b'{"error":{"message":"Loading model","code":503}}'),
            "is not ready: Loading model",
        ),
    ],
)
def test_a_server_that_cannot_be_asked(reply: Reply, words: str) -> None:
    with pytest.raises(LaneUnavailable, match=words):
        detect(getting({"/v1/models": reply}))


@pytest.mark.parametrize(
    "value",
    [
        None,
        7,
        [],
        {"data": 7},
        {"data": [7, None, {"id": 7}, {}]},
        {"data": [{"id": "a", "owned_by": [], "root": 7, "aliases": 7, "max_model_len": -1}]},
        {"data": [{"id": "a", "owned_by": None, "meta": {"n_ctx": "x"}, "max_model_len": True}]},
    ],
)
def test_any_list_of_models_is_read(value: object) -> None:
    found = detect(getting({"/v1/models": value}))
    assert (found.dialect.name, found.context) == ("openai", None)
    assert found.model in (None, "a")
