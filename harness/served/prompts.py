"""Prompt files: texts of a known length, with ``_meta`` that says which, checked before use.

JSON Lines with ``{"_meta": {…}}`` as the first line and a prompt a line; or JSON, a list of the
same or ``{"_meta": {…}, "prompts": […]}``. A prompt is a text, or an object with ``prompt`` or
``text`` and maybe an ``id``. ``_meta`` names ``target``, ``tolerance``, ``count``, ``boundary`` and
``minimum``, each if it likes. What is sent to a live server may besides be several texts (a list as
``prompt``) or a conversation (``messages``).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from pydantic import ConfigDict, Field

from harness.errors import UsageError
from harness.plural import grouped
from harness.served.benchfiles.documents import Document, fitted, load
from harness.served.live.values import Message, Role
from harness.served.target import Band, Boundary
from harness.validated import Strict, did_you_mean

_WHAT = 'a prompt file: {"_meta": {"target": 512, …}}, then {"prompt": "…"} a line'
_KNOWN = ["target", "tolerance", "count", "boundary", "minimum"]
_TEXT_KEYS = ("prompt", "text")
_ROLES = get_args(Role)
_MESSAGES = '{"messages": [{"role": "user", "content": "…"}]}'

# A text, several that are sent at once, or a conversation.
Content = str | tuple[str, ...] | tuple[Message, ...]


class Meta(Strict):
    """What a prompt file says of itself, lengths in tokens. Other keys pass, misspelt do not."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    target: int | None = Field(default=None, ge=1, le=10**9)
    tolerance: int = Field(default=0, ge=0, le=10**9)
    count: int | None = Field(default=None, ge=1)
    boundary: Boundary | None = None
    minimum: int | None = Field(default=None, ge=0)


@dataclass(frozen=True)
class Prompt:
    """One prompt; ``id`` is its own, or its number from 1."""

    id: str
    content: Content

    @property
    def text(self) -> str:
        """The text of a prompt that is one; raises TypeError for any other."""
        if not isinstance(self.content, str):
            raise TypeError("several texts or messages are not one text")
        return self.content


@dataclass(frozen=True)
class PromptFile:
    """A prompt file as read; ``sha256`` is of its bytes."""

    path: Path
    sha256: str
    meta: Meta
    prompts: tuple[Prompt, ...]


@dataclass(frozen=True)
class Checked:
    """What became of a prompt file's checks.

    ``counts`` are tokens a prompt; ``twins`` the rows that repeat an earlier prompt; ``outside``
    the rows out of ``band``; ``unstable`` the rows whose ids, decoded and encoded again, are other
    ids; ``violations`` what fails, in words.
    """

    file: PromptFile
    counts: tuple[int, ...]
    band: Band | None
    twins: tuple[int, ...]
    outside: tuple[int, ...]
    unstable: tuple[int, ...]
    violations: tuple[str, ...]

    @property
    def margins(self) -> tuple[int, int] | None:
        """The least distance to the lower and to the upper edge of the band, negative outside."""
        if self.band is None:
            return None
        return min(self.counts) - self.band.low, self.band.high - max(self.counts)


def read_prompts(path: Path, *, live: bool = False) -> PromptFile:
    """Return a prompt file.

    Raises :class:`UsageError`: what :func:`harness.served.benchfiles.documents.load` refuses; no
    prompt; a prompt that is no text, has a lone surrogate or the id of another; ``_meta`` with a
    wrong type or a misspelt key, or not at the start. Unless ``live``, also several texts at once,
    and a list of messages, whose length needs the chat template.
    """
    content = load(path, _WHAT)
    meta, rows = _split(content.documents)
    prompts = tuple(_prompt(one, number, live=live) for number, one in enumerate(rows, start=1))
    if not prompts:
        raise UsageError("holds no prompt", where=str(path), expected=_WHAT)
    _distinct(prompts, rows)
    return PromptFile(path, content.sha256, meta, prompts)


def _distinct(prompts: Sequence[Prompt], rows: Sequence[Document]) -> None:
    """Refuse two prompts under one id: no report could say which of them it means."""
    first: dict[str, Document] = {}
    for prompt, row in zip(prompts, rows, strict=True):
        if first.setdefault(prompt.id, row) is not row:
            raise UsageError(
                f"has the id '{prompt.id[:60]}', as has an earlier prompt "
                f"({first[prompt.id].place})",
                where=row.place,
                expected="an id of its own for each prompt; one without has its number, from 1",
            )


def _split(documents: Sequence[Document]) -> tuple[Meta, list[Document]]:
    first = documents[0]
    if len(documents) == 1 and isinstance(first.value, list):
        rows = [
            Document(one, f"{first.place}: {number}")
            for number, one in enumerate(first.value, start=1)
        ]
    elif isinstance(first.value, Mapping) and isinstance(first.value.get("prompts"), list):
        rows = [Document({"_meta": first.value.get("_meta", {})}, first.place)]
        rows += [
            Document(one, f"{first.place}: prompts.{number}")
            for number, one in enumerate(first.value["prompts"])
        ]
        rows += documents[1:]
    else:
        rows = list(documents)
    if rows and isinstance(rows[0].value, Mapping) and "_meta" in rows[0].value:
        return _meta(rows[0]), rows[1:]
    return Meta(), rows


