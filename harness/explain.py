"""One text put to the oracle and to every lane, stage by stage: what ``tokparity explain`` shows.

No verdict is given, so canaries and control are not asked first; a lane that cannot be asked is
named and the others are shown.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness import answers
from harness.ask import Asker, together
from harness.build import Probe, build
from harness.config import Config
from harness.doctor import require
from harness.errors import InstrumentInvalid, LaneUnavailable, UsageError
from harness.lane import Lane
from harness.oracle import Oracle
from harness.outcomes import Status
from harness.places import writable
from harness.plan import Lanes, find_corpora, find_tokenizers, plan_lanes
from harness.plural import counted
from harness.report.explanation import (
    ORACLE,
    STAGES,
    Added,
    Answer,
    Column,
    Explanation,
    columns,
)
from harness.report.words import token
from harness.requests import pieces
from harness.scratch import scratch
from harness.store import Store
from harness.tokenizers import TokenizerFile
from harness.watch import Watch


@dataclass(frozen=True)
class Asked:
    """What one lane answered: by operation, without what it does not offer, or why it did not."""

    answers: Mapping[str, Answer]
    silent: tuple[str, ...] = ()
    broken: str | None = None


def explain(
    config: Config, case: str | None, data: bytes | None, watch: Watch | None = None
) -> tuple[list[Explanation], LaneUnavailable | None]:
    """Return one explanation a tokenizer, and why a lane is missing from them, or None.

    ``case`` is ``corpus/id``; without it ``data`` is the text. Raises the error of whatever is
    missing or malformed, and of a lane where none could be asked.
    """
    watch = watch or Watch()
    lanes, tokenizers = plan_lanes(config), find_tokenizers(config)
    text = _case(config, case) if data is None else data
    require(lanes.all, lanes.toolchains, lanes.host)
    writable(config.cache, "cache", "name another directory with --cache DIR or $TOKPARITY_CACHE")
    watch.stage(f"building {config.subject.name} for {counted(len(lanes.all), 'lane')}", None)
    built = build(
        config.subject,
        lanes.all,
        lanes.toolchains,
        cache=config.cache,
        host_arch=lanes.host,
        jobs=config.jobs,
        say=watch.say,
    )
    probes = [probe for probe in built.probes.values() if isinstance(probe, Probe)]
    failures = [one for one in built.probes.values() if isinstance(one, LaneUnavailable)]
    if not probes:
        raise failures[0]
    with scratch(config.cache) as own:
        asker = Asker(config, lanes, Store(config.cache), own)
        found = [_explained(config, lanes, asker, one, case, text, probes) for one in tokenizers]
    missing = {
        lane.name: one.what.splitlines()[0]
        for lane, one in built.probes.items()
        if isinstance(one, LaneUnavailable)
    }
    shown = [replace(one, broken={**missing, **one.broken}) for one in found]
    return shown, failures[0] if failures else None


def _case(config: Config, name: str | None) -> bytes:
    if name is None:
        raise UsageError("there is no text to explain", expected="CORPUS/ID, --text or --hex")
    for corpus in find_corpora(replace(config, cases=(name,))):
        for known, case in zip(corpus.case_ids, corpus.cases, strict=True):
            if known == name:
                return case.data
    raise UsageError(f"there is no case '{name}'", expected="CORPUS/ID")


def _explained(
    config: Config,
    lanes: Lanes,
    asker: Asker,
    tokenizer: TokenizerFile,
    case: str | None,
    data: bytes,
    probes: Sequence[Probe],
) -> Explanation:
    oracle = Oracle.load(tokenizer.path)

    def ask(probe: Probe, cancel: threading.Event) -> Asked:
        del cancel
        return _asked(asker, probe, tokenizer, data)

    asked = dict(zip([p.lane for p in probes], together(ask, probes, config.jobs), strict=True))
    _anybody(asked)
    # The control first: where the oracle has no word the others are held against it.
    order = sorted(asked, key=lambda lane: lane != lanes.control)
    told = columns(
        _by_oracle(oracle, data),
        {lane.name: asked[lane].answers for lane in order if asked[lane].broken is None},
    )
    description = oracle.description
    tokens = _tokens(oracle, told, description)
    return Explanation(
        tokenizer=tokenizer.name,
        case=case,
        data=data,
        columns=told,
        added=_added(description, told),
        silent={lane.name: one.silent for lane, one in asked.items() if one.silent},
        broken={lane.name: one.broken for lane, one in asked.items() if one.broken is not None},
        tokens=tokens,
    )


def _anybody(asked: Mapping[Lane, Asked]) -> None:
    broken = {lane: one.broken for lane, one in asked.items() if one.broken is not None}
    if len(broken) == len(asked):
        lane, why = next(iter(broken.items()))
        raise InstrumentInvalid(str(why), where=lane.name, expected="a hello that fits the lane")


def _asked(asker: Asker, probe: Probe, tokenizer: TokenizerFile, data: bytes) -> Asked:
    try:
        with asker.session(probe, tokenizer) as session:
            hello = session.hello
            refused = hello.refused is not None or hello.error is not None
            offered = STAGES if refused else tuple(s for s in STAGES if s in hello.operations)
            found = {one: _answer(one, session.ask(one, data)) for one in offered}
    except (InstrumentInvalid, LaneUnavailable) as error:
        return Asked({}, broken=error.what)
    return Asked(found, silent=tuple(one for one in STAGES if one not in found))


def _answer(operation: str, answer: answers.Answer) -> Answer:
    status = Status(answer.status).name.lower()
    if answer.status != Status.OK:
        return Answer(status, (), answer.note)
    if operation == "normalize":
        return Answer(status, (bytes(answer.values.tolist()),))
    if operation == "pretokenize":
        return Answer(status, tuple(pieces(answer.values)))
    return Answer(status, tuple(answer.values.tolist()))


def _by_oracle(oracle: Oracle, data: bytes) -> dict[str, Answer] | None:
    """Return the oracle's answers; None for bytes that are not UTF-8."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    plain, special = oracle.encode_both([text])
    found = {
        "normalize": Answer("ok", (oracle.normalize(text).encode("utf-8", "surrogatepass"),)),
        "pretokenize": Answer(
            "ok",
            tuple(
                piece.encode("utf-8", "surrogatepass")
                for piece in oracle.pretokenize(text)
                if piece
            ),
        ),
    }
    for operation, outcomes in (("encode", plain), ("encode_special", special)):
        status = Status(outcomes.status[0]).name.lower()
        found[operation] = Answer(status, tuple(outcomes.answer(0).tolist()), outcomes.notes.get(0))
    return found


