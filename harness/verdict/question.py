"""One operation asked of one tokenizer on every lane, and what each case came to."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from harness.attribute import Attribution, BytePolicy, agreed
from harness.diff import differs
from harness.isolate import Separation, induced
from harness.outcomes import Outcomes, Status


class Grade(IntEnum):
    """What one case came to on one lane; the larger is the worse where operations differ."""

    PASS = 0
    UNGRADED = 1
    XFAIL = 2
    UNSUPPORTED = 3
    UNRESOLVED = 4
    XPASS = 5
    FAIL = 6
    TIMEOUT = 7
    CRASH = 8


Grades = npt.NDArray[np.uint8]

_BY_STATUS = {
    Status.CRASH: Grade.CRASH,
    Status.TIMEOUT: Grade.TIMEOUT,
    Status.UNSUPPORTED: Grade.UNSUPPORTED,
    Status.UNRESOLVED: Grade.UNRESOLVED,
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Question:
    """One operation asked of one tokenizer on every lane, with what was found out about it.

    ``cases`` are global ids, ``corpus/id``; ``data`` their bytes; ``expected`` the oracle's
    answers, ``UNGRADED`` where it has none; ``observed`` the answers of every lane that was asked,
    each of the same n cases. A lane that refused the tokenizer has ``UNSUPPORTED`` for every case;
    a lane that is not to be believed is left out. ``token_text`` returns a token's vocabulary
    entry, ``byte_level`` says that entries are written in the byte alphabet.
    """

    tokenizer: str
    operation: str
    cases: tuple[str, ...]
    data: Sequence[bytes]
    expected: Outcomes
    observed: Mapping[str, Outcomes]
    separations: Sequence[Separation] = ()
    attribution: Attribution | None = None
    byte_policy: BytePolicy | None = None
    repeats: Mapping[str, Sequence[int]] = field(default_factory=lambda: MappingProxyType({}))
    token_text: Callable[[int], str | None] | None = None
    byte_level: bool = False

    def reference_lane(self, control: str | None) -> str:
        """Return the lane that others are held against where the oracle has no word."""
        if control is not None and control in self.observed:
            return control
        return next(iter(self.observed))

    def reference(self, control: str | None) -> Outcomes:
        """Return what lanes are held against where the oracle has no word; holes are filled."""
        first = self.reference_lane(control)
        return agreed({first: self.observed[first], **self.observed})


def grades(question: Question, control: str | None) -> Grades:
    """Return uint8[lanes, n], what every case came to on every lane, deviations not yet considered.

    Where the oracle has no word, lanes are held against the control, and a lane that differs from
    it fails. A case that a lane answers in two ways fails on that lane whatever the first answer.
    """
    expected = question.expected
    graded = expected.status == Status.OK
    split = induced(question.separations, len(expected)) & ~graded
    reference = question.reference(control)
    found = np.full((len(question.observed), len(expected)), Grade.FAIL, dtype=np.uint8)
    for row, (lane, answers) in zip(found, question.observed.items(), strict=True):
        row[graded & ~differs(expected, answers)] = Grade.PASS
        row[~graded] = Grade.UNGRADED
        row[split & differs(reference, answers)] = Grade.FAIL
        row[np.asarray(question.repeats.get(lane, ()), dtype=np.int64)] = Grade.FAIL
        for status, grade in _BY_STATUS.items():
            row[answers.status == status] = grade
    return found
