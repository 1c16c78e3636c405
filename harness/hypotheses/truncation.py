"""A limit on the length of the text or of the answer, its size inferred from the cases it cut."""

from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from harness.hypotheses.hypothesis import Hypothesis, Pieces
from harness.hypotheses.seen import DecodeIds, Seen
from harness.outcomes import Ids
from harness.plural import counted

BYTES, CHARACTERS, TOKENS = NAMES = ("truncated-bytes", "truncated-characters", "truncated-tokens")
PARAMETERS = dict.fromkeys(NAMES, ("n",))
# A limit below this would be noticed by every user, so shorter cases cannot show one.
_SHOWS = 256
# Decoded ids put the limit within this many bytes: a character cut in two may come back as U+FFFD.
_SLACK = 4
# Every limit is tried where the cases leave no more than this many.
_FEW = 32
# As many of the longest and of the shortest mismatching cases are decoded.
_DECODED = 16

# Powers of two, a terminator's room less, and round numbers.
_POWERS = frozenset(1 << power for power in range(3, 31))
_ROUND = (
    frozenset(power - 1 for power in _POWERS)
    | frozenset(3 * power for power in _POWERS)
    | frozenset(
        lead * 10**power for power in range(1, 8) for lead in (*range(1, 10), 12, 15, 25, 75)
    )
)

Lengths = npt.NDArray[np.int64]


def _characters(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _cut_bytes(n: int) -> Callable[[bytes], Pieces]:
    return lambda data: (data[:n],)


def _cut_characters(n: int) -> Callable[[bytes], Pieces]:
    return lambda data: (_characters(data)[:n].encode("utf-8", "surrogateescape"),)


def _cut_ids(n: int) -> Callable[[Ids], Ids]:
    return lambda ids: ids[:n]


_LENGTH: Mapping[str, Callable[[bytes], int]] = {
    BYTES: len,
    CHARACTERS: lambda data: len(_characters(data)),
}


def can_show(name: str, seen: Seen) -> bool:
    """Whether any case is long enough for a limit of a usual size to cut it."""
    if name == TOKENS:
        return bool((seen.expected.lengths > _SHOWS).any())
    return any(_LENGTH[name](data) > _SHOWS for data in seen.cases)


def proposed(seen: Seen) -> tuple[Hypothesis, ...]:
    """Return the limits that the mismatching cases allow; none without any.

    Where limits of two kinds explain as much, one that a programmer would write is the likelier.
    """
    if not seen.mismatching.shape[0]:
        return ()
    found = [*_text_limits(BYTES, seen), *_text_limits(CHARACTERS, seen), *_token_limits(seen)]
    return tuple(
        _hypothesis(name, n) for name, n in sorted(found, key=lambda limit: _oddness(limit[1]))
    )


def _hypothesis(name: str, n: int) -> Hypothesis:
    parameters = (("n", n),)
    if name == TOKENS:
        summary = f"the answer ends after its first {counted(n, 'id')}"
        return Hypothesis(name, "input", summary, parameters, ids=_cut_ids(n))
    if name == BYTES:
        summary = f"the text ends after its first {counted(n, 'byte')}"
        return Hypothesis(name, "input", summary, parameters, text=_cut_bytes(n))
    summary = f"the text ends after its first {counted(n, 'character')}"
    return Hypothesis(name, "input", summary, parameters, text=_cut_characters(n))


def _oddness(n: int) -> int:
    return 0 if n in _POWERS else 1 if n in _ROUND else 2


def _token_limits(seen: Seen) -> list[tuple[str, int]]:
    """Return the longest answer's length where a longer one was due: no limit can be lower."""
    rows = np.flatnonzero(seen.judged)
    n = int(seen.observed.lengths[rows].max())
    at_limit = seen.mismatching[seen.observed.lengths[seen.mismatching] == n]
    cut = (seen.expected.lengths[at_limit] > n).any()
    return [(TOKENS, n)] if n and cut else []


def _text_limits(name: str, seen: Seen) -> list[tuple[str, int]]:
    """Return the limits on the text, the likeliest first.

    A limit lies between the longest agreeing and the shortest mismatching case, as long as nothing
    else is wrong with the subject. What the answers decode to puts it closer, and holds where
    something else is wrong too.
    """
    length = _LENGTH[name]
    mismatching = _lengths(length, seen, seen.mismatching)
    agreeing = _lengths(length, seen, seen.agreeing)
    low, high = max(1, int(agreeing.max(initial=0))), int(mismatching.min())
    near: list[int] = []
    if seen.decode is not None:
        pointed = _decoded_limits(length, seen, seen.decode, mismatching)
        if not pointed:
            # No text came out shorter: at most a character was cut that is longer as U+FFFD.
            low = max(low, high - _SLACK)
        most = mismatching.max()
        near = [n for n in pointed if 0 < n < most and _cuts_most(n, mismatching, agreeing)]
    if high - low <= _FEW:
        between = list(range(low, high))
    else:
        between = sorted(n for n in _POWERS | _ROUND if low <= n < high)
    return [(name, n) for n in dict.fromkeys([*near, *between])]


def _lengths(length: Callable[[bytes], int], seen: Seen, rows: npt.NDArray[np.int64]) -> Lengths:
    return np.asarray([length(seen.cases[row]) for row in rows.tolist()], dtype=np.int64)


def _cuts_most(n: int, mismatching: Lengths, agreeing: Lengths) -> bool:
    """Whether most of the cases longer than ``n`` differ; spaces at an end may well go unseen."""
    return bool((mismatching > n).sum() >= (agreeing > n).sum())


def _decoded_limits(
    length: Callable[[bytes], int], seen: Seen, decode: DecodeIds, lengths: Lengths
) -> list[int]:
    """Return the limits around the one that most cases point to.

    What a case lost is the difference between what the expected and the observed ids decode to, so
    special tokens, and what a normalizer did to the text that is left, do not count. Cases that the
    tokenizer gives back as they were are heard alone, if there are any.
    """
    order = np.argsort(lengths, kind="stable")
    chosen = np.unique(np.concatenate([order[:_DECODED], order[-_DECODED:]]))
    exact: Counter[int] = Counter()
    rough: Counter[int] = Counter()
    for place in chosen.tolist():
        row = int(seen.mismatching[place])
        due, given = decode(seen.expected.answer(row)), decode(seen.observed.answer(row))
        lost = length(due) - length(given)
        if lost > 0:
            (exact if seen.cases[row] in due else rough)[int(lengths[place]) - lost] += 1
    votes = exact or rough
    if not votes:
        return []
    around = {n: sum(votes[n + by] for by in range(-_SLACK, _SLACK + 1)) for n in votes}
    best = max(around, key=lambda n: (around[n], votes[n]))
    return sorted(range(best - _SLACK, best + _SLACK + 1), key=lambda n: abs(n - best))
