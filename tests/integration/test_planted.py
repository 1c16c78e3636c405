"""Every planted subject, on the real lanes, named by the run as its ``expect.yaml`` says."""

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.conftest import REPOSITORY, Command

SUBJECTS = REPOSITORY / "tests" / "subjects"
PLANTED = sorted(path.parent for path in SUBJECTS.glob("*/expect.yaml"))
REQUIRED = {
    "char-compared-with-zero",
    "isspace-on-char",
    "wchar-signedness",
    "fma-tie",
    "arch-ifdef",
    "pointer-order",
    "nfc-left-out",
    "marks-capped",
    "last-byte-dropped",
    "nul-ends-text",
    "crash-on-one",
    "hang-on-one",
    "overflow-folded",
    "cpu-dispatch",
    "compiler-ifdef",
    "weak-symbol",
    "refuses-dynamic",
    "locale-towlower",
    "tagged-address",
    "long-double-tie",
    "crash-on-arch",
    "hang-on-char",
    "out-of-bounds-read",
    "second-start",
    "answer-too-many",
    "garbage-hello",
    "healthy",
    "always-wrong",
}


def named(report: dict[str, Any]) -> set[tuple[str | None, tuple[str, ...]]]:
    return {(found["cause"], tuple(found["axes"])) for found in report["findings"]}


def test_no_planted_subject_is_missing() -> None:
    assert {path.name for path in PLANTED} >= REQUIRED


@pytest.mark.parametrize("subject", PLANTED, ids=lambda path: path.name)
def test_the_run_names_the_planted_defect_and_nothing_else(
    subject: Path, tokparity: Command
) -> None:
    expect = yaml.safe_load((subject / "expect.yaml").read_text(encoding="utf-8"))
    done = tokparity("run", subject / "tokparity.yaml", "--json")
    assert done.code == expect["exit"], done.out or done.err
    report = done.report
    wanted = set()
    if expect["exit"] == 1:
        wanted = {(expect["cause"], tuple(expect["axes"]))}
    assert named(report) == wanted, done.err
    for found in report["findings"]:
        for name in found["lanes"]:
            assert any(fnmatchcase(name, glob) for glob in expect["lanes"]), name
    if expect["exit"] == 3:
        assert report["verdict"] == "invalid"
        assert any(expect["cause"] in words for words in report["invalid"]), report["invalid"]


def test_a_healthy_subject_has_no_finding_ten_times_over(tokparity: Command) -> None:
    for _ in range(10):
        done = tokparity("run", SUBJECTS / "healthy" / "tokparity.yaml", "--fresh", "--json")
        assert done.code == 0, done.err
        assert done.report["findings"] == []
