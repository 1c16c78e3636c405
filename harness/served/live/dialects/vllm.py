"""vLLM: ids come back with the answer (``return_token_ids``), the chat's text too where it is new.

Older versions know no ids and ignore the field; they tell the prompt's log-probabilities, one a
token, of which the first has no id.
"""

from dataclasses import dataclass
from typing import Any

from harness.served.live.dialects.openai import (
    CHAT,
    COMPLETIONS,
    asked,
    completed,
    completion,
    messages,
    named,
    text_of,
)
from harness.served.live.dialects.reading import Opened, choices, joined, opened
from harness.served.live.dialects.returned import returned_ids
from harness.served.live.dialects.tokenized import tokenized
from harness.served.live.values import Answer, Ask, Call, Kind, Processed, Reply


@dataclass(frozen=True)
class Vllm:
    """vLLM's server. ``by_logprobs``: ask for log-probabilities, for versions before 0.10.2."""

    by_logprobs: bool = False
    name: str = "vllm"
    determines: str = "return_token_ids of vLLM 0.10.2 and newer, or prompt_logprobs before that"

    def call(self, kind: Kind, ask: Ask) -> Call | None:
        """Return the call; several texts cannot be tokenized in one, and no text is rendered."""
        if kind is Kind.TOKENIZE and ask.chat:
            return Call("/tokenize", named(ask) | {"messages": messages(ask)})
        if kind in (Kind.TOKENIZE, Kind.TOKENIZE_SPECIAL):
            text = text_of(ask)
            special = kind is Kind.TOKENIZE_SPECIAL
            if text is None:
                return None
            return Call("/tokenize", named(ask) | {"prompt": text, "add_special_tokens": special})
        if kind is Kind.PROCESSED:
            return Call(CHAT if ask.chat else COMPLETIONS, asked(ask) | self._telling(ask))
        return completion(kind, ask)

    def read(self, kind: Kind, reply: Reply) -> Answer:
        """Return what a reply says; log-probabilities are read where no ids came."""
        if kind in (Kind.TOKENIZE, Kind.TOKENIZE_SPECIAL):
            return tokenized(opened(reply))
        return completed(kind, opened(reply), _processed)

    def _telling(self, ask: Ask) -> dict[str, Any]:
        if self.by_logprobs:
            return {"prompt_logprobs": 0}
        return {"return_token_ids": True} | ({"return_prompt_text": True} if ask.chat else {})


def _processed(found: Opened) -> Processed | None:
    return returned_ids(found) or _by_logprobs(found)


def _by_logprobs(found: Opened) -> Processed | None:
    """Return the count that the log-probabilities have, of the answer's or of every choice."""
    for document in found.documents:
        whole = _length(document.value.get("prompt_logprobs"), found)
        if whole is not None:
            return whole
        parts = [_length(one.get("prompt_logprobs"), found) for _, one in choices(document)]
        if any(parts):
            return joined(parts)
    return None


def _length(value: object, found: Opened) -> Processed | None:
    if value is None:
        return None
    if not isinstance(value, list):
        found.faults.append("prompt_logprobs is no list")
        return None
    return Processed("prompt_logprobs", len(value))
