"""Replies taken apart: JSON of any shape, hostile or not, into numbers, ids and words, or None.

Nothing here raises. What has another type than it should is None, and a fault in words says so.
"""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from harness.served.live.dialects.refusal import too_long
from harness.served.live.values import Answer, Processed, Reply

Json = Any  # a value of any type that JSON has

_LARGEST = 10**12
_WORDS = 500  # of a server's own words; the rest helps no reader
_FAULTS = 3
END = "[DONE]"
# The members that counts and ids are read from.
_COUNTING = tuple(
    f'"{key}"'
    for key in (
        "usage",
        "prompt_tokens",
        "cached_tokens",
        "prompt_token_ids",
        "tokens_evaluated",
        "prompt_n",
        "cache_n",
        "prompt_eval_count",
        "input_tokens",
        "tokens",
        "count",
        "prefill",
    )
)


@dataclass(frozen=True)
class Document:
    """One JSON object of a reply; ``event`` is the number of its event, None for a body."""

    value: dict[str, Json]
    event: int | None = None


@dataclass
class Opened:
    """A reply as JSON; ``answer`` has what every answer has, ``faults`` grow while it is read.

    ``value`` is the whole body of any type; ``documents`` the objects in body or events.
    """

    answer: Answer
    value: Json = None
    documents: list[Document] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def closed(self, **found: Json) -> Answer:
        """Return the answer with what was found in it and with every fault named."""
        several = list(dict.fromkeys(self.faults))
        shown = several[:_FAULTS]
        if len(several) > len(shown):
            shown.append(f"and {len(several) - len(shown)} faults more")
        words = [self.answer.error] if self.answer.error else []
        return replace(self.answer, error="; ".join(words + shown) or None, **found)

    @property
    def readable(self) -> bool:
        """Whether the server answered the question, rightly or not, instead of refusing it."""
        return bool(self.documents) or self.value is not None


def opened(reply: Reply) -> Opened:
    """Return a reply as JSON, or as the error that it is."""
    answer = Answer(
        status=reply.status,
        error=reply.failure,
        whole=reply.whole,
        events=len(reply.events),
        retries=reply.retries,
    )
    if reply.status is None:
        return Opened(replace(answer, error=reply.failure or "no answer", whole=False))
    if not 200 <= reply.status < 300:
        return Opened(_refused(answer, reply))
    return _stream(answer, reply) if reply.events else _body(answer, reply)


def _refused(answer: Answer, reply: Reply) -> Answer:
    value = loaded(reply.body)
    words = complaint(value) or _cut(reply.body[: 4 * _WORDS].decode("utf-8", "replace").strip())
    error = f"HTTP {reply.status}: {words}" if words else f"HTTP {reply.status}"
    if reply.failure:
        error += f"; {reply.failure}"
    return replace(answer, error=error, too_long=too_long(value))


def _body(answer: Answer, reply: Reply) -> Opened:
    value = loaded(reply.body)
    found = Opened(answer, value=value)
    if value is None:
        if reply.failure is None:
            found.faults.append("the body is not JSON" if reply.body else "the body is empty")
        return found
    if isinstance(value, dict):
        found.documents.append(Document(value))
        _complained(found, value)
    return found


def _stream(answer: Answer, reply: Reply) -> Opened:
    found = Opened(replace(answer, done=False))
    for number, data in enumerate(reply.events):
        if found.answer.done:
            # No client reads on after the end mark, so what is told there is told to nobody.
            found.faults.append(f"{len(reply.events) - number} events come after {END}")
            break
        if data.strip() == END:
            found.answer = replace(found.answer, done=True)
            continue
        value = loaded(data)
        if isinstance(value, dict):
            found.documents.append(Document(value, number))
            _complained(found, value)
        elif data.strip() not in ("", "null"):  # llama.cpp sends null between two texts
            found.faults.append(f"event {number} is no JSON object")
    return found


def _complained(found: Opened, value: dict[str, Json]) -> None:
    """Note an error that a server reports inside an answer of status 200."""
    if value.get("error") in (None, False, ""):
        return
    found.faults.append(complaint(value) or "an error without words")
    if found.answer.too_long is None:
        found.answer = replace(found.answer, too_long=too_long(value))


@dataclass(frozen=True)
class Twice:
    """What stands in the place of a member that an object has twice with different values.

    Clients differ in which of the two they take, so neither is the server's word.
    """

    def __repr__(self) -> str:
        """Return it in words, for a fault."""
        return "two values under one key"


