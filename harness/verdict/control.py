"""Whether the instrument works at all: the control lane on the smoke corpus, before anything else.

The control lane either reproduces the oracle's ids there, or a *proven* cause says why it does not:
then the instrument works and the subject is wrong. A mismatch that nothing explains could as well
be ours, so the run claims nothing.
"""

from collections.abc import Sequence

import numpy as np

from harness.outcomes import Status
from harness.plural import counted
from harness.verdict.claims import UNEXPLAINED, UNRESOLVED, Claim
from harness.verdict.question import Grade, Grades, Question

SMOKE = "smoke/"


def distrust(
    question: Question, graded: Grades, claims: Sequence[Claim], control: str | None
) -> list[str]:
    """Return why the control lane cannot be trusted, in sentences; empty when it can.

    Its ids are what is judged, so the question is that of ``encode``.

    A platform cause counts as proof only where another lane gives the oracle's ids: that lane shows
    that the instrument can. Crashes and hangs are the subject's own as long as the control lane
    reproduces some smoke case.
    """
    lanes = list(question.observed)
    if control is None or control not in lanes or question.operation != "encode":
        return []
    lane = lanes.index(control)
    smoke = np.asarray([case.startswith(SMOKE) for case in question.cases], dtype=np.bool_)
    smoke &= question.expected.status == Status.OK
    where = f"control lane {control}, {question.tokenizer}"
    unproven = np.zeros(len(question.cases), dtype=np.bool_)
    proven = graded[lane] == Grade.PASS
    for claim in claims:
        if claim.cause in (UNEXPLAINED, UNRESOLVED):
            unproven |= claim.where[lane]
        elif claim.axes:
            unproven |= claim.where[lane] & ~(graded == Grade.PASS).any(axis=0)
        elif claim.proof is not None:
            proven = proven | claim.where[lane]
    missed = np.flatnonzero(unproven & smoke)
    if missed.shape[0]:
        first = question.cases[int(missed[0])]
        return [
            f"{where}: {missed.shape[0]} of {counted(int(smoke.sum()), 'smoke case')} not as in "
            f"the golden, and no proven cause says why, first {first}"
        ]
    asked = smoke & (graded[lane] != Grade.UNSUPPORTED)
    if asked.any() and not ((graded == Grade.PASS) | proven).any(axis=0)[asked].any():
        return [f"{where}: none of {counted(int(asked.sum()), 'smoke case')} was reproduced"]
    return []
