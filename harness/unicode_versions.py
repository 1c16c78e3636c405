"""The characters that came after a version of Unicode, or with one, from the pinned ages."""

from functools import cache

from harness.unicode_ages import NEWER

# The last version before those of ``NEWER``: the version of the oracle's own normalizer.
OLDEST = "9.0"
VERSIONS = (OLDEST, *NEWER)

# Inclusive, first and last code point.
Range = tuple[int, int]


def _ranges(version: str) -> tuple[Range, ...]:
    ends = (part.partition("-")[::2] for part in NEWER[version].split())
    return tuple((int(first, 16), int(last or first, 16)) for first, last in ends)


@cache
def newer_than(version: str) -> tuple[Range, ...]:
    """Return the characters that came after ``version``, one of :data:`VERSIONS`."""
    later = VERSIONS[VERSIONS.index(version) + 1 :]
    return tuple(one for own in later for one in _ranges(own))


def brought_by(major: int) -> str:
    """Return the characters of a major version and its minor ones, as rising ranges in text."""
    own = [one for version in NEWER if version.startswith(f"{major}.") for one in _ranges(version)]
    return " ".join(f"{first:X}-{last:X}" for first, last in sorted(own))


def characters_newer_than(version: str) -> str:
    """Return the same characters as what stands between the brackets of a Python expression."""
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in newer_than(version))
