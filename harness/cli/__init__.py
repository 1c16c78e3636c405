"""The command line. Only here is anything printed, and only here does the program exit.

This module imports next to nothing: from its first line on, an interrupt ends the program in order,
also while everything else is still being imported.
"""

import gc
import signal
import sys
from typing import NoReturn

INTERRUPTED = 130
# A run makes some hundred thousand values that live to its end, in no cycles: looking through them
# as often as Python does by itself costs a fifth of the time.
_COLLECTING = (100_000, 50, 100)
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main() -> NoReturn:
    """Run the command line; every outcome becomes one of the documented exit codes."""
    gc.set_threshold(*_COLLECTING)
    try:
        # A supervisor's TERM or a terminal that goes must leave as little behind as Ctrl-C does.
        for number in _ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup sets it for SIGHUP
                signal.signal(number, _interrupt)
        from harness.cli.root import outcome

        code = outcome()
    except KeyboardInterrupt:
        from harness.cli import streams

        streams.complain(
            "tokparity: interrupted; finished builds and lane runs are kept and reused"
        )
        code = INTERRUPTED
    sys.exit(code)


def _interrupt(number: int, frame: object) -> None:
    """End the run in order, once: an impatient second Ctrl-C must not cut the cleaning short."""
    del number, frame
    for ending in _ENDING:
        signal.signal(ending, signal.SIG_IGN)
    raise KeyboardInterrupt
