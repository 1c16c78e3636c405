"""README.md is true: every command in it is run as written, and its report is the real one."""

import platform
import re
import shutil
import subprocess
from collections.abc import Callable

import pytest

from harness.cli import INTERRUPTED
from harness.cli.root import BUG
from harness.errors import (
    GoldenRefused,
    InstrumentInvalid,
    LaneUnavailable,
    TokparityError,
    UsageError,
)
from harness.served.exits import DISAGREE, NO_COUNT, OUT_OF_BAND
from tests.integration.clone import Clone
from tests.integration.conftest import REPOSITORY
from tests.integration.page import blocks, commands, inline_commands, mappings
from tests.integration.page import table as table_of

README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
SUBJECTS = (REPOSITORY / "docs" / "subjects.md").read_text(encoding="utf-8")
FOREIGN = REPOSITORY / "tests" / "foreign"
REAL = {"gpt2", "llama3", "qwen2.5", "qwen3", "qwen3.6", "deepseek-v3", "gpt-oss"}
REPORT = ".venv/bin/tokparity run --probe-arg=--without-nfc --corpus public_bugs"

Finished = subprocess.CompletedProcess[str]
Check = Callable[[Clone, str], None]


def succeeds(clone: Clone, line: str) -> Finished:
    done = clone.run(line)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def run(clone: Clone, line: str) -> None:
    done = succeeds(clone, line)
    assert done.stdout.startswith("tokparity: parity (exit 0): 6 lanes, 1 tokenizer, 8 corpora\n")
    assert any("--editable ." in asked for asked in clone.asked())


def run_own(clone: Clone, line: str) -> None:
    """The README's configuration, on the foreign engine laid out as the README has it."""
    shutil.copytree(FOREIGN / "src", clone.path / "src")
    shutil.copytree(FOREIGN / "include", clone.path / "include")
    shutil.copy(FOREIGN / "third_party" / "utf8.h", clone.path / "include")
    (clone.path / "src" / "tokenizer" / "tokenizer_test.cpp").unlink()
    (clone.path / "parity").mkdir()
    (clone.path / "parity" / "probe.cpp").write_text(blocks(SUBJECTS, "cpp")[0])
    (clone.path / "my").mkdir()
    bundled = REPOSITORY / "goldens" / "bundled" / "tokenizer.json"
    shutil.copy(bundled, clone.path / "my" / "tokenizer.json")
    (configuration,) = blocks(README, "yaml")
    (clone.path / "tokparity.yaml").write_text(configuration)
    done = clone.run(line)
    # The engine is right about ASCII, so the control holds; it has no NFC, and other faults.
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.startswith("tokparity: NO parity (exit 1): 6 lanes, 2 tokenizers")
    assert re.search(r"✗ unexplained \[\w+\]: my, encode, \d+ cases on all 6 lanes", done.stdout)
    assert re.search(r"✗ unexplained \[\w+\]: qwen3, encode, \d+ cases on all 6 lanes", done.stdout)


def fetch(clone: Clone, line: str) -> None:
    done = succeeds(clone, line)
    fetched = {row.split()[0] for row in done.stdout.splitlines()}
    assert fetched == REAL | {"bundled"}
    # Those that the README names are those that there are.
    assert (
        set(re.findall(r"`([a-z][\w.-]+)`[,)]", README.partition("The real tokenizers")[2])) >= REAL
    )


def run_all(clone: Clone, line: str) -> None:
    done = succeeds(clone, line)
    assert done.stdout.startswith("tokparity: parity (exit 0): 6 lanes, 8 tokenizers, 8 corpora\n")
    for name in REAL:
        assert re.search(
            rf"^{re.escape(name)}: (\d+)/\1 \+\d+ on each of 6 lanes", done.stdout, re.M
        )


def suite(clone: Clone, line: str) -> None:
    """Not called from itself: it is what runs this, and what continuous integration calls."""
    assert (clone.path / line).stat().st_mode & 0o111
    ci = (clone.path / ".ci" / "run").read_text().splitlines()
    called = [words.split()[0] for words in ci if words.startswith("scripts/")]
    assert called == ["scripts/test", "scripts/run"]
    # What the README says it runs, it runs.
    script = (clone.path / line).read_text()
    for program in ("ruff check", "ruff format --check", "mypy", "clang-format", "pytest"):
        assert re.search(rf"^(exec |.*xargs )?{program}", script, re.M), program


