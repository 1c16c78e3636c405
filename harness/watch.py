"""How long work tells its progress, without knowing whether anybody is looking."""

from collections.abc import Callable
from dataclasses import dataclass, field


def _nothing(*_: object) -> None:
    """Ignore what is said."""


@dataclass(frozen=True, kw_only=True)
class Watch:
    """``stage`` opens a stage with its number of steps, ``step`` ends one, ``say`` passes words.

    The three may be called from any thread.
    """

    stage: Callable[[str, int | None], None] = field(default=_nothing)
    step: Callable[[str], None] = field(default=_nothing)
    say: Callable[[str], None] = field(default=_nothing)
