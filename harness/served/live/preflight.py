"""Prompts sent once each before anything is spent on them, until the first that is wrong. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.served.exits import OUT_OF_BAND
from harness.served.live.bands import client_count, held
from harness.served.live.facts import Aids
from harness.served.live.values import Row
from harness.served.live.verdict import judge_row
from harness.served.target import Band


@dataclass(frozen=True)
class Preflight:
    """What became of sending each prompt once, for one output token, until something was wrong.

    ``rows`` are those sent, ``total`` how many there are; ``violation`` says what stopped it.
    """

    rows: tuple[Row, ...]
    total: int
    violation: str | None
    exit: int


def preflight(
    rows: Sequence[Row],
    band: Band | None,
    send: Callable[[Row], Row],
    aids: Aids | None = None,
) -> Preflight:
    """Send prompts one by one, and stop at the first violation; none is sent that we know is wrong.

    ``send`` asks the plain question of a row and returns the row with its answer. Wrong are a count
    of ours out of the band, a failure or a refusal, an answer without a count or with another than
    ours, and a server's count out of the band.
    """
    for row in rows:
        words = None if band is None else _ours_outside(row, band)
        if words is not None:
            return Preflight((), len(rows), words, OUT_OF_BAND)
    sent: list[Row] = []
    for row in rows:
        sent.append(send(row))
        words, code = _violation(sent[-1], band, aids)
        if words is not None:
            return Preflight(tuple(sent), len(rows), f"prompt {row.id}: {words}", code)
    return Preflight(tuple(sent), len(rows), None, 0)


def _ours_outside(row: Row, band: Band) -> str | None:
    count = client_count(row, band.boundary)
    if count is None or band.low <= count <= band.high:
        return None
    return f"prompt {row.id} has {count:,} tokens by our count, out of the band {band}"


def _violation(row: Row, band: Band | None, aids: Aids | None) -> tuple[str | None, int]:
    judged = judge_row(row, aids)
    if judged.findings:
        return judged.findings[0].words, judged.exit
    if band is not None:
        one = held([row], band).server
        if one.outside:
            return f"{one.outside[0][1]:,} tokens by the server's count, out of {band}", OUT_OF_BAND
    return None, 0
