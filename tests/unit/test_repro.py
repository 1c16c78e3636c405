"""Reproducers, purely: where files lie, what run.sh is, and what a person reads."""

import re
import shlex
import subprocess
import unicodedata
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.errors import StorageError
from harness.report.model import Finding, First, Report
from harness.repro import claimed
from harness.repro.gather import lanes_shown
from harness.repro.layout import dependencies, layout, normal, search_directories
from harness.repro.page import Entry, index, page
from harness.repro.script import by_hand, debugger, folded, script
from harness.repro.value import Reproducer, Side, Unmade
from harness.repro.write import put
from tests.unit.test_report import HOSTILE

LANE = "x86_64-linux-gnu/default/native"
ARM = "aarch64-linux-gnu/default/qemu-cortex-a53"
OURS = Path("/clone/probes")
HEADER = OURS / "include/tokparity/probe.hpp"


def side(**changes: Any) -> Side:  # noqa: ANN401
    values: dict[str, Any] = {
        "lane": LANE,
        "compile": ("g++", "-O2", "sources/a b.cpp", "-o", "build/probe-1"),
        "command": ("build/probe-1",),
        "variables": {"LC_ALL": "C", "TZ": "UTC"},
        "needs": (("g++", "g++"),),
    }
    return Side(**{**values, **changes})


EMULATED = side(
    lane=ARM,
    command=("build/probe-2",),
    emulator=("qemu-aarch64", "-cpu", "cortex-a53"),
    needs=(("qemu-aarch64", "qemu-user"),),
)


FAILED = Report(verdict="fail", exit=1)


def finding(word: str = "word", **changes: Any) -> Finding:  # noqa: ANN401
    values: dict[str, Any] = {
        "id": "0123abcd",
        "tokenizer": word,
        "operations": ("encode",),
        "lanes": (LANE,),
        "cases": (f"smoke/{word}",),
        "axes": (),
        "cause": "some-cause",
        "declared": False,
        "summary": word,
        "first": First(
            case=f"smoke/{word}",
            index=0,
            expected=(1, 2),
            observed=(3,),
            lane=LANE,
            operation="encode",
        ),
    }
    return Finding(**{**values, **changes})


def reproducer(word: str = "word", **changes: Any) -> Reproducer:  # noqa: ANN401
    values: dict[str, Any] = {
        "finding": finding(word),
        "sides": (side(),),
        "operation": "encode",
        "input": b"hi",
        "expected": "1 2",
        "observed": "3",
        "status": "ok",
        "files": {"sources/a b.cpp": b""},
    }
    return Reproducer(**{**values, **changes})


def test_files_keep_their_places_to_each_other_and_ours_lie_apart() -> None:
    found = layout([Path("/u/e/src/a.cpp"), Path("/u/e/include/x/y.h"), HEADER], OURS)
    assert found.of(Path("/u/e/src/a.cpp")) == "sources/src/a.cpp"
    assert found.of(Path("/u/e/include/x/y.h")) == "sources/include/x/y.h"
    assert found.of(HEADER) == "tokparity/include/tokparity/probe.hpp"


def test_a_subject_within_our_own_tree_keeps_its_place_to_our_sources() -> None:
    found = layout([Path("/clone/tests/s/probe.cpp"), OURS / "reference/a.cpp", HEADER], OURS)
    assert found.of(Path("/clone/tests/s/probe.cpp")) == "sources/tests/s/probe.cpp"
    assert found.of(OURS / "reference/a.cpp") == "sources/probes/reference/a.cpp"


def test_the_bundled_subject_alone_lies_below_sources() -> None:
    found = layout([OURS / "reference/main.cpp", HEADER], OURS)
    assert found.of(OURS / "reference/main.cpp") == "sources/reference/main.cpp"


def test_files_far_apart_have_places_that_differ() -> None:
    one, two = Path("/opt/vendor/a.h"), Path("/home/u/a.h")
    found = layout([one, two, HEADER], OURS)
    assert found.of(one) == "sources/opt/vendor/a.h"
    assert found.of(two) == "sources/home/u/a.h"


def test_a_lone_source_and_a_path_with_dots_in_it_have_a_place() -> None:
    found = layout([Path("/u/e/x/../a.cpp")], OURS)
    assert found.of(Path("/u/e/a.cpp")) == "sources/a.cpp"
    assert found.of(Path("/u/e")) == "sources"
    assert found.of(Path("/u/other")) is None


@pytest.mark.parametrize(
    ("word", "placed"),
    [
        ("-I/u/e/include", "-Isources/include"),
        ("/u/e/src/a.cpp", "sources/src/a.cpp"),
        ("-include/u/e/src/a.cpp", "-includesources/src/a.cpp"),
        ("-isystem/u/e/include", "-isystemsources/include"),
        ("-I/usr/include", "-I/usr/include"),
        ("-I/u/e/inc", "-I/u/e/inc"),
        ("-DX=/u/e/src/a.cpp", "-DX=/u/e/src/a.cpp"),
        ("-O2", "-O2"),
        ("-lfoo", "-lfoo"),
    ],
)
def test_words_of_a_command_are_placed_where_their_files_are(word: str, placed: str) -> None:
    found = layout([Path("/u/e/src/a.cpp"), Path("/u/e/include/y.h")], OURS)
    assert found.word(word) == placed


