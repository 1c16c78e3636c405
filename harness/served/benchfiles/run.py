"""What a benchmark's file tells of one run, whatever program wrote it: frozen values.

None is what the file does not tell. It is never replaced by zero or by another number.
"""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal


class Source(StrEnum):
    """Who counted the input tokens."""

    CLIENT = "client"
    SERVER = "server"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Origin:
    """Where a run's input lengths came from.

    ``basis`` is what decided it: what the ``format`` always does, the streamed ``chunks``, the
    generated ``text``, a second ``count`` in the same file, or ``none``.
    """

    source: Source
    basis: Literal["format", "chunks", "text", "count", "none"]
    reason: str


@dataclass(frozen=True)
class Request:
    """One request. ``chunks`` is the number of timed pieces that its answer was streamed in."""

    input_tokens: int | None
    output_tokens: int | None = None
    failed: bool = False
    error: str | None = None
    chunks: int | None = None
    text: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Claimed:
    """The totals as the file states them; times in seconds, rates in units a second.

    ``input_by`` says who counted ``input_tokens`` where that is not the origin of the lengths.
    """

    requests: int | None = None
    completed: int | None = None
    failed: int | None = None
    input_tokens: int | None = None
    input_by: Source | None = None
    output_tokens: int | None = None
    duration: float | None = None
    request_throughput: float | None = None
    output_throughput: float | None = None
    total_throughput: float | None = None


@dataclass(frozen=True)
class Traffic:
    """How the requests were sent; ``concurrency`` is the most that were in flight at once."""

    endpoint: Literal["chat", "completions"] | None = None
    model: str | None = None
    tokenizer: str | None = None
    concurrency: int | None = None
    request_rate: float | str | None = None


@dataclass(frozen=True)
class Run:
    """One run of a benchmark. ``requests`` is None where the file has no details.

    ``file`` and ``sha256`` are those of the file, ``place`` adds the line where it holds several
    runs. ``misfits`` are contradictions that show while it is read.
    """

    place: str
    format: str
    requests: tuple[Request, ...] | None
    claimed: Claimed
    traffic: Traffic
    origin: Origin
    file: str = ""
    sha256: str = ""
    misfits: tuple[str, ...] = ()

    @property
    def completed(self) -> tuple[tuple[int, Request], ...]:
        """The requests that did not fail, each with its row."""
        return tuple((row, one) for row, one in enumerate(self.requests or ()) if not one.failed)

    @property
    def failed(self) -> int | None:
        """The number of failed requests: the rows that say so, else the file's own numbers."""
        said = self.claimed
        if self.requests is not None:
            return max(sum(one.failed for one in self.requests), said.failed or 0)
        if said.failed is None and said.requests is not None and said.completed is not None:
            return max(0, said.requests - said.completed)
        return said.failed

    @property
    def size(self) -> int | None:
        """The number of requests, failed ones included."""
        if self.requests is not None:
            return len(self.requests)
        said = self.claimed
        if said.requests is not None or said.completed is None:
            return said.requests
        return said.completed + (said.failed or 0)

    @property
    def lengths(self) -> tuple[int, ...] | None:
        """The input lengths of the completed requests; None unless there are and all are known."""
        found = [one.input_tokens for _, one in self.completed]
        known = [one for one in found if one is not None]
        return tuple(known) if known and len(known) == len(found) else None

    @property
    def input_tokens(self) -> int | None:
        """The input tokens of the completed requests: the file's total, unless another counted it.

        A total that is the data set's own says nothing of what the server counted; the lengths do.
        """
        total = self.claimed.input_tokens
        if total is None or self.claimed.input_by not in (None, self.origin.source):
            return sum(self.lengths) if self.lengths is not None else None
        return total

    @property
    def counted(self) -> bool:
        """Whether the file has any count of input tokens."""
        return self.input_tokens is not None or any(
            one.input_tokens is not None for one in self.requests or ()
        )

    def decided(self, origin: Origin) -> "Run":
        """Return the run with another origin."""
        return replace(self, origin=origin)
