"""A probe's first line: what the binary is, what it offers, and whether it took the tokenizer."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

PROTOCOL = "tokparity/1"
_SHOWN = 80


@dataclass(frozen=True)
class Hello:
    """What a probe said of itself; ``facts`` is the whole JSON object as it came.

    ``operations`` is empty where the tokenizer was ``refused`` (the subject does not support it) or
    loading it ended in an ``error``. ``load_ms`` is the probe's own count of milliseconds.
    """

    subject: str
    version: str
    operations: tuple[str, ...]
    refused: str | None
    error: str | None
    load_ms: float | None
    facts: Mapping[str, Any]


def parse_hello(line: bytes) -> Hello:
    """Read a hello without its newline; raises ValueError with words for a person."""
    word, space, text = line.partition(b" ")
    if word != PROTOCOL.encode():
        if word.startswith(b"tokparity/"):
            raise ValueError(f"hello has the protocol {shown(word)}; this is {PROTOCOL}")
        raise ValueError(f"the first line is no hello: {shown(line)}")
    try:
        facts = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(f"hello is not JSON: {shown(text)}") from None
    if not space or not isinstance(facts, dict):
        raise ValueError(f"hello is no JSON object: {shown(text)}")
    return hello_of(facts)


def hello_of(facts: Mapping[str, Any]) -> Hello:
    """Make a hello of its JSON object; raises ValueError where a field has the wrong type."""
    operations = facts.get("operations")
    if not isinstance(operations, list) or not all(isinstance(one, str) for one in operations):
        raise ValueError(f"hello's operations are {shown(operations)}, not a list of names")
    refused, error = _text(facts, "refused"), _text(facts, "error")
    if refused is None and error is None and "encode" not in operations:
        raise ValueError("hello offers no encode")
    load_ms = facts.get("load_ms")
    return Hello(
        subject=_text(facts, "subject") or "",
        version=_text(facts, "version") or "",
        operations=tuple(operations),
        refused=refused,
        error=error,
        load_ms=float(load_ms) if isinstance(load_ms, int | float) else None,
        facts=dict(facts),
    )


# hello's key → the lane's axis, and how the axis's value is spelt in hello. A key that hello leaves
# out contradicts nothing: a subject that is not C++ has no char.
_CLAIMS: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "arch": ("arch", str),
    "char": ("char", str),
    "wchar": ("wchar", str),
    "endian": ("endian", str),
    "pointer_bits": ("pointer", str),
    "long_double_bits": ("long-double", str),
}


def contradictions(hello: Hello, axes: Mapping[str, str]) -> tuple[str, ...]:
    """Return every claim of hello that the lane's axes contradict, with both values named."""
    found = [
        f"hello says {key} is {shown(hello.facts[key])}; the lane's is {axes[axis]}"
        for key, (axis, spelt) in _CLAIMS.items()
        if key in hello.facts and axis in axes and spelt(hello.facts[key]) != axes[axis]
    ]
    # A binary without the instruction, or without a place to use it, is "off" whatever it was told;
    # only the reverse is a contradiction.
    if hello.facts.get("fp_contract") == "fast" and axes.get("fp-contract") == "off":
        found.append("hello says fp_contract is fast; the lane's is off")
    return tuple(found)


def shown(value: object) -> str:
    """Return a value as one short, printable line, whatever it contains."""
    text = value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)
    quoted = ascii(text[: _SHOWN + 1])
    return quoted if len(text) <= _SHOWN else f"{text[:_SHOWN]!a}… ({len(text)} characters)"


def _text(facts: Mapping[str, Any], key: str) -> str | None:
    value = facts.get(key)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"hello's {key} is {shown(value)}, not text")
    return value