def test_a_dependency_rule_is_read_with_its_escapes() -> None:
    rule = "x: /a/b.cpp \\\n  /a/with\\ space.h /a/c\\#.h \\\n /a/cost$$.h\n"
    assert dependencies(rule) == ["/a/b.cpp", "/a/with space.h", "/a/c#.h", "/a/cost$.h"]


def test_a_compiler_writes_dependency_rules_as_they_are_read(tmp_path: Path) -> None:
    names = ["plain.h", "with space.h", "c#.h", "cost$.h", "ümlaut.h", "b:c.h"]
    for name in names:
        (tmp_path / name).write_text("")
    source = tmp_path / "a b.cpp"
    source.write_text("".join(f'#include "{name}"\n' for name in names))
    rule = subprocess.run(
        ["g++", "-M", "-MT", "x", str(source)],  # noqa: S607
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert {Path(name).name for name in dependencies(rule)} >= {*names, "a b.cpp"}


def test_the_compilers_own_directories_are_read_from_what_it_says() -> None:
    said = (
        'ignoring x\n#include "..." search starts here:\n /quote\n'
        "#include <...> search starts here:\n /usr/include/c++/12\n /usr/include\n"
        "End of search list.\n /no\n"
    )
    assert search_directories(said) == ["/usr/include/c++/12", "/usr/include"]


def test_a_folded_command_reads_back_as_the_same_words() -> None:
    words = ["g++", "-DX='a \"b'", *(f"source {n}.cpp" for n in range(40)), "new\nline", "$(x)`y`"]
    text = folded(words)
    assert shlex.split(text.replace("\\\n", "")) == words
    assert max(map(len, text.split("\n"))) < 120


def checked(text: str) -> None:
    """Let every shell that is here read the script without running it."""
    for shell in ("sh", "bash"):
        done = subprocess.run(
            [shell, "-n", "/dev/stdin"], input=text, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "one",
    [
        reproducer(),
        reproducer(sides=(side(), EMULATED)),
        reproducer(status="crash", observed=""),
        reproducer(status="crash", sides=(EMULATED,)),
        reproducer(repeats=40),
        reproducer(operation="decode", asked="1 2 3"),
        reproducer(sides=(side(compile=None, command=("python3", "my probe.py")),)),
        reproducer(sides=(side(before=("setarch", "-R")),)),
    ],
)
def test_a_script_is_one_that_shells_read(one: Reproducer) -> None:
    checked(script(one))


@pytest.mark.parametrize("word", HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_of_others_is_run_or_acts_on_a_terminal(word: str) -> None:
    printable = word.encode("utf-8", "backslashreplace").decode().replace("\0", "")
    one = reproducer(
        word,
        sides=(side(compile=("g++", f"-D{printable}", "-o", "build/probe-1"), args=(printable,)),),
        status="crash",
    )
    text = script(one)
    checked(text)
    comments = [line for line in text.split("\n") if line.startswith("#")]
    assert any("some-cause" in line for line in comments)
    pages = [
        *page(one, Report(verdict="fail", exit=1)).split("\n"),
        *index([Entry(finding=one.finding, why_not=word)], FAILED).split("\n"),
    ]
    for line in [*comments, *pages]:
        assert not any(unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp") for char in line)
    # Indented lines are code, in which nothing is markup.
    for line in pages:
        assert line.startswith("    ") or not re.search(r"<script|</code>\||^::|@someone", line)


def test_an_emulated_lane_has_its_debugger_in_two_commands() -> None:
    assert debugger(EMULATED) == [
        "qemu-aarch64 -g 1234 -cpu cortex-a53 build/probe-2 tokenizer.json < build/request",
        "gdb-multiarch -ex 'target remote localhost:1234' build/probe-2",
    ]
    one = reproducer(sides=(side(), EMULATED))
    for text in (script(one), page(one, Report(verdict="fail", exit=1))):
        assert debugger(EMULATED)[0] in text
        assert debugger(EMULATED)[1] in text
        assert "Lane 1 in a debugger" not in text


def test_a_dynamic_probe_finds_its_libraries_in_the_debugger_too() -> None:
    root = "/usr/aarch64-linux-gnu"
    emulator = ("qemu-aarch64", "-cpu", "max", "-L", root)
    first, second = debugger(replace(EMULATED, emulator=emulator))
    assert f"-g 1234 -cpu max -L {root}" in first
    assert f"-ex 'set sysroot {root}'" in second


def test_a_native_crash_has_a_debugger_and_a_native_mismatch_needs_none() -> None:
    crash = reproducer(status="crash", sides=(side(args=("--two words",)),))
    [line] = debugger(crash.sides[0])
    assert shlex.split(line) == [
        "gdb",
        "-ex",
        "run tokenizer.json '--two words' < build/request",
        "build/probe-1",
    ]
    assert line in script(crash)
    assert "debugger" not in script(reproducer())


def test_what_a_lane_sets_is_set_in_the_debugger_too() -> None:
    variables = {"LC_ALL": "tr_TR.UTF-8", "TZ": "UTC"}
    first, _ = debugger(replace(EMULATED, variables=variables))
    assert first.startswith("env LC_ALL=tr_TR.UTF-8 qemu-aarch64 -g 1234 ")
    [line] = debugger(side(variables=variables))
    assert line.startswith("env LC_ALL=tr_TR.UTF-8 gdb -ex ")


def test_the_page_says_which_debugger_it_takes() -> None:
    one = reproducer(status="crash", sides=(side(), EMULATED))
    text = page(one, FAILED)
    assert "    apt-get install -y gdb\n" in text
    assert "    apt-get install -y gdb-multiarch\n" in text


@pytest.mark.parametrize(
    ("runner", "words"), [("docker", "in a container"), ("ssh-board", "on another machine")]
)
def test_a_lane_that_plain_commands_do_not_start_has_none_and_says_why(
    runner: str, words: str
) -> None:
    name = f"x86_64-linux-gnu/default/{runner}"
    first = replace(finding().first or pytest.fail("no case"), lane=name)
    found = finding(lanes=(name,), first=first)
    with pytest.raises(Unmade) as caught:
        lanes_shown(found, first)
    why = str(caught.value)
    assert name in why and words in why
    text = index([Entry(finding=found, why_not=why)], FAILED)
    row = next(line for line in text.splitlines() if found.id in line)
    assert words in row
    assert "tokparity run --tokenizer word --case smoke/word --lanes" in row
    # Where only such a lane answers otherwise there is nothing to hold the first against.
    local = finding(axes=("container",), evidence={"groups": [[LANE], [name]]})
    with pytest.raises(Unmade, match=f"every lane of another answer runs {words}"):
        lanes_shown(local, local.first or pytest.fail("no case"))


def test_the_request_by_hand_is_what_the_protocol_has() -> None:
    one = reproducer()
    assert by_hand(one, one.sides[0]) == ("printf 'encode 6869\\n' | build/probe-1 tokenizer.json")
    decode = reproducer(operation="decode", asked="1 2")
    assert "printf 'decode 1 2\\n'" in str(by_hand(decode, decode.sides[0]))
    assert by_hand(reproducer(input=b"x" * 5000), one.sides[0]) is None


def test_the_index_says_which_finding_has_one_and_why_another_has_none() -> None:
    gone = finding(id="ffffffff", absent=True)
    text = index([Entry(finding=finding()), Entry(finding=gone, why_not="it is gone")], FAILED)
    assert re.search(r"\[0123abcd\]\(0123abcd/README.md\).*sh run.sh", text)
    assert re.search(r"ffffffff.*none: it is gone", text)
    assert "no finding" in index([], FAILED)


def test_the_page_says_what_it_takes_and_what_is_missing() -> None:
    one = reproducer(sides=(side(), EMULATED), missing=("-lfoo is not here.",))
    text = page(one, Report(verdict="fail", exit=1))
    assert "apt-get install -y g++ qemu-user" in text
    assert "-lfoo is not here." in text
    assert "could not be carried" not in page(reproducer(), Report(verdict="fail", exit=1))


def test_normal_paths_have_no_dots() -> None:
    assert normal(Path("/a/./b/../c")) == Path("/a/c")


def test_a_page_that_is_not_ours_is_not_replaced(tmp_path: Path) -> None:
    assert claimed(tmp_path / "new") == tmp_path / "new"
    readme = tmp_path / "README.md"
    readme.write_text(index([], FAILED))
    assert claimed(tmp_path) == tmp_path
    readme.write_text("# My project\n")
    with pytest.raises(StorageError, match="would be replaced"):
        claimed(tmp_path)
    assert readme.read_text() == "# My project\n"
    readme.unlink()
    readme.mkdir()
    with pytest.raises(StorageError, match="would be replaced"):
        claimed(tmp_path)


@pytest.mark.parametrize("kind", ["directory", "file", "link", "broken link"])
def test_what_stood_in_a_reproducers_place_is_replaced_as_a_whole(
    tmp_path: Path, kind: str
) -> None:
    place, other = tmp_path / "repro" / "0123abcd", tmp_path / "other"
    place.parent.mkdir()
    other.mkdir()
    (other / "kept").touch()
    if kind == "directory":
        (place / "old").mkdir(parents=True)
    elif kind == "file":
        place.touch()
    else:
        place.symlink_to(other if kind == "link" else tmp_path / "nowhere")
    put(place, {"run.sh": b"new"})
    assert [one.name for one in place.parent.iterdir()] == ["0123abcd"]
    assert [one.name for one in place.iterdir()] == ["run.sh"]
    assert (other / "kept").exists()
