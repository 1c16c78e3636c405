"""Which case breaks the protocol: every request asked again, with a check after each.

Answers have no number of their own, so a stream that has one too many or too few only shows at its
end that something is wrong somewhere. Here a request that no subject has follows every request;
its answer, ``unsupported``, marks the place where the next answer must begin.
"""

from dataclasses import dataclass

from harness.answers import BadAnswer, parse_answer
from harness.hello import shown
from harness.requests import RequestFile
from harness.session import NoHello, Starter
from harness.wire import Ended, Endless, Wire

_SYNC = b"tokparity-sync\n"
# Long enough for a line that is already on its way, on a busy machine under emulation.
_LEFTOVER_SECONDS = 0.25


@dataclass(frozen=True)
class Violation:
    """A probe that breaks the protocol: what it did, and on which request where that is known."""

    why: str
    request: int | None


def find_violation(
    starter: Starter, requests: RequestFile, first: int, last: int, answered: int
) -> Violation | None:
    """Ask requests ``first`` to ``last`` one by one; return the first breach, or None.

    ``answered`` is the index below which each request is known to be answered once the input ends:
    silence on such a one means that the probe keeps its answers back. A probe that dies
    or hangs without a breach gives None: that is a crash or a timeout, and no breach. Raises what
    :meth:`Starter.start` raises, except :class:`NoHello`, which gives None.
    """
    try:
        wire, _ = starter.start_fed()
    except NoHello:
        return None
    most = starter.limits.longest_answer(requests.longest())
    with wire:
        for index in range(first, last):
            try:
                why = _breach(wire, starter, requests, index, most, answered)
            except Ended:
                return None
            except Endless:
                why = f"gave a line of more than {most} bytes"
            if why is not None:
                return None if why == "" else Violation(why, index)
        try:
            line = wire.line(_LEFTOVER_SECONDS, most)
        except (Ended, Endless):
            line = None
        if line is not None and last > first:
            return Violation(f"answered and then printed {shown(line)}", last - 1)
    return None


def _breach(
    wire: Wire, starter: Starter, requests: RequestFile, index: int, most: int, answered: int
) -> str | None:
    """Return what is wrong with one exchange, None where nothing is, "" where the probe hangs."""
    wire.send(requests.line(index) + _SYNC)
    first = wire.line(starter.limits.case_seconds, most)
    if first is None:
        kept_back = index < answered
        return "keeps its answers back: each answer must be flushed" if kept_back else ""
    try:
        parse_answer(first, requests.operation(index))
    except BadAnswer as bad:
        return bad.why
    second = wire.line(starter.limits.case_seconds, most)
    if second is None:
        return "gave no answer" if first == b"unsupported" else ""
    # A subject that reports what it does not know as an error is forgiven here.
    if second != b"unsupported" and not second.startswith(b"err"):
        return f"answered {shown(first)} and then {shown(second)}"
    return None
