"""Chat templates where the field keeps them: beside the tokenizer, in a file given, in a GGUF.

Beside a tokenizer: ``tokenizer_config.json`` (a text, or a list of named ones),
``chat_template.json``, ``chat_template.jinja``, ``additional_chat_templates/NAME.jinja``, and
``NAME.config.json`` beside ``NAME.json``.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import gguf
from harness.errors import UsageError
from harness.files import read_ordinary
from harness.served.live.templates import Template
from harness.tokenizers import CONFIG_SUFFIX

_LARGEST = 64 << 20
_WHAT = "a chat template, or a tokenizer_config.json that has one"
_DEFAULT = "default"


@dataclass(frozen=True)
class Sourced:
    """A chat template and the place it is from, as a report names it."""

    name: str
    template: Template


def beside(tokenizer: Path) -> tuple[Sourced, ...]:
    """Return the templates that lie beside a tokenizer.json, the one that the field uses first.

    Raises :class:`UsageError` for a file that is there and cannot be read.
    """
    configs = _configs(tokenizer)
    tokens = next((named for _, one in configs if (named := special_tokens(one))), {})
    found: list[Sourced] = []
    for path in sorted(tokenizer.parent.glob("additional_chat_templates/*.jinja")):
        found.append(Sourced(f"{path.parent.name}/{path.name}", Template(_text(path), tokens)))
    lone = tokenizer.with_name("chat_template.jinja")
    if lone.is_file():
        # It stands above the configuration's own, as in the field.
        found.insert(0, Sourced(lone.name, Template(_text(lone), tokens)))
    for path, config in configs:
        name = "tokenizer_config.json" if path.name.endswith(CONFIG_SUFFIX) else path.name
        found += _of_config(name, config, tokens)
    return tuple(found)


def _configs(tokenizer: Path) -> list[tuple[Path, Mapping[str, Any]]]:
    own = tokenizer.with_suffix(CONFIG_SUFFIX)
    names = (own.name, "tokenizer_config.json", "chat_template.json")
    paths = [path for name in names if (path := tokenizer.with_name(name)).is_file()]
    return [(path, _object(path, _text(path))) for path in paths]


def of_file(path: Path, tokens: Mapping[str, str] | None = None) -> tuple[Sourced, ...]:
    """Return the templates of a file that a person names: a bare template, or a configuration.

    ``tokens`` are the special tokens for a bare one. Raises :class:`UsageError`: it cannot be read,
    is empty, or is a configuration without a template.
    """
    text = _text(path)
    if not text.strip():
        raise UsageError("is empty", where=str(path), expected=_WHAT)
    config = _parsed(text)
    if config is None:
        return (Sourced(path.name, Template(text, tokens or {})),)
    found = tuple(_of_config(path.name, config, {**(tokens or {}), **special_tokens(config)}))
    if not found:
        raise UsageError("has no chat_template", where=str(path), expected=_WHAT)
    return found


def of_gguf(path: Path) -> tuple[Sourced, ...]:
    """Return the templates of a GGUF file; raises :class:`~harness.errors.TokenizerError`."""
    found = gguf.vocabulary(gguf.metadata(path))
    tokens = {
        name: text
        for name, text in (("bos_token", found.bos), ("eos_token", found.eos))
        if text is not None
    }
    ordered = sorted(found.templates.items(), key=lambda one: one[0] != _DEFAULT)
    return tuple(
        Sourced(_named("the GGUF", name), Template(source, tokens)) for name, source in ordered
    )


def special_tokens(config: Mapping[str, Any]) -> dict[str, str]:
    """Return the special tokens that a tokenizer_config names: ``bos_token`` → its text."""
    found = {}
    for key, value in config.items():
        if key.endswith("_token"):
            text = value.get("content") if isinstance(value, Mapping) else value
            if isinstance(text, str):
                found[key] = text
    return found


def _of_config(
    name: str, config: Mapping[str, Any], tokens: Mapping[str, str]
) -> Iterator[Sourced]:
    declared = config.get("chat_template")
    if isinstance(declared, str):
        yield Sourced(name, Template(declared, tokens))
        return
    rows = declared if isinstance(declared, list) else []
    named = {
        one["name"]: one["template"]
        for one in rows
        if isinstance(one, Mapping)
        and isinstance(one.get("name"), str)
        and isinstance(one.get("template"), str)
    }
    for key in sorted(named, key=lambda one: one != _DEFAULT):
        yield Sourced(_named(name, key), Template(named[key], tokens))


def _named(place: str, name: str) -> str:
    return place if name == _DEFAULT else f"{place} ({name})"


def _text(path: Path) -> str:
    try:
        return read_ordinary(path, _LARGEST).decode("utf-8")
    except OSError as error:
        raise UsageError(
            f"cannot be read: {error.strerror}", where=str(path), expected=_WHAT
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(
            f"is not UTF-8 at byte {error.start:,}", where=str(path), expected=_WHAT
        ) from None


def _object(path: Path, text: str) -> Mapping[str, Any]:
    found = _parsed(text)
    if found is None:
        raise UsageError("is not a JSON object", where=str(path), expected=_WHAT)
    return found


def _parsed(text: str) -> Mapping[str, Any] | None:
    """Return a JSON object, None for what is none: a template may begin with a brace too."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
