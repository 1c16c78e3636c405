r"""A pattern's text as a tree and back, for changes that must not mistake one thing for another.

The syntax is Oniguruma's, as tokenizer.json has it. A ``\s`` in a class, after a backslash or in a
group is told from one that stands by itself, and a text is rendered again to the very characters it
was read from. What cannot be understood with certainty is refused: :class:`UnknownSyntax`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

_GROUP = re.compile(r"\((?:\?(?:[:=!>]|<[=!]|<\w+>|[imxWDSP]*(?:-[imx]+)?:))?")
_OPTIONS = re.compile(r"\(\?[imWDSP]+(?:-[im]+)?\)")
_QUANTIFIER = re.compile(r"(?:[*+?]|\{\d+(?:,\d*)?\}|\{,\d+\})[?+]*")
_ESCAPE = re.compile(
    r"\\(?:[pP]\{\^?[^{}]+\}|x\{[0-9A-Fa-f]+\}|x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{4}|[0-7]{1,3}"
    r"|c.|k<[^>]+>|.)",
    re.DOTALL,
)
_POSIX = re.compile(r"\[:\^?[a-z]+:\]")


class UnknownSyntax(Exception):
    """The pattern holds something that is not read with certainty; caught where it is rewritten."""


@dataclass(frozen=True)
class Atom:
    r"""One character, escape, ``.`` or anchor: ``a``, ``\p{L}``, ``\s``, ``^``."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Class:
    """A bracketed class; its items are characters, escapes, ``-``, ``&&``, or classes."""

    negated: bool
    items: tuple["Atom | Class", ...]

    def __str__(self) -> str:
        return f"[{'^' if self.negated else ''}{''.join(map(str, self.items))}]"

    def holds(self, text: str) -> bool:
        """Tell whether the escape or character ``text`` is one of its own items."""
        return Atom(text) in self.items


@dataclass(frozen=True)
class Group:
    """A group with what opens it, ``(``, ``(?:``, ``(?i:``, ``(?!``, and what stands in it."""

    opening: str
    body: "Alternatives"

    def __str__(self) -> str:
        return f"{self.opening}{render(self.body)})"


@dataclass(frozen=True)
class Item:
    """A node and how often it stands: the quantifier's text, empty for once."""

    node: Atom | Class | Group
    quantifier: str = ""

    def __str__(self) -> str:
        return f"{self.node}{self.quantifier}"

    @property
    def is_run(self) -> bool:
        """Whether it may stand any number of times."""
        return self.quantifier[:1] in ("*", "+") or bool(re.match(r"\{\d+,\}", self.quantifier))


Alternative = tuple[Item, ...]
Alternatives = tuple[Alternative, ...]


def render(pattern: Alternatives) -> str:
    """Return the pattern's text."""
    return "|".join("".join(map(str, items)) for items in pattern)


@cache
def parse(text: str) -> Alternatives:
    """Return the pattern's alternatives; raises :class:`UnknownSyntax`."""
    pattern, end = _alternatives(text, 0)
    if end != len(text):
        raise UnknownSyntax(f"a ')' too many at {end}")
    return pattern


def rewrite(pattern: Alternatives, change: Callable[[Item], Item]) -> Alternatives:
    """Return the pattern with ``change`` made to every item, those inside groups first."""

    def changed(item: Item) -> Item:
        if isinstance(item.node, Group):
            body = rewrite(item.node.body, change)
            item = replace(item, node=replace(item.node, body=body))
        return change(item)

    return tuple(tuple(changed(item) for item in items) for items in pattern)


def rewrite_members(pattern: Alternatives, change: Callable[[Atom], Atom | Class]) -> Alternatives:
    """Return the pattern with ``change`` made to every atom, outside classes and in them."""

    def members(node: Atom | Class) -> Atom | Class:
        if isinstance(node, Atom):
            return change(node)
        return replace(node, items=tuple(map(members, node.items)))

    def changed(item: Item) -> Item:
        if isinstance(item.node, Group):
            return item
        return replace(item, node=members(item.node))

    return rewrite(pattern, changed)


def _alternatives(text: str, at: int) -> tuple[Alternatives, int]:
    found: list[Alternative] = []
    items: list[Item] = []
    while at < len(text) and text[at] != ")":
        if text[at] == "|":
            found.append(tuple(items))
            items = []
            at += 1
            continue
        node, at = _node(text, at)
        quantifier = _QUANTIFIER.match(text, at)
        items.append(Item(node, quantifier[0] if quantifier else ""))
        at = quantifier.end() if quantifier else at
    return (*found, tuple(items)), at


def _node(text: str, at: int) -> tuple[Atom | Class | Group, int]:
    if text[at] == "[":
        return _class(text, at)
    if text[at] == "(":
        options = _OPTIONS.match(text, at)
        if options:
            return Atom(options[0]), options.end()
        opening = _GROUP.match(text, at)
        if opening is None or text.startswith("?", opening.end()) or "x" in opening[0]:
            raise UnknownSyntax(f"a group at {at}")
        body, end = _alternatives(text, opening.end())
        if end == len(text):
            raise UnknownSyntax(f"a group without end at {at}")
        return Group(opening[0], body), end + 1
    return _atom(text, at)


def _atom(text: str, at: int) -> tuple[Atom, int]:
    if text[at] != "\\":
        if text[at] in "*+?":
            raise UnknownSyntax(f"nothing to repeat at {at}")
        return Atom(text[at]), at + 1
    escape = _ESCAPE.match(text, at)
    if escape is None or escape[0] in ("\\p", "\\P", "\\Q", "\\E"):
        raise UnknownSyntax(f"an escape at {at}")
    return Atom(escape[0]), escape.end()


def _class(text: str, at: int) -> tuple[Class, int]:
    begin = at
    negated = text.startswith("^", at + 1)
    at += 2 if negated else 1
    items: list[Atom | Class] = []
    if text.startswith("]", at):  # the first one stands for itself
        items.append(Atom("]"))
        at += 1
    while at < len(text) and text[at] != "]":
        node: Atom | Class
        posix = _POSIX.match(text, at)
        if posix:
            node, at = Atom(posix[0]), posix.end()
        elif text[at] == "[":
            node, at = _class(text, at)
        elif text.startswith("&&", at):
            node, at = Atom("&&"), at + 2
        elif text[at] == "\\":
            node, at = _atom(text, at)
        else:
            node, at = Atom(text[at]), at + 1
        items.append(node)
    if at >= len(text):
        raise UnknownSyntax(f"a class without end at {begin}")
    return Class(negated, tuple(items)), at + 1
