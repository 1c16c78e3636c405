"""From rows to judgements, and from those of all prompts to what holds of the server. Pure.

A prompt is judged by :mod:`harness.served.live.rules` under each spelling. Some things only all
prompts tell: one limit that every truncated prompt ends at, a proven cause, a template that fits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from harness.plural import grouped
from harness.served.live.explained import explained, limited
from harness.served.live.facts import USAGES, Aids, Facts, counted, facts, ids_of
from harness.served.live.finding import (
    Causes,
    Finding,
    Group,
    Judgement,
    ServerVerdict,
    Verdict,
)
from harness.served.live.notes import Fitted, notes_on, on_causes, on_fit, steady, together
from harness.served.live.rules import busy, findings
from harness.served.live.values import Answer, Row, Spelling

_ORDER = {one: place for place, one in enumerate(Verdict)}


def judge_row(row: Row, aids: Aids | None = None) -> Judgement:
    """Judge one prompt by the rules, under each spelling that was sent."""
    sides = facts(row, aids or Aids())
    found = {one.spelling: findings(one) for one in sides}
    merged = _merged(found)
    if len(sides) == 2:
        merged += _spelt_apart(*sides)
    return _sorted(Judgement(row.id, tuple(merged), tuple(notes_on(row, sides))))


def _sorted(judgement: Judgement) -> Judgement:
    ordered = sorted(judgement.findings, key=lambda one: _ORDER[one.verdict])
    return replace(judgement, findings=tuple(ordered))


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
    judgements = explained(rows, judgements, causes, fitted)
    judgements, words = limited(rows, judgements)
    judgements = [_sorted(one) for one in judgements]
    notes += words
    notes += on_causes(causes, judgements)
    notes += on_fit(fitted, judgements)
    notes += steady(judgements)
    notes += together(judgements)
    retries = sum(answer.retries for row in rows for answer in row.answers.values())
    if retries:
        again = grouped(retries, "request was", "requests were")
        notes.append(f"{again} sent again, after a refusal to connect or a wait")
    return ServerVerdict(
        tuple(judgements),
        _groups(judgements),
        causes,
        fitted.names if fitted is not None and fitted.proven(judgements) else (),
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
            if left != right and name == "usage" and _steady_elsewhere(raw, escaped):
                words = (
                    f"{kind.value}: of one request, sent twice, the usage is {_shown(right)} and "
                    f"then {_shown(left)}; it is not the spelling, which other questions do not "
                    "depend on"
                )
                return [Finding(Verdict.INCONSISTENT, words, evidence={"question": kind.value})]
            if left != right:
                words = (
                    f"{kind.value}: {name} {_shown(left)} of a raw UTF-8 body and {_shown(right)} "
                    "of an ASCII-escaped one"
                )
                return [Finding(Verdict.SPELLING, words, evidence={"question": kind.value})]
    return []


def _steady_elsewhere(raw: Facts, escaped: Facts) -> bool:
    """Whether some other request's usage is the same in both spellings: then they are alike.

    A server may count otherwise what it has in its cache already.
    """
    pairs = [(raw.answer(kind), escaped.answer(kind)) for kind in USAGES]
    return any(
        one is not None
        and other is not None
        and one is not other
        and one.prompt_tokens is not None
        and one.prompt_tokens == other.prompt_tokens
        for one, other in pairs
    )


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


def _groups(judgements: Sequence[Judgement]) -> tuple[Group, ...]:
    """Count the verdicts, the gravest first; a prompt stands in each that it has a finding of."""
    found: dict[Verdict, list[tuple[int, Finding]]] = {}
    for place, one in enumerate(judgements):
        for finding in one.findings:
            found.setdefault(finding.verdict, []).append((place, finding))
    return tuple(
        Group(
            verdict,
            tuple(judgements[place].id for place in dict.fromkeys(at for at, _ in found[verdict])),
            found[verdict][0][1].words,
            max(finding.exit for _, finding in found[verdict]),
        )
        for verdict in sorted(found, key=_ORDER.__getitem__)
    )
