"""What a canary's output is worth: only all of it, all right."""

import pytest

from harness.canary import CanaryResult, invalid_lanes, judge
from harness.lane import lane

GOOD = b"tokparity-canary/1\na 01 01\nb 02 02\ndone 2\n"


def test_all_right() -> None:
    assert judge(GOOD) == (2, None)


@pytest.mark.parametrize(
    ("output", "checks", "words"),
    [
        (b"", 0, "first line"),
        (b"tokparity-canary/2\ndone 0\n", 0, "first line"),
        (b"Segmentation fault\n", 0, "first line"),
        (GOOD.replace(b"b 02 02", b"b 02 03"), 1, "b gives 03, and the right answer is 02"),
        (GOOD.replace(b"done 2", b"done 3"), 2, "done 3"),
        (GOOD.replace(b"done 2\n", b""), 2, "stops after 2"),
        (b"tokparity-canary/1\n", 0, "stops after 0"),
        (b"tokparity-canary/1\ndone 0\n", 0, "done 0"),
        (GOOD + b"more\n", 2, "done 2"),
        (GOOD.replace(b"b 02", b"a 02"), 1, "a 02 02"),
        (GOOD.replace(b"b 02 02", b"b 02"), 1, "b 02"),
        (GOOD.replace(b"a 01 01", b"\xff\x1b[2J"), 0, "prints"),
    ],
)
def test_anything_else_is_a_failure(output: bytes, checks: int, words: str) -> None:
    found, failure = judge(output)
    assert found == checks
    assert failure is not None
    assert words in failure
    assert failure.isprintable()


def test_one_failure_invalidates_every_lane_of_its_emulator_and_no_other() -> None:
    native = lane("x86_64-linux-gnu", "default", "native")
    here = lane("x86_64-linux-gnu", "default", "qemu-max")
    arm = [lane("aarch64-linux-gnu", char, "qemu-max") for char in ("default", "signed")]
    lanes = [native, here, *arm]
    axes = {
        one: {"emulator": "none" if one.native else f"qemu-{one.triple.split('-')[0]}"}
        for one in lanes
    }
    results = {
        here: CanaryResult(here, 2, None),
        arm[0]: CanaryResult(arm[0], 2, None),
        arm[1]: CanaryResult(arm[1], 1, "b gives 03"),
    }
    found = invalid_lanes(results, lanes, axes)
    assert set(found) == set(arm)
    assert all("b gives 03" in words and arm[1].name in words for words in found.values())
