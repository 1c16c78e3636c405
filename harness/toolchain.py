"""What a lane means on this machine: its effective axes, its flags, its needs, and its neighbours.

The data come from ``toolchains/*.yaml`` (see :mod:`harness.toolchain_file`); nothing here names a
target. ``host_arch`` is always an argument, so that any host can be reasoned about from any other.
"""

import itertools
import os
import platform
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from harness.errors import LaneUnavailable, UsageError
from harness.lane import CHARS, NATIVE, Lane, lane
from harness.toolchain_file import NAMED_APART, Reach, Toolchain, Value, read
from harness.validated import did_you_mean

Toolchains = Mapping[str, Toolchain]
Find = Callable[[str], Path | None]
# The settings that `full` adds to the default matrix, one at a time, to catch what the default
# settings hide: no optimisation, the most, contraction as gcc does it unasked, a newest CPU.
_FULL = (("optimisation", "O0"), ("optimisation", "O3"), ("fp-contract", "fast"))
_FULL_CPU = "max"


@dataclass(frozen=True)
class Need:
    """A program that a lane needs here; ``found`` is None where it is missing."""

    program: str
    found: Path | None
    package: str
    why: str


@dataclass(frozen=True)
class Flags:
    """The pieces of a lane's compile and link commands, in order; ``compiler`` is argv[0]."""

    compiler: str
    compile: tuple[str, ...]
    link: tuple[str, ...]


def host_arch() -> str:
    """Return this machine's architecture under the name that toolchains use."""
    machine = platform.machine().lower()
    return {"arm64": "aarch64", "amd64": "x86_64"}.get(machine, machine)


def which(program: str) -> Path | None:
    """Return where ``program`` lies on ``PATH``, or None."""
    found = shutil.which(program)
    return Path(os.path.abspath(found)) if found else None  # noqa: PTH100 - symlinks stay: argv[0] chooses


def load_toolchains(directories: Sequence[Path]) -> Toolchains:
    """Read every ``*.yaml``, keyed by triple; a later directory replaces a triple.

    Raises :class:`UsageError` for a file that does not fit, and where there is none at all.
    """
    found: dict[str, Toolchain] = {}
    for directory in directories:
        for path in sorted(directory.glob("*.yaml")):
            toolchain = read(path)
            found[toolchain.triple] = toolchain
    if not found:
        raise UsageError(
            "there is no toolchain",
            where=", ".join(map(str, directories)),
            expected="a file TRIPLE.yaml",
        )
    return MappingProxyType(dict(sorted(found.items())))


def toolchain_for(one: Lane, toolchains: Toolchains) -> Toolchain:
    """Return the toolchain of a lane; raises :class:`UsageError` for a triple nobody described."""
    toolchain = toolchains.get(one.triple)
    if toolchain is None:
        raise _unknown("triple", one.triple, list(toolchains), one)
    return toolchain


def check(one: Lane, toolchains: Toolchains, host: str) -> None:
    """Refuse a lane that no toolchain can express.

    Raises :class:`UsageError` for an unknown triple, axis, value, runner or CPU, with the nearest
    known word, and for a value that needs another axis set; :class:`LaneUnavailable` for a native
    lane of a foreign architecture.
    """
    toolchain = toolchain_for(one, toolchains)
    apart = {*NAMED_APART, "cpu", "emulator", "arch", "triple"}
    for axis, value in one.variations:
        if axis in apart or axis not in toolchain.axes:
            raise _unknown("axis", axis, [a for a in toolchain.axes if a not in apart], one)
        if value not in toolchain.axes[axis].values:
            raise _unknown(f"{axis} value", value, list(toolchain.axes[axis].values), one)
    for axis, (value, meaning) in _settings(one, toolchain).items():
        for other, needed in meaning.requires.items():
            if _settings(one, toolchain)[other][0] != needed:
                raise UsageError(
                    f"lane '{one.name}' cannot have {axis}={value}",
                    expected=f"{other}={needed} beside it",
                    remedy=f"name the lane {_with(one, {other: needed}, toolchain).name}",
                )
    _check_runner(one, toolchain, host)


def _check_runner(one: Lane, toolchain: Toolchain, host: str) -> None:
    emulator = toolchain.emulator
    default = f"qemu-{emulator.cpu}" if emulator else None
    if one.native:
        if toolchain.arch != host:
            raise LaneUnavailable(
                f"lane '{one.name}' needs an {toolchain.arch} machine; this one is {host}",
                remedy=f"{one.triple}/{one.char}/{default}" if default else None,
            )
        return
    if emulator is None:
        raise UsageError(f"lane '{one.name}' is emulated, and {one.triple} names no emulator")
    if one.cpu is None:
        raise _unknown("runner", one.runner, [NATIVE, f"qemu-{emulator.cpu}"], one)
    if one.cpu not in emulator.cpus:
        raise _unknown("cpu", one.cpu, emulator.cpus, one)


