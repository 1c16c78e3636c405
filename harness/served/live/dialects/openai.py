"""Any server that speaks OpenAI's two completion requests; the other dialects speak them too.

A usage object may ride on the response, on an event with choices, or on one without; all of them
are kept, in order, since clients take one or another.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from harness.served.live.dialects.reading import Document, Opened, Twice, count, member, opened
from harness.served.live.values import Answer, Ask, Call, Kind, Processed, Reply, Usage

COMPLETIONS = "/v1/completions"
CHAT = "/v1/chat/completions"
_OF_A_REQUEST = (Kind.PLAIN, Kind.STREAMED, Kind.STREAMED_USAGE)

Look = Callable[[Opened], Processed | None]


@dataclass(frozen=True)
class OpenAI:
    """A server of which no more is known than that it completes as OpenAI's does."""

    name: str = "openai"
    determines: str = (
        "vLLM, llama.cpp, SGLang, TGI or Ollama in their own words, if this is one of them: "
        "name it with --dialect"
    )

    def call(self, kind: Kind, ask: Ask) -> Call | None:
        """Return the request, plain or streamed; nothing else can be asked."""
        return completion(kind, ask)

    def read(self, kind: Kind, reply: Reply) -> Answer:
        """Return the usages of a completion."""
        return completed(kind, opened(reply))


def completion(kind: Kind, ask: Ask) -> Call | None:
    """Return the completion or chat as any client sends it; None for other questions."""
    if kind not in _OF_A_REQUEST:
        return None
    body = asked(ask)
    if kind is not Kind.PLAIN:
        body["stream"] = True
    if kind is Kind.STREAMED_USAGE:
        body["stream_options"] = {"include_usage": True}
    return Call(CHAT if ask.chat else COMPLETIONS, body, streamed=kind is not Kind.PLAIN)


def asked(ask: Ask) -> dict[str, Any]:
    """Return the body of a completion or chat: the model, the prompt, the output's limit."""
    body: dict[str, Any] = named(ask)
    if ask.chat:
        body["messages"] = messages(ask)
    else:
        body["prompt"] = ask.prompt if isinstance(ask.prompt, str) else list(ask.prompt)
    body["max_tokens"] = ask.output_tokens
    return body


def named(ask: Ask) -> dict[str, Any]:
    """Return the model's member of a body, where there is one."""
    return {} if ask.model is None else {"model": ask.model}


def messages(ask: Ask) -> list[dict[str, str]]:
    """Return the messages of a chat as JSON; a text alone is the user's."""
    if isinstance(ask.prompt, str):
        return [{"role": "user", "content": ask.prompt}]
    return [
        {"role": "user", "content": one}
        if isinstance(one, str)
        else {"role": one.role, "content": one.content}
        for one in ask.prompt
    ]


def text_of(ask: Ask) -> str | None:
    """Return the text of a completion of one text, None for several texts and for a chat."""
    return ask.prompt if isinstance(ask.prompt, str) and not ask.chat else None


def completed(kind: Kind, found: Opened, look: Look | None = None) -> Answer:
    """Return the usages of a completion, and what ``look`` finds of what was processed."""
    if not found.readable:
        return found.closed()
    if found.value is not None and not found.documents:
        found.faults.append("the answer is no JSON object")
    if kind in (Kind.STREAMED, Kind.STREAMED_USAGE) and found.answer.done is None:
        found.faults.append("answered at once where a stream was asked for")
    usages = tuple(usage for one in found.documents if (usage := _usage(one, found)) is not None)
    return found.closed(usages=usages, processed=look(found) if look else None)


def _usage(document: Document, found: Opened) -> Usage | None:
    value = document.value.get("usage")
    if value is None:
        return None
    if not isinstance(value, dict):
        told = " but two values under one key" if isinstance(value, Twice) else ""
        found.faults.append(f"usage is no object{told}")
        return None
    details = value.get("prompt_tokens_details")
    return Usage(
        prompt=count(value.get("prompt_tokens"), "usage.prompt_tokens", found.faults),
        completion=count(value.get("completion_tokens"), "usage.completion_tokens", found.faults),
        cached=count(member(details, "cached_tokens"), "usage's cached_tokens", found.faults),
        place=_place(document),
        event=document.event,
    )


def _place(
    document: Document,
) -> Literal["response", "event-with-choices", "event-without-choices"]:
    if document.event is None:
        return "response"
    return "event-with-choices" if document.value.get("choices") else "event-without-choices"
