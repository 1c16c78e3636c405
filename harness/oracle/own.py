"""Models by rules that the library does not have: other merging, scores in single precision.

Each spells one word of the model's alphabet in ids. They are slow beside the library and are asked
of few words: what was spelled is kept.
"""

import heapq
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from harness.errors import TokenizerError

Spell = Callable[[str], Sequence[int]]
# A pair of ids → its merge's rank, and the id it makes.
Merges = Mapping[tuple[int, int], tuple[int, int]]

LONGEST_MATCH = "longest-match"
TIES_RIGHTMOST = "ties-rightmost"
SINGLE = "single"
# As in sentencepiece and the library: how much worse than the worst piece an unknown one is.
_UNKNOWN_PENALTY = 10.0
_KEPT = 200_000


def speller(model: Mapping[str, Any], settings: Mapping[str, Any], where: str) -> Spell:
    """Return what spells a word under our ``settings`` (``merging`` or ``scores``) of a model.

    ``model`` is tokenizer.json's. Raises :class:`TokenizerError` where the rule does not exist, or
    not for this kind of model; the speller raises it for a word that is not in its alphabet.
    """
    match settings:
        case {"merging": "longest-match" | "ties-rightmost", **rest} if not rest:
            return _kept(_merging(model, settings["merging"], where))
        case {"scores": "single", **rest} if not rest:
            return _kept(_scoring(model, where))
    raise TokenizerError(
        f"has no model settings {dict(settings)}",
        where=where,
        expected=f"merging {LONGEST_MATCH} or {TIES_RIGHTMOST}, or scores {SINGLE}",
    )


def _kept(spell: Spell) -> Spell:
    known: dict[str, Sequence[int]] = {}

    def kept(word: str) -> Sequence[int]:
        if word not in known:
            if len(known) >= _KEPT:
                known.clear()
            known[word] = spell(word)
        return known[word]

    return kept


def _merging(model: Mapping[str, Any], rule: str, where: str) -> Spell:
    affixes = (model.get("continuing_subword_prefix"), model.get("end_of_word_suffix"))
    if model.get("type") != "BPE" or any(affixes):
        raise TokenizerError(f"has no byte-level BPE, so {rule} cannot be tested", where=where)
    if model.get("dropout"):
        raise TokenizerError(f"has dropout, beside which {rule} cannot be tested", where=where)
    vocab: Mapping[str, int] = model["vocab"]
    if rule == LONGEST_MATCH:
        most = max(map(len, vocab), default=0)
        return lambda word: _longest(word, vocab, most, where)
    merges = merge_ranks(model)
    whole = vocab if model.get("ignore_merges") else {}

    def spell(word: str) -> Sequence[int]:
        return (whole[word],) if word in whole else merged(_letters(word, vocab, where), merges)

    return spell


def _outside(word: str, where: str) -> TokenizerError:
    return TokenizerError(
        f"has a word outside its byte-level alphabet, {word[:20]!r}: the rule cannot be tested",
        where=where,
    )


def _letters(word: str, vocab: Mapping[str, int], where: str) -> list[int]:
    try:
        return [vocab[letter] for letter in word]
    except KeyError as error:
        raise _outside(word, where) from error


def _longest(word: str, vocab: Mapping[str, int], most: int, where: str) -> Sequence[int]:
    found: list[int] = []
    start = 0
    while start < len(word):
        for end in range(min(len(word), start + most), start, -1):
            if word[start:end] in vocab:
                found.append(vocab[word[start:end]])
                start = end
                break
        else:
            raise _outside(word, where)
    return found


def merge_ranks(model: Mapping[str, Any]) -> Merges:
    """Return a BPE model's merges, as tokenizer.json writes them, by the ids they join."""
    vocab = model["vocab"]
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for rank, pair in enumerate(model["merges"]):
        left, right = pair.split(" ") if isinstance(pair, str) else pair
        found[vocab[left], vocab[right]] = (rank, vocab[left + right])
    return found


