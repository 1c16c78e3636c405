"""What was found of one prompt and of one server, as values: verdicts, their words and evidence."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from harness.plural import grouped
from harness.served.exits import DISAGREE, NO_COUNT, OUT_OF_BAND

# Limits on the length, which an attribution names as it names any other change.
TRUNCATIONS = ("truncated-bytes", "truncated-characters", "truncated-tokens")


class Verdict(StrEnum):
    """What a server's counts are, the gravest first."""

    UNDER_REPORTED = "under-reported"  # usage below what was processed
    OVER_REPORTED = "over-reported"  # usage above what was processed
    TRUNCATED = "truncated"  # a part of the prompt was processed
    TEMPLATE = "template"  # another text was made of the messages
    TOKENIZER = "tokenizer"  # the same text, other ids
    SPELLING = "spelling"  # the same request, spelt otherwise in JSON, counts otherwise
    STREAM_FAULT = "stream-fault"  # the stream's usage is absent, another, or there several times
    INCONSISTENT = "inconsistent"  # the server's own numbers contradict each other
    UNDETERMINED = "undetermined"  # the counts differ, and what was processed is not told
    NO_COUNT = "no-count"  # no number on one of the two sides
    REFUSED = "refused"  # the server does not take the prompt
    SERVER_FAILED = "server-failed"  # no answer, a broken one, or an error of the server's own
    AGREES = "agrees"


@dataclass(frozen=True)
class Finding:
    """One thing that is found; ``exit`` is the exit code that it asks for, 6 or 8.

    ``words`` may hold text of the server's, not yet made safe to show. ``evidence`` is JSON-ready.
    """

    verdict: Verdict
    words: str
    exit: int = DISAGREE
    evidence: Mapping[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class Judgement:
    """One prompt: what was found, the gravest first, and what else is worth knowing."""

    id: str
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The gravest finding's verdict, ``agrees`` without any."""
        return self.findings[0].verdict if self.findings else Verdict.AGREES

    @property
    def exit(self) -> int:
        """8 counts disagree, 6 a count is missing, else 0."""
        return worst(one.exit for one in self.findings)


@dataclass(frozen=True)
class Cause:
    """A proven cause: its stable name, with parameters where any were inferred, and a sentence."""

    name: str
    label: str
    summary: str


@dataclass(frozen=True)
class Causes:
    """What change of the tokenizer gives what the server has on every prompt.

    ``causes`` hold on all ``judged`` prompts, ``mismatching`` of which are other than ours; more
    than one means that these prompts cannot tell them apart. ``by`` says what they were held
    against: the ids, or no more than the counts. ``refuted`` names the closest that do not hold.
    ``note`` says why nothing is named, where something fits.
    """

    causes: tuple[Cause, ...]
    judged: int
    mismatching: int
    by: str
    refuted: tuple[str, ...] = ()
    note: str | None = None


@dataclass(frozen=True)
class Group:
    """One verdict of a server: on how many prompts, and the first one's words."""

    verdict: Verdict
    prompts: tuple[str, ...]
    words: str
    exit: int


@dataclass(frozen=True)
class ServerVerdict:
    """One server: every prompt's judgement, the verdicts counted, and what holds of all prompts.

    ``templates`` are the candidates that give the server's count on every prompt shape. ``notes``
    are sentences on the whole.
    """

    judgements: tuple[Judgement, ...]
    groups: tuple[Group, ...]
    causes: Causes | None = None
    templates: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The gravest verdict of any prompt; without a prompt nothing was counted."""
        if not self.judgements:
            return Verdict.NO_COUNT
        return self.groups[0].verdict if self.groups else Verdict.AGREES

    @property
    def exit(self) -> int:
        """8 counts disagree on any prompt, else 6 a count is missing, else 0."""
        return worst(one.exit for one in self.judgements) if self.judgements else NO_COUNT


def tokens(count: int) -> str:
    """Return ``1 token``, ``1,024 tokens``."""
    return grouped(count, "token")


def worst(exits: Iterable[int]) -> int:
    """Return the exit code that speaks for several: 8, else 6, else 7, else 0.

    >>> worst([0, 7, 6]), worst([])
    (6, 0)
    """
    found = set(exits)
    return next((one for one in (DISAGREE, NO_COUNT, OUT_OF_BAND) if one in found), 0)
