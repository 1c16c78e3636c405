"""A tokenizer.json inside the library: loading it, and switching its stages in place."""

import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

# Asked for explicitly, so that the library does not warn on stderr whenever a probe is started.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")

import tokenizers
from tokenizers import Tokenizer

from harness.errors import TokenizerError

_EMPTY = {"version": "1.0", "added_tokens": [], "model": {"type": "BPE", "vocab": {}, "merges": []}}
_STAGES = ("normalizer", "pre_tokenizer")
_MODEL_FLAGS = ("ignore_merges", "byte_fallback", "fuse_unk")

Stage = Mapping[str, Any] | None


def library_version() -> str:
    """Return the installed library's version, as in ``0.22.2``."""
    return str(tokenizers.__version__)


class Loaded:
    """One loaded file, its lock, and which change its stages are under at the moment."""

    def __init__(self, data: bytes, where: str) -> None:
        """Load ``data``, with truncation and padding off; ``where`` names it in messages.

        Raises :class:`TokenizerError` for JSON that is broken or nested too deeply, and for what
        the library does not support, in its own words.
        """
        self.data = data
        self.where = where
        self.lock = threading.RLock()
        self.tokenizer = _parsed(data, where)
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self.original = {name: getattr(self.tokenizer, name) for name in _STAGES}
        self.original |= {
            flag: getattr(self.tokenizer.model, flag)
            for flag in _MODEL_FLAGS
            if hasattr(self.tokenizer.model, flag)
        }
        self.original["split_special"] = False
        self.rebuilds = any(
            token.normalized for token in self.tokenizer.get_added_tokens_decoder().values()
        )
        self.change: dict[str, Any] = {}

    @contextmanager
    def under(self, change: dict[str, Any]) -> Iterator[Tokenizer]:
        """Hold the tokenizer under ``change``. It stays so afterwards; the next caller switches."""
        with self.lock:
            if self.change != change:
                wanted = {**self.original, **change}
                for name in self.change.keys() | change.keys():
                    self._set(name, wanted[name])
                self.change = change
            yield self.tokenizer

    def _set(self, name: str, value: object) -> None:
        if name == "split_special":
            self.tokenizer.encode_special_tokens = value
        elif name in _MODEL_FLAGS:
            model = self.tokenizer.model
            setattr(model, name, value)
            # Words that were merged under the other setting must not be answered from memory.
            model._clear_cache()
        else:
            setattr(self.tokenizer, name, value)
            if name == "normalizer" and self.rebuilds:
                # Setting a normalizer leaves the patterns of normalized added tokens as the old one
                # made them. Adding nothing rebuilds them, as loading a changed file would.
                self.tokenizer.add_tokens([])


def _parsed(data: bytes, where: str) -> Tokenizer:
    try:
        return Tokenizer.from_buffer(data)
    except BaseException as error:
        # A panic of the library is no Exception; anything else that is none must pass.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        words = str(error).removeprefix("Cannot instantiate Tokenizer from buffer: ")
        raise _refusal(data, where, words) from error


def _refusal(data: bytes, where: str, words: str) -> TokenizerError:
    """Return why a file could not be loaded, most telling reason first."""
    version = f"tokenizers {library_version()}"
    try:
        parsed = json.loads(data)
    except json.JSONDecodeError as error:
        return TokenizerError(
            f"is not JSON: {error.msg}",
            where=f"{where}:{error.lineno}:{error.colno}",
            remedy="copy or fetch it again",
        )
    except RecursionError:
        return TokenizerError(
            f"is nested too deeply for {version}", where=where, expected="a tokenizer.json"
        )
    except ValueError as error:  # not UTF-8, or an integer of more digits than Python converts
        return TokenizerError(f"is not JSON: {error}", where=where)
    if not isinstance(parsed.get("model"), dict):
        return TokenizerError(
            "has no 'model'", where=where, expected="a tokenizer.json, as HF tokenizers saves it"
        )
    return TokenizerError(f"is of a kind that {version} does not load: {words}", where=where)


def stage(kind: str, described: Stage) -> object:
    """Return a stage, described as in tokenizer.json, as the library's own object.

    Raises :class:`TokenizerError` for one that the library does not know.
    """
    if described is None:
        return None
    data = json.dumps({**_EMPTY, kind: described}).encode()
    try:
        return getattr(Tokenizer.from_buffer(data), kind)
    except Exception as error:
        raise TokenizerError(
            f"is no {kind} that tokenizers {library_version()} knows: {error}",
            where=json.dumps(described),
        ) from error
