"""Building for real: incremental, reproducible, escaped; failures in the compiler's words."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from harness.build import Built, Probe, build
from harness.errors import BuildFailed, LaneUnavailable, StorageError, UsageError
from harness.lane import Lane, parse
from harness.matrix import control_of, default_lanes
from harness.needs import which
from harness.runners.spawn import Cancelled
from harness.subject import Subject
from harness.toolchain import host_arch, load_toolchains

ROOT = Path(__file__).resolve().parents[2]
TOOLCHAINS = load_toolchains([ROOT / "toolchains"])
HOST = host_arch()
CONTROL = control_of(TOOLCHAINS, HOST)
MAIN = """#include <cstdio>
#include "it.hpp"
int one();
int main() { std::printf("%d", IT + one()); }
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    place = tmp_path / "tree"
    (place / "src").mkdir(parents=True)
    (place / "include").mkdir()
    (place / "src" / "main.cpp").write_text(MAIN)
    (place / "src" / "one.cpp").write_text("int one() { return 1; }\n")
    (place / "include" / "it.hpp").write_text("#pragma once\n#define IT 40\n")
    return place


def subject(tree: Path, **changes: object) -> Subject:
    settings: dict[str, object] = {
        "name": "it",
        "probe": tree / "src" / "main.cpp",
        "sources": (tree / "src" / "one.cpp",),
        "include": (tree / "include",),
        **changes,
    }
    return Subject(**settings)  # type: ignore[arg-type]


def made(one: Subject, cache: Path, *lanes: Lane, **options: object) -> Built:
    return build(one, lanes or [CONTROL], TOOLCHAINS, cache=cache, host_arch=HOST, **options)  # type: ignore[arg-type]


def probe(built: Built, lane: Lane = CONTROL) -> Probe:
    found = built.probes[lane]
    assert isinstance(found, Probe), found
    return found


def output(found: Probe) -> str:
    return subprocess.run(found.command, capture_output=True, text=True, check=False).stdout


def failure(built: Built, lane: Lane = CONTROL) -> LaneUnavailable:
    found = built.probes[lane]
    assert isinstance(found, LaneUnavailable), found
    return found


def test_default_lanes_build_and_nothing_is_rebuilt_without_a_change(
    tree: Path, tmp_path: Path
) -> None:
    lanes = default_lanes(TOOLCHAINS, HOST)
    first = made(subject(tree), tmp_path / "cache", *lanes)
    assert list(first.probes) == list(lanes)
    assert first.rebuilt == 3 * len(lanes)
    assert output(probe(first)) == "41"
    again = made(subject(tree), tmp_path / "cache", *lanes)
    assert again.rebuilt == 0
    assert [probe(again, lane).sha256 for lane in lanes] == [
        probe(first, lane).sha256 for lane in lanes
    ]
    # A run over fewer lanes forgets nothing of the others.
    assert made(subject(tree), tmp_path / "cache").rebuilt == 0
    assert made(subject(tree), tmp_path / "cache", *lanes).rebuilt == 0
    found = probe(first).provenance
    assert found is not None
    assert "12" in found.compiler or "g++" in found.compiler
    assert "ld" in found.linker
    assert "-O2" in found.compile_flags
    assert "-static" in found.link_flags
    assert len(found.sources_sha256) == 64


