"""Train goldens/bundled/tokenizer.json on scripts/training_text.txt, the same bytes every time.

    python scripts/train_bundled.py            writes the file
    python scripts/train_bundled.py --check    exits 1 where the file differs

It is small so that it can be committed, and has every part that the real tokenizers have: NFC,
the Qwen2 pattern, byte-level BPE, added tokens with each flag, a template that adds a token.
"""

import sys
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, __version__
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.normalizers import NFC
from tokenizers.pre_tokenizers import ByteLevel, Sequence, Split
from tokenizers.processors import TemplateProcessing
from tokenizers.trainers import BpeTrainer

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.generated import checking, settle  # noqa: E402

TEXT = ROOT / "scripts" / "training_text.txt"
TARGET = ROOT / "goldens" / "bundled" / "tokenizer.json"
TRAINED_WITH = "0.22.2"
VOCABULARY = 2560
PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

SPECIAL = (
    AddedToken("<|endoftext|>", special=True, normalized=False),
    AddedToken("<|im_start|>", special=True, normalized=False),
    AddedToken("<|im_end|>", special=True, normalized=False),
    AddedToken("<|bos|>", special=True, normalized=False),
    AddedToken("<|mask|>", special=True, normalized=False, lstrip=True),
)
PLAIN = (
    AddedToken("<tool_call>", normalized=False),
    AddedToken("</tool_call>", normalized=False),
    AddedToken("<|left|>", normalized=False, lstrip=True),
    AddedToken("<|right|>", normalized=False, rstrip=True),
    AddedToken("<|both|>", normalized=False, lstrip=True, rstrip=True),
    AddedToken("qwyx", normalized=False, single_word=True),
    # Matched in the normalized text, so decomposed input meets it too.
    AddedToken("<|café|>", normalized=True),
    # Its own content is changed by NFC (U+212B becomes U+00C5) before it is looked for.
    AddedToken("<|\u212b|>", normalized=True),
    # Looked for in the raw text: only the decomposed spelling meets it.
    AddedToken("<|e\u0301|>", normalized=False),
    # A prefix of another added token, and overlapping with it: the longest match wins.
    AddedToken("<|both", normalized=False),
)


def trained() -> str:
    """Return the whole tokenizer.json as the library itself would save it, on one line."""
    tokenizer = Tokenizer(BPE())
    tokenizer.normalizer = NFC()
    tokenizer.pre_tokenizer = Sequence(
        [
            Split(Regex(PATTERN), behavior="isolated"),
            ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = ByteLevelDecoder()
    trainer = BpeTrainer(
        vocab_size=VOCABULARY,
        min_frequency=1,
        show_progress=False,
        initial_alphabet=sorted(ByteLevel.alphabet()),
    )
    tokenizer.train_from_iterator(TEXT.read_text("utf-8").splitlines(keepends=True), trainer)
    tokenizer.add_special_tokens(list(SPECIAL))
    tokenizer.add_tokens(list(PLAIN))
    first = "<|bos|>"
    tokenizer.post_processor = TemplateProcessing(
        single=f"{first} $A",
        pair=f"{first} $A {first} $B:1",
        special_tokens=[(first, tokenizer.token_to_id(first))],
    )
    return str(tokenizer.to_str()) + "\n"


def main(arguments: list[str]) -> int:
    check = checking(arguments, __doc__)
    if __version__ != TRAINED_WITH:
        print(
            f"tokenizers is {__version__}: the file is trained with {TRAINED_WITH}\n"
            f"  remedy: pip install tokenizers=={TRAINED_WITH}",
            file=sys.stderr,
        )
        return 2
    data = trained().encode("utf-8")
    name = str(TARGET.relative_to(ROOT))
    status = settle(TARGET, data, check=check, name=name, same="as trained")
    if not check:
        print(f"{name}: {len(data)} bytes")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