def axes_of(one: Lane, toolchain: Toolchain, host: str) -> Mapping[str, str]:
    """Return the lane's effective value on every axis: ``default`` is resolved to what it means.

    Two lanes with equal axes are the same lane under two names; that is what isolation rests on.
    ``cpu`` is ``host`` and ``emulator`` is ``none`` where the probe runs on the machine itself.
    ``host`` is unused today and kept so that a host-dependent axis needs no new signature.
    """
    facts = toolchain.facts
    means = {("char", "default"): facts.char, ("wchar", "default"): facts.wchar}
    axes = {
        axis: means.get((axis, value), value)
        for axis, (value, _) in _settings(one, toolchain).items()
    }
    axes.setdefault("wchar", facts.wchar)
    emulator = toolchain.emulator
    return MappingProxyType(
        {
            "arch": toolchain.arch,
            **axes,
            "cpu": one.cpu or "host",
            "emulator": "none" if one.native or emulator is None else emulator.program,
            "endian": toolchain.endian,
            "libc": facts.libc,
            "long-double": str(facts.long_double_bits),
            "pointer": str(facts.pointer_bits),
        }
    )


def reach(one: Lane, toolchain: Toolchain, host: str) -> Reach:
    """Return how the lane's compiler is reached from a host."""
    compiler = toolchain.compilers[_settings(one, toolchain)["compiler"][0]]
    return compiler.native if toolchain.arch == host else compiler.cross


def flags_for(one: Lane, toolchain: Toolchain, host: str) -> Flags:
    """Return a lane's compiler and the flags its axes ask for, in alphabetical order of axis."""
    how = reach(one, toolchain, host)
    settings = [meaning for _, meaning in _settings(one, toolchain).values()]
    return Flags(
        compiler=how.needs[0].program,
        compile=(*how.flags, *(flag for value in settings for flag in value.flags)),
        link=(*how.flags, *(flag for value in settings for flag in value.link)),
    )


def needs(one: Lane, toolchain: Toolchain, host: str, find: Find = which) -> tuple[Need, ...]:
    """Return every program the lane needs to be built and run here, found or not."""
    wanted = [
        (need.program, need.package, "compiles it") for need in reach(one, toolchain, host).needs
    ]
    emulator = toolchain.emulator
    if not one.native and emulator is not None:
        wanted.append((emulator.program, emulator.package, "runs it"))
    return tuple(Need(program, find(program), package, why) for program, package, why in wanted)


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
            _with(base, {axis: value}, toolchain)
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

    The keys are ``triple``, ``char``, ``runner`` and any axis of the toolchains. Each combination
    is checked, and one that cannot be expressed is refused, never dropped.
    """
    known = {"triple", "char", "runner"}.union(*(t.axes for t in toolchains.values()))
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
    for triple in triples:
        toolchain = toolchain_for(Lane(triple, "default", NATIVE), toolchains)
        runners = axes.get("runner") or [default_runner(toolchain, host)]
        for runner, *picked in itertools.product(runners, *others.values()):
            settings = dict(zip(others, picked, strict=True))
            char = settings.pop("char", "default")
            if char not in CHARS:
                raise _unknown("char", char, list(CHARS), None)
            bare = lane(triple, char, runner)
            # Checked as written first, since a wrong word must not vanish into a default.
            check(lane(triple, char, runner, settings), toolchains, host)
            found[_with(bare, settings, toolchain)] = None
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
        if axes_of(candidate, toolchain, host) != here:
            found[candidate] = None
    return tuple(found)


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
        if axis in NAMED_APART:
            continue
        for value, meaning in values.values.items():
            changed = _with(one, {**meaning.requires, axis: value}, toolchain)
            # The change may take away what another setting of the lane requires.
            if all(
                _settings(changed, toolchain)[other][0] == needed
                for _, kept in _settings(changed, toolchain).values()
                for other, needed in kept.requires.items()
            ):
                yield changed


def _with(one: Lane, settings: Mapping[str, str], toolchain: Toolchain) -> Lane:
    """Return ``one`` with settings changed; a default is not spelt out in a lane's name."""
    merged = {**dict(one.variations), **settings}
    spelt = {a: v for a, v in merged.items() if v != toolchain.axes[a].default}
    return lane(one.triple, one.char, one.runner, spelt)


def _settings(one: Lane, toolchain: Toolchain) -> dict[str, tuple[str, Value]]:
    chosen = {**dict(one.variations), "char": one.char}
    names = {axis: chosen.get(axis, values.default) for axis, values in toolchain.axes.items()}
    return {axis: (name, toolchain.axes[axis].values[name]) for axis, name in sorted(names.items())}


def _own_first(toolchains: Toolchains, host: str) -> list[Toolchain]:
    return sorted(toolchains.values(), key=lambda one: (one.arch != host, one.triple))


def _unknown(kind: str, word: str, known: Sequence[str], one: Lane | None) -> UsageError:
    close = did_you_mean(word, list(known))
    return UsageError(
        f"unknown {kind} '{word}'" + (f" in lane '{one.name}'" if one else ""),
        expected=f"one of {', '.join(known)}",
        remedy=f"did you mean '{close}'?" if close else None,
    )
