"""What it takes to ask again what a run has asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from harness.ask import Asker
from harness.build import Probe
from harness.errors import LaneUnavailable
from harness.evidence import Evidence
from harness.lane import Lane
from harness.plan import Plan
from harness.sessions import Sessions
from harness.verdict import Question
from harness.watch import Watch


@dataclass(frozen=True, kw_only=True)
class Rig:
    """A run's probes and what was found out with them; alive as long as the run's scratch is.

    ``unavailable`` says of lanes why they have no probe.
    """

    plan: Plan
    asker: Asker
    probes: Mapping[Lane, Probe]
    evidence: Sequence[Evidence]
    questions: Sequence[Question]
    unavailable: Mapping[Lane, LaneUnavailable] = field(default_factory=dict)
    watch: Watch = field(default_factory=Watch)

    def question(self, tokenizer: str, operation: str) -> Question | None:
        """Return what was found out about one operation of one tokenizer."""
        for one in self.questions:
            if (one.tokenizer, one.operation) == (tokenizer, operation):
                return one
        return None

    def evidence_on(self, tokenizer: str) -> Evidence:
        """Return what is known of one tokenizer; raises StopIteration for one that did not run."""
        return next(one for one in self.evidence if one.tokenizer.name == tokenizer)

    def sessions(self, one: Evidence, *, patience: float = 1.0) -> Sessions:
        """Return sessions of the lanes' probes, given ``patience`` times the time of the run."""
        probes = {lane.name: probe for lane, probe in self.probes.items()}
        return Sessions(
            lambda lane, cancel: self.asker.session(
                probes[lane], one.tokenizer, patience=patience, cancel=cancel
            ),
            self.plan.config.jobs,
        )
