"""One is not many, wherever something is counted in words."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.plural import counted

HARNESS = Path(__file__).resolve().parents[2] / "harness"
NOUNS = (
    "answer|byte|case|character|check|entry|file|finding|hypothesis|id|lane|line|place"
    "|lane run|oracle check|probe|question|request|run|sanitizer|source|time|token|tokenizer"
)
MANY = re.compile(rf" (?:\w+ )?(?:{NOUNS})(?:s|es)\b| (?:corpora|entries|hypotheses)\b")
# Where people are told things.
TELLING = ("account.py", "cli", "doctor.py", "report", "repro", "verdict", "wanted.py")
# What is told only of several, and nouns that no number stands before.
NEVER_ONE = {
    ("report/explain.py", "{len(one.columns)} different answers"),
    ("report/told.py", "{len(ran)} lanes"),
    ("verdict/wider.py", "{_listed(deviation.tokenizers)} on lanes "),
}


@pytest.mark.parametrize(
    ("number", "words"),
    [(0, "0 corpora"), (1, "1 corpus"), (2, "2 corpora"), (1000, "1000 corpora")],
)
def test_one_is_not_many(number: int, words: str) -> None:
    assert counted(number, "corpus", "corpora") == words


def test_a_noun_has_an_s() -> None:
    assert [counted(n, "judged case") for n in (0, 1, 2)] == [
        "0 judged cases",
        "1 judged case",
        "2 judged cases",
    ]


def counts_by_hand(source: str) -> Iterator[str]:
    """Yield the pieces of f-strings in which a value is followed by a noun that is many."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            for value, words in zip(node.values, node.values[1:], strict=False):
                if (
                    isinstance(value, ast.FormattedValue)
                    and isinstance(words, ast.Constant)
                    and MANY.match(str(words.value))
                ):
                    yield "{" + ast.unparse(value.value) + "}" + str(words.value)


def telling() -> list[Path]:
    return sorted(
        path
        for path in HARNESS.rglob("*.py")
        if path.relative_to(HARNESS).parts[0] in TELLING and path.name != "served.py"
    )


@pytest.mark.parametrize("path", telling(), ids=lambda path: str(path.relative_to(HARNESS)))
def test_whatever_counts_for_a_person_asks_whether_it_is_one(path: Path) -> None:
    name = str(path.relative_to(HARNESS))
    found = {(name, words) for words in counts_by_hand(path.read_text(encoding="utf-8"))}
    assert found <= NEVER_ONE


def test_a_count_by_hand_is_noticed() -> None:
    assert list(counts_by_hand('f"{n} probes unchanged"')) == ["{n} probes unchanged"]
    assert list(counts_by_hand('f"{n:,} of {m} lane runs"')) == ["{m} lane runs"]
    assert list(counts_by_hand("f\"{counted(n, 'probe')} unchanged\"")) == []
