"""YAML into checked, frozen values; every mistake answered with its place and the right word.

``load_yaml(path, Model)`` is the one door through which a YAML file enters the program. The model
is a pydantic class derived from :class:`Strict`: unknown keys are refused, text is never taken for
a number, and nothing can be changed afterwards. YAML's own traps are met here: ``off``, ``no`` and
``yes`` are truth values in YAML 1.1, and the message says to quote them; a key given twice is an
error and not the last one's victory.
"""

from collections.abc import Hashable
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from harness.errors import UsageError

_DEEPEST = 100  # containers within containers; the deepest real file has six


class Strict(BaseModel):
    """Base of every model read from a file: no unknown key, no coercion, no change."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


M = TypeVar("M", bound=BaseModel)


class _Loader(yaml.SafeLoader):
    """``safe_load`` that refuses a repeated key instead of keeping the last."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise yaml.YAMLError(f"more than {_DEEPEST} levels deep")
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Hashable] = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable) and key in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"the key '{key}' appears twice", problem_mark=key_node.start_mark
                )
            if isinstance(key, Hashable):
                seen.add(key)
        return super().construct_mapping(node, deep=deep)


def load_yaml(path: Path, model: type[M]) -> M:
    """Read one YAML file as ``model``.

    Raises :class:`UsageError`: a file that cannot be read or is not UTF-8; a YAML error (names
    file, line and column); a key or value that does not fit the model (names file and key path,
    says what was expected and, for a misspelt key or word, what was probably meant).
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=str(path)) from error
    except UnicodeDecodeError as error:
        raise UsageError(
            f"is not UTF-8 at byte {error.start}", where=str(path), expected="a YAML file in UTF-8"
        ) from error
    try:
        data = yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader that also refuses twins
    except yaml.YAMLError as error:
        raise UsageError(_yaml_words(error), where=_yaml_place(path, error)) from error
    return validate({} if data is None else data, model, str(path))


def validate(data: object, model: type[M], where: str) -> M:
    """Return ``data`` as ``model``; raises :class:`UsageError` for its first mistake.

    ``where`` names the file for the message; the key path is added to it.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise _usage(error.errors(include_url=False), model, where) from None


def did_you_mean(word: str, known: list[str]) -> str | None:
    """Return the known word closest to ``word``, or None if none is close."""
    close = get_close_matches(word, known, n=1, cutoff=0.6)
    return close[0] if close else None


def _usage(errors: list[ErrorDetails], model: type[BaseModel], where: str) -> UsageError:
    # An unknown key often causes a missing one; the misspelling is the better message.
    ordered = sorted(errors, key=lambda one: one["type"] != "extra_forbidden")
    first = ordered[0]
    place = ".".join(str(part) for part in first["loc"] if not _internal(part))
    at = f"{where}: {place}" if place else where
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    if first["type"] == "extra_forbidden":
        key = str(first["loc"][-1])
        known = _keys_at(model, first["loc"][:-1])
        close = did_you_mean(key, known)
        return UsageError(
            f"unknown key '{key}'{more}",
            where=at,
            expected=f"one of {', '.join(sorted(known))}" if known else None,
            remedy=f"did you mean '{close}'?" if close else None,
        )
    if first["type"] == "missing":
        return UsageError(f"is missing{more}", where=at, expected="a value")
    message = first["msg"].removeprefix("Value error, ")
    given = first["input"]
    if isinstance(given, bool):
        return UsageError(
            f"has the truth value {str(given).lower()}{more}",
            where=at,
            expected=message,
            remedy="quote the word: in YAML on, off, yes and no are truth values",
        )
    close = None
    if first["type"] in ("literal_error", "enum") and isinstance(given, str):
        words = str(first.get("ctx", {}).get("expected", "")).replace(" or ", ", ").split(", ")
        close = did_you_mean(given, [word.strip("'") for word in words])
    return UsageError(
        f"has {_short(given)}{more}",
        where=at,
        expected=message,
        remedy=f"did you mean '{close}'?" if close else None,
    )


def _short(value: object) -> str:
    text = repr(value)
    kind = type(value).__name__
    return f"the {kind} {text if len(text) <= 60 else text[:57] + '...'}"


def _internal(part: object) -> bool:
    """Tell pydantic's own path parts (union members, validators) from keys of the file."""
    return isinstance(part, str) and ("[" in part or (part[:1].isupper() and "(" in part))


def _keys_at(model: type[BaseModel], path: tuple[int | str, ...]) -> list[str]:
    """Return the keys that the model allows at ``path``."""
    found: list[type[BaseModel]] = [model]
    for part in path:
        below: list[type[BaseModel]] = []
        for one in found:
            field = one.model_fields.get(str(part)) or next(
                (f for f in one.model_fields.values() if f.alias == part), None
            )
            if field is not None:
                below += _models_in(field.annotation)
        # An index or a free key stays at the models of the container's elements.
        found = below or found
    return [field.alias or name for one in found[:1] for name, field in one.model_fields.items()]


def _models_in(annotation: object) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for part in getattr(annotation, "__args__", ()) for found in _models_in(part)]


def _yaml_words(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError):
        return f"is not YAML: {error.problem or error.context}"
    return f"is not YAML: {' '.join(str(error).split())}"


def _yaml_place(path: Path, error: yaml.YAMLError) -> str:
    mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
    return str(path) if mark is None else f"{path}:{mark.line + 1}:{mark.column + 1}"
