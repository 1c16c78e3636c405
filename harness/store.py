"""Results that need not be computed twice, kept in the cache directory by the hash of their inputs.

An entry is one ``.npz`` file: the arrays of an :class:`~harness.outcomes.Outcomes` and a JSON
document beside them. Its name is the sha256 of everything the result depends on, so an entry is
never stale, only absent. Writes are atomic; an entry that cannot be read is as good as absent, and
one that cannot be written costs the next run its time, never this one its results.
"""

import hashlib
import json
import os
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness.outcomes import Outcomes

# Raise it when the meaning of an entry changes: older entries are then never found.
FORMAT = 1


@dataclass(frozen=True)
class Entry:
    """One stored result: its document, and its outcomes where it has any."""

    document: Mapping[str, Any]
    outcomes: Outcomes | None


def key(**parts: object) -> str:
    """Return the sha256 that names a result which depends on exactly ``parts``."""
    canonical = json.dumps({"format": FORMAT, **parts}, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


class Store:
    """The stored results under one cache directory. Safe for threads and for concurrent runs."""

    def __init__(self, cache: Path) -> None:
        self._root = cache / "results"
        self._trouble: str | None = None

    @property
    def trouble(self) -> str | None:
        """Why some entry could not be stored, in one sentence; None where all were."""
        return self._trouble

    def get(self, name: str) -> Entry | None:
        """Return the entry called ``name``, or None where there is none that can be read."""
        try:
            with np.load(self._path(name), allow_pickle=False) as arrays:
                document = json.loads(arrays["document"].tobytes())
                if "status" not in arrays:
                    return Entry(document, None)
                notes = {int(case): note for case, note in document.pop("notes", {}).items()}
                outcomes = Outcomes(arrays["status"], arrays["offsets"], arrays["ids"], notes)
                return Entry(document, outcomes)
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None

    def put(self, name: str, document: Mapping[str, Any], outcomes: Outcomes | None = None) -> None:
        """Store an entry; where the cache cannot be written, :attr:`trouble` says why."""
        whole = dict(document)
        arrays: dict[str, Any] = {}
        if outcomes is not None:
            whole["notes"] = dict(outcomes.notes)
            arrays = {
                "status": outcomes.status,
                "offsets": outcomes.offsets,
                "ids": outcomes.ids,
            }
        text = json.dumps(whole, ensure_ascii=True).encode()
        path = self._path(name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")
            try:
                with os.fdopen(handle, "wb") as file:
                    np.savez(file, document=np.frombuffer(text, dtype=np.uint8), **arrays)
                Path(temporary).replace(path)
            except BaseException:
                Path(temporary).unlink(missing_ok=True)
                raise
        except OSError as error:
            self._trouble = (
                f"results could not be stored for the next run: {self._root}: {error.strerror}"
            )

    def _path(self, name: str) -> Path:
        return self._root / name[:2] / f"{name}.npz"
