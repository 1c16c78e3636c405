"""Measure tokparity's speed as ratios in one run; ``--write`` puts them into docs/benchmarks.md.

    scripts/bench [--cases 20000] [--rounds 3] [--write]

Absolute seconds depend on the machine; the ratios compare two things measured side by side in the
same minutes. Nothing here is a test: a test that depends on the clock fails on a busy machine.
"""

import argparse
import json
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tabulate import tabulate

from harness import tokenizers
from harness.ask import write_sheet
from harness.build import build
from harness.config import Overrides, resolve
from harness.expect import OracleOnDemand, expect
from harness.plan import golden_path, plan_lanes, plan_run
from harness.store import Store
from harness.subject_file import reference_subject

ROOT = Path(__file__).resolve().parents[1]
TOKPARITY = Path(sys.executable).with_name("tokparity")
PAGE = ROOT / "docs" / "benchmarks.md"
AT_A_TIME = 2
# Characters a case: a sentence or two, and a prompt.
SHORT, LONG = 150, 1000


@dataclass(frozen=True)
class Row:
    """One measured claim: what, the figure, the bound it is held to, and how it was got."""

    what: str
    figure: str
    bound: str
    how: str


@dataclass(frozen=True)
class Timed:
    """One run of the command: wall seconds, and the peak resident memory of its own process."""

    seconds: float
    megabytes: float


def write_corpus(path: Path, cases: int, characters: int) -> None:
    """Write ``cases`` distinct texts of so many characters, cut from the bundled corpora."""
    lines = (
        json.loads(line)
        for name in ("multilingual", "digits", "whitespace")
        for line in (ROOT / "corpora" / f"{name}.jsonl").read_text(encoding="ascii").splitlines()
    )
    texts = [line["text"] for line in lines if 0 < len(line.get("text", "")) < 400]
    choose = random.Random(20_000)  # noqa: S311 - text, not secrets
    with path.open("w", encoding="ascii") as file:
        for number in range(cases):
            text = f"{number} "
            while len(text) < characters:
                text += choose.choice(texts) + " "
            file.write(json.dumps({"id": f"case-{number}", "text": text[:characters]}) + "\n")


def run(cache: Path, corpus: Path, *more: str) -> Timed:
    """Run the command as a user would; it must end with exit 0."""
    command = [
        str(TOKPARITY),
        "run",
        "--json",
        "--corpus",
        str(corpus),
        "--cache",
        str(cache),
        *more,
    ]
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - began
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: exit {process.returncode}")
    return Timed(seconds, usage.ru_maxrss / 1024)


def bare(commands: list[list[str]], requests: Path) -> float:
    """Feed every probe the same bytes, two at a time, and throw the answers away."""

    def feed(command: list[str]) -> None:
        with (
            requests.open("rb") as stdin,
            subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE) as process,
        ):
            assert process.stdout is not None  # noqa: S101 - a pipe was asked for
            while os.read(process.stdout.fileno(), 1 << 20):
                pass

    began = time.perf_counter()
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        list(pool.map(feed, commands))
    return time.perf_counter() - began


def bare_inputs(cache: Path, corpus: Path, scratch: Path) -> tuple[list[list[str]], Path]:
    """Return the argv of every lane's probe, and the very request file that the harness writes."""
    plan = plan_run(resolve(None, Overrides(corpora=(str(corpus),), cache=cache)))
    [tokenizer] = plan.tokenizers
    expected = expect(
        tokenizer,
        OracleOnDemand(tokenizer),
        golden_path(plan.config, tokenizer),
        plan.corpora,
        plan.config.operations,
        Store(cache),
    )
    sheet = write_sheet(tokenizer, plan.cases, expected.outcomes, plan.config.operations, scratch)
    done = subprocess.run(
        [str(TOKPARITY), "run", "--json", "--cache", str(cache)], capture_output=True, check=True
    )
    lanes = json.loads(done.stdout)["lanes"]
    commands = []
    for lane in lanes:
        probe = str(cache / "probes" / lane["probe_sha256"] / "probe")
        emulator = lane["axes"]["emulator"]
        cpu = lane["axes"]["cpu"]
        prefix = [] if emulator == "none" else [emulator, "-cpu", cpu]
        commands.append([*prefix, probe, str(tokenizer.path)])
    # The harness starts the slow lanes first; so does the driver.
    commands.sort(key=len, reverse=True)
    return commands, sheet.requests.path


