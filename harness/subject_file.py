"""The ``subject:`` of a configuration file, into a subject whose every file has been found."""

import glob
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from pydantic import Field

from harness.errors import UsageError
from harness.places import bundled
from harness.subject import Subject
from harness.validated import Strict


class SubjectModel(Strict):
    """The ``subject:`` mapping of a configuration file."""

    name: str | None = None
    sources: list[str] = Field(default_factory=list)
    include: list[str] = Field(default_factory=list)
    defines: dict[str, str | int | None] = Field(default_factory=dict)
    std: str = "c++20"
    flags: list[str] = Field(default_factory=list)
    link: list[str] = Field(default_factory=list)
    probe: str | None = None
    adapter: str | None = None
    command: list[str] | None = None
    args: list[str] = Field(default_factory=list)


def absolute(item: str, base: Path) -> Path:
    """Return a path of the file as an absolute one; whether it leads anywhere is not asked here."""
    path = base / item
    # A loop of links, or a ~name that nobody has: whoever reads the path says what is wrong.
    with suppress(RuntimeError, OSError):
        path = base / Path(item).expanduser()
        return path.resolve()
    return path.absolute()


def reference_subject(args: Sequence[str] = ()) -> Subject:
    """Return the bundled subject, our own C++ tokenizer."""
    probes = bundled("probes")
    sources = sorted((probes / "reference").glob("*.cpp"))
    main = probes / "reference" / "main.cpp"
    return Subject(
        name="reference",
        sources=tuple(source for source in sources if source != main),
        include=(probes / "include", probes / "reference"),
        probe=main,
        args=tuple(args),
    )


def subject_of(model: SubjectModel | None, base: Path, where: str) -> Subject:
    """Return the subject that a file at ``where`` describes, its paths relative to ``base``.

    Raises :class:`UsageError` naming the key of whatever is missing or contradicts itself.
    """
    if model is None:
        return reference_subject()
    described = [key for key in ("sources", "probe", "adapter", "command") if getattr(model, key)]
    if model.name in (None, "reference") and not described:
        ours = reference_subject(model.args)
        return replace(
            ours,
            include=(*ours.include, *_include(model.include, base, where)),
            defines=dict(model.defines),
            std=model.std,
            flags=tuple(model.flags),
            link=tuple(_link_input(item, base) for item in model.link),
        )
    if model.name is None:
        raise UsageError("the subject has no name", where=f"{where}: subject.name")
    mains = [key for key in ("probe", "adapter", "command") if getattr(model, key)]
    if len(mains) != 1:
        raise UsageError(
            f"the subject has {' and '.join(mains) if mains else 'no main'}",
            where=f"{where}: subject",
            expected="exactly one of probe (your main), adapter (one of ours) or command",
        )
    if model.command is not None:
        return Subject(
            name=model.name,
            command=_command(model.command, base, f"{where}: subject.command"),
            args=tuple(model.args),
        )
    main = _main(model, base, where)
    sources = _sources(model.sources, base, f"{where}: subject.sources")
    return Subject(
        name=model.name,
        # A glob over a tree often takes in the probe's main as well; it is compiled once.
        sources=tuple(source for source in sources if source != main),
        include=(bundled("probes") / "include", *_include(model.include, base, where)),
        defines=dict(model.defines),
        std=model.std,
        flags=tuple(model.flags),
        link=tuple(_link_input(item, base) for item in model.link),
        probe=main,
        args=tuple(model.args),
    )


def _include(items: Sequence[str], base: Path, where: str) -> list[Path]:
    """Return the include directories, written in one way only: objects are shared by command."""
    found = []
    for index, item in enumerate(items):
        path = (base / item).resolve()
        # What a lane's words are put into can be checked only lane by lane, by the compiler.
        if "{" not in item and not path.is_dir():
            raise UsageError(
                "no such directory",
                where=f"{where}: subject.include[{index}]: {path}",
                expected="an existing directory",
            )
        found.append(path)
    return found


def _main(model: SubjectModel, base: Path, where: str) -> Path:
    if model.adapter is None:
        assert model.probe is not None  # noqa: S101 - the caller counted the mains
        return _existing(base / model.probe, f"{where}: subject.probe")
    adapters = bundled("probes") / "adapters"
    known = sorted(path.stem for path in adapters.glob("*.cpp"))
    if model.adapter not in known:
        close = get_close_matches(model.adapter, known, n=1)
        raise UsageError(
            f"there is no adapter '{model.adapter}'",
            where=f"{where}: subject.adapter",
            expected=f"did you mean '{close[0]}'?" if close else f"one of {', '.join(known)}",
        )
    return adapters / f"{model.adapter}.cpp"


def _command(command: Sequence[str], base: Path, where: str) -> tuple[str, ...]:
    program = command[0] if command else ""
    if "/" in program:
        _existing(base / program, where)
        # Links stay: a Python environment or a multi-call program goes by the name it is called.
        program = os.path.abspath(base / program)  # noqa: PTH100
    if not program:
        raise UsageError(
            "the command is empty", where=where, expected="a program and its arguments"
        )
    return (program, *command[1:])


def _sources(patterns: Sequence[str], base: Path, where: str) -> tuple[Path, ...]:
    """Expand source globs in order; ``!pattern`` takes away; one that matches nothing fails."""
    found: dict[Path, None] = {}
    for index, pattern in enumerate(patterns):
        negated, relative = pattern.startswith("!"), pattern.removeprefix("!")
        hits = sorted(glob.glob(relative, root_dir=base, recursive=True))  # noqa: PTH207
        paths = [(base / hit).resolve() for hit in hits if (base / hit).is_file()]
        if not paths:
            raise UsageError(
                f"'{pattern}' matches no file",
                where=f"{where}[{index}]",
                expected=f"a path or glob relative to {base}",
            )
        for path in paths:
            if negated:
                found.pop(path, None)
            else:
                found[path] = None
    return tuple(found)


def _link_input(item: str, base: Path) -> str:
    return item if item.startswith("-") else str(absolute(item, base))


def _existing(path: Path, where: str) -> Path:
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        words = error.strerror if isinstance(error, OSError) else "no such file"
        raise UsageError(
            f"cannot be read: {words}", where=f"{where}: {path}", expected="an existing file"
        ) from error
    if not stat.S_ISREG(mode):
        raise UsageError("is no file", where=f"{where}: {path}", expected="an ordinary file")
    return path.resolve()
