"""What the oracle gives for texts that no corpus holds: as it is, and under a proven hypothesis."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness import golden
from harness.evidence import Evidence
from harness.hypotheses import Hypothesis
from harness.hypotheses.answering import answers
from harness.hypotheses.input import POLICIES, RECOMMENDED
from harness.judgement import description, encoder
from harness.outcomes import Operation, Outcomes, Status
from harness.requests import Payload, decimals
from harness.signature import Foretold, lesser_than


@dataclass(frozen=True, kw_only=True)
class Foreteller:
    """The oracle for one tokenizer and operation, and for one hypothesis.

    ``policy`` names what becomes of bytes that the hypothesis leaves as no UTF-8.
    """

    one: Evidence
    operation: Operation
    hypothesis: Hypothesis | None = None
    policy: str = RECOMMENDED

    def foretell(self, texts: Sequence[bytes]) -> Foretold:
        """Return what the oracle gives, one outcome a text; ``UNGRADED`` where it has no word."""
        plain = self.plain(texts)
        if self.hypothesis is None:
            return Foretold(plain=plain)
        return Foretold(
            plain=plain,
            under=self._under(self.hypothesis, texts),
            lesser=[self._under(lesser, texts) for lesser in lesser_than(self.hypothesis)],
        )

    def plain(self, texts: Sequence[bytes]) -> Outcomes:
        """Return what the oracle gives, as it is."""
        return golden.answers(self.one.oracle(), _decoded(texts), [self.operation])[self.operation]

    def payloads(self, texts: Sequence[bytes]) -> list[Payload | None]:
        """Return what a probe is asked: the text, or the oracle's ids for it; None without any."""
        if self.operation != "decode":
            return list(texts)
        encoded = golden.answers(self.one.oracle(), _decoded(texts), ["encode"])["encode"]
        return [
            decimals(encoded.answer(row)) if status == Status.OK else None
            for row, status in enumerate(encoded.status.tolist())
        ]

    def _under(self, hypothesis: Hypothesis, texts: Sequence[bytes]) -> Outcomes:
        described = description(self.one.oracle, special=self.operation == "encode_special")
        encode = encoder(self.one.oracle)
        return answers(texts, hypothesis, described, encode, POLICIES[self.policy])


def _decoded(texts: Sequence[bytes]) -> list[str | None]:
    found: list[str | None] = []
    for one in texts:
        try:
            found.append(one.decode("utf-8"))
        except UnicodeDecodeError:
            found.append(None)
    return found


def only(outcomes: Outcomes, mask: Sequence[bool]) -> Outcomes:
    """Return the outcomes of the cases that the mask keeps."""
    return outcomes.take(np.flatnonzero(np.asarray(mask, dtype=np.bool_)))
