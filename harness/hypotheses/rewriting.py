r"""Changes to a pattern's text: what a letter run holds, how digits run, what white space is.

Each takes a pattern and returns it changed, or as it was where it holds nothing of the kind, or
something that is not read with certainty (:class:`~harness.hypotheses.regex.UnknownSyntax`).
"""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache, wraps

from harness.hypotheses.regex import (
    Alternative,
    Alternatives,
    Atom,
    Class,
    Group,
    Item,
    UnknownSyntax,
    parse,
    render,
    rewrite,
    rewrite_members,
)
from harness.unicode_versions import newer_than

Rewriting = Callable[[str], str]

_LETTERS = frozenset(rf"\p{{{name}}}" for name in ("L", "Lu", "Ll", "Lt", "Lm", "Lo", "Letter"))
_MARKS = frozenset(rf"\p{{{name}}}" for name in ("M", "Mn", "Mc", "Me", "Mark"))
_ALL_MARKS = Atom(r"\p{M}")
_DIGITS = frozenset({r"\p{N}", r"[\p{N}]", r"\p{Nd}", r"\d", "[0-9]"})
_COUNTED = re.compile(r"(?:|\+|\{1,\d*\})[+]?\Z")
_AHEAD = frozenset({r"(?!\S)", r"(?![^\s])", r"(?=\s|$)", r"(?=\s|\z)"})
_SUFFIXES = frozenset({"s", "t", "re", "ve", "m", "ll", "d"})
_ASCII_SPACE = (r"\t", r"\n", r"\x0B", r"\f", r"\r", " ")


def _on_pattern(change: Callable[[Alternatives], Alternatives]) -> Rewriting:
    @wraps(change)
    def rewriting(pattern: str) -> str:
        try:
            return render(change(parse(pattern)))
        except UnknownSyntax:
            return pattern

    return rewriting


def marks_in_letter_run(*, everywhere: bool) -> Rewriting:
    r"""Return the rewriting that lets a run of letters hold marks: ``\p{L}+``, ``[\p{L}\p{M}]+``.

    With ``everywhere`` a run of what is no letter holds no mark either: ``[^\s\p{L}\p{M}]+``.
    """
    return _marks(_with_marks, everywhere=everywhere)


def marks_out_of_letter_run(*, everywhere: bool) -> Rewriting:
    """Return the inverse of :func:`marks_in_letter_run`."""
    return _marks(_without_marks, everywhere=everywhere)


def _marks(change: Callable[[Class], Atom | Class], *, everywhere: bool) -> Rewriting:
    def changed(item: Item, *, negated: bool) -> Item:
        node = Class(False, (item.node,)) if isinstance(item.node, Atom) else item.node
        if not item.is_run or not isinstance(node, Class) or node.negated != negated:
            return item
        if not _has(node, _LETTERS) or _has(node, {"&&"}):
            return item
        after = change(node)
        return item if after == node else replace(item, node=after)

    def rewriting(pattern: Alternatives) -> Alternatives:
        after = rewrite(pattern, lambda item: changed(item, negated=False))
        if after == pattern or not everywhere:
            return after
        return rewrite(after, lambda item: changed(item, negated=True))

    return _on_pattern(rewriting)


def _with_marks(node: Class) -> Class:
    if _has(node, _MARKS):
        return node
    behind = max(place for place, one in enumerate(node.items) if str(one) in _LETTERS) + 1
    return replace(node, items=(*node.items[:behind], _ALL_MARKS, *node.items[behind:]))


def _without_marks(node: Class) -> Atom | Class:
    left = tuple(one for one in node.items if str(one) not in _MARKS)
    return left[0] if len(left) == 1 and not node.negated else replace(node, items=left)


def digits(quantifier: str) -> Rewriting:
    r"""Return the rewriting that takes digits as ``quantifier`` says: ``""``, ``{1,3}``, ``+``."""

    def change(item: Item) -> Item:
        if str(item.node) in _DIGITS and _COUNTED.match(item.quantifier):
            return replace(item, quantifier=quantifier)
        return item

    return _on_pattern(lambda pattern: rewrite(pattern, change))


@_on_pattern
def no_whitespace_lookahead(pattern: Alternatives) -> Alternatives:
    r"""Drop ``\s+(?!\S)``, so that a run of white space keeps the space that leads a word."""

    def dropped(alternatives: Alternatives) -> Alternatives:
        left = tuple(items for items in alternatives if not _looks_ahead(items))
        if len(left) == len(alternatives):
            return alternatives
        # Behind the lookahead one character is enough; without it the whole run is meant.
        return tuple(
            (Item(Atom(r"\s"), "+"),) if items == (Item(Atom(r"\s")),) else items for items in left
        )

    return _in_groups_too(pattern, dropped)


@_on_pattern
def contractions_case_sensitive(pattern: Alternatives) -> Alternatives:
    """Take ``'s``, ``'ll`` and their like in lower case only."""

    def change(item: Item) -> Item:
        if isinstance(item.node, Group) and _are_contractions(item.node.body):
            opening = "(?:" if item.node.opening == "(?i:" else item.node.opening
            body = tuple(tuple(map(_lower, items)) for items in item.node.body)
            return replace(item, node=Group(opening, body))
        return item

    return tuple(
        tuple(map(_lower, items)) if _is_contraction(items) else items
        for items in rewrite(pattern, change)
    )


