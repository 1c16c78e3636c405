"""Which cap on the characters of a word can have cut the tokens that were observed.

A cut shows only where it falls inside an expected token: everywhere else the tokens on either side
are the same without it. So between two places where both answers have a token's end, and no end in
common, the observed tokens end at a cut, and from the word's beginning to there it is a whole
number of caps. Where words begin is not known here; they begin where the kind of character changes
or at the text's beginning. No observed token is longer than the cap.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

import numpy as np

from harness.hypotheses.seen import DecodeIds, Seen
from harness.outcomes import Ids, Status

# Sizes of buffers, and limits that are written by hand.
COMMON: tuple[int, ...] = (
    *(16, 20, 24, 30, 32, 40, 48, 50, 63, 64, 80, 96, 100, 127, 128, 200, 250, 255, 256, 300, 400),
    *(500, 511, 512, 600, 800, 1000, 1023, 1024, 2000, 2048, 4000, 4095, 4096, 5000, 8000, 8191),
    *(8192, 10000, 16384, 20000, 32767, 32768, 65535, 65536),
)
_SHORTEST = 8  # mismatching cases looked at, and
_OTHERS = 16  # as many among the longer ones
_STRETCHES = 4  # differing stretches looked at in each
_STARTS = 12  # changes of kind before a cut at which its word may begin
_FEW = 24  # caps tried where every stretch allows them
_BEST = 6  # caps tried where none is allowed by all: there may be a second cause
_WHOLE = 2048  # tokens of an answer that does not fall into its tokens' texts, decoded bit by bit


def allowed(seen: Seen) -> tuple[int, ...]:
    """Return the caps that can have cut the mismatching cases, likeliest first; none without any.

    Without a way to lay two answers' tokens beside each other, because ids are not decoded or a
    WordPiece is spelled otherwise in the middle of a word, these are the common ones that are
    shorter than each such case.
    """
    rows = sorted(seen.mismatching.tolist(), key=lambda row: len(seen.cases[row]))
    rows = [row for row in rows if seen.expected.status[row] == Status.OK]
    if not rows:
        return ()
    if seen.decode is None or _kind_of_model(seen) == "WordPiece":
        shortest = len(seen.cases[rows[0]].decode("utf-8", "replace"))
        return tuple(cap for cap in COMMON if cap < shortest)
    tokens = _Tokens(seen.decode, {})
    votes: Counter[int] = Counter()
    stretches = 0
    longer = rows[_SHORTEST:]
    for row in [*rows[:_SHORTEST], *longer[:: max(1, len(longer) // _OTHERS)][:_OTHERS]]:
        for cuts in islice(_stretches(seen, row, tokens), _STRETCHES):
            stretches += 1
            votes.update(_caps(cuts))
    least = _longest_token(seen, tokens) if votes else 1
    ranked = sorted(
        (cap for cap in votes if cap >= least),
        key=lambda cap: (-votes[cap], cap not in COMMON, -cap),
    )
    unanimous = [cap for cap in ranked if votes[cap] == stretches]
    if unanimous:
        return tuple(unanimous[:_FEW])
    return tuple(cap for cap in ranked[:_BEST] if votes[cap] > 1)


def _kind_of_model(seen: Seen) -> object:
    return (seen.description.get("model") or {}).get("type")


@dataclass(frozen=True)
class _Cuts:
    """One differing stretch: the text before its end, and what may be cut where.

    ``starts`` are the places at which the word may begin, ``ends`` those at which it may be cut.
    """

    starts: tuple[int, ...]
    ends: tuple[int, ...]


@dataclass(frozen=True)
class _Tokens:
    decode: DecodeIds
    known: dict[int, str]

    def text(self, token: int) -> str:
        if token not in self.known:
            data = self.decode(np.asarray([token], dtype=np.uint32))
            self.known[token] = data.decode("utf-8", "surrogateescape")
        return self.known[token]

    def ends(self, ids: Ids) -> tuple[str, list[int]] | None:
        """Return the text of ``ids``, and the place where each token ends, in characters.

        None where the text of an answer is not that of its tokens, and it is too long to find out.
        """
        data = self.decode(ids)
        whole = data.decode("utf-8", "replace")
        texts = [self.text(token) for token in ids.tolist()]
        if "".join(texts) == whole:
            return whole, np.cumsum([len(text) for text in texts]).tolist()
        parts = [text.encode("utf-8", "surrogateescape") for text in texts]
        if b"".join(parts) == data:
            # A character's bytes are spread over tokens: it ends where its last byte does.
            starts = np.frombuffer(data, dtype=np.uint8)
            before = np.concatenate([[0], np.cumsum((starts & 0xC0) != 0x80)])
            return whole, before[np.cumsum([len(part) for part in parts])].tolist()
        if len(ids) > _WHOLE:
            return None
        return whole, [self._place(ids[:end], whole) for end in range(1, len(ids) + 1)]

    def _place(self, ids: Ids, whole: str) -> int:
        """Return how much of ``whole`` the tokens spell, -1 where they end within a character."""
        text = self.decode(ids).decode("utf-8", "replace")
        return len(text) if whole.startswith(text) else -1


def _longest_token(seen: Seen, tokens: _Tokens) -> int:
    """Return the most characters that any observed token of the model is known to have."""
    added = {token.get("id") for token in seen.description.get("added_tokens") or ()}
    judged = np.repeat(seen.judged, seen.observed.lengths)
    texts = (
        tokens.text(token)
        for token in np.unique(seen.observed.ids[judged]).tolist()
        if token not in added
    )
    return max((len(text) for text in texts if _is_text(text)), default=1) or 1


def _is_text(text: str) -> bool:
    return not any(char == "\ufffd" or "\ud800" <= char <= "\udfff" for char in text)


def _stretches(seen: Seen, row: int, tokens: _Tokens) -> Iterator[_Cuts]:
    """Yield what lies between two neighbouring places that both answers' tokens end at."""
    expected, observed = seen.expected.answer(row), seen.observed.answer(row)
    before, after = tokens.ends(expected), tokens.ends(observed)
    if before is None or after is None or before[0] != after[0]:
        return
    text = before[0]
    own, theirs = set(before[1]), set(after[1])
    common = sorted({0, len(text)} | (own & theirs) - {-1})
    begins = [place for place in common if _may_begin(text, place)]
    for low, high in pairwise(common):
        ends = tuple(end for end in sorted(theirs - own) if low < end < high)
        if ends:
            starts = [place for place in begins if place <= low][-_STARTS:]
            yield _Cuts((0, *starts), ends)


def _may_begin(text: str, place: int) -> bool:
    """Whether a word can begin at ``place``: another kind of character, a capital, a lone space."""
    before, char = text[place - 1 : place], text[place : place + 1]
    if not before or not char:
        return False
    if _kind(before) != _kind(char) or (char.isupper() and not before.isupper()):
        return True
    return char.isspace() and not text[place + 1 : place + 2].isspace()


def _kind(char: str) -> str:
    # A letter and its marks are of one kind; signs and punctuation too.
    kind = "Z" if char.isspace() else unicodedata.category(char)[0]
    return {"M": "L", "S": "P"}.get(kind, kind)


def _caps(cuts: _Cuts) -> set[int]:
    """Return every cap of which a whole number leads from a word's beginning to a cut."""
    lengths = {end - start for end in cuts.ends for start in cuts.starts}
    return {cap for length in lengths for cap in _divisors(length)}


def _divisors(length: int) -> Sequence[int]:
    small = [one for one in range(1, int(length**0.5) + 1) if length % one == 0]
    return [*small, *(length // one for one in small)]
