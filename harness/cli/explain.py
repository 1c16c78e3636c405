"""``tokparity explain``: one text, every stage side by side."""

from pathlib import Path

import click

from harness.cli.options import (
    CACHE,
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
from harness.errors import UsageError
from harness.explain import explain
from harness.report.escape import json_text, terminal
from harness.report.explain import render
from harness.report.explanation import to_dict

SCHEMA = "tokparity-explain/1"


@click.command(name="explain")
@click.argument("words", nargs=-1, metavar="[CASE] [CONFIG]")
@options(TEXT, HEX, LANES, TOKENIZER, CORPUS, PROBE_ARG, JOBS, CACHE, JSON, QUIET)
def command(
    words: tuple[str, ...],
    text: str | None,
    digits: str | None,
    lane_globs: tuple[str, ...],
    tokenizers: tuple[str, ...],
    corpora: tuple[str, ...],
    probe_args: tuple[str, ...],
    jobs: int | None,
    cache: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Show what every stage makes of one text: the oracle, and each lane that differs from it.

    CASE is CORPUS/ID; --text or --hex stand in its place. CONFIG is a tokparity.yaml, as for run.
    The exit code is 0 where it could be shown, whether or not the lanes agree.
    """
    case, config = _arguments(words, given=text is not None or digits is not None)
    settings = configured(
        config,
        lane_globs=lane_globs,
        tokenizers=tokenizers,
        corpora=corpora,
        probe_args=probe_args,
        jobs=jobs,
        cache=cache,
    )
    with watching(quiet=quiet) as watch:
        found, missing = explain(settings, case, _given(text, digits), watch)
    if as_json:
        document = {"schema": SCHEMA, "explanations": [to_dict(one) for one in found]}
        print_out(json_text(document))
    else:
        print_out("\n\n".join(render(one) for one in found))
    if missing is None:
        return 0
    complain("\n".join(terminal(line) for line in f"tokparity: {missing}".splitlines()))
    return missing.exit_code


def _arguments(words: tuple[str, ...], *, given: bool) -> tuple[str | None, Path | None]:
    """Return the case and the configuration file; with a text given there is no case."""
    most = 1 if given else 2
    if len(words) > most:
        raise UsageError(
            f"'{words[most]}' is one argument too many",
            expected="[CONFIG] beside --text or --hex" if given else "CASE [CONFIG]",
        )
    if given:
        return None, Path(words[0]) if words else None
    if not words:
        raise UsageError("there is no text to explain", expected="CORPUS/ID, --text or --hex")
    return words[0], Path(words[1]) if len(words) > 1 else None


def _given(text: str | None, digits: str | None) -> bytes | None:
    if text is not None and digits is not None:
        raise UsageError("--text and --hex name two texts", expected="one of them")
    return bytes_given(text, digits)
