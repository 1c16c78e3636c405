"""Text Generation Inference: the native request returns the prompt's tokens (``details.prefill``).

Its tokenizer endpoint always adds special tokens; the chat's counts and renders without generating.
"""

from dataclasses import dataclass

from harness.served.live.dialects.openai import completed, completion, messages, text_of
from harness.served.live.dialects.reading import Opened, ids, member, opened
from harness.served.live.dialects.tokenized import listed, rendered
from harness.served.live.values import Answer, Ask, Call, Kind, Processed, Reply


@dataclass(frozen=True)
class Tgi:
    """TGI's router. The model's name in a body would mean an adapter, so none is sent."""

    name: str = "tgi"
    determines: str = (
        "decoder_input_details of /generate, for a text; of a chat TGI tells the rendered text and "
        "its ids, and not those that it processed"
    )

    def call(self, kind: Kind, ask: Ask) -> Call | None:
        """Return the call; several texts can be completed, and neither tokenized nor traced."""
        if ask.chat and kind in (Kind.TOKENIZE, Kind.RENDERED):
            return Call("/chat_tokenize", {"messages": messages(ask)})
        alone = text_of(ask)
        if kind is Kind.TOKENIZE_SPECIAL:
            return None if alone is None else Call("/tokenize", {"inputs": alone})
        if kind is Kind.PROCESSED:
            return None if alone is None else _processing(alone, ask.output_tokens)
        found = completion(kind, ask)
        if found is None or found.body is None:
            return found
        body = {key: value for key, value in found.body.items() if key != "model"}
        return Call(found.path, body, streamed=found.streamed)

    def read(self, kind: Kind, reply: Reply) -> Answer:
        """Return what a reply says."""
        found = opened(reply)
        if kind in (Kind.TOKENIZE, Kind.TOKENIZE_SPECIAL):
            chat = member(found.value, "tokenize_response")
            return listed(found, found.value if chat is None else chat)
        if kind is Kind.RENDERED:
            return rendered(found, "templated_text", member(found.value, "templated_text"))
        return completed(kind, found, _processed)


def _processing(alone: str, output_tokens: int) -> Call:
    parameters = {"max_new_tokens": output_tokens, "details": True, "decoder_input_details": True}
    return Call("/generate", {"inputs": alone, "parameters": parameters})


def _processed(found: Opened) -> Processed | None:
    """Return the prefill's ids; an empty prefill says that none were kept, not that none are."""
    for document in found.documents:
        prefill = member(document.value.get("details"), "prefill")
        known = ids(prefill, "details.prefill", found.faults)
        if known:
            return Processed("details.prefill", len(known), known)
    return None
