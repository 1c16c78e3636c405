"""The bank of planted subjects, each through a whole run: what is named is what was planted.

``scripts/confusion`` puts all of them through, and writes the table. Here some of each kind are:
one for each hypothesis, and every third of what takes longer; in continuous integration a quarter
of those. ``TOKPARITY_BANK=whole`` runs all of them here, too.
"""

import os
from collections.abc import Callable
from functools import cache as remembered
from pathlib import Path

import pytest

from scripts.confusion import TARGETS, missed
from tests.bank.bank import Entry, Grade, Result, asked, entries
from tests.short import SHORT

Ask = Callable[[Entry], Result]
BANK = entries()
WHOLE = os.environ.get("TOKPARITY_BANK") == "whole"


def of(*kinds: str) -> list[Entry]:
    own = [entry for entry in BANK if entry.kind in kinds]
    if WHOLE:
        return own
    if kinds == ("single",):
        first: dict[frozenset[str], Entry] = {}
        for entry in own:
            first.setdefault(entry.causes, entry)
        return list(first.values())[:: 4 if SHORT else 1]
    return own[:: 12 if SHORT else 3]


def everything() -> list[Entry]:
    return [entry for kind in ("single", "outside", "healthy", "policy") for entry in of(kind)]


@pytest.fixture(scope="module")
def ask(cache: Path) -> Ask:
    """Put an entry through a run, once whatever the number of tests that look at it."""
    return remembered(lambda entry: asked(entry, cache))


@pytest.mark.parametrize("entry", everything(), ids=lambda e: e.name)
def test_a_subject_is_named_for_what_is_planted_in_it(entry: Entry, ask: Ask) -> None:
    [target] = [one for one in TARGETS if one.kind == entry.kind]
    result = ask(entry)
    assert result.grade in target.well, result


@pytest.mark.parametrize("entry", of("pair", "triple"), ids=lambda e: e.name)
def test_of_several_defects_none_is_named_wrongly(entry: Entry, ask: Ask) -> None:
    result = ask(entry)
    assert result.grade is not Grade.WRONG, result


def test_nine_in_ten_are_named_whole(ask: Ask) -> None:
    assert missed([ask(entry) for entry in of("pair", "triple")]) == []
