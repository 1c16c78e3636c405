"""The workflow's steps, run here in its order; a laptop can do the same."""

import json
import re
from typing import Any

import pytest
import yaml

from tests.integration.clone import Clone
from tests.integration.conftest import REPOSITORY

WORKFLOW = REPOSITORY / ".github" / "workflows" / "parity.yml"


def job() -> dict[str, Any]:
    (only,) = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"].values()
    found: dict[str, Any] = only
    return found


def steps() -> list[dict[str, Any]]:
    return [step for step in job()["steps"] if "run" in step]


def run_steps(clone: Clone, changed: dict[str, str] | None = None) -> dict[str, int]:
    """Run the steps as the service does: after a failure only those that say ``always()``."""
    codes: dict[str, int] = {}
    for step in steps():
        if any(codes.values()) and step.get("if") != "always()":
            continue
        line = step["run"] + (changed or {}).get(step["run"], "")
        done = clone.run(line, {"GITHUB_STEP_SUMMARY": str(clone.path / "summary.md")})
        codes[step["run"]] = done.returncode
    return codes


def test_it_calls_scripts_in_ci_and_nothing_else() -> None:
    assert [step["run"] for step in steps()] == ["ci/setup", "ci/lanes", "ci/summary"]
    there = {f"ci/{path.name}" for path in (REPOSITORY / "ci").iterdir()}
    assert there == {step["run"] for step in steps()}
    # An action is the service's own, at a version: to check out, and to keep the report.
    actions = [step["uses"] for step in job()["steps"] if "uses" in step]
    assert all(re.fullmatch(r"actions/[\w-]+@v\d+", action) for action in actions)


def test_both_machines_and_neither_hides_the_other() -> None:
    strategy = job()["strategy"]
    assert strategy["matrix"] == {"machine": ["ubuntu-24.04", "ubuntu-24.04-arm"]}
    assert strategy["fail-fast"] is False
    assert job()["runs-on"] == "${{ matrix.machine }}"


def test_no_failure_is_passed_over() -> None:
    text = WORKFLOW.read_text(encoding="utf-8")
    assert "continue-on-error" not in text
    assert "|| true" not in text
    for step in job()["steps"]:
        assert step.get("if", "always()") == "always()"
    for path in (REPOSITORY / "ci").iterdir():
        script = path.read_text(encoding="utf-8")
        assert "set -euo pipefail" in script
        assert "|| true" not in script


def test_the_report_is_kept_even_after_a_failure() -> None:
    (kept,) = [step for step in job()["steps"] if "upload-artifact" in step.get("uses", "")]
    assert kept["with"]["path"] == "out/ci/report.json"
    assert kept["with"]["if-no-files-found"] == "error"
    assert kept["if"] == "always()"


def test_the_steps_in_order(clone: Clone) -> None:
    assert run_steps(clone) == {"ci/setup": 0, "ci/lanes": 0, "ci/summary": 0}
    report = json.loads((clone.path / "out" / "ci" / "report.json").read_text())
    assert (report["verdict"], len(report["lanes"])) == ("pass", 6)
    summary = (clone.path / "summary.md").read_text()
    rows = [line for line in summary.splitlines() if line.startswith("|")]
    for lane in report["lanes"]:
        assert any(lane["name"] in row for row in rows), summary
    assert any(re.fullmatch(r"\|[-:| ]+\|", row) for row in rows)


def test_a_divergence_fails_and_is_still_shown(clone: Clone) -> None:
    codes = run_steps(clone, {"ci/lanes": " --probe-arg=--without-nfc --corpus public_bugs"})
    assert codes == {"ci/setup": 0, "ci/lanes": 1, "ci/summary": 0}
    assert "normalizer-left-out" in (clone.path / "summary.md").read_text()
    report = json.loads((clone.path / "out" / "ci" / "report.json").read_text())
    assert report["verdict"] == "fail"


def test_a_run_that_could_not_report_shows_no_older_table(clone: Clone) -> None:
    stale = clone.path / "out" / "ci"
    stale.mkdir(parents=True)
    (stale / "report.md").write_text("| parity |")
    codes = run_steps(clone, {"ci/lanes": " --lanes 'no-such*'"})
    assert codes == {"ci/setup": 0, "ci/lanes": 2, "ci/summary": 1}
    assert not (clone.path / "summary.md").exists()


def test_without_the_service_the_table_is_on_stdout(clone: Clone) -> None:
    place = clone.path / "out" / "ci"
    place.mkdir(parents=True)
    (place / "report.md").write_text("| table |\n")
    done = clone.run("ci/summary")
    assert (done.returncode, done.stdout) == (0, "| table |\n")


@pytest.mark.parametrize("script", ["ci/setup", "ci/lanes", "ci/summary"])
def test_each_script_runs_from_anywhere(clone: Clone, script: str) -> None:
    text = (clone.path / script).read_text()
    assert 'cd "$(dirname "$0")/.."' in text
    assert (clone.path / script).stat().st_mode & 0o111
