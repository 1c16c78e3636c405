"""Ollama: counts only, and a template around every prompt, a completion's too.

``/v1/completions`` renders its prompt as one message of a chat, so a completion's count is that of
a rendered text. Versions whose runner was not llama.cpp's server left cached tokens out of
``prompt_eval_count``, and a count of none is left out of the answer altogether. A prompt over the
context is cut silently, or half of it dropped, unless the server refuses.
"""

from dataclasses import dataclass
from typing import Any

from harness.served.live.dialects.openai import completed, completion, messages, named, text_of
from harness.served.live.dialects.reading import Opened, count, member, opened
from harness.served.live.dialects.tokenized import rendered
from harness.served.live.values import Answer, Ask, Call, Kind, Processed, Reply

_COUNT = "prompt_eval_count"


@dataclass(frozen=True)
class Ollama:
    """Ollama's server, asked natively where its own API tells more."""

    name: str = "ollama"
    determines: str = (
        "llama.cpp's server with the same GGUF: Ollama tells no ids, and its count may leave "
        "cached tokens out"
    )

    def call(self, kind: Kind, ask: Ask) -> Call | None:
        """Return the call; nothing is tokenized, and several texts are not taken."""
        if not ask.chat and text_of(ask) is None:
            return None
        if kind is Kind.PROCESSED:
            return _native(ask, {})
        if kind is Kind.RENDERED:
            return _native(ask, {"_debug_render_only": True})
        return completion(kind, ask)

    def read(self, kind: Kind, reply: Reply) -> Answer:
        """Return what a reply says."""
        found = opened(reply)
        if kind is Kind.RENDERED:
            told = member(member(found.value, "_debug_info"), "rendered_template")
            return rendered(found, "_debug_info.rendered_template", told)
        return completed(kind, found, _processed)


def _native(ask: Ask, more: dict[str, Any]) -> Call:
    options = {"num_predict": ask.output_tokens}
    body = named(ask) | {"stream": False, "options": options} | more
    if ask.chat:
        return Call("/api/chat", body | {"messages": messages(ask)})
    return Call("/api/generate", body | {"prompt": ask.prompt})


def _processed(found: Opened) -> Processed | None:
    told = None
    for document in found.documents:
        number = count(document.value.get(_COUNT), _COUNT, found.faults)
        told = told if number is None else Processed(_COUNT, number)
    return told
