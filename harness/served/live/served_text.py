"""Servers judged in words, safe for a terminal: whatever a server or a file said is escaped."""

from collections import Counter
from collections.abc import Iterator, Sequence

from tabulate import tabulate

from harness.plural import grouped
from harness.report.escape import terminal
from harness.served.exits import OUT_OF_BAND
from harness.served.live.facts import Aids, Facts, counted, facts
from harness.served.live.finding import Judgement
from harness.served.live.outcome import Served, ServerOutcome, agreeing, usage
from harness.served.live.values import Answer, Kind, Row

# As many rows as a person reads; the rest is counted, and in the JSON.
_SHOWN = 40
_WIDTH = 28
_HEAD = (
    "prompt",
    "raw",
    "rendered",
    "/tokenize",
    "+special",
    "usage",
    "stream",
    "+usage",
    "cached",
    "processed",
    "usages",
)
_LEGEND = (
    "raw: our count of the text alone · rendered: of what should be processed · usage: of a plain",
    "request · stream, +usage: of a stream without and with include_usage · usages: how many usage",
    "objects came in these three · cached: of these three, one number where they are alike, else",
    "usage/stream/+usage · ↳: the same request with its JSON ASCII-escaped, where it was answered",
    "differently · - : not told, or not asked",
)


def render(served: Served) -> str:
    """Return the whole result as lines of text."""
    lines = [
        f"tokenizer {terminal(served.tokenizer)} ({served.tokenizer_sha256[:16]}), prompts "
        f"{terminal(served.prompts)}"
    ]
    lines += [f"    ✗ {terminal(one)}" for one in served.violations]
    lines += [f"    {terminal(one)}" for one in served.notes]
    for one in served.servers:
        lines += ["", *_server(one, served)]
    beside = list(_side_by_side(served)) if len(served.servers) > 1 else []
    if beside:
        lines += ["", *beside]
    if any(one.rows for one in served.servers):
        lines += ["", *_LEGEND]
    lines += _overall(served)
    return "\n".join(lines)


def _overall(served: Served) -> list[str]:
    """Return the exit code of all, where no verdict's line has said it, and what asks for it."""
    servers = served.servers
    if len(servers) == 1 and servers[0].failure is None and servers[0].exit == served.exit:
        return []
    why = [f"{one.name}: {one.summary}" for one in servers if one.exit == served.exit != 0]
    if served.violations and served.exit == OUT_OF_BAND:
        why.insert(0, f"{served.prompts} is not in order")
    words = f"overall: exit {served.exit}" + (f" ({'; '.join(why)})" if why else "")
    return ["", terminal(words)]


def _server(one: ServerOutcome, served: Served) -> Iterator[str]:
    known = ", ".join(filter(None, [one.dialect, one.model]))
    title = f"{one.name}: {one.url}" if one.name != one.url else one.url
    yield terminal(f"{title} ({known})" if known else title)
    if one.failure is not None:
        yield f"    ✗ could not be asked: {terminal(one.failure)}"
        return
    for words in one.evidence:
        yield f"    {terminal(words)}"
    if one.rows:
        yield from _table(one)
        yield from _places(one.rows)
    rows = len(one.rows)
    if one.preflight is not None:
        sent, total = len(one.preflight.rows), one.preflight.total
        yield f"    preflight: {sent:,} of {grouped(total, 'prompt')} sent, one output token each"
        if one.preflight.violation is not None:
            yield f"    ✗ stopped: {terminal(one.preflight.violation)}"
    for group in one.verdict.groups:
        yield (
            f"    ✗ {group.verdict.value}: {len(group.prompts):,} of {grouped(rows, 'prompt')} "
            f"({terminal(group.prompts[0])}: {terminal(group.words)})"
        )
    if rows and not one.verdict.groups:
        yield f"    ✓ agrees: {agreeing(one):,} of {grouped(rows, 'prompt')}"
    for words in one.verdict.notes:
        yield f"    {terminal(words)}"
    if one.bands is not None:
        yield f"    by our count: {terminal(str(one.bands.client))}"
        yield f"    by the server's: {terminal(str(one.bands.server))}"
    receipt = one.receipt(served.tokenizer_sha256, served.prompts_sha256)
    yield f"    receipt: {terminal(str(receipt))}"
    yield f"    verdict: {one.summary} (exit {one.exit})"


