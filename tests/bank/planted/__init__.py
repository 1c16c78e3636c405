"""Defects by name. Nothing here comes from the product: it is what the product is tested with.

A defect is a function that changes a :class:`Subject` before it is loaded: the text of its
tokenizer.json, what becomes of its input and of its ids, or the very model that encodes.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tokenizers import Tokenizer

Ids = list[int]
Plant = Callable[["Subject", str], None]
Token = dict[str, Any]
# One stage of the file, or one step of a stage.
Step = dict[str, Any]
# What stands in the place of the library's model: the ids of one word, as the model is given it.
Word = Callable[[Tokenizer, str], Ids]


def asked(tokenizer: Tokenizer, text: str, special: bool) -> Ids:
    """Ask the library for a text's ids, with special tokens or without."""
    return list(tokenizer.encode(text, add_special_tokens=special).ids)


class NotHere(Exception):
    """A defect that this tokenizer has no room for."""


@dataclass
class Subject:
    """A tokenizer.json, and everything that is done otherwise than the library does it.

    ``described`` is the file, parsed, to be edited in place. ``texts`` and ``ids`` change what goes
    in and what comes out, in order. ``loaded`` is done to the library's object. ``policy`` makes a
    text of bytes. ``specials`` returns ids with the special tokens that (True) were asked for.
    ``recognised`` chooses the added tokens that are looked for, ``shortest`` prefers the shorter of
    two, ``word`` takes the model's place: with any of them, or ``own``, the text is cut up here and
    not by the library. ``ask`` is how the library is asked: for a text, special tokens or not.
    """

    described: dict[str, Any]
    texts: list[Callable[[bytes], bytes]] = field(default_factory=list)
    ids: list[Callable[[Ids], Ids]] = field(default_factory=list)
    loaded: list[Callable[[Tokenizer], None]] = field(default_factory=list)
    policy: Callable[[bytes], str] = lambda data: data.decode("utf-8", "replace")
    specials: Callable[[Ids, bool], Ids] | None = None
    recognised: Callable[[Token], bool] | None = None
    shortest: bool = False
    word: Word | None = None
    own: bool = False
    ask: Callable[[Tokenizer, str, bool], Ids] = asked
    indent: int | None = None

    @property
    def model(self) -> dict[str, Any]:
        """The file's model."""
        found: dict[str, Any] = self.described["model"]
        return found

    @property
    def added(self) -> list[Token]:
        """The file's added tokens."""
        found: list[Token] = self.described["added_tokens"]
        return found


DEFECTS: dict[str, Plant] = {}


def defect(name: str) -> Callable[[Plant], Plant]:
    """Enter a defect under its name."""

    def enter(plant: Plant) -> Plant:
        if name in DEFECTS:
            raise ValueError(f"two defects are called '{name}'")
        DEFECTS[name] = plant
        return plant

    return enter
