"""Every tokenizer asked of every lane, a few at a time, and no question asked twice.

A run of one probe is stored under the hash of all it depends on: the probe's bytes and arguments,
how it is executed, the tokenizer, the requests. A run in which a probe crashed, hung or broke the
protocol is never stored: it is asked again each time.
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from harness.answers import Known
from harness.build import Probe
from harness.config import Config
from harness.corpus import Case
from harness.expect import graded
from harness.hello import Hello, hello_of
from harness.lane import Lane
from harness.outcomes import Operation, Outcomes, Status
from harness.plan import Lanes
from harness.probe import Limits, Session, run_lane
from harness.requests import Payload, RequestFile, decimals, write_requests
from harness.runners import Runner, runner_for
from harness.store import Store, key
from harness.tokenizers import TokenizerFile
from harness.toolchain import toolchain_for

Rows = npt.NDArray[np.int64]
Job = TypeVar("Job")
Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """The requests of one tokenizer: a file all lanes share, and which rows are which.

    ``blocks`` gives for each operation the case rows it asks about, in request order; the blocks
    lie end to end in the file.
    """

    tokenizer: TokenizerFile
    requests: RequestFile
    blocks: Mapping[Operation, Rows]
    known: Known = field(default_factory=Known)
    _cut: dict[int, tuple[Outcomes, Mapping[Operation, Outcomes]]] = field(default_factory=dict)

    def by_operation(self, outcomes: Outcomes) -> Mapping[Operation, Outcomes]:
        """Cut the answers to all requests by operation; the same value for the same answers."""
        if id(outcomes) not in self._cut:
            blocks, first = {}, 0
            for operation, rows in self.blocks.items():
                blocks[operation] = outcomes.take(np.arange(first, first + rows.shape[0]))
                first += rows.shape[0]
            # The answers are kept, so that no later ones are taken for them.
            self._cut[id(outcomes)] = outcomes, blocks
        return self._cut[id(outcomes)][1]

    def asked(self, request: int) -> tuple[Operation, int]:
        """Return the operation and the case row that a request of the file is about."""
        for operation, rows in self.blocks.items():
            if request < rows.shape[0]:
                return operation, int(rows[request])
            request -= rows.shape[0]
        raise IndexError(request)


@dataclass(frozen=True, kw_only=True)
class Answered:
    """What one lane answered for one tokenizer, one :class:`Outcomes` an operation it offers."""

    lane: Lane
    hello: Hello | None
    outcomes: Mapping[Operation, Outcomes]
    invalid: str | None
    invalid_request: int | None
    remarks: tuple[str, ...]
    stderr_tail: str
    seconds: float
    reused: bool

    def offers(self, operation: Operation) -> bool:
        """Whether the answers to ``operation`` can be believed and the subject has it at all.

        A refused tokenizer leaves every operation "offered": its refusal is an outcome.
        """
        if self.invalid is not None or operation not in self.outcomes:
            return False
        if self.hello is None or self.hello.refused is not None or self.hello.error is not None:
            return True
        return operation in self.hello.operations


def write_sheet(
    tokenizer: TokenizerFile,
    cases: Sequence[Case],
    expected: Mapping[Operation, Outcomes],
    operations: Sequence[Operation],
    directory: Path,
    rows: Mapping[Operation, Rows] | None = None,
) -> Sheet:
    """Write one tokenizer's requests, of every case or of the given case ``rows`` alone."""
    everything = np.arange(len(cases), dtype=np.int64)
    decodable = graded(expected["encode"])
    blocks = {
        operation: (
            rows[operation]
            if rows is not None
            else decodable
            if operation == "decode"
            else everything
        )
        for operation in operations
    }

    def requests() -> Iterable[tuple[str, Payload]]:
        for operation, block in blocks.items():
            if operation == "decode":
                asked = expected["encode"].take(block)
                words, ends = decimals(asked.ids), asked.offsets.tolist()
                for first, last in pairwise(ends):
                    yield operation, words[first:last]
            else:
                for row in block.tolist():
                    yield operation, cases[row].data

    suffix = "" if rows is None else "-again"
    path = directory / f"{tokenizer.name}{suffix}.requests"
    return Sheet(tokenizer=tokenizer, requests=write_requests(path, requests()), blocks=blocks)


