"""From a changed description to what has to be switched in a loaded tokenizer."""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from tokenizers import Tokenizer

from harness.errors import TokenizerError
from harness.oracle.forms import is_versioned, versioned
from harness.oracle.loaded import OURS, Loaded, library_version
from harness.oracle.variants import STAGES

_EMPTY = {"version": "1.0", "added_tokens": [], "model": {"type": "BPE", "vocab": {}, "merges": []}}
_LARGE = ("vocab", "merges")

Stage = Mapping[str, Any] | None


def stage(kind: str, described: Stage) -> object:
    """Return a stage, described as in tokenizer.json, as the library's own object.

    A normalizer may besides name the Unicode version of its data, ``{"type": "NFC", "unicode":
    "14.0"}``. Raises :class:`TokenizerError` for one that the library does not know.
    """
    if described is None:
        return None
    return _stage(kind, json.dumps(described))


@lru_cache(maxsize=1024)
def _stage(kind: str, described: str) -> object:
    parsed = json.loads(described)
    if kind == "normalizer" and is_versioned(parsed):
        return versioned(parsed, lambda one: stage(kind, one))
    data = json.dumps({**_EMPTY, kind: parsed}).encode()
    try:
        return getattr(Tokenizer.from_buffer(data), kind)
    except Exception as error:  # the library raises the base class
        raise TokenizerError(
            f"is no {kind} that tokenizers {library_version()} knows: {error}", where=described
        ) from error


def changes(loaded: Loaded, description: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ``description`` changes of the loaded file, as :meth:`Loaded.under` takes it.

    ``description`` is a whole one, without the model's vocabulary and merges. Raises
    :class:`TokenizerError` for a stage that the library does not know and for a model's field that
    cannot be changed without another vocabulary.
    """
    declared = loaded.description
    found: dict[str, Any] = {
        name: stage(name, description.get(name))
        for name in STAGES
        if _differ(description.get(name), declared.get(name))
    }
    if _differ(description.get("added_tokens"), declared.get("added_tokens")):
        found["added_tokens"] = loaded.added(description.get("added_tokens") or ())
    return found | _model_changes(loaded, description.get("model") or {}, declared["model"])


def _differ(one: object, other: object) -> bool:
    return one is not other and (one or None) != (other or None)


def _model_changes(
    loaded: Loaded, model: Mapping[str, Any], declared: Mapping[str, Any]
) -> dict[str, Any]:
    if model is declared:
        return {}
    fields = (declared.keys() | model.keys()) - set(_LARGE)
    changed = {
        name: model.get(name)
        for name in sorted(fields)
        if (model.get(name) or None) != (declared.get(name) or None)
    }
    for name, value in changed.items():
        if name not in loaded.original or name in STAGES:
            raise TokenizerError(f"its model has no '{name}' to change", where=loaded.where)
        if name == "dropout" and value not in (None, 0.0, 1.0):
            raise TokenizerError(
                f"dropout {value} merges by chance, so nothing can be expected of it",
                where=loaded.where,
            )
        own = loaded.original[name]
        if name not in OURS and own is not None and value is not None:
            fits = isinstance(value, type(own))
        else:
            fits = True
        if not fits:
            raise TokenizerError(f"its model's '{name}' cannot be {value!r}", where=loaded.where)
        changed[name] = bool(value) if isinstance(own, bool) else value
    return changed
