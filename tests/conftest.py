"""What every test may rely on, however the tests were started."""

import signal

import pytest

from tests.short import SHORT, left_out

# A shell's background job, and `nohup`, start with signals ignored, and children inherit that: no
# Ctrl-C would then reach a program under test. A handler of our own is undone by exec.
for _number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(
            _number,
            signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL,
        )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is long, where that is asked for; see ``tests/short.py``."""
    if SHORT:
        config.hook.pytest_deselected(items=[one for one in items if left_out(one.nodeid)])
        items[:] = [one for one in items if not left_out(one.nodeid)]
