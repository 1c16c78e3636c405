"""The ``deviations:`` of a configuration file; every mistake is answered with its key."""

from collections.abc import Collection, Sequence
from itertools import combinations

from pydantic import Field

from harness.errors import UsageError
from harness.hypotheses import NAMES
from harness.isolate import PLATFORM_PREFIX, axes_read, cause_of
from harness.validated import Strict, did_you_mean
from harness.verdict import DECLARABLE_NAMES, Deviation, declarable, parameters_known
from harness.verdict.deviation import AND

_REMEDY = "the causes are listed in docs/attribution.md"


class DeviationModel(Strict):
    """One declared deviation; ``hypothesis`` is another word for ``cause``."""

    cause: str | None = None
    hypothesis: str | None = None
    subject: str = "*"
    parameters: dict[str, str | int] = Field(default_factory=dict)
    tokenizers: list[str] = Field(default_factory=lambda: ["*"])
    lanes: list[str] = Field(default_factory=lambda: ["*"])
    reason: str
    link: str | None = None


def deviations_of(
    models: Sequence[DeviationModel], where: str, axes: Collection[str]
) -> tuple[Deviation, ...]:
    """Return what a file at ``where`` declares; ``axes`` are those that lanes have.

    Raises :class:`UsageError` naming the key: of no cause or two, a cause or a parameter that there
    is not, no reason, and of a deviation that is declared already.
    """
    found: list[Deviation] = []
    places: dict[object, str] = {}
    for index, model in enumerate(models):
        place = f"deviations[{index}]"
        one = _deviation(model, f"{where}: {place}", axes)
        first = places.setdefault(_identity(one), place)
        if first != place:
            raise UsageError(
                f"declares {one.label} as {first} does already, of the same subject, tokenizers "
                "and lanes",
                where=f"{where}: {place}",
                remedy="leave one of the two out",
            )
        found.append(one)
    return tuple(found)


def _identity(one: Deviation) -> object:
    """Return what two declarations of the same thing are alike in: all but the words for it."""
    globs = (frozenset(one.tokenizers), frozenset(one.lanes))
    return one.parts, one.subject, frozenset(one.parameters), globs


def _deviation(model: DeviationModel, where: str, axes: Collection[str]) -> Deviation:
    given = [name for name in (model.cause, model.hypothesis) if name is not None]
    if len(given) != 1:
        raise UsageError(
            "names two causes" if given else "names no cause",
            where=where,
            expected="exactly one of cause and hypothesis",
        )
    key = "cause" if model.cause is not None else "hypothesis"
    [cause] = given
    if not model.reason.strip():
        raise UsageError(
            "is empty", where=f"{where}.reason", expected="why this divergence is accepted"
        )
    if not declarable(cause, axes):
        raise _no_cause(cause, f"{where}.{key}", axes)
    for name in model.parameters:
        if name not in parameters_known(cause):
            raise _no_parameter(name, cause, f"{where}.parameters.{name}")
    return Deviation(
        cause=cause,
        subject=model.subject,
        tokenizers=tuple(model.tokenizers),
        lanes=tuple(model.lanes),
        parameters=tuple((name, str(value)) for name, value in model.parameters.items()),
        reason=model.reason,
        link=model.link,
    )


def _no_cause(cause: str, where: str, axes: Collection[str]) -> UsageError:
    parts = cause.split(AND)
    if len(parts) > 1:
        return _no_combination(cause, parts, where)
    if cause.startswith(PLATFORM_PREFIX):
        return _no_platform(cause, where, axes)
    return UsageError(
        f"'{cause}' is no cause",
        where=where,
        expected=_meant(cause, DECLARABLE_NAMES) or ", ".join(DECLARABLE_NAMES),
        remedy=_REMEDY,
    )


def _no_platform(cause: str, where: str, axes: Collection[str]) -> UsageError:
    """Say which axes there are; where these are axes, by which name their cause goes."""
    words = cause.removeprefix(PLATFORM_PREFIX)
    named = next((cause_of(own) for own in axes_read(words, axes)), None)
    why = f"'{words}' names no set of axes"
    if named is not None:
        why = "the cause that is a function of these axes has another name"
    # The prefix is what all of them begin with, and so says nothing of which is near.
    near = {"-".join(own): cause_of(own) for n in (1, 2) for own in combinations(axes, n)}
    close = did_you_mean(words, list(near))
    meant = named or (None if close is None else near[close])
    return UsageError(
        f"'{cause}' is no cause: {why}",
        where=where,
        expected=f"axes joined by -, of {', '.join(axes)}"
        if meant is None
        else f"did you mean '{meant}'?",
        remedy=_REMEDY,
    )


def _no_combination(cause: str, parts: Sequence[str], where: str) -> UsageError:
    """Say which part of ``a+b`` it is: not known, known and no hypothesis, or there twice."""
    unknown = next((part for part in parts if part not in NAMES), None)
    if unknown is None:
        twice = next(part for part in parts if parts.count(part) > 1)
        return UsageError(
            f"'{cause}' is no cause: '{twice}' stands in it twice",
            where=where,
            expected="hypotheses that differ, joined by +",
        )
    speaks = unknown in DECLARABLE_NAMES
    return UsageError(
        f"'{cause}' is no cause: its part '{unknown}' is no hypothesis",
        where=where,
        expected=None if speaks else _meant(unknown, NAMES) or "hypotheses joined by +",
        remedy="declare it by itself; only hypotheses are proven together" if speaks else _REMEDY,
    )


def _no_parameter(name: str, cause: str, where: str) -> UsageError:
    known = parameters_known(cause)
    if not known:
        return UsageError(
            f"{cause} has no parameter '{name}', nor any other",
            where=where,
            remedy="leave it out",
        )
    whole = [one for one in known if one.endswith(f".{name}")]
    return UsageError(
        f"{cause} has no parameter '{name}'",
        where=where,
        expected=f"one of {', '.join(known)}",
        remedy=f"did you mean '{whole[0]}'?" if whole else _meant(name, known),
    )


def _meant(word: str, known: Sequence[str]) -> str | None:
    close = did_you_mean(word, list(known))
    return None if close is None else f"did you mean '{close}'?"
