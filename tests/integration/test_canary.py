"""The canary built and run in emulated lanes; and every way it can fail to say that all is well."""

import threading
from pathlib import Path

import pytest

from harness.canary import CanaryResult, check_canaries, invalid_lanes
from harness.lane import Lane, parse
from harness.matrix import default_lanes
from harness.runners.spawn import Cancelled
from harness.toolchain import axes_of, host_arch, load_toolchains

ROOT = Path(__file__).resolve().parents[2]
TOOLCHAINS = load_toolchains([ROOT / "toolchains"])
HOST = host_arch()
DEFAULT = default_lanes(TOOLCHAINS, HOST)
FOREIGN = DEFAULT[3]


def checked(source: Path, cache: Path, *lanes: Lane, **options: object) -> dict[Lane, CanaryResult]:
    return dict(
        check_canaries(
            lanes or [FOREIGN],
            TOOLCHAINS,
            source=source,
            cache=cache,
            host_arch=HOST,
            **options,  # type: ignore[arg-type]
        )
    )


def written(tmp_path: Path, body: str) -> Path:
    path = tmp_path / "canary.cpp"
    path.write_text(
        "#include <cstdio>\n#include <cstdlib>\n#include <unistd.h>\n"
        f"int main() {{ std::setvbuf(stdout, nullptr, _IOLBF, 1 << 12); {body} }}\n"
    )
    return path


def test_the_real_canary_is_right_in_every_emulated_lane(tmp_path: Path) -> None:
    source = ROOT / "probes" / "canary" / "canary.cpp"
    found = checked(source, tmp_path / "cache", *DEFAULT)
    assert list(found) == [lane for lane in DEFAULT if not lane.native]
    assert all(result.failure is None and result.checks > 20 for result in found.values())
    axes = {lane: axes_of(lane, TOOLCHAINS[lane.triple], HOST) for lane in DEFAULT}
    assert invalid_lanes(found, DEFAULT, axes) == {}


def test_a_planted_wrong_canary_fails_its_emulators_lanes_alone(tmp_path: Path) -> None:
    source = ROOT / "probes" / "canary" / "canary.cpp"
    found = checked(
        source, tmp_path / "cache", *DEFAULT, defines={"TOKPARITY_PLANT_WRONG_CANARY": None}
    )
    axes = {lane: axes_of(lane, TOOLCHAINS[lane.triple], HOST) for lane in DEFAULT}
    invalid = invalid_lanes(found, DEFAULT, axes)
    assert set(invalid) == {lane for lane in DEFAULT if not lane.native}
    assert all("planted.wrong" in words for words in invalid.values())


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('std::puts("tokparity-canary/1\\na 01 01\\ndone 1");', None),
        ('std::puts("tokparity-canary/1\\na 01 02\\ndone 1");', "a gives 02"),
        ('std::puts("tokparity-canary/1\\na 01 01");', "stops after 1"),
        ('std::puts("tokparity-canary/1\\na 01 01"); std::abort();', "SIGABRT (signal 6)"),
        ('std::puts("tokparity-canary/1\\na 01 01\\ndone 1"); std::abort();', "SIGABRT"),
        ('std::puts("tokparity-canary/1\\na 01 01\\ndone 1"); return 3;', "exit status 3"),
        ("*static_cast<volatile int*>(nullptr) = 1;", "SIGSEGV (signal 11)"),
        ("", "first line"),
        ('std::puts("tokparity-canary/1"); sleep(60);', "prints nothing for 1 s"),
        ('for (;;) std::puts("tokparity-canary/1");', "more than"),
    ],
)
def test_what_a_canary_can_do(tmp_path: Path, body: str, words: str | None) -> None:
    (result,) = checked(written(tmp_path, body), tmp_path / "cache", seconds=1).values()
    if words is None:
        assert result == CanaryResult(FOREIGN, 1, None)
    else:
        assert result.failure is not None
        assert words in result.failure


def test_a_canary_that_does_not_build(tmp_path: Path) -> None:
    (result,) = checked(written(tmp_path, "nonsense"), tmp_path / "cache").values()
    assert result.failure is not None
    assert "does not build" in result.failure
    assert "nonsense" in result.failure


def test_native_lanes_have_no_canary(tmp_path: Path) -> None:
    native = [lane for lane in DEFAULT if lane.native]
    assert checked(tmp_path / "none.cpp", tmp_path / "cache", *native) == {}


def test_a_cpu_the_emulator_refuses_is_a_failure_of_its_lane(tmp_path: Path) -> None:
    # Known to the toolchain, but not to every release of the emulator.
    text = (ROOT / "toolchains" / f"{FOREIGN.triple}.yaml").read_text()
    (tmp_path / f"{FOREIGN.triple}.yaml").write_text(text.replace("cpus: [", "cpus: [future, "))
    toolchains = load_toolchains([tmp_path])
    lane = parse(f"{FOREIGN.triple}/default/qemu-future")
    source = written(tmp_path, 'std::puts("tokparity-canary/1\\na 01 01\\ndone 1");')
    found = check_canaries(
        [lane], toolchains, source=source, cache=tmp_path / "cache", host_arch=HOST
    )
    assert "exit status" in (found[lane].failure or "")


def test_cancelling(tmp_path: Path) -> None:
    cancel = threading.Event()
    threading.Timer(4, cancel.set).start()
    with pytest.raises(Cancelled):
        checked(written(tmp_path, "sleep(60);"), tmp_path / "cache", cancel=cancel)
