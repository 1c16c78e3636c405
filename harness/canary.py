"""Is the emulator itself to be believed? A few instructions whose answers are known.

The canary (``probes/canary/canary.cpp``) is compiled as the lane's own probe is and run as that
probe is run. It prints ``tokparity-canary/1``, a line ``NAME EXPECTED OBSERVED`` for each check,
and ``done COUNT``. Anything but every check right and the count complete is a failure.
"""

import os
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.atomic import storage
from harness.build import Probe, build
from harness.errors import LaneUnavailable
from harness.hello import shown
from harness.lane import Lane
from harness.needs import Find, which
from harness.plural import counted
from harness.runners import Runner, runner_for
from harness.runners.spawn import signal_name
from harness.subject import Subject
from harness.toolchain import Toolchains, emulated, toolchain_for
from harness.wire import Tail, Wire

_FIRST = "tokparity-canary/1"
_SECONDS = 60.0
_MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class CanaryResult:
    """What the canary said in one lane: how many checks were right, or why it is not believed."""

    lane: Lane
    checks: int
    failure: str | None


def check_canaries(
    lanes: Sequence[Lane],
    toolchains: Toolchains,
    *,
    source: Path,
    cache: Path,
    host_arch: str,
    defines: Mapping[str, str | int | None] | None = None,
    jobs: int | None = None,
    seconds: float = _SECONDS,
    say: Callable[[str], None] = lambda _: None,
    find: Find = which,
    cancel: threading.Event | None = None,
) -> Mapping[Lane, CanaryResult]:
    """Build and run the canary in every emulated lane; other lanes have no entry.

    ``source`` is the canary's main. A failure is a value, for :func:`invalid_lanes` to spread.
    Raises :class:`~harness.errors.StorageError` where the cache cannot be used and
    :class:`~harness.runners.spawn.Cancelled`.
    """
    among = [lane for lane in lanes if emulated(lane, toolchain_for(lane, toolchains), host_arch)]
    if not among:
        return {}
    subject = Subject(
        name="canary",
        probe=source,
        std="c++17",
        flags=("-pthread",),
        defines=dict(defines or {}),
    )
    built = build(
        subject,
        among,
        toolchains,
        cache=cache,
        host_arch=host_arch,
        jobs=jobs,
        say=say,
        find=find,
        cancel=cancel,
    )
    said: dict[tuple[str, str], tuple[int, str | None]] = {}
    results = {}
    for lane in among:
        probe = built.probes[lane]
        if isinstance(probe, LaneUnavailable):
            results[lane] = CanaryResult(lane, 0, f"the canary does not build: {probe.what}")
            continue
        runner = runner_for(lane, toolchain_for(lane, toolchains), host_arch, find)
        # Lanes whose flags mean the same share one binary, and so one answer.
        key = (probe.sha256, runner.identity)
        if key not in said:
            said[key] = _run(runner, probe, cache, seconds, cancel)
        results[lane] = CanaryResult(lane, *said[key])
    return results


def invalid_lanes(
    results: Mapping[Lane, CanaryResult],
    lanes: Sequence[Lane],
    axes: Mapping[Lane, Mapping[str, str]],
) -> Mapping[Lane, str]:
    """Return every lane of an emulator of which one canary failed, with that failure's words.

    A wrong answer from an emulator under one CPU or one set of flags leaves none of its lanes
    standing. ``axes`` holds the effective axes of every lane of both.
    """
    failures: dict[str, str] = {}
    for lane, result in results.items():
        if result.failure is not None:
            failures.setdefault(axes[lane]["emulator"], _words(result))
    return {
        lane: failures[emulator]
        for lane in lanes
        if (emulator := axes[lane]["emulator"]) in failures
    }


def judge(output: bytes) -> tuple[int, str | None]:
    """Return the number of right checks in a canary's output, and what is wrong with it, if any."""
    first, *lines = output.decode("ascii", "backslashreplace").splitlines() or [""]
    if first != _FIRST:
        return 0, f"its first line is {shown(first)}, not {_FIRST}"
    names: set[str] = set()
    for line in lines:
        if line.startswith("done "):
            if line != f"done {len(names)}" or not names or line != lines[-1]:
                return len(names), f"it says {shown(line)} after {counted(len(names), 'check')}"
            return len(names), None
        words = line.split(" ")
        if len(words) != 3 or words[0] in names:
            return len(names), f"it prints {shown(line)}"
        name, expected, observed = words
        if expected != observed:
            return len(names), f"{name} gives {observed}, and the right answer is {expected}"
        names.add(name)
    return len(names), f"it stops after {counted(len(names), 'check')}"


def _run(
    runner: Runner, probe: Probe, cache: Path, seconds: float, cancel: threading.Event | None
) -> tuple[int, str | None]:
    with storage(cache), tempfile.TemporaryDirectory(prefix="canary-", dir=cache) as cwd:
        stdin = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        try:
            running = runner.start(probe.command, stdin=stdin, cwd=Path(cwd))
        finally:
            os.close(stdin)
        output = bytearray()
        with Wire(running, Tail(), cancel=cancel) as wire:
            while data := wire.read(seconds):
                output += data
                if len(output) > _MOST_BYTES:
                    return 0, f"it prints more than {_MOST_BYTES} bytes"
            if data is None:
                return judge(bytes(output))[0], f"it prints nothing for {seconds:g} s"
            status = wire.status(seconds)
    checks, wrong = judge(bytes(output))
    if status == 0:
        return checks, wrong
    end = "does not end" if status is None else f"ends with {signal_name(status)}"
    return checks, f"it {end} after {counted(checks, 'right check')}"


def _words(result: CanaryResult) -> str:
    return f"canary in {result.lane.name}: {result.failure}"
