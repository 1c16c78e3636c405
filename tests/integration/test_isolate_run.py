"""``--isolate``: axes that the lanes leave confounded, told apart by lanes built for it."""

from pathlib import Path

import pytest

from harness.doctor import diagnose
from harness.errors import LaneUnavailable
from harness.lane import parse
from harness.matrix import control_of
from harness.runners import runner_for
from harness.toolchain import host_arch, load_toolchains
from harness.toolchain_file import Toolchain
from tests.integration.conftest import REPOSITORY, Command

SUBJECTS = REPOSITORY / "tests" / "subjects"
SLIP = SUBJECTS / "crash-on-arch" / "tokparity.yaml"


def test_confounded_axes_are_named_with_the_lane_that_would_tell_and_isolate_runs_it(
    tokparity: Command,
) -> None:
    before = tokparity("run", SLIP, "--json").report
    [found] = before["findings"]
    assert found["cause"] == "architecture"
    # Every aarch64 lane is emulated here, so the emulator could as well be to blame.
    confounded = set(found["evidence"]["confounded"])
    assert confounded >= {"char", "wchar", "long-double", "cpu", "emulator", "address-layout"}
    would_tell = set(found["evidence"]["separating_lanes"])
    # One emulated lane of this machine's own architecture tells three of them apart.
    assert 0 < len(would_tell) < len(confounded)

    done = tokparity("run", SLIP, "--isolate", "--json")
    assert done.code == 1, done.err
    after = done.report
    ran = {lane["name"] for lane in after["lanes"]}
    assert ran == would_tell | {lane["name"] for lane in before["lanes"]}
    [told] = after["findings"]
    assert told["cause"] == "architecture"
    assert told["axes"] == ["arch"]
    assert told["evidence"].get("confounded", []) == []
    assert "crash" in told["evidence"]["outcomes"].values()


def test_what_agrees_by_chance_is_asked_again(tokparity: Command, tmp_path: Path) -> None:
    """One lane, right the first time it is started and wrong on one case ever after."""
    subject = SUBJECTS / "second-start" / "tokparity.yaml"

    def run(*more: str) -> tuple[int, list[str]]:
        stamp = tmp_path / f"started{len(more)}"
        done = tokparity("run", subject, "--fresh", "--json", f"--probe-arg={stamp}", *more)
        return done.code, [found["cause"] for found in done.report["findings"]]

    assert run() == (0, [])
    assert run("--isolate") == (1, ["nondeterminism"])


def test_a_crash_by_chance_on_one_lane_is_no_platform_cause(
    tokparity: Command, tmp_path: Path
) -> None:
    """Two lanes, one after the other, and the first start of all crashes: no lane is to blame."""
    config = tmp_path / "tokparity.yaml"
    text = (SUBJECTS / "second-start" / "tokparity.yaml").read_text(encoding="utf-8")
    text = text.replace("{triple: [host]}", "{triple: [host], char: [signed, unsigned]}")
    text = text.replace("probe: probe.cpp", f"probe: {SUBJECTS}/second-start/probe.cpp")
    text = text.replace("../bytes.json", f"{SUBJECTS}/bytes.json")
    config.write_text(text, encoding="utf-8")
    words = [f"--probe-arg={tmp_path}/started", "--probe-arg=crash", "--jobs", "1"]
    done = tokparity("run", config, "--fresh", "--json", *words)
    assert done.code == 1, done.err
    [found] = done.report["findings"]
    assert (found["cause"], found["cases"]) == ("nondeterminism", ["public_bugs/new-emoji"])


def test_a_lane_of_the_run_alone_has_the_probe_of_the_other(tokparity: Command) -> None:
    for name in ("locale-towlower", "tagged-address"):
        report = tokparity("run", SUBJECTS / name / "tokparity.yaml", "--json").report
        assert len(report["lanes"]) == 2
        assert len({lane["probe_sha256"] for lane in report["lanes"]}) == 1


def _with_command(words: list[str]) -> Toolchain:
    """The host's toolchain, whose fixed addresses are had by other words."""
    known = load_toolchains([REPOSITORY / "toolchains"])
    toolchain = known[control_of(known, host_arch()).triple]
    document = toolchain.model_dump()
    document["axes"]["address-layout"]["values"]["fixed"]["command"] = words
    return Toolchain.model_validate(document)


@pytest.mark.parametrize("words", [["false"], ["sh", "-c", "echo not permitted >&2; exit 1"]])
def test_a_kernel_that_forbids_it_is_an_obstacle_in_words(words: list[str]) -> None:
    toolchain = _with_command(words)
    lane = parse(f"{toolchain.triple}/default/native/address-layout=fixed")
    with pytest.raises(LaneUnavailable, match="cannot be run here") as caught:
        runner_for(lane, toolchain, host_arch())
    assert "to succeed" in (caught.value.expected or "")
    [health] = diagnose([lane], {toolchain.triple: toolchain}, host_arch())
    assert not health.available
    assert health.obstacle is not None
