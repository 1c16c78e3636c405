"""The published patterns are those of the tokenizers they are named after."""

import json
from pathlib import Path

import pytest

from harness.fetch import fetch
from harness.hypotheses.patterns import PATTERNS
from harness.hypotheses.pre_tokenizer import proposed
from harness.hypotheses.steps import flat, regex
from harness.tokenizers import source
from tests.unit.observed import seen

GOLDENS = Path(__file__).resolve().parents[2] / "goldens"
NAMED = {
    "bundled": "qwen2",
    "gpt2": "gpt2",
    "llama3": "llama3",
    "qwen2.5": "qwen2",
    "qwen3": "qwen2",
    "qwen3.6": "qwen3.5",
    "deepseek-v3": "deepseek-v3",
    "gpt-oss": "o200k",
}


@pytest.mark.parametrize("name", NAMED)
def test_a_known_tokenizer_declares_its_published_pattern(name: str, tmp_path: Path) -> None:
    tokenizer = fetch(source(name, GOLDENS), tmp_path)
    description = json.loads(tokenizer.path.read_bytes())
    steps = flat(description["pre_tokenizer"])
    assert tuple(filter(None, map(regex, steps))) == PATTERNS[NAMED[name]]
    offered = {one.name for one in proposed(seen(description, [], []))}
    assert {one for one in offered if one.startswith("pattern-")} == {
        f"pattern-{other}" for other in PATTERNS if other != NAMED[name]
    }


def test_every_tokenizer_that_the_project_knows_is_among_them() -> None:
    assert {path.parent.name for path in GOLDENS.glob("*/source.yaml")} == set(NAMED)
