"""Refusals of an over-long prompt, told in numbers or in words, as every known server words them.

The words matter more than the dialect: proxies pass on what the server behind them said.
"""

import re
from typing import Any

from harness.served.live.values import TooLong

_READ = 4000  # characters of a message; the numbers stand at its start
_NUMBER = r"(\d{1,12})"

_LIMITS = tuple(
    re.compile(pattern.replace("#", _NUMBER))
    for pattern in (
        r"maximum context length (?:is|of) #",  # vLLM, OpenAI, llama-cpp-python, SGLang
        r"maximum model length of #",  # vLLM, token ids as the prompt
        r"context size \(# tokens\)",  # llama.cpp
        r"context length \(# tokens\)",  # SGLang
        r"context window of #",  # llama-cpp-python
        r"must have less than # tokens",  # TGI, the prompt alone
        r"`max_new_tokens` must be <= #",  # TGI, prompt and output
        r"maximum allowed input length of # tokens",  # SGLang's scheduler
    )
)
_EXACT = tuple(
    re.compile(pattern.replace("#", _NUMBER))
    for pattern in (
        r"request \(# tokens\)",  # llama.cpp
        r"input \(# tokens\)",  # SGLang
        r"\(# in (?:the|your) (?:messages|prompt)",  # OpenAI, older vLLM, llama-cpp-python
        r"has # input tokens",  # vLLM, prompt and output
        r"\(length #\)",  # vLLM, token ids as the prompt
        r"messages resulted in # tokens",  # OpenAI
        r"# tokens from the input",  # SGLang, prompt and output
        r"Requested tokens \(#\)",  # llama-cpp-python
        r"Given: #",  # TGI
        r"Input length \(?# exceeds",  # SGLang's scheduler
    )
)
_AT_LEAST = re.compile(r"contains at least " + _NUMBER)
# Refusals without a number: Ollama, older llama.cpp.
_BARE = re.compile(
    r"longer than the context length|exceeds the (?:available )?context (?:length|size)"
    r"|exceeded max context length|context_length_exceeded"
)


def too_long(value: object) -> TooLong | None:
    """Return what an error body says of a prompt over the context, None where it says none."""
    if not isinstance(value, dict):
        return None
    error = value.get("error")
    inner: dict[str, Any] = error if isinstance(error, dict) else value
    if inner.get("type") == "exceed_context_size_error":
        told = _number(inner.get("n_prompt_tokens"))
        return TooLong(told, exact=told is not None, limit=_number(inner.get("n_ctx")))
    words = error if isinstance(error, str) else inner.get("message")
    return from_words(words) if isinstance(words, str) else None


def from_words(words: str) -> TooLong | None:
    """Return the count and the limit that a message names, None where it is of another matter."""
    words = words[:_READ]
    limit = next((int(found[1]) for one in _LIMITS if (found := one.search(words))), None)
    if limit is None and not _BARE.search(words):
        return None
    least = _AT_LEAST.search(words)
    if least:
        return TooLong(int(least[1]), exact=False, limit=limit)
    count = next((int(found[1]) for one in _EXACT if (found := one.search(words))), None)
    return TooLong(count, exact=count is not None, limit=limit)


def _number(value: object) -> int | None:
    return value if type(value) is int and 0 <= value <= 10**12 else None
