"""The suspected changes, a file a stage; each is one change to the input or to the tokenizer.

Adding one: give it a name, a summary and a pure change in its stage's file, list the name in that
file's ``NAMES``, and write its heading in ``docs/attribution.md``.

A stage's file offers ``NAMES``, ``PARAMETERS`` (the keys that a name may have), ``proposed(seen)``,
and ``can_show(name, seen)`` for the names whose parameters are inferred from mismatching cases.
"""

from collections.abc import Mapping
from types import MappingProxyType, ModuleType

from harness.hypotheses import added_tokens, model, normalizer, post_processor, pre_tokenizer
from harness.hypotheses import input as input_stage
from harness.hypotheses.hypothesis import Description, Hypothesis, combine
from harness.hypotheses.seen import Seen

__all__ = [
    "NAMES",
    "PARAMETERS",
    "Description",
    "Hypothesis",
    "Seen",
    "can_show",
    "combine",
    "proposed",
]

# In the order in which ties are named.
_STAGES: tuple[ModuleType, ...] = (
    normalizer,
    input_stage,
    added_tokens,
    pre_tokenizer,
    model,
    post_processor,
)
NAMES: tuple[str, ...] = tuple(name for stage in _STAGES for name in stage.NAMES)
# Every name, with the keys of the parameters that it may be proven with.
PARAMETERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {name: tuple(stage.PARAMETERS.get(name, ())) for stage in _STAGES for name in stage.NAMES}
)


def proposed(seen: Seen) -> tuple[Hypothesis, ...]:
    """Return every hypothesis that can be tested here, in the order in which ties are named.

    A hypothesis that changes nothing for this tokenizer (NFC in place of NFC) or for these cases
    (NUL ends the text, and no case holds one) is not among them. Parameters are inferred from the
    mismatching cases.
    """
    return tuple(one for stage in _STAGES for one in stage.proposed(seen))


def can_show(name: str, seen: Seen) -> bool:
    """Whether these cases could show the hypothesis ``name`` of a subject that has it."""
    for stage in _STAGES:
        if name in stage.NAMES and hasattr(stage, "can_show"):
            return bool(stage.can_show(name, seen))
    return any(one.name == name for one in proposed(seen))
