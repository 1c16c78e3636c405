"""Which change of the tokenizer gives what the server has, on every prompt: proven by the oracle.

Where the server tells ids, they are attributed as a probe's are (:mod:`harness.attribute`), and
held against changes besides that only servers make. Where it tells counts alone a cause is named
only if it gives every count, no other does, and they are not merely off by one number.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from harness.attribute import Attribution, attribute
from harness.hypotheses import proposed
from harness.judgement import decoder, encoder, normalizer
from harness.oracle import Oracle
from harness.outcomes import Status, from_answers
from harness.served.live import served_changes
from harness.served.live.by_counts import by_counts, count_of
from harness.served.live.facts import Aids, Facts, facts
from harness.served.live.finding import Cause, Causes
from harness.served.live.served_changes import Candidate
from harness.served.live.tried import Tried
from harness.served.live.values import Row

_REFUTED = 4
# Answers shorter than this say nothing of a vocabulary.
_SHORT = 4
# Below this share of common tokens and words the ids are of another vocabulary.
_ALIEN = 0.1


def aids(oracle: Oracle, determines: str = "") -> Aids:
    """Return what the rules may ask of the tokenizer given."""
    tokens = oracle.description.get("added_tokens") or ()

    def encode(text: str) -> tuple[int, ...] | None:
        found = oracle.encode([text])
        return tuple(found.answer(0).tolist()) if found.status[0] == Status.OK else None

    return Aids(
        determines,
        tuple((str(one["content"]), int(one["id"])) for one in tokens if one.get("special")),
        lambda ids: oracle.decode([ids])[0],
        encode,
    )


def attributed(rows: Sequence[Row], oracle: Oracle) -> Causes | None:
    """Name the one change that gives the server's ids, or counts, on all prompts.

    None where nothing differs, or nothing is told that could be held against anything. Prompts of
    several texts, and those of which the server is known to make another text, are left out.
    """
    ours = aids(oracle)
    known = [one for row in rows for one in _side(row, ours)]
    told = [one for one in known if one.observed is not None]
    found = None
    for chat in (False, True):
        group = [one for one in told if one.row.ask.chat is chat]
        if any(one.observed is not None and one.observed[1] != one.row.expected for one in group):
            found = _by_ids(Tried(group, oracle, ours)) if found is None else found
    if found is not None:
        return found
    counted = [one for one in known if one.observed is None and count_of(one) is not None]
    for chat in (False, True):
        group = [one for one in counted if one.row.ask.chat is chat]
        if any(count_of(one) != one.client for one in group):
            return by_counts(Tried(group, oracle, ours))
    return _by_texts(rows, ours)


def _by_texts(rows: Sequence[Row], ours: Aids) -> Causes | None:
    """Name the change to messages that gives the texts which the server tells of all chats."""
    told = [
        (one, one.our_text, one.server_text)
        for row in rows
        for one in facts(row, ours)[:1]
        if row.ask.chat and one.our_text is not None and one.server_text is not None
    ]
    off = [one for one, _, _ in told if one.same_text is False]
    found = [
        Cause(candidate.name, candidate.name, candidate.summary)
        for candidate in served_changes.candidates(ours)
        if off and all(_rewrites(candidate, *each, ours) for each in told)
    ]
    return Causes(tuple(found), len(told), len(off), by="texts") if found else None


def _rewrites(candidate: Candidate, one: Facts, text: str, theirs: str, ours: Aids) -> bool:
    own = served_changes.spans(one.row, text)
    pieces = None if own is None else candidate.cut(text, own)
    made = text if pieces is None else "".join(piece.text for piece in pieces)
    return ours.bare(made) == ours.bare(theirs)


def _side(row: Row, ours: Aids) -> Iterator[Facts]:
    """Yield the prompt as it went as raw UTF-8, if it can be held against anything."""
    one = next(iter(facts(row, ours)), None)
    if one is None or row.expected is None or one.our_text is None or one.same_text is False:
        return
    yield one


def _by_ids(tried: Tried) -> Causes:
    observed = [list(one.observed[1]) if one.observed else [] for one in tried.sides]
    expected = [list(one.row.expected or ()) for one in tried.sides]
    off = [row for row, ids in enumerate(observed) if ids != expected[row]]
    first = tried.shortest(off)
    served = [
        Cause(one.name, one.name, one.summary)
        for one in served_changes.candidates(tried.aids)
        if all(_gives(tried, one, rows, observed) for rows in (first, range(len(observed))))
    ]
    size = (len(observed), len(off))
    if served:
        return Causes(tuple(served), *size, by="ids")
    alien = _alien(tried, observed, off)
    # One prompt is enough to refute every single change, and nothing else is looked for by it.
    rows = [row for row in range(len(observed)) if not alien or row not in off[1:]]
    found = _search(tried, observed, rows)
    causes = found.causes
    if alien and causes:
        causes = _search(tried, observed, range(len(observed))).causes
    if alien and not causes:
        note = (
            "the ids stand for another text in the tokenizer given: the server has another "
            "vocabulary"
        )
        return Causes((), *size, by="ids", note=note)
    closest = sorted(
        (one for one in found.tested if not one.accepted and one.explained),
        key=lambda one: -one.explained,
    )
    return Causes(
        tuple(
            Cause(one.hypothesis.name, one.hypothesis.label, one.hypothesis.summary)
            for one in causes
        ),
        *size,
        by="ids",
        refuted=tuple(
            f"{one.hypothesis.label} explains {one.explained:,} of {one.tried:,}"
            for one in closest[:_REFUTED]
        ),
    )


def _gives(
    tried: Tried, candidate: Candidate, rows: Sequence[int], observed: Sequence[list[int]]
) -> bool:
    pieces = tried.pieces(candidate, rows)
    return pieces is not None and all(
        ids == observed[row] for row, ids in zip(rows, tried.answer(pieces, rows), strict=True)
    )


def _search(tried: Tried, observed: Sequence[list[int]], rows: Sequence[int]) -> Attribution:
    def oracle() -> Oracle:
        return tried.oracle

    judged = np.zeros(len(observed), dtype=np.bool_)
    judged[list(rows)] = True
    return attribute(
        tried.cases,
        tried.expected,
        from_answers(observed),
        judged,
        tried.description,
        encoder(oracle),
        normalized=normalizer(oracle),
        decode_ids=decoder(oracle),
        propose=lambda seen: (*served_changes.proposed(seen, tried.aids), *proposed(seen)),
    )


def _alien(tried: Tried, observed: Sequence[list[int]], off: Sequence[int]) -> bool:
    """Whether the ids mean nothing to the tokenizer given: no token of theirs, no word of ours."""
    rows = [row for row in off if len(observed[row]) >= _SHORT]
    if not rows:
        return False
    known = tried.oracle.tokens(sorted({one for row in rows for one in observed[row]}))
    if None in known:
        return True
    texts = tried.oracle.decode([observed[row] for row in rows])
    ids: Counter[object] = Counter()
    words: Counter[object] = Counter()
    theirs: Counter[object] = Counter()
    said: Counter[object] = Counter()
    for row, text in zip(rows, texts, strict=True):
        ids.update(tried.sides[row].row.expected or ())
        words.update(tried.texts[row].split())
        theirs.update(observed[row])
        said.update(text.split())
    return _share(ids, theirs) < _ALIEN and _share(words, said) < _ALIEN


def _share(ours: Counter[object], theirs: Counter[object]) -> float:
    return (ours & theirs).total() / max(1, theirs.total())
