"""What only all prompts together tell of each: a proven cause, a template that fits, one limit.

Pure. What is open in a judgement is decided anew where something is proven, and stays open where
two things would do.
"""

from collections.abc import Sequence
from dataclasses import replace

from harness.plural import grouped
from harness.served.live.cuts import cut_of, cut_words
from harness.served.live.facts import Aids, Ids, facts
from harness.served.live.finding import TRUNCATIONS, Causes, Finding, Judgement, Verdict, tokens
from harness.served.live.notes import Fitted
from harness.served.live.processing import settled
from harness.served.live.values import Row

# Verdicts that a proof over all prompts decides anew.
_OPEN = (Verdict.TOKENIZER, Verdict.TRUNCATED, Verdict.UNDETERMINED)


def explained(
    rows: Sequence[Row],
    judgements: Sequence[Judgement],
    causes: Causes | None,
    fitted: Fitted | None,
) -> list[Judgement]:
    """Put the name of a proven cause, or of a template that fits, in place of what is open."""
    found = []
    for at, (row, judgement) in enumerate(zip(rows, judgements, strict=True)):
        own = [_by_template(one, fitted, at, row) for one in judgement.findings]
        found.append(replace(judgement, findings=tuple(_by_cause(one, causes) for one in own)))
    return found


def _by_template(finding: Finding, fitted: Fitted | None, at: int, row: Row) -> Finding:
    """Name the template that fits, where it gives this prompt's ids, or without ids its count.

    A template that differs from ours by one number of tokens everywhere is proven by no counts.
    """
    if fitted is None or not fitted.names or finding.verdict is not Verdict.UNDETERMINED:
        return finding
    theirs = _observed(row) if "first" in finding.evidence else None
    if theirs is not None:
        proven = at < len(fitted.ids) and fitted.ids[at] == theirs
    else:
        made = fitted.ids[at] if at < len(fitted.ids) else None
        told = finding.evidence.get("theirs")
        proven = fitted.offset is None and made is not None and len(made) == told
    if not proven:
        return finding
    what = "it" if theirs is None else "its ids"
    names = " or ".join(fitted.names)
    words = f"{settled(finding.words)}; the template {names} gives {what}"
    evidence = {**finding.evidence, "template": list(fitted.names)}
    return replace(finding, verdict=Verdict.TEMPLATE, words=words, evidence=evidence)


def _by_cause(finding: Finding, causes: Causes | None) -> Finding:
    """Name the change that is proven of all prompts."""
    if causes is None or not causes.causes:
        return finding
    labels = " or ".join(one.label for one in causes.causes)
    if causes.by == "texts":
        named = finding.verdict is Verdict.TEMPLATE
        return replace(finding, words=f"{labels}: {finding.words}") if named else finding
    if finding.verdict not in _OPEN:
        return finding
    cut = all(one.name in TRUNCATIONS for one in causes.causes)
    if cut and "gone" in finding.evidence:
        return finding  # a template with less would give the same
    told = "first" in finding.evidence or finding.verdict is not Verdict.UNDETERMINED
    if not told and causes.by != "counts":
        return finding
    verdict = Verdict.TRUNCATED if cut else Verdict.TOKENIZER
    return replace(finding, verdict=verdict, words=f"{labels}: {settled(finding.words)}")


def limited(
    rows: Sequence[Row], judgements: Sequence[Judgement]
) -> tuple[list[Judgement], list[str]]:
    """Find the one limit of all truncated prompts, and the prompts that only it explains."""
    judgements = _decided(rows, judgements)
    told = _kept(judgements)
    if not told:
        return judgements, []
    limit = max(size for size, _ in told.values())
    found = [
        one if place in told else _also_cut(rows[place], one, limit)
        for place, one in enumerate(judgements)
    ]
    kept = _kept(found)
    low = min(size for size, _ in kept.values())
    longest = max((_intact(row) for place, row in enumerate(rows) if place not in kept), default=0)
    ends = sorted({end for _, end in kept.values() if end})
    end = f"{', '.join(ends)} kept" if ends else "which end is not told"
    if low == limit and longest <= limit:
        words = (
            f"truncated to {tokens(limit)}, {end}: {len(kept):,} of {grouped(len(rows), 'prompt')}"
        )
    else:
        words = f"truncated, {end}, and not to one number of tokens: {low:,} to {limit:,} left"
    return found, [words]


def _decided(rows: Sequence[Row], judgements: Sequence[Judgement]) -> list[Judgement]:
    """Tell a limit from a template that has less, where no message of any prompt is cut.

    The former leaves as many tokens of prompts of several lengths, the latter takes as many away.
    """
    left = {
        place: finding
        for place, one in enumerate(judgements)
        for finding in one.findings
        if finding.verdict is Verdict.UNDETERMINED and "gone" in finding.evidence
    }
    lengths = {_intact(rows[place]) for place in left}
    if _kept(judgements) or len(lengths) < 2:
        return list(judgements)
    verdict, tail = None, ""
    gone = {str(one.evidence["gone"]) for one in left.values()}
    if len({one.evidence["theirs"] for one in left.values()}) == 1:
        verdict = Verdict.TRUNCATED
    elif len(gone) == 1:
        verdict = Verdict.TEMPLATE
        tail = f"; the same is gone of all {len(left):,} such prompts, whatever their length"
    if verdict is None:
        return list(judgements)
    found = list(judgements)
    for place in left:
        own = [
            replace(one, verdict=verdict, words=settled(one.words) + tail)
            if "gone" in one.evidence
            else one
            for one in found[place].findings
        ]
        found[place] = replace(found[place], findings=tuple(own))
    return found


def _kept(judgements: Sequence[Judgement]) -> dict[int, tuple[int, str]]:
    """Return how many tokens are left of each truncated prompt, by its place, and which end."""
    return {
        place: (int(finding.evidence["theirs"]), str(finding.evidence.get("end") or ""))
        for place, one in enumerate(judgements)
        for finding in one.findings
        if finding.verdict is Verdict.TRUNCATED and "theirs" in finding.evidence
    }


def _also_cut(row: Row, judgement: Judgement, limit: int) -> Judgement:
    """Call a prompt truncated that ends at the limit and of which nothing else says that it is.

    Of such a prompt only special tokens are gone, or what stands around a message.
    """
    ours, theirs = row.expected, _observed(row)
    cut = None if ours is None or theirs is None else cut_of(ours, theirs)
    found = []
    for one in judgement.findings:
        at_limit = one.evidence.get("theirs") == limit
        if at_limit and "gone" in one.evidence:
            found.append(replace(one, verdict=Verdict.TRUNCATED, words=settled(one.words)))
        elif at_limit and cut and one.verdict is Verdict.TOKENIZER:
            words, end = cut_words(ours or (), theirs or (), cut, ())
            evidence = {**one.evidence, "end": end}
            found.append(Finding(Verdict.TRUNCATED, words, one.exit, evidence))
        else:
            found.append(one)
    return replace(judgement, findings=tuple(found))


def _observed(row: Row) -> Ids | None:
    """Return the server's ids of a prompt, where any place tells them."""
    told = next((one.observed for one in facts(row, Aids()) if one.observed is not None), None)
    return None if told is None else told[1]


def _intact(row: Row) -> int:
    return 0 if row.expected is None else len(row.expected)
