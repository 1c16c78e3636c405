"""llama.cpp's server: every answer's timings count the prompt, and ``verbose`` gives its text.

``/tokenize`` takes ``content``; with ``prompt``, vLLM's key, it answers 200 and no tokens at all.
It adds no special tokens unless told to, though completions have them.
"""

from dataclasses import dataclass

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
from harness.served.live.dialects.reading import (
    Document,
    Opened,
    choices,
    count,
    flag,
    joined,
    member,
    opened,
    text,
)
from harness.served.live.dialects.tokenized import counted, rendered, tokenized
from harness.served.live.values import Answer, Ask, Call, Kind, Processed, Reply

_INPUT_TOKENS = CHAT + "/input_tokens"
_TIMINGS = "timings.cache_n + timings.prompt_n"


@dataclass(frozen=True)
class LlamaCpp:
    """llama.cpp's server, of any build; what a build lacks it refuses or leaves out."""

    name: str = "llama.cpp"
    determines: str = '"verbose" and "timings" of a newer llama.cpp server; none tells the ids'

    def call(self, kind: Kind, ask: Ask) -> Call | None:
        """Return the call; a completion has no rendered text but its own."""
        if kind in (Kind.TOKENIZE, Kind.TOKENIZE_SPECIAL):
            return _tokenize(kind, ask)
        if kind is Kind.RENDERED:
            return Call("/apply-template", {"messages": messages(ask)}) if ask.chat else None
        if kind is Kind.PROCESSED:
            return _processing(ask)
        return completion(kind, ask)

    def read(self, kind: Kind, reply: Reply) -> Answer:
        """Return what a reply says."""
        found = opened(reply)
        if kind in (Kind.TOKENIZE, Kind.TOKENIZE_SPECIAL):
            chat = member(found.value, "input_tokens") is not None
            return counted(found, "input_tokens") if chat else tokenized(found)
        if kind is Kind.RENDERED:
            return rendered(found, "/apply-template", member(found.value, "prompt"))
        if kind is Kind.PROCESSED and isinstance(found.value, list):
            parts = [_result(one, "", found) for one in found.value]
            return found.closed(processed=joined(parts))
        return completed(kind, found, _processed)


def _tokenize(kind: Kind, ask: Ask) -> Call | None:
    special = kind is Kind.TOKENIZE_SPECIAL
    if ask.chat:
        # One endpoint counts a chat, and it counts it as it would be processed.
        return None if special else Call(_INPUT_TOKENS, named(ask) | {"messages": messages(ask)})
    if special and text_of(ask) is None:
        return None  # only the first of several texts would get its special tokens
    content = asked(ask)["prompt"]
    return Call("/tokenize", {"content": content, "add_special": special, "parse_special": True})


def _processing(ask: Ask) -> Call:
    if ask.chat:
        return Call(CHAT, asked(ask) | {"verbose": True})
    if text_of(ask) is not None:
        return Call(COMPLETIONS, asked(ask) | {"verbose": True})
    # Of several texts "verbose" tells the first; the native request answers for each.
    body = asked(ask)
    body["n_predict"] = body.pop("max_tokens")
    return Call("/completion", body)


def _processed(found: Opened) -> Processed | None:
    """Return what the verbose part says, else what the timings add up to, for every text."""
    parts: dict[int, Processed | None] = {}
    for document in found.documents:
        several = [number for number, _ in choices(document)]
        if document.event is None and len(several) > 1:
            return None  # the one set of timings is of the first text alone
        verbose = member(document.value, "__verbose")
        told = _result(verbose, "__verbose.", found) or _timed(document, found)
        number = several[0] if several else 0
        known = parts.setdefault(number, None)
        if told is not None and (known is None or known.text is None):
            parts[number] = told
    return joined([parts[number] for number in sorted(parts)])


def _result(value: object, where: str, found: Opened) -> Processed | None:
    name = f"{where}tokens_evaluated"
    number = count(member(value, "tokens_evaluated"), name, found.faults)
    if number is None:
        return None
    return Processed(
        source=name,
        count=number,
        text=text(member(value, "prompt"), f"{where}prompt", found.faults),
        truncated=flag(member(value, "truncated"), f"{where}truncated", found.faults),
    )


def _timed(document: Document, found: Opened) -> Processed | None:
    timings = member(document.value, "timings")
    cached = count(member(timings, "cache_n"), "timings.cache_n", found.faults)
    fresh = count(member(timings, "prompt_n"), "timings.prompt_n", found.faults)
    if cached is None or fresh is None:
        return None
    return Processed(_TIMINGS, count=cached + fresh)
