"""Servers judged as JSON, ``tokparity-served/1``; other programs rely on these fields.

What is not known is null, and what was not asked is not there: never a zero for either.
"""

from typing import Any

from harness.report.escape import json_text
from harness.served.live.bands import Bands, Held
from harness.served.live.facts import counted, ids_of
from harness.served.live.finding import Judgement
from harness.served.live.outcome import Served, ServerOutcome
from harness.served.live.values import Answer, Processed, Row

SCHEMA = "tokparity-served/1"


def to_dict(served: Served) -> dict[str, Any]:
    """Return everything as a JSON-ready dictionary."""
    return {
        "schema": SCHEMA,
        "exit": served.exit,
        "tokenizer": {"name": served.tokenizer, "sha256": served.tokenizer_sha256},
        "prompts": {"file": served.prompts, "sha256": served.prompts_sha256},
        "servers": [_server(one, served) for one in served.servers],
        "comparison": list(served.comparison),
        "notes": list(served.notes),
        "violations": list(served.violations),
    }


def dumps(served: Served) -> str:
    """Return the JSON in printable ASCII: no text in it acts on a terminal."""
    return json_text(to_dict(served))


def _server(one: ServerOutcome, served: Served) -> dict[str, Any]:
    verdict, causes = one.verdict, one.verdict.causes
    return {
        "name": one.name,
        "url": one.url,
        "dialect": one.dialect,
        "model": one.model,
        "evidence": list(one.evidence),
        "failure": one.failure,
        "exit": one.exit,
        "verdict": verdict.verdict.value if one.rows else None,
        "verdicts": [
            {"verdict": g.verdict.value, "prompts": list(g.prompts), "words": g.words}
            for g in verdict.groups
        ],
        "causes": None
        if causes is None
        else {
            "names": [c.name for c in causes.causes],
            "labels": [c.label for c in causes.causes],
            "by": causes.by,
            "judged": causes.judged,
            "mismatching": causes.mismatching,
            "refuted": list(causes.refuted),
            "note": causes.note,
        },
        "templates": list(verdict.templates),
        "notes": list(verdict.notes),
        "prompt_tokens": one.total,
        "bands": None if one.bands is None else _bands(one.bands),
        "preflight": None
        if one.preflight is None
        else {
            "sent": len(one.preflight.rows),
            "prompts": one.preflight.total,
            "violation": one.preflight.violation,
        },
        "rows": [
            _row(row, judgement)
            for row, judgement in zip(one.rows, verdict.judgements, strict=True)
        ],
        "receipt": one.receipt(served.tokenizer_sha256, served.prompts_sha256).to_dict(),
    }


def _row(row: Row, judgement: Judgement) -> dict[str, Any]:
    client = row.client
    return {
        "id": row.id,
        "chat": row.ask.chat,
        "client": {
            "raw": _length(client.raw),
            "special": _length(client.special),
            "rendered": _length(client.rendered_ids),
        },
        "verdict": judgement.verdict.value,
        "findings": [
            {
                "verdict": one.verdict.value,
                "words": one.words,
                "exit": one.exit,
                "evidence": dict(one.evidence),
            }
            for one in judgement.findings
        ],
        "notes": list(judgement.notes),
        "answers": [
            {"question": kind.value, "spelling": spelling.value}
            | _answer(answer, ids=bool(judgement.findings))
            for (kind, spelling), answer in row.answers.items()
        ],
    }


def _answer(answer: Answer, *, ids: bool) -> dict[str, Any]:
    limit = answer.too_long
    return {
        "status": answer.status,
        "prompt_tokens": answer.prompt_tokens,
        "count": counted(answer),
        "usages": [
            {
                "prompt_tokens": one.prompt,
                "completion_tokens": one.completion,
                "cached_tokens": one.cached,
                "place": one.place,
                "event": one.event,
            }
            for one in answer.usages
        ],
        "processed": None if answer.processed is None else _processed(answer.processed, ids=ids),
        "ids": _listed(ids_of(answer)) if ids else None,
        "too_long": None
        if limit is None
        else {"count": limit.count, "exact": limit.exact, "limit": limit.limit},
        "error": answer.error,
        "whole": answer.whole,
        "done": answer.done,
        "events": answer.events,
        "retries": answer.retries,
    }


def _processed(told: Processed, *, ids: bool) -> dict[str, Any]:
    return {
        "source": told.source,
        "count": len(told.ids) if told.ids is not None else told.count,
        "ids": _listed(told.ids) if ids else None,
        "truncated": told.truncated,
    }


def _listed(ids: tuple[int, ...] | None) -> list[int] | None:
    return None if ids is None else list(ids)


def _length(ids: tuple[int, ...] | None) -> int | None:
    return None if ids is None else len(ids)


def _bands(bands: Bands) -> dict[str, Any]:
    band = bands.client.band
    return {
        "low": band.low,
        "high": band.high,
        "boundary": band.boundary,
        "client": _held(bands.client),
        "server": _held(bands.server),
    }


def _held(held: Held) -> dict[str, Any]:
    margins = held.margins
    return {
        "state": held.state,
        "margins": None if margins is None else {"lower": margins[0], "upper": margins[1]},
        "outside": [{"id": name, "tokens": count} for name, count in held.outside],
        "unknown": list(held.unknown),
    }
