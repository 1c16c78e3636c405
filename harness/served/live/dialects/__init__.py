"""The ways in which servers speak: one module a dialect, all behind :class:`Dialect`.

A dialect is pure. It says which call asks a question, and reads what came back, hostile or not.
"""

from collections.abc import Callable, Mapping

from harness.served.live.dialects.dialect import Dialect
from harness.served.live.dialects.llamacpp import LlamaCpp
from harness.served.live.dialects.ollama import Ollama
from harness.served.live.dialects.openai import OpenAI
from harness.served.live.dialects.sglang import SGLang
from harness.served.live.dialects.tgi import Tgi
from harness.served.live.dialects.vllm import Vllm

DIALECTS: Mapping[str, Callable[[], Dialect]] = {
    "vllm": Vllm,
    "llama.cpp": LlamaCpp,
    "sglang": SGLang,
    "tgi": Tgi,
    "ollama": Ollama,
    "openai": OpenAI,
}

__all__ = ["DIALECTS", "Dialect"]
