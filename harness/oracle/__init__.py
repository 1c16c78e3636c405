"""The HuggingFace ``tokenizers`` library as the oracle: ids, and the output of every stage.

This package is the only one that imports the library. A loaded file (:mod:`harness.oracle.loaded`)
is shared by every :class:`Oracle` derived from it: :meth:`Oracle.described` and
:meth:`Oracle.under` change it without loading again, which costs an encode where a load costs half
a second.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from tokenizers import Encoding, Tokenizer

from harness.errors import TokenizerError
from harness.oracle.changes import Stage, changes, stage
from harness.oracle.facts import unicode_facts
from harness.oracle.loaded import OURS, Loaded, library_version
from harness.outcomes import Outcomes, Status, from_answers
from harness.tokenizers import read

__all__ = ["KEEP", "Keep", "Oracle", "Stage", "library_version", "unicode_facts"]

# Texts go to the library in batches of about this many characters: its own record of an encoding
# takes some hundred bytes a token, ours four.
_BATCH = 1 << 20


class Keep(Enum):
    """The value of an argument that leaves a stage as the file has it."""

    KEEP = "keep"


KEEP: Final = Keep.KEEP


class Oracle:
    """A tokenizer as the library understands it. Safe to use from several threads."""

    def __init__(self, loaded: Loaded, change: Mapping[str, Any] | None = None) -> None:
        """Use :meth:`load` or :meth:`from_description`."""
        self._loaded = loaded
        self._change = dict(change or {})

    @classmethod
    def load(cls, path: Path) -> "Oracle":
        """Load a tokenizer.json, with truncation and padding switched off.

        Raises :class:`TokenizerError`: see :func:`harness.tokenizers.read`; JSON that is broken or
        nested too deeply; or what the library does not support, in its own words.
        """
        return cls(Loaded(read(path), str(path)))

    @classmethod
    def from_description(cls, description: Mapping[str, Any], where: str = "tokenizer") -> "Oracle":
        """Load a parsed tokenizer.json; raises :class:`TokenizerError` as :meth:`load` does."""
        return cls(Loaded(json.dumps(description).encode(), where))

    @property
    def version(self) -> str:
        """The library's version."""
        return library_version()

    @cached_property
    def sha256(self) -> str:
        """The sha256 of the file's bytes, in hexadecimal."""
        return hashlib.sha256(self._loaded.data).hexdigest()

    @property
    def description(self) -> Mapping[str, Any]:
        """The file, parsed; changes made by :meth:`under` do not show in it."""
        return self._loaded.description

    @property
    def normalizes(self) -> bool:
        """Whether the file has a normalizer stage; a sequence of none is not one."""
        declared = self.description.get("normalizer")
        return declared is not None and declared != {"type": "Sequence", "normalizers": []}

    def under(
        self,
        *,
        normalizer: Stage | Keep = KEEP,
        pre_tokenizer: Stage | Keep = KEEP,
        ignore_merges: bool | Keep = KEEP,
        byte_fallback: bool | Keep = KEEP,
        fuse_unk: bool | Keep = KEEP,
        split_special: bool | Keep = KEEP,
    ) -> "Oracle":
        """Return the same tokenizer with some stages changed; this one stays as it is.

        A stage is what tokenizer.json would say (``{"type": "NFD"}``) or None to leave it out.
        ``split_special`` takes special tokens in a text for plain text. Changes add up over nested
        calls. Raises :class:`TokenizerError` for a stage or flag that the library does not know.
        """
        given = {
            "ignore_merges": ignore_merges,
            "byte_fallback": byte_fallback,
            "fuse_unk": fuse_unk,
            "split_special": split_special,
        }
        change: dict[str, object] = {
            name: value for name, value in given.items() if value is not KEEP
        }
        for name in change:
            if name not in self._loaded.original:
                raise TokenizerError(f"its model has no '{name}'", where=self._loaded.where)
        if not isinstance(normalizer, Keep):
            change["normalizer"] = stage("normalizer", normalizer)
        if not isinstance(pre_tokenizer, Keep):
            change["pre_tokenizer"] = stage("pre_tokenizer", pre_tokenizer)
        return Oracle(self._loaded, {**self._change, **change})

    def described(self, description: Mapping[str, Any]) -> "Oracle":
        """Return the same tokenizer as another description has it; this one stays as it is.

        ``description`` is the file's (:attr:`description`) with any of its stages changed, added
        tokens left out or with other flags, and scalar fields of the model changed; vocabulary and
        merges are the file's and need not be there. Beyond what tokenizer.json can say:

        * ``model["merging"]`` ``"longest-match"`` (within a word the longest vocabulary entry,
          again and again) or ``"ties-rightmost"`` (merges of equal rank from the right);
        * ``model["scores"]`` ``"single"``: a Unigram's scores summed in single precision;
        * a normalizer ``{"type": "NFC", "unicode": "14.0"}``: a form by that version's data.

        Raises :class:`TokenizerError` for what cannot be tested of this tokenizer.
        """
        return Oracle(self._loaded, changes(self._loaded, description))

    def encode(self, texts: Sequence[str | None], special: bool = False) -> Outcomes:
        """Return the ids of every text, added tokens in it matched.

        ``special`` adds what the post-processor adds. None stands for bytes that are not UTF-8 and
        gives ``UNGRADED``, as does a text that the library refuses, with its words as the note.
        """
        [found] = self._encode(texts, (special,))
        return found

    def encode_both(self, texts: Sequence[str | None]) -> tuple[Outcomes, Outcomes]:
        """Return :meth:`encode` without and with special tokens, for the price of one.

        The post-processor is the last stage and sees nothing but ids, so it is run by itself on the
        encoding that is there already.
        """
        plain, special = self._encode(texts, (False, True))
        return plain, special

    def _encode(
        self, texts: Sequence[str | None], specials: tuple[bool, ...]
    ) -> tuple[Outcomes, ...]:
        answers: list[list[Sequence[int] | Status]] = [[] for _ in specials]
        notes: dict[int, str] = {}
        for start, end in _batches(texts):
            given = [text for text in texts[start:end] if text is not None]
            rest = iter(self._encodings(given, specials))
            for index in range(start, end):
                found = None if texts[index] is None else next(rest)
                if isinstance(found, str):
                    notes[index] = found
                for position, column in enumerate(answers):
                    column.append(found[position] if isinstance(found, tuple) else Status.UNGRADED)
        return tuple(from_answers(column, notes) for column in answers)

    def _encodings(
        self, texts: Sequence[str], specials: tuple[bool, ...]
    ) -> list[tuple[Sequence[int], ...] | str]:
        if any(self._change.get(name) for name in OURS):
            with self._loaded.words_under(self._change) as (tokenizer, ids):
                return _encodings(tokenizer, tokenizer.encode_batch, texts, specials, ids)
        with self._loaded.under(self._change) as tokenizer:
            return _encodings(tokenizer, tokenizer.encode_batch_fast, texts, specials, _own_ids)

    def decode(
        self, answers: Sequence[Sequence[int]], skip_special_tokens: bool = False
    ) -> list[str]:
        """Return the text of every sequence of ids; U+FFFD stands where bytes are no character."""
        with self._loaded.under(self._change) as tokenizer:
            return list(
                tokenizer.decode_batch(
                    [list(map(int, ids)) for ids in answers],
                    skip_special_tokens=skip_special_tokens,
                )
            )

    def normalize(self, text: str) -> str:
        """Return the text after the normalizer stage; added tokens are not taken out first."""
        with self._loaded.under(self._change) as tokenizer:
            normalizer = tokenizer.normalizer
            return text if normalizer is None else str(normalizer.normalize_str(text))

    def pretokenize(self, text: str) -> list[str]:
        """Return the pieces of the normalized text that the model would receive, as plain text.

        Added tokens are not taken out first. Pieces are spans of the normalized text, so what a
        stage puts in (a prefix space, byte-level spelling) does not show.
        """
        with self._loaded.under(self._change) as tokenizer:
            normal = self.normalize(text)
            splitter = tokenizer.pre_tokenizer
            if splitter is None:
                return [normal] if normal else []
            return [normal[start:end] for _, (start, end) in splitter.pre_tokenize_str(normal)]

    def token(self, number: int) -> str | None:
        """Return an id's spelling in the vocabulary, None for an id that is not in it."""
        return self.tokens([number])[0]

    def tokens(self, ids: Sequence[int]) -> list[str | None]:
        """Return every id's spelling in the vocabulary, None for an id that is not in it."""
        tokenizer = self._loaded.tokenizer
        return [tokenizer.id_to_token(int(one)) for one in ids]


