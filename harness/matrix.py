"""Which lanes there are: the default matrix, the full one, any product of axes, and neighbours.

``host`` is always an argument, so that any host can be reasoned about from any other.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence

from harness.errors import LaneUnavailable, UsageError
from harness.lane import CHARS, NATIVE, Lane, lane
from harness.toolchain import (
    Toolchains,
    axes_of,
    check,
    sanitizers,
    settings_of,
    toolchain_for,
    unknown_word,
    with_settings,
)
from harness.toolchain_file import NAMED_APART, Toolchain
from harness.validated import did_you_mean

# The settings that `full` adds to the default matrix, one at a time, to catch what the default
# settings hide: no optimisation, the most, contraction as gcc does it unasked, a newest CPU.
_FULL = (("optimisation", "O0"), ("optimisation", "O3"), ("fp-contract", "fast"))
_FULL_CPU = "max"
# In axes to multiply: the triple of the machine that this runs on.
HOST = "host"


def default_runner(toolchain: Toolchain, host: str) -> str:
    """Return ``native`` on a host of the target's arch, else its emulator with the default CPU.

    Raises :class:`UsageError` for a foreign target that names no emulator.
    """
    if toolchain.arch == host:
        return NATIVE
    if toolchain.emulator is None:
        raise UsageError(f"{toolchain.triple} names no emulator, and this machine is {host}")
    return f"qemu-{toolchain.emulator.cpu}"


def default_lanes(toolchains: Toolchains, host: str) -> tuple[Lane, ...]:
    """Return every triple × char {default, signed, unsigned}, the host's own triple first."""
    return tuple(
        lane(toolchain.triple, char, default_runner(toolchain, host))
        for toolchain in _own_first(toolchains, host)
        for char in CHARS
    )


def full_lanes(toolchains: Toolchains, host: str) -> tuple[Lane, ...]:
    """Return the default lanes and, of each triple, one lane for every setting worth the time."""
    more: list[Lane] = []
    for toolchain in _own_first(toolchains, host):
        base = lane(toolchain.triple, "default", default_runner(toolchain, host))
        more += [
            with_settings(base, {axis: value}, toolchain)
            for axis, value in _FULL
            if value in toolchain.axes[axis].values
        ]
        if toolchain.emulator is not None and _FULL_CPU in toolchain.emulator.cpus:
            more.append(lane(toolchain.triple, "default", f"qemu-{_FULL_CPU}"))
    return (*default_lanes(toolchains, host), *more)


def multiply(
    axes: Mapping[str, Sequence[str]], toolchains: Toolchains, host: str
) -> tuple[Lane, ...]:
    """Return every combination of the given values; an axis not given keeps its default.

    The keys are ``triple``, ``char``, ``runner`` and any axis of the toolchains; the triple
    ``host`` is this machine's own. Each combination is checked, and one that cannot be expressed is
    refused, never dropped.
    """
    known = {"triple", "char", "runner"}.union(
        *({*one.axes}.difference(sanitizers(one)) for one in toolchains.values())
    )
    for axis, values in axes.items():
        if axis not in known:
            close = did_you_mean(axis, sorted(known))
            raise UsageError(
                f"unknown axis '{axis}'",
                where="lanes",
                expected=f"one of {', '.join(sorted(known))}",
                remedy=f"did you mean '{close}'?" if close else None,
            )
        if not values:
            raise UsageError("has no value", where=f"lanes.{axis}", expected="at least one value")
    triples = axes.get("triple") or [t.triple for t in _own_first(toolchains, host)]
    others = {axis: values for axis, values in axes.items() if axis not in ("triple", "runner")}
    found: dict[Lane, None] = {}
    for named in triples:
        triple = control_of(toolchains, host).triple if named == HOST else named
        toolchain = toolchain_for(Lane(triple, "default", NATIVE), toolchains)
        runners = axes.get("runner") or [default_runner(toolchain, host)]
        for runner, *picked in itertools.product(runners, *others.values()):
            settings = dict(zip(others, picked, strict=True))
            char = settings.pop("char", "default")
            if char not in CHARS:
                raise unknown_word("char", char, list(CHARS), None)
            bare = lane(triple, char, runner)
            # Checked as written first, since a wrong word must not vanish into a default.
            check(lane(triple, char, runner, settings), toolchains, host)
            found[with_settings(bare, settings, toolchain)] = None
    return tuple(found)


def neighbours(one: Lane, toolchain: Toolchain, host: str) -> tuple[Lane, ...]:
    """Return the lanes one change away from ``one`` that this toolchain can express here.

    A value that requires another axis brings that axis with it. A neighbour with the same effective
    axes would separate nothing and is left out. A native lane's neighbours include it under the
    emulator, and an emulated one's include each other CPU named in ``full`` and the default.
    """
    here = axes_of(one, toolchain, host)
    found: dict[Lane, None] = {}
    for candidate in _changed(one, toolchain, host):
        if axes_of(candidate, toolchain, host) != here and _expressible(candidate, toolchain, host):
            found[candidate] = None
    return tuple(found)


def _expressible(one: Lane, toolchain: Toolchain, host: str) -> bool:
    try:
        check(one, {toolchain.triple: toolchain}, host)
    except UsageError:
        return False
    return True


def control_of(toolchains: Toolchains, host: str) -> Lane:
    """Return the control, the host's triple with nothing said; raises :class:`LaneUnavailable`."""
    for toolchain in toolchains.values():
        if toolchain.arch == host:
            return lane(toolchain.triple, "default", NATIVE)
    raise LaneUnavailable(
        f"no toolchain describes this machine's architecture, {host}",
        expected=f"one of {', '.join(sorted(t.arch for t in toolchains.values()))}",
        remedy="add a file TRIPLE.yaml to a directory named under toolchains:",
    )


def _changed(one: Lane, toolchain: Toolchain, host: str) -> Iterator[Lane]:
    for char in CHARS:
        yield lane(one.triple, char, one.runner, dict(one.variations))
    emulator = toolchain.emulator
    runners = [NATIVE] if toolchain.arch == host else []
    if emulator is not None:
        runners += [f"qemu-{emulator.cpu}"]
        runners += [f"qemu-{_FULL_CPU}"] if _FULL_CPU in emulator.cpus else []
    for runner in runners:
        yield lane(one.triple, one.char, runner, dict(one.variations))
    for axis, values in toolchain.axes.items():
        if axis in (*NAMED_APART, *sanitizers(toolchain)):
            continue
        for value, meaning in values.values.items():
            changed = with_settings(one, {**meaning.requires, axis: value}, toolchain)
            # The change may take away what another setting of the lane requires.
            if all(
                settings_of(changed, toolchain)[other][0] == needed
                for _, kept in settings_of(changed, toolchain).values()
                for other, needed in kept.requires.items()
            ):
                yield changed


def _own_first(toolchains: Toolchains, host: str) -> list[Toolchain]:
    return sorted(toolchains.values(), key=lambda one: (one.arch != host, one.triple))
