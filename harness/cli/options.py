"""Options that several commands share, and how they become a configuration."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from harness.config import Config, Overrides, resolve
from harness.errors import UsageError

_Command = TypeVar("_Command", bound=Callable[..., Any])

CONFIG = click.argument("config", required=False, type=click.Path(path_type=Path))
LANES = click.option(
    "--lanes", "lane_globs", multiple=True, metavar="GLOB", help="Select lanes by name."
)
TOKENIZER = click.option(
    "--tokenizer",
    "tokenizers",
    multiple=True,
    metavar="NAME|FILE",
    help="A tokenizer by name or file; 'all' for every one that goldens/ names.",
)
CORPUS = click.option(
    "--corpus", "corpora", multiple=True, metavar="NAME|FILE", help="A corpus by name or file."
)
PROBE_ARG = click.option(
    "--probe-arg", "probe_args", multiple=True, metavar="ARG", help="Pass to the probe."
)
JOBS = click.option(
    "--jobs", type=click.IntRange(min=1), help="Lanes at a time (default: the cores)."
)
TEXT = click.option("--text", metavar="TEXT", help="This text in place of a case.")
HEX = click.option("--hex", "digits", metavar="HEX", help="These bytes in place of a case.")
CACHE = click.option(
    "--cache",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where builds, tokenizers and results are kept (default: $TOKPARITY_CACHE or XDG).",
)
JSON = click.option("--json", "as_json", is_flag=True, help="JSON on stdout, all else on stderr.")
QUIET = click.option("--quiet", "-q", is_flag=True, help="No progress.")


def options(*decorators: Callable[[_Command], _Command]) -> Callable[[_Command], _Command]:
    """Apply several option decorators, shown by ``--help`` in the order given."""

    def apply(command: _Command) -> _Command:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return apply


def bytes_given(text: str | None, digits: str | None) -> bytes | None:
    """Return the bytes of ``--text`` or, without it, of ``--hex``; None where neither is given."""
    if text is not None:
        # As the shell handed it over: bytes that are not UTF-8 included.
        return os.fsencode(text)
    if digits is None:
        return None
    try:
        return bytes.fromhex(digits)
    except ValueError:
        raise UsageError(
            "--hex is not pairs of hexadecimal digits", expected="two digits a byte, as in 65cc81"
        ) from None


def configured(config: Path | None, **overrides: Any) -> Config:  # noqa: ANN401
    """Resolve a command's CONFIG argument and options."""
    return resolve(config, Overrides(**overrides))