@_on_pattern
def contractions_case_insensitive(pattern: Alternatives) -> Alternatives:
    """Take ``'S``, ``'Ll`` and their like for contractions too."""

    def change(item: Item) -> Item:
        group = item.node
        if not isinstance(group, Group) or group.opening not in ("(?:", "("):
            return item
        known = _are_contractions(group.body)
        return replace(item, node=replace(group, opening="(?i:")) if known else item

    found: list[Alternative] = []
    for items in rewrite(pattern, change):
        own = _is_contraction(items) and items[0] == Item(Atom("'"))
        if own and not any(isinstance(item.node, Group) for item in items):
            before = found[-1] if found else ()
            if len(before) == 1 and isinstance(before[0].node, Group) and _gathers(before[0].node):
                group = before[0].node
                found[-1] = (Item(replace(group, body=(*group.body, items))),)
            else:
                found.append((Item(Group("(?i:", (items,))),))
        else:
            found.append(items)
    return tuple(found)


@_on_pattern
def ascii_whitespace(pattern: Alternatives) -> Alternatives:
    r"""Take the six white spaces of ASCII for ``\s``, and everything else for ``\S``."""
    space = Class(False, tuple(map(Atom, _ASCII_SPACE)))
    known: dict[str, Class] = {
        r"\s": space,
        r"\p{White_Space}": space,
        r"\S": replace(space, negated=True),
    }
    return rewrite_members(pattern, lambda atom: known.get(atom.text, atom))


def older_classes(version: str) -> Rewriting:
    r"""Return the rewriting under which a character newer than ``version`` is unassigned.

    It then is in no ``\p{…}``, ``\w`` or ``\d``, and in each ``\P{…}``, ``\W`` and ``\D``. A
    pattern with a word boundary is left alone: where one stands cannot be said with a class.
    """
    newer = Atom(_spelled_newer_than(version))

    def change(atom: Atom) -> Atom | Class:
        text = atom.text
        if text in (r"\b", r"\B", r"\X", r"\y", r"\Y"):
            raise UnknownSyntax(f"{text} in classes of an older version")
        posix, negative = text.startswith("[:"), False
        if posix:
            negative = text.startswith("[:^")
        elif text[:2] in (r"\p", r"\P"):
            negative = (text[1] == "P") != text.startswith("^", 3)
            name = text[3:-1].lstrip("^").lower()
            if name in ("any", "ascii"):
                return atom
            if name in ("c", "cn", "other", "unassigned"):
                negative = not negative
        elif text in (r"\w", r"\d", r"\W", r"\D"):
            negative = text.isupper()
        else:
            return atom
        # Every item of a class is a class of its own, so that && binds nothing but the two.
        own: Atom | Class = Class(False, (atom,)) if posix else atom
        if negative:
            return Class(False, (own, newer))
        return Class(False, (own, Atom("&&"), Class(True, (newer,))))

    return _on_pattern(lambda pattern: rewrite_members(pattern, change))


@cache
def _spelled_newer_than(version: str) -> str:
    """Return the characters that came after ``version``, as what stands between brackets."""
    return "".join(
        rf"\x{{{first:X}}}" + (rf"-\x{{{last:X}}}" if last > first else "")
        for first, last in newer_than(version)
    )


def _has(node: Class, texts: frozenset[str] | set[str]) -> bool:
    return any(str(one) in texts for one in node.items)


def _looks_ahead(items: Alternative) -> bool:
    if len(items) != 2 or str(items[0]) not in (r"\s+", r"\s++"):
        return False
    return str(items[1]) in _AHEAD


def _in_groups_too(
    pattern: Alternatives, change: Callable[[Alternatives], Alternatives]
) -> Alternatives:
    def inside(item: Item) -> Item:
        if isinstance(item.node, Group):
            return replace(item, node=replace(item.node, body=change(item.node.body)))
        return item

    return change(rewrite(pattern, inside))


def _are_contractions(body: Alternatives) -> bool:
    return all(map(_is_contraction, body))


def _is_contraction(items: Alternative) -> bool:
    """Tell whether these are ``'s``, ``ll``, ``[sdmt]``, ``'[sS]``, ``'(?:[sdmt]|ll|ve|re)``."""
    own = items[1:] if items[:1] == (Item(Atom("'")),) else items
    if not own or any(item.quantifier for item in own):
        return False
    if len(own) == 1 and isinstance(own[0].node, Group):
        return len(items) == 2 and _are_contractions(own[0].node.body)
    if len(own) == 1 and isinstance(own[0].node, Class) and not own[0].node.negated:
        return all(str(one).lower() in _SUFFIXES for one in own[0].node.items)
    return "".join(str(_lower(item)) for item in own) in _SUFFIXES


def _lower(item: Item) -> Item:
    """Return a letter, or a class of letters, in lower case: ``s`` for ``S``, ``[sS]``."""
    node = item.node
    if isinstance(node, Atom) and len(node.text) == 1:
        return replace(item, node=Atom(node.text.lower()))
    if isinstance(node, Class) and not node.negated:
        letters = {str(one).lower(): None for one in node.items}
        if all(len(one) == 1 for one in letters):
            few = tuple(map(Atom, letters))
            return replace(item, node=few[0] if len(few) == 1 else Class(False, few))
    return item


def _gathers(group: Group) -> bool:
    return group.opening == "(?i:" and all(items[:1] == (Item(Atom("'")),) for items in group.body)
