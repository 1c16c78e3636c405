"""Tiny GGUF files for a real llama.cpp server: a real tokenizer, and weights that mean nothing.

The weights are zeros, so every prompt is answered by the same token; what is real is the counting.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf
import numpy as np

_WIDTH = 32
_ORDINARY, _SPECIAL, _ADDED, _UNUSED = 1, 3, 4, 5  # the token types that GGUF files name


@dataclass(frozen=True)
class Model:
    """What a model file says beside its tokenizer.

    ``template`` is the chat template, None for a file without one. ``bos`` and ``eos`` are spelt as
    in the tokenizer; ``add_bos`` says whether the server puts the former before every prompt.
    ``context`` is in tokens. ``pattern`` is llama.cpp's name for the pre-tokenizer.
    """

    template: str | None = None
    bos: str | None = None
    eos: str | None = None
    add_bos: bool = False
    context: int = 2048
    pattern: str = "qwen2"
    name: str = "tiny"


def make(tokenizer: Path, model: Model, out: Path) -> Path:
    """Write a model file with the byte-level BPE of a tokenizer.json, and return its path."""
    described = json.loads(tokenizer.read_text(encoding="utf-8"))
    tokens, types = _tokens(described)
    merges = [
        one if isinstance(one, str) else " ".join(one) for one in described["model"]["merges"]
    ]
    writer = gguf.GGUFWriter(out, "llama")
    _architecture(writer, model, len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(model.pattern)
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges(merges)
    writer.add_add_bos_token(model.add_bos)
    if model.bos is not None:
        writer.add_bos_token_id(tokens.index(model.bos))
    if model.eos is not None:
        writer.add_eos_token_id(tokens.index(model.eos))
    if model.template is not None:
        writer.add_chat_template(model.template)
    _weights(writer, len(tokens))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return out


def _tokens(described: Mapping[str, Any]) -> tuple[list[str], list[int]]:
    """Return every token by its id and its type, filled up with unused ones to a round number."""
    named = {number: (text, _ORDINARY) for text, number in described["model"]["vocab"].items()}
    for one in described["added_tokens"]:
        named[one["id"]] = (one["content"], _SPECIAL if one["special"] else _ADDED)
    size = -(-(max(named) + 1) // 32) * 32
    rows = [named.get(number, (f"[PAD{number}]", _UNUSED)) for number in range(size)]
    return [text for text, _ in rows], [kind for _, kind in rows]


def _architecture(writer: gguf.GGUFWriter, model: Model, size: int) -> None:
    writer.add_name(model.name)
    writer.add_context_length(model.context)
    writer.add_embedding_length(_WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(2 * _WIDTH)
    writer.add_head_count(2)
    writer.add_head_count_kv(1)
    writer.add_rope_dimension_count(_WIDTH // 2)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_file_type(0)
    writer.add_vocab_size(size)


def _weights(writer: gguf.GGUFWriter, size: int) -> None:
    writer.add_tensor("token_embd.weight", np.zeros((size, _WIDTH), np.float16))
    writer.add_tensor("output_norm.weight", np.ones(_WIDTH, np.float32))
    wide = {"attn_q": 1.0, "attn_k": 0.5, "attn_v": 0.5, "attn_output": 1.0}
    for name, share in wide.items():
        shape = (int(_WIDTH * share), _WIDTH)
        writer.add_tensor(f"blk.0.{name}.weight", np.zeros(shape, np.float32))
    for name, shape in (
        ("ffn_gate", (2 * _WIDTH, _WIDTH)),
        ("ffn_up", (2 * _WIDTH, _WIDTH)),
        ("ffn_down", (_WIDTH, 2 * _WIDTH)),
    ):
        writer.add_tensor(f"blk.0.{name}.weight", np.zeros(shape, np.float32))
    for name in ("attn_norm", "ffn_norm"):
        writer.add_tensor(f"blk.0.{name}.weight", np.ones(_WIDTH, np.float32))
