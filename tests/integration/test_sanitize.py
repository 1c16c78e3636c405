"""``--sanitize``: faults that ids do not show, each tied to its file, its line and its case."""

import os
import shutil
from pathlib import Path
from typing import Any

from tests.integration.conftest import REPOSITORY, Command

SUBJECTS = REPOSITORY / "tests" / "subjects"


def of(report: dict[str, Any], cause: str) -> dict[str, Any]:
    [found] = [one for one in report["findings"] if one["cause"] == cause]
    return dict(found)


def line_of(subject: str, words: str) -> str:
    lines = (SUBJECTS / subject / "probe.cpp").read_text(encoding="utf-8").splitlines()
    [number] = [n for n, line in enumerate(lines, start=1) if words in line]
    return f"probe.cpp:{number}"


def test_a_read_out_of_bounds_is_tied_to_its_line_and_its_one_case(tokparity: Command) -> None:
    done = tokparity("run", SUBJECTS / "out-of-bounds-read", "--sanitize", "--json")
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


def test_a_machine_without_the_library_says_what_to_install(
    tokparity: Command, tmp_path: Path
) -> None:
    real = shutil.which("g++")
    (tmp_path / "g++").write_text(
        "#!/bin/sh\n"
        'case $1 in -print-file-name=lib*san.so) echo "${1#*=}";; '
        f'*) exec {real} "$@";; esac\n'
    )
    (tmp_path / "g++").chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = tokparity("run", SUBJECTS / "second-start", "--sanitize", environment={"PATH": path})
    assert done.code == 4, done.out
    assert "missing libasan.so, libubsan.so" in done.err
    assert "apt-get install -y libgcc-" in done.err


def test_a_subject_given_as_a_command_cannot_be_built_so(
    tokparity: Command, tmp_path: Path
) -> None:
    config = tmp_path / "tokparity.yaml"
    config.write_text("subject: {name: s, command: [/bin/true]}\n")
    done = tokparity("run", config, "--sanitize")
    assert done.code == 2
    assert "--sanitize cannot build" in done.err