def _meta(document: Document) -> Meta:
    where = f"{document.place}: _meta"
    meta = fitted(document.value["_meta"], Meta, where)
    for key in meta.model_extra or {}:
        close = did_you_mean(key, _KNOWN)
        if close is not None:
            raise UsageError(
                f"unknown key '{key[:60]}'",
                where=where,
                expected=", ".join(_KNOWN),
                remedy=f"did you mean '{close}'?",
            )
    return meta


def _prompt(document: Document, number: int, *, live: bool) -> Prompt:
    value: Any = document.value
    name = str(number)
    if isinstance(value, Mapping):
        if "_meta" in value:
            raise UsageError("has _meta after the start", where=document.place, expected=_WHAT)
        given = value.get("id")
        name = name if given is None else str(given)[:200]
        if "messages" in value:
            return Prompt(name, _messages(value, document.place, live=live))
        value = next((value[key] for key in _TEXT_KEYS if key in value), None)
    if live and isinstance(value, list) and value:
        return Prompt(name, tuple(_text(one, document.place) for one in value))
    return Prompt(name, _text(value, document.place))


def _text(value: object, where: str, what: str = "is no prompt", expected: str = _WHAT) -> str:
    if not isinstance(value, str):
        raise UsageError(what, where=where, expected=expected)
    surrogate = next((one for one in value if "\ud800" <= one <= "\udfff"), None)
    if surrogate is not None:
        raise UsageError(
            f"has the lone surrogate U+{ord(surrogate):04X}, which no UTF-8 can carry",
            where=where,
        )
    return value


def _messages(value: Mapping[str, Any], where: str, *, live: bool) -> tuple[Message, ...]:
    if not live:
        raise UsageError(
            "is a list of messages, whose length needs the chat template",
            where=where,
            remedy="give the rendered text as the prompt",
        )
    if any(key in value for key in _TEXT_KEYS):
        raise UsageError("has messages and a prompt", where=where, expected="one of the two")
    messages = value["messages"]
    if not isinstance(messages, list) or not messages:
        raise UsageError("has no list of messages", where=where, expected=_MESSAGES)
    return tuple(_message(one, f"{where}: messages.{at}") for at, one in enumerate(messages))


def _message(value: object, where: str) -> Message:
    if not isinstance(value, Mapping):
        raise UsageError("is no message", where=where, expected=_MESSAGES)
    role = next((one for one in _ROLES if one == value.get("role")), None)
    if role is None:
        raise UsageError(
            f"has the role '{str(value.get('role'))[:60]}'",
            where=where,
            expected=", ".join(_ROLES),
        )
    content = _text(value.get("content"), where, "has a content that is no text", _MESSAGES)
    return Message(role, content)


def check(
    file: PromptFile,
    counts: Sequence[int],
    stable: Sequence[bool],
    *,
    band: Band | None,
) -> Checked:
    """Return what holds of a prompt file. Pure.

    ``counts`` are the prompts' tokens at the band's boundary; ``stable`` says of each whether its
    ids survive decoding and encoding again.
    """
    seen: dict[Content, int] = {}
    twins = []
    for row, prompt in enumerate(file.prompts):
        if seen.setdefault(prompt.content, row) != row:
            twins.append(row)
    outside = [
        row
        for row, count in enumerate(counts)
        if band is not None and not band.low <= count <= band.high
    ]
    unstable = [row for row, one in enumerate(stable) if not one]
    found = Checked(
        file=file,
        counts=tuple(counts),
        band=band,
        twins=tuple(twins),
        outside=tuple(outside),
        unstable=tuple(unstable),
        violations=(),
    )
    return Checked(
        file, found.counts, band, found.twins, found.outside, found.unstable, _violations(found)
    )


def _violations(found: Checked) -> tuple[str, ...]:
    meta, counts, prompts = found.file.meta, found.counts, found.file.prompts
    words = []
    if meta.count is not None and meta.count != len(prompts):
        words.append(f"_meta.count is {meta.count:,} and there {_are(len(prompts))}")
    if found.twins:
        most, times = Counter(prompt.content for prompt in prompts).most_common(1)[0]
        first = next(prompt.id for prompt in prompts if prompt.content == most)
        words.append(
            f"{grouped(len(found.twins), 'prompt repeats', 'prompts repeat')} an earlier one "
            f"(prompt {first} stands {times:,} times)"
        )
    least = max(1, meta.minimum or 0)
    under = [row for row, count in enumerate(counts) if count < least]
    if under:
        words.append(
            f"{grouped(len(under), 'prompt is', 'prompts are')} shorter than "
            f"{grouped(least, 'token')} (prompt "
            f"{prompts[under[0]].id}: {counts[under[0]]:,})"
        )
    if found.outside and found.band is not None:
        row = max(found.outside, key=lambda one: _beyond(counts[one], found.band))
        words.append(
            f"{grouped(len(found.outside), 'prompt is', 'prompts are')} out of the band "
            f"{found.band} (prompt "
            f"{prompts[row].id}: {counts[row]:,})"
        )
    if found.unstable:
        words.append(
            f"{grouped(len(found.unstable), 'prompt gives', 'prompts give')} other ids once "
            f"decoded and encoded again (prompt {prompts[found.unstable[0]].id}), so a client that "
            "sends ids and one that sends text send different prompts"
        )
    return tuple(words)


def _are(number: int) -> str:
    return f"{'is' if number == 1 else 'are'} {grouped(number, 'prompt')}"


def _beyond(count: int, band: Band | None) -> int:
    return 0 if band is None else max(band.low - count, count - band.high)
