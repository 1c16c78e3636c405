"""The events of a stream: server-sent events, or a JSON document a line as Ollama sends them."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import httpx
import httpx_sse

SSE = "text/event-stream"
_LINES = frozenset({"application/x-ndjson", "application/ndjson", "application/jsonl"})
_PIECE = 1 << 16
_START = 64
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Events:
    """The data of the events in order, and in words what kept the rest from being read."""

    data: tuple[str, ...]
    failure: str | None = None


def is_stream(content_type: str) -> bool:
    """Whether a ``Content-Type`` says that the body is a stream of events."""
    kind = _media_type(content_type)
    return kind == SSE or kind in _LINES


def starts_events(body: bytes | bytearray) -> bool:
    """Whether a body begins as server-sent events do, and no JSON can.

    Some servers label a stream as something else, and clients of theirs do not look at the label.
    """
    return bytes(body[:_START]).removeprefix(_BOM).lstrip().startswith((b"data:", b":", b"event:"))


def read_events(content_type: str, body: bytes, most: int) -> Events:
    """Return the events of a body, ``most`` at most, as far as it is UTF-8.

    An event that the stream breaks off in is none: the blank line after it has not come.
    """
    failure = None
    try:
        body.decode()
    except UnicodeDecodeError as error:
        failure = f"byte {error.start:,} of the stream is not UTF-8"
        body = body[: error.start]
    found = _server_sent(body) if _media_type(content_type) == SSE else _lines(body)
    data = tuple(islice(found, most + 1))
    if len(data) > most:
        return Events(data[:most], f"the stream has more than {most:,} events")
    return Events(data, failure)


def _media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def _server_sent(body: bytes) -> Iterator[str]:
    response = httpx.Response(
        200,
        # The format is UTF-8 whatever charset a server adds.
        headers={"content-type": f"{SSE}; charset=utf-8"},
        stream=_Pieces(body.removeprefix(_BOM)),
    )
    for event in httpx_sse.EventSource(response).iter_sse():
        if event.data:  # an event of nothing but a name is not dispatched
            yield event.data


def _lines(body: bytes) -> Iterator[str]:
    for line in io.BytesIO(body):
        # A line without its end may be half a document.
        if line.endswith(b"\n") and not line.isspace():
            yield line.decode().rstrip("\r\n")


class _Pieces(httpx.SyncByteStream):
    """A body piece by piece, so that its lines are not all in memory at once."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def __iter__(self) -> Iterator[bytes]:
        for start in range(0, len(self._body), _PIECE):
            yield self._body[start : start + _PIECE]
