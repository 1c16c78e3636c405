"""Configuration: defaults < ``tokparity.yaml`` < command line, into one frozen value.

Paths in a file are relative to that file; paths on the command line to the current directory.
"""

import glob
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

from pydantic import Field

from harness.errors import UsageError
from harness.outcomes import OPERATIONS, Operation
from harness.places import bundled, default_cache
from harness.subject import Subject
from harness.validated import Strict, load_yaml
from harness.verdict import DECLARABLE_NAMES, Deviation, declarable

DEFAULT_FILE = "tokparity.yaml"
# The control lane is judged on this corpus, so it is always asked.
CONTROL_CORPUS = "smoke"


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


class DeviationModel(Strict):
    """One declared deviation."""

    cause: str
    tokenizers: list[str] = Field(default_factory=lambda: ["*"])
    lanes: list[str] = Field(default_factory=lambda: ["*"])
    reason: str
    link: str | None = None


class LimitsModel(Strict):
    """Time limits in seconds on a native lane; emulated lanes are given more."""

    case_seconds: float = Field(default=10.0, gt=0)
    load_seconds: float = Field(default=120.0, gt=0)


class ConfigModel(Strict):
    """A whole ``tokparity.yaml``."""

    subject: SubjectModel | None = None
    tokenizers: list[str] = Field(default_factory=lambda: ["bundled"], min_length=1)
    corpora: list[str] = Field(default_factory=lambda: ["bundled"], min_length=1)
    lanes: str | list[str] | dict[str, list[str]] = "default"
    operations: list[Operation] = Field(default=list(OPERATIONS), min_length=1)
    deviations: list[DeviationModel] = Field(default_factory=list)
    limits: LimitsModel = Field(default_factory=LimitsModel)
    toolchains: list[str] = Field(default_factory=list)
    goldens: str | None = None
    cache: str | None = None
    out: str | None = None
    jobs: int | None = Field(default=None, gt=0)


@dataclass(frozen=True, kw_only=True)
class Config:
    """Everything a run depends on, resolved: absolute paths, expanded globs, no defaults left.

    ``tokenizers`` and ``corpora`` hold names or absolute paths; ``lanes`` is what the file says
    (a keyword, names, or axes to multiply) and ``lane_globs`` what the command line selects of it;
    ``cases`` restricts the run to these case ids. Later ``toolchain_dirs`` win over earlier; the
    first of ``golden_dirs`` is the one that is blessed.
    """

    subject: Subject
    tokenizers: tuple[str, ...]
    corpora: tuple[str, ...]
    lanes: str | tuple[str, ...] | Mapping[str, tuple[str, ...]]
    lane_globs: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    probe_args: tuple[str, ...] = ()
    operations: tuple[Operation, ...]
    deviations: tuple[Deviation, ...]
    case_seconds: float
    load_seconds: float
    toolchain_dirs: tuple[Path, ...]
    golden_dirs: tuple[Path, ...]
    cache: Path
    out: Path | None
    jobs: int
    isolate: bool = False
    fresh: bool = False
    file: Path | None = None


@dataclass(frozen=True, kw_only=True)
class Overrides:
    """What the command line says; an empty field leaves the file's word standing."""

    tokenizers: tuple[str, ...] = ()
    corpora: tuple[str, ...] = ()
    lane_globs: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    probe_args: tuple[str, ...] = ()
    cache: Path | None = None
    out: Path | None = None
    jobs: int | None = None
    isolate: bool = False
    fresh: bool = False


