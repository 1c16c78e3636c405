"""Changes to the special tokens that are put around the ids, where they are asked for.

BertProcessing and RobertaProcessing are rewritten as the templates that they stand for.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness.hypotheses.hypothesis import Description, Hypothesis
from harness.hypotheses.seen import Seen

Processor = Mapping[str, Any]
Template = Sequence[Mapping[str, Any]]

MISSING, DOUBLED, PAIR, ADDED = NAMES = (
    "special-tokens-missing",
    "special-tokens-doubled",
    "pair-template",
    "special-tokens-added",
)
PARAMETERS = {MISSING: ("side",), DOUBLED: ("side",)}
_FIRST = {"Sequence": {"id": "A", "type_id": 0}}
_SECOND = {"Sequence": {"id": "B", "type_id": 1}}


def _item(token: str) -> Mapping[str, Any]:
    return {"SpecialToken": {"id": token, "type_id": 0}}


def _templated(processor: Processor) -> Processor:
    """Return the processor as a template, where it has one; the very processor where not."""
    if processor.get("type") not in {"BertProcessing", "RobertaProcessing"}:
        return processor
    ends = [(content, number) for content, number in (processor["cls"], processor["sep"])]
    cls, sep = (_item(content) for content, _ in ends)
    between = [sep] if processor["type"] == "BertProcessing" else [sep, sep]
    return {
        "type": "TemplateProcessing",
        "single": [cls, _FIRST, sep],
        "pair": [cls, _FIRST, *between, _SECOND, sep],
        "special_tokens": {
            content: {"id": content, "ids": [number], "tokens": [content]}
            for content, number in ends
        },
    }


def _edited(
    processor: Processor | None, change: Callable[[Processor], Template]
) -> Processor | None:
    """Return the processor with each template's ``single`` as ``change`` has it.

    A processor in which nothing changes comes back as it is.
    """
    if processor is None:
        return None
    if processor.get("type") == "Sequence":
        inner = [_edited(one, change) for one in processor.get("processors") or []]
        return {**processor, "processors": inner}
    template = _templated(processor)
    if template.get("type") != "TemplateProcessing":
        return processor
    single = list(change(template))
    return processor if single == list(template["single"]) else {**template, "single": single}


def _singles(processor: Processor | None) -> list[Template]:
    if processor is None:
        return []
    if processor.get("type") == "Sequence":
        return [one for inner in processor.get("processors") or [] for one in _singles(inner)]
    template = _templated(processor)
    return [template["single"]] if template.get("type") == "TemplateProcessing" else []


def _sides(template: Template) -> list[str]:
    """Return for each item of a template whether it stands before the text or behind it."""
    text = [place for place, item in enumerate(template) if "Sequence" in item]
    return [
        "leading" if place < max(text, default=0) else "trailing" for place in range(len(template))
    ]


def _missing(side: str) -> Callable[[Processor], Template]:
    return lambda template: [
        item
        for item, own in zip(template["single"], _sides(template["single"]), strict=True)
        if "SpecialToken" not in item or own != side
    ]


def _doubled(side: str | None) -> Callable[[Processor], Template]:
    return lambda template: [
        copy
        for item, own in zip(template["single"], _sides(template["single"]), strict=True)
        for copy in ([item, item] if "SpecialToken" in item and side in (own, None) else [item])
    ]


def _of_pair(template: Processor) -> Template:
    return [
        item for item in template.get("pair") or [] if item.get("Sequence", {}).get("id") != "B"
    ]


def _with(change: Callable[[Processor], Template]) -> Callable[[Description], Description]:
    return lambda description: {
        **description,
        "post_processor": _edited(description.get("post_processor"), change),
    }


def _asked(special: bool) -> Callable[[Description], Description]:
    return lambda description: {**description, "asked": {"special": special}}


def proposed(seen: Seen) -> tuple[Hypothesis, ...]:
    """Return the changes to special tokens, where the post-processor adds any."""
    processor = seen.description.get("post_processor")
    sides = {
        side
        for single in _singles(processor)
        for side, item in zip(_sides(single), single, strict=True)
        if "SpecialToken" in item
    }
    if not sides:
        return ()
    if not (seen.description.get("asked") or {}).get("special"):
        summary = "special tokens are put around the text though none are asked for"
        return (Hypothesis(ADDED, "post-processor", summary, describe=_asked(True)),)
    found: list[Hypothesis] = []
    apart = sorted(sides) if len(sides) > 1 else []
    for side in apart:
        found.append(_hypothesis(MISSING, f"the {side} special tokens are missing", side))
    found.append(_hypothesis(MISSING, "special tokens are missing", None))
    for side in apart:
        found.append(_hypothesis(DOUBLED, f"the {side} special tokens come twice", side))
    found.append(_hypothesis(DOUBLED, "special tokens come twice", None))
    if _edited(processor, _of_pair) != processor:
        summary = "special tokens are put as for the first text of a pair"
        found.append(Hypothesis(PAIR, "post-processor", summary, describe=_with(_of_pair)))
    return tuple(found)


def _hypothesis(name: str, summary: str, side: str | None) -> Hypothesis:
    if name == DOUBLED:
        describe = _with(_doubled(side))
    else:
        describe = _asked(False) if side is None else _with(_missing(side))
    parameters = () if side is None else (("side", side),)
    return Hypothesis(name, "post-processor", summary, parameters, describe=describe)
