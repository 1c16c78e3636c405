"""Bands: what lengths prompts should have, whether they have them, and by what margin. Pure.

A band names its boundary. ``raw`` is the prompt's own text; ``rendered`` is what is processed, the
chat template and special tokens included, which a server's usage counts.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.errors import UsageError
from harness.served.exits import NO_COUNT, OUT_OF_BAND
from harness.served.live.facts import Aids, Facts, counted, facts
from harness.served.live.values import Kind, Row
from harness.served.prompts import Meta
from harness.served.target import Band, Boundary

_MOST = 10**9
_EXPECTED = "512±8, 512+-8, 500..520 or 512"
_AROUND = re.compile(r"([0-9]{1,12})(?:\s*(?:±|\+-|\+/-)\s*([0-9]{1,12}))?")
_BETWEEN = re.compile(r"([0-9]{1,12})\s*(?:\.\.|…)\s*([0-9]{1,12})")
_BOUNDARY = "--boundary raw (the prompt alone) or rendered (as the server processes it)"
_SHOWN = 5


def parse_band(text: str, boundary: Boundary | None) -> Band:
    """Return the band that a text names.

    >>> str(parse_band("512+-8", "rendered"))
    '512 ± 8 rendered'
    >>> str(parse_band("10..20", "raw"))
    '10 to 20 raw'

    Raises :class:`UsageError`: no band, one that is empty, or without a boundary.
    """
    around, between = _AROUND.fullmatch(text.strip()), _BETWEEN.fullmatch(text.strip())
    if around is not None:
        middle, half = int(around[1]), int(around[2] or 0)
        low, high = middle - half, middle + half
    elif between is not None:
        low, high = int(between[1]), int(between[2])
    else:
        raise UsageError(f"'{text[:40]}' is no band", where="--band", expected=_EXPECTED)
    if not 0 <= low <= high <= _MOST or high == 0:
        raise UsageError(
            f"no prompt is from {low:,} to {high:,} tokens long",
            where="--band",
            expected=_EXPECTED,
        )
    if boundary is None:
        raise UsageError(
            "a band names its boundary, and none is given", where="--band", remedy=_BOUNDARY
        )
    return Band(low, high, boundary, ends=between is not None)


def band_for(given: str | None, boundary: Boundary | None, meta: Meta) -> Band | None:
    """Return the band given, else the one of a prompt file's ``_meta``; None where there is none.

    Raises :class:`UsageError` where the two contradict each other, and as :func:`parse_band` does.
    """
    if boundary is not None and meta.boundary not in (None, boundary):
        raise UsageError(
            f"--boundary {boundary} and _meta.boundary {meta.boundary} name two boundaries"
        )
    side = boundary or meta.boundary
    own = None
    if meta.target is not None:
        half = meta.tolerance
        own = f"{meta.target}±{half}" if half <= meta.target else f"0..{meta.target + half}"
    if given is None:
        if own is not None and side is None:
            raise UsageError(
                "_meta.target is a band, and no boundary is given",
                remedy=f'"boundary" in _meta, or {_BOUNDARY}',
            )
        return None if own is None else parse_band(own, side)
    band = parse_band(given, side)
    if own is not None and parse_band(own, side) != band:
        raise UsageError(f"--band {band} and _meta's {parse_band(own, side)} name two bands")
    return band


@dataclass(frozen=True)
class Held:
    """Whether one side's counts of all prompts lie in a band.

    ``outside`` are (prompt id, tokens) out of it, ``unknown`` the prompts without a count. Margins
    are the least distance to the lower and to the upper edge, negative outside; None where no count
    is known.
    """

    band: Band
    counts: tuple[int, ...]
    outside: tuple[tuple[str, int], ...]
    unknown: tuple[str, ...]

    @property
    def margins(self) -> tuple[int, int] | None:
        """The least distance of any count to the lower and to the upper edge."""
        if not self.counts:
            return None
        return min(self.counts) - self.band.low, self.band.high - max(self.counts)

    @property
    def state(self) -> str:
        """``held``, ``broken``, or ``not known`` where a count is missing and none is outside."""
        if self.outside:
            return "broken"
        return "held" if self.counts and not self.unknown else "not known"

    def __str__(self) -> str:
        """Return it in words."""
        words = f"band {self.band} {self.state}"
        if self.margins is not None:
            lower, upper = self.margins
            words += f": {lower:+,} from its lower edge, {upper:+,} from its upper"
        if self.outside:
            first = ", ".join(f"{name}: {count:,}" for name, count in self.outside[:_SHOWN])
            more = ", …" if self.outside[_SHOWN:] else ""
            words += f"; {len(self.outside):,} out of it ({first}{more})"
        if self.unknown:
            words += f"; {len(self.unknown):,} without a count"
        return words


@dataclass(frozen=True)
class Bands:
    """A band held against our counts and against the server's."""

    client: Held
    server: Held

    @property
    def exit(self) -> int:
        """7 where either is broken, 6 where counts are missing that should be there, else 0.

        No server has to count the raw side of a template that it puts around every prompt.
        """
        if "broken" in (self.client.state, self.server.state):
            return OUT_OF_BAND
        due = self.client if self.client.band.boundary == "raw" else self.server
        return NO_COUNT if due.unknown else 0


def client_count(row: Row, boundary: Boundary) -> int | None:
    """Return the tokens of a prompt on one side of the template, as we count them."""
    ids = row.client.raw if boundary == "raw" else row.expected
    return None if ids is None else len(ids)


def server_count(one: Facts, boundary: Boundary) -> int | None:
    """Return the server's count on one side of the template, None where it has none on that side.

    Its usage counts what is processed. Of a text alone its tokenizer endpoint tells, or the usage
    where no special tokens are put around it.
    """
    if boundary == "rendered":
        return one.usage
    if one.row.ask.chat:
        return None
    answer = one.answer(Kind.TOKENIZE)
    if answer is not None and counted(answer) is not None:
        return counted(answer)
    client = one.row.client
    bare = client.raw is not None and client.raw == client.special
    return one.usage if bare else None


def held(rows: Sequence[Row], band: Band) -> Bands:
    """Hold the counts of all prompts against a band."""
    client = [(row.id, client_count(row, band.boundary)) for row in rows]
    server: list[tuple[str, int | None]] = []
    for row in rows:
        sides = facts(row, Aids())
        known = [server_count(one, band.boundary) for one in sides]
        told = [one for one in known if one is not None]
        # Where two spellings give two counts, the one further out of the band is reported.
        server.append((row.id, max(told, key=lambda n: _beyond(n, band), default=None)))
    return Bands(_held(client, band), _held(server, band))


def _held(counts: Sequence[tuple[str, int | None]], band: Band) -> Held:
    known = [(name, count) for name, count in counts if count is not None]
    unknown = tuple(name for name, count in counts if count is None)
    outside = tuple((name, count) for name, count in known if not band.low <= count <= band.high)
    return Held(band, tuple(count for _, count in known), outside, unknown)


def _beyond(count: int, band: Band) -> int:
    return max(band.low - count, count - band.high)


def across(servers: Mapping[str, Bands]) -> str | None:
    """Say where a band that one server holds is broken on another; None where they are alike."""
    by: dict[str, list[str]] = {}
    for name, one in servers.items():
        by.setdefault(one.server.state, []).append(name)
    if "held" not in by or "broken" not in by:
        return None
    band = next(iter(servers.values())).server.band
    return (
        f"the band {band} is held on {', '.join(by['held'])} and broken on "
        f"{', '.join(by['broken'])}: the same prompts are not the same length there"
    )
