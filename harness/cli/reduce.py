"""``tokparity reduce``: the smallest text that still shows what a case shows."""

import json
import os
from pathlib import Path

import click

from harness.cli.options import (
    CACHE,
    CONFIG,
    CORPUS,
    JSON,
    LANES,
    QUIET,
    TOKENIZER,
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
from harness.report.reduced import render, to_dict
from harness.wanted import Wanted


@click.command(name="reduce")
@click.argument("case", required=False, metavar="CASE")
@options(CONFIG)
@click.option("--text", metavar="TEXT", help="Reduce this text instead of a case.")
@click.option("--hex", "hexadecimal", metavar="HEX", help="Reduce these bytes instead of a case.")
@click.option("--cause", metavar="NAME", help="Where the case shows several: the one to keep.")
@options(LANES, TOKENIZER, CORPUS)
@click.option("--probe-arg", "probe_args", multiple=True, metavar="ARG", help="Pass to the probe.")
@click.option("--jobs", type=click.IntRange(min=1), help="Lanes at a time (default: the cores).")
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
    hexadecimal: str | None,
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
    given = [one for one in (text, hexadecimal) if one is not None]
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
    wanted = _wanted(case, text, hexadecimal, cause)
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
    if not as_json:
        print_out(render(reduced))
        return
    # The one control character that json leaves alone.
    print_out(json.dumps(to_dict(reduced), indent=1).replace("\x7f", "\\u007f"))


def _wanted(
    case: str | None, text: str | None, hexadecimal: str | None, cause: str | None
) -> Wanted:
    if text is not None:
        # As the shell handed it over: bytes that are not UTF-8 included.
        return Wanted.given(os.fsencode(text), cause=cause)
    if hexadecimal is not None:
        try:
            return Wanted.given(bytes.fromhex(hexadecimal), name="hex", cause=cause)
        except ValueError:
            raise UsageError("--hex is not pairs of hexadecimal digits") from None
    assert case is not None  # noqa: S101 - the command has counted
    path = Path(case)
    if not path.is_file():
        return Wanted(case=case, cause=cause)
    try:
        return Wanted.given(read_ordinary(path), name="file", cause=cause)
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=case) from error
