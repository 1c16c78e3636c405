"""``--isolate``: axes that the lanes leave confounded, told apart by lanes built for it."""

from tests.integration.conftest import REPOSITORY, Command

SLIP = REPOSITORY / "tests" / "subjects" / "arch-ifdef" / "tokparity.yaml"


def test_confounded_axes_are_named_with_the_lane_that_would_tell_and_isolate_runs_it(
    tokparity: Command,
) -> None:
    before = tokparity("run", SLIP, "--json").report
    [found] = before["findings"]
    assert found["cause"] == "architecture"
    # Every aarch64 lane is emulated here, so the emulator could as well be to blame.
    assert "emulator" in found["evidence"]["confounded"]
    would_tell = set(found["evidence"]["separating_lanes"])
    assert would_tell

    done = tokparity("run", SLIP, "--isolate", "--json")
    assert done.code == 1, done.err
    after = done.report
    ran = {lane["name"] for lane in after["lanes"]}
    assert would_tell <= ran
    [told] = after["findings"]
    assert told["cause"] == "architecture"
    assert told["axes"] == ["arch"]
    assert "emulator" not in told["evidence"].get("confounded", [])
