"""``tokparity served``: servers × prompts → rows → verdicts.

prompt file ─→ asks ─→ clients (what we count) ──┐
server ─→ detected ─→ shapes ─→ templates fitted ┼→ rows ─→ causes, judgements, bands
                                questions ───────┘
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from harness.errors import LaneUnavailable, placed
from harness.oracle import Oracle
from harness.places import bundled
from harness.served.exits import OUT_OF_BAND
from harness.served.live import chats, verdict
from harness.served.live.asking import ask, ask_all
from harness.served.live.asks import asks_of, faults, refuse_unused
from harness.served.live.attributing import aids, attributed
from harness.served.live.bands import band_for, held
from harness.served.live.chats import Chats
from harness.served.live.clients import clients
from harness.served.live.counters import PATH as METRICS
from harness.served.live.counters import counted as metered
from harness.served.live.detect import Detected, detect
from harness.served.live.fit import Fit
from harness.served.live.http import Limits, Server
from harness.served.live.notes import Fitted
from harness.served.live.outcome import Served, ServerOutcome, shown_url, unanswered
from harness.served.live.preflight import Preflight, preflight
from harness.served.live.settings import ServerAt, Settings
from harness.served.live.starting import started
from harness.served.live.templates import Renderer
from harness.served.live.values import Ask, Call, Kind, Reply, Row, Spelling
from harness.served.prompts import PromptFile, read_prompts
from harness.served.target import Band
from harness.tokenizers import resolve
from harness.toolchain import load_toolchains
from harness.watch import Watch


@dataclass(frozen=True)
class Places:
    """Where named tokenizers are described and where they lie; toolchains are those of lanes."""

    goldens: Path
    cache: Path
    toolchains: tuple[Path, ...] = ()


@dataclass(frozen=True)
class _Given:
    """What is the same for every server. ``chats`` is None where no prompt is one."""

    settings: Settings
    places: Places
    limits: Limits
    file: PromptFile
    asks: tuple[Ask, ...]
    oracle: Oracle
    band: Band | None
    renderer: Renderer
    chats: Chats | None
    violations: tuple[str, ...]
    watch: Watch


def judge(
    settings: Settings,
    places: Places,
    watch: Watch | None = None,
    *,
    limits: Limits | None = None,
) -> Served:
    """Hold every server's counts against the prompts, one server after another.

    A server that does not answer costs its own outcome only. ``limits`` are by default those of the
    settings' time limit. Raises :class:`UsageError`: whatever the prompt file, the tokenizer, the
    band, a template or a server's address, dialect or model has wrong, and a setting of no use.
    """
    tokenizer = resolve(settings.tokenizer, places.goldens, places.cache)
    file = read_prompts(settings.prompts, live=True)
    asks = asks_of(file, chat=settings.chat)
    oracle = Oracle.load(tokenizer.path)
    band = band_for(settings.band, settings.boundary, file.meta)
    chat = any(one.chat for one in asks)
    refuse_unused(settings, chat=chat, banded=band is not None)
    found = faults(file, oracle)
    # A file that says nothing of itself cannot be otherwise than it says.
    declared = band is not None or file.meta.model_fields_set
    with Renderer() as renderer:
        given = _Given(
            settings=settings,
            places=places,
            limits=limits or _limits(settings.seconds),
            file=file,
            asks=asks,
            oracle=oracle,
            band=band,
            renderer=renderer,
            chats=chats.known(tokenizer.path, settings.template, settings.gguf, renderer)
            if chat
            else None,
            violations=found if declared else (),
            watch=watch or Watch(),
        )
        outcomes = tuple(_server(at, given) for at in settings.servers)
    return Served(
        servers=outcomes,
        tokenizer=tokenizer.name,
        tokenizer_sha256=tokenizer.sha256,
        prompts=str(settings.prompts),
        prompts_sha256=file.sha256,
        notes=() if declared else found,
        violations=given.violations,
    )


def _limits(seconds: float) -> Limits:
    return Limits(
        connect_seconds=min(seconds, Limits.connect_seconds),
        silence_seconds=seconds,
        total_seconds=seconds,
    )


def _server(at: ServerAt, given: _Given) -> ServerOutcome:
    try:
        with (
            _running(at, given) as ended,
            Server(at.url, key_env=at.key_env, limits=given.limits) as server,
        ):
            try:
                found = _asked(at, server, given)
            except LaneUnavailable as error:
                found = _unasked(at, error)
            return _with_end(found, ended())
    except LaneUnavailable as error:
        return _unasked(at, error)


def _unasked(at: ServerAt, error: LaneUnavailable) -> ServerOutcome:
    remedy = f" ({error.remedy})" if error.remedy else ""
    return unanswered(at.name, at.url, f"{error.what}{remedy}")


def _with_end(found: ServerOutcome, ended: str | None) -> ServerOutcome:
    """Return the outcome with how a server that we started ended while it was asked."""
    if ended is None:
        return found
    if found.failure is not None:
        return replace(found, failure=f"{ended}; {found.failure}")
    words = f"{ended}: requests after that are refused, and say nothing of its counts"
    return replace(found, verdict=replace(found.verdict, notes=(words, *found.verdict.notes)))


@contextmanager
def _running(at: ServerAt, given: _Given) -> Iterator[Callable[[], str | None]]:
    """Run a server that is ours to start; give what says how it ended, None while it runs."""
    if at.start is None:
        yield lambda: None
        return
    directories = given.places.toolchains or (bundled("toolchains"),)
    with started(at.start, at.url, load_toolchains(directories)) as ended:
        yield ended


def _asked(at: ServerAt, server: Server, given: _Given) -> ServerOutcome:
    with placed(at.name):
        found = detect(lambda path: _get(server, path), dialect=at.dialect, model=at.model)
    fit = _fit(server, found, given)
    rows, template = _rows(found, given, fit)
    outcome = ServerOutcome(
        name=at.name,
        url=shown_url(at.url),
        rows=(),
        verdict=replace(verdict.judge(()), notes=found.notes),
        dialect=found.dialect.name,
        model=found.model,
        evidence=found.evidence,
        template=template,
    )
    if given.settings.preflight:
        return _flown(outcome, server, found, rows, given)
    rows, notes = _answered(server, found, rows, given)
    if given.chats is not None:
        notes = (*notes, *given.chats.faults)
    made = verdict.judge(
        rows,
        aids(given.oracle, found.dialect.determines),
        causes=attributed(rows, given.oracle),
        fitted=None if fit is None else _fitted(fit, given),
    )
    return replace(
        outcome,
        rows=rows,
        verdict=replace(made, notes=(*found.notes, *made.notes, *notes)),
        bands=None if given.band is None else held(rows, given.band),
    )


def _fitted(fit: Fit, given: _Given) -> Fitted:
    """Return the fit, with what the template that fits makes of every prompt."""
    found = chats.as_fitted(fit, None if given.chats is None else given.chats.own)
    if not fit.named:
        return found
    made = clients(given.asks, given.oracle, given.renderer, fit.named[0].candidate)
    ids = [
        one.rendered_ids if asked.chat else None
        for asked, one in zip(given.asks, made, strict=True)
    ]
    return replace(found, ids=tuple(ids))


def _fit(server: Server, found: Detected, given: _Given) -> Fit | None:
    """Find the server's template; None without chats, and where a preflight need not ask for it."""
    if given.chats is None or (
        given.settings.preflight and (given.violations or given.chats.own is not None)
    ):
        return None
    return chats.fitted(
        server,
        found.dialect,
        found.model,
        given.chats,
        given.oracle,
        in_flight=given.settings.in_flight,
        watch=given.watch,
    )