class Asker:
    """Runs probes for a plan: knows the runners, the limits, the store, and where to scribble."""

    def __init__(self, config: Config, lanes: Lanes, store: Store, scratch: Path) -> None:
        self._config = config
        self._lanes = lanes
        self._store = store
        self._scratch = scratch
        self._runners: dict[Lane, Runner] = {}

    def runner(self, lane: Lane) -> Runner:
        """Return the lane's runner, made once."""
        if lane not in self._runners:
            toolchain = toolchain_for(lane, self._lanes.toolchains)
            self._runners[lane] = runner_for(lane, toolchain, self._lanes.host)
        return self._runners[lane]

    def session(
        self,
        probe: Probe,
        tokenizer: TokenizerFile,
        *,
        patience: float = 1.0,
        cancel: threading.Event | None = None,
    ) -> Session:
        """Return a probe to ask single questions, under the limits of the run.

        ``patience`` multiplies the time a case is given.
        """
        runner = self.runner(probe.lane)
        limits = self._limits(runner)
        return Session(
            runner,
            probe,
            tokenizer.path,
            axes=self._lanes.axes(probe.lane),
            scratch=self._scratch,
            limits=replace(limits, case_seconds=limits.case_seconds * patience),
            cancel=cancel,
        )

    def _limits(self, runner: Runner) -> Limits:
        return Limits(
            case_seconds=self._config.case_seconds, load_seconds=self._config.load_seconds
        ).scaled(runner.emulated)

    def ask(
        self, sheet: Sheet, probe: Probe, cancel: threading.Event, *, again: bool = False
    ) -> Answered:
        """Ask one lane everything on a sheet; ``again`` asks anew whatever is stored."""
        lane, runner = probe.lane, self.runner(probe.lane)
        limits = self._limits(runner)
        name = key(
            what="answers",
            # Two lanes may have byte-identical probes; each is still asked by itself, so that
            # chance cannot make one answer stand for two.
            lane=lane.name,
            probe=probe.sha256,
            command=[*probe.command[1:], *probe.args],
            runner=runner.identity,
            axes=dict(self._lanes.axes(lane)),
            tokenizer=sheet.tokenizer.sha256,
            requests=sheet.requests.sha256,
            limits=[limits.case_seconds, limits.load_seconds],
        )
        # Of a program that is only given, nobody knows what else it reads: it is always asked.
        kept = probe.provenance is not None and not again
        entry = self._store.get(name) if kept and not self._config.fresh else None
        if entry is not None and entry.outcomes is not None:
            document = entry.document
            return Answered(
                lane=lane,
                hello=hello_of(document["hello"]),
                outcomes=sheet.by_operation(entry.outcomes),
                invalid=None,
                invalid_request=None,
                remarks=tuple(document["remarks"]),
                stderr_tail=document["stderr"],
                seconds=document["seconds"],
                reused=True,
            )
        run = run_lane(
            runner,
            probe,
            sheet.tokenizer.path,
            sheet.requests,
            axes=self._lanes.axes(lane),
            limits=limits,
            scratch=self._scratch,
            cancel=cancel,
            known=sheet.known,
        )
        settled = not np.isin(
            run.outcomes.status, (Status.CRASH, Status.TIMEOUT, Status.UNRESOLVED)
        ).any()
        if kept and run.invalid is None and run.hello is not None and settled:
            document = {
                "hello": dict(run.hello.facts),
                "remarks": list(run.remarks),
                "stderr": run.stderr_tail,
                "seconds": run.seconds,
            }
            self._store.put(name, document, run.outcomes)
        return Answered(
            lane=lane,
            hello=run.hello,
            outcomes={} if run.invalid else sheet.by_operation(run.outcomes),
            invalid=run.invalid,
            invalid_request=run.invalid_request,
            remarks=run.remarks,
            stderr_tail=run.stderr_tail,
            seconds=run.seconds,
            reused=False,
        )


def together(
    work: Callable[[Job, threading.Event], Result], jobs: Sequence[Job], workers: int
) -> list[Result]:
    """Do ``work`` on every job, ``workers`` at a time; results in the order of the jobs.

    The first failure, or an interrupt, cancels what runs and what waits, and is raised only when
    no worker is left.
    """
    cancel = threading.Event()
    with ThreadPoolExecutor(max_workers=workers) as pool:
        futures: list[Future[Result]] = [pool.submit(work, job, cancel) for job in jobs]
        try:
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            failed = [future for future in done if future.exception() is not None]
            if failed:
                cancel.set()
        except BaseException:
            cancel.set()
            raise
        finally:
            if cancel.is_set():
                for future in futures:
                    future.cancel()
    if failed:
        raise_first = failed[0].exception()
        assert raise_first is not None  # noqa: S101 - it was chosen for having one
        raise raise_first
    return [future.result() for future in futures]
