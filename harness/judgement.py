"""From the evidence on each tokenizer to the questions the verdict answers.

Here the pure parts meet the oracle: ``attribute`` is handed callables, and the oracle is loaded
only when a difference has to be explained.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from harness.attribute import (
    Attribution,
    BytePolicy,
    Encode,
    agreed,
    attribute,
    byte_policy,
    judged,
)
from harness.diff import differs
from harness.evidence import Evidence
from harness.hypotheses import Description
from harness.hypotheses.seen import DecodeIds
from harness.isolate import Separation, separate
from harness.lane import Lane
from harness.oracle import Oracle, library_version
from harness.outcomes import Ids, Operation, Outcomes, Status
from harness.plan import Plan
from harness.store import Store, key
from harness.verdict import Question, declared_for

Axes = Mapping[str, Mapping[str, str]]


def questions(
    plan: Plan, evidence: Sequence[Evidence], candidates: Sequence[Lane], store: Store
) -> list[Question]:
    """Return one question for each tokenizer and operation that any lane could be asked.

    ``candidates`` are lanes that could be run besides, to separate axes that are confounded.
    """
    could_run = {lane.name: plan.lanes.axes(lane) for lane in candidates}
    return [
        _question(plan, one, operation, could_run, store)
        for one in evidence
        for operation in one.sheet.blocks
        if one.observed(operation)
    ]


def _question(
    plan: Plan, one: Evidence, operation: Operation, candidates: Axes, store: Store
) -> Question:
    block = one.sheet.blocks[operation]
    cases = plan.cases
    data = [cases[int(row)].data for row in block]
    names = plan.case_ids
    lanes = one.observed(operation)
    observed = {lane.name: outcomes for lane, outcomes in lanes.items()}
    expected = one.wanted(operation)
    repeats = one.repeats.get(operation, {})
    separations = separate(
        observed,
        {lane.name: plan.lanes.axes(lane) for lane in lanes},
        candidates=candidates,
        repeats=repeats,
    )
    policy, attribution = _explained(
        plan, one, operation, data, expected, observed, separations, store
    )
    return Question(
        tokenizer=one.tokenizer.name,
        operation=operation,
        cases=tuple(names[int(row)] for row in block),
        data=data,
        expected=expected,
        observed=observed,
        separations=separations,
        attribution=attribution,
        byte_policy=policy,
        repeats=repeats,
        token_text=lambda token: one.oracle().token(token),
        # Only a finding shows a token, so only then is the oracle worth loading.
        byte_level=bool(separations or attribution) and _byte_level(one.oracle),
    )


def _explained(
    plan: Plan,
    one: Evidence,
    operation: Operation,
    data: Sequence[bytes],
    expected: Outcomes,
    observed: Mapping[str, Outcomes],
    separations: Sequence[Separation],
    store: Store,
) -> tuple[BytePolicy | None, Attribution | None]:
    """Name the byte policy observed, and attribute what differs from the golden in every lane."""
    if operation == "decode":
        return None, None  # decoding is not a stage that a hypothesis changes
    seen = agreed(observed)
    encode = encoder(one.oracle)
    policy = _policy(one, operation, data, expected, seen, encode, store)
    mask = judged(expected, observed, separations)
    declared = declared_for(plan.config.deviations, one.tokenizer.name)
    if not declared and not (differs(expected, seen) & mask).any():
        return policy, None
    attribution = attribute(
        data,
        expected,
        seen,
        mask,
        description(one.oracle, special=operation == "encode_special"),
        encode,
        normalized=normalizer(one.oracle),
        declared=declared,
        policy=policy,
        decode_ids=decoder(one.oracle),
    )
    return policy, attribution


def _policy(
    one: Evidence,
    operation: Operation,
    data: Sequence[bytes],
    expected: Outcomes,
    seen: Outcomes,
    encode: Encode,
    store: Store,
) -> BytePolicy | None:
    """Find what the subject does with bytes that are not UTF-8; kept, for it costs an oracle."""
    ungraded = expected.status == Status.UNGRADED
    if not ungraded.any():
        return None
    answers = seen.take(np.flatnonzero(ungraded))
    digest = hashlib.sha256()
    for part in (answers.status, answers.offsets, answers.ids):
        digest.update(np.ascontiguousarray(part).tobytes())
    for row in np.flatnonzero(ungraded):
        one_case = data[int(row)]
        digest.update(len(one_case).to_bytes(8, "little") + one_case)
    name = key(
        what="byte-policy",
        library=library_version(),
        tokenizer=one.tokenizer.sha256,
        operation=operation,
        answers=digest.hexdigest(),
    )
    entry = store.get(name)
    if entry is not None:
        return BytePolicy(**entry.document)
    described = description(one.oracle, special=operation == "encode_special")
    policy = byte_policy(data, seen, ungraded, described, encode)
    if policy is not None:
        store.put(name, asdict(policy))
    return policy


def description(oracle: Callable[[], Oracle], *, special: bool) -> Description:
    """Return the tokenizer's description without its vocabulary and merges, which are large.

    ``special`` says whether special tokens are asked for, which a hypothesis may change too.
    """
    whole: dict[str, Any] = dict(oracle().description)
    whole["model"] = {
        field: value for field, value in whole["model"].items() if field not in ("vocab", "merges")
    }
    return {**whole, "asked": {"special": special}}


def encoder(oracle: Callable[[], Oracle]) -> Encode:
    """Return the oracle as ``attribute`` wants it: texts encoded under a changed description."""

    def encode(changed: Description, texts: Sequence[str]) -> Outcomes:
        special = changed["asked"]["special"]
        return oracle().described(changed).encode(list(texts), special=special)

    return encode


def normalizer(oracle: Callable[[], Oracle]) -> Callable[[Description, Sequence[str]], list[str]]:
    """Return the normalizer of a changed description, as ``attribute`` wants it."""

    def normalized(changed: Description, texts: Sequence[str]) -> list[str]:
        under = oracle().described(changed)
        return [under.normalize(text) for text in texts]

    return normalized


def decoder(oracle: Callable[[], Oracle]) -> DecodeIds:
    """Return what gives the text of ids, as bytes, special tokens included."""

    def decode(ids: Ids) -> bytes:
        [text] = oracle().decode([ids.tolist()])
        return text.encode("utf-8", "replace")

    return decode


def _byte_level(oracle: Callable[[], Oracle]) -> bool:
    return "ByteLevel" in repr(oracle().description.get("decoder"))
