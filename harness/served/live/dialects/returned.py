"""Ids that a completion returns with its answer, as vLLM and SGLang spell them."""

from harness.served.live.dialects.reading import Opened, choices, ids, joined, text
from harness.served.live.values import Processed


def returned_ids(found: Opened) -> Processed | None:
    """Return ``prompt_token_ids``, of the whole answer (vLLM's chat) or of every choice.

    A request of several texts gives the ids of all, in the order of the texts; where one choice
    has none, none are given, for a part would look like a truncated prompt.
    """
    parts: dict[int, Processed | None] = {}
    rendered = None
    for document in found.documents:
        whole = ids(document.value.get("prompt_token_ids"), "prompt_token_ids", found.faults)
        rendered = rendered or text(document.value.get("prompt_text"), "prompt_text", found.faults)
        if whole is not None:
            return Processed("prompt_token_ids", len(whole), whole, text=rendered)
        for number, choice in choices(document):
            own = ids(choice.get("prompt_token_ids"), "prompt_token_ids", found.faults)
            if own is not None:
                parts[number] = Processed("prompt_token_ids", len(own), own)
            else:
                parts.setdefault(number, None)
    return joined([parts[number] for number in sorted(parts)])
