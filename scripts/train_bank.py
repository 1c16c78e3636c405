"""Train tests/bank/tokenizers/*.json on the project's own texts, the same bytes every time.

    python scripts/train_bank.py            writes the files
    python scripts/train_bank.py --check    exits 1 where a file differs

One small tokenizer for each family that the bundled one does not cover. They are what the subjects
of the bank are asked about, so each has the parts that its family's defects need: words that only
``ignore_merges`` reaches, bytes that have no token, scores that single precision ties.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, __version__, decoders, normalizers
from tokenizers import pre_tokenizers as pre
from tokenizers.models import BPE, WordPiece
from tokenizers.processors import TemplateProcessing
from tokenizers.trainers import BpeTrainer

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from harness.atomic import write_atomically  # noqa: E402
from scripts.bank_counts import pieces, words  # noqa: E402
from scripts.bank_texts import lines  # noqa: E402
from scripts.generated import checking  # noqa: E402

TARGET = ROOT / "tests" / "bank" / "tokenizers"
TRAINED_WITH = "0.22.2"
VOCABULARY = 2500
# A character seen so often has a token of its own where bytes can stand for the others.
FREQUENT = 5

LLAMA_3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
DEEPSEEK = (
    r"\p{N}{1,3}",
    "[一-龥\u3040-ゟ゠-ヿ]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
)
QWEN_2 = LLAMA_3.replace(r"\p{N}{1,3}", r"\p{N}")
# Trained on words with all that clings to them, so that merges cross every border that the pattern
# draws: where a subject draws it elsewhere, the ids show it.
WORDS = r"\s*\S+(?:[\r\n]+(?! ))?"
# Whole words without a merge that makes them: only a model that ignores merges finds them.
UNMERGED = ("Ġunhurried", "ĠViá»ĩt", "qwertyuiop", "Ġzzzzzz", "Ġquick")

UNKNOWN, UNKNOWN_WORD = "<unk>", "[UNK]"
FLAGGED = (
    AddedToken("<|begin|>", special=True, normalized=False),
    AddedToken("<|end|>", special=True, normalized=False),
    AddedToken("<|pad|>", special=True, normalized=False, lstrip=True),
    AddedToken("<tool>", normalized=False),
    AddedToken("<|left|>", normalized=False, lstrip=True),
    AddedToken("<|right|>", normalized=False, rstrip=True),
    AddedToken("<|both|>", normalized=False, lstrip=True, rstrip=True),
    AddedToken("<|both", normalized=False),
    AddedToken("qwyx", normalized=False, single_word=True),
    AddedToken("<|naïve|>", normalized=True),
    AddedToken("<|o\u0308|>", normalized=False),
)


def _template(
    tokenizer: Tokenizer, single: str, pair: str, names: tuple[str, ...]
) -> TemplateProcessing:
    special = [(name, tokenizer.token_to_id(name)) for name in names]
    return TemplateProcessing(single=single, pair=pair, special_tokens=special)


def _byte_level(steps: list[Any], *, normalizer: object = None) -> Tokenizer:
    tokenizer = Tokenizer(BPE())
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre.Sequence(_splits(WORDS))
    tokenizer.decoder = decoders.ByteLevel()
    trainer = BpeTrainer(
        vocab_size=VOCABULARY,
        min_frequency=1,
        show_progress=False,
        initial_alphabet=sorted(pre.ByteLevel.alphabet()),
    )
    tokenizer.train_from_iterator(lines(), trainer)
    tokenizer.pre_tokenizer = steps[0] if len(steps) == 1 else pre.Sequence(steps)
    return tokenizer


def _splits(*patterns: str) -> list[Any]:
    steps = [pre.Split(Regex(one), behavior="isolated") for one in patterns]
    return [*steps, pre.ByteLevel(add_prefix_space=False, use_regex=False)]


def qwen2_like() -> dict[str, Any]:
    """Return a byte-level BPE with NFC and digits alone, without a template."""
    tokenizer = _byte_level(_splits(QWEN_2), normalizer=normalizers.NFC())
    tokenizer.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    return _saved(tokenizer)


def llama_like() -> dict[str, Any]:
    """Return a byte-level BPE with NFC, merges ignored, and added tokens with every flag."""
    trained = json.loads(_byte_level(_splits(LLAMA_3), normalizer=normalizers.NFC()).to_str())
    trained["model"]["ignore_merges"] = True
    for word in UNMERGED:
        trained["model"]["vocab"].setdefault(word, len(trained["model"]["vocab"]))
    tokenizer = Tokenizer.from_str(json.dumps(trained))
    tokenizer.add_special_tokens([token for token in FLAGGED if token.special])
    tokenizer.add_tokens([token for token in FLAGGED if not token.special])
    tokenizer.post_processor = _template(
        tokenizer, "<|begin|> $A", "<|begin|> $A <|end|> $B:1", ("<|begin|>", "<|end|>")
    )
    return _saved(tokenizer)


def deepseek_like() -> dict[str, Any]:
    """Return a byte-level BPE behind three Splits, without a normalizer."""
    tokenizer = _byte_level(_splits(*DEEPSEEK))
    tokenizer.add_special_tokens(["<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"])
    tokenizer.add_tokens([AddedToken("<｜User｜>", normalized=False)])
    first = "<｜begin▁of▁sentence｜>"
    tokenizer.post_processor = _template(
        tokenizer, f"{first} $A", f"{first} $A {first} $B:1", (first,)
    )
    return _saved(tokenizer)


def gpt2_like() -> dict[str, Any]:
    """Return a byte-level BPE whose pattern is the library's own, without a template."""
    tokenizer = _byte_level([pre.ByteLevel(add_prefix_space=False, use_regex=True)])
    tokenizer.add_special_tokens(["<|endoftext|>"])
    return _saved(tokenizer)


