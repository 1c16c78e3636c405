"""The text of a build file: what enters it, and how it is escaped."""

import shlex
from dataclasses import replace
from pathlib import Path

from harness.ninja_file import Edge, Variant, edges, ninja_text
from harness.subject import Subject
from harness.toolchain import Flags

ROOT = Path("/cache/build/x")
VARIANT = Variant(
    name="x86_64-linux-gnu,unsigned",
    triple="x86_64-linux-gnu",
    arch="x86_64",
    compiler=Path("/usr/bin/g++"),
    flags=Flags("g++", ("-funsigned-char", "-O2"), ("-static",)),
)
SUBJECT = Subject(
    name="x",
    probe=Path("/p/probe.cpp"),
    sources=(Path("/s/a/one.cpp"), Path("/s/b/one.cpp")),
    include=(Path("/s/include"), Path("/deps/{triple}")),
    defines={"A": None, "B": 1, "C": '"$x y"'},
    flags=("-O3", "-DARCH={arch}"),
    link=("/libs/{triple}/l.a", "-lm"),
)


def made() -> tuple[Edge, ...]:
    return edges(SUBJECT, VARIANT, ROOT, "place")


def test_two_sources_of_one_name_do_not_meet() -> None:
    outputs = [edge.output for edge in made()]
    assert len(outputs) == len(set(outputs)) == 4
    assert all(output.startswith(f"objects/{VARIANT.name}/") for output in outputs[:-1])
    assert outputs[-1] == f"place/{VARIANT.name}/probe"


def test_an_object_is_named_alike_whatever_its_neighbours() -> None:
    alone = edges(replace(SUBJECT, name="other", sources=()), VARIANT, ROOT, "elsewhere")
    assert alone[0].output == made()[0].output
    assert alone[-1].output != made()[-1].output


def test_the_lanes_flags_come_last_and_so_win() -> None:
    argv = list(made()[0].argv)
    assert argv.index("-O3") < argv.index("-O2")
    assert argv.index("-DB=1") < argv.index("-funsigned-char")
    assert "-DA" in argv
    assert '-DC="$x y"' in argv
    assert "-std=c++20" in argv


def test_the_lanes_triple_and_arch_are_filled_in() -> None:
    assert "-I/deps/x86_64-linux-gnu" in made()[0].argv
    assert "-DARCH=x86_64" in made()[0].argv
    link = made()[-1].argv
    assert link.index("/libs/x86_64-linux-gnu/l.a") > link.index(made()[2].output)
    assert link[-3:] == ("-static", "-o", f"place/{VARIANT.name}/probe")


def test_no_place_enters_the_bytes() -> None:
    for edge, own in zip(made(), ("/p", "/s/a", "/s/b"), strict=False):
        maps = [piece for piece in edge.argv if piece.startswith("-ffile-prefix-map=")]
        mapped = [piece.split("=")[1] for piece in maps]
        assert {str(ROOT), own, "/s/include"} <= set(mapped)
        assert mapped == sorted(mapped, key=lambda path: (len(path), path))


def test_a_path_with_an_equals_sign_is_not_mapped() -> None:
    subject = Subject(name="x", probe=Path("/p=q/probe.cpp"))
    assert "/p=q" not in "".join(
        piece for piece in edges(subject, VARIANT, ROOT, "place")[0].argv if "prefix-map" in piece
    )


def test_a_command_survives_shell_and_ninja() -> None:
    awkward = "a 'b' \"c\" $d ${e} `f` \\g; h & i | j > k * é\t"
    edge = Edge(
        output="o ut:$.o",
        argv=("cc", awkward),
        inputs=("in $1: x.cpp",),
        implicit=(),
        flags=(),
        depfile="d",
    )
    text = ninja_text({"v": [edge]})
    (build,) = (line for line in text.splitlines() if line.startswith("build "))
    assert build == "build o$ ut$:$$.o: compile in$ $$1$:$ x.cpp | "
    (run,) = (line for line in text.splitlines() if line.startswith("  run = "))
    shell = run.removeprefix("  run = ").replace("$$", "$")
    assert shlex.split(shell.split(" > 'o ut")[0]) == ["cc", awkward]
