"""Parts of a prompt: which end of it was processed, and whether what is gone is a cut. Pure.

A limit cuts wherever it falls. What leaves every message of a chat whole, or out altogether, may as
well be another template: one without the model's default system message processes the end of ours.
"""

from collections.abc import Collection

from harness.served.live.facts import Facts, Ids
from harness.served.live.finding import tokens
from harness.served.live.served_changes import spans

BEGINNING, END, BOTH, EITHER = "the beginning", "the end", "both ends", "either end"


def cut_of(ours: Ids, theirs: Ids) -> tuple[int, int] | None:
    """Return how many ids of ours are kept at the beginning and at the end, if the rest is gone.

    >>> cut_of((1, 2, 3, 4), (3, 4)), cut_of((1, 2, 3, 4), (1, 4)), cut_of((1, 2), (2, 1))
    ((0, 2), (1, 1), None)
    """
    if not 0 < len(theirs) < len(ours):
        return None
    head = 0
    while head < len(theirs) and ours[head] == theirs[head]:
        head += 1
    if head == len(theirs):
        return head, 0
    tail = len(theirs) - head
    if ours[len(ours) - len(theirs) :] == theirs:
        return 0, len(theirs)
    return (head, tail) if theirs[head:] == ours[len(ours) - tail :] else None


def cut_words(
    ours: Ids, theirs: Ids, cut: tuple[int, int], specials: Collection[int]
) -> tuple[str, str]:
    """Return in words what was processed, and which end it is.

    A prompt that repeats itself has a beginning that is its end as well, opening tokens aside.
    """
    head, tail = cut
    opening = next((n for n, one in enumerate(theirs) if one not in specials), len(theirs))
    rest = theirs[opening:]
    if not tail and rest and ours[len(ours) - len(rest) :] == rest:
        words = f"of our {tokens(len(ours))} {head:,} were processed, which begin and end it alike"
        return words, EITHER
    if not tail:
        end, kept = BEGINNING, f"the first {head:,}"
    elif not head:
        end, kept = END, f"the last {tail:,}"
    else:
        end, kept = BOTH, f"the first {head:,} and the last {tail:,}"
    return f"of our {tokens(len(ours))} {kept} were processed", end


def cut_text(one: Facts) -> tuple[str, str] | None:
    """Return which end of our text the text processed is, and the text that is gone.

    None where it is no proper part of ours, or not told.
    """
    ours = one.our_text
    theirs = None if one.processed is None else one.processed.text
    if not ours or not theirs:
        return None
    bare, whole = one.aids.bare(theirs), one.aids.bare(ours)
    if not bare or len(bare) >= len(whole):
        return None
    first, last = whole.startswith(bare), whole.endswith(bare)
    if first:
        return (EITHER if last else BEGINNING), whole[len(bare) :]
    return (END, whole[: -len(bare)]) if last else None


def text_within(one: Facts, end: str) -> bool:
    """Whether the text processed, an ``end`` of ours, ends within a message of a chat."""
    ours, theirs = one.our_text, None if one.processed is None else one.processed.text
    if ours is None or theirs is None:
        return True
    kept = len(one.aids.bare(theirs))
    if end == END:
        return _within(one, ours, 0, len(ours) - kept)
    return _within(one, ours, len(ours) - len(one.aids.bare(ours)) + kept, len(ours))


def ids_within(one: Facts, ours: Ids, cut: tuple[int, int]) -> bool:
    """Whether a cut of our ids falls within a message of a chat, as far as they can be decoded."""
    decode, text = one.aids.decode, one.our_text
    if decode is None or text is None or decode(ours) != text:
        return True
    head, tail = cut
    behind = decode(ours[len(ours) - tail :])
    return _within(one, text, len(decode(ours[:head])), len(text) - len(behind))


def _within(one: Facts, text: str, start: int, end: int) -> bool:
    """Whether what is gone from ``start`` to ``end`` begins or ends in a message, or is all."""
    own = None if not one.row.ask.chat else spans(one.row, text)
    if own is None:
        return True
    gone = [start <= span.start and span.end <= end for span in own]
    touched = [max(start, span.start) < min(end, span.end) for span in own]
    return all(gone) or any(hit and not all_of for hit, all_of in zip(touched, gone, strict=True))
