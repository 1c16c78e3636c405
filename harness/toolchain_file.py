"""What a ``toolchains/<triple>.yaml`` says: a target's facts, and how to compile and run for it.

Everything that differs between targets is in these files, so that another triple is another file.
"""

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from harness.errors import UsageError
from harness.validated import Strict, load_yaml

Sign = Literal["signed", "unsigned"]
# A lane's name spells these two outside its AXIS=VALUE parts.
NAMED_APART = ("char",)
REQUIRED_AXES = ("char", "compiler", "fp-contract", "link", "optimisation")


class Facts(Strict):
    """What the target is, whoever compiles for it. ``long_double_bits`` counts the mantissa."""

    char: Sign
    wchar: Sign
    wchar_bits: int
    pointer_bits: int
    long_double_bits: int
    libc: str


class Program(Strict):
    """A program a lane needs and the package that carries it."""

    program: str = Field(min_length=1)
    package: str = Field(min_length=1)


class Reach(Strict):
    """How one compiler is reached from one kind of host; the first need is the compiler."""

    needs: list[Program] = Field(min_length=1)
    flags: list[str] = Field(default_factory=list)


class Compiler(Strict):
    """A compiler on a host of the target's own arch, and on any other."""

    native: Reach
    cross: Reach


class Value(Strict):
    """What one value of an axis adds to every compile, link and start, and what it needs for that.

    ``requires`` are values of other axes; ``needs`` programs besides the compiler (a library of the
    compiler's, ``libNAME.so``, and a locale, ``locale:NAME``, count as such); ``runners`` the only
    runners that can honour it, any where it is empty. ``environment`` and ``command``, the words
    before the probe's own command, are of the start.
    """

    flags: list[str] = Field(default_factory=list)
    link: list[str] = Field(default_factory=list)
    requires: dict[str, str] = Field(default_factory=dict)
    environment: dict[str, str] = Field(default_factory=dict)
    command: list[str] = Field(default_factory=list)
    needs: list[Program] = Field(default_factory=list)
    runners: list[Literal["native", "qemu"]] = Field(default_factory=list)


class Axis(Strict):
    """The values an axis can take, and the one a lane has when it names none.

    ``when`` says what an axis acts on: the ``build``; the ``run`` alone, so that the same probe is
    executed in another environment; or both, for ``sanitize`` lanes, which compare nothing.
    ``emulated`` is the effective value of a lane that names none and runs under an emulator.
    """

    when: Literal["build", "run", "sanitize"] = "build"
    default: str
    emulated: str | None = None
    values: dict[str, Value] = Field(min_length=1)

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.default not in self.values:
            raise ValueError(f"a default that is one of {', '.join(self.values)}")
        for name, value in self.values.items():
            if self.when == "run" and (value.flags or value.link):
                raise ValueError(f"no flags for {name}: what acts on the run alone builds nothing")
            if self.when == "build" and (value.environment or value.command):
                raise ValueError(f"no environment or command for {name}, or when: run")
        return self


class Emulator(Strict):
    """The user-mode emulator of the target: its default CPU, and every CPU a lane may name."""

    program: str
    package: str
    cpu: str
    cpus: list[str] = Field(min_length=1)
    sysroot: str | None = None

    @model_validator(mode="after")
    def _cpu_is_known(self) -> Self:
        if self.cpu not in self.cpus:
            raise ValueError(f"a cpu that is one of cpus: {', '.join(self.cpus)}")
        return self


class Toolchain(Strict):
    """One target triple, and the container image its docker lanes run in."""

    triple: str = Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.+-]*$")
    arch: str
    endian: Literal["little", "big"]
    facts: Facts
    compilers: dict[str, Compiler] = Field(min_length=1)
    axes: dict[str, Axis]
    emulator: Emulator | None = None
    # Of docker lanes: an image the engine already has. None is an image with nothing in it.
    image: str | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _whole(self) -> Self:
        missing = [axis for axis in REQUIRED_AXES if axis not in self.axes]
        if missing:
            raise ValueError(f"axes with {', '.join(missing)}")
        if sorted(self.axes["compiler"].values) != sorted(self.compilers):
            raise ValueError("the values of the axis compiler to be the keys of compilers")
        if sorted(self.axes["char"].values) != ["default", "signed", "unsigned"]:
            raise ValueError("the axis char to have the values default, signed and unsigned")
        for name, axis in self.axes.items():
            for word, value in axis.values.items():
                for other, needed in value.requires.items():
                    if needed not in self.axes.get(other, axis).values or other not in self.axes:
                        raise ValueError(f"{name}={word} to require an axis and value that exist")
        return self


def read(path: Path) -> Toolchain:
    """Read one toolchain file, whose name is its triple; raises :class:`UsageError`."""
    toolchain = load_yaml(path, Toolchain)
    if toolchain.triple != path.stem:
        raise UsageError(
            f"has the triple '{toolchain.triple}'",
            where=f"{path}: triple",
            expected=f"'{path.stem}', as the file's name says",
        )
    return toolchain
