"""A tokenizer.json inside the library: loading it, and switching what it does without a reload."""

import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

# Asked for explicitly, so that the library does not warn on stderr whenever a probe is started.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")

import tokenizers
from tokenizers import Encoding, Tokenizer
from tokenizers.models import Unigram

from harness.errors import TokenizerError
from harness.oracle.own import Spell, speller
from harness.oracle.variants import STAGES, WORD, Added, Variants

_FLAGS = (
    "ignore_merges",
    "byte_fallback",
    "fuse_unk",
    "dropout",
    "unk_token",
    "continuing_subword_prefix",
    "end_of_word_suffix",
    "max_input_chars_per_word",
)
# Model settings that the library does not have: see harness.oracle.own.
OURS = ("merging", "scores")

# Lists of added tokens remembered; a search goes through little more than a dozen.
_LISTS = 64

# The ids of what the library made of a text.
Ids = Callable[[Encoding], list[int]]


def library_version() -> str:
    """Return the installed library's version, as in ``0.22.2``."""
    return str(tokenizers.__version__)


class Loaded:
    """One loaded file, its lock, and what it is switched to at the moment.

    ``original`` holds what the file says of everything that can be switched: the stages as the
    library's own objects, the model's flags by their names, ``split_special``, ``added_tokens``
    (None: as in the file), and our own model settings (None: as the library does).
    """

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
        self._model = self.tokenizer.model
        self._flags = {
            one: getattr(self._model, one) for one in _FLAGS if hasattr(self._model, one)
        }
        stages = {name: getattr(self.tokenizer, name) for name in STAGES}
        self.original: dict[str, Any] = {
            **stages,
            **self._flags,
            **dict.fromkeys(OURS),
            "split_special": False,
            "added_tokens": None,
        }
        if self._is_unigram_with_fallback:
            self.original["byte_fallback"] = self.description["model"]["byte_fallback"]
        self._variants = Variants(self, stages)
        self._added: dict[int, tuple[object, tuple[Added, ...]]] = {}
        self._spellers: dict[tuple[object, ...], Spell] = {}

    @cached_property
    def description(self) -> Mapping[str, Any]:
        """The file, parsed; what it is switched to does not show in it."""
        parsed: Mapping[str, Any] = json.loads(self.data)
        return parsed

    @contextmanager
    def under(self, change: Mapping[str, Any]) -> Iterator[Tokenizer]:
        """Hold the tokenizer under ``change``. It stays so afterwards; the next caller switches."""
        with self.lock:
            wanted = {**self.original, **change}
            self._switch_model(wanted)
            other = None
            if self._is_unigram_with_fallback and not wanted["byte_fallback"]:
                other = self._without_fallback
            yield self._variants.of(wanted["added_tokens"], other).under(wanted)

    @contextmanager
    def words_under(self, change: Mapping[str, Any]) -> Iterator[tuple[Tokenizer, Ids]]:
        """Hold a tokenizer whose tokens are words, and what makes ids of an encoding of its."""
        with self.lock:
            wanted = {**self.original, **change}
            words, spell = self._variants.words(wanted["added_tokens"]), self._speller(wanted)
            ids = words.ids

            def spelled(encoding: Encoding) -> list[int]:
                found: list[int] = []
                for number, text, put_in in zip(
                    encoding.ids, encoding.tokens, encoding.special_tokens_mask, strict=True
                ):
                    if put_in:  # by the post-processor, which knows the file's own ids
                        found.append(number)
                    elif number == WORD:
                        found += spell(text)
                    else:
                        found.append(ids[number])
                return found

            yield words.under(wanted), spelled

    def _switch_model(self, wanted: Mapping[str, Any]) -> None:
        """Set the model's flags; every variant shares the one model."""
        changed = [flag for flag, value in self._flags.items() if wanted[flag] != value]
        for flag in changed:
            setattr(self._model, flag, wanted[flag])
            self._flags[flag] = wanted[flag]
        if changed and hasattr(self._model, "_clear_cache"):
            # Words that were merged under the other setting must not be answered from memory.
            self._model._clear_cache()

    def _speller(self, wanted: Mapping[str, Any]) -> Spell:
        settings = {name: wanted[name] for name in OURS if wanted[name] is not None}
        flags = {name: wanted[name] for name in self._flags}
        key = (*settings.items(), *flags.items())
        if key not in self._spellers:
            model = {**self.description["model"], **flags}
            self._spellers[key] = speller(model, settings, self.where)
        return self._spellers[key]

    @property
    def _is_unigram_with_fallback(self) -> bool:
        # The library cannot change this flag of a Unigram in place.
        return isinstance(self._model, Unigram) and bool(
            self.description["model"].get("byte_fallback")
        )

    @cached_property
    def _without_fallback(self) -> Unigram:
        model = self.description["model"]
        vocabulary = [(piece, score) for piece, score in model["vocab"]]
        return Unigram(vocabulary, model.get("unk_id"), False)

    def added(self, described: Sequence[Mapping[str, Any]]) -> tuple[Added, ...]:
        """Return added tokens as :meth:`under` takes them; the same list gives the same object."""
        with self.lock:
            known = self._added.get(id(described))
            if known is None:
                known = self._added[id(described)] = (described, tuple(map(Added.of, described)))
                if len(self._added) > _LISTS:
                    del self._added[next(iter(self._added))]
            return known[1]

    def declared_tokens(self) -> list[Added]:
        """Return the file's added tokens in its order, which is the order of their ids."""
        return [Added.of(one) for one in self.description.get("added_tokens") or ()]


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
