"""The chat template of our counts, and the one that a server's counts give away."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.oracle import Oracle
from harness.served.live.asking import ask_all
from harness.served.live.candidates import Candidate, Tried, candidates
from harness.served.live.clients import counter
from harness.served.live.dialects import Dialect
from harness.served.live.fit import Fit, fit
from harness.served.live.http import Server
from harness.served.live.notes import Fitted
from harness.served.live.shapes import SHAPES
from harness.served.live.template_files import Sourced, beside, of_file, of_gguf
from harness.served.live.templates import Renderer
from harness.served.live.values import Ask, Client, Kind, Row
from harness.watch import Watch

_UNASKED = Client(None, None)
# What templates write by name.
_TOKENS = ("bos_token", "eos_token")


@dataclass(frozen=True)
class Chats:
    """What is known of chats before any server is asked.

    ``own`` is the template that the model is known to have, None where none is at hand; ``tried``
    are all candidates with the texts that they make of the prompt shapes.
    """

    own: Candidate | None
    tried: tuple[Tried, ...]

    @property
    def faults(self) -> tuple[str, ...]:
        """Why the model's own template makes no text of some shape, each reason once."""
        if self.own is None:
            return ()
        texts = next((one.texts for one in self.tried if one.candidate.name == self.own.name), ())
        errors = dict.fromkeys(one.error for one in texts if one.error is not None)
        nameless = [
            f"writes {key}, and no file here says which token that is: it is left out"
            for key in _TOKENS
            if key in self.own.template.source and key not in self.own.template.tokens
        ]
        return tuple(f"{self.own.name}: {words}" for words in (*errors, *nameless))


def known(tokenizer: Path, template: Path | None, gguf: Path | None, renderer: Renderer) -> Chats:
    """Return the templates that are known of a model: given ones before those beside a tokenizer.

    Raises :class:`~harness.errors.UsageError` for a file that cannot be read or has no template.
    """
    there = beside(tokenizer)
    tokens = there[0].template.tokens if there else {}
    packed = () if gguf is None else of_gguf(gguf)
    if not tokens and packed:
        tokens = packed[0].template.tokens
    given = () if template is None else of_file(template, tokens)
    own: Sequence[Sourced] = (*given, *packed, *there)
    first = Candidate(own[0].name, own[0].template) if own else None
    return Chats(first, candidates(own, renderer))


def fitted(
    server: Server,
    dialect: Dialect,
    model: str | None,
    chats: Chats,
    oracle: Oracle,
    *,
    in_flight: int,
    watch: Watch,
) -> Fit:
    """Ask a server about every prompt shape and hold the candidates against its counts."""
    rows = [Row(one.name, Ask(one.messages, model, chat=True), _UNASKED) for one in SHAPES]
    rows = list(ask_all(server, dialect, rows, (Kind.PLAIN,), in_flight=in_flight, watch=watch))
    counts = {}
    for row in rows:
        answer = row.answer(Kind.PLAIN)
        counts[row.id] = None if answer is None else answer.prompt_tokens
    return fit(chats.tried, counts, counter(oracle))


def as_fitted(found: Fit, own: Candidate | None) -> Fitted:
    """Return what a verdict needs of a fit; ``own`` is the template of our counts.

    Where the counts are off by one number from ours on every shape, that is all that they say.
    """
    ours = next((one for one in found.constant if own and one.candidate.name == own.name), None)
    if found.named:
        return Fitted(names=found.names, offset=None if ours is None else ours.constant)
    nearest = ours or next(iter(found.constant), None)
    return Fitted(offset=None if nearest is None else nearest.constant, words=(found.words,))


def ours(chats: Chats, found: Fit | None) -> tuple[Candidate | None, str | None]:
    """Return the template of our counts, and its name in reports.

    It is the model's own; where none is at hand, the one that fits the server, which is then said.
    """
    if chats.own is not None:
        return chats.own, chats.own.name
    if found is not None and found.named:
        one = found.named[0].candidate
        return one, f"{one.name} (no template of the model is at hand: fitted to the server)"
    return None, None
