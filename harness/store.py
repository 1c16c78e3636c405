"""Results that need not be computed twice, kept in the cache directory by the hash of their inputs.

An entry is a JSON document whose name is the sha256 of everything the result depends on, so it is
never stale, only absent. Its outcomes lie beside it in a file named by their own sha256: lanes
mostly answer alike, and what is alike is kept, and read, once. Writes are atomic; an entry that
cannot be read is as good as absent, and one that cannot be written costs the next run its time,
never this one its results.
"""

import hashlib
import json
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from harness.atomic import whole_file, write_atomically
from harness.errors import StorageError
from harness.outcomes import Outcomes

# Raise it when the meaning of an entry changes: older entries are then never found.
FORMAT = 2


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
        self._loaded: dict[str, Outcomes] = {}

    @property
    def trouble(self) -> str | None:
        """Why some entry could not be stored, in one sentence; None where all were."""
        return self._trouble

    def get(self, name: str) -> Entry | None:
        """Return the entry called ``name``, or None where there is none that can be read."""
        try:
            entry = json.loads(self._entry(name).read_bytes())
            document = entry["document"]
            if entry["outcomes"] is None:
                return Entry(document, None)
            found = self._load(entry["outcomes"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if found is None:
            return None
        notes = {int(case): note for case, note in entry["notes"].items()}
        return Entry(document, replace(found, notes=notes) if notes else found)

    def put(self, name: str, document: Mapping[str, Any], outcomes: Outcomes | None = None) -> None:
        """Store an entry; where the cache cannot be written, :attr:`trouble` says why."""
        digest = None if outcomes is None else outcomes.sha256
        notes = {} if outcomes is None else dict(outcomes.notes)
        entry = {"document": dict(document), "outcomes": digest, "notes": notes}
        text = json.dumps(entry, ensure_ascii=True).encode()
        try:
            if outcomes is not None and digest is not None:
                self._save(digest, outcomes)
            write_atomically(self._entry(name), text)
        except StorageError as error:
            self._trouble = (
                f"results could not be stored for the next run: {error.where}: {error.what}"
            )

    def _load(self, digest: str) -> Outcomes | None:
        """Read outcomes; damaged ones are removed, so that they can be stored anew."""
        if digest not in self._loaded:
            path = self._arrays(digest)
            try:
                with np.load(path, allow_pickle=False) as arrays:
                    found = Outcomes(arrays["status"], arrays["offsets"], arrays["ids"])
            except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
                found = None
            if found is None or found.sha256 != digest:
                with suppress(OSError):
                    path.unlink()
                return None
            self._loaded[digest] = found
        return self._loaded[digest]

    def _save(self, digest: str, outcomes: Outcomes) -> None:
        path = self._arrays(digest)
        if path.is_file():
            return
        with whole_file(path) as file:
            np.savez(file, status=outcomes.status, offsets=outcomes.offsets, ids=outcomes.ids)

    def _entry(self, name: str) -> Path:
        return self._root / name[:2] / f"{name}.json"

    def _arrays(self, digest: str) -> Path:
        return self._root / "outcomes" / digest[:2] / f"{digest}.npz"
