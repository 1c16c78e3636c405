"""The one case that a person wants made smaller: found in the corpora, or given as it is."""

import hashlib
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from harness.corpus import Case, Corpus, case_id
from harness.diff import differs
from harness.errors import InstrumentInvalid, UsageError
from harness.outcomes import Status
from harness.plan import Plan
from harness.plural import counted
from harness.reduced import Reduced
from harness.reduction import reduce_case
from harness.report.model import Finding, Report
from harness.rig import Rig
from harness.signature import kinds
from harness.verdict import Question

_GIVEN = "given"
# Other findings of the case beyond these are counted, not listed.
_BESIDE = 4


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """A case by its id (``corpus/id``), or the bytes of one that no corpus holds.

    ``case`` names it in either case. ``cause`` narrows it down to one of several findings.
    """

    case: str
    data: bytes | None = None
    cause: str | None = None

    @classmethod
    def given(cls, data: bytes, *, name: str = "text", cause: str | None = None) -> "Wanted":
        """Return a wanted text that no corpus holds."""
        return cls(case=f"{_GIVEN}/{name}", data=data, cause=cause)

    def among(self, plan: Plan) -> Plan:
        """Return the plan with the case in it; raises :class:`UsageError` where it is not there."""
        if self.data is None:
            if self.case not in plan.case_ids:
                close = get_close_matches(self.case, plan.case_ids, n=1)
                raise UsageError(
                    f"there is no case '{self.case}', and no ordinary file of that name",
                    expected=f"did you mean '{close[0]}'?" if close else "CORPUS/ID, or a file",
                )
            return plan
        corpus, _, name = self.case.partition("/")
        case = Case(name, self.data)
        given = Corpus(corpus, (case,), hashlib.sha256(self.data).hexdigest(), Path(corpus))
        if case_id(corpus, case) in plan.case_ids:
            raise UsageError(
                f"the corpora have a case '{self.case}' of their own",
                remedy="choose other corpora with --corpus",
            )
        return replace(plan, corpora=(*plan.corpora, given))


def reduce_wanted(
    rig: Rig, report: Report, wanted: Wanted, questions: int | None = None
) -> Reduced:
    """Shrink the wanted case in the first finding that it shows, undeclared ones first.

    Raises :class:`UsageError` for a case that shows none, saying what was observed, and
    :class:`InstrumentInvalid` where the run claims nothing; else as :func:`reduce_case` does.
    """
    findings = [one for one in report.findings if wanted.case in one.cases and not one.absent]
    findings.sort(key=lambda one: not one.fails)
    chosen = [one for one in findings if wanted.cause in (None, one.cause)]
    if not chosen and report.invalid:
        raise InstrumentInvalid(
            f"nothing can be said of it: {report.invalid[0]}", where=wanted.case
        )
    if not chosen and findings:
        raise UsageError(
            f"does not show '{wanted.cause}'",
            where=wanted.case,
            expected=", ".join(dict.fromkeys(one.cause or "" for one in findings)),
        )
    if not chosen:
        raise UsageError(
            "does not diverge: " + "; ".join(_observed(one, wanted.case) for one in rig.questions),
            where=wanted.case,
            expected="a case on which lanes differ from each other or from the oracle",
        )
    found = reduce_case(rig, chosen[0], wanted.case, questions)
    rest = [_beside(one) for one in findings if one is not chosen[0]]
    more = len(rest) - _BESIDE
    told = rest[:_BESIDE] + ([f"and {counted(more, 'finding')} more"] if more > 0 else [])
    return replace(found, notes=(*found.notes, *told))


def _beside(finding: Finding) -> str:
    return (
        f"the case also shows {finding.cause} [{finding.id}] with {finding.tokenizer}; "
        "--cause and --tokenizer choose"
    )


def _observed(question: Question, case: str) -> str:
    """Return in words how one operation of one tokenizer came out."""
    asked = f"{question.tokenizer}, {question.operation}"
    if case not in question.cases:
        return f"{asked}: not asked"
    row = question.cases.index(case)
    rows = np.asarray([row], dtype=np.int64)
    lanes = [one.take(rows) for one in question.observed.values()]
    count = counted(len(lanes), "lane")
    expected = question.expected.take(rows)
    if expected.status[0] == Status.OK and not any(differs(expected, one)[0] for one in lanes):
        return f"{asked}: the oracle's {counted(int(expected.lengths[0]), 'id')} on {count}"
    alike = ", ".join(dict.fromkeys(kinds(one)[0] for one in lanes))
    return f"{asked}: {alike}, alike on {count}"
