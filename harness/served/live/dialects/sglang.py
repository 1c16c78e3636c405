"""SGLang: the native request returns the ids of the prompt with their log-probabilities.

The chat requests know ``return_prompt_token_ids`` from 0.5.13 on and ignore it before. Truncation
is silent where the server runs with ``--allow-auto-truncate``.
"""

from dataclasses import dataclass

from harness.served.live.dialects.openai import (
    CHAT,
    asked,
    completed,
    completion,
    named,
)
from harness.served.live.dialects.reading import Opened, count, ids, joined, member, opened
from harness.served.live.dialects.returned import returned_ids
from harness.served.live.dialects.tokenized import tokenized
from harness.served.live.values import Answer, Ask, Call, Kind, Processed, Reply


@dataclass(frozen=True)
class SGLang:
    """SGLang's server."""

    name: str = "sglang"
    determines: str = (
        "return_logprob of /generate for a text, and return_prompt_token_ids of SGLang 0.5.13 and "
        "newer for a chat"
    )

    def call(self, kind: Kind, ask: Ask) -> Call | None:
        """Return the call; messages cannot be tokenized, and no text is rendered."""
        if kind in (Kind.TOKENIZE, Kind.TOKENIZE_SPECIAL):
            if ask.chat:
                return None
            special = {"add_special_tokens": kind is Kind.TOKENIZE_SPECIAL}
            return Call("/v1/tokenize", named(ask) | {"prompt": asked(ask)["prompt"]} | special)
        if kind is Kind.PROCESSED:
            return _processing(ask)
        return completion(kind, ask)

    def read(self, kind: Kind, reply: Reply) -> Answer:
        """Return what a reply says."""
        found = opened(reply)
        if kind in (Kind.TOKENIZE, Kind.TOKENIZE_SPECIAL):
            return tokenized(found)
        results = found.value if isinstance(found.value, list) else [found.value]
        if any(member(one, "meta_info") is not None for one in results):
            return found.closed(processed=joined([_result(one, found) for one in results]))
        return completed(kind, found, returned_ids)


def _processing(ask: Ask) -> Call:
    if ask.chat:
        return Call(CHAT, asked(ask) | {"return_prompt_token_ids": True})
    return Call(
        "/generate",
        {
            "text": asked(ask)["prompt"],
            "sampling_params": {"max_new_tokens": ask.output_tokens},
            "return_logprob": True,
            "logprob_start_len": 0,  # from the first token on; else only the output's are told
        },
    )


def _result(value: object, found: Opened) -> Processed | None:
    """Return one result of the native request: ids where all are there, else the count."""
    meta = member(value, "meta_info")
    number = count(member(meta, "prompt_tokens"), "meta_info.prompt_tokens", found.faults)
    rows = member(meta, "input_token_logprobs")
    known = None
    if isinstance(rows, list):
        # Each is the log-probability, the id and maybe its text.
        second = [one[1] if isinstance(one, list) and len(one) > 1 else None for one in rows]
        known = ids(second, "meta_info.input_token_logprobs", found.faults)
    if known is not None and (number is None or len(known) == number):
        return Processed("meta_info.input_token_logprobs", len(known), known)
    if number is None:
        return None
    return Processed("meta_info.prompt_tokens", number)