def sentencepiece_like() -> dict[str, Any]:
    """Return a BPE with Prepend and Replace for spaces, byte fallback, and unknown runs fused.

    Bytes F0 to F4 have no token: characters beyond U+FFFF are unknown, so fusing shows.
    """
    byte_tokens = [f"<0x{byte:02X}>" for byte in range(0xF0)]
    trained = Tokenizer(BPE(unk_token=UNKNOWN, fuse_unk=True, byte_fallback=True))
    trained.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    # Trained on words, though none are split off when it encodes, as SentencePiece does it.
    trained.pre_tokenizer = pre.Split("▁", behavior="merged_with_next")
    trainer = BpeTrainer(
        vocab_size=VOCABULARY,
        min_frequency=1,
        show_progress=False,
        special_tokens=["<unk>", "<s>", "</s>", *byte_tokens],
    )
    # Rare characters have no token: they fall back to bytes.
    text = "".join(lines())
    rare = "".join(char for char, count in Counter(text).items() if count < FREQUENT)
    trained.train_from_iterator(
        [line.translate(dict.fromkeys(map(ord, rare))) for line in lines()], trainer
    )
    described = json.loads(trained.to_str())
    described["pre_tokenizer"] = None
    described["added_tokens"] = described["added_tokens"][:3]
    described["decoder"] = {
        "type": "Sequence",
        "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
            {"type": "ByteFallback"},
            {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0},
        ],
    }
    tokenizer = Tokenizer.from_str(json.dumps(described))
    tokenizer.add_tokens([AddedToken("<|plain|>", normalized=False)])
    tokenizer.post_processor = _template(tokenizer, "<s> $A", "<s> $A <s> $B:1", ("<s>",))
    return _saved(tokenizer)


def unigram_like() -> dict[str, Any]:
    """Return a Unigram with Metaspace, NFKC, spaces squeezed, and byte fallback."""
    specials = ["<pad>", "</s>", "<unk>"]
    vocabulary: list[list[Any]] = [[name, 0.0] for name in specials]
    vocabulary += [[f"<0x{byte:02X}>", -20.0] for byte in range(256)]
    vocabulary += [[piece, score] for piece, score in pieces(VOCABULARY)]
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    described = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            _added(number, name, special=True) for number, name in enumerate(specials)
        ],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "NFKC"},
                {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
            ],
        },
        "pre_tokenizer": metaspace,
        "post_processor": None,
        "decoder": {
            "type": "Sequence",
            "decoders": [{"type": "ByteFallback"}, metaspace],
        },
        "model": {"type": "Unigram", "unk_id": 2, "vocab": vocabulary, "byte_fallback": True},
    }
    tokenizer = Tokenizer.from_str(json.dumps(described))
    tokenizer.post_processor = _template(tokenizer, "$A </s>", "$A </s> $B:1 </s>:1", ("</s>",))
    return _saved(tokenizer)


def _added(number: int, content: str, *, special: bool) -> dict[str, Any]:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return {"id": number, "content": content, **flags, "special": special}


def wordpiece_like() -> dict[str, Any]:
    """Return a WordPiece as BERT has it, uncased."""
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = {
        word: number for number, word in enumerate(dict.fromkeys([*specials, *words(VOCABULARY)]))
    }
    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token=UNKNOWN_WORD))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True, strip_accents=True)
    tokenizer.pre_tokenizer = pre.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(prefix="##")
    tokenizer.add_special_tokens(specials)
    tokenizer.post_processor = _template(
        tokenizer, "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", ("[CLS]", "[SEP]")
    )
    return _saved(tokenizer)


def _saved(tokenizer: Tokenizer) -> dict[str, Any]:
    saved: dict[str, Any] = json.loads(tokenizer.to_str())
    return saved


MADE: Mapping[str, Callable[[], dict[str, Any]]] = {
    "llama-like": llama_like,
    "qwen2-like": qwen2_like,
    "deepseek-like": deepseek_like,
    "gpt2-like": gpt2_like,
    "sentencepiece-like": sentencepiece_like,
    "unigram-like": unigram_like,
    "wordpiece-like": wordpiece_like,
}


def written(name: str) -> bytes:
    """Return one tokenizer.json as it is written: on one line, not escaped."""
    described = json.dumps(MADE[name](), ensure_ascii=False, separators=(",", ":"))
    return f"{described}\n".encode()


def main(arguments: list[str]) -> int:
    check = checking(arguments, __doc__)
    if __version__ != TRAINED_WITH:
        print(
            f"tokenizers is {__version__}: the files are trained with {TRAINED_WITH}\n"
            f"  remedy: pip install tokenizers=={TRAINED_WITH}",
            file=sys.stderr,
        )
        return 2
    differing = 0
    for name in MADE:
        path, data = TARGET / f"{name}.json", written(name)
        if not check:
            write_atomically(path, data)
        elif not path.is_file() or path.read_bytes() != data:
            differing += 1
            print(f"{path.name}: differs from what is trained", file=sys.stderr)
        print(f"{path.relative_to(ROOT)}: {len(data)} bytes")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
