"""From rows to judgements, and from those of all prompts to what holds of the server. Pure.

A prompt is judged by :mod:`harness.served.live.rules` under each spelling. Some things only all
prompts tell: one limit that every truncated prompt ends at, a proven cause, a template that fits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from harness.served.live.facts import Aids, Facts, counted, facts, ids_of
from harness.served.live.finding import (
    Causes,
    Finding,
    Group,
    Judgement,
    ServerVerdict,
    Verdict,
)
from harness.served.live.notes import Fitted, notes_on, on_causes, on_fit, steady, together
from harness.served.live.processing import cut_of, tokens
from harness.served.live.rules import busy, findings
from harness.served.live.values import Answer, Row, Spelling

_ORDER = {one: place for place, one in enumerate(Verdict)}
# Limits on the length, which an attribution names as it names any other change.
TRUNCATIONS = ("truncated-bytes", "truncated-characters", "truncated-tokens")


def judge_row(row: Row, aids: Aids | None = None) -> Judgement:
    """Judge one prompt by the rules, under each spelling that was sent."""
    sides = facts(row, aids or Aids())
    found = {one.spelling: findings(one) for one in sides}
    merged = _merged(found)
    if len(sides) == 2:
        merged += _spelt_apart(*sides)
    merged.sort(key=lambda one: _ORDER[one.verdict])
    return Judgement(row.id, tuple(merged), tuple(notes_on(row, sides)))


def judge(
    rows: Sequence[Row],
    aids: Aids | None = None,
    *,
    causes: Causes | None = None,
    fitted: Fitted | None = None,
) -> ServerVerdict:
    """Judge all prompts of one server.

    ``causes`` is what :func:`harness.served.live.attributing.attributed` proves of them, ``fitted``
    what the fit of templates came to; a name of either is believed as it stands.
    """
    judgements = [judge_row(row, aids) for row in rows]
    notes: list[str] = []
    judgements = _explained(judgements, causes, fitted)
    judgements, words = _limited(rows, judgements)
    notes += words
    notes += on_causes(causes, judgements)
    notes += on_fit(fitted, judgements)
    notes += steady(judgements)
    notes += together(judgements)
    retries = sum(answer.retries for row in rows for answer in row.answers.values())
    if retries:
        notes.append(f"{retries:,} requests were sent again, after a refusal to connect or a wait")
    return ServerVerdict(
        tuple(judgements),
        _groups(judgements),
        causes,
        () if fitted is None else fitted.names,
        tuple(notes),
    )


def _merged(found: Mapping[Spelling, Sequence[Finding]]) -> list[Finding]:
    """Return the findings of both spellings; one that only one has says so."""
    kept: dict[Finding, list[Spelling]] = {}
    for spelling, own in found.items():
        for one in own:
            kept.setdefault(one, []).append(spelling)
    return [
        one
        if len(spellings) == len(found)
        else replace(one, words=f"{one.words} ({spellings[0].value} body)")
        for one, spellings in kept.items()
    ]


def _spelt_apart(raw: Facts, escaped: Facts) -> list[Finding]:
    """Compare the two spellings of the same request, question by question."""
    for kind, spelling in raw.row.answers:
        if spelling is not Spelling.RAW:
            continue
        one, other = raw.answer(kind), escaped.answer(kind)
        if one is None or other is None or _unsettled(one) or _unsettled(other):
            continue
        pairs = list(zip(_NAMES, _numbers(one), _numbers(other), strict=True))
        if any(use.cached for use in (*one.usages, *other.usages)):
            pairs = [pair for pair in pairs if pair[0] != "processed count"]
        for name, left, right in pairs:
            if left != right:
                words = (
                    f"{kind.value}: {name} {_shown(left)} of a raw UTF-8 body and {_shown(right)} "
                    "of an ASCII-escaped one"
                )
                return [Finding(Verdict.SPELLING, words, evidence={"question": kind.value})]
    return []


_NAMES = ("status", "usage", "count", "processed count", "ids")


def _unsettled(answer: Answer) -> bool:
    """Whether the same request may well be answered otherwise the next time."""
    return answer.status is None or answer.status >= 500 or busy(answer) or not answer.whole


def _numbers(answer: Answer) -> tuple[object, ...]:
    """Return what must not depend on the spelling."""
    told = answer.processed
    processed = None if told is None else told.count
    return answer.status, answer.prompt_tokens, counted(answer), processed, ids_of(answer)


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return f"are {len(value):,} numbers, {', '.join(map(str, value[:6]))}, …"
    return "none" if value is None else str(value)


def _explained(
    judgements: Sequence[Judgement], causes: Causes | None, fitted: Fitted | None
) -> list[Judgement]:
    """Put the name of a proven cause, or of a template that fits, in place of what is open."""
    counts = () if fitted is None or not fitted.names else fitted.counts
    found = []
    for row, judgement in enumerate(judgements):
        count = counts[row] if row < len(counts) else None
        own = [_by_template(one, fitted, count) for one in judgement.findings]
        own = [_by_cause(one, causes) for one in own]
        own.sort(key=lambda one: _ORDER[one.verdict])
        found.append(replace(judgement, findings=tuple(own)))
    return found


def _by_template(finding: Finding, fitted: Fitted | None, count: int | None) -> Finding:
    """Name the template that fits, where it gives this prompt's count too."""
    if fitted is None or finding.verdict is not Verdict.UNDETERMINED or count is None:
        return finding
    if count != finding.evidence.get("theirs"):
        return finding
    words = f"{finding.words}; the template {' or '.join(fitted.names)} gives it"
    return replace(finding, verdict=Verdict.TEMPLATE, words=words)