def _table(one: ServerOutcome) -> Iterator[str]:
    pairs = list(zip(one.rows, one.verdict.judgements, strict=True))
    pairs.sort(key=lambda pair: not pair[1].findings)  # stable: those with a finding first
    body = [cells for row, judgement in pairs[:_SHOWN] for cells in _cells(row, judgement)]
    table = tabulate(
        body, headers=_HEAD, disable_numparse=True, colalign=("left", *["right"] * 9, "left")
    )
    yield from (f"    {line}" for line in table.splitlines())
    if len(pairs) > _SHOWN:
        more = pairs[_SHOWN:]
        off = sum(bool(judgement.findings) for _, judgement in more)
        yield f"    … and {len(more):,} more, {off:,} of them with a finding"


def _cells(row: Row, judgement: Judgement) -> Iterator[tuple[str, ...]]:
    """Yield a prompt's line; where the two spellings of the body differ, a line for each."""
    sides = facts(row, Aids())
    name = terminal(row.id if len(row.id) <= _WIDTH else row.id[: _WIDTH - 1] + "…")
    mark = f"✗ {name}" if judgement.findings else name
    if not sides:
        yield (mark, *_ours(row), *["-"] * 7, "")
        return
    lines = [_asked(one) for one in sides]
    yield (mark, *_ours(row), *lines[0])
    if len(lines) == 2 and lines[0] != lines[1]:
        yield ("↳ ascii-escaped", "", "", *lines[1])


def _ours(row: Row) -> tuple[str, str]:
    return (
        _number(None if row.client.raw is None else len(row.client.raw)),
        _number(None if row.expected is None else len(row.expected)),
    )


def _asked(one: Facts) -> tuple[str, ...]:
    plain, streamed, asked = map(one.answer, (Kind.PLAIN, Kind.STREAMED, Kind.STREAMED_USAGE))
    endpoint = [one.answer(kind) for kind in (Kind.TOKENIZE, Kind.TOKENIZE_SPECIAL)]
    objects = "/".join("-" if a is None else str(len(a.usages)) for a in (plain, streamed, asked))
    return (
        *(_number(None if answer is None else counted(answer)) for answer in endpoint),
        *(_usage(answer) for answer in (plain, streamed, asked)),
        _cached(plain, streamed, asked),
        _number(one.processed_count),
        objects,
    )


def _usage(answer: Answer | None) -> str:
    if answer is None or answer.prompt_tokens is not None:
        return _number(None if answer is None else answer.prompt_tokens)
    if answer.status is None:
        return "failed"
    return f"HTTP {answer.status}" if answer.status >= 300 else "-"


def _cached(*answers: Answer | None) -> str:
    """Return the cached tokens of the three requests: one number, or three where they differ."""
    told = []
    for answer in answers:
        known = [use.cached for use in answer.usages if use.cached is not None] if answer else []
        told.append(known[-1] if known else None)
    known = [one for one in told if one is not None]
    if len(set(known)) == 1:
        return _number(known[0])
    return "/".join(map(_number, told)) if known else "-"


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _places(rows: Sequence[Row]) -> Iterator[str]:
    """Say where the usage of streams came, counted over all prompts."""
    found: Counter[str] = Counter()
    for row in rows:
        for one in facts(row, Aids())[:1]:
            answer = one.answer(Kind.STREAMED_USAGE)
            if answer is not None and answer.usages:
                found[", ".join(dict.fromkeys(use.place for use in answer.usages))] += 1
    if found:
        told = "; ".join(f"{place} ({grouped(times, 'prompt')})" for place, times in found.items())
        yield f"    usage of a stream that was asked for it: {told}"


def _side_by_side(served: Served) -> Iterator[str]:
    """Yield the servers' usages beside each other, prompt by prompt, where any two differ."""
    asked = [one for one in served.servers if one.rows]
    longest = max((one.rows for one in asked), key=len, default=())
    names = [one.name for one in asked]
    told = [
        (row.id, [usage(one.rows[at]) if at < len(one.rows) else None for one in asked])
        for at, row in enumerate(longest)
    ]
    apart = [
        (terminal(name[:_WIDTH]), *map(_number, counts))
        for name, counts in told
        if len(set(counts)) > 1
    ]
    if apart:
        head = ["prompt", *map(terminal, names)]
        align = ("left", *["right"] * len(names))
        table = tabulate(apart[:_SHOWN], headers=head, disable_numparse=True, colalign=align)
        yield from table.splitlines()
        if len(apart) > _SHOWN:
            yield f"… and {len(apart) - _SHOWN:,} more"
    elif len(asked) > 1:
        yield f"the usage is the same on {', '.join(map(terminal, names))}, prompt by prompt"
    for words in served.comparison:
        yield terminal(words)
