"""The suspected changes, a file a stage; each is one change to the input or to the tokenizer.

Adding one: give it a name, a summary and a pure change in its stage's file, list the name in that
file's ``NAMES``, and write its heading in ``docs/attribution.md``.
"""

from collections.abc import Sequence

from harness.hypotheses import input as input_stage
from harness.hypotheses import normalizer, pre_tokenizer
from harness.hypotheses.hypothesis import Description, Hypothesis, combine

__all__ = ["NAMES", "Description", "Hypothesis", "can_show", "combine", "proposed"]

NAMES: tuple[str, ...] = (*normalizer.NAMES, *input_stage.NAMES, *pre_tokenizer.NAMES)


def proposed(
    description: Description, cases: Sequence[bytes], mismatching: Sequence[int]
) -> tuple[Hypothesis, ...]:
    """Return every hypothesis that can be tested here, in the order in which ties are named.

    A hypothesis that changes nothing for this tokenizer (NFC in place of NFC) or for these cases
    (NUL ends the text, and no case holds one) is not among them. Parameters are inferred from the
    cases at the indices ``mismatching``.
    """
    return (
        *normalizer.proposed(description),
        *input_stage.proposed(cases),
        *pre_tokenizer.proposed(cases, mismatching),
    )


def can_show(name: str, description: Description, cases: Sequence[bytes]) -> bool:
    """Whether these cases could show the hypothesis ``name`` of a subject that has it."""
    if name in pre_tokenizer.NAMES:
        return pre_tokenizer.can_show(cases)
    return any(one.name == name for one in proposed(description, cases, ()))
