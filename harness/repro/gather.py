"""From a report and its configuration to reproducers.

Everything a finding needs is found again from the configuration: its lanes' flags, the files that
its sources include (by asking the lane's own compiler), the case, the tokenizer. Nothing is built
and no probe is started here.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from harness.expect import OracleOnDemand
from harness.isolate import NONDETERMINISM
from harness.lane import Lane, parse
from harness.needs import needs, which
from harness.ninja_file import Variant, link_inputs
from harness.places import bundled
from harness.plan import Plan
from harness.report.model import Finding, First
from harness.repro.included import included
from harness.repro.layout import Layout, layout, normal
from harness.repro.value import ORDINARY, TOKENIZER, Reproducer, Side, Unmade
from harness.runners import runner_for
from harness.session import Limits
from harness.subject import Subject
from harness.toolchain import flags_for, surroundings_of, toolchain_for

# Enough for chance that shows in one run of eight to show in 99 of a hundred reproducers.
_REPEATS = 40
# Beyond the time for one answer, what loading a large tokenizer takes.
_LOADING = 60
_SHOWABLE = ("ok", "unsupported", "error", "crash", "timeout")
_PLACEHOLDER = "probe"
# A path from the root, as a word by itself, behind an option of one letter, or as a value.
_ABSOLUTE = re.compile(r"(?:^|^-[A-Za-z]|[=\"'])/")


@dataclass(frozen=True)
class Source:
    """Where the parts of reproducers are found; what is asked of a compiler is asked once."""

    plan: Plan
    _included: dict[str, tuple[tuple[str, ...], frozenset[Path]]] = field(default_factory=dict)
    _oracles: dict[str, OracleOnDemand] = field(default_factory=dict)

    @cached_property
    def data(self) -> Mapping[str, bytes]:
        """The bytes of every case, by its id."""
        return {
            name: case.data for name, case in zip(self.plan.case_ids, self.plan.cases, strict=True)
        }

    @property
    def subject(self) -> Subject:
        """The subject of the run."""
        return self.plan.config.subject

    def included(self, variant: Variant) -> tuple[tuple[str, ...], frozenset[Path]]:
        """Return a variant's compile flags, and every file of the subject that it is made from."""
        if variant.name not in self._included:
            self._included[variant.name] = included(self.subject, variant, self.plan.config.jobs)
        return self._included[variant.name]

    def decoded(self, tokenizer: str, data: bytes) -> str:
        """Return the ids that ``decode`` was asked: the oracle's own, of the case."""
        if tokenizer not in self._oracles:
            [file] = [one for one in self.plan.tokenizers if one.name == tokenizer]
            self._oracles[tokenizer] = OracleOnDemand(file)
        found = self._oracles[tokenizer]().encode([data.decode("utf-8")])
        return " ".join(map(str, found.answer(0).tolist()))


def reproducer(source: Source, found: Finding) -> Reproducer:
    """Return a finding's reproducer; raises :class:`Unmade`, or what stands in the way."""
    first = found.first
    if found.absent:
        raise Unmade("the deviation is gone: there is nothing to show")
    if first is None:
        raise Unmade(
            "what a sanitizer reports is no answer that could be compared"
            if found.evidence.get("kind") == "sanitizer"
            else "the finding has no case"
        )
    if first.observed_status not in _SHOWABLE:
        raise Unmade(f"its first case has no outcome to show: {first.observed_status}")
    plan, subject = source.plan, source.subject
    lanes = lanes_shown(found, first)
    variants = [_variant(plan, lane) for lane in lanes]
    flags: list[tuple[str, ...]] = [()] * len(lanes)
    carried: frozenset[Path] = frozenset(_given_files(subject))
    if subject.command is None:
        for number, variant in enumerate(variants):
            flags[number], own = source.included(variant)
            carried |= own
    where = layout(sorted(carried), bundled("probes"))
    sides = tuple(
        _side(plan, lane, variant, told, where, number)
        for number, (lane, variant, told) in enumerate(
            zip(lanes, variants, flags, strict=True), start=1
        )
    )
    [tokenizer] = [one for one in plan.tokenizers if one.name == found.tokenizer]
    files: dict[str, bytes] = {}
    for path in sorted(where.files):
        name = where.of(path)
        assert name is not None  # noqa: S101 - every carried file has its place
        files[name] = _read(path)
    smaller = _reduced(found, first, lanes)
    data = source.data[first.case] if smaller is None else smaller.input
    decode = first.operation == "decode"
    return Reproducer(
        finding=found,
        sides=sides,
        operation=first.operation,
        input=data,
        asked=source.decoded(found.tokenizer, data) if decode else None,
        expected=_fields(first.operation, first.expected if smaller is None else smaller.expected),
        observed=_fields(first.operation, first.observed if smaller is None else smaller.observed),
        status=first.observed_status,
        expected_from=first.expected_from,
        reduced_from=None if smaller is None else smaller.case,
        repeats=_REPEATS if found.cause == NONDETERMINISM else 1,
        files={**files, TOKENIZER: _read(tokenizer.path)},
        missing=_missing(subject, sides),
        tokenizer_sha256=tokenizer.sha256,
    )


def lanes_shown(found: Finding, first: First) -> list[Lane]:
    """Return the lane of the first case and, for lane against lane, one of another answer.

    Raises :class:`Unmade` where one of them runs elsewhere.
    """
    lane = parse(first.lane)
    if (why := _elsewhere(lane)) is not None:
        raise Unmade(f"its first case is of the lane {lane.name}, which {why}")
    groups = found.evidence.get("groups") or ()
    if not found.axes or not groups:
        return [lane]
    others = [parse(name) for group in groups if first.lane not in group for name in group]
    near = [other for other in others if _elsewhere(other) is None]
    if not near:
        why = _elsewhere(others[0]) if others else None
        raise Unmade(f"every lane of another answer {why}" if why else "no lane answers otherwise")
    # What differs least from the first lane, and is quickest, shows it best.
    near.sort(key=lambda other: (not other.native, other.triple != lane.triple))
    return [lane, near[0]]


