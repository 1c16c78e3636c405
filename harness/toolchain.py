"""What a lane means on this machine: its effective axes, its flags and its surroundings.

The data come from ``toolchains/*.yaml`` (see :mod:`harness.toolchain_file`); nothing here names a
target. ``host_arch`` is always an argument, so that any host can be reasoned about from any other.
"""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from harness.errors import LaneUnavailable, UsageError
from harness.lane import DOCKER, NATIVE, SSH, Lane, lane
from harness.toolchain_file import NAMED_APART, Reach, Toolchain, Value, read
from harness.validated import did_you_mean

Toolchains = Mapping[str, Toolchain]


@dataclass(frozen=True)
class Flags:
    """The pieces of a lane's compile and link commands, in order; ``compiler`` is argv[0]."""

    compiler: str
    compile: tuple[str, ...]
    link: tuple[str, ...]


@dataclass(frozen=True)
class Surroundings:
    """What a lane's probe is started in, besides what every probe has.

    ``environment`` are variables, as (name, value) pairs; ``command`` the words before its own.
    """

    environment: tuple[tuple[str, str], ...] = ()
    command: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """What a person types before the probe's command; empty for an ordinary lane."""
        return " ".join([*(f"{name}={value}" for name, value in self.environment), *self.command])


# What every lane's probe has: nothing besides.
ORDINARY = Surroundings()


def host_arch() -> str:
    """Return this machine's architecture under the name that toolchains use."""
    machine = platform.machine().lower()
    return {"arm64": "aarch64", "amd64": "x86_64"}.get(machine, machine)


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
        raise unknown_word("triple", one.triple, list(toolchains), one)
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
        if axis in sanitizers(toolchain):
            raise UsageError(
                f"lane '{one.name}' cannot have {axis}={value}",
                expected="a lane that can be compared",
                remedy="tokparity run --sanitize adds the lanes of every sanitizer",
            )
        if axis in apart or axis not in toolchain.axes:
            raise unknown_word("axis", axis, [a for a in toolchain.axes if a not in apart], one)
        if value not in toolchain.axes[axis].values:
            raise unknown_word(f"{axis} value", value, list(toolchain.axes[axis].values), one)
        _check_honoured(one, toolchain, axis, value)
    for axis, (value, meaning) in settings_of(one, toolchain).items():
        for other, needed in meaning.requires.items():
            if settings_of(one, toolchain)[other][0] != needed:
                raise UsageError(
                    f"lane '{one.name}' cannot have {axis}={value}",
                    expected=f"{other}={needed} beside it",
                    remedy=f"name the lane {with_settings(one, {other: needed}, toolchain).name}",
                )
    _check_runner(one, toolchain, host)


def _check_honoured(one: Lane, toolchain: Toolchain, axis: str, value: str) -> None:
    """Refuse a value that the lane's runner cannot give its probe."""
    able = toolchain.axes[axis].values[value].runners
    kind = "native" if one.native else "qemu" if one.cpu is not None else None
    if not able or kind in able:
        return
    own = ""
    if kind == "qemu" and toolchain.emulator is not None:
        own = f": {toolchain.emulator.program} has its own"
    raise UsageError(
        f"lane '{one.name}' cannot have {axis}={value}{own}",
        expected=f"{axis}={value} on a {' or '.join(able)} lane",
        remedy=f"leave {axis} out",
    )


def _check_runner(one: Lane, toolchain: Toolchain, host: str) -> None:
    if one.machine is not None:
        return
    if one.contained:
        if toolchain.image is None and settings_of(one, toolchain)["link"][0] == "dynamic":
            raise UsageError(
                f"lane '{one.name}' cannot have link=dynamic: an empty image has no libraries",
                expected=f"image: NAME in the toolchain file of {one.triple}",
                remedy="leave link=dynamic out; a static probe runs in any image",
            )
        return
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
        known = [NATIVE, f"qemu-{emulator.cpu}", DOCKER, f"{SSH}HOST"]
        raise unknown_word("runner", one.runner, known, one)
    if one.cpu not in emulator.cpus:
        raise unknown_word("cpu", one.cpu, emulator.cpus, one)