def _by_cause(finding: Finding, causes: Causes | None) -> Finding:
    """Name the change that is proven of all prompts."""
    if causes is None or not causes.causes or finding.verdict not in _OPEN:
        return finding
    told = "first" in finding.evidence or finding.verdict is not Verdict.UNDETERMINED
    if not told and causes.by != "counts":
        return finding
    labels = " or ".join(one.label for one in causes.causes)
    cut = all(one.name in TRUNCATIONS for one in causes.causes)
    verdict = Verdict.TRUNCATED if cut else Verdict.TOKENIZER
    return replace(finding, verdict=verdict, words=f"{labels}: {finding.words}")


# Verdicts that a proof over all prompts decides anew.
_OPEN = (Verdict.TOKENIZER, Verdict.TRUNCATED, Verdict.UNDETERMINED)


def _limited(
    rows: Sequence[Row], judgements: Sequence[Judgement]
) -> tuple[list[Judgement], list[str]]:
    """Find the one limit of all truncated prompts, and the prompts that only it explains."""
    told = _kept(judgements)
    if not told:
        return list(judgements), []
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
        words = f"truncated to {tokens(limit)}, {end}: {len(kept):,} of {len(rows):,} prompts"
    else:
        words = f"truncated, {end}, and not to one number of tokens: {low:,} to {limit:,} left"
    return found, [words]


def _kept(judgements: Sequence[Judgement]) -> dict[int, tuple[int, str]]:
    """Return how many tokens are left of each truncated prompt, by its place, and which end."""
    return {
        place: (int(finding.evidence["theirs"]), str(finding.evidence.get("end") or ""))
        for place, one in enumerate(judgements)
        for finding in one.findings
        if finding.verdict is Verdict.TRUNCATED and "theirs" in finding.evidence
    }


def _also_cut(row: Row, judgement: Judgement, limit: int) -> Judgement:
    """Call a prompt of which only special tokens are gone truncated, where it ends at the limit."""
    observed = next((side.observed for side in facts(row, Aids()) if side.observed), None)
    if row.expected is None or observed is None or not cut_of(row.expected, observed[1]):
        return judgement
    return replace(
        judgement,
        findings=tuple(
            replace(one, verdict=Verdict.TRUNCATED)
            if one.verdict is Verdict.TOKENIZER and one.evidence.get("theirs") == limit
            else one
            for one in judgement.findings
        ),
    )


def _intact(row: Row) -> int:
    return 0 if row.expected is None else len(row.expected)


def _groups(judgements: Sequence[Judgement]) -> tuple[Group, ...]:
    """Count the verdicts, the gravest first; a prompt stands in each that it has a finding of."""
    found: dict[Verdict, list[tuple[str, Finding]]] = {}
    for one in judgements:
        for finding in one.findings:
            found.setdefault(finding.verdict, []).append((one.id, finding))
    return tuple(
        Group(
            verdict,
            tuple(dict.fromkeys(name for name, _ in found[verdict])),
            found[verdict][0][1].words,
            max(finding.exit for _, finding in found[verdict]),
        )
        for verdict in sorted(found, key=_ORDER.__getitem__)
    )