def _elsewhere(lane: Lane) -> str | None:
    """Return why plain commands do not show what a lane shows; None where they do."""
    if lane.contained:
        return (
            "runs in a container: its engine, image, user and limits are none of what the plain "
            "compiler and emulator commands of a reproducer start"
        )
    if lane.machine is not None:
        return (
            "runs on another machine: the plain compiler and emulator commands of a reproducer "
            "start a probe here, and have neither that machine nor the way to it"
        )
    return None


def _variant(plan: Plan, lane: Lane) -> Variant:
    toolchain = toolchain_for(lane, plan.lanes.toolchains)
    flags = flags_for(lane, toolchain, plan.lanes.host)
    return Variant(
        name=f"{lane.triple} {flags}",
        triple=lane.triple,
        arch=toolchain.arch,
        compiler=Path(flags.compiler),
        flags=flags,
    )


def _given_files(subject: Subject) -> list[Path]:
    """Return the files that the probe is told of besides its sources: its arguments."""
    words = (Path(word) for word in subject.args if word.startswith("/"))
    return [normal(path) for path in words if path.is_file()]


def _side(
    plan: Plan, lane: Lane, variant: Variant, flags: Sequence[str], where: Layout, number: int
) -> Side:
    subject, toolchain = plan.config.subject, toolchain_for(lane, plan.lanes.toolchains)
    runner = runner_for(lane, toolchain, plan.lanes.host)
    surroundings = surroundings_of(lane, toolchain)
    words = runner.argv([_PLACEHOLDER])[len(surroundings.command) :]
    limits = Limits(case_seconds=plan.config.case_seconds).scaled(runner.emulated)
    wanted = needs(lane, toolchain, plan.lanes.host)
    built = subject.command is None
    compiler = Path(variant.flags.compiler).name
    return Side(
        lane=lane.name,
        compile=_compile(subject, variant, flags, where, number) if built else None,
        command=(f"build/probe-{number}",) if subject.command is None else subject.command,
        emulator=tuple(_called(word) for word in words[: words.index(_PLACEHOLDER)]),
        before=surroundings.command,
        variables={**ORDINARY, **dict(surroundings.environment)},
        args=tuple(where.word(word) for word in subject.args),
        needs=tuple(
            (need.program, need.package)
            for need in wanted
            if built or need.program not in (compiler, variant.flags.compiler)
        ),
        seconds=round(limits.case_seconds) + _LOADING,
    )


def _compile(
    subject: Subject, variant: Variant, flags: Sequence[str], where: Layout, number: int
) -> tuple[str, ...]:
    """Return one command that compiles and links: the lane's flags, the files' new places."""
    assert subject.probe is not None  # noqa: S101 - only subjects that are built come here
    sources = dict.fromkeys([normal(subject.probe), *map(normal, subject.sources)])
    told = (where.word(flag) for flag in flags)
    link = link_inputs(subject, variant)
    return (
        variant.flags.compiler,
        # An include directory that nothing was found in does not go along.
        *(flag for flag in told if not flag.startswith("-I/")),
        *(where.word(str(path)) for path in sources),
        *(where.word(piece) for piece in link),
        *variant.flags.link,
        "-o",
        f"build/probe-{number}",
    )


def _called(word: str) -> str:
    """Return a program as a person calls it, where it is the one that is called so."""
    path = Path(word)
    return path.name if path.is_absolute() and which(path.name) == path else word


@dataclass(frozen=True)
class _Smaller:
    """A finding's shrunk input, the case it comes from, and the answers that were seen of it."""

    case: str
    input: bytes
    expected: Sequence[int]
    observed: Sequence[int]


def _reduced(found: Finding, first: First, lanes: Sequence[Lane]) -> _Smaller | None:
    """Return the shrunk case, where the answers to it are known as well; None otherwise.

    Where the oracle has no word the answer expected is that of the other lane.
    """
    said = found.evidence.get("reduced")
    if not isinstance(said, Mapping) or "hex" not in said or first.operation == "decode":
        return None
    if said.get("operation", first.operation) != first.operation:
        return None
    by_lane: Mapping[str, Sequence[int] | None] = said.get("observed") or {}
    expected, observed = said.get("expected"), by_lane.get(first.lane)
    if expected is None and len(lanes) > 1:
        expected = by_lane.get(lanes[1].name)
    if first.observed_status != "ok":
        observed = ()
    if expected is None or observed is None:
        return None
    return _Smaller(str(said["case"]), bytes.fromhex(said["hex"]), expected, observed)


def _fields(operation: str, values: Sequence[int]) -> str:
    """Return an answer's fields as its line has them."""
    return bytes(values).hex() if operation == "decode" else " ".join(map(str, values))


def _missing(subject: Subject, sides: Sequence[Side]) -> tuple[str, ...]:
    """Return in sentences what stays behind: what no file of the reproducer holds."""
    said = []
    if subject.command is not None:
        said.append(
            f"The subject is a program that was given, {subject.command[0]}: neither it nor what "
            "it reads is here, so this works where it is installed in the same place."
        )
    for side in sides:
        for word in (*(side.compile or ()), *side.args):
            if _ABSOLUTE.search(word):
                said.append(f"{word} names a place of the machine it was made on.")
            elif re.match(r"-l\S", word):
                said.append(f"{word} is a library of the machine it was made on.")
    return tuple(dict.fromkeys(said))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Unmade(f"{path.name} cannot be read: {error.strerror}") from error
