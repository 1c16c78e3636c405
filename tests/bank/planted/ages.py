"""Which characters a version of Unicode knows, by the data of unicodedataplus."""

from collections.abc import Callable

import unicodedataplus


def _age(char: str) -> tuple[int, ...]:
    """Return the version that assigned a character, (99,) where none has."""
    found = unicodedataplus.age(char)
    return tuple(map(int, found.split("."))) if found[:1].isdigit() else (99,)


def known(version: str) -> Callable[[str], bool]:
    limit = tuple(map(int, version.split(".")))
    return lambda char: char.isascii() or _age(char) <= limit
