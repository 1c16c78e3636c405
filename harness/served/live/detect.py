"""Which kind of server answers, by asking it: the models that it serves, then who it is.

Pure, given ``get``. What the server says of itself is kept as evidence, and its list of models is
what the user's own ``--model`` is held against.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from harness.errors import LaneUnavailable, UsageError
from harness.served.live.dialects import DIALECTS, Dialect
from harness.served.live.dialects.reading import Json, complaint, count, loaded, member
from harness.served.live.signs import Get, Recognised, asked, recognised
from harness.served.live.values import Reply
from harness.validated import did_you_mean

_MODELS = "/v1/models"
_SHOWN = 12  # models named in an error; a gateway serves hundreds

Rows = Mapping[str, Mapping[str, Json]]


@dataclass(frozen=True)
class Detected:
    """A server and how to speak with it.

    ``model`` is the name to send, None where none is needed; ``models`` are those served, empty
    where the server tells none; ``context`` is the limit of prompt and output together in tokens
    and ``version`` the server's own, both None where untold. ``notes`` say where the dialect that
    the user named contradicts what the server shows.
    """

    dialect: Dialect
    model: str | None
    evidence: tuple[str, ...]
    models: tuple[str, ...] = ()
    context: int | None = None
    version: str | None = None
    notes: tuple[str, ...] = ()


def detect(get: Get, *, dialect: str | None = None, model: str | None = None) -> Detected:
    """Return what kind of server answers to ``get``, which asks for a path below its URL.

    ``dialect`` and ``model`` are the user's own words for them. Raises :class:`UsageError` for an
    unknown dialect, for a model that is not served, and where several are served and none is named;
    :class:`LaneUnavailable` where nothing answers, or nothing that is known at any path, or the
    server wants a key or is not ready.
    """
    if dialect is not None and dialect not in DIALECTS:
        raise UsageError(
            f"unknown dialect '{dialect[:60]}'",
            expected=", ".join(DIALECTS),
            remedy=_meant(dialect.lower(), list(DIALECTS)),
        )
    told: dict[str, int | None] = {}

    def looked(path: str) -> Reply:
        reply = get(path)
        told[path] = reply.status
        return reply

    rows = _served(_answered(looked(_MODELS)))
    owners = {row["owned_by"] for row in rows.values() if isinstance(row.get("owned_by"), str)}
    found = recognised(looked, owners, dialect)
    if dialect is None and set(told.values()) == {404}:
        raise _nothing_known(list(told))
    chosen = _model(rows, model)
    return Detected(
        dialect=found.dialect,
        model=chosen,
        evidence=found.evidence,
        models=tuple(rows),
        context=_context(get, found, rows, chosen),
        version=found.version,
        notes=found.notes,
    )


def _nothing_known(paths: list[str]) -> LaneUnavailable:
    """Return the error for an address where each path that some server has is unknown."""
    return LaneUnavailable(
        f"nothing known answers at this address: 404 at {', '.join(paths)}",
        expected="the URL below which a server has these paths",
        remedy="is the path of the URL right? For a server that has none of them, say how it"
        " speaks: --dialect openai",
    )


def _answered(reply: Reply) -> Json:
    """Return the list of models as JSON; a server without one is none the worse for it."""
    if reply.status is None or reply.failure is not None:
        raise LaneUnavailable(
            f"the server does not answer: {reply.failure or 'no reason given'}",
            expected="a server that speaks HTTP at the URL given",
        )
    value = loaded(reply.body)
    words = complaint(value) or f"HTTP {reply.status}"
    if reply.status in (401, 403):
        raise LaneUnavailable(
            f"the server wants a key: {words}",
            remedy="put the key into an environment variable and name that: --key-env NAME",
        )
    if reply.status == 503:
        raise LaneUnavailable(
            f"the server is not ready: {words}", remedy="wait until it has loaded its model"
        )
    return value if reply.status == 200 else None


def _served(value: Json) -> Rows:
    """Return the models by name, in the server's order."""
    rows = member(value, "data")
    return {
        row["id"]: row
        for row in (rows if isinstance(rows, list) else ())
        if isinstance(row, dict) and isinstance(row.get("id"), str)
    }


def _model(rows: Rows, given: str | None) -> str | None:
    names = list(rows)
    if given is not None:
        if not names or given in _names(rows):
            return given
        raise UsageError(
            f"the server does not serve the model '{given[:80]}'",
            expected=_listed(names),
            remedy=_meant(given, names),
        )
    if len({_root(row) for row in rows.values()}) > 1:
        raise UsageError(
            f"the server serves {len(names)} models, and none is named",
            expected=_listed(names),
            remedy="--model NAME",
        )
    return names[0] if names else None


def _names(rows: Rows) -> set[str]:
    """Return every name that a server takes: llama.cpp's aliases, Ollama's without its tag."""
    lists = (row.get("aliases") for row in rows.values())
    aliases = {
        one for some in lists if isinstance(some, list) for one in some if isinstance(one, str)
    }
    return set(rows) | {name.removesuffix(":latest") for name in rows} | aliases


def _root(row: Mapping[str, Json]) -> str:
    """Return the model that a name stands for: vLLM serves one under several names."""
    told = row.get("root")
    return told if isinstance(told, str) and told else str(row["id"])


def _context(get: Get, found: Recognised, rows: Rows, chosen: str | None) -> int | None:
    told = found.context
    if found.kind == "ollama":
        told = _loaded_context(get, chosen)
    row = {} if chosen is None else rows.get(chosen, {})
    for one in (told, row.get("max_model_len"), member(row.get("meta"), "n_ctx")):
        known = count(one, "context", [])
        if known:
            return known
    return None


def _loaded_context(get: Get, chosen: str | None) -> Json:
    """Return the context that Ollama has loaded a model with, None while it is not loaded."""
    rows = member(asked(get, "/api/ps"), "models")
    for row in rows if isinstance(rows, list) else ():
        if chosen is not None and chosen in (member(row, "name"), member(row, "model")):
            return member(row, "context_length")
    return None


def _listed(names: list[str]) -> str:
    shown = ", ".join(name[:80] for name in names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"


def _meant(word: str, known: list[str]) -> str | None:
    close = did_you_mean(word, known)
    return None if close is None else f"did you mean '{close}'?"
