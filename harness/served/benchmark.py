"""Benchmark files judged: read, held against the frozen corpus, their bias and receipt made.

files ──→ runs ──┐
prompts ─→ target ┼→ guards → eligible, or the reasons why not
tokenizer ────────┘          → bias, spread, receipt
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.errors import UsageError
from harness.oracle import Oracle
from harness.outcomes import Outcomes, Status
from harness.served.benchfiles import Run, read, vllm
from harness.served.bias import Bias, Range, Spread, bias, differing, output_rate, spread
from harness.served.exits import NO_COUNT, OUT_OF_BAND
from harness.served.guards import Guard, guards, reasons
from harness.served.origin import from_stream
from harness.served.prompts import Checked, PromptFile, check, read_prompts
from harness.served.receipt import Receipt, receipt
from harness.served.shortfall import Shortfall, shortfall
from harness.served.target import Band, Boundary, Target
from harness.tokenizers import TokenizerFile
from harness.traits import computed_traits


@dataclass(frozen=True)
class Asked:
    """What to judge and by what. ``cost`` is of prefill, in seconds a token."""

    files: tuple[Path, ...]
    expect: int | None = None
    prompts: Path | None = None
    tokenizer: TokenizerFile | None = None
    boundary: Boundary | None = None
    tolerance: int | None = None
    cost: Range | None = None


@dataclass(frozen=True)
class Judged:
    """One run and all that was found of it."""

    run: Run
    shortfall: Shortfall | None
    guards: tuple[Guard, ...]
    bias: Bias | None
    receipt: Receipt

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the run is not eligible; empty where it is."""
        return reasons(self.guards)