def test_editing_one_source_rebuilds_its_object_and_links(tree: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = made(subject(tree), cache)
    (tree / "src" / "one.cpp").write_text("int one() { return 2; }\n")
    second = made(subject(tree), cache)
    assert second.rebuilt == 2
    assert output(probe(second)) == "42"
    # The first probe is still what it was, under the name of its own bytes.
    assert output(probe(first)) == "41"
    assert probe(first).sha256 != probe(second).sha256
    old, new = probe(first).provenance, probe(second).provenance
    assert old is not None
    assert new is not None
    assert old.sources_sha256 != new.sources_sha256


def test_editing_a_header_rebuilds_what_includes_it(tree: Path, tmp_path: Path) -> None:
    first = made(subject(tree), tmp_path / "cache")
    (tree / "include" / "it.hpp").write_text("#define IT 50\n")
    second = made(subject(tree), tmp_path / "cache")
    assert second.rebuilt == 2
    assert output(probe(second)) == "51"
    old, new = probe(first).provenance, probe(second).provenance
    assert old is not None
    assert new is not None
    assert old.sources_sha256 != new.sources_sha256


@pytest.mark.parametrize("changed", ["src/one.cpp", "include/it.hpp"])
def test_an_input_replaced_by_an_older_file_is_noticed(
    tree: Path, tmp_path: Path, changed: str
) -> None:
    made(subject(tree), tmp_path / "cache")
    path = tree / changed
    text = path.read_text()
    path.write_text(text.replace("IT 40", "IT 70").replace("return 1", "return 31"))
    os.utime(path, (1_000_000_000, 1_000_000_000))
    again = made(subject(tree), tmp_path / "cache")
    assert again.rebuilt == 2
    assert output(probe(again)) == "71"


def test_a_flag_a_define_and_a_standard_each_rebuild(tree: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    made(subject(tree), cache)
    for changes in ({"flags": ("-g",)}, {"defines": {"X": 1}}, {"std": "c++17"}):
        assert made(subject(tree, **changes), cache).rebuilt == 3
    # Each has a directory of its own, so going back costs nothing.
    assert made(subject(tree), cache).rebuilt == 0


def test_another_compiler_under_the_same_name_rebuilds(tree: Path, tmp_path: Path) -> None:
    real = which("g++")
    assert real is not None
    wrapper = tmp_path / "bin" / "g++"
    wrapper.parent.mkdir()

    def install(comment: str) -> None:
        wrapper.write_text(f'#!/bin/sh\n# {comment}\nexec {real} "$@"\n')
        wrapper.chmod(0o755)

    def find(program: str) -> Path | None:
        return wrapper if program == "g++" else which(program)

    install("one")
    assert made(subject(tree), tmp_path / "cache", find=find).rebuilt == 3
    assert made(subject(tree), tmp_path / "cache", find=find).rebuilt == 0
    install("another")
    assert made(subject(tree), tmp_path / "cache", find=find).rebuilt == 3


def test_the_same_sources_give_the_same_bytes_anywhere(tree: Path, tmp_path: Path) -> None:
    text = MAIN.replace("int main() {", 'int main() { std::puts(__FILE__ __DATE__ __TIME__ " ");')
    (tree / "src" / "main.cpp").write_text("namespace { struct S { S(); } s; S::S() {} }\n" + text)
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(tree, elsewhere)
    shas = set()
    for index, place in enumerate([tree, tree, elsewhere]):
        built = made(subject(place, flags=("-g",)), tmp_path / f"cache {index}")
        shas.add(probe(built).sha256)
        assert str(tmp_path) not in probe(built).path.read_bytes().decode("latin-1")
    assert len(shas) == 1


def test_subjects_that_compile_a_source_alike_share_its_object(tree: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    (tree / "src" / "other.cpp").write_text(MAIN)
    assert made(subject(tree), cache).rebuilt == 3
    other = subject(tree, name="other", probe=tree / "src" / "other.cpp")
    assert made(other, cache).rebuilt == 2  # its own main, and the link
    assert made(subject(tree), cache).rebuilt == 0


def test_a_shared_object_is_made_again_for_whoever_asks_first(tree: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    (tree / "src" / "other.cpp").write_text(MAIN)
    other = subject(tree, name="other", probe=tree / "src" / "other.cpp")
    made(subject(tree), cache)
    made(other, cache)
    header = tree / "include" / "it.hpp"
    header.write_text("#pragma once\n#define IT 7\n")
    os.utime(header, (1, 1))  # older than every object: ninja alone would not notice
    assert output(probe(made(other, cache))) == "8"
    assert output(probe(made(subject(tree), cache))) == "8"


def test_two_sources_of_one_name_both_count(tree: Path, tmp_path: Path) -> None:
    (tree / "src" / "a").mkdir()
    (tree / "src" / "a" / "one.cpp").write_text("int two() { return 60; }\n")
    (tree / "src" / "main.cpp").write_text(
        MAIN.replace("int one();", "int one(), two();").replace("IT", "two()")
    )
    sources = (tree / "src" / "one.cpp", tree / "src" / "a" / "one.cpp")
    assert output(probe(made(subject(tree, sources=sources), tmp_path / "cache"))) == "61"


def test_awkward_paths_and_defines(tree: Path, tmp_path: Path) -> None:
    place = tmp_path / "a b$c'd\"e(f)&g é"
    shutil.copytree(tree, place)
    main = place / "src" / "m$ain (1).cpp"
    (place / "src" / "main.cpp").rename(main)
    main.write_text(
        '#include <cstdio>\n#include "it.hpp"\nint main() { std::printf("%s", TEXT); }\n'
    )
    text = "$HOME `id` 'q' \\n ; & |"
    quoted = '"' + text.replace("\\", "\\\\") + '"'
    one = subject(place, probe=main, sources=(), defines={"TEXT": quoted})
    built = made(one, tmp_path / "cache $x 'y'")
    assert output(probe(built)) == text
    assert made(one, tmp_path / "cache $x 'y'").rebuilt == 0


@pytest.mark.parametrize("bad", ["a|b", "a\nb"])
def test_a_path_that_ninja_cannot_name_is_refused(tmp_path: Path, bad: str) -> None:
    with pytest.raises(UsageError, match="cannot name"):
        made(Subject(name="it", probe=tmp_path / bad / "m.cpp"), tmp_path / "cache")


def test_link_inputs_and_lane_words(tree: Path, tmp_path: Path) -> None:
    libs = tree / "libs" / CONTROL.triple
    libs.mkdir(parents=True)

    def archive(value: int) -> None:
        (tree / "two.cpp").write_text(f"int one() {{ return {value}; }}\n")
        compiler, archiver = str(which("g++")), str(which("ar"))
        subprocess.run([compiler, "-c", tree / "two.cpp", "-o", tree / "two.o"], check=True)
        subprocess.run([archiver, "rcs", libs / "libtwo.a", tree / "two.o"], check=True)

    archive(2)
    one = subject(tree, sources=(), link=(f"{tree}/libs/{{triple}}/libtwo.a", "-lm"))
    assert output(probe(made(one, tmp_path / "cache"))) == "42"
    # A link input that changes is linked again.
    archive(3)
    again = made(one, tmp_path / "cache")
    assert again.rebuilt == 1
    assert output(probe(again)) == "43"


def test_lanes_that_differ_in_execution_alone_share_one_probe(tree: Path, tmp_path: Path) -> None:
    emulator = TOOLCHAINS[CONTROL.triple].emulator
    assert emulator is not None
    emulated = [parse(f"{CONTROL.triple}/default/qemu-{cpu}") for cpu in emulator.cpus[:2]]
    built = made(subject(tree), tmp_path / "cache", CONTROL, *emulated)
    assert built.rebuilt == 3
    assert len({probe(built, lane).sha256 for lane in [CONTROL, *emulated]}) == 1


def test_a_failing_compile_shows_the_compilers_words_and_the_command(
    tree: Path, tmp_path: Path
) -> None:
    made(subject(tree), tmp_path / "cache")  # a probe of before must not be taken for this one
    (tree / "src" / "one.cpp").write_text("int one() { return nonsense; }\n")
    error = failure(made(subject(tree), tmp_path / "cache"))
    assert isinstance(error, BuildFailed)
    assert error.exit_code == 4
    assert error.where == CONTROL.name
    assert "nonsense" in error.what
    assert "one.cpp" in error.what
    command = (error.remedy or "").removeprefix("the command was: ")
    repeated = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)  # noqa: S602
    assert repeated.returncode != 0
    assert "nonsense" in repeated.stderr
    (tree / "src" / "one.cpp").write_text("int one() { return 1; }\n")
    assert output(probe(made(subject(tree), tmp_path / "cache"))) == "41"


def test_one_lanes_failure_leaves_the_others(tree: Path, tmp_path: Path) -> None:
    (tree / "src" / "one.cpp").write_text(
        "int one() { return 1; }\n#ifdef __CHAR_UNSIGNED__\n#error unsigned here\n#endif\n"
    )
    lanes = [parse(f"{CONTROL.triple}/{char}/native") for char in ("signed", "unsigned")]
    built = made(subject(tree), tmp_path / "cache", *lanes)
    assert output(probe(built, lanes[0])) == "41"
    assert "unsigned here" in failure(built, lanes[1]).what


def test_a_failing_link_and_a_flood_of_words(tree: Path, tmp_path: Path) -> None:
    error = failure(made(subject(tree, sources=()), tmp_path / "cache"))
    assert "the link does not build" in error.what
    assert "one()" in error.what
    (tree / "src" / "one.cpp").write_text("".join(f"int x{i} = y{i};\n" for i in range(2000)))
    error = failure(made(subject(tree), tmp_path / "cache"))
    assert "y0" in error.what
    assert "characters more" in error.what
    assert len(error.what) < 10_000


def test_a_compiler_that_is_not_here_is_named_with_its_install_line(
    tree: Path, tmp_path: Path
) -> None:
    lanes = default_lanes(TOOLCHAINS, HOST)

    def find(program: str) -> Path | None:
        return which(program) if program == "g++" else None

    built = made(subject(tree), tmp_path / "cache", *lanes, find=find)
    assert output(probe(built, lanes[0])) == "41"
    error = failure(built, lanes[3])
    assert not isinstance(error, BuildFailed)
    assert (error.remedy or "").startswith("apt-get install -y g++-")


def test_a_cache_that_cannot_be_written(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(StorageError) as caught:
        made(subject(tree), tmp_path / "cache")
    assert str(tmp_path / "cache") in (caught.value.where or "")


def test_a_full_disk_is_told_from_a_wrong_source(tree: Path, tmp_path: Path) -> None:
    # What a compiler prints on a full disk, from a compiler that always meets one.
    fake = tmp_path / "bin" / "g++"
    fake.parent.mkdir()
    fake.write_text(
        "#!/bin/sh\necho 'fatal error: closing output: No space left on device' >&2\nexit 1\n"
    )
    fake.chmod(0o755)
    built = made(subject(tree), tmp_path / "cache", find=lambda name: fake if name else None)
    assert isinstance(failure(built), StorageError)


def slow_compiler(tmp_path: Path, started: Path) -> Path:
    fake = tmp_path / "slow" / "g++"
    fake.parent.mkdir()
    fake.write_text(
        f'#!/bin/sh\ncase "$*" in *" -c "*) echo $$ >> {started}; sleep 60;; *) echo 1;; esac\n'
    )
    fake.chmod(0o755)
    return fake


def wait_for(condition: Path) -> int:
    for _ in range(500):
        if condition.is_file() and condition.read_text().strip():
            return int(condition.read_text().split()[0])
        time.sleep(0.02)
    raise AssertionError("it did not start")


def gone(pid: int) -> bool:
    for _ in range(250):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


def test_cancelling_leaves_no_compiler(tree: Path, tmp_path: Path) -> None:
    started = tmp_path / "started"
    fake = slow_compiler(tmp_path, started)
    cancel = threading.Event()

    def soon() -> None:
        wait_for(started)
        cancel.set()

    thread = threading.Thread(target=soon)
    thread.start()
    with pytest.raises(Cancelled):
        made(subject(tree), tmp_path / "cache", find=lambda _: fake, cancel=cancel)
    thread.join()
    assert gone(wait_for(started))


def test_ctrl_c_leaves_no_compiler_and_no_half_file(tree: Path, tmp_path: Path) -> None:
    started = tmp_path / "started"
    fake = slow_compiler(tmp_path, started)
    program = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from harness.build import build
from harness.subject import Subject
from harness.lane import parse
from harness.toolchain import load_toolchains
build(Subject(name="it", probe=Path({str(tree / "src" / "one.cpp")!r})),
      [parse({CONTROL.name!r})], load_toolchains([Path({str(ROOT / "toolchains")!r})]),
      cache=Path({str(tmp_path / "cache")!r}), host_arch={HOST!r},
      find=lambda _: Path({str(fake)!r}))
"""
    child = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE)
    compiler = wait_for(started)
    child.send_signal(signal.SIGINT)
    _, words = child.communicate(timeout=30)
    assert b"KeyboardInterrupt" in words
    assert gone(compiler)
    assert not list((tmp_path / "cache").rglob("*.o"))
    assert not (tmp_path / "cache" / "probes").exists()


def test_two_runs_at_once_do_not_spoil_each_other(tree: Path, tmp_path: Path) -> None:
    said: list[str] = []
    results: list[Built] = []

    def run() -> None:
        results.append(made(subject(tree), tmp_path / "cache", say=said.append))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(built.rebuilt for built in results) == [0, 0, 0, 3]
    assert len({probe(built).sha256 for built in results}) == 1
    assert said
    assert all("waiting for another run" in words for words in said)


def test_a_command_is_a_probe_as_it_is(tmp_path: Path) -> None:
    script = tmp_path / "it.sh"
    script.write_text("#!/bin/sh\necho here\n")
    script.chmod(0o755)
    data = tmp_path / "data"
    data.write_text("1")
    one = Subject(name="it", command=(str(script), str(data), "x"), args=("y",))
    found = probe(made(one, tmp_path / "cache"))
    assert found.command == (str(script), str(data), "x")
    assert found.args == ("y",)
    assert found.provenance is None
    assert output(found) == "here\n"
    # Every word that names a file counts: `python probe.py` is its script, too.
    data.write_text("2")
    assert probe(made(one, tmp_path / "cache")).sha256 != found.sha256


@pytest.mark.parametrize("what", ["missing", "directory", "not executable", "not on PATH"])
def test_a_command_that_cannot_be_executed(tmp_path: Path, what: str) -> None:
    path = tmp_path / "it"
    if what == "directory":
        path.mkdir()
    elif what == "not executable":
        path.write_text("")
    name = "no-such-program-anywhere" if what == "not on PATH" else str(path)
    error = failure(made(Subject(name="it", command=(name,)), tmp_path / "cache"))
    assert "cannot be executed" in error.what


def test_a_subject_is_built_or_given() -> None:
    with pytest.raises(ValueError, match="either"):
        Subject(name="it")
    with pytest.raises(ValueError, match="either"):
        Subject(name="it", probe=Path("/a.cpp"), command=("/a",))
    with pytest.raises(ValueError, match="one word"):
        Subject(name="it", command=())
