"""Configuration: defaults < ``tokparity.yaml`` < command line, into one frozen value.

Paths in a file are relative to that file; paths on the command line to the current directory.
"""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from pydantic import Field

from harness.deviation_file import DeviationModel, deviations_of
from harness.errors import UsageError
from harness.isolate import AXES, PLATFORM_PREFIX
from harness.outcomes import OPERATIONS, Operation
from harness.places import bundled, default_cache
from harness.served.live.settings import ServedModel, Settings, settings_of
from harness.subject import Subject
from harness.subject_file import SubjectModel, absolute, subject_of
from harness.toolchain import load_toolchains, sanitizers
from harness.validated import Strict, load_yaml
from harness.verdict import Deviation

DEFAULT_FILE = "tokparity.yaml"
# The control lane is judged on this corpus, so it is always asked.
CONTROL_CORPUS = "smoke"


class LimitsModel(Strict):
    """Time limits in seconds on a native lane; emulated lanes are given more."""

    case_seconds: float = Field(default=10.0, gt=0, le=86400)
    load_seconds: float = Field(default=120.0, gt=0, le=86400)


class ConfigModel(Strict):
    """A whole ``tokparity.yaml``."""

    subject: SubjectModel | None = None
    tokenizers: list[str] = Field(default_factory=lambda: ["bundled"], min_length=1)
    corpora: list[str] = Field(default_factory=lambda: ["bundled"], min_length=1)
    lanes: (
        str
        | Annotated[list[str], Field(min_length=1)]
        | Annotated[dict[str, list[str]], Field(min_length=1)]
    ) = "default"
    operations: list[Operation] = Field(default=list(OPERATIONS), min_length=1)
    deviations: list[DeviationModel] = Field(default_factory=list)
    limits: LimitsModel = Field(default_factory=LimitsModel)
    toolchains: list[str] = Field(default_factory=list)
    goldens: str | None = None
    cache: str | None = None
    out: str | None = None
    jobs: int | None = Field(default=None, gt=0)
    served: ServedModel | None = None


@dataclass(frozen=True, kw_only=True)
class Config:
    """Everything a run depends on, resolved: absolute paths, expanded globs, no defaults left.

    ``tokenizers`` and ``corpora`` hold names or absolute paths; ``lanes`` is what the file says
    (a keyword, names, or axes to multiply) and ``lane_globs`` what the command line selects of it;
    ``cases`` restricts the run to these case ids. Later ``toolchain_dirs`` win over earlier; the
    first of ``golden_dirs`` is the one that is blessed. ``overridden`` names the keys of the file
    that the command line replaces. ``served`` is what servers are asked, if any are named.
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
    sanitize: bool = False
    fresh: bool = False
    overridden: frozenset[str] = frozenset()
    served: Settings | None = None
    file: Path | None = None

    def place(self, key: str) -> str | None:
        """Return where the file sets ``key``; None where the file does not have the last word."""
        return None if self.file is None or key in self.overridden else f"{self.file}: {key}"


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
    sanitize: bool = False
    fresh: bool = False


def resolve(path: Path | None, overrides: Overrides) -> Config:
    """Merge the defaults, the file at ``path`` (or one found here) and the command line.

    Raises :class:`UsageError` naming the file and key of whatever is wrong.
    """
    try:
        Path.cwd()
    except OSError as error:
        raise UsageError(
            f"the current directory cannot be used: {error.strerror}",
            remedy="cd to one that is there",
        ) from error
    if path is None and Path(DEFAULT_FILE).is_file():
        path = Path(DEFAULT_FILE)
    if path is not None and path.is_dir():
        path = path / DEFAULT_FILE
    model = ConfigModel() if path is None else load_yaml(path, ConfigModel)
    base = Path.cwd() if path is None else path.resolve().parent
    where = "the defaults" if path is None else str(path)
    toolchains = (
        bundled("toolchains"),
        *(
            _directory(item, base, f"{where}: toolchains.{index}")
            for index, item in enumerate(model.toolchains)
        ),
    )
    config = Config(
        subject=subject_of(model.subject, base, where),
        tokenizers=tuple(_named(item, base) for item in model.tokenizers),
        corpora=tuple(_named(item, base) for item in model.corpora),
        lanes=_lanes(model.lanes),
        operations=tuple(name for name in OPERATIONS if name in model.operations),
        deviations=deviations_of(model.deviations, where, _axes(model.deviations, toolchains)),
        case_seconds=model.limits.case_seconds,
        load_seconds=model.limits.load_seconds,
        toolchain_dirs=toolchains,
        golden_dirs=(
            *(() if model.goldens is None else (absolute(model.goldens, base),)),
            bundled("goldens"),
        ),
        cache=(
            overrides.cache.absolute()
            if overrides.cache is not None
            else default_cache()
            if model.cache is None
            else absolute(model.cache, base)
        ),
        out=None if model.out is None else absolute(model.out, base),
        jobs=model.jobs or os.cpu_count() or 1,
        served=None if model.served is None else settings_of(model.served, base, where),
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
        out=config.out if line.out is None else line.out.absolute(),
        jobs=line.jobs or config.jobs,
        isolate=line.isolate,
        sanitize=line.sanitize,
        fresh=line.fresh,
        overridden=frozenset(key for key in ("tokenizers", "corpora") if getattr(line, key)),
    )


def _named(item: str, base: Path) -> str:
    """Leave a name alone; make a path (it has a slash or a suffix .json/.jsonl) absolute."""
    looks_like_path = "/" in item or item.endswith((".json", ".jsonl"))
    return str(absolute(item, base)) if looks_like_path else item


def _directory(item: str, base: Path, where: str) -> Path:
    directory = absolute(item, base)
    if not directory.is_dir():
        raise UsageError(
            f"no such directory: {directory}",
            where=where,
            expected="a directory of toolchain files",
        )
    return directory


def _axes(deviations: Sequence[DeviationModel], toolchains: Sequence[Path]) -> Collection[str]:
    """Return every axis that a declared cause may be of; only ``platform-…`` reads the files."""
    if not any(
        (one.cause or one.hypothesis or "").startswith(PLATFORM_PREFIX) for one in deviations
    ):
        return AXES
    known = load_toolchains(toolchains).values()
    own = [axis for one in known for axis in one.axes if axis not in sanitizers(one)]
    return tuple(dict.fromkeys((*AXES, *own)))


def _lanes(
    lanes: str | Sequence[str] | Mapping[str, Sequence[str]],
) -> str | tuple[str, ...] | Mapping[str, tuple[str, ...]]:
    if isinstance(lanes, str):
        return lanes
    if isinstance(lanes, Mapping):
        return {axis: tuple(values) for axis, values in lanes.items()}
    return tuple(lanes)
