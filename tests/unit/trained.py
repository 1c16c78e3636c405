"""A small byte-level BPE in the real library, and the oracle over it as the pipeline has it."""

import json
from collections.abc import Sequence
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import BPE
from tokenizers.trainers import BpeTrainer

from harness.hypotheses import Description
from harness.oracle import Oracle
from harness.outcomes import Outcomes

MARK = "\u0301"
PATTERN = r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+|\s+"


def trained() -> dict[str, Any]:
    """A byte-level BPE of a few hundred words, as tokenizer.json has it."""
    tokenizer = Tokenizer(BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PATTERN), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    trainer = BpeTrainer(
        vocab_size=420,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<\uff5cend\uff5c>"],
        show_progress=False,
    )
    text = [MARK * 4, "q" + MARK * 8, "re\u0301sume\u0301 cafe\u0301 words numbers nothing"]
    tokenizer.train_from_iterator(text * 20, trainer)
    tokenizer.add_tokens([AddedToken("<tool>", normalized=False, rstrip=True)])
    tokenizer.decoder = decoders.ByteLevel()
    parsed: dict[str, Any] = json.loads(tokenizer.to_str())
    return parsed


WHOLE = trained()
ORACLE = Oracle.from_description(WHOLE)
DECLARED: Description = {
    **WHOLE,
    "model": {k: v for k, v in WHOLE["model"].items() if k not in ("vocab", "merges")},
    "asked": {"special": False},
}


def encode(description: Description, texts: Sequence[str]) -> Outcomes:
    """The oracle under a description, as the pipeline provides it."""
    special = description["asked"]["special"]
    return ORACLE.described(description).encode(list(texts), special=special)


def normalized(description: Description, texts: Sequence[str]) -> list[str]:
    under = ORACLE.described(description)
    return [under.normalize(text) for text in texts]
