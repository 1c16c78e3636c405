"""``tokparity explain``: one text, every stage side by side."""

import json
from pathlib import Path

import click

from harness.cli.options import (
    CACHE,
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
from harness.errors import UsageError
from harness.explain import explain
from harness.report.escape import terminal
from harness.report.explain import render
from harness.report.explanation import to_dict

SCHEMA = "tokparity-explain/1"


@click.command(name="explain")
@click.argument("words", nargs=-1, metavar="[CASE] [CONFIG]")
@click.option("--text", metavar="TEXT", help="Explain this text in place of a case.")
@click.option("--hex", "digits", metavar="HEX", help="Explain these bytes in place of a case.")
@options(LANES, TOKENIZER, CORPUS)
@click.option("--probe-arg", "probe_args", multiple=True, metavar="ARG", help="Pass to the probe.")
@click.option("--jobs", type=click.IntRange(min=1), help="Lanes at a time (default: the cores).")
@options(CACHE, JSON, QUIET)
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
        # The one control character that json leaves alone must not reach a terminal either.
        print_out(json.dumps(document, indent=1).replace("\x7f", "\\u007f"))
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
    if digits is not None:
        try:
            return bytes.fromhex(digits)
        except ValueError as error:
            raise UsageError(
                f"--hex is no hexadecimal: {error}", expected="two digits a byte, as in 65cc81"
            ) from None
    # An argument that is not UTF-8 comes with its bytes escaped, and they are what is meant.
    return None if text is None else text.encode("utf-8", "surrogateescape")
