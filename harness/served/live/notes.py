"""What holds of all prompts together, in sentences. Pure."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.plural import grouped
from harness.served.live.facts import Facts, Ids
from harness.served.live.finding import TRUNCATIONS, Causes, Judgement, Verdict
from harness.served.live.values import Row


@dataclass(frozen=True)
class Fitted:
    """What the fit of templates came to.

    ``names`` are the candidates that give the server's count on every shape; ``offset`` is a
    constant difference to ours, which proves nothing, no name either; ``words`` say more. ``ids``
    are those of every prompt under the first of them, row by row, None where it makes no text.
    """

    names: tuple[str, ...] = ()
    ids: tuple[Ids | None, ...] = ()
    offset: int | None = None
    words: tuple[str, ...] = ()

    def proven(self, judgements: Sequence[Judgement]) -> bool:
        """Whether the names are proven: by the counts, or by the ids of some prompt."""
        return not self.contradicted(judgements) and (
            self.offset is None
            or any("template" in finding.evidence for one in judgements for finding in one.findings)
        )

    def contradicted(self, judgements: Sequence[Judgement]) -> bool:
        """Whether the server makes another text of some prompt than the template that fits."""
        return any(
            finding.verdict is Verdict.TEMPLATE
            and made is not None
            and finding.evidence.get("theirs", len(made)) != len(made)
            for one, made in zip(judgements, self.ids, strict=False)
            for finding in one.findings
        )


def notes_on(row: Row, sides: Sequence[Facts]) -> Iterator[str]:
    """Yield what is worth knowing of one prompt, and is nobody's fault."""
    unended = {k.value for (k, _), one in row.answers.items() if one.done is False and one.whole}
    if unended:
        yield f"no end mark in: {', '.join(sorted(unended))}"
    for one in sides[:1]:
        ids = row.expected if one.observed is None else one.observed[1]
        if ids is not None and len(ids) > 1 and ids[0] == ids[1] in one.aids.special_ids:
            name = next(text for text, number in one.aids.specials if number == ids[0])
            if (one.our_text or "").startswith(2 * name):
                continue  # nobody put one there that was not written
            yield f"begins with {name} twice, once written in the text and once put before it"


def together(judgements: Sequence[Judgement]) -> list[str]:
    """Return the notes on single prompts, each with the number of prompts it is of."""
    found = Counter(note for one in judgements for note in one.notes)
    size = grouped(len(judgements), "prompt")
    return [f"{times:,} of {size}: {note}" for note, times in found.items()]


def on_causes(causes: Causes | None, judgements: Sequence[Judgement]) -> list[str]:
    """Tell the proven cause, or that there is none where one is wanting."""
    open_ones = (Verdict.TOKENIZER, Verdict.UNDETERMINED)
    if causes is None:
        return []
    found = {finding.verdict for one in judgements for finding in one.findings}
    cut = bool(causes.causes) and all(one.name in TRUNCATIONS for one in causes.causes)
    if cut and Verdict.TRUNCATED not in found:
        return []  # a template with less does the same
    if not causes.causes and not found.intersection(open_ones):
        return []  # what differs is explained, if not by the tokenizer
    notes = []
    if causes.causes:
        named = " or ".join(f"{one.label} ({one.summary})" for one in causes.causes)
        words = f"cause: {named}: it gives the server's {causes.by} on all "
        words += grouped(causes.judged, "prompt")
        notes.append(f"{words}, {causes.mismatching:,} of which are other than ours")
        if len(causes.causes) > 1:
            notes.append("these prompts cannot tell those causes apart")
    elif causes.note is None and causes.mismatching:
        notes.append(
            f"no change known here gives the server's {causes.by} on all "
            f"{grouped(causes.judged, 'prompt')}"
        )
    if causes.note is not None:
        notes.append(causes.note)
    return [*notes, *(f"refuted: {one}" for one in causes.refuted)]


def on_fit(fitted: Fitted | None, judgements: Sequence[Judgement]) -> list[str]:
    """Tell which templates fit, where anything is wrong."""
    if fitted is None or not any(one.findings for one in judgements):
        return []
    notes = list(fitted.words)
    if not fitted.names and fitted.offset is None:
        if _another_tokenizer(judgements):
            return [
                "the server's template cannot be told by counts: of the same text it makes other "
                "ids than we do"
            ]
        return notes
    named = " or ".join(fitted.names)
    if fitted.contradicted(judgements):
        notes.append(f"template: {named} fits on every prompt shape, and not on these prompts")
    elif fitted.proven(judgements):
        notes.append(f"template: {named} fits on every prompt shape")
    else:
        words = f"the counts are off by {fitted.offset:+,} on every prompt shape: "
        if named:
            words += f"the template {named} would do that, and so would other things; "
        notes.append(f"{words}a constant proves nothing")
    return notes


def _another_tokenizer(judgements: Sequence[Judgement]) -> bool:
    """Whether the server makes other ids than ours of one and the same text."""
    return any(
        finding.verdict is Verdict.TOKENIZER for one in judgements for finding in one.findings
    )


def steady(judgements: Sequence[Judgement]) -> list[str]:
    """Say by how much the usage is off, and whether by the same number everywhere."""
    off = [
        int(finding.evidence["off"])
        for one in judgements
        for finding in one.findings
        if finding.verdict in (Verdict.UNDER_REPORTED, Verdict.OVER_REPORTED)
        and "off" in finding.evidence
    ]
    if not off:
        return []
    if min(off) == max(off):
        size = grouped(len(judgements), "prompt")
        return [f"the usage is off by {off[0]:+,} on {len(off):,} of {size}"]
    return [f"the usage is off by {min(off):+,} to {max(off):+,}, {sum(off):+,} in all"]