def _batches(texts: Sequence[str | None]) -> Iterator[tuple[int, int]]:
    start = size = 0
    for index, text in enumerate(texts):
        size += len(text or "")
        if size >= _BATCH:
            yield start, index + 1
            start, size = index + 1, 0
    if start < len(texts):
        yield start, len(texts)


def _own_ids(encoding: Encoding) -> Sequence[int]:
    ids: Sequence[int] = encoding.ids
    return ids


def _encodings(
    tokenizer: Tokenizer,
    batch: Callable[..., list[Encoding]],
    texts: Sequence[str],
    specials: tuple[bool, ...],
    ids: Callable[[Encoding], Sequence[int]],
) -> list[tuple[Sequence[int], ...] | str]:
    """Return for each text its ids, once for each of ``specials``; the library's words if it fails.

    A text that makes the library panic takes the whole batch with it, so then they go one by one.
    """
    try:
        found = batch(list(texts), add_special_tokens=specials == (True,))
        return [_processed(tokenizer, encoding, specials, ids) for encoding in found]
    except TokenizerError:
        raise
    except Exception:  # the library raises the base class
        return [_encoded(tokenizer, text, specials, ids) for text in texts]


def _encoded(
    tokenizer: Tokenizer,
    text: str,
    specials: tuple[bool, ...],
    ids: Callable[[Encoding], Sequence[int]],
) -> tuple[Sequence[int], ...] | str:
    try:
        encoding = tokenizer.encode(text, add_special_tokens=specials == (True,))
        return _processed(tokenizer, encoding, specials, ids)
    except TokenizerError:
        raise
    except Exception as error:  # the library raises the base class
        return f"the oracle refuses it: {error}"


def _processed(
    tokenizer: Tokenizer,
    encoding: Encoding,
    specials: tuple[bool, ...],
    ids: Callable[[Encoding], Sequence[int]],
) -> tuple[Sequence[int], ...]:
    """Return the encoding's ids and, where both are wanted, those with special tokens added."""
    if len(specials) == 1:
        return (ids(encoding),)
    plain = ids(encoding)
    return plain, ids(tokenizer.post_process(encoding, None, add_special_tokens=True))
