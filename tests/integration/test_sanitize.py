"""``--sanitize``: faults that ids do not show, each tied to its file, its line and its case."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

from tests.integration.awkward import CONTROL
from tests.integration.conftest import REPOSITORY, Command

SUBJECTS = REPOSITORY / "tests" / "subjects"


def of(report: dict[str, Any], cause: str) -> dict[str, Any]:
    [found] = [one for one in report["findings"] if one["cause"] == cause]
    return dict(found)


def line_of(subject: str, words: str) -> str:
    lines = (SUBJECTS / subject / "probe.cpp").read_text(encoding="utf-8").splitlines()
    [number] = [n for n, line in enumerate(lines, start=1) if words in line]
    return f"probe.cpp:{number}"


def test_a_read_out_of_bounds_is_tied_to_its_line_and_its_one_case(
    tokparity: Command, tmp_path: Path
) -> None:
    subject = SUBJECTS / "out-of-bounds-read"
    done = tokparity("run", subject, "--sanitize", "--json", "--repro", tmp_path / "repro")
    assert done.code == 1, done.err
    [found] = done.report["findings"]
    assert found["cause"] == "memory-error"
    assert found["cases"] == ["public_bugs/new-emoji"]
    [place] = found["evidence"]["sanitizer"]
    assert place["kind"] == "heap-buffer-overflow"
    assert place["place"] == line_of("out-of-bounds-read", "copy[text.size()]")
    lanes = {lane["name"]: lane["status"] for lane in done.report["lanes"]}
    assert sorted(lanes.values()) == ["ran", "sanitized", "sanitized"]
    assert lanes[found["lanes"][0]] == "sanitized"
    # Nothing of these lanes is compared, so nothing of them is counted.
    assert {cell["lane"] for cell in done.report["cells"]} == {
        name for name, status in lanes.items() if status == "ran"
    }
    index = (tmp_path / "repro" / "README.md").read_text()
    assert "none: what a sanitizer reports is no answer that could be compared" in index


def test_a_divergence_has_the_line_of_the_fault_behind_it(tokparity: Command) -> None:
    done = tokparity("run", SUBJECTS / "overflow-folded", "--sanitize", "--json")
    assert done.code == 1, done.err
    place = line_of("overflow-folded", "used + more")
    divergence = of(done.report, "optimisation")
    assert [one["place"] for one in divergence["evidence"]["sanitizer"]] == [place]
    fault = of(done.report, "undefined-behaviour")
    assert {one["place"] for one in fault["evidence"]["sanitizer"]} == {place}
    # A place is reported once a process, so diverging cases are asked by themselves, up to a bound.
    assert 2 <= len(fault["cases"]) < len(divergence["cases"])
    assert set(fault["cases"]) & set(divergence["cases"])
    assert any("were asked by themselves" in limit for limit in done.report["limits"])


def test_a_healthy_subject_shows_none(tokparity: Command) -> None:
    done = tokparity("run", SUBJECTS / "second-start", "--sanitize", "--json")
    assert done.code == 0, done.out or done.err
    assert done.report["findings"] == []
    assert {lane["status"] for lane in done.report["lanes"]} == {"ran", "sanitized"}


def poorer(tmp_path: Path, libraries: str) -> dict[str, str]:
    """Return an environment in which the compiler has none of the libraries of this pattern."""
    real = shutil.which("g++")
    (tmp_path / "g++").write_text(
        "#!/bin/sh\n"
        f'case $1 in -print-file-name={libraries}) echo "${{1#*=}}";; *) exec {real} "$@";; esac\n'
    )
    (tmp_path / "g++").chmod(0o755)
    return {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}


def test_a_machine_without_the_libraries_finishes_the_run_and_says_what_to_install(
    tokparity: Command, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    poor = poorer(tmp_path, "lib*san.so")
    options = ["--sanitize", "--json", "--out", out, "--lanes", CONTROL]
    done = tokparity("run", SUBJECTS / "last-byte-dropped", *options, environment=poor)
    assert done.code == 4, done.err
    assert done.report["exit"] == 4
    # What the run itself found is all there, in what is printed and in what is written.
    assert [one["cause"] for one in done.report["findings"]] == ["last-byte-dropped"]
    assert done.report["cells"]
    assert sorted(lane["status"] for lane in done.report["lanes"]) == [
        "ran",
        "unavailable",
        "unavailable",
    ]
    assert any("itself came to 'fail', exit 1" in limit for limit in done.report["limits"])
    assert json.loads((out / "report.json").read_text()) == done.report
    [finding] = done.report["findings"]
    assert (out / "repro" / finding["id"] / "run.sh").is_file()
    for text in ((out / "report.txt").read_text(), done.err):
        assert "sanitizer=address: cannot be built here: missing libasan.so" in text
        assert "sanitizer=undefined: cannot be built here: missing libubsan.so" in text
        assert "apt-get install -y libgcc-" in text


def test_a_sanitizer_that_is_there_looks_though_the_other_is_not(
    tokparity: Command, tmp_path: Path
) -> None:
    poor = poorer(tmp_path, "libubsan.so")
    subject = SUBJECTS / "out-of-bounds-read"
    done = tokparity("run", subject, "--sanitize", "--json", environment=poor)
    assert done.code == 4, done.err
    assert [one["cause"] for one in done.report["findings"]] == ["memory-error"]
    assert any("itself came to 'pass', exit 0" in limit for limit in done.report["limits"])


def test_a_subject_given_as_a_command_cannot_be_built_so(
    tokparity: Command, tmp_path: Path
) -> None:
    config = tmp_path / "tokparity.yaml"
    config.write_text("subject: {name: s, command: [/bin/true]}\n")
    done = tokparity("run", config, "--sanitize")
    assert done.code == 2
    assert "--sanitize cannot build" in done.err
