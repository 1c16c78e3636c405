"""Probes of the protocol header, natively and under emulation: the same client, the same words."""

import os
import shutil
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from harness.build import Probe, build
from harness.errors import LaneUnavailable
from harness.lane import Lane, parse
from harness.matrix import default_lanes
from harness.needs import which
from harness.outcomes import Status
from harness.probe import LaneRun, Limits, run_lane
from harness.requests import write_requests
from harness.runners import runner_for
from harness.runners.native import Native
from harness.runners.qemu import Qemu
from harness.runners.spawn import environment, signal_name, start
from harness.subject import Subject
from harness.toolchain import axes_of, host_arch, load_toolchains
from harness.tools import tool

ROOT = Path(__file__).resolve().parents[2]
TOOLCHAINS = load_toolchains([ROOT / "toolchains"])
HOST = host_arch()
DEFAULT = default_lanes(TOOLCHAINS, HOST)
OWN, FOREIGN = DEFAULT[0], DEFAULT[3]
EMULATED = parse(f"{OWN.triple}/default/qemu-max")
# wchar_t as the target does not have it, which only clang can be told.
OTHER = {"signed": "unsigned", "unsigned": "signed"}
CLANG = [
    parse(f"{one.name}/compiler=clang/wchar={OTHER[TOOLCHAINS[one.triple].facts.wchar]}")
    for one in (OWN, FOREIGN)
]
OTHERS = [
    EMULATED,
    *CLANG,
    parse(f"{FOREIGN.name}/link=dynamic"),
    parse(f"{OWN.name}/link=dynamic"),
    parse(f"{OWN.name}/fp-contract=fast/optimisation=O3"),
    parse(f"{FOREIGN.triple}/default/qemu-max/optimisation=O0"),
]
SOURCE = r"""
#include <tokparity/probe.hpp>
#include <climits>
#include <csignal>
#include <cwchar>
#include <sstream>

int main(int argc, char** argv) {
  return tokparity::serve(argc, argv, [](const std::string&, const auto&) {
    tokparity::Subject subject;
    subject.name = "small";
    subject.version = "1";
    subject.encode = [](std::string_view text) {
      if (text == "crash") std::raise(SIGSEGV);
      if (text == "null") *static_cast<volatile int*>(nullptr) = 1;
      while (text == "hang") {}
      if (text == "wide") {
        // What the C++ library makes of wchar_t, wide streams included.
        std::wostringstream out;
        out << L"n\u00e9 " << 42 << L' ' << WCHAR_MIN;
        return tokparity::Ids{static_cast<wchar_t>(-1) < 0, std::numeric_limits<wchar_t>::is_signed,
                              static_cast<std::uint32_t>(out.str().size())};
      }
      tokparity::Ids ids;
      for (const char byte : text) {
        ids.push_back(byte < 0 ? 1000 : static_cast<unsigned char>(byte));
      }
      return ids;
    };
    return subject;
  });
}
"""


@pytest.fixture(scope="module")
def probes(tmp_path_factory: pytest.TempPathFactory) -> Mapping[Lane, Probe]:
    place = tmp_path_factory.mktemp("runners")
    (place / "small.cpp").write_text(SOURCE)
    subject = Subject(
        name="small", probe=place / "small.cpp", include=(ROOT / "probes" / "include",)
    )
    built = build(
        subject, [*DEFAULT, *OTHERS], TOOLCHAINS, cache=place / "cache", host_arch=HOST, jobs=2
    )
    found = {}
    for lane, probe in built.probes.items():
        assert isinstance(probe, Probe), probe
        found[lane] = probe
    return found


def run(probe: Probe, tmp_path: Path, *texts: bytes, axes: Lane | None = None) -> LaneRun:
    lane = probe.lane
    toolchain = TOOLCHAINS[lane.triple]
    claimed = axes or lane
    return run_lane(
        runner_for(lane, toolchain, HOST),
        probe,
        Path("/dev/null"),
        write_requests(tmp_path / "it.requests", [("encode", text) for text in texts]),
        axes=axes_of(claimed, TOOLCHAINS[claimed.triple], HOST),
        scratch=tmp_path,
        limits=Limits(case_seconds=5, load_seconds=60),
    )


