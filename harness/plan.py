"""From a configuration to what will be run: lanes, tokenizers and cases, all of them found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

from harness import corpus as corpora
from harness.config import CONTROL_CORPUS, Config
from harness.corpus import Case, Corpus
from harness.errors import UsageError, placed
from harness.lane import Lane, parse, select
from harness.matrix import control_of, default_lanes, full_lanes, multiply
from harness.places import bundled
from harness.tokenizers import TokenizerFile, resolve, sources
from harness.toolchain import axes_of, check, host_arch, load_toolchains, toolchain_for
from harness.toolchain_file import Toolchain


@dataclass(frozen=True, kw_only=True)
class Lanes:
    """The lanes of a run on this host, and the toolchains that make them."""

    host: str
    toolchains: Mapping[str, Toolchain]
    control: Lane
    chosen: tuple[Lane, ...]

    @property
    def all(self) -> tuple[Lane, ...]:
        """The chosen lanes, and before them the control where it was not chosen."""
        return self.chosen if self.control in self.chosen else (self.control, *self.chosen)

    def axes(self, lane: Lane) -> Mapping[str, str]:
        """Return the effective value of a lane on every axis."""
        return axes_of(lane, toolchain_for(lane, self.toolchains), self.host)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A run whose every input exists. ``cases`` lie end to end in the order of ``corpora``."""

    config: Config
    lanes: Lanes
    tokenizers: tuple[TokenizerFile, ...]
    corpora: tuple[Corpus, ...]

    @property
    def cases(self) -> tuple[Case, ...]:
        """Every case, corpus after corpus."""
        return tuple(case for corpus in self.corpora for case in corpus.cases)

    @property
    def case_ids(self) -> tuple[str, ...]:
        """The global ids (``corpus/id``) of :attr:`cases`."""
        return tuple(name for corpus in self.corpora for name in corpus.case_ids)


def plan_run(config: Config) -> Plan:
    """Find everything a run needs; raises the error of whatever is missing or malformed."""
    return Plan(
        config=config,
        lanes=plan_lanes(config),
        tokenizers=find_tokenizers(config),
        corpora=find_corpora(config),
    )


def plan_lanes(config: Config) -> Lanes:
    """Resolve the configured lanes on this host and select among them."""
    host = host_arch()
    toolchains = load_toolchains(config.toolchain_dirs)
    control = control_of(toolchains, host)
    if config.subject.command is not None and config.lanes == "default":
        # It is not built, so it has the one lane it was built for.
        matrix: tuple[Lane, ...] = (control,)
    else:
        with placed(config.place("lanes")):
            matrix = _matrix(config.lanes, toolchains, host)
    lanes = select(matrix, config.lane_globs or ("*",))
    with placed(config.place("lanes")):
        for lane in (control, *lanes):
            check(lane, toolchains, host)
    return Lanes(host=host, toolchains=toolchains, control=control, chosen=lanes)


def _matrix(
    wanted: str | tuple[str, ...] | Mapping[str, tuple[str, ...]],
    toolchains: Mapping[str, Toolchain],
    host: str,
) -> tuple[Lane, ...]:
    if isinstance(wanted, Mapping):
        return multiply(wanted, toolchains, host)
    if isinstance(wanted, tuple):
        return tuple(dict.fromkeys(parse(name) for name in wanted))
    if wanted not in ("default", "full"):
        raise UsageError(
            f"lanes: '{wanted}' is no matrix",
            expected="default, full, a list of lane names, or a mapping of axes to values",
        )
    return (default_lanes if wanted == "default" else full_lanes)(toolchains, host)


def find_tokenizers(config: Config) -> tuple[TokenizerFile, ...]:
    """Resolve the configured tokenizers, ``all`` being every one the goldens name."""
    named = [path for d in reversed(config.golden_dirs) for path in sources(d)]
    wanted = [
        name
        for item in config.tokenizers
        for name in (dict.fromkeys(named) if item == "all" else [item])
    ]
    with placed(config.place("tokenizers")):
        found = [
            resolve(name, _golden_dir(config, name), config.cache) for name in dict.fromkeys(wanted)
        ]
        _distinct([one.name for one in found], "tokenizers")
    return tuple(found)


def golden_path(config: Config, tokenizer: TokenizerFile) -> Path:
    """Where a tokenizer's golden lies, or would lie once blessed."""
    for directory in config.golden_dirs:
        path = directory / tokenizer.name / "encodings.json"
        if path.is_file():
            return path
    return config.golden_dirs[0] / tokenizer.name / "encodings.json"


def _golden_dir(config: Config, name: str) -> Path:
    holding = [d for d in config.golden_dirs if (d / name / "source.yaml").is_file()]
    return holding[0] if holding else config.golden_dirs[-1]


def find_corpora(config: Config) -> tuple[Corpus, ...]:
    """Load the configured corpora; the control's corpus is always among them, and first."""
    own = bundled("corpora")
    known = corpora.bundled_names(own)
    paths: dict[Path, None] = {own / f"{CONTROL_CORPUS}.jsonl": None}
    with placed(config.place("corpora")):
        for item in config.corpora:
            names = known if item == "bundled" else (item,)
            for name in names:
                paths[_corpus_path(name, own, known)] = None
        loaded = [corpora.load(path) for path in paths]
        _distinct([one.name for one in loaded], "corpora")
    return _only(loaded, config.cases) if config.cases else tuple(loaded)


def _corpus_path(name: str, own: Path, known: Sequence[str]) -> Path:
    if "/" in name:
        return Path(name)
    if name not in known:
        close = get_close_matches(name, known, n=1)
        raise UsageError(
            f"there is no corpus '{name}'",
            expected=f"did you mean '{close[0]}'?" if close else f"a path, or {', '.join(known)}",
        )
    return own / f"{name}.jsonl"


def _only(loaded: Sequence[Corpus], wanted: Sequence[str]) -> tuple[Corpus, ...]:
    """Keep the wanted cases, and the control's corpus whole."""
    known = {name for one in loaded for name in one.case_ids}
    for name in wanted:
        if name not in known:
            close = get_close_matches(name, known, n=1)
            raise UsageError(
                f"there is no case '{name}'",
                expected=f"did you mean '{close[0]}'?" if close else "CORPUS/ID",
            )
    kept = []
    for one in loaded:
        pairs = zip(one.case_ids, one.cases, strict=True)
        cases = tuple(case for name, case in pairs if name in wanted)
        if one.name == CONTROL_CORPUS:
            kept.append(one)
        elif cases:
            kept.append(replace(one, cases=cases))
    return tuple(kept)


def _distinct(names: Sequence[str], what: str) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(
            f"two {what} are called '{twice[0]}'",
            expected="distinct names; a file is called after its stem",
        )
