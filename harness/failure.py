"""What a case shows of a finding: in which operation, and under which hypothesis."""

from collections.abc import Mapping
from dataclasses import dataclass

from harness.errors import UsageError
from harness.foretell import Foreteller
from harness.hypotheses import Hypothesis
from harness.hypotheses.input import POLICIES
from harness.isolate import NONDETERMINISM
from harness.outcomes import Operation, Outcomes
from harness.report.model import Finding
from harness.rig import Rig
from harness.signature import IDS, Signature, combinations_of, signature
from harness.verdict import Question
from harness.verdict.claims import UNRESOLVED


@dataclass(frozen=True, kw_only=True)
class Failure:
    """What the full case shows, as the run had it."""

    data: bytes
    operation: Operation
    observed: Mapping[str, Outcomes]
    signature: Signature
    foreteller: Foreteller


def failure_of(rig: Rig, finding: Finding, case: str) -> Failure:
    """Find the operation in which the case shows the finding, and the failure's signature.

    Raises :class:`UsageError` for a finding whose cases cannot be shrunk, and for a case that does
    not show it.
    """
    if finding.cause == NONDETERMINISM:
        raise cannot_shrink(case, "it is answered in two ways, so no smaller one can be relied on")
    if finding.cause == UNRESOLVED:
        raise cannot_shrink(case, "it was never answered in a way to be believed")
    answers = rig.evidence_on(finding.tokenizer).answers.values()
    refusing = {one.lane.name for one in answers if one.hello and one.hello.refused is not None}
    if refusing >= set(finding.lanes):
        raise cannot_shrink(case, "the tokenizer is refused, whatever the text")
    for operation in rig.plan.config.operations:
        question = rig.question(finding.tokenizer, operation)
        if operation in finding.operations and question is not None and case in question.cases:
            found = _shown_in(rig, finding, question, operation, question.cases.index(case))
            if found is not None:
                return found
    raise cannot_shrink(case, f"it does not show {finding.cause} [{finding.id}]")


def _shown_in(
    rig: Rig, finding: Finding, question: Question, operation: Operation, row: int
) -> Failure | None:
    """Return the failure that one case shows in one operation; None where it does not."""
    data = question.data[row]
    observed = {lane: one.take([row]) for lane, one in question.observed.items()}
    for foreteller in _foretellers(rig, finding, question, operation):
        shown = signature(
            finding.cause or "",
            observed,
            foreteller.foretell([data]),
            frozenset(finding.lanes),
            foreteller.hypothesis,
        )
        if _shows(shown, finding):
            return Failure(
                data=data,
                operation=operation,
                observed={lane: observed[lane] for lane in shown.lanes},
                signature=shown,
                foreteller=foreteller,
            )
    return None


def _foretellers(
    rig: Rig, finding: Finding, question: Question, operation: Operation
) -> list[Foreteller]:
    """Return the oracle under each hypothesis that the case may show, fewest changes first.

    A finding that no hypothesis explains has the oracle as it is. Of several causes at once the
    case need not show all.
    """
    one = rig.evidence_on(finding.tokenizer)
    proven = _proven(finding, question)
    if proven is None:
        return [Foreteller(one=one, operation=operation)]
    known = question.attribution.byte_policy if question.attribution else question.byte_policy
    first = [name for name in POLICIES if known is not None and known.name == name]
    return [
        Foreteller(one=one, operation=operation, hypothesis=hypothesis, policy=policy)
        for hypothesis in combinations_of(proven)
        for policy in dict.fromkeys([*first, *POLICIES])
    ]


def _proven(finding: Finding, question: Question) -> Hypothesis | None:
    """Return the hypothesis that the finding names; None for one that no hypothesis explains.

    A declaration may have renamed a cause to one that the cases cannot tell from it, or have its
    parts in another order.
    """
    if question.attribution is None or finding.axes:
        return None
    causes = [one.hypothesis for one in question.attribution.causes]
    parts = set((finding.cause or "").split("+"))
    named = [one for one in causes if {part.name for part in one.parts or (one,)} == parts]
    exact = [one for one in named if one.label == finding.evidence.get("hypothesis")]
    return next(iter([*exact, *named]), None)


def _shows(shown: Signature, finding: Finding) -> bool:
    """Whether the case shows the finding: on one of its lanes at least, and as its cause says."""
    own = set(finding.lanes) & set(shown.lanes)
    if finding.axes:
        return bool(own) and len(set(shown.groups.values())) > 1
    return bool(shown.failing) or (not shown.graded and any(shown.kinds[one] != IDS for one in own))


def cannot_shrink(case: str, why: str) -> UsageError:
    """Return the error that a case cannot be shrunk."""
    return UsageError(f"cannot be made smaller: {why}", where=case)