def _ids(told: Sequence[Column]) -> list[int]:
    return sorted(
        {
            value
            for column in told
            for operation in ("encode", "encode_special")
            if operation in column.answers
            for value in column.answers[operation].values
            if isinstance(value, int)
        }
    )


def _tokens(
    oracle: Oracle, told: Sequence[Column], description: Mapping[str, Any]
) -> dict[int, dict[str, Any]]:
    decoder = repr(description.get("decoder"))
    ids = _ids(told)
    return {
        one: token(
            one,
            piece,
            byte_level="ByteLevel" in decoder,
            byte_fallback="ByteFallback" in decoder,
            metaspace="Metaspace" in decoder or "▁" in decoder,
        )
        for one, piece in zip(ids, oracle.tokens(ids), strict=True)
    }


def _added(description: Mapping[str, Any], told: Sequence[Column]) -> tuple[Added, ...]:
    """Return the added tokens whose ids stand in an answer without special tokens."""
    found = []
    for one in description.get("added_tokens") or ():
        by = [
            "the " + ORACLE if column.oracle else column.name
            for column in told
            if "encode" in column.answers and one["id"] in column.answers["encode"].values
        ]
        if by:
            found.append(
                Added(
                    id=one["id"],
                    content=one["content"],
                    special=bool(one.get("special")),
                    by=tuple(by),
                )
            )
    return tuple(found)
