"""``tokparity run``: the main job."""

from pathlib import Path

import click

from harness.atomic import remedied, write_atomically
from harness.cli.options import (
    CACHE,
    CONFIG,
    CORPUS,
    JOBS,
    JSON,
    LANES,
    PROBE_ARG,
    QUIET,
    TOKENIZER,
    configured,
    options,
)
from harness.cli.progress import watching
from harness.cli.streams import complain, print_out
from harness.config import Config
from harness.errors import StorageError
from harness.pipeline import run
from harness.places import writable
from harness.report import json, markdown, text
from harness.report.model import Report
from harness.repro import claimed, write_reproducers

_OUT, _REPRO = "--out DIR", "--repro DIR"


@click.command(name="run")
@options(CONFIG, LANES, TOKENIZER, CORPUS)
@click.option("--case", "cases", multiple=True, metavar="CORPUS/ID", help="Only this case.")
@click.option("--isolate", is_flag=True, help="Build and run the lanes that separate axes.")
@click.option("--sanitize", is_flag=True, help="Look for faults with the compiler's sanitizers.")
@click.option("--reduce", "reducing", is_flag=True, help="Shrink one case of every finding.")
@click.option("--fresh", is_flag=True, help="Ask every lane anew, whatever is stored of it.")
@options(PROBE_ARG, JOBS)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write report.json, report.txt, report.md and repro/ there.",
)
@click.option(
    "--repro",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write a reproducer of each finding there (default: repro/ under --out).",
)
@options(CACHE, JSON, QUIET)
def command(
    config: Path | None,
    lane_globs: tuple[str, ...],
    tokenizers: tuple[str, ...],
    corpora: tuple[str, ...],
    cases: tuple[str, ...],
    isolate: bool,
    reducing: bool,
    sanitize: bool,
    fresh: bool,
    probe_args: tuple[str, ...],
    jobs: int | None,
    out: Path | None,
    repro: Path | None,
    cache: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Compare the subject on every lane, with itself and with the oracle.

    CONFIG is a tokparity.yaml; without one, the file of that name here, or else the bundled
    subject, tokenizer and corpora. Exit codes: 0 parity, 1 divergence, 2 usage, 3 the instrument is
    invalid, 4 a lane cannot be built or run here, 5 a golden was refused.
    """
    settings = configured(
        config,
        lane_globs=lane_globs,
        tokenizers=tokenizers,
        corpora=corpora,
        cases=cases,
        isolate=isolate,
        sanitize=sanitize,
        fresh=fresh,
        probe_args=probe_args,
        jobs=jobs,
        out=out,
        cache=cache,
    )
    if settings.out is not None:
        # Before anything is spent: a report that cannot be written is no use at the end.
        writable(settings.out, "report directory", f"name another directory with {_OUT}")
    place = settings.out / "repro" if repro is None and settings.out is not None else repro
    if place is not None:
        place = claimed(place.absolute(), _OUT if repro is None else _REPRO)
    with watching(quiet=quiet) as watch:
        report = run(settings, watch, reducing=reducing)
    try:
        # The files first: they must not depend on whether anybody reads what is printed.
        with remedied(f"free some space, or name another directory with {_OUT}"):
            _write(report, settings)
        if place is not None:
            write_reproducers(report, settings, place, _OUT if repro is None else _REPRO)
    except StorageError:
        # Nor may what was found be lost with a file that cannot be written.
        _show(report, as_json=as_json)
        raise
    _show(report, as_json=as_json)
    return report.exit


def _show(report: Report, *, as_json: bool) -> None:
    shown = text.render(report)
    print_out(json.dumps(report) if as_json else shown)
    if as_json:
        complain(shown)


def _write(report: Report, settings: Config) -> None:
    if settings.out is None:
        return
    files = {
        "report.json": json.dumps(report),
        "report.txt": text.render(report),
        "report.md": markdown.render(report),
    }
    for name, content in files.items():
        write_atomically(settings.out / name, (content.rstrip("\n") + "\n").encode())