def report(clone: Clone, line: str) -> None:
    done = clone.run(line)
    assert done.returncode == 1, done.stderr
    assert as_here(done.stdout) == as_here(shown())


def lanes(clone: Clone, line: str) -> None:
    assert len(succeeds(clone, line).stdout.splitlines()) == 2 + 6


def doctor(clone: Clone, line: str) -> None:
    assert succeeds(clone, line).stdout.rstrip().endswith("nothing is missing")


def bless(clone: Clone, line: str) -> None:
    # With the clone's own code and data, so that no test can write to the real goldens.
    done = clone.run(line, {"PYTHONPATH": str(clone.path)})
    assert done.returncode == 0, done.stderr
    golden = clone.path / "goldens" / "bundled" / "encodings.json"
    assert re.fullmatch(rf"bundled: 0 added, \d+ kept: {re.escape(str(golden))}\n", done.stdout)
    committed = REPOSITORY / "goldens" / "bundled" / "encodings.json"
    assert golden.read_bytes() == committed.read_bytes()


KNOWN: dict[str, Check] = {
    "scripts/run": run,
    "scripts/run tokparity.yaml": run_own,
    ".venv/bin/tokparity fetch all": fetch,
    ".venv/bin/tokparity run --tokenizer all": run_all,
    "scripts/test": suite,
    REPORT: report,
    ".venv/bin/tokparity lanes": lanes,
    ".venv/bin/tokparity doctor": doctor,
    ".venv/bin/tokparity bless": bless,
}


def said() -> set[str]:
    """The README's commands, those within sentences included."""
    return {*commands(README), *(f".venv/bin/{words}" for words in inline_commands(README))}


def shown() -> str:
    return blocks(README, "")[0]


def as_here(report: str) -> str:
    """Take away what may differ: what was reused, and on another host the lanes' names."""
    report = report.partition("\n\nreused:")[0].rstrip("\n")
    if platform.machine() != "x86_64":
        report = re.sub(r"\S+-linux-gnu/\S+( \(control\))?", "LANE", report)
        report = re.sub(r"-{3,}|  +", "  ", report)
    return report


def test_no_command_is_unknown_and_none_is_gone() -> None:
    assert said() == set(KNOWN)


@pytest.mark.parametrize("line", KNOWN)
def test_the_command_does_what_the_readme_says(
    line: str, clone: Clone, request: pytest.FixtureRequest
) -> None:
    if KNOWN[line] in (fetch, run_all, run_own):
        request.getfixturevalue("real_tokenizers")
    KNOWN[line](clone, line)


def test_a_report_that_differs_in_anything_but_what_may_is_noticed() -> None:
    assert as_here(shown() + "\nreused: 6 probes unchanged\n") == as_here(shown())
    assert as_here(shown().replace("33/37", "34/37", 1)) != as_here(shown())


def test_a_new_command_is_noticed() -> None:
    planted = README.replace("    scripts/test\n", "    scripts/test\n    scripts/tset\n")
    assert "scripts/tset" in commands(planted)
    assert "tokparity explode" in inline_commands(README + "and `tokparity explode` too")


def test_the_exit_codes_are_those_of_the_program() -> None:
    def codes(kind: type[TokparityError]) -> set[int]:
        return {kind.exit_code}.union(*(codes(below) for below in kind.__subclasses__()))

    rows = {int(code): words for code, words in table_of(README, "exit")}
    counted = {NO_COUNT, OUT_OF_BAND, DISAGREE}
    assert set(rows) == {0, 1, BUG, INTERRUPTED} | counted | codes(TokparityError)
    assert rows[UsageError.exit_code].startswith("usage")
    assert rows[InstrumentInvalid.exit_code].startswith("instrument invalid")
    assert "cannot be built or run here" in rows[LaneUnavailable.exit_code]
    assert "golden" in rows[GoldenRefused.exit_code]
    assert "bug in tokparity" in rows[TokparityError.exit_code]


def test_the_configuration_shown_has_only_known_keys() -> None:
    (configuration,) = mappings(README)
    assert set(configuration) == {"subject", "tokenizers"}
