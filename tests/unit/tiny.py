"""Tiny tokenizers of every kind, made by the library, and what the library gives under a change.

A changed description is written into the file and loaded, as a person would edit it by hand.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers
from tokenizers import processors as post
from tokenizers.trainers import BpeTrainer, WordPieceTrainer

from harness.hypotheses import Description, Hypothesis, Seen
from harness.hypotheses.input import POLICIES, RECOMMENDED
from harness.outcomes import from_answers

File = Mapping[str, Any]
UNKNOWN = "<unk>"
TEXT = ["the cat sat on the mat, and 42 other cats sat there too; naïve résumé café 日本語"] * 20


def _added(content: str, **flags: bool) -> AddedToken:
    return AddedToken(content, **{"normalized": False, **flags})


@cache
def byte_level() -> File:
    """Byte-level BPE with NFC, added tokens of every flag, and a template with one token."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = BpeTrainer(vocab_size=330, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(TEXT, trainer)
    tokenizer.add_special_tokens([_added("<bos>"), _added("<eos>")])
    tokenizer.add_tokens(
        [
            _added("<l>", lstrip=True),
            _added("<r>", rstrip=True),
            _added("word", single_word=True),
            _added("<a>"),
            _added("<a>b"),
            _added("<é>"),
            _added("<É>", normalized=True),
        ]
    )
    number = tokenizer.token_to_id("<bos>")
    tokenizer.post_processor = post.Sequence(
        [
            post.ByteLevel(trim_offsets=False),
            post.TemplateProcessing(
                single="<bos> $A",
                pair="<bos> $A <bos> $B",
                special_tokens=[("<bos>", number)],
            ),
        ]
    )
    return _file(tokenizer)


@cache
def with_fallback() -> File:
    """BPE over whole words with Prepend and Replace, bytes for what it does not know."""
    tokenizer = Tokenizer(models.BPE(unk_token=UNKNOWN, byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback()])
    special = [UNKNOWN, "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    trainer = BpeTrainer(vocab_size=340, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(["▁" + line.replace(" ", "▁") for line in TEXT], trainer)
    tokenizer.post_processor = post.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", 1), ("</s>", 2)],
    )
    file = dict(_file(tokenizer))
    # The bytes are in the vocabulary, and are no added tokens.
    file["added_tokens"] = file["added_tokens"][:3]
    return file


@cache
def word_piece() -> File:
    """WordPiece as BERT has it: lower-cased, accents stripped, [CLS] and [SEP] around it."""
    special = [UNKNOWN, "[CLS]", "[SEP]"]
    tokenizer = Tokenizer(models.WordPiece(unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    alphabet = sorted("abcdefghijklmnopqrstuvwxyzABCDEéïÉ\u0301,.;!'0123456789")
    trainer = WordPieceTrainer(
        vocab_size=200, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(TEXT, trainer)
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.post_processor = post.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    tokenizer.decoder = decoders.WordPiece()
    return _file(tokenizer)


@cache
def unigram() -> File:
    """Unigram with NFKD, StripAccents, Lowercase and a Replace, bytes for what it does not know."""
    pieces = [("<unk>", 0.0), ("▁", -2.0), ("▁cat", -3.0), ("▁the", -2.5), ("s", -2.1)]
    pieces += [(letter, -4.0) for letter in "abcdefghijklmnopqrtuvwxyzCé"]
    pieces += [(f"<0x{byte:02X}>", -8.0) for byte in range(256)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=0, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Replace("``", '"'),
            normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents()]),
            normalizers.Lowercase(),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    return _file(tokenizer)


def _file(tokenizer: Tokenizer) -> File:
    parsed: File = json.loads(tokenizer.to_str())
    return parsed


def described(file: File, *, special: bool = False) -> Description:
    """Return the file's description, special tokens asked for or not."""
    model = {key: file["model"][key] for key in file["model"].keys() - {"vocab", "merges"}}
    return {**file, "model": model, "asked": {"special": special}}


def applied(file: File, description: Description) -> File:
    """Return the file as the description has it.

    Added tokens that are left out stay under a name that no text holds, unless the vocabulary has
    them, so that the ids of the others stay what they are.
    """
    changed = {key: value for key, value in description.items() if key != "asked"}
    kept = {token["id"] for token in description["added_tokens"]}
    hidden = [
        {**token, "content": f"\ufdd0{token['id']}", "normalized": False}
        for token in file["added_tokens"]
        if token["id"] not in kept and token["content"] not in file["model"]["vocab"]
    ]
    tokens = sorted([*description["added_tokens"], *hidden], key=lambda token: int(token["id"]))
    return {**changed, "added_tokens": tokens, "model": {**file["model"], **description["model"]}}


def encoded(file: File, texts: Sequence[str], *, special: bool = False) -> list[list[int]]:
    """Return the library's ids for each text."""
    tokenizer = Tokenizer.from_str(json.dumps(file))
    return [tokenizer.encode(text, add_special_tokens=special).ids for text in texts]


def answers(
    file: File, cases: Sequence[bytes], change: Hypothesis | None, *, special: bool = False
) -> list[list[int]]:
    """Return what a subject with this defect answers to each case."""
    plain = described(file, special=special)
    if change is None:
        change = Hypothesis("none", "input", "")
    description = change.describe(plain)
    changed = applied(file, description)
    pieces = [[POLICIES[RECOMMENDED](one) for one in change.text(case)] for case in cases]
    asked = description["asked"]["special"]
    texts = [text for own in pieces for text in own]
    parts = iter(encoded(changed, texts, special=asked))
    found = [[number for _ in own for number in next(parts)] for own in pieces]
    return [change.ids(np.asarray(ids, dtype=np.uint32)).tolist() for ids in found]


def observed(
    file: File,
    cases: Sequence[bytes],
    given: Sequence[Sequence[int]] | None = None,
    *,
    special: bool = False,
    decode: bool = True,
) -> Seen:
    """Return what is seen of a subject that gave these ids; by default of a healthy one."""
    due = answers(file, cases, None, special=special)
    tokenizer = Tokenizer.from_str(json.dumps(file))
    return Seen(
        described(file, special=special),
        cases,
        from_answers(due),
        from_answers(due if given is None else given),
        np.ones(len(cases), dtype=np.bool_),
        (lambda ids: str(tokenizer.decode(ids.tolist(), skip_special_tokens=False)).encode())
        if decode
        else None,
    )


def only(found: Sequence[Hypothesis], name: str, **parameters: int | str) -> Hypothesis:
    """Return the one hypothesis of this name and exactly these parameters."""
    [one] = [one for one in found if one.name == name and dict(one.parameters) == parameters]
    return one


def explaining(
    file: File, seen: Seen, propose: Callable[[Seen], Sequence[Hypothesis]]
) -> list[Hypothesis]:
    """Return the hypotheses that give what was observed on every case, in their order."""
    given = [seen.observed.answer(row).tolist() for row in range(len(seen.cases))]
    special = seen.description["asked"]["special"]
    return [
        one for one in propose(seen) if answers(file, seen.cases, one, special=special) == given
    ]
