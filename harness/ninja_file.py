"""The text of a ``build.ninja``: every variant of one subject, every argument escaped.

A *variant* is the part of a lane that a compiler sees: its triple, char and variations. Lanes that
differ only in how the probe is executed share one variant, and so one probe.

ninja hands each command to ``/bin/sh`` (its manual, "Rule variables"), so an argument is quoted
twice: for the shell, then for ninja, whose only escape character is ``$``. A path with ``;``, ``<``
or ``>`` in it builds, but ninja cannot read it back from a dependency file, and compiles it
each time.
"""

import hashlib
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.subject import Subject
from harness.toolchain import Flags

PROBE = "probe"
FAILED = ".failed"  # beside an output: what the compiler said when it could not make it
OBJECTS = "objects"  # the directory of all subjects' objects, a directory a variant below it
STAMP = "compiler"  # in a variant's directory of objects: which compiler made them


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One way of compiling a subject. ``name`` is its directory, of objects and of the probe."""

    name: str
    triple: str
    arch: str
    compiler: Path
    flags: Flags


@dataclass(frozen=True, kw_only=True)
class Edge:
    """One output, how it is made, and from what; paths are relative to the build directory.

    ``flags`` are those of ``argv`` that every edge of its kind shares.
    """

    output: str
    argv: tuple[str, ...]
    inputs: tuple[str, ...]
    implicit: tuple[str, ...]
    flags: tuple[str, ...]
    depfile: str | None

    @property
    def command(self) -> str:
        """The command as a person would type it in the build directory."""
        return shlex.join(self.argv)


def edges(subject: Subject, variant: Variant, root: Path, place: str) -> tuple[Edge, ...]:
    """Return the compiles of one variant in source order, and its link last, into ``place``.

    The lane's own flags come after the subject's: of two contradicting flags compilers take the
    last, so the lane is what its name says. An object is called after the hash of its command, so
    subjects that compile one source alike share the object.
    """
    assert subject.probe is not None  # noqa: S101 - only subjects that are built come here
    compiler = str(variant.compiler)
    common = compile_flags(subject, variant)
    stamp = f"{OBJECTS}/{variant.name}/{STAMP}"
    compiles = []
    for source in dict.fromkeys([subject.probe, *subject.sources]):
        flags = (*common, *_reproducible(subject, source, root), f"-frandom-seed={source.name}")
        digest = hashlib.sha256(json.dumps([compiler, flags, str(source)]).encode()).hexdigest()
        output = f"{OBJECTS}/{variant.name}/{source.stem}-{digest[:16]}.o"
        argv = (compiler, *flags, "-MMD", "-MF", f"{output}.d")
        compiles.append(
            Edge(
                output=output,
                argv=(*argv, "-c", str(source), "-o", output),
                inputs=(str(source),),
                implicit=(stamp,),
                flags=flags,
                depfile=f"{output}.d",
            )
        )
    objects = tuple(edge.output for edge in compiles)
    output = f"{place}/{variant.name}/{PROBE}"
    link = link_inputs(subject, variant)
    # Code generation may be left to the link (-flto), so it is given the same flags.
    flags = (*(_placed(flag, variant) for flag in subject.flags), *variant.flags.compile)
    return (
        *compiles,
        Edge(
            output=output,
            argv=(compiler, *flags, *objects, *link, *variant.flags.link, "-o", output),
            inputs=objects,
            implicit=(stamp, *(piece for piece in link if Path(piece).is_file())),
            flags=(*flags, *link, *variant.flags.link),
            depfile=None,
        ),
    )


def compile_flags(subject: Subject, variant: Variant) -> tuple[str, ...]:
    """Return what every compile of one variant is told, in order; no place of a build is in it."""
    return (
        f"-std={subject.std}",
        *(_define(name, value) for name, value in subject.defines.items()),
        *(f"-I{_placed(str(path), variant)}" for path in subject.include),
        *(_placed(flag, variant) for flag in subject.flags),
        *variant.flags.compile,
    )


def link_inputs(subject: Subject, variant: Variant) -> tuple[str, ...]:
    """Return the subject's own link inputs, as they are for one variant."""
    return tuple(_placed(piece, variant) for piece in subject.link)


def ninja_text(by_variant: Mapping[str, Sequence[Edge]]) -> str:
    """Return the whole ``build.ninja`` of the given edges."""
    lines = [
        "ninja_required_version = 1.10",
        "rule compile",
        "  command = $run",
        "  deps = gcc",
        "  depfile = $out_d",
        "rule link",
        "  command = $run",
    ]
    for made in by_variant.values():
        for edge in made:
            inputs = " ".join(_path(one) for one in edge.inputs)
            implicit = " ".join(_path(one) for one in edge.implicit)
            rule = "link" if edge.depfile is None else "compile"
            lines.append(f"build {_path(edge.output)}: {rule} {inputs} | {implicit}")
            lines.append(f"  run = {_dollars(_kept(edge))}")
            if edge.depfile is not None:
                lines.append(f"  out_d = {_dollars(edge.depfile)}")
    return "\n".join(lines) + "\n"


def _kept(edge: Edge) -> str:
    """Return the shell command of an edge, which keeps the compiler's words beside its output."""
    words = shlex.quote(f"{edge.output}.words")
    failed = shlex.quote(edge.output + FAILED)
    return f"{edge.command} > {words} 2>&1 || {{ mv -f {words} {failed}; exit 1; }}"


def _define(name: str, value: str | int | None) -> str:
    return f"-D{name}" if value is None else f"-D{name}={value}"


def _placed(text: str, variant: Variant) -> str:
    return text.replace("{triple}", variant.triple).replace("{arch}", variant.arch)


def _reproducible(subject: Subject, source: Path, root: Path) -> tuple[str, ...]:
    """Return the flags that keep places out of the bytes (``__FILE__``, debug information).

    Without them the same sources would make another probe in another directory. Each directory is
    named by its own role, so that a probe does not depend on where sources and cache lie.
    """
    places = {root: "build"}
    for index, path in enumerate(subject.include):
        places.setdefault(path, f"include{index}")
    places.setdefault(source.parent, "source")
    return tuple(
        f"-ffile-prefix-map={path}={word}"
        # The last matching map wins (GCC manual), so the longest prefix comes last. A path with
        # an equals sign cannot be mapped and is left as it is.
        for path, word in sorted(places.items(), key=lambda item: (len(str(item[0])), str(item[0])))
        if "=" not in str(path)
    )


def _dollars(text: str) -> str:
    return text.replace("$", "$$")


def _path(text: str) -> str:
    return _dollars(text).replace(" ", "$ ").replace(":", "$:").replace("|", "$|")
