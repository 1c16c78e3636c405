"""Every reproducer runs where nothing of the project is, and says reproduced only where it is."""

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.integration.awkward import CONTROL, TRIPLE, UNSIGNED
from tests.integration.conftest import REPOSITORY, Command

SUBJECTS = REPOSITORY / "tests" / "subjects"
BYTES = REPOSITORY / "tests" / "integration" / "cpp" / "bytes"
ARM = "aarch64-linux-gnu/default/qemu-cortex-a53"
PLANTED = b"planted"


@dataclass(frozen=True)
class Ran:
    """A run with its reproducers: the report, and the directory that holds one a finding."""

    report: dict[str, Any]
    place: Path

    @property
    def only(self) -> Path:
        """The directory of the one finding."""
        [found] = self.report["findings"]
        return self.place / str(found["id"])


def away(directory: Path, to: Path) -> Path:
    """Copy a reproducer to where nothing of the project is."""
    return Path(shutil.copytree(directory, to))


def run_sh(directory: Path) -> "subprocess.CompletedProcess[str]":
    """Run a reproducer from another directory, with an environment that holds a PATH alone."""
    return subprocess.run(
        ["sh", str(directory / "run.sh")],  # noqa: S607
        cwd="/",
        env={"PATH": "/usr/local/bin:/usr/bin:/bin"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def reproduced(directory: Path) -> str:
    done = run_sh(directory)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\nreproduced" in done.stdout
    return done.stdout


def planted(tokparity: Command, out: Path, name: str, *lanes: str) -> Ran:
    options = [word for lane in lanes for word in ("--lanes", lane)]
    done = tokparity("run", SUBJECTS / name / "tokparity.yaml", *options, "--out", out, "--json")
    assert done.code == 1, done.err
    return Ran(done.report, out / "repro")


def test_two_lanes_that_differ_one_of_them_emulated(tokparity: Command, tmp_path: Path) -> None:
    ran = planted(tokparity, tmp_path / "out", "char-compared-with-zero", CONTROL, ARM)
    there = away(ran.only, tmp_path / "there")
    said = reproduced(there)
    assert "lane 1: " in said and "lane 2: " in said
    readme, script = (there / "README.md").read_text(), (there / "run.sh").read_text()
    for text in (readme, script):
        assert "qemu-aarch64 -g 1234 -cpu cortex-a53 build/probe-1 tokenizer.json" in text
        assert "gdb-multiarch -ex 'target remote localhost:1234' build/probe-1" in text
    [found] = ran.report["findings"]
    assert f"[{found['id']}]" in readme
    ids = [str(one) for one in found["first"]["observed"]]
    assert (there / "observed.ids").read_text().split() == ids


def test_a_crash_is_a_crash_again(tokparity: Command, tmp_path: Path) -> None:
    ran = planted(tokparity, tmp_path / "out", "crash-on-one", CONTROL)
    there = away(ran.only, tmp_path / "there")
    assert "answered: crash" in reproduced(there)
    assert (there / "input.bin").read_bytes() == "a \U0001fae8".encode()
    assert (
        "gdb -ex 'run tokenizer.json < build/request' build/probe-1"
        in (there / "README.md").read_text()
    )


def in_gdb(there: Path, line: str, *commands: str) -> str:
    """Run a line for a debugger as it is printed, with commands in the place of a person."""
    typed = " ".join(["-batch", *(f"-ex {one}" for one in commands)])
    done = subprocess.run(
        ["sh", "-c", f"{line} {typed}"],  # noqa: S607
        cwd=there,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout + done.stderr


def test_the_debuggers_commands_show_the_line_of_the_crash(
    tokparity: Command, tmp_path: Path
) -> None:
    ran = planted(tokparity, tmp_path / "out", "crash-on-arch", CONTROL, ARM)
    there = away(ran.only, tmp_path / "there")
    script = there / "run.sh"
    # As the page says: with -g there are lines.
    script.write_text(re.sub(r"^\S*g\+\+ ", r"\g<0>-g ", script.read_text(), flags=re.MULTILINE))
    reproduced(there)
    readme = (there / "README.md").read_text()
    stub, remote, native = re.findall(r"^    (qemu-\w+ -g .*|gdb.* -ex .*)$", readme, re.MULTILINE)
    command = ["sh", "-c", f"exec {stub}"]
    with subprocess.Popen(command, cwd=there, stdout=subprocess.DEVNULL) as qemu:
        try:
            seen = in_gdb(there, remote, "continue", "backtrace")
        finally:
            qemu.kill()
    probe = (SUBJECTS / "crash-on-arch" / "probe.cpp").read_text().splitlines()
    [number] = [n for n, line in enumerate(probe, start=1) if "raise(SIGSEGV)" in line]
    assert "Program received signal SIGSEGV" in seen
    assert f"crash-on-arch/probe.cpp:{number}" in seen
    # The other lane does not crash: its debugger sees it answer and end.
    seen = in_gdb(there, native)
    assert f"ok {(there / 'expected.ids').read_text().strip()}\n" in seen
    assert "exited normally" in seen


def test_a_switch_of_the_subject_goes_along(tokparity: Command, tmp_path: Path) -> None:
    ran = planted(tokparity, tmp_path / "out", "nfc-left-out", CONTROL)
    there = away(ran.only, tmp_path / "there")
    reproduced(there)
    assert "tokenizer.json --without-nfc" in (there / "run.sh").read_text()


@dataclass(frozen=True)
class Bytes:
    """The subject of bytes in a directory of its own, with a tokenizer and a corpus to match."""

    directory: Path
    tokparity: Command

    def configure(self, defect: int, config: str = "") -> Path:
        """Write a configuration with one of the defects; ``config`` is added to it."""
        file = self.directory / "tokparity.yaml"
        file.write_text(
            "subject:\n"
            "  name: bytes\n"
            "  sources: [src/*.cpp]\n"
            "  include: [include]\n"
            "  probe: src/bytes.cpp\n"
            f"  defines: {{DEFECT: {defect}, NOTE: '\"a b\"'}}\n"
            "tokenizers: [./tokenizer.json]\n"
            "corpora: [./planted.jsonl]\n"
            "operations: [encode]\n" + config
        )
        return file

    def run(self, defect: int, *options: str | Path, config: str = "", code: int = 1) -> Ran:
        """Run it with one of its defects."""
        return self.of(self.configure(defect, config), *options, code=code)

    def of(self, file: Path, *options: str | Path, code: int = 1) -> Ran:
        place = self.directory / "repro"
        lanes = () if "--lanes" in options else ("--lanes", CONTROL)
        done = self.tokparity("run", file, *lanes, *options, "--repro", place, "--json")
        assert done.code == code, done.out + done.err
        return Ran(done.report, place)


def vocabulary() -> dict[str, int]:
    """The byte alphabet, every byte its own id."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [byte for byte in range(0x100) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {
        chr(0x100 + place): byte for place, byte in enumerate(rest)
    }


@pytest.fixture
def in_bytes(tmp_path: Path, tokparity: Command) -> Bytes:
    directory = tmp_path / "it's a $HOME of `bytes`"
    shutil.copytree(BYTES, directory)
    level = {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": False,
        "use_regex": False,
    }
    tokenizer: dict[str, Any] = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": level,
        "decoder": level,
        "model": {"type": "BPE", "vocab": vocabulary(), "merges": []},
    }
    (directory / "tokenizer.json").write_text(json.dumps(tokenizer))
    lines = [{"id": "planted", "text": PLANTED.decode()}, {"id": "other", "text": "other"}]
    (directory / "planted.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return Bytes(directory, tokparity)


def contents(place: Path) -> dict[str, bytes]:
    return {
        str(one.relative_to(place)): one.read_bytes() for one in place.rglob("*") if one.is_file()
    }


def test_what_was_mended_is_not_reproduced(in_bytes: Bytes, tmp_path: Path) -> None:
    there = away(in_bytes.run(1).only, tmp_path / "a place with 'quotes' and $spaces")
    reproduced(there)
    source = there / "sources" / "src" / "bytes.cpp"
    was = source.read_text()
    source.write_text(was.replace("ids.back() = 33", "ids.back() = ids.back()"))
    mended = run_sh(there)
    assert mended.returncode == 1
    assert "not reproduced: the answer is the expected one" in mended.stdout
    (there / "expected.ids").write_text("1 2 3\n")
    otherwise = run_sh(there)
    assert otherwise.returncode == 1
    assert "not reproduced: neither expected nor what was observed" in otherwise.stdout
    source.write_text("no C++\n")
    broken = run_sh(there)
    assert broken.returncode == 2
    assert "lane 1 cannot be built here" in broken.stderr


def test_every_header_is_carried_and_nothing_of_the_system(in_bytes: Bytes) -> None:
    place = in_bytes.run(1).only
    before = contents(place.parent)
    carried = {str(one.relative_to(place)) for one in place.rglob("*") if one.is_file()}
    assert carried == {
        "README.md",
        "expected.ids",
        "input.bin",
        "observed.ids",
        "run.sh",
        "sources/include/bytes/planted.hpp",
        "sources/src/bytes.cpp",
        "sources/src/detail/text.hpp",
        "tokenizer.json",
        "tokparity/include/tokparity/probe.hpp",
    }
    assert (place / "input.bin").read_bytes() == PLANTED
    assert (place / "expected.ids").read_text().split() == [str(one) for one in PLANTED]
    script = (place / "run.sh").read_text()
    assert "python" not in script
    assert str(REPOSITORY) not in script
    assert str(in_bytes.directory) not in script
    assert os.access(place / "run.sh", os.X_OK)
    (place / "sources" / "old.cpp").write_text("of an earlier run")
    assert in_bytes.run(1).only == place
    # The same run writes the same bytes, and what was there is replaced as a whole.
    assert contents(place.parent) == before


def test_lanes_that_differ_and_are_mended_answer_alike(in_bytes: Bytes, tmp_path: Path) -> None:
    ran = in_bytes.run(4, "--lanes", CONTROL, "--lanes", UNSIGNED)
    there = away(ran.only, tmp_path / "there")
    source = there / "sources" / "src" / "bytes.cpp"
    source.write_text(source.read_text().replace("DEFECT == 4", "DEFECT == 44"))
    mended = run_sh(there)
    assert mended.returncode == 1
    assert "not reproduced: the two lanes answer alike" in mended.stdout


@pytest.mark.parametrize(
    ("defect", "config", "cause", "answer"),
    [
        (3, "limits: {case_seconds: 1}\n", "hang", "answered: timeout"),
        (6, "", "error-answer", "answered: error"),
    ],
)
def test_an_outcome_that_is_no_ids_is_reproduced(
    in_bytes: Bytes,
    tmp_path: Path,
    defect: int,
    config: str,
    cause: str,
    answer: str,
) -> None:
    ran = in_bytes.run(defect, config=config)
    [found] = ran.report["findings"]
    assert found["cause"] == cause
    there = away(ran.only, tmp_path / "there")
    if cause == "hang":  # what a hang may take is meant for large tokenizers
        script = there / "run.sh"
        script.write_text(script.read_text().replace("timeout -k 1 61", "timeout -k 1 2"))
    assert answer in reproduced(there)


def test_chance_is_asked_until_it_shows(in_bytes: Bytes, tmp_path: Path) -> None:
    ran = in_bytes.run(5)
    [found] = ran.report["findings"]
    assert found["cause"] == "nondeterminism"
    assert "one lane, two answers" in reproduced(away(ran.only, tmp_path / "there"))


def test_the_reduced_case_stands_for_the_first(in_bytes: Bytes, tmp_path: Path) -> None:
    corpus = in_bytes.directory / "planted.jsonl"
    longer = json.dumps({"id": "longer", "text": "all that was planted"})
    corpus.write_text(f"{longer}\n{corpus.read_text()}")
    there = away(in_bytes.run(8, "--reduce").only, tmp_path / "there")
    assert (there / "input.bin").read_bytes() == b"lante"
    assert (there / "expected.ids").read_text().split() == [str(one) for one in b"lante"]
    reproduced(there)
    words = (there / "README.md").read_text()
    assert "first: planted/longer" in words
    assert "shrunk from planted/planted" in words


def test_a_wrong_decoding_is_asked_by_ids(in_bytes: Bytes, tmp_path: Path) -> None:
    file = in_bytes.configure(7)
    file.write_text(
        file.read_text().replace("operations: [encode]", "operations: [encode, decode]")
    )
    there = away(in_bytes.of(file).only, tmp_path / "there")
    assert f"answered: ok {(PLANTED + b'!').hex()}" in reproduced(there)
    assert (there / "input.ids").read_text().split() == [str(one) for one in PLANTED]


def test_a_program_that_was_given_is_started_where_it_lies(in_bytes: Bytes, tmp_path: Path) -> None:
    built = in_bytes.run(1).only
    assert run_sh(built).returncode == 0
    program = tmp_path / "my probe"
    shutil.copy(built / "build" / "probe-1", program)
    file = in_bytes.directory / "given.yaml"
    file.write_text(
        f"subject:\n  name: given\n  command: [{json.dumps(str(program))}]\n"
        "tokenizers: [./tokenizer.json]\ncorpora: [./planted.jsonl]\noperations: [encode]\n"
    )
    there = away(in_bytes.of(file).only, tmp_path / "there")
    reproduced(there)
    assert "What could not be carried" in (there / "README.md").read_text()
    assert not (there / "sources").exists()
    program.unlink()
    gone = run_sh(there)
    assert gone.returncode == 2
    assert "did not start" in gone.stderr


def test_a_declared_deviation_that_is_gone_has_none_and_the_index_says_so(
    in_bytes: Bytes,
) -> None:
    ran = in_bytes.run(1, config="deviations:\n  - {cause: crash, reason: it did once}\n")
    causes = {one["cause"]: one["id"] for one in ran.report["findings"]}
    text = (ran.place / "README.md").read_text()
    assert "gone" in next(line for line in text.splitlines() if causes["crash"] in line)
    assert not (ran.place / causes["crash"]).exists()
    [other] = [own for cause, own in causes.items() if cause != "crash"]
    assert (ran.place / other / "run.sh").is_file()


def test_a_run_without_a_finding_says_so(in_bytes: Bytes) -> None:
    ran = in_bytes.run(0, code=0)
    assert "no finding" in (ran.place / "README.md").read_text()
    assert [one.name for one in ran.place.iterdir()] == ["README.md"]


def test_a_directory_that_cannot_be_written_is_refused_before_the_run(
    in_bytes: Bytes, tokparity: Command
) -> None:
    file = in_bytes.configure(0)
    blocked = in_bytes.directory / "blocked"
    blocked.write_text("a file")
    done = tokparity("run", file, "--repro", blocked)
    assert done.code == 4
    assert "--repro DIR" in done.err
    assert "Traceback" not in done.err


def test_files_named_by_arguments_and_link_inputs_go_along(in_bytes: Bytes, tmp_path: Path) -> None:
    source = tmp_path / "more.cpp"
    source.write_text("int more() { return 1; }\n")
    linked = in_bytes.directory / TRIPLE / "more.o"
    linked.parent.mkdir()
    subprocess.run(["g++", "-c", str(source), "-o", str(linked)], check=True)  # noqa: S607
    note = in_bytes.directory / "note.txt"
    note.write_text("read me\n")
    file = in_bytes.configure(1)
    text = file.read_text()
    more = f"  link: ['{{triple}}/more.o']\n  args: [{json.dumps(str(note))}, plain]\n"
    file.write_text(text.replace("tokenizers:", f"{more}tokenizers:"))
    there = away(in_bytes.of(file).only, tmp_path / "there")
    linked.unlink()
    note.unlink()
    reproduced(there)
    script = (there / "run.sh").read_text()
    assert f"sources/{TRIPLE}/more.o" in script
    assert "tokenizer.json sources/note.txt plain" in script
    assert (there / "sources" / "note.txt").read_text() == "read me\n"