@pytest.mark.parametrize("lane", [*DEFAULT, *OTHERS], ids=lambda lane: lane.name)
def test_every_lane_is_what_its_name_says(
    probes: Mapping[Lane, Probe], lane: Lane, tmp_path: Path
) -> None:
    done = run(probes[lane], tmp_path, b"a\xffb", b"", b"wide")
    assert done.invalid is None
    axes = axes_of(lane, TOOLCHAINS[lane.triple], HOST)
    signed = axes["char"] == "signed"
    assert done.outcomes.answer(0).tolist() == [97, 1000 if signed else 255, 98]
    assert done.outcomes.answer(1).tolist() == []
    wide = axes["wchar"] == "signed"
    smallest = "-2147483648" if wide else "0"
    assert done.outcomes.answer(2).tolist() == [wide, wide, len("né 42 ") + len(smallest)]
    assert done.remarks == ()
    assert done.stderr_tail == ""


@pytest.mark.parametrize("lane", [OWN, FOREIGN, EMULATED], ids=lambda lane: lane.name)
def test_a_crash_and_a_hang_read_alike_on_every_runner(
    probes: Mapping[Lane, Probe], lane: Lane, tmp_path: Path
) -> None:
    done = run(probes[lane], tmp_path, b"a", b"crash", b"b", b"null", b"hang", b"c")
    assert done.invalid is None
    assert [Status(status).name for status in done.outcomes.status] == [
        "OK",
        "CRASH",
        "OK",
        "CRASH",
        "TIMEOUT",
        "OK",
    ]
    assert done.outcomes.notes == {
        1: "SIGSEGV (signal 11), also alone",
        3: "SIGSEGV (signal 11), also alone",
        4: "no answer within 5 s, also alone",
    }
    assert done.outcomes.ids.tolist() == [97, 98, 99]
    assert not list(tmp_path.rglob("*.core"))


def test_a_probe_of_another_lane_is_found_out(probes: Mapping[Lane, Probe], tmp_path: Path) -> None:
    done = run(probes[OWN], tmp_path, b"a", axes=FOREIGN)
    assert done.invalid is not None
    assert "arch" in done.invalid
    assert TOOLCHAINS[OWN.triple].arch in done.invalid
    assert TOOLCHAINS[FOREIGN.triple].arch in done.invalid


def test_a_flag_that_the_subject_sneaks_in_is_found_out(tmp_path: Path) -> None:
    (tmp_path / "small.cpp").write_text(SOURCE)
    subject = Subject(
        name="small",
        probe=tmp_path / "small.cpp",
        include=(ROOT / "probes" / "include",),
        flags=("-funsigned-char",),
    )
    built = build(subject, [OWN], TOOLCHAINS, cache=tmp_path / "cache", host_arch=HOST)
    probe = built.probes[OWN]
    assert isinstance(probe, Probe)
    done = run(probe, tmp_path, b"a")
    # `default` tells the compiler nothing, so the subject's own flag decides; where that is not the
    # target's own choice, the lane is not what its name says.
    own = TOOLCHAINS[OWN.triple].facts.char
    assert (done.invalid is None) == (own == "unsigned")


def test_an_emulator_that_does_not_know_the_cpu(
    probes: Mapping[Lane, Probe], tmp_path: Path
) -> None:
    emulator = which(TOOLCHAINS[FOREIGN.triple].emulator.program)  # type: ignore[union-attr]
    assert emulator is not None
    done = run_lane(
        Qemu(emulator, "no-such-cpu"),
        probes[FOREIGN],
        Path("/dev/null"),
        write_requests(tmp_path / "it", [("encode", b"a")]),
        axes={},
        scratch=tmp_path,
    )
    assert done.invalid is not None
    assert "no-such-cpu" in done.invalid


