"""``tokparity reduce``: the smallest text that still shows what a case shows."""

from pathlib import Path

import click

from harness.cli.options import (
    CACHE,
    CONFIG,
    CORPUS,
    HEX,
    JOBS,
    JSON,
    LANES,
    PROBE_ARG,
    QUIET,
    TEXT,
    TOKENIZER,
    bytes_given,
    configured,
    options,
)
from harness.cli.progress import watching
from harness.cli.streams import complain, print_out
from harness.errors import InstrumentInvalid, UsageError
from harness.files import read_ordinary
from harness.pipeline import reduce
from harness.reduced import Reduced
from harness.reduction import Interrupted
from harness.report.escape import json_text
from harness.report.reduced import render, to_dict
from harness.wanted import Wanted


@click.command(name="reduce")
@click.argument("case", required=False, metavar="CASE")
@options(CONFIG, TEXT, HEX)
@click.option("--cause", metavar="NAME", help="Where the case shows several: the one to keep.")
@options(LANES, TOKENIZER, CORPUS)
@options(PROBE_ARG, JOBS)
@click.option(
    "--questions",
    type=click.IntRange(min=1),
    metavar="N",
    help="Ask about N candidates at most (default: 2000; 60 where a lane hangs).",
)
@options(CACHE, JSON, QUIET)
def command(
    case: str | None,
    config: Path | None,
    text: str | None,
    digits: str | None,
    cause: str | None,
    lane_globs: tuple[str, ...],
    tokenizers: tuple[str, ...],
    corpora: tuple[str, ...],
    probe_args: tuple[str, ...],
    jobs: int | None,
    questions: int | None,
    cache: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Shrink a diverging case, keeping the same lanes apart and the same cause.

    CASE is CORPUS/ID as a report prints it, or a file of bytes; CONFIG a tokparity.yaml. The cause
    is found as `run` finds it, over all the corpora chosen. Exit codes: 0 reduced, 2 usage or a
    case that cannot be shrunk, and as for `run`.
    """
    given = [one for one in (text, digits) if one is not None]
    if given and case is not None and config is None:
        config, case = Path(case), None
    if len(given) + (case is not None) != 1:
        raise UsageError(
            "needs exactly one case", expected="CORPUS/ID, a file of bytes, --text or --hex"
        )
    settings = configured(
        config,
        lane_globs=lane_globs,
        tokenizers=tokenizers,
        corpora=corpora,
        probe_args=probe_args,
        jobs=jobs,
        cache=cache,
    )
    wanted = _wanted(case, text, digits, cause)
    try:
        with watching(quiet=quiet) as watch:
            reduced = reduce(settings, wanted, watch, questions)
    except Interrupted as interrupted:
        _show(interrupted.reduced, as_json=as_json)
        raise
    _show(reduced, as_json=as_json)
    if not reduced.confirmed:
        complain(f"tokparity: {render(reduced).splitlines()[0]}")
        return InstrumentInvalid.exit_code
    return 0


def _show(reduced: Reduced, *, as_json: bool) -> None:
    print_out(json_text(to_dict(reduced)) if as_json else render(reduced))


def _wanted(case: str | None, text: str | None, digits: str | None, cause: str | None) -> Wanted:
    given = bytes_given(text, digits)
    if given is not None:
        return Wanted.given(given, name="hex" if text is None else "text", cause=cause)
    assert case is not None  # noqa: S101 - the command has counted
    path = Path(case)
    if not path.is_file():
        return Wanted(case=case, cause=cause)
    try:
        return Wanted.given(read_ordinary(path), name="file", cause=cause)
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=case) from error
