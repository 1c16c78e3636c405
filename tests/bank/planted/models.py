"""Models: other flags in the file, and small models of our own with one thing done otherwise."""

import struct
from collections.abc import Callable
from itertools import pairwise

from tokenizers import Tokenizer

from tests.bank.planted import Ids, NotHere, Subject, defect


def _flip(subject: Subject, flag: str, kind: str) -> None:
    if subject.model["type"] != kind:
        raise NotHere(f"no {kind}")
    subject.model[flag] = not subject.model.get(flag)


@defect("ignore-merges-flipped")
def _(subject: Subject, value: str) -> None:
    _flip(subject, "ignore_merges", "BPE")


@defect("fuse-unk-flipped")
def _(subject: Subject, value: str) -> None:
    _flip(subject, "fuse_unk", "BPE")


@defect("byte-fallback-off")
def _(subject: Subject, value: str) -> None:
    if not subject.model.get("byte_fallback"):
        raise NotHere("no byte fallback")
    subject.model["byte_fallback"] = False


def _ranks(subject: Subject) -> dict[tuple[str, str], int]:
    if subject.model["type"] != "BPE" or subject.model.get("byte_fallback"):
        raise NotHere("no byte-level BPE")
    merges = subject.model["merges"]
    return {
        tuple(one.split(" ") if isinstance(one, str) else one): rank
        for rank, one in enumerate(merges)
    }


def merged(word: str, ranks: dict[tuple[str, str], int], *, rightmost: bool = False) -> list[str]:
    """Return a word's tokens: the best merge of all first, at every place that has it in turn.

    Where the places overlap, as in three letters alike, the leftmost wins, or the ``rightmost``.
    """
    parts = list(word)
    while True:
        best = min((ranks[pair] for pair in pairwise(parts) if pair in ranks), default=None)
        if best is None:
            return parts
        if rightmost:
            parts.reverse()
        after: list[str] = []
        place = 0
        while place < len(parts):
            one, other = parts[place], parts[place + 1] if place + 1 < len(parts) else ""
            pair = (other, one) if rightmost else (one, other)
            hit = ranks.get(pair) == best
            after.append("".join(pair) if hit else one)
            place += 1 + hit
        parts = after[::-1] if rightmost else after


def by_merges(subject: Subject, *, rightmost: bool) -> Callable[[Tokenizer, str], Ids]:
    """Return a byte-level BPE of our own."""
    ranks, vocabulary = _ranks(subject), subject.model["vocab"]
    ignoring = bool(subject.model.get("ignore_merges"))

    def word(_: Tokenizer, spelt: str) -> Ids:
        if ignoring and spelt in vocabulary:
            return [vocabulary[spelt]]
        return [vocabulary[part] for part in merged(spelt, ranks, rightmost=rightmost)]

    return word


@defect("merge-ties-rightmost")
def _(subject: Subject, value: str) -> None:
    subject.word = by_merges(subject, rightmost=True)


@defect("dropout-set")
def _(subject: Subject, value: str) -> None:
    _ranks(subject)
    vocabulary = subject.model["vocab"]
    subject.word = lambda _, spelt: [vocabulary[char] for char in spelt]


@defect("longest-match")
def _(subject: Subject, value: str) -> None:
    _ranks(subject)
    vocabulary = subject.model["vocab"]
    longest = max(map(len, vocabulary))

    def word(_: Tokenizer, spelt: str) -> Ids:
        ids, place = [], 0
        while place < len(spelt):
            end = min(len(spelt), place + longest)
            while spelt[place:end] not in vocabulary:
                end -= 1
            ids.append(vocabulary[spelt[place:end]])
            place = end
        return ids

    subject.word = word


def _single(number: float) -> float:
    """Return a number as single precision holds it."""
    [rounded] = struct.unpack("f", struct.pack("f", number))
    return float(rounded)


def by_scores(
    subject: Subject, rounded: Callable[[float], float]
) -> Callable[[Tokenizer, str], Ids]:
    """Return a Unigram of our own, every sum ``rounded``; what has no piece falls back to bytes."""
    if subject.model["type"] != "Unigram":
        raise NotHere("no Unigram")
    scores = {piece: rounded(score) for piece, score in subject.model["vocab"]}
    number = {piece: place for place, (piece, _) in enumerate(subject.model["vocab"])}
    unknown = rounded(min(score for _, score in subject.model["vocab"]) - 10)
    longest = max(map(len, scores))

    def word(_: Tokenizer, spelt: str) -> Ids:
        best: list[tuple[float, int] | None] = [(0.0, 0), *[None] * len(spelt)]
        for start in range(len(spelt)):
            [so_far, _begin] = best[start] or (0.0, 0)
            ends = range(start + 1, min(start + longest, len(spelt)) + 1)
            known = [end for end in ends if spelt[start:end] in scores]
            steps = [(end, scores[spelt[start:end]]) for end in known]
            if start + 1 not in known:
                steps.append((start + 1, unknown))
            for end, score in steps:
                total = rounded(so_far + score)
                there = best[end]
                if there is None or total > there[0]:
                    best[end] = (total, start)
        pieces, end = [], len(spelt)
        while end:
            start = (best[end] or (0.0, 0))[1]
            pieces.append(spelt[start:end])
            end = start
        ids: Ids = []
        for piece in reversed(pieces):
            whole = [piece] if piece in number else [f"<0x{one:02X}>" for one in piece.encode()]
            ids += [number[one] for one in whole]
        return ids

    return word


@defect("scores-single-precision")
def _(subject: Subject, value: str) -> None:
    subject.word = by_scores(subject, _single)
