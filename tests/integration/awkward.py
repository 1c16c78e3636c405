"""What the bad-input tests share: a subject that is quick to build, and disks that are no good."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.golden import read
from harness.matrix import control_of
from harness.toolchain import host_arch, load_toolchains
from tests.integration.conftest import REPOSITORY

HOST = host_arch()
TRIPLE = control_of(load_toolchains([REPOSITORY / "toolchains"]), HOST).triple
CONTROL, SIGNED, UNSIGNED = (
    f"{TRIPLE}/{char}/native" for char in ("default", "signed", "unsigned")
)
PROBE = REPOSITORY / "tests" / "integration" / "awkward_probe.py"

_TABLE = r"""
#include <tokparity/probe.hpp>
#include <chrono>
#include <cstdio>
#include <thread>
#include <map>

static const std::map<std::string, tokparity::Ids> table = {
@ROWS@
};

static bool there(const char* path) {
  std::FILE* file = std::fopen(path, "r");
  if (file) std::fclose(file);
  return file != nullptr;
}

int main(int argc, char** argv) {
  return tokparity::serve(argc, argv, [](const std::string&, const auto&) {
    tokparity::Subject subject;
    subject.name = "table";
    subject.version = "1";
    subject.encode = [](std::string_view text) {
#ifdef __CHAR_UNSIGNED__
      if (there("@HOLD@")) {
        if (std::FILE* told = std::fopen("@TOLD@", "w")) std::fclose(told);
        while (there("@HOLD@")) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
#endif
      return table.at(std::string(text));
    };
    return subject;
  });
}
"""


def table(directory: Path) -> Path:
    """Write a C++ subject that knows the smoke corpus by heart: one file, quick to build.

    While ``directory/hold`` exists its unsigned lane answers nothing, and says so in
    ``directory/told``.
    """
    directory.mkdir(parents=True, exist_ok=True)
    golden = read(REPOSITORY / "goldens" / "bundled" / "encodings.json")
    rows = []
    for name, entry in golden.entries.items():
        if name.startswith("smoke/"):
            spelt = "".join(f"\\{byte:03o}" for byte in entry.text.encode())
            ids = ", ".join(f"{one}u" for one in entry.ids)
            rows.append(f'  {{std::string("{spelt}", {len(entry.text.encode())}), {{{ids}}}}},')
    source = _TABLE.replace("@ROWS@", "\n".join(rows))
    source = source.replace("@HOLD@", str(directory / "hold"))
    source = source.replace("@TOLD@", str(directory / "told"))
    (directory / "probe.cpp").write_text(source, encoding="utf-8")
    config = directory / "tokparity.yaml"
    config.write_text(
        "subject: {name: table, probe: probe.cpp}\n"
        "operations: [encode]\n"
        "corpora: [smoke]\n"
        f"lanes: [{CONTROL}, {SIGNED}, {UNSIGNED}]\n"
        "limits: {case_seconds: 60}\n"
    )
    return config


def holding(place: str | Path) -> list[str]:
    """Return every living process whose command or directory speaks of ``place``."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                command = (
                    (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                )
                where = str((entry / "cwd").readlink())
            except OSError:
                continue
            if str(place) in command or str(place) in where:
                found.append(f"{entry.name}: {command} in {where}")
    return found


def unfinished(cache: Path) -> list[str]:
    """Return the half files and scratch directories below a cache."""
    return [
        str(path)
        for path in cache.rglob("*")
        if path.name.endswith(".part")
        or path.name.startswith((".partial-", ".writable-", ".fetch-"))
        or (path.is_dir() and path.parent == cache and path.name.startswith(("run-", "canary-")))
    ]


def _mounted(directory: Path, options: str) -> bool:
    command = ["/usr/bin/mount", "-t", "tmpfs", "-o", options, "tmpfs", str(directory)]
    return (
        os.geteuid() == 0
        and subprocess.run(command, capture_output=True, check=False).returncode == 0
    )


@contextmanager
def small_disk(directory: Path, kilobytes: int) -> Iterator[list[str]]:
    """Make ``directory`` a disk of so many kilobytes; yields the words that start a command on it.

    Who may not mount gets a limit on the size of every file instead.
    """
    directory.mkdir(parents=True, exist_ok=True)
    if _mounted(directory, f"size={kilobytes}k"):
        try:
            yield []
        finally:
            subprocess.run(["/usr/bin/umount", "-l", str(directory)], check=True)
    else:
        yield ["/usr/bin/prlimit", f"--fsize={kilobytes * 1024 // 8}"]


@contextmanager
def read_only(directory: Path) -> Iterator[None]:
    """Make ``directory`` one in which nothing can be written, root or not."""
    directory.mkdir(parents=True, exist_ok=True)
    if _mounted(directory, "ro"):
        try:
            yield
        finally:
            subprocess.run(["/usr/bin/umount", "-l", str(directory)], check=True)
    else:
        directory.chmod(0o555)
        yield
        directory.chmod(0o755)
