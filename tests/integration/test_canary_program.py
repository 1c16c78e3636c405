"""The canary program is right on the host and under every emulator the default lanes use.

Its output is documented at the top of ``probes/canary/canary.cpp``.
"""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CANARY = ROOT / "probes" / "canary" / "canary.cpp"
COMPILERS = {"x86_64": "g++", "aarch64": "aarch64-linux-gnu-g++"}
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
RUNNERS = {
    "native": ("x86_64", []),
    "qemu-qemu64": ("x86_64", ["qemu-x86_64", "-cpu", "qemu64"]),
    "qemu-Nehalem": ("x86_64", ["qemu-x86_64", "-cpu", "Nehalem"]),
    "qemu-cortex-a53": ("aarch64", ["qemu-aarch64", "-cpu", "cortex-a53"]),
    "qemu-max": ("aarch64", ["qemu-aarch64", "-cpu", "max"]),
}
FLAGS = {
    "pinned": ["-O2", "-ffp-contract=off"],
    "contracted": ["-O3", "-ffp-contract=fast", "-funsigned-char"],
    "unoptimised": ["-O0", "-fsigned-char"],
}
KINDS = {"integer", "float", "vector", "string", "known", "atomic", "memory"}


def built(directory: Path, arch: str, *flags: str) -> Path:
    out = directory / f"canary-{arch}"
    command = [COMPILERS[arch], "-std=c++17", *STRICT, *flags, "-static", "-pthread", str(CANARY)]
    done = subprocess.run([*command, "-o", str(out)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out


def checked(argv: list[str]) -> tuple[list[str], list[str]]:
    """Run a canary and return its names and the wrong ones, its frame verified."""
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    first, *lines, last = done.stdout.splitlines()
    assert first == "tokparity-canary/1"
    assert last == f"done {len(lines)}"
    names: list[str] = []
    wrong: list[str] = []
    for line in lines:
        name, expected, observed = line.split(" ")
        assert len(expected) == len(observed) == 16
        names.append(name)
        if int(expected, 16) != int(observed, 16):
            wrong.append(name)
    assert len(set(names)) == len(names)
    return names, wrong


@pytest.fixture(scope="module", params=FLAGS)
def binaries(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    directory = tmp_path_factory.mktemp("canary")
    return {arch: built(directory, arch, *FLAGS[request.param]) for arch in COMPILERS}


@pytest.mark.parametrize("runner", RUNNERS)
def test_every_canary_is_right(binaries: dict[str, Path], runner: str) -> None:
    arch, command = RUNNERS[runner]
    names, wrong = checked([*command, str(binaries[arch])])
    assert wrong == []
    assert {name.partition(".")[0] for name in names} >= KINDS
    assert ("known.wasmtime-8233" in names) == (arch == "aarch64")


@pytest.mark.parametrize("arch", COMPILERS)
def test_a_planted_wrong_canary_is_seen(arch: str, tmp_path: Path) -> None:
    runner = "native" if arch == "x86_64" else "qemu-cortex-a53"
    out = built(tmp_path, arch, "-O2", "-DTOKPARITY_PLANT_WRONG_CANARY")
    _, wrong = checked([*RUNNERS[runner][1], str(out)])
    assert wrong == ["planted.wrong"]


@pytest.mark.parametrize("arch", COMPILERS)
def test_a_processor_that_flushes_subnormals_is_seen(arch: str, tmp_path: Path) -> None:
    """A planted processor, not a planted line: linking with -ffast-math switches flushing on."""
    unit = tmp_path / "canary.o"
    out = tmp_path / "canary"
    compiler = [COMPILERS[arch], "-std=c++17", "-O2", "-pthread"]
    subprocess.run([*compiler, "-c", str(CANARY), "-o", str(unit)], check=True)
    subprocess.run([*compiler, "-static", "-ffast-math", str(unit), "-o", str(out)], check=True)
    runner = "native" if arch == "x86_64" else "qemu-cortex-a53"
    _, wrong = checked([*RUNNERS[runner][1], str(out)])
    assert wrong == ["float.subnormal", "float.subnormal-single", "float.to-single"]
