"""Normalization by the data of a given Unicode version; the library's own is of version 9.0.

A character that is newer than the version is to it an unassigned one: a starter that neither
decomposes nor composes. What is not newer normalizes as it did then: later versions do not change
that (Unicode's normalization stability policy). So a text is normalized stretch by stretch, newer
characters apart, by data of Unicode 16.0.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import unicodedata2
from tokenizers import NormalizedString, Regex, normalizers

from harness.errors import TokenizerError
from harness.unicode_versions import VERSIONS, characters_newer_than

FORMS = ("NFC", "NFD", "NFKC", "NFKD")
# Not the text itself: the library makes an expression of that, and has a limit to its size.
_WHOLE = Regex(r"(?m:\A.+\z)")


def is_versioned(described: object) -> bool:
    """Whether a normalizer of tokenizer.json names a Unicode version, it or any step of it."""
    if not isinstance(described, Mapping):
        return False
    if described.get("type") == "Sequence":
        return any(is_versioned(one) for one in described.get("normalizers") or ())
    return "unicode" in described


def versioned(described: Mapping[str, Any], plain: Callable[[Mapping[str, Any]], object]) -> object:
    """Return a versioned normalizer as the library's object; ``plain`` makes those that are not.

    Raises :class:`TokenizerError` for a form or version that is not known.
    """
    if described.get("type") == "Sequence":
        steps = described.get("normalizers") or ()
        return normalizers.Sequence(
            [versioned(one, plain) if is_versioned(one) else plain(one) for one in steps]
        )
    form, version = described.get("type"), described["unicode"]
    if form not in FORMS or version not in VERSIONS:
        raise TokenizerError(
            f"there is no normalizer {form} of Unicode {version}",
            expected=f"one of {', '.join(FORMS)}, of Unicode {', '.join(VERSIONS)}",
        )
    return normalizers.Normalizer.custom(Form(form, version))


class Form:
    """One of the four forms by one version's data, as the library wants a normalizer."""

    def __init__(self, form: str, version: str) -> None:
        self._form = form
        self._newer = _finds_newer(version)

    def text(self, text: str) -> str:
        """Return the normalized text."""
        if text.isascii():
            return text
        if self._newer is None:
            return str(unicodedata2.normalize(self._form, text))
        parts = self._newer.split(text)
        return "".join(
            part if place % 2 else unicodedata2.normalize(self._form, part)
            for place, part in enumerate(parts)
        )

    def normalize(self, normalized: NormalizedString) -> None:
        """Normalize in place, as the library calls it."""
        before = normalized.normalized
        after = self.text(before)
        if after != before:
            normalized.replace(_WHOLE, after)


@cache
def _finds_newer(version: str) -> "re.Pattern[str] | None":
    """Return what finds the characters newer than ``version``; None where there are none."""
    newer = characters_newer_than(version)
    return re.compile(f"([{newer}]+)") if newer else None
