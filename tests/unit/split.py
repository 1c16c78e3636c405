"""What the library that runs a pattern makes of it: the words, as plain text."""

import json
from collections.abc import Mapping
from typing import Any

from tokenizers import Regex, Tokenizer, pre_tokenizers


def words(pattern: str, text: str) -> list[str]:
    """Return what a Split with this regular expression divides ``text`` into."""
    split = pre_tokenizers.Split(Regex(pattern), "isolated")
    return [word for word, _ in split.pre_tokenize_str(text)]


def pieces(pre_tokenizer: Mapping[str, Any] | None, text: str) -> list[str]:
    """Return what a pre-tokenizer as in tokenizer.json makes of ``text``, bytes spelled or not."""
    empty: Mapping[str, Any] = {"type": "BPE", "vocab": {}, "merges": []}
    file: Mapping[str, Any] = {
        "version": "1.0",
        "added_tokens": [],
        "model": empty,
        "pre_tokenizer": pre_tokenizer,
    }
    stage = Tokenizer.from_str(json.dumps(file)).pre_tokenizer
    return [piece for piece, _ in stage.pre_tokenize_str(text)] if stage else [text]
