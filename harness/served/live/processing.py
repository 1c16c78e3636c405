"""What was processed, held against what we make of the prompt. Pure.

With ids, or the text, it is told what became of the prompt. With a count alone that is
``undetermined``, unless the server's own words settle it.
"""

from collections.abc import Iterator, Mapping

from harness.served.live.cuts import cut_of, cut_text, cut_words, ids_within, text_within
from harness.served.live.facts import Facts, Ids, counted
from harness.served.live.finding import Finding, Verdict, tokens
from harness.served.live.values import Message

UNTOLD = "whether its template or its tokenizer is another is not told"
TOLD_BY = "; it would be told by "
# Characters of messages that no text holds by chance.
_TELLING = 6
_EITHER = "it was cut there, or its template has no more"


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
    at = next((n for n, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), None)
    at = min(len(ours), len(theirs)) if at is None else at
    evidence = {"source": source, "ours": len(ours), "theirs": len(theirs), "first": at}
    if source != "the tokenizer endpoint":
        cut = _cut(one, ours, theirs, evidence)
        if cut is not None:
            return cut
    where = f"{tokens(len(theirs))} and we {len(ours):,}, other ids from the {_nth(at)} on"
    same = one.same_text
    if same is None and one.row.ask.chat:
        same = _same_by_ids(one, theirs)
    if same is False:
        return _other_text(one, f": {source} has {where}", evidence)
    if same is None and one.row.ask.chat:
        return Finding(Verdict.UNDETERMINED, f"{source} has {where}; {UNTOLD}", evidence=evidence)
    return Finding(Verdict.TOKENIZER, f"of the same text {source} has {where}", evidence=evidence)


def _cut(one: Facts, ours: Ids, theirs: Ids, evidence: Mapping[str, object]) -> Finding | None:
    """Find ids of ours that are gone; None where they are not cut, but never were there."""
    cut = cut_of(ours, theirs)
    if cut is None or theirs == one.row.client.raw:
        return None
    gone = ours[cut[0] : len(ours) - cut[1]]
    # Special tokens that are missing at an end are missing, and nothing is cut.
    if set(gone) <= one.aids.special_ids or _as_told(one, theirs) or _trimmed(one, theirs):
        return None
    words, end = cut_words(ours, theirs, cut, one.aids.special_ids)
    evidence = {**evidence, "end": end}
    if one.same_text is None and one.row.ask.chat and not ids_within(one, ours, cut):
        return _either(words, {**evidence, "gone": list(gone)})
    return Finding(Verdict.TRUNCATED, words, evidence=evidence)


def _trimmed(one: Facts, theirs: Ids) -> bool:
    """Whether nothing but white space of a chat is gone, which templates take off messages."""
    ours, decode = one.our_text, one.aids.decode
    if ours is None or decode is None or not one.row.ask.chat:
        return False
    return _squeezed(decode(theirs)) == _squeezed(ours)


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _as_told(one: Facts, theirs: Ids) -> bool:
    """Whether ids are those of the server's own text, which is another than ours."""
    text = one.template_text
    if text is None or one.aids.encode is None or one.same_text is not False:
        return False
    made = one.aids.encode(text)
    return made is not None and _unopened(one, made) == _unopened(one, theirs)


def _unopened(one: Facts, ids: Ids) -> Ids:
    opening = next((n for n, x in enumerate(ids) if x not in one.aids.special_ids), len(ids))
    return ids[opening:]


def _either(words: str, evidence: Mapping[str, object]) -> Finding:
    words = f"{words}, and no message is cut: {_EITHER}"
    return Finding(Verdict.UNDETERMINED, words, evidence=evidence)


def other_count(one: Facts, ours: Ids, theirs: int, source: str) -> Finding:
    """Say what it is that there is another count than ours, and no ids."""
    evidence = {"source": source, "ours": len(ours), "theirs": theirs}
    words = f"{source} says {tokens(theirs)} and we count {len(ours):,}"
    known = one.processed
    part = cut_text(one) if theirs < len(ours) else None
    if known is not None and known.truncated and theirs < len(ours):
        end = part[0] if part else None
        tail = f", {end} kept" if end else ", which end of it it does not say"
        words = f"{words}: the server says that it cut the prompt{tail}"
        return Finding(Verdict.TRUNCATED, words, evidence={**evidence, "end": end})
    accounted = _accounted(one, theirs)
    if part is not None and not (accounted and one.template_text is not None):
        end, gone = part
        words, evidence = f"{words}: the text processed is {end} of ours", {**evidence, "end": end}
        if one.template_text is None and one.row.ask.chat and not text_within(one, end):
            return _either(words, {**evidence, "gone": gone})
        return Finding(Verdict.TRUNCATED, words, evidence=evidence)
    if one.same_text is False and one.server_text is not None:
        if accounted:
            return _other_text(one, f": {words}, and so many its text has", evidence)
        words += "; its text is another than ours, and does not account for the count"
    asked = one.tokenize
    if asked is not None and one.same_text is not False and counted(asked) == theirs:
        if one.same_text or not one.row.ask.chat:
            words = f"of the same text the server's tokenizer and {words}"
            return Finding(Verdict.TOKENIZER, words, evidence=evidence)
        words += f", as its tokenizer endpoint does; {UNTOLD}"
    elif asked is not None and counted(asked) == len(ours):
        words += ", as the server's own tokenizer does"
    if one.aids.determines:
        words += f"{TOLD_BY}{one.aids.determines}"
    return Finding(Verdict.UNDETERMINED, words, evidence=evidence)


def _accounted(one: Facts, theirs: int) -> bool:
    """Whether the server's text is another than ours and has the count, or one less.

    Servers tell a text without the opening token that they process it with.
    """
    text, encode = one.server_text, one.aids.encode
    if text is None or encode is None or one.same_text is not False:
        return False
    made = encode(text)
    return made is not None and theirs - len(made) in (0, 1)


def settled(words: str) -> str:
    """Return the words of what was open without what says that it is."""
    for tail in (TOLD_BY, f"; {UNTOLD}", f": {_EITHER}"):
        words = words.partition(tail)[0]
    return words


def _other_text(one: Facts, tail: str, evidence: Mapping[str, object] | None = None) -> Finding:
    words = f"the server makes another text of the messages{tail}"
    if not one.row.ask.chat:
        words = f"the server makes another text of the prompt{tail}"
    return Finding(Verdict.TEMPLATE, words, evidence=evidence or {})


def _same_by_ids(one: Facts, theirs: Ids) -> bool | None:
    """Whether ids stand for our text, by decoding them; None where they tell nothing.

    Ids of another vocabulary decode to something else altogether, so a text that is not ours is
    believed only where it holds every message, and these are long enough to be there by no chance.
    """
    ours = one.our_text
    if one.aids.decode is None or ours is None:
        return None
    text = one.aids.bare(one.aids.decode(theirs))
    due = {one.aids.bare(ours), one.aids.bare(one.aids.decode(one.row.expected or ()))}
    if text in due:
        return True
    if _squeezed(text) in map(_squeezed, due):
        return False  # white space apart
    if any(text == same + special for same in due for special, _ in one.aids.specials):
        return None  # a closing token is written by templates and put by tokenizers
    at = 0
    held = 0
    for message in one.row.ask.prompt:
        if not isinstance(message, Message):
            return None
        content = message.content.strip()
        at = text.find(content, at)
        if at < 0:
            return None
        held += len(content)
    return False if held >= _TELLING else None


def _nth(at: int) -> str:
    return f"token {at + 1:,}"
