"""From findings and declared deviations to one verdict and one exit status.

Exit status, the first that applies: 3 the instrument is invalid; 4 a requested lane could not be
built or run; 5 the installed oracle no longer reproduces the goldens; 1 a divergence that no
declared deviation covers, or a declared one that is gone; 0 parity.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from harness.isolate import NONDETERMINISM
from harness.outcomes import Status
from harness.plural import counted
from harness.report.model import Finding, Policy, Report, ReportLane
from harness.verdict.cells import cells
from harness.verdict.claims import claims, settle_nondeterminism
from harness.verdict.control import distrust
from harness.verdict.deviations import (
    DECLARABLE_NAMES,
    Answer,
    Deviation,
    declarable,
    declare,
    declared_for,
    hold_to_declarations,
    parameters_known,
)
from harness.verdict.question import Grade, Question, grades

__all__ = [
    "DECLARABLE_NAMES",
    "Deviation",
    "LaneInfo",
    "Question",
    "declarable",
    "declared_for",
    "judge",
    "parameters_known",
]


@dataclass(frozen=True, kw_only=True)
class LaneInfo:
    """A lane of the run. ``invalid`` says why it is not to be believed.

    ``status`` is ``ran``, or ``unavailable`` for a lane that could not be built or run, and then
    ``unavailable`` says why.
    """

    name: str
    axes: Mapping[str, str]
    probe_sha256: str | None = None
    control: bool = False
    emulated: bool = False
    invalid: str | None = None
    status: str = "ran"
    unavailable: str | None = None


def judge(
    lanes: Sequence[LaneInfo],
    questions: Sequence[Question],
    *,
    deviations: Sequence[Deviation] = (),
    subject: str | None = None,
    drift: Sequence[str] = (),
    canaries: Sequence[str] = (),
    limits: Sequence[str] = (),
    provenance: Mapping[str, Any] = MappingProxyType({}),
    reused: Sequence[str] = (),
    command: Sequence[str] = ("tokparity", "run"),
    called: Mapping[str, str] = MappingProxyType({}),
) -> Report:
    """Return the report of a run.

    ``subject`` is whose deviations apply; None applies them all. ``drift`` and ``canaries`` are
    sentences: where the installed oracle no longer reproduces a
    golden, and which canaries failed. When the control lane cannot be trusted nothing but its own
    counts is reported; an invalid lane or canary leaves the other lanes' results standing.
    """
    control = next((lane.name for lane in lanes if lane.control), None)
    reported = tuple(_report_lane(lane) for lane in lanes)
    answers = _answers(questions, control)
    invalid = [f"canary: {words}" for words in canaries]
    invalid += [f"{lane.name}: {lane.invalid}" for lane in lanes if lane.invalid is not None]
    distrusted = [
        reason
        for one in answers
        for reason in distrust(one.question, one.graded, one.claims, control)
    ]
    said = _limits(lanes, answers, control)
    if distrusted:
        answers = [replace(one, claims=[]) for one in answers]
    elif not any(_compared(one) for one in answers):
        invalid.append(": ".join(("nothing was compared", *_said_instead(answers))))
    else:
        own = [one for one in deviations if one.of(subject)]
        for one in answers:
            declare(one, own, control)
        said += hold_to_declarations(answers, reported, own)
        said += [
            f"declared deviation {one.label}: it is of the subject {one.subject}, not of {subject}"
            for one in deviations
            if not one.of(subject)
        ]
    findings = _merged([found for one in answers for found in one.findings])
    invalid += distrusted
    # Against a golden that the oracle contradicts the control cannot be held at all: what is to be
    # mended is the golden.
    broken = [words for words in invalid if not drift or words not in distrusted]
    status = _exit(broken, lanes, drift, findings)
    shown = [(one.question, one.graded) for one in answers]
    return Report(
        verdict="invalid" if invalid else "fail" if status else "pass",
        exit=status,
        lanes=reported,
        cells=cells(shown, only=control if distrusted else None),
        findings=tuple(findings),
        limits=(*limits, *said),
        provenance=dict(provenance),
        invalid=tuple(invalid),
        drift=tuple(drift),
        reused=tuple(reused),
        policies=tuple(_policies(questions)),
        command=tuple(command),
        called=dict(called),
    )


def _said_instead(answers: Sequence[Answer]) -> list[str]:
    """Return what the subject itself said of it most, such as why it refuses the tokenizer."""
    words = Counter(
        f"{one.question.tokenizer}: {note}"
        for one in answers
        for outcomes in one.question.observed.values()
        for note in outcomes.notes.values()
    )
    return [note for note, _ in words.most_common(1)]


def _answers(questions: Sequence[Question], control: str | None) -> list[Answer]:
    """Grade every question that any lane was asked, and claim what each shows."""
    answers = []
    for question in questions:
        if question.observed:
            graded = grades(question, control)
            answers.append(Answer(question, graded, claims(question, graded)))
    random = {
        one.question.tokenizer
        for one in answers
        if any(claim.cause == NONDETERMINISM for claim in one.claims)
    }
    for one in answers:
        one.claims = settle_nondeterminism(one.claims, known=one.question.tokenizer in random)
    return answers


def _compared(answer: Answer) -> bool:
    """Whether any outcome was held against the oracle's, or against another lane's."""
    asked = ~np.isin(answer.graded, (Grade.UNSUPPORTED, Grade.UNRESOLVED))
    graded = answer.question.expected.status == Status.OK
    return bool((asked & graded).any() or (asked & ~graded).sum(axis=0).max(initial=0) > 1)


def _merged(findings: Sequence[Finding]) -> list[Finding]:
    """Join findings that say the same of several operations of one tokenizer."""
    joined: dict[tuple[object, ...], Finding] = {}
    for one in findings:
        name = (one.tokenizer, one.cause, one.axes, one.lanes, one.declared, one.absent)
        known = joined.get(name)
        if known is None:
            joined[name] = one
        else:
            joined[name] = replace(
                known,
                operations=tuple(dict.fromkeys((*known.operations, *one.operations))),
                cases=tuple(dict.fromkeys((*known.cases, *one.cases))),
            )
    return list(joined.values())


def _exit(
    invalid: Sequence[str],
    lanes: Sequence[LaneInfo],
    drift: Sequence[str],
    findings: Sequence[Finding],
) -> int:
    if invalid:
        return 3
    if any(lane.status == "unavailable" for lane in lanes):
        return 4
    if drift:
        return 5
    return 1 if any(one.fails for one in findings) else 0


def _report_lane(lane: LaneInfo) -> ReportLane:
    return ReportLane(
        name=lane.name,
        axes=dict(lane.axes),
        status="invalid" if lane.invalid is not None else lane.status,
        probe_sha256=lane.probe_sha256,
        control=lane.control,
        invalid=lane.invalid,
        unavailable=lane.unavailable,
    )


def _limits(lanes: Sequence[LaneInfo], answers: Sequence[Answer], control: str | None) -> list[str]:
    """Return what this run cannot say, in sentences."""
    ran = [lane for lane in lanes if lane.status == "ran" and lane.invalid is None]
    said: list[str] = []
    emulated = sum(lane.emulated for lane in ran)
    if emulated:
        said.append(
            f"{emulated} of {counted(len(ran), 'lane')} ran under an emulator: emulation is not "
            "silicon, and weak memory ordering does not show there"
        )
    compilers = sorted({lane.axes["compiler"] for lane in ran if "compiler" in lane.axes})
    if compilers:
        said.append(f"compiled with {', '.join(compilers)}: this says nothing of other compilers")
    if control is None:
        said.append("the control lane did not run: nothing shows that the instrument itself works")
    elif not any(case.startswith("smoke/") for one in answers for case in one.question.cases):
        said.append("the smoke corpus did not run: the control lane was not judged first")
    return said


def _policies(questions: Sequence[Question]) -> list[Policy]:
    found = []
    for question in questions:
        attribution = question.attribution
        known = attribution.byte_policy if attribution is not None else None
        policy = known or question.byte_policy
        if policy is not None:
            found.append(
                Policy(
                    tokenizer=question.tokenizer,
                    operation=question.operation,
                    name=policy.name,
                    cases=policy.cases,
                    tried=dict(policy.tried),
                )
            )
    return found
