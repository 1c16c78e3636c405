"""Servers judged as the command does it, but in this process: a test asks many of them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.places import bundled
from harness.served.live.http import Limits
from harness.served.live.served_json import dumps
from harness.served.live.served_text import render
from harness.served.live.session import Places, judge
from harness.served.live.settings import ServerAt, Settings

TOKENIZER = bundled("goldens") / "bundled" / "tokenizer.json"
# ChatML as models have it that open with a token: with it, with a default system message, or not.
BOS = "{{ bos_token }}"
DEFAULT = (
    "{% if messages[0].role != 'system' %}"
    "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n{% endif %}"
)
TURNS = (
    "{% for one in messages %}<|im_start|>{{ one.role }}\n{{ one.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
# Retries that cost a test no time.
QUICK = Limits(silence_seconds=20, total_seconds=20, pause_seconds=0.001)


def written(path: Path, *prompts: object, meta: Mapping[str, Any] | None = None) -> Path:
    """Write a prompt file: texts, lists of texts, or whole rows."""
    rows: list[object] = [] if meta is None else [{"_meta": meta}]
    rows += [one if isinstance(one, dict) else {"prompt": one} for one in prompts]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def judged(
    url: str,
    prompts: Path,
    *,
    tokenizer: Path | str = TOKENIZER,
    cache: Path | None = None,
    limits: Limits = QUICK,
    **more: Any,  # noqa: ANN401 - the fields of Settings and ServerAt
) -> dict[str, Any]:
    """Judge one server and return its part of the JSON, with ``text`` as a person reads it."""
    at = {key: more.pop(key) for key in ("dialect", "model", "key_env", "start") if key in more}
    settings = Settings(
        servers=(ServerAt("it", url, **at),), tokenizer=str(tokenizer), prompts=prompts, **more
    )
    found = judge(settings, Places(bundled("goldens"), cache or prompts.parent), limits=limits)
    text, report = render(found), json.loads(dumps(found))
    assert all(one.isprintable() or one == "\n" for one in text)
    server: dict[str, Any] = report["servers"][0]
    return {**server, "exit": report["exit"], "text": text, "report": report}


def row(found: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return one prompt's row by its id."""
    [one] = [one for one in found["rows"] if one["id"] == name]
    return dict(one)


def answers(row: Mapping[str, Any], question: str) -> list[dict[str, Any]]:
    """Return the answers to one question, in both spellings."""
    return [one for one in row["answers"] if one["question"] == question]


def verdicts(found: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the verdicts of a server with the prompts that each is of."""
    return {one["verdict"]: one["prompts"] for one in found["verdicts"]}
