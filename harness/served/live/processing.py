"""What was processed, held against what we make of the prompt. Pure.

With ids, or the text, it is told what became of the prompt. With a count alone that is
``undetermined``, unless the server's own words settle it.
"""

from collections.abc import Iterator

from harness.served.live.facts import Facts, Ids, counted
from harness.served.live.finding import Finding, Verdict
from harness.served.live.values import Message


def tokens(count: int) -> str:
    """Return ``1 token``, ``1,024 tokens``."""
    return f"{count:,} token{'' if count == 1 else 's'}"


def processed(one: Facts) -> Iterator[Finding]:
    """Hold what was processed against what we make of the prompt."""
    ours = one.row.expected
    if ours is None:
        return
    least = _at_least(one)
    if least is not None and least > len(ours):
        yield other_count(one, ours, least, "the refusal, which gives it as the least,")
        return
    observed = one.observed
    if observed is not None:
        if observed[1] != ours:
            yield other_ids(one, ours, *observed)
        return
    known = one.processed
    told, source = one.processed_count, known.source if known else ""
    cut = known is not None and known.truncated
    if told not in (None, one.usage) and one.usage == len(ours) and not cut:
        return  # the usage is right, and the contradiction is told
    if told is None:
        told, source = one.refused_count, "the refusal"
    if told is not None and told == len(ours):
        if one.same_text is False:
            yield _other_text(one, "")
        return
    if told is None:
        told, source = one.usage, "the usage"
    if told is not None and told != len(ours):
        # Where the usage alone is wrong nothing says whether it or the prompt is at fault.
        yield other_count(one, ours, told, source)


def _at_least(one: Facts) -> int | None:
    limit = None if one.plain is None else one.plain.too_long
    return None if limit is None or limit.exact else limit.count


def other_ids(one: Facts, ours: Ids, source: str, theirs: Ids) -> Finding:
    """Say what it is that other ids than ours were processed."""
    evidence = {"source": source, "ours": len(ours), "theirs": len(theirs)}
    if source != "the tokenizer endpoint":
        cut = cut_of(ours, theirs)
        gone = set(ours[cut[0] : len(ours) - cut[1]]) if cut else set()
        # Special tokens that are missing at an end are missing, and nothing is cut.
        if cut and theirs != one.row.client.raw and not gone <= one.aids.special_ids:
            words, end = _cut_words(ours, theirs, cut)
            return Finding(Verdict.TRUNCATED, words, evidence={**evidence, "end": end})
    at = next((n for n, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), None)
    at = min(len(ours), len(theirs)) if at is None else at
    where = f"{tokens(len(theirs))} and we {len(ours):,}, other ids from the {_nth(at)} on"
    evidence["first"] = at
    same = one.same_text
    if same is None and one.row.ask.chat:
        same = _same_by_ids(one, theirs)
    if same is False:
        return _other_text(one, f": {source} has {where}", evidence)
    if same is None and one.row.ask.chat:
        words = (
            f"{source} has {where}; whether its template or its tokenizer is another is not told"
        )
        return Finding(Verdict.UNDETERMINED, words, evidence=evidence)
    return Finding(Verdict.TOKENIZER, f"of the same text {source} has {where}", evidence=evidence)


def other_count(one: Facts, ours: Ids, theirs: int, source: str) -> Finding:
    """Say what it is that there is another count than ours, and no ids."""
    evidence = {"source": source, "ours": len(ours), "theirs": theirs}
    words = f"{source} says {tokens(theirs)} and we count {len(ours):,}"
    known = one.processed
    if known is not None and known.truncated and theirs < len(ours):
        end = _cut_text(one)
        tail = f", {end} kept" if end else ", which end of it it does not say"
        words = f"{words}: the server says that it cut the prompt{tail}"
        return Finding(Verdict.TRUNCATED, words, evidence={**evidence, "end": end})
    end = _cut_text(one) if known is not None and known.text is not None else None
    if end and theirs < len(ours):
        return Finding(
            Verdict.TRUNCATED,
            f"{words}: the text processed is {end} of ours",
            evidence={**evidence, "end": end},
        )
    if one.same_text is False and one.server_text is not None:
        made = None if one.aids.encode is None else one.aids.encode(one.server_text)
        if made is not None and len(made) == theirs:
            return _other_text(one, f": {words}, and so many its text has", evidence)
        words += "; its text is another than ours, and does not account for the count"
    asked = one.tokenize
    if asked is not None and one.same_text is not False and counted(asked) == theirs:
        if one.same_text or not one.row.ask.chat:
            words = f"of the same text the server's tokenizer and {words}"
            return Finding(Verdict.TOKENIZER, words, evidence=evidence)
        words += ", as its tokenizer endpoint does; whether its template or its tokenizer is "
        words += "another is not told"
    elif asked is not None and counted(asked) == len(ours):
        words += ", as the server's own tokenizer does"
    if one.aids.determines:
        words += f"; it would be told by {one.aids.determines}"
    return Finding(Verdict.UNDETERMINED, words, evidence=evidence)


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


def _cut_words(ours: Ids, theirs: Ids, cut: tuple[int, int]) -> tuple[str, str]:
    head, tail = cut
    if not tail:
        end = "the beginning"
        kept = f"the first {head:,}"
    elif not head:
        end = "the end"
        kept = f"the last {tail:,}"
    else:
        end = "both ends"
        kept = f"the first {head:,} and the last {tail:,}"
    return f"of our {tokens(len(ours))} {kept} were processed", end


def _cut_text(one: Facts) -> str | None:
    """Return which end of our text the text processed is, None where it is no proper part."""
    ours = one.our_text
    theirs = None if one.processed is None else one.processed.text
    if not ours or not theirs:
        return None
    bare, whole = one.aids.bare(theirs), one.aids.bare(ours)
    if not bare or len(bare) >= len(whole):
        return None
    if whole.startswith(bare):
        return "the beginning"
    return "the end" if whole.endswith(bare) else None


def _other_text(one: Facts, tail: str, evidence: dict[str, object] | None = None) -> Finding:
    words = f"the server makes another text of the messages{tail}"
    if not one.row.ask.chat:
        words = f"the server makes another text of the prompt{tail}"
    return Finding(Verdict.TEMPLATE, words, evidence=evidence or {})


def _same_by_ids(one: Facts, theirs: Ids) -> bool | None:
    """Whether ids stand for our text, by decoding them; None where they tell nothing.

    Ids of another vocabulary decode to something else altogether, so a text that is not ours is
    believed only where it holds every message.
    """
    ours = one.our_text
    if one.aids.decode is None or ours is None:
        return None
    text = one.aids.bare(one.aids.decode(theirs))
    if text == one.aids.bare(ours):
        return True
    at = 0
    for message in one.row.ask.prompt:
        if not isinstance(message, Message):
            return None
        at = text.find(message.content.strip(), at)
        if at < 0:
            return None
    return False


def _nth(at: int) -> str:
    return f"token {at + 1:,}"