def test_a_dynamic_probe_without_its_libraries_is_invalid_and_says_why(
    probes: Mapping[Lane, Probe], tmp_path: Path
) -> None:
    lane = parse(f"{FOREIGN.name}/link=dynamic")
    runner = runner_for(lane, TOOLCHAINS[lane.triple], HOST)
    assert isinstance(runner, Qemu)
    assert runner.sysroot is not None
    done = run_lane(
        Qemu(runner.program, runner.cpu),
        probes[lane],
        Path("/dev/null"),
        write_requests(tmp_path / "it", [("encode", b"a")]),
        axes={},
        scratch=tmp_path,
    )
    assert done.invalid is not None
    assert "ld-linux" in done.invalid


def test_runners_are_chosen_by_the_lane() -> None:
    assert runner_for(OWN, TOOLCHAINS[OWN.triple], HOST) == Native()
    runner = runner_for(FOREIGN, TOOLCHAINS[FOREIGN.triple], HOST)
    assert runner.emulated
    argv = runner.argv(["probe", "t.json"])
    assert Path(argv[0]).name == TOOLCHAINS[FOREIGN.triple].emulator.program  # type: ignore[union-attr]
    assert argv[1:] == ["-cpu", FOREIGN.cpu, "probe", "t.json"]
    dynamic = runner_for(parse(f"{FOREIGN.name}/link=dynamic"), TOOLCHAINS[FOREIGN.triple], HOST)
    assert "-L" in dynamic.argv([])
    at_home = runner_for(parse(f"{EMULATED.name}/link=dynamic"), TOOLCHAINS[OWN.triple], HOST)
    assert "-L" not in at_home.argv([])


def test_a_missing_emulator_is_named_with_its_install_line() -> None:
    with pytest.raises(LaneUnavailable) as caught:
        runner_for(FOREIGN, TOOLCHAINS[FOREIGN.triple], HOST, find=lambda _: None)
    assert caught.value.remedy == "apt-get install -y qemu-user"


def test_an_identity_is_of_the_emulators_very_bytes(tmp_path: Path) -> None:
    real = which(TOOLCHAINS[FOREIGN.triple].emulator.program)  # type: ignore[union-attr]
    assert real is not None
    copy = tmp_path / real.name
    shutil.copy(real, copy)
    first = Qemu(copy, "max").identity
    assert tool(copy).version in first
    assert tool(copy).sha256 in first
    assert "max" in first
    with copy.open("ab") as file:
        file.write(b"patched")
    assert Qemu(copy, "max").identity != first
    assert Qemu(copy, "cortex-a53").identity != Qemu(copy, "max").identity
    assert "native" in Native().identity


def test_a_tool_that_cannot_be_run_is_unknown_and_no_error(tmp_path: Path) -> None:
    assert tool(tmp_path / "none").version == "unknown"
    (tmp_path / "text").write_text("no program")
    assert tool(tmp_path / "text").version == "unknown"


def test_the_environment_is_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "/x.so")
    monkeypatch.setenv("QEMU_CPU", "max")
    assert set(environment()) == {"LC_ALL", "TZ", "PATH"}


def test_ending_a_probe_ends_what_it_started(tmp_path: Path) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    script = f"sleep 60 & echo $! > {tmp_path}/child; wait"
    running = start(["/bin/sh", "-c", script], stdin=nothing, cwd=tmp_path)
    os.close(nothing)
    child = tmp_path / "child"
    while not (child.is_file() and child.read_text().strip()):
        assert running.wait(0.05) is None
    running.kill()
    running.kill()
    state = Path(f"/proc/{child.read_text().strip()}/stat")
    while state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z":
        os.sched_yield()
    assert running.wait(0) == -9


def test_a_program_still_open_for_writing_is_waited_for(tmp_path: Path) -> None:
    # What happens when another thread forks while a probe is being copied to its place.
    path = tmp_path / "it"
    shutil.copy(str(which("true")), path)
    writer = path.open("ab")
    threading.Timer(0.2, writer.close).start()
    nothing = os.open(os.devnull, os.O_RDONLY)
    running = start([str(path)], stdin=nothing, cwd=tmp_path)
    os.close(nothing)
    assert running.wait(10) == 0
    running.kill()


def test_signals_have_names() -> None:
    assert signal_name(-11) == "SIGSEGV (signal 11)"
    assert signal_name(-99) == "signal 99"
    assert signal_name(3) == "exit status 3"
