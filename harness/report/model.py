"""The report as one value; every renderer reads this and nothing else.

Its fields are the public agreement ``tokparity-report/1``: :mod:`harness.report.json` writes them
under their published names.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SCHEMA = "tokparity-report/1"
# The counts of a cell, under their published names, as attributes of Cell.
COUNTS = {
    "pass": "passed",
    "fail": "fail",
    "xfail": "xfail",
    "xpass": "xpass",
    "crash": "crash",
    "timeout": "timeout",
    "unsupported": "unsupported",
    "unresolved": "unresolved",
    "ungraded": "ungraded",
}


@dataclass(frozen=True, kw_only=True)
class ReportLane:
    """A lane of the run: ``status`` is ``ran``, ``sanitized``, ``invalid`` or ``unavailable``.

    ``invalid`` and ``unavailable`` say why it is that; the latter may take several lines.
    """

    name: str
    axes: Mapping[str, str]
    status: str
    probe_sha256: str | None = None
    control: bool = False
    invalid: str | None = None
    unavailable: str | None = None


@dataclass(frozen=True, kw_only=True)
class Cell:
    """How the cases of one corpus came out on one lane for one tokenizer.

    A case counts once, with the worst of what its operations came to.
    """

    lane: str
    tokenizer: str
    corpus: str
    cases: int
    passed: int = 0
    fail: int = 0
    xfail: int = 0
    xpass: int = 0
    crash: int = 0
    timeout: int = 0
    unsupported: int = 0
    unresolved: int = 0
    ungraded: int = 0


@dataclass(frozen=True, kw_only=True)
class First:
    """The first case of a finding, and the first place where its answer is not the expected one.

    ``expected`` and ``observed`` are whole answers (ids; byte values for decode); ``index`` is
    where they part. ``observed_status`` is the word for what the lane gave: ``ok``, ``crash``, …
    ``expected_from`` is ``golden``, ``declared deviation``, or a lane where the oracle has no word.
    """

    case: str
    index: int
    expected: tuple[int, ...]
    observed: tuple[int, ...]
    lane: str
    operation: str
    observed_status: str = "ok"
    expected_from: str = "golden"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One divergence with its cause, on the lanes and cases that show it.

    ``declared`` says that a deviation covers it; ``absent`` that the finding *is* a declared
    deviation of which there is no trace, which fails as well.
    """

    id: str
    tokenizer: str
    operations: tuple[str, ...]
    lanes: tuple[str, ...]
    cases: tuple[str, ...]
    axes: tuple[str, ...]
    cause: str | None
    declared: bool
    summary: str
    absent: bool = False
    reason: str | None = None
    link: str | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    first: First | None = None

    @property
    def fails(self) -> bool:
        """Whether the finding makes the run fail."""
        return self.absent or not self.declared


@dataclass(frozen=True, kw_only=True)
class Policy:
    """What the subject makes of invalid UTF-8, over the ungraded cases; ``name`` None: unknown."""

    tokenizer: str
    operation: str
    name: str | None
    cases: int
    tried: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Report:
    """A whole run. ``verdict`` is ``pass``, ``fail`` or ``invalid``; ``exit`` the exit status.

    ``invalid`` says why the instrument is not to be believed, ``drift`` where the installed oracle
    no longer reproduces the goldens, ``reused`` what was not done again, ``command`` the words that
    start this run, to which the report adds a case to show it again; ``called`` what stands for a
    tokenizer there, where that is not its name.
    """

    verdict: str
    exit: int
    lanes: tuple[ReportLane, ...] = ()
    cells: tuple[Cell, ...] = ()
    findings: tuple[Finding, ...] = ()
    limits: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    invalid: tuple[str, ...] = ()
    drift: tuple[str, ...] = ()
    reused: tuple[str, ...] = ()
    policies: tuple[Policy, ...] = ()
    command: tuple[str, ...] = ("tokparity", "run")
    called: Mapping[str, str] = field(default_factory=dict)
