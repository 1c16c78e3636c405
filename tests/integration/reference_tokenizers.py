"""Small tokenizer.json files that have what real ones have, made with the oracle's library."""

import json
from pathlib import Path
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
O200K_LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
O200K_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"

# The Splits of each family, as their tokenizer.json files write them.
PATTERNS: dict[str, tuple[str, ...]] = {
    "gpt2": (r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",),
    "llama3": (
        CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + SPACES,
    ),
    "qwen2": (
        CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + SPACES,
    ),
    "qwen3.5": (
        CONTRACTIONS
        + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|"
        + SPACES,
    ),
    "deepseek-v3": (
        r"\p{N}{1,3}",
        "[一-龥\u3040-ゟ゠-ヿ]+",
        "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+"
        "|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*"
        "|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
    ),
    "o200k": (
        rf"[^\r\n\p{{L}}\p{{N}}]?{O200K_LOWER}{CONTRACTIONS}?"
        rf"|[^\r\n\p{{L}}\p{{N}}]?{O200K_UPPER}{CONTRACTIONS}?"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + SPACES,
    ),
}
# What GPT-2's own file has instead of its pattern.
BYTE_LEVEL_REGEX = "byte-level-regex"
FAMILIES = (*PATTERNS, BYTE_LEVEL_REGEX)

TRAINING_TEXT = (
    "the tokenizer reads the text and the text has words, numbers like 123 456 7890, and signs!!",
    "Don't we're it'll I'VE — naïve café, e\u0301te\u0301, Straße, Ωmega, дом, 東京の天気は晴れ。",
    "def f(x):\n    return x**2  # fooBarBaz HTTPServer\n\n\tif (a == b) {\r\n  }\n",
    "ภาษาไทยมีวรรณยุกต์ हिन्दी में क्षेत्र العربيّة بِسْمِ עִבְרִית 한국어 각 😀 👨‍👩‍👧 ½ ①②",
    "aaaaaaaa xxxx ababab hahaha  \u00a0 \u3000 tabs\t\tand  runs   of    spaces",
)


def splits(family: str) -> list[pre_tokenizers.PreTokenizer]:
    return [pre_tokenizers.Split(Regex(one), "isolated") for one in PATTERNS.get(family, ())]


def pre_tokenizer(family: str, add_prefix_space: bool = False) -> pre_tokenizers.PreTokenizer:
    byte_level = pre_tokenizers.ByteLevel(
        add_prefix_space=add_prefix_space, use_regex=family == BYTE_LEVEL_REGEX
    )
    parts = splits(family)
    return pre_tokenizers.Sequence([*parts, byte_level]) if parts else byte_level


def trained(family: str, size: int = 700) -> Tokenizer:
    """A byte-level BPE tokenizer with the family's pattern."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizer(family)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
    )
    tokenizer.train_from_iterator(TRAINING_TEXT, trainer)
    return tokenizer


def description(tokenizer: Tokenizer) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(tokenizer.to_str())
    return made


def write(path: Path, content: Tokenizer | dict[str, Any]) -> Path:
    text = json.dumps(content) if isinstance(content, dict) else content.to_str()
    path.write_text(text, encoding="utf-8")
    return path
