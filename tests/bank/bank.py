"""The bank: which subject has which defect planted, and what a run made of it.

``bank.yaml`` is the list. Each entry is put through the whole pipeline, on the native lane alone,
for no architecture plays a part in it, and what the run names is held against what was planted.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import yaml

from harness.config import Overrides, resolve
from harness.outcomes import Operation
from harness.pipeline import run
from harness.places import bundled
from harness.report.model import Finding, Report
from harness.subject import Subject
from harness.tokenizers import cached_path, sources
from harness.verdict.claims import UNEXPLAINED

HERE = Path(__file__).resolve().parent
PROBE = HERE / "probe.py"
CORPUS = HERE / "corpus.jsonl"
TOKENIZERS = HERE / "tokenizers"
BOTH: tuple[Operation, ...] = ("encode", "encode_special")
KINDS = ("single", "pair", "triple", "outside", "healthy", "policy")
# Of those in which nothing is planted: of the bank's own tokenizers, and of real ones.
HEALTHY = ("healthy", "real")


@dataclass(frozen=True)
class Entry:
    """One subject of the bank: ``plant`` as the probe is told it, on one tokenizer.

    ``causes`` are the names that a run should find, all of them together; none for a healthy
    subject and for a defect that no list has. ``parameters`` must stand in the evidence, and
    ``policy`` is what should be said of bytes that are not UTF-8. ``operations`` are those asked.
    """

    kind: str
    plant: tuple[str, ...]
    tokenizer: str
    causes: frozenset[str] = frozenset()
    parameters: Mapping[str, str | int] = field(default_factory=dict, hash=False)
    policy: str | None = None
    operations: tuple[Operation, ...] = BOTH

    @property
    def planted(self) -> str:
        """What is planted, in one word."""
        return " + ".join(self.plant)

    @property
    def name(self) -> str:
        """What is planted and where, as tests and tables call it."""
        return f"{self.planted} on {self.tokenizer}"


class Grade(StrEnum):
    """What a run made of an entry."""

    NAMED = "named"
    TIED = "tied"
    PARTLY = "partly named"
    UNEXPLAINED = "unexplained"
    SILENT = "no finding"
    WRONG = "wrong"


@dataclass(frozen=True)
class Result:
    """An entry's grade, and the words that the run had for it; ``ties`` are those it could be."""

    entry: Entry
    grade: Grade
    named: tuple[str, ...]
    ties: tuple[str, ...] = ()


def entries() -> list[Entry]:
    """Return the whole bank, in the order of ``bank.yaml``."""
    listed = yaml.safe_load((HERE / "bank.yaml").read_text(encoding="utf-8"))
    return [entry for kind in KINDS for line in listed[kind] for entry in _entries(kind, line)]


def real(cache: Path) -> tuple[list[Entry], tuple[str, ...]]:
    """Return the healthy subjects on the real tokenizers in ``cache``, and the names it lacks.

    They are no part of the bank, for these tokenizers are fetched, and take their time.
    """
    ways = dict.fromkeys(entry.plant for entry in entries() if entry.kind == "healthy")
    named = [one for one in sources(bundled("goldens")).values() if one.pinned.package]
    fetched = {one.name: cached_path(one, cache).is_file() for one in named}
    found = [Entry("real", way, name) for name, there in fetched.items() if there for way in ways]
    return found, tuple(name for name, there in fetched.items() if not there)


def _entries(kind: str, line: Mapping[str, Any]) -> list[Entry]:
    plants = line["plant"] if isinstance(line["plant"], list) else [line["plant"]]
    names = frozenset(one.partition("=")[0] for one in plants)
    return [
        Entry(
            kind,
            tuple(plants),
            tokenizer,
            names if kind in {"single", "pair", "triple"} else frozenset(line.get("causes", ())),
            line.get("parameters", {}),
            line.get("policy"),
            # Whatever explains nothing is the longest search; once is enough where both are alike.
            tuple(line.get("operations", BOTH[:1] if kind == "outside" else BOTH)),
        )
        for tokenizer in line["where"]
    ]


def asked(entry: Entry, cache: Path) -> Result:
    """Put an entry through the pipeline, and grade what it names."""
    config = resolve(None, Overrides(cache=cache, jobs=1))
    own = TOKENIZERS / f"{entry.tokenizer}.json"
    words = tuple(word for one in entry.plant for word in ("--defect", one))
    report = run(
        replace(
            config,
            subject=Subject(name="bank", command=(sys.executable, str(PROBE)), args=words),
            tokenizers=(str(own) if own.is_file() else entry.tokenizer,),
            corpora=(*config.corpora, str(CORPUS)),
            operations=entry.operations,
        )
    )
    return graded(entry, report)


def graded(entry: Entry, report: Report) -> Result:
    """Hold what a run names against what was planted; the worst of its findings counts."""
    unproven = [words for words in report.invalid if "no proven cause says why" in words]
    said = [(_words(one), *_grade(entry, one)) for one in report.findings]
    said += [(UNEXPLAINED, Grade.UNEXPLAINED, _NONE) for _ in unproven]
    said += [(words, Grade.WRONG, _NONE) for words in report.invalid if words not in unproven]
    if entry.policy is not None:
        said += [
            (str(one.name), Grade.NAMED if one.name == entry.policy else Grade.WRONG, _NONE)
            for one in report.policies
        ]
    if not said:
        return Result(entry, Grade.SILENT, ())
    order = list(Grade)
    worst = max((grade for _, grade, _ in said), key=order.index)
    if worst in {Grade.NAMED, Grade.TIED} and frozenset().union(*(own for _, _, own in said)) < (
        entry.causes
    ):
        worst = Grade.PARTLY
    ties = [tie for one in report.findings for tie in one.evidence.get("ties", ())]
    return Result(
        entry,
        worst,
        tuple(dict.fromkeys(words for words, _, _ in said)),
        tuple(dict.fromkeys(ties)),
    )


_NONE: frozenset[str] = frozenset()


def _words(finding: Finding) -> str:
    return str(finding.evidence.get("hypothesis", finding.cause))


def _grade(entry: Entry, finding: Finding) -> tuple[Grade, frozenset[str]]:
    """Return the grade of one finding, and which of the planted causes it names.

    A finding speaks of one operation, in which of two causes only one may show: to name that one
    is right, as long as another finding names both.
    """
    if finding.cause == UNEXPLAINED:
        return Grade.UNEXPLAINED, _NONE
    held = finding.evidence.get("parameters", {})
    named = _names(str(finding.cause))
    right = all(
        held.get(key) == value
        for key, value in entry.parameters.items()
        if named == entry.causes or key in held
    )
    if named <= entry.causes and right:
        return Grade.NAMED, named
    ties: Sequence[str] = finding.evidence.get("ties", ())
    wanted = [f"{key} {value}" for key, value in entry.parameters.items()]
    for tie in ties:
        if _names(tie) <= entry.causes and all(words in tie for words in wanted):
            return Grade.TIED, _names(tie)
    return Grade.WRONG, _NONE


def _names(label: str) -> frozenset[str]:
    """Return the names in a label, ``a+b (a.n 3)``."""
    return frozenset(label.partition(" (")[0].split("+"))
