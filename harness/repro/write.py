"""Directories of reproducers, each written as a whole, and the page above them."""

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from harness.atomic import directory, storage, write_atomically
from harness.config import Config
from harness.errors import StorageError, TokparityError
from harness.plan import plan_run
from harness.report.model import Report
from harness.repro.gather import Source, reproducer
from harness.repro.page import Entry, index, page
from harness.repro.script import script
from harness.repro.value import ASKED, EXPECTED, INPUT, OBSERVED, Reproducer, Unmade


def write_reproducers(report: Report, config: Config, place: Path) -> Path:
    """Write ``place/ID/`` for every finding that can have it, and ``place/README.md``; return that.

    A finding that cannot be carried has its reason there. What an earlier run left for the same
    finding is replaced as a whole. Raises :class:`StorageError` where ``place`` cannot be written.
    """
    directory(place)
    entries: list[Entry] = []
    source = Source(plan_run(replace(config, cases=_cases(report))))
    for found in report.findings:
        try:
            _write(place / found.id, reproducer(source, found), report)
            entries.append(Entry(finding=found))
        except Unmade as none:
            entries.append(Entry(finding=found, why_not=str(none)))
        except StorageError:
            raise
        except TokparityError as error:
            entries.append(Entry(finding=found, why_not=error.what))
    readme = place / "README.md"
    write_atomically(readme, _encoded(index(entries)))
    return readme


def _cases(report: Report) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.first.case for one in report.findings if one.first is not None))


def _write(place: Path, one: Reproducer, report: Report) -> None:
    """Write a reproducer beside its place, and put it there as a whole."""
    with storage(place):
        fresh = Path(tempfile.mkdtemp(prefix=f".partial-{place.name}-", dir=place.parent))
        try:
            for name, data in _files(one, report).items():
                mode = 0o755 if name == "run.sh" else 0o644
                write_atomically(fresh / name, data, mode=mode)
            fresh.chmod(0o755)
            old = fresh.with_name(f"{fresh.name}-old")
            if place.exists():
                place.rename(old)
            fresh.rename(place)
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
