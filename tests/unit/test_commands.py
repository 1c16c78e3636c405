"""What the command line says where it refuses, and where what was found cannot be written."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import harness.cli.run
from harness.cli.root import outcome
from harness.report.model import Report
from tests.unit.test_report import HOSTILE, acts

Typed = Callable[..., tuple[int, str, str]]
PARITY = Report(verdict="pass", exit=0)


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Typed:
    """Type a command; return its exit code, its output and its complaints."""

    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["tokparity", *map(str, words)])
        code = outcome()
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


@pytest.mark.parametrize(
    "before",
    [
        ["run", "a.yaml"],
        ["run", "a.yaml", "b"],
        ["run", "--jobs"],
        ["run", "--jobs", "1", "--nope"],
        ["lanes", "a.yaml"],
        [],
    ],
)
def test_no_word_that_is_refused_acts_on_a_terminal(typed: Typed, before: list[str]) -> None:
    for word in HOSTILE:
        code, out, err = typed(*before, word)
        assert (code, out) == (2, "")
        assert not acts(err)
        assert "##[" not in err
        # Whatever the word holds, it is told on the one line of the error.
        *usage, hint, empty, error = err.removesuffix("\n").split("\n")
        assert usage[0].startswith("Usage: tokparity ")
        assert hint.startswith("Try 'tokparity") and hint.endswith("--help' for help.")
        assert empty == ""
        assert error.startswith("Error: ")


def test_a_refusal_still_says_which_word_and_what_was_meant(typed: Typed) -> None:
    _, _, err = typed("run", "a.yaml", "other")
    assert "Error: Got unexpected extra argument (other)" in err
    assert "Did you mean one of: '--out'" in typed("run", "--outt", "x")[2]


def test_without_a_command_the_help_is_shown(typed: Typed) -> None:
    code, out, err = typed()
    assert code in (0, 2)
    assert "Commands:\n  run " in out + err


@pytest.fixture
def instead(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Put something that happens meanwhile in the place of the run itself."""

    def put(meanwhile: Callable[[], None]) -> None:
        def run(*_: Any, **__: Any) -> Report:  # noqa: ANN401 - whatever the run is given
            meanwhile()
            return PARITY

        monkeypatch.setattr(harness.cli.run, "run", run)

    return put


@pytest.mark.parametrize(
    ("options", "lost", "remedy"),
    [
        (["--out", "out"], "out/report.txt", "--out DIR"),
        (["--out", "out"], "out/repro/README.md", "--out DIR"),
        (["--repro", "repro"], "repro/README.md", "--repro DIR"),
        (["--out", "out", "--repro", "repro"], "repro/README.md", "--repro DIR"),
        (["--out", "out", "--repro", "repro"], "out/report.md", "--out DIR"),
    ],
)
def test_what_cannot_be_written_at_the_end_names_the_option_that_helps(
    typed: Typed,
    instead: Callable[[Callable[[], None]], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    lost: str,
    remedy: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    # Meanwhile a directory has come to stand where the file belongs.
    instead(lambda: (tmp_path / lost / "in the way").mkdir(parents=True))
    code, out, err = typed("run", *options)
    assert code == 4
    assert "tokparity: parity" in out
    assert f"free some space, or name another directory with {remedy}" in err
    assert "--cache" not in err


def test_a_page_of_others_is_kept_and_the_option_that_was_given_is_named(
    typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "out" / "repro" / "README.md"
    page.parent.mkdir(parents=True)
    page.write_text("# My project\n")
    code, _, err = typed("run", "--out", "out")
    assert code == 4
    assert "name another directory with --out DIR" in err
    code, _, err = typed("run", "--repro", "out/repro")
    assert code == 4
    assert "name another directory with --repro DIR" in err


def test_goldens_that_cannot_be_written_name_the_key_that_helps(
    typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tokparity.yaml").write_text("goldens: own\n")
    (tmp_path / "own").write_text("a file where a directory belongs")
    code, _, err = typed("bless", "--corpus", "smoke")
    assert code == 4
    assert "name another directory as 'goldens' in tokparity.yaml" in err