def loaded(data: bytes | str) -> Json:
    """Return the JSON value, None where there is none, or one that no parser should go into.

    Where a member that counts stands twice in one object with different values it is a
    :class:`Twice`; a number of more digits than Python reads is infinite.
    """
    try:
        words = data if isinstance(data, str) else data.decode("utf-8-sig")
        # Looking at every object costs more than reading it, so only where there is a reason to.
        twice = any(words.count(key) > 1 for key in _COUNTING)
        try:
            return json.loads(words, object_pairs_hook=_once if twice else None)
        except json.JSONDecodeError:
            return None
        except ValueError:
            return json.loads(words, object_pairs_hook=_once, parse_int=_int)
    except (ValueError, RecursionError):
        return None


def _once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: dict[str, Json] = {}
        for key, value in pairs:
            before = seen.setdefault(key, value)
            if type(before) is not type(value) or before != value:
                found[key] = Twice()
    return found


def _int(digits: str) -> int | float:
    try:
        return int(digits)
    except ValueError:
        return math.inf


def complaint(value: object) -> str | None:
    """Return the words of an error body, in any of the shapes that servers give it."""
    if not isinstance(value, dict):
        return _cut(value) if isinstance(value, str) and value else None
    for key in ("error", "message", "detail"):
        inner = value.get(key)
        if isinstance(inner, dict):
            inner = inner.get("message")
        if isinstance(inner, str) and inner:
            return _cut(inner)
        if isinstance(inner, list) and inner:
            return _cut(json.dumps(inner, default=repr))
    return None


def _cut(words: str) -> str:
    return words if len(words) <= _WORDS else words[:_WORDS] + "…"


def count(value: object, name: str, faults: list[str]) -> int | None:
    """Return a number of tokens; None, and a fault, for anything but a plausible integer."""
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST:
        return value
    faults.append(f"{name} is no count: {_shown(value)}")
    return None


def ids(value: object, name: str, faults: list[str]) -> tuple[int, ...] | None:
    """Return a list of token ids, or of objects with an ``id``; None, and a fault, for others."""
    if value is None:
        return None
    if isinstance(value, list):
        flat: list[Json] = [one.get("id") if isinstance(one, dict) else one for one in value]
        if all(type(one) is int and 0 <= one <= _LARGEST for one in flat):
            return tuple(flat)
    faults.append(f"{name} is no list of ids: {_shown(value)}")
    return None


def text(value: object, name: str, faults: list[str]) -> str | None:
    """Return a text; None, and a fault, for anything else."""
    if value is None or isinstance(value, str):
        return value
    faults.append(f"{name} is no text: {_shown(value)}")
    return None


def flag(value: object, name: str, faults: list[str]) -> bool | None:
    """Return a truth value; None, and a fault, for anything else."""
    if value is None or isinstance(value, bool):
        return value
    faults.append(f"{name} is no truth value: {_shown(value)}")
    return None


def member(value: object, name: str) -> Json:
    """Return a member of an object, None where either is none."""
    return value.get(name) if isinstance(value, dict) else None


def choices(document: Document) -> Iterator[tuple[int, dict[str, Json]]]:
    """Yield the choices of a completion with the number of the prompt that each belongs to."""
    found = document.value.get("choices")
    for place, one in enumerate(found if isinstance(found, list) else ()):
        if isinstance(one, dict):
            number = one.get("index")
            yield number if type(number) is int else place, one


def joined(parts: Sequence[Processed | None]) -> Processed | None:
    """Return what was processed for the texts of one request; None where one part is untold."""
    known = [one for one in parts if one is not None]
    if not known or len(known) < len(parts):
        return None
    if len(known) == 1:
        return known[0]
    counts = [one.count for one in known if one.count is not None]
    lists = [one.ids for one in known if one.ids is not None]
    flags = [one.truncated for one in known if one.truncated is not None]
    return Processed(
        source=known[0].source,
        count=sum(counts) if len(counts) == len(known) else None,
        ids=tuple(one for some in lists for one in some) if len(lists) == len(known) else None,
        truncated=any(flags) if flags else None,
    )


def _shown(value: object) -> str:
    """Return a value of any size in a few words."""
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, int | float) and abs(value) > _LARGEST:
        return "a number out of all bounds"  # which Python may refuse to print
    return repr(value)[:40]
