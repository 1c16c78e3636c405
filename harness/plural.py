"""Counts in words, where one is not many."""


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return ``1 case``, ``2 cases``, ``0 cases``; ``plural`` where it is not the noun and an s."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def grouped(number: int, noun: str, plural: str | None = None) -> str:
    """Return the same with the digits in groups of three: ``1 prompt``, ``1,024 prompts``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
