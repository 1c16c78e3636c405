"""Prompts on trial: what the oracle makes of them, whole or in the pieces that a server makes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from harness.hypotheses import Description
from harness.judgement import description
from harness.oracle import Oracle
from harness.outcomes import Outcomes, from_answers
from harness.served.live import served_changes
from harness.served.live.facts import Aids, Facts
from harness.served.live.served_changes import Candidate, Piece

# Prompts that every change is asked first.
_FIRST = 6


@dataclass(frozen=True)
class Tried:
    """Prompts of one kind, all chats or all texts, and the oracle that they are tried by."""

    sides: Sequence[Facts]
    oracle: Oracle
    aids: Aids

    @property
    def chat(self) -> bool:
        """Whether they are chats, whose special tokens are the template's."""
        return self.sides[0].row.ask.chat

    @cached_property
    def texts(self) -> list[str]:
        """The text of each that should be processed."""
        return [one.our_text or "" for one in self.sides]

    @cached_property
    def cases(self) -> list[bytes]:
        """The same as UTF-8."""
        return [one.encode() for one in self.texts]

    @cached_property
    def expected(self) -> Outcomes:
        """Our ids of each."""
        return from_answers([one.row.expected or () for one in self.sides])

    @cached_property
    def description(self) -> Description:
        """The tokenizer as hypotheses change it."""
        return description(lambda: self.oracle, special=not self.chat)

    @cached_property
    def without_added(self) -> Oracle:
        """The tokenizer that takes added tokens for text."""
        return self.oracle.described({**self.oracle.description, "added_tokens": []})

    def shortest(self, rows: Sequence[int]) -> list[int]:
        """Return a few of these prompts, on which most changes fall cheaply."""
        return sorted(rows, key=lambda row: len(self.texts[row]))[:_FIRST]

    def pieces(self, candidate: Candidate, rows: Sequence[int]) -> list[tuple[Piece, ...]] | None:
        """Return what a change of the server's makes of prompts; None where it cannot be tested."""
        found = []
        for row in rows:
            text = self.texts[row]
            own = served_changes.spans(self.sides[row].row, text)
            if own is None:
                return None
            found.append(candidate.cut(text, own) or (Piece(text),))
        return found

    def answer(self, pieces: Sequence[tuple[Piece, ...]], rows: Sequence[int]) -> list[list[int]]:
        """Return the ids of prompts in pieces, with what the post-processor puts around a text."""
        flat = [one for own in pieces for one in own]
        ids: dict[Piece, list[int]] = {}
        for plain, oracle in ((False, self.oracle), (True, self.without_added)):
            asked = list(dict.fromkeys(one for one in flat if one.plain is plain))
            if asked:
                found = oracle.encode([one.text for one in asked])
                ids |= {one: found.answer(at).tolist() for at, one in enumerate(asked)}
        whole = []
        for row, own in zip(rows, pieces, strict=True):
            before, behind = ([], []) if self.chat else _around(self.sides[row])
            whole.append([*before, *(one for piece in own for one in ids[piece]), *behind])
        return whole


def _around(side: Facts) -> tuple[list[int], list[int]]:
    """Return the special tokens that are put before and behind a text."""
    special, raw = list(side.row.client.special or ()), list(side.row.client.raw or ())
    for at in range(len(special) - len(raw) + 1):
        if special[at : at + len(raw)] == raw:
            return special[:at], special[at + len(raw) :]
    return [], []