@dataclass(frozen=True)
class Bench:
    """All runs. ``spread`` is of their output throughput, None where ``apart`` says why not."""

    runs: tuple[Judged, ...]
    target: Target | None
    prompts: Checked | None
    spread: Spread | None
    apart: tuple[str, ...]

    @property
    def eligible(self) -> bool:
        """Whether every run's numbers may bind, and the prompt file is as it says."""
        return not self.reasons and bool(self.runs)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the whole is not eligible."""
        if not self.runs:
            return self.prompts.violations if self.prompts is not None else ()
        if len(self.runs) == 1:
            return self.runs[0].reasons
        return tuple(f"{one.run.place}: {why}" for one in self.runs for why in one.reasons)

    @property
    def exit(self) -> int:
        """0 as it should be, 6 where a file has no count at all, 7 where a guard objects."""
        if any(not one.run.counted for one in self.runs):
            return NO_COUNT
        return OUT_OF_BAND if self.reasons else 0


def judge(asked: Asked) -> Bench:
    """Judge benchmark files; without any, the prompt file alone.

    Raises :class:`UsageError`: nothing to judge; prompts without a tokenizer; a rendered boundary
    for prompts; two targets or two boundaries; and what the readers refuse.
    """
    if not asked.files and asked.prompts is None:
        raise UsageError(
            "there is nothing to judge", expected="benchmark files, or --prompts FILE alone"
        )
    runs = tuple(run for path in asked.files for run in read(path))
    oracle = None if asked.tokenizer is None else Oracle.load(asked.tokenizer.path)
    prompts = None if asked.prompts is None else read_prompts(asked.prompts)
    boundary = _boundary(asked, prompts)
    checked = None if prompts is None else _checked(asked, prompts, oracle, boundary)
    target = _target(asked, checked, boundary)
    traits = None
    if prompts is not None:
        traits = [computed_traits(one.text.encode()) for one in prompts.prompts]
    judged = tuple(
        _judged(
            run if oracle is None else _decided(run, oracle), asked, target, checked, traits, oracle
        )
        for run in runs
    )
    apart = differing(runs)
    rates = [output_rate(run) for run in runs]
    known = [one for one in rates if one is not None]
    return Bench(
        runs=judged,
        target=target,
        prompts=checked,
        spread=spread(known) if not apart and len(known) == len(rates) else None,
        apart=apart,
    )


def _judged(
    run: Run,
    asked: Asked,
    target: Target | None,
    checked: Checked | None,
    traits: Sequence[frozenset[str]] | None,
    oracle: Oracle | None,
) -> Judged:
    short = None if target is None else shortfall(run, target, traits)
    found = guards(run, target, short, checked)
    effect = None
    if short is not None and short.missing:
        effect = bias(run, short.missing, asked.cost, unknown=short.unknown if run.requests else 0)
    return Judged(
        run=run,
        shortfall=short,
        guards=found,
        bias=effect,
        receipt=receipt(
            run,
            target,
            tokenizer_sha256=None if oracle is None else oracle.sha256,
            prompts_sha256=None if checked is None else checked.file.sha256,
            eligible=not reasons(found),
        ),
    )


def _boundary(asked: Asked, prompts: PromptFile | None) -> Boundary:
    meta = prompts.meta.boundary if prompts is not None else None
    if asked.boundary is not None and meta is not None and asked.boundary != meta:
        raise UsageError(
            f"--boundary {asked.boundary} and _meta.boundary {meta} name two boundaries",
            where=str(asked.prompts),
        )
    found: Boundary = asked.boundary or meta or "raw"
    if prompts is not None and found == "rendered":
        raise UsageError(
            "the boundary is rendered, and prompts can be counted raw only: the chat template that "
            "the server puts around them is not at hand",
            where=str(asked.prompts),
            remedy="give the rendered texts as prompts and --boundary raw, or the rendered length "
            "as --expect N --boundary rendered without --prompts",
        )
    return found


def _checked(
    asked: Asked, prompts: PromptFile, oracle: Oracle | None, boundary: Boundary
) -> Checked:
    if oracle is None:
        raise UsageError(
            "prompts are counted with a tokenizer, and none is given",
            where=str(prompts.path),
            remedy="--tokenizer NAME|FILE, the one that the server has",
        )
    middle = prompts.meta.target
    if middle is not None and asked.expect is not None and middle != asked.expect:
        raise UsageError(
            f"--expect {asked.expect} and _meta.target {middle} name two targets",
            where=str(prompts.path),
        )
    middle = asked.expect if middle is None else middle
    half = prompts.meta.tolerance if asked.tolerance is None else asked.tolerance
    texts = [one.text for one in prompts.prompts]
    plain = oracle.encode(texts)
    _refuse(prompts, plain)
    again = oracle.encode(oracle.decode([plain.answer(row).tolist() for row in range(len(texts))]))
    return check(
        prompts,
        plain.lengths.tolist(),
        [np.array_equal(plain.answer(row), again.answer(row)) for row in range(len(texts))],
        band=None if middle is None else Band(middle - half, middle + half, boundary),
    )


def _refuse(prompts: PromptFile, found: Outcomes) -> None:
    """Refuse prompts that the tokenizer cannot take: their count is not zero but unknown."""
    for row, prompt in enumerate(prompts.prompts):
        if found.status[row] != Status.OK:
            raise UsageError(
                f"prompt {prompt.id} cannot be counted: {found.notes.get(row, 'no answer')}",
                where=str(prompts.path),
            )


def _target(asked: Asked, checked: Checked | None, boundary: Boundary) -> Target | None:
    tolerance = asked.tolerance or 0
    if checked is not None:
        return Target(None, checked.counts, tolerance, boundary, "client_tokenizer")
    if asked.expect is not None:
        return Target(asked.expect, None, tolerance, boundary, "given")
    return None


def _decided(run: Run, oracle: Oracle) -> Run:
    """Return the run with its origin decided by the text as well, where its program needs it."""
    if run.format != vllm.NAME or run.requests is None:
        return run
    texts = [_countable(one.text) for one in run.requests]
    found = oracle.encode(texts)
    counts = [
        length if status == Status.OK and text is not None else None
        for text, length, status in zip(
            texts, found.lengths.tolist(), found.status.tolist(), strict=True
        )
    ]
    return run.decided(from_stream(run.requests, run.traffic.endpoint, counts))


def _countable(text: str | None) -> str | None:
    """Return a text that the tokenizer takes: a lone surrogate is nothing that was generated."""
    if text is None or any("\ud800" <= one <= "\udfff" for one in text):
        return None
    return text
