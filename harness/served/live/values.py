"""What is asked of a server and what comes of it, as values. Missing is None and never zero."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

Role = Literal["system", "user", "assistant"]


class Kind(StrEnum):
    """One question about one prompt."""

    TOKENIZE = "tokenize"  # the server's tokenizer endpoint, without special tokens
    TOKENIZE_SPECIAL = "tokenize-special"  # the same, with the special tokens that it would add
    PLAIN = "plain"  # one request as any client sends it
    STREAMED = "streamed"  # the same as a stream, usage not asked for
    STREAMED_USAGE = "streamed-usage"  # the same as a stream with include_usage
    PROCESSED = "processed"  # one request that also asks what was processed
    RENDERED = "rendered"  # the text that the chat template makes, where the server tells it


class Spelling(StrEnum):
    """How a body's JSON spells what is not ASCII; clients differ in it."""

    ESCAPED = "ascii-escaped"  # as requests and aiohttp do: \\u00e9
    RAW = "raw-utf-8"  # as httpx and the openai package do


@dataclass(frozen=True)
class Message:
    """One message of a conversation."""

    role: Role
    content: str


@dataclass(frozen=True)
class Ask:
    """What one request is about: a text or several for a completion, or messages for a chat."""

    prompt: str | tuple[str, ...] | tuple[Message, ...]
    model: str | None
    chat: bool
    output_tokens: int = 1


@dataclass(frozen=True)
class Call:
    """One HTTP request below the server's URL. ``body`` is JSON-ready; None sends none."""

    path: str
    body: Mapping[str, Any] | None
    method: Literal["GET", "POST"] = "POST"
    streamed: bool = False


@dataclass(frozen=True)
class Reply:
    """What came back over HTTP.

    ``status`` is None where no answer came, and ``failure`` says why in words; both are there
    where a stream broke off. ``events`` are the data of a stream's events in order, ``body`` the
    bytes of any other answer. ``whole`` says whether a stream reached its own end. ``retries``
    counts the attempts before this one.
    """

    status: int | None
    body: bytes = b""
    events: tuple[str, ...] = ()
    failure: str | None = None
    whole: bool = True
    retries: int = 0


@dataclass(frozen=True)
class Usage:
    """One usage object as the server sent it; ``event`` is the number of its event from 0."""

    prompt: int | None
    completion: int | None
    cached: int | None
    place: Literal["response", "event-with-choices", "event-without-choices"]
    event: int | None = None


@dataclass(frozen=True)
class Processed:
    """What the server says that it processed; ``source`` names the field that says it."""

    source: str
    count: int | None = None
    ids: tuple[int, ...] | None = None
    text: str | None = None
    truncated: bool | None = None


@dataclass(frozen=True)
class TooLong:
    """A refusal of a prompt over the context: the count and the limit that the server names."""

    count: int | None
    exact: bool  # False: "at least"
    limit: int | None


@dataclass(frozen=True)
class Answer:
    """One reply as the dialect reads it. ``error`` is the server's words, or the failure's."""

    status: int | None
    usages: tuple[Usage, ...] = ()
    count: int | None = None  # of a tokenizer endpoint
    ids: tuple[int, ...] | None = None  # of a tokenizer endpoint
    processed: Processed | None = None
    too_long: TooLong | None = None
    error: str | None = None
    whole: bool = True
    done: bool | None = None  # a stream's own end mark ([DONE]); None: not a stream
    events: int = 0
    retries: int = 0

    @property
    def prompt_tokens(self) -> int | None:
        """The prompt tokens of the last usage that has them, as a client reads it."""
        known = [one.prompt for one in self.usages if one.prompt is not None]
        return known[-1] if known else None


@dataclass(frozen=True)
class Client:
    """What we make of one prompt with the tokenizer given: ids, or None where it cannot be made.

    ``raw`` has no special tokens, ``special`` those that the post-processor adds; ``rendered`` is
    the template's text and ``rendered_ids`` its ids, for a chat.
    """

    raw: tuple[int, ...] | None
    special: tuple[int, ...] | None
    rendered: str | None = None
    rendered_ids: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Row:
    """One prompt, what we count, and every answer of the server."""

    id: str
    ask: Ask
    client: Client
    answers: Mapping[tuple[Kind, Spelling], Answer] = field(default_factory=dict)

    def answer(self, kind: Kind, spelling: Spelling = Spelling.RAW) -> Answer | None:
        """Return one answer; None where the question was not asked."""
        return self.answers.get((kind, spelling))

    @property
    def expected(self) -> tuple[int, ...] | None:
        """The ids that the server should process: rendered for a chat, else with specials."""
        return self.client.rendered_ids if self.ask.chat else self.client.special