def overhead(cache: Path, corpus: Path, rounds: int, scratch: Path, what: str) -> Row:
    """Harness against bare probes, alternating, medians."""
    run(cache, corpus)  # the oracle's answers are kept, as the builds are
    commands, requests = bare_inputs(cache, corpus, scratch)
    ours, theirs = [], []
    for _ in range(rounds):
        theirs.append(bare(commands, requests))
        ours.append(run(cache, corpus, "--fresh", "--jobs", str(AT_A_TIME)).seconds)
    ratio = statistics.median(ours) / statistics.median(theirs)
    return Row(
        f"`tokparity run --fresh` over the bare probes, {what}",
        f"{ratio:.3f} × ({statistics.median(ours):.1f} s / {statistics.median(theirs):.1f} s)",
        "1.10 ×",
        f"{len(commands)} lanes, {AT_A_TIME} at a time, medians of {rounds}",
    )


def again(cache: Path, rounds: int) -> Row:
    """Time a second run with nothing changed."""
    command = [str(TOKPARITY), "run", "--cache", str(cache)]
    subprocess.run(command, capture_output=True, check=True)
    seconds = []
    for _ in range(rounds):
        began = time.perf_counter()
        subprocess.run(command, capture_output=True, check=True)
        seconds.append(time.perf_counter() - began)
    return Row(
        "a second default run, nothing changed",
        f"{statistics.median(seconds):.2f} s",
        "1.5 s",
        f"median of {rounds}",
    )


def doubling(cache: Path, whole: Path, half: Path, rounds: int) -> list[Row]:
    """Compare twice the cases in time and memory."""
    small = [run(cache, half, "--fresh") for _ in range(rounds)]
    large = [run(cache, whole, "--fresh") for _ in range(rounds)]
    seconds = [statistics.median(t.seconds for t in runs) for runs in (small, large)]
    memory = [statistics.median(t.megabytes for t in runs) for runs in (small, large)]
    return [
        Row(
            "twice the cases: time",
            f"{seconds[1] / seconds[0]:.2f} × ({seconds[1]:.1f} s / {seconds[0]:.1f} s)",
            "2.1 ×",
            f"medians of {rounds}",
        ),
        Row(
            "twice the cases: peak memory of the harness",
            f"{memory[1] / memory[0]:.2f} × ({memory[1]:.0f} MB / {memory[0]:.0f} MB)",
            "2.1 ×",
            f"medians of {rounds}",
        ),
    ]


def one_edit(cache: Path, scratch: Path) -> Row:
    """Count what is compiled when one source of the bundled subject changes by one line."""
    tree = scratch / "probes"
    shutil.copytree(ROOT / "probes", tree)
    main = tree / "reference" / "main.cpp"
    subject = replace(
        reference_subject(),
        sources=tuple(p for p in sorted((tree / "reference").glob("*.cpp")) if p != main),
        include=(tree / "include", tree / "reference"),
        probe=main,
    )
    lanes = plan_lanes(resolve(None, Overrides(cache=cache)))

    def built() -> int:
        return build(
            subject, lanes.chosen, lanes.toolchains, cache=cache, host_arch=lanes.host
        ).rebuilt

    whole = built()
    with (tree / "reference" / "utf8.cpp").open("a", encoding="ascii") as file:
        file.write("// one more line\n")
    edited, unchanged = built(), built()
    return Row(
        "compiles and links after one source was edited",
        f"{edited} of {whole}; {unchanged} when nothing changed",
        f"{2 * len(lanes.chosen)}",
        "one object and one link in each lane",
    )