def merged(ids: list[int], merges: Merges, *, rightmost: bool = True) -> list[int]:
    """Return ``ids`` after all merges by rank, of equal ranks the rightmost (or leftmost) first."""
    side = -1 if rightmost else 1
    after = [*range(1, len(ids)), -1] if ids else []
    before = list(range(-1, len(ids) - 1))
    waiting: list[tuple[int, int, int, int]] = []

    def offer(place: int) -> None:
        follower = after[place] if place >= 0 else -1
        if follower >= 0 and (found := merges.get((ids[place], ids[follower]))):
            heapq.heappush(waiting, (found[0], side * place, ids[place], ids[follower]))

    for place in range(len(ids)):
        offer(place)
    while waiting:
        _, sided, left, right = heapq.heappop(waiting)
        place = side * sided
        follower = after[place]
        if ids[place] != left or follower < 0 or ids[follower] != right:
            continue  # something it was made of has been merged since
        ids[place] = merges[left, right][1]
        ids[follower] = -1
        after[place] = after[follower]
        if after[place] >= 0:
            before[after[place]] = place
        offer(before[place])
        offer(place)
    return [one for one in ids if one >= 0]


def _scoring(model: Mapping[str, Any], where: str) -> Spell:
    if model.get("type") != "Unigram":
        raise TokenizerError("has no Unigram model whose scores could be summed", where=where)
    return Viterbi(model, where, np.float32)


class Viterbi:
    """The best segmentation by the sum of the pieces' scores, as the library finds it."""

    def __init__(
        self, model: Mapping[str, Any], where: str, precision: type[np.floating[Any]]
    ) -> None:
        """Sum in ``precision``; the library sums in float64, sentencepiece in float32."""
        self._where = where
        self._zero = precision(0)
        self._scores = {piece: precision(score) for piece, score in model["vocab"]}
        self._ids = {piece: place for place, (piece, _) in enumerate(model["vocab"])}
        self._most = max(map(len, self._scores), default=0)
        worst = min((score for _, score in model["vocab"]), default=0.0)
        self._unknown_score = precision(worst) - precision(_UNKNOWN_PENALTY)
        self._unknown = model.get("unk_id")
        self._fallback = bool(model.get("byte_fallback"))

    def __call__(self, word: str) -> Sequence[int]:
        """Return the word's ids. Raises :class:`TokenizerError` for what has none."""
        found: list[int] = []
        for piece in self._pieces(word):
            found += self._of(piece)
        return found

    def _pieces(self, word: str) -> list[str]:
        size = len(word)
        # By the place where it ends, the best path: its score, where its last piece starts, and
        # whether that piece is an unknown one.
        best: list[tuple[Any, int, bool] | None] = [(self._zero, 0, False)] + [None] * size

        def offer(start: int, end: int, score: Any, unknown: bool) -> None:  # noqa: ANN401
            known = best[end]
            if known is None or score > known[0]:
                best[end] = (score, start, unknown)

        for start in range(size):
            here = best[start]
            assert here is not None  # noqa: S101 - every place is reached, if by unknown ones
            for end in range(start + 1, min(size, start + self._most) + 1):
                if (score := self._scores.get(word[start:end])) is not None:
                    offer(start, end, score + here[0], False)
            if word[start] not in self._scores:
                offer(start, start + 1, self._unknown_score + here[0], True)
        found: list[str] = []
        end, fused = size, False
        while end > 0:
            step = best[end]
            assert step is not None  # noqa: S101
            _, start, unknown = step
            if unknown and fused:
                found[-1] = word[start:end] + found[-1]
            else:
                found.append(word[start:end])
            end, fused = start, unknown
        return found[::-1]

    def _of(self, piece: str) -> list[int]:
        if piece in self._ids:
            return [self._ids[piece]]
        if self._fallback:
            spelled = [self._ids.get(f"<0x{byte:02X}>") for byte in piece.encode()]
            if None not in spelled:
                return [one for one in spelled if one is not None]
        if self._unknown is None:
            raise TokenizerError("has no id for unknown pieces", where=self._where)
        return [self._unknown]