def _get(server: Server, path: str) -> Reply:
    return server.exchange(Call(path, None, "GET"), Spelling.RAW)


def _rows(found: Detected, given: _Given, fit: Fit | None) -> tuple[tuple[Row, ...], str | None]:
    """Return a row for each prompt, with our counts, and the name of the template they are of."""
    template, name = None, None
    if given.chats is not None:
        template, name = chats.ours(given.chats, fit)
    made = clients(given.asks, given.oracle, given.renderer, template)
    rows = tuple(
        Row(prompt.id, replace(one, model=found.model), client)
        for prompt, one, client in zip(given.file.prompts, given.asks, made, strict=True)
    )
    return rows, name


def _flown(
    outcome: ServerOutcome,
    server: Server,
    found: Detected,
    rows: Sequence[Row],
    given: _Given,
) -> ServerOutcome:
    """Send the prompts one by one until one is wrong; none where the file is not as it says."""
    if given.violations:
        flown = Preflight((), len(rows), given.violations[0], OUT_OF_BAND)
        return replace(outcome, preflight=flown)
    # The tokenizer endpoint tells the raw side of a prompt, and spends nothing.
    raw = given.band is not None and given.band.boundary == "raw"
    kinds = (Kind.TOKENIZE, Kind.PLAIN) if raw else (Kind.PLAIN,)
    known = aids(given.oracle, found.dialect.determines)
    flown = preflight(rows, given.band, lambda row: ask(server, found.dialect, row, kinds), known)
    judged = verdict.judge(flown.rows, known)
    return replace(
        outcome,
        rows=flown.rows,
        verdict=replace(judged, notes=(*found.notes, *judged.notes)),
        preflight=flown,
        bands=held(flown.rows, given.band) if given.band is not None and flown.rows else None,
    )


def _answered(
    server: Server, found: Detected, rows: Sequence[Row], given: _Given
) -> tuple[tuple[Row, ...], tuple[str, ...]]:
    """Ask every question; return the rows, and what the server's own counters say of the first."""
    in_flight, watch = given.settings.in_flight, given.watch
    before = _get(server, METRICS)
    done = ask_all(server, found.dialect, rows, (Kind.PLAIN,), in_flight=in_flight, watch=watch)
    told = metered(found.dialect.name, before, _get(server, METRICS))
    rest = tuple(kind for kind in Kind if kind is not Kind.PLAIN)
    done = ask_all(server, found.dialect, done, rest, in_flight=in_flight, watch=watch)
    if told is None or told.count is None:
        return done, ()
    answers = {
        id(answer): answer
        for row in done
        for (kind, _), answer in row.answers.items()
        if kind is Kind.PLAIN
    }
    counts = [one.prompt_tokens for one in answers.values()]
    known = sum(one for one in counts if one is not None)
    words = f"{told.source}: {told.count:,} for the plain requests, whose usages sum to {known:,}"
    if None in counts:
        words += f", {counts.count(None):,} of {len(counts):,} without one"
    return done, (words,)
