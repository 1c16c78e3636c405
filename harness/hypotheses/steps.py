r"""A pre-tokenizer as a row of plain steps, so that one of them can be changed and the rest stays.

Sequences are laid out flat, and ``ByteLevel`` is taken apart into what it does one after another:
a space put first (a ``Metaspace`` whose sign is the space itself), the GPT-2 pattern as a Split,
and the spelling of bytes.
"""

from collections.abc import Callable, Mapping
from typing import Any

from harness.hypotheses.hypothesis import Description
from harness.hypotheses.patterns import GPT2, PATTERNS
from harness.hypotheses.rewriting import Rewriting

Step = Mapping[str, Any]
Steps = tuple[Step, ...]
Change = Callable[[Steps], Steps]

_PUBLISHED = frozenset(pattern for own in PATTERNS.values() for pattern in own)
# What a Digits step takes for a digit: the library's own classes are older than its language's.
DIGIT = r"[\p{N}\x{11DE0}-\x{11DE9}\x{16FF4}-\x{16FF6}]"


def split(pattern: str, behavior: str = "Isolated") -> Step:
    """Return the step that takes each match of a regular expression for a word."""
    return {
        "type": "Split",
        "pattern": {"Regex": pattern},
        "behavior": behavior,
        "invert": False,
    }


def prefix(scheme: str = "always") -> Step:
    """Return the step that puts a space before what does not begin with one.

    ``always`` does so to each piece it is given, ``first`` to the one at the text's beginning only.
    """
    return {"type": "Metaspace", "replacement": " ", "prepend_scheme": scheme, "split": False}


def flat(pre_tokenizer: Step | None) -> Steps:
    """Return the steps of a declared pre-tokenizer, none for None."""
    if pre_tokenizer is None:
        return ()
    kind = pre_tokenizer.get("type")
    if kind == "Sequence":
        inner = pre_tokenizer.get("pretokenizers") or []
        return tuple(step for one in inner for step in flat(one))
    if kind == "ByteLevel":
        first = (prefix(),) if pre_tokenizer.get("add_prefix_space", True) else ()
        words = (split(GPT2),) if pre_tokenizer.get("use_regex", True) else ()
        spelling = {**pre_tokenizer, "add_prefix_space": False, "use_regex": False}
        return (*first, *words, spelling)
    if kind == "Split" and _inverted(pre_tokenizer) and regex(pre_tokenizer) in _PUBLISHED:
        # A published pattern matches everything, so to remove what is between matches is nothing.
        return ({**pre_tokenizer, "behavior": "Isolated", "invert": False},)
    return (pre_tokenizer,)


def changing(change: Change) -> Callable[[Description], Description]:
    """Return the description change: its steps changed, itself where nothing changes."""

    def describe(description: Description) -> Description:
        steps = flat(description.get("pre_tokenizer"))
        after = change(steps)
        if after == steps:
            return description
        sequence = {"type": "Sequence", "pretokenizers": [dict(step) for step in after]}
        return {**description, "pre_tokenizer": sequence if after else None}

    return describe


def is_byte_level(steps: Steps) -> bool:
    """Whether the last step spells bytes."""
    return bool(steps) and steps[-1].get("type") == "ByteLevel"


def splits(step: Step) -> bool:
    """Whether a step divides text."""
    kind = step.get("type")
    return kind != "ByteLevel" and not (kind == "Metaspace" and step.get("split") is False)


def regex(step: Step) -> str | None:
    """Return the regular expression of a Split, None for another step or a plain string."""
    pattern = step.get("pattern")
    found = pattern.get("Regex") if isinstance(pattern, Mapping) else None
    return found if step.get("type") == "Split" and isinstance(found, str) else None


def rewritten(rewriting: Rewriting) -> Change:
    """Return the change of every pattern whose matches are the words."""

    def change(steps: Steps) -> Steps:
        return tuple(_rewritten(step, rewriting, whole=is_byte_level(steps)) for step in steps)

    return change


def _rewritten(step: Step, rewriting: Rewriting, *, whole: bool) -> Step:
    pattern = regex(step)
    if pattern is None or not (step.get("behavior") == "Isolated" or _inverted(step)):
        return step
    after = rewriting(pattern)
    if after == pattern:
        return step
    found = {**step, "pattern": {"Regex": after}}
    # What the changed pattern no longer matches is a word of its own: bytes are never left out.
    return {**found, "behavior": "Isolated", "invert": False} if whole else found


def _inverted(step: Step) -> bool:
    return step.get("behavior") == "Removed" and step.get("invert") is True
