"""A small probe that crashes, hangs and looks around on demand, for every kind of runner."""

from pathlib import Path

from harness.build import Probe, build
from harness.lane import Lane
from harness.matrix import control_of
from harness.probe import LaneRun, Limits, run_lane
from harness.requests import write_requests
from harness.runners import Runner, runner_for
from harness.subject import Subject
from harness.toolchain import axes_of, host_arch, load_toolchains

ROOT = Path(__file__).resolve().parents[2]
TOOLCHAINS = load_toolchains([ROOT / "toolchains"])
HOST = host_arch()
TRIPLE = control_of(TOOLCHAINS, HOST).triple
SMOKE_CASES = len((ROOT / "corpora" / "smoke.jsonl").read_text().splitlines())

SOURCE = r"""
#include <tokparity/probe.hpp>
#include <unistd.h>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

static std::uint32_t lines(const char* path) {
  std::ifstream file(path);
  std::uint32_t count = 0;
  for (std::string line; std::getline(file, line);) ++count;
  return count;
}

int main(int argc, char** argv) {
  return tokparity::serve(argc, argv, [](const std::string& tokenizer, const auto&) {
    tokparity::Subject subject;
    subject.name = "misbehaving";
    subject.version = "1";
    subject.encode = [tokenizer](std::string_view text) {
      if (text == "segv") *static_cast<volatile int*>(nullptr) = 1;
      if (text == "abort") std::abort();
      if (text == "raise") std::raise(SIGFPE);
      if (text == "exit3") std::_Exit(3);
      if (text == "exit255") std::_Exit(255);
      while (text == "hang") {}
      if (text == "child" && fork() == 0) pause();
      if (text == "greedy") {
        for (;;) {
          char* more = new char[1 << 24];
          std::memset(more, 1, 1 << 24);
        }
      }
      // Who it is, what it may write, which networks it has: what of the world it sees.
      if (text == "world") {
        return tokparity::Ids{getuid(), access("/", W_OK) == 0, access(".", W_OK) == 0,
                              lines("/proc/net/dev"), access("/etc/passwd", F_OK) == 0};
      }
      if (text == "lines") return tokparity::Ids{lines(tokenizer.c_str())};
      tokparity::Ids ids;
      for (const char byte : text) ids.push_back(static_cast<unsigned char>(byte));
      return ids;
    };
    return subject;
  });
}
"""


def build_misbehaving(lane: Lane, place: Path) -> Probe:
    """Build the probe for a lane, below ``place``."""
    (place / "misbehaving.cpp").write_text(SOURCE)
    subject = Subject(
        name="misbehaving",
        probe=place / "misbehaving.cpp",
        include=(ROOT / "probes" / "include",),
    )
    probe = build(subject, [lane], TOOLCHAINS, cache=place / "cache", host_arch=HOST).probes[lane]
    assert isinstance(probe, Probe), probe
    return probe


def ask(
    probe: Probe,
    scratch: Path,
    *texts: bytes,
    runner: Runner | None = None,
    case_seconds: float = 3,
) -> LaneRun:
    """Ask the probe, in its lane, a tokenizer of three lines about some texts."""
    toolchain = TOOLCHAINS[probe.lane.triple]
    tokenizer = scratch / "tokenizer.json"
    tokenizer.write_text("{\n\n}\n")
    return run_lane(
        runner or runner_for(probe.lane, toolchain, HOST),
        probe,
        tokenizer,
        write_requests(scratch / "it.requests", [("encode", text) for text in texts]),
        axes=axes_of(probe.lane, toolchain, HOST),
        scratch=scratch,
        limits=Limits(case_seconds=case_seconds, load_seconds=60),
    )