def comparing(ids: int) -> Row:
    """Diff and isolation of six lanes, in a process of its own."""
    script = ROOT / "scripts" / "bench_diff.py"
    done = subprocess.run(
        [sys.executable, str(script), str(ids), "--json"],
        stdout=subprocess.PIPE,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    shapes = json.loads(done.stdout)
    slowest = max(shapes, key=lambda shape: float(shape["seconds"]))
    largest = max(float(shape["memory"]) for shape in shapes)
    return Row(
        f"diff and isolation of 6 lanes × {ids:,} ids",
        f"{slowest['seconds']:.2f} s; memory {largest:.2f} × the ids' own size",
        "1 s; 4 ×",
        f"the worst of {len(shapes)} shapes of difference ({slowest['shape']})",
    )


def attributing(cache: Path, corpus: Path, cases: int) -> list[Row]:
    """Hold attribution of every real tokenizer against the time that the lanes take with it."""
    fetch = [str(TOKPARITY), "fetch", "all", "--cache", str(cache)]
    subprocess.run(fetch, capture_output=True, check=True)
    script = ROOT / "scripts" / "bench_attribution.py"
    done = subprocess.run(
        [sys.executable, str(script), str(corpus), str(cache)],
        stdout=subprocess.PIPE,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    measured = json.loads(done.stdout)
    lanes = measured.pop("lanes")
    return [
        Row(
            f"attribution of {cases:,} cases × all tokenizers, {name.replace('_', ' ')}",
            f"{one['seconds'] / lanes:.3f} × ({one['seconds']:.1f} s / {lanes:.1f} s)",
            "1 ×",
            f"over the time the lanes took; named for {one['explained']} of 16 questions",
        )
        for name, one in measured.items()
    ]


def serving(cache: Path, prompts: int, rounds: int) -> list[Row]:
    """Hold the rate at which a real server is asked against that of a bare load tool."""
    tokenizer = tokenizers.resolve("qwen2.5", ROOT / "goldens", cache)
    script = ROOT / "scripts" / "bench_served.py"
    done = subprocess.run(
        [
            *(sys.executable, str(script), str(tokenizer.path)),
            *("--prompts", str(prompts), "--rounds", str(rounds)),
        ],
        stdout=subprocess.PIPE,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    measured = json.loads(done.stdout)
    return [
        Row(
            f"asking a llama.cpp server, {prompts:,} prompts × 4 questions, rate over wrk's",
            f"{measured['ratio']:.3f} × ({measured['ours']:.0f} / {measured['bare']:.0f} a second)",
            "0.90 ×",
            f"the same requests, 4 at a time, medians of {rounds}",
        ),
        Row(
            f"counting {prompts:,} prompts over the oracle's own batch",
            f"{measured['counting']:.2f} ×",
            "1.10 ×",
            "with and without special tokens",
        ),
    ]


@contextmanager
def workshop() -> Iterator[Path]:
    """Yield a directory of our own; its cache starts with what this machine has built before."""
    with tempfile.TemporaryDirectory(prefix="tokparity-bench-") as name:
        yield Path(name)


def measure(cases: int, rounds: int, say: Callable[[str], None]) -> Iterator[Row]:
    """Measure everything, and yield each row as soon as it is known."""
    with workshop() as scratch:
        cache, whole, half = scratch / "cache", scratch / "whole.jsonl", scratch / "half.jsonl"
        prompts = scratch / "prompts.jsonl"
        write_corpus(whole, cases, SHORT)
        write_corpus(half, cases // 2, SHORT)
        write_corpus(prompts, cases // 4, LONG)
        say("diff and isolation")
        yield comparing(5_000_000)
        say("a second run")
        yield again(cache, rounds)
        say("the harness over the bare probes, short texts")
        yield overhead(cache, whole, rounds, scratch, f"{cases:,} cases of {SHORT} characters")
        say("the harness over the bare probes, prompts")
        what = f"{cases // 4:,} cases of {LONG:,} characters"
        yield overhead(cache, prompts, rounds, scratch, what)
        say("twice the cases")
        yield from doubling(cache, whole, half, rounds)
        say("attribution")
        yield from attributing(cache, whole, cases)
        say("a server")
        yield from serving(cache, cases // 20, rounds)
        say("one edit")
        yield one_edit(cache, scratch)


def page(rows: list[Row]) -> str:
    """Return docs/benchmarks.md."""
    table = tabulate(
        [[row.what, row.figure, row.bound, row.how] for row in rows],
        headers=["what", "measured", "bound", "how"],
        tablefmt="github",
        disable_numparse=True,
    )
    return f"""# Benchmarks

`scripts/bench --write` measures this table, in one run of half an hour, and writes this page.
The seconds are one machine's; the ratios compare two things measured side by side. The cases are
cut together from the bundled corpora; the lanes are the default ones; the subject and the tokenizer
are the bundled ones. Each case is asked three times: `encode`, `encode_special`, `decode`.

{table}

The bare driver starts the same probes with the same request file as standard input, two at a
time, and throws their answers away. The harness besides starts Python, reads the corpus, writes
that file, runs the canaries, reads, stores and compares all answers, and writes the report. Builds
are warm and the oracle's answers are kept, since they follow from pinned inputs alone; every lane
is asked anew. The server is llama.cpp's own, with Qwen2.5's tokenizer and weights of zero.

Measured on {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}.
"""


def _say(words: str) -> None:
    print(f"bench: {words}", file=sys.stderr, flush=True)


def main() -> None:
    """Measure, print the table, and write the page where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    chosen = parser.parse_args()
    # Users have Python's bytecode cache; without it every run compiles the whole harness anew.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    rows = []
    for row in measure(chosen.cases, chosen.rounds, _say):
        _say(f"{row.what}: {row.figure}")
        rows.append(row)
    text = page(rows)
    print(text)
    if chosen.write:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
