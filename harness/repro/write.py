"""Directories of reproducers, each written as a whole, and the page above them."""

import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from harness.atomic import directory, remedied, storage, write_atomically
from harness.config import Config
from harness.errors import StorageError, TokparityError
from harness.files import read_ordinary
from harness.places import writable
from harness.plan import plan_run
from harness.report.model import Report
from harness.repro.gather import Source, reproducer
from harness.repro.page import HEADING, Entry, index, page
from harness.repro.script import script
from harness.repro.value import ASKED, EXPECTED, INPUT, OBSERVED, Reproducer, Unmade

# What a person types to have reproducers elsewhere, unless the caller knows better.
_OPTION = "--repro DIR"


def claimed(place: Path, option: str = _OPTION) -> Path:
    """Return ``place`` as a directory for reproducers; raises :class:`StorageError`.

    A page that lies there and is none of ours, such as a project's own, is not to be lost.
    ``option`` is what names another place.
    """
    remedy = f"name another directory with {option}"
    writable(place, "directory of reproducers", remedy)
    readme = place / "README.md"
    if not os.path.lexists(readme):
        return place
    try:
        own = read_ordinary(readme).startswith(_encoded(HEADING))
    except OSError:
        own = False
    if not own:
        raise StorageError(
            "is no index of reproducers, and would be replaced by one",
            where=str(readme),
            remedy=remedy,
        )
    return place


def write_reproducers(report: Report, config: Config, place: Path, option: str = _OPTION) -> Path:
    """Write ``place/ID/`` for every finding that can have it, and ``place/README.md``; return that.

    A finding that cannot be carried has its reason there. What an earlier run left for the same
    finding is replaced as a whole. Raises :class:`StorageError` where ``place`` cannot be written;
    ``option`` is what names another place.
    """
    with remedied(f"free some space, or name another directory with {option}"):
        return _written(report, config, place)


def _written(report: Report, config: Config, place: Path) -> Path:
    directory(place)
    entries: list[Entry] = []
    source = Source(plan_run(replace(config, cases=_cases(report))))
    for found in report.findings:
        try:
            put(place / found.id, _files(reproducer(source, found), report))
            entries.append(Entry(finding=found))
        except Unmade as none:
            entries.append(Entry(finding=found, why_not=str(none)))
        except StorageError:
            raise
        except TokparityError as error:
            entries.append(Entry(finding=found, why_not=error.what))
    readme = place / "README.md"
    write_atomically(readme, _encoded(index(entries, report)))
    return readme


def _cases(report: Report) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.first.case for one in report.findings if one.first is not None))


def put(place: Path, files: Mapping[str, bytes]) -> None:
    """Write a reproducer's files beside its place, and put them there as a whole."""
    with storage(place):
        fresh = Path(tempfile.mkdtemp(prefix=f".partial-{place.name}-", dir=place.parent))
        try:
            for name, data in files.items():
                mode = 0o755 if name == "run.sh" else 0o644
                write_atomically(fresh / name, data, mode=mode)
            fresh.chmod(0o755)
            old = fresh.with_name(f"{fresh.name}-old")
            if os.path.lexists(place):
                place.rename(old)
            fresh.rename(place)
            if old.is_symlink() or old.is_file():
                old.unlink()
            shutil.rmtree(old, ignore_errors=True)
        except BaseException:
            shutil.rmtree(fresh, ignore_errors=True)
            raise


def _files(one: Reproducer, report: Report) -> dict[str, bytes]:
    asked = {} if one.asked is None else {ASKED: f"{one.asked}\n".encode()}
    return {
        **one.files,
        **asked,
        INPUT: one.input,
        EXPECTED: f"{one.expected}\n".encode(),
        OBSERVED: f"{one.observed}\n".encode(),
        "run.sh": _encoded(script(one)),
        "README.md": _encoded(page(one, report)),
    }


def _encoded(text: str) -> bytes:
    """Return text as bytes; a path that is no text keeps the bytes the system has for it."""
    return text.encode("utf-8", "surrogateescape")