def axes_of(one: Lane, toolchain: Toolchain, host: str) -> Mapping[str, str]:
    """Return the lane's effective value on every axis: ``default`` is resolved to what it means.

    Two lanes with equal axes are the same lane under two names; that is what isolation rests on.
    ``cpu`` is ``host`` and ``emulator`` is ``none`` where the probe runs on the machine itself;
    over ssh ``cpu`` is the other machine's name. Which emulator and CPU a container of a foreign
    architecture gets is the kernel's registration to say: both are then ``binfmt``.
    """
    facts = toolchain.facts
    means = {
        ("char", "default"): facts.char,
        ("wchar", "default"): facts.wchar,
        ("long-double", "default"): str(facts.long_double_bits),
    }
    axes = {
        axis: means.get((axis, value), value)
        for axis, (value, _) in settings_of(one, toolchain).items()
        if axis not in sanitizers(toolchain)
    }
    axes.setdefault("wchar", facts.wchar)
    axes.setdefault("long-double", str(facts.long_double_bits))
    cpu, emulator = _executed_by(one, toolchain, host)
    if emulator != "none":
        named = dict(one.variations)
        axes |= {
            axis: own.emulated
            for axis, own in toolchain.axes.items()
            if own.emulated is not None and axis not in named
        }
    return MappingProxyType(
        {
            "arch": toolchain.arch,
            **axes,
            "container": DOCKER if one.contained else "none",
            "cpu": cpu,
            "emulator": emulator,
            "endian": toolchain.endian,
            "libc": facts.libc,
            "pointer": str(facts.pointer_bits),
        }
    )


def _executed_by(one: Lane, toolchain: Toolchain, host: str) -> tuple[str, str]:
    """Return the axes ``cpu`` and ``emulator``."""
    if one.machine is not None:
        return one.machine, "none"
    if one.contained and toolchain.arch != host:
        return "binfmt", "binfmt"
    if one.cpu is None or toolchain.emulator is None:
        return "host", "none"
    return one.cpu, toolchain.emulator.program


def emulated(one: Lane, toolchain: Toolchain, host: str) -> bool:
    """Whether a program, and no processor, executes the lane's probe."""
    return axes_of(one, toolchain, host)["emulator"] != "none"


def reach(one: Lane, toolchain: Toolchain, host: str) -> Reach:
    """Return how the lane's compiler is reached from a host."""
    compiler = toolchain.compilers[settings_of(one, toolchain)["compiler"][0]]
    return compiler.native if toolchain.arch == host else compiler.cross


def flags_for(one: Lane, toolchain: Toolchain, host: str) -> Flags:
    """Return a lane's compiler and the flags its axes ask for, in alphabetical order of axis."""
    how = reach(one, toolchain, host)
    settings = [meaning for _, meaning in settings_of(one, toolchain).values()]
    return Flags(
        compiler=how.needs[0].program,
        compile=(*how.flags, *(flag for value in settings for flag in value.flags)),
        link=(*how.flags, *(flag for value in settings for flag in value.link)),
    )


def sanitizers(toolchain: Toolchain) -> tuple[str, ...]:
    """Return the axes of the toolchain whose lanes look for faults and compare nothing."""
    return tuple(axis for axis, own in toolchain.axes.items() if own.when == "sanitize")


def built_apart(one: Lane, toolchain: Toolchain) -> tuple[tuple[str, str], ...]:
    """Return the lane's variations that its build depends on; lanes alike in them share a probe."""
    return tuple(
        (axis, value) for axis, value in one.variations if toolchain.axes[axis].when != "run"
    )


def surroundings_of(one: Lane, toolchain: Toolchain) -> Surroundings:
    """Return what the lane's probe is started in."""
    values = [value for _, value in settings_of(one, toolchain).values()]
    return Surroundings(
        tuple(pair for value in values for pair in value.environment.items()),
        tuple(word for value in values for word in value.command),
    )


def with_settings(one: Lane, settings: Mapping[str, str], toolchain: Toolchain) -> Lane:
    """Return ``one`` with settings changed; a default is not spelt out in a lane's name."""
    merged = {**dict(one.variations), **settings}
    spelt = {a: v for a, v in merged.items() if v != toolchain.axes[a].default}
    return lane(one.triple, one.char, one.runner, spelt)


def settings_of(one: Lane, toolchain: Toolchain) -> dict[str, tuple[str, Value]]:
    """Return the name and meaning of the lane's value on every axis of the toolchain."""
    chosen = {**dict(one.variations), "char": one.char}
    names = {axis: chosen.get(axis, values.default) for axis, values in toolchain.axes.items()}
    return {axis: (name, toolchain.axes[axis].values[name]) for axis, name in sorted(names.items())}


def unknown_word(kind: str, word: str, known: Sequence[str], one: Lane | None) -> UsageError:
    """Return the error for a word that is none of ``known``, with the nearest of them."""
    close = did_you_mean(word, list(known))
    return UsageError(
        f"unknown {kind} '{word}'" + (f" in lane '{one.name}'" if one else ""),
        expected=f"one of {', '.join(known)}",
        remedy=f"did you mean '{close}'?" if close else None,
    )
