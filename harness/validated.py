"""YAML into checked, frozen values; every mistake answered with its place and the right word.

``load_yaml(path, Model)`` is the one door through which a YAML file enters the program. The model
is a pydantic class derived from :class:`Strict`: unknown keys are refused, text is never taken for
a number, and nothing can be changed afterwards. YAML's own traps are met here: ``off``, ``no`` and
``yes`` are truth values in YAML 1.1, and the message says to quote them; a key given twice is an
error and not the last one's victory; a date is text, for no model has a use for one.
"""

from collections.abc import Hashable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from harness.errors import UsageError
from harness.files import read_ordinary

_DEEPEST = 100  # containers within containers; the deepest real file has six
_LARGEST = 1 << 20  # bytes; the largest real file has 5,000


class Strict(BaseModel):
    """Base of every model read from a file: no unknown key, no coercion, no change."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


M = TypeVar("M", bound=BaseModel)


class _Loader(yaml.SafeLoader):
    """``safe_load`` that refuses a repeated key instead of keeping the last."""

    # Without the resolver that makes 2026-01-31 a date and 2026-13-45 a ValueError.
    yaml_implicit_resolvers = {  # noqa: RUF012 - the base class declares it so
        first: [(tag, pattern) for tag, pattern in known if tag != "tag:yaml.org,2002:timestamp"]
        for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise yaml.YAMLError(f"more than {_DEEPEST} levels deep")
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:  # noqa: ANN401
        try:
            return super().construct_object(node, deep=deep)
        except (ValueError, OverflowError) as error:  # an integer of 5,000 digits, a bad !!tag
            raise yaml.MarkedYAMLError(
                problem=str(error).partition(";")[0], problem_mark=node.start_mark
            ) from error

    def construct_scalar(self, node: yaml.ScalarNode | yaml.MappingNode) -> Any:  # noqa: ANN401
        value = super().construct_scalar(node)
        # Every text of every model ends as a path or a program's argument, which cannot hold one.
        if isinstance(value, str) and "\0" in value:
            raise yaml.MarkedYAMLError(problem="a NUL character", problem_mark=node.start_mark)
        return value

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
        text = read_ordinary(path, _LARGEST).decode("utf-8-sig")
    except OSError as error:
        raise UsageError(
            f"cannot be read: {error.strerror}", where=str(path), expected="a YAML file"
        ) from error
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
        raise _usage(error.errors(include_url=False), data, model, where) from None


def did_you_mean(word: str, known: list[str]) -> str | None:
    """Return the known word closest to ``word``, or None if none is close."""
    close = get_close_matches(word, known, n=1, cutoff=0.6)
    return close[0] if close else None


def _usage(
    errors: list[ErrorDetails], data: object, model: type[BaseModel], where: str
) -> UsageError:
    # An unknown key often causes a missing one; the misspelling is the better message.
    ordered = sorted(errors, key=lambda one: one["type"] != "extra_forbidden")
    first, expected, others = _joined(ordered, data)
    keys = _keys(first, data)
    place = ".".join(str(key) for key in keys)
    at = f"{where}: {place}" if place else where
    more = f" (and {others} more)" if others else ""
    if first["type"] == "extra_forbidden":
        key = str(first["loc"][-1])
        known = _keys_at(model, keys[:-1])
        close = did_you_mean(key, known)
        return UsageError(
            f"unknown key '{_cut(key)}'{more}",
            where=f"{where}: {'.'.join([*map(str, keys[:-1]), _cut(key)])}",
            expected=f"one of {', '.join(sorted(known))}" if known else None,
            remedy=f"did you mean '{close}'?" if close else None,
        )
    if first["type"] == "missing":
        return UsageError(f"is missing{more}", where=at, expected="a value")
    given = first["input"]
    if isinstance(given, bool):
        return UsageError(
            f"has the truth value {str(given).lower()}{more}",
            where=at,
            expected=expected,
            remedy="quote the word: in YAML on, off, yes and no are truth values",
        )
    close = None
    if first["type"] in ("literal_error", "enum") and isinstance(given, str):
        words = str(first.get("ctx", {}).get("expected", "")).replace(" or ", ", ").split(", ")
        close = did_you_mean(given, [word.strip("'") for word in words])
    return UsageError(
        f"has {_short(given)}{more}",
        where=at,
        expected=expected,
        remedy=f"did you mean '{close}'?" if close else None,
    )


def _joined(ordered: Sequence[ErrorDetails], data: object) -> tuple[ErrorDetails, str, int]:
    """Return the first mistake, what was expected there, and how many other mistakes there are.

    A value that may be of several kinds is one mistake and yet one error a kind; the kind whose
    error lies deepest is the one that was meant.
    """
    first = ordered[0]
    keys = _keys(first, data)
    branches = [first]
    if len(keys) < len(first["loc"]):  # it is below the branches of a value of several kinds
        fork = next(i for i, part in enumerate(first["loc"]) if i == len(keys) or part != keys[i])
        branches = [one for one in ordered if one["loc"][:fork] == first["loc"][:fork]]
    deepest = max(branches, key=lambda one: len(_keys(one, data)))
    meant = [one for one in branches if _keys(one, data) == _keys(deepest, data)]
    # What is too short is of a kind that was allowed: the other kinds were not meant.
    meant = [one for one in meant if one["type"] == "too_short"] or meant
    expected = " or ".join(dict.fromkeys(_wanted(one) for one in meant))
    return deepest, expected, len(ordered) - len(branches)


# pydantic's error types, in YAML's words.
_KINDS: Mapping[str, str] = {
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "finite_number": "a finite number",
    "float_type": "a number",
    "int_from_float": "a whole number",
    "int_type": "a whole number",
    "invalid_key": "keys that are text",
    "list_type": "a list",
    "model_type": "a mapping",
    "none_required": "nothing",
    "string_type": "text",
    "too_short": "at least one item",
}
_BOUNDS: Mapping[str, str] = {
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
    "string_pattern_mismatch": "text of the form {pattern}",
    "string_too_short": "text that is not empty",
    "literal_error": "{expected}",
}


def _wanted(error: ErrorDetails) -> str:
    kind = error["type"] if error["loc"][-1:] != ("[key]",) else "invalid_key"
    if kind in _KINDS:
        return _KINDS[kind]
    if kind in _BOUNDS:
        return _BOUNDS[kind].format(**error.get("ctx", {}))
    return error["msg"].removeprefix("Value error, ")


_NAMES: Mapping[type, str] = {
    str: "text", int: "number", float: "number", list: "list", dict: "mapping", bytes: "bytes",
}  # fmt: skip


def _short(value: object) -> str:
    if value is None:
        return "no value"
    return f"the {_NAMES.get(type(value), type(value).__name__)} {_cut(repr(value))}"


def _cut(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def _keys(error: ErrorDetails, data: object) -> tuple[int | str, ...]:
    """Return the keys and indices of the file that lead to a mistake.

    pydantic's path has parts of its own (branches of unions, validators); they are those that the
    file does not hold. The key that is missing is no such part.
    """
    found: list[int | str] = []
    at: Any = data
    for part in error["loc"]:
        try:
            at = at[part]
        except (KeyError, IndexError, TypeError):
            if error["type"] != "missing" or part != error["loc"][-1]:
                continue
        found.append(part)
    return tuple(found)


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
