"""What became of asking servers, all together: the value that every report is made of."""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from harness.served.exits import NO_COUNT, OUT_OF_BAND
from harness.served.live.bands import Bands, across
from harness.served.live.facts import Aids, facts
from harness.served.live.finding import ServerVerdict, Verdict, worst
from harness.served.live.preflight import Preflight
from harness.served.live.values import Row
from harness.served.receipt import SCHEMA
from harness.served.target import Boundary


@dataclass(frozen=True)
class LiveReceipt:
    """By what method one server's counts were taken, and what they were held against.

    ``method`` is None where the server gave no count; ``template`` names the chat template that our
    count was made with, None where none was used. ``boundary`` is what was compared: with special
    tokens around the text it is rendered, as in a band; None where nothing was sent.
    """

    method: str | None
    boundary: Boundary | None
    tokenizer_sha256: str
    prompts_sha256: str | None
    dialect: str | None
    template: str | None
    eligible: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the receipt as a JSON-ready dictionary."""
        return {
            "schema": SCHEMA,
            "method": self.method,
            "boundary": self.boundary,
            "tokenizer_sha256": self.tokenizer_sha256,
            "target_method": "client_tokenizer",
            "prompts_sha256": self.prompts_sha256,
            "dialect": self.dialect,
            "template": self.template,
            "binding_eligible": self.eligible,
        }

    def __str__(self) -> str:
        """Return the receipt in words."""
        words = [
            f"method {self.method or 'not known'}",
            *([] if self.boundary is None else [f"boundary {self.boundary}"]),
            f"held against counts of the tokenizer {self.tokenizer_sha256}",
        ]
        if self.template is not None:
            words.append(f"template {self.template}")
        if self.dialect is not None:
            words.append(f"dialect {self.dialect}")
        return ", ".join(words)


@dataclass(frozen=True)
class ServerOutcome:
    """One server asked.

    ``url`` is shown without credentials (:func:`shown_url`). ``template`` names the chat template
    that our counts of chats were made with; it counts as used only where a prompt was rendered.
    ``evidence`` says how the dialect was found; ``failure`` why the server could not be asked.
    """

    name: str
    url: str
    rows: tuple[Row, ...]
    verdict: ServerVerdict
    dialect: str | None = None
    model: str | None = None
    evidence: tuple[str, ...] = ()
    template: str | None = None
    bands: Bands | None = None
    preflight: Preflight | None = None
    failure: str | None = None

    @property
    def exit(self) -> int:
        """8 counts disagree, else 6 a count is missing, else 7 out of band, else 0."""
        if self.failure is not None:
            return NO_COUNT
        if self.preflight is not None and self.preflight.violation is not None:
            return self.preflight.exit
        return worst([self.verdict.exit, 0 if self.bands is None else self.bands.exit])

    @property
    def summary(self) -> str:
        """The verdict in words, with what else there is where the exit code is not the verdict's.

        >>> unanswered("a", "http://h", "refused").summary
        'could not be asked'
        """
        if self.failure is not None:
            return "could not be asked"
        if not self.rows:
            return "none, nothing was sent"
        words = self.verdict.verdict.value
        if self.exit == self.verdict.exit:
            return words
        more = "out of band" if self.exit == OUT_OF_BAND else "a count for the band is missing"
        return f"{words}, {more}"

    @property
    def total(self) -> int | None:
        """The prompt tokens of all prompts by the server's usage; None where one is missing."""
        known = [usage(row) for row in self.rows]
        told = [one for one in known if one is not None]
        return sum(told) if told and len(told) == len(known) else None

    def receipt(self, tokenizer_sha256: str, prompts_sha256: str | None) -> LiveReceipt:
        """Return the receipt; a method or template that was not used is not in it."""
        chat = any(row.ask.chat for row in self.rows)
        rendered = any(row.ask.chat and row.client.rendered is not None for row in self.rows)
        around = any(row.client.special != row.client.raw for row in self.rows if not row.ask.chat)
        return LiveReceipt(
            method="server_usage" if any(usage(r) is not None for r in self.rows) else None,
            boundary=None if not self.rows else "rendered" if chat or around else "raw",
            tokenizer_sha256=tokenizer_sha256,
            prompts_sha256=prompts_sha256,
            dialect=self.dialect,
            template=self.template if rendered else None,
            eligible=self.exit == 0,
        )


@dataclass(frozen=True)
class Served:
    """All servers asked with one prompt file and one tokenizer.

    ``violations`` are what the prompt file is not, though it says so.
    """

    servers: tuple[ServerOutcome, ...]
    tokenizer: str
    tokenizer_sha256: str
    prompts: str
    prompts_sha256: str | None = None
    notes: tuple[str, ...] = field(default=())
    violations: tuple[str, ...] = ()

    @property
    def exit(self) -> int:
        """8 counts disagree anywhere, else 6 a count is missing, else 7 out of band, else 0."""
        if not self.servers:
            return NO_COUNT
        own = OUT_OF_BAND if self.violations else 0
        return worst([own, *(one.exit for one in self.servers)])

    @property
    def comparison(self) -> tuple[str, ...]:
        """What only several servers together tell."""
        asked = [one for one in self.servers if one.rows]
        words = []
        totals = {one.name: one.total for one in asked}
        if len(asked) > 1 and len(set(totals.values())) > 1:
            told = ", ".join(
                f"{name} {'-' if total is None else format(total, ',')}"
                for name, total in totals.items()
            )
            words.append(f"the same prompts have other totals: {told}")
        bands = {one.name: one.bands for one in asked if one.bands is not None}
        told_bands = across(bands) if len(bands) > 1 else None
        return (*words, *([told_bands] if told_bands else []))


def usage(row: Row) -> int | None:
    """Return the prompt tokens by the usage of the plain request; None where it has none."""
    return next((one.usage for one in facts(row, Aids()) if one.usage is not None), None)


def unanswered(name: str, url: str, failure: str) -> ServerOutcome:
    """Return the outcome of a server that could not be asked."""
    return ServerOutcome(name, shown_url(url), (), ServerVerdict((), ()), failure=failure)


def shown_url(url: str) -> str:
    """Return a URL as a report may show it: without user, password, query and fragment.

    >>> shown_url("http://me:secret@host:8080/v1?key=1")
    'http://host:8080/v1'
    """
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}" if parts.scheme else parts.path


def agreeing(outcome: ServerOutcome) -> int:
    """Return how many prompts are as they should be."""
    return sum(one.verdict is Verdict.AGREES for one in outcome.verdict.judgements)