def resolve(path: Path | None, overrides: Overrides) -> Config:
    """Merge the defaults, the file at ``path`` (or one found here) and the command line.

    Raises :class:`UsageError` naming the file and key of whatever is wrong.
    """
    if path is None and Path(DEFAULT_FILE).is_file():
        path = Path(DEFAULT_FILE)
    if path is not None and path.is_dir():
        path = path / DEFAULT_FILE
    model = ConfigModel() if path is None else load_yaml(path, ConfigModel)
    base = Path.cwd() if path is None else path.resolve().parent
    where = "the defaults" if path is None else str(path)
    config = Config(
        subject=_subject(model.subject, base, where),
        tokenizers=tuple(_named(item, base) for item in model.tokenizers),
        corpora=tuple(_named(item, base) for item in model.corpora),
        lanes=_lanes(model.lanes),
        operations=tuple(name for name in OPERATIONS if name in model.operations),
        deviations=tuple(
            _deviation(item, f"{where}: deviations[{index}]")
            for index, item in enumerate(model.deviations)
        ),
        case_seconds=model.limits.case_seconds,
        load_seconds=model.limits.load_seconds,
        toolchain_dirs=(bundled("toolchains"), *(_directory(d, base) for d in model.toolchains)),
        golden_dirs=(
            *(() if model.goldens is None else ((base / model.goldens).resolve(),)),
            bundled("goldens"),
        ),
        cache=default_cache() if model.cache is None else (base / model.cache).resolve(),
        out=None if model.out is None else (base / model.out).resolve(),
        jobs=model.jobs or os.cpu_count() or 1,
        file=None if path is None else path.resolve(),
    )
    return _override(config, overrides)


def _override(config: Config, line: Overrides) -> Config:
    here = Path.cwd()
    subject = replace(config.subject, args=(*config.subject.args, *line.probe_args))
    return replace(
        config,
        subject=subject,
        tokenizers=tuple(_named(t, here) for t in line.tokenizers) or config.tokenizers,
        corpora=tuple(_named(c, here) for c in line.corpora) or config.corpora,
        lane_globs=line.lane_globs,
        cases=line.cases,
        probe_args=line.probe_args,
        cache=config.cache if line.cache is None else line.cache.absolute(),
        out=config.out if line.out is None else line.out.absolute(),
        jobs=line.jobs or config.jobs,
        isolate=line.isolate,
        fresh=line.fresh,
    )


def _named(item: str, base: Path) -> str:
    """Leave a name alone; make a path (it has a slash or a suffix .json/.jsonl) absolute."""
    looks_like_path = "/" in item or item.endswith((".json", ".jsonl"))
    return str((base / Path(item).expanduser()).resolve()) if looks_like_path else item


def _directory(item: str, base: Path) -> Path:
    directory = (base / Path(item).expanduser()).resolve()
    if not directory.is_dir():
        raise UsageError(
            f"no such directory: {directory}", expected="a directory of toolchain files"
        )
    return directory


def _lanes(
    lanes: str | Sequence[str] | Mapping[str, Sequence[str]],
) -> str | tuple[str, ...] | Mapping[str, tuple[str, ...]]:
    if isinstance(lanes, str):
        return lanes
    if isinstance(lanes, Mapping):
        return {axis: tuple(values) for axis, values in lanes.items()}
    return tuple(lanes)


def _deviation(model: DeviationModel, where: str) -> Deviation:
    if not declarable(model.cause):
        close = get_close_matches(model.cause, DECLARABLE_NAMES, n=1)
        raise UsageError(
            f"'{model.cause}' is no cause",
            where=f"{where}.cause",
            expected=f"did you mean '{close[0]}'?" if close else ", ".join(DECLARABLE_NAMES),
            remedy="the causes are listed in docs/attribution.md",
        )
    return Deviation(
        cause=model.cause,
        tokenizers=tuple(model.tokenizers),
        lanes=tuple(model.lanes),
        reason=model.reason,
        link=model.link,
    )


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


def _subject(model: SubjectModel | None, base: Path, where: str) -> Subject:
    if model is None:
        return reference_subject()
    described = [key for key in ("sources", "probe", "adapter", "command") if getattr(model, key)]
    if model.name in (None, "reference") and not described:
        return reference_subject(model.args)
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
        include=(bundled("probes") / "include", *(base / item for item in model.include)),
        defines=dict(model.defines),
        std=model.std,
        flags=tuple(model.flags),
        link=tuple(_link_input(item, base) for item in model.link),
        probe=main,
        args=tuple(model.args),
    )


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
        program = str(_existing(base / program, where))
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
    return item if item.startswith("-") else str((base / item).resolve())


def _existing(path: Path, where: str) -> Path:
    if not path.is_file():
        raise UsageError("no such file", where=f"{where}: {path}", expected="an existing file")
    return path.resolve()
