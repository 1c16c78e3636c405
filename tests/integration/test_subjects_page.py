"""docs/subjects.md is true: followed word for word, on a tree that is not ours.

Configurations, code, corpus lines and the declaration are taken out of the page, so that the page
is what is tested. The tree is ``tests/foreign``.
"""

import json
import platform
import re
import shlex
import shutil
import subprocess
import unicodedata
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.config import ConfigModel, LimitsModel
from harness.deviation_file import DeviationModel
from harness.subject_file import SubjectModel
from tests.integration.conftest import REPOSITORY, Command, Done
from tests.integration.page import blocks, commands, inline_commands, mappings, table

PAGE = (REPOSITORY / "docs" / "subjects.md").read_text(encoding="utf-8")
ADAPTER, DECLARED = mappings(PAGE)
OWN_MAIN = blocks(PAGE, "cpp")[0]
OWN_CORPUS = blocks(PAGE, "json")[0]
DECOMPOSED = "".join(
    json.dumps({"id": name, "text": unicodedata.normalize("NFD", text)}) + "\n"
    for name, text in {"fr": "été à Genève", "de": "schöne Grüße", "en": "plain words"}.items()
)
HOST = platform.machine()
OTHER = {"x86_64": "aarch64", "aarch64": "x86_64"}[HOST]
NATIVE = f"{HOST}-linux-gnu/default/native"
TWO_LANES = {"char": ["default"]}
BUNDLED = REPOSITORY / "goldens" / "bundled"


class Tree:
    """The foreign tree, and ``tokparity`` run in it with a configuration for the occasion."""

    def __init__(self, path: Path, command: Command) -> None:
        self.path = path
        self.command = command

    def write(self, name: str, content: str | dict[str, Any]) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
        return path

    def run(self, configuration: dict[str, Any], *arguments: str, json: bool = True) -> Done:
        self.write("occasion.yaml", configuration)
        shown = ("--json",) if json else ()
        return self.command("run", "occasion.yaml", *shown, *arguments, cwd=self.path)


def adapter(**changes: object) -> dict[str, Any]:
    """The page's first configuration, with other keys changed."""
    return {**ADAPTER, **changes}


def own_main(**changes: object) -> dict[str, Any]:
    """The same with ``probe`` in place of ``adapter``, as the page says."""
    subject = {key: value for key, value in ADAPTER["subject"].items() if key != "adapter"}
    del subject["defines"]
    return {**ADAPTER, "subject": {**subject, "probe": "parity/probe.cpp"}, **changes}


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def keys(title: str) -> set[str]:
    cells = [row[0] for row in table(section(title), "key")]
    return {name for cell in cells for name in re.findall(r"`([\w-]+)`", cell)}


def causes(done: Done) -> set[str]:
    return {found["cause"] for found in done.report["findings"]}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory, tokparity: Command) -> Tree:
    path = tmp_path_factory.mktemp("foreign") / "tree"
    shutil.copytree(REPOSITORY / "tests" / "foreign", path)
    made = Tree(path, tokparity)
    made.write("parity/probe.cpp", OWN_MAIN)
    made.write("corpora/own.jsonl", OWN_CORPUS)
    made.write("corpora/decomposed.jsonl", DECOMPOSED)
    return made


def test_the_page_says_no_other_command() -> None:
    assert commands(PAGE) == ["tokparity run"]
    assert set(inline_commands(PAGE)) == {"tokparity bless", "tokparity doctor"}


def test_the_page_has_every_key_and_no_other() -> None:
    assert keys("The keys of `subject`") == set(SubjectModel.model_fields)
    assert keys("The other keys") == set(ConfigModel.model_fields) - {"subject"}


def test_the_page_has_the_keys_of_the_mappings_within() -> None:
    limits = next(row[1] for row in table(PAGE, "key") if row[0] == "`limits`")
    for name, field in LimitsModel.model_fields.items():
        assert f"`{name}` ({field.default:g})" in limits
    declaration = section("A declared deviation")
    for name in DeviationModel.model_fields:
        assert re.search(rf"^  (- |  ){name}: |`{name}`", declaration, re.MULTILINE), name


def test_a_foreign_tree_with_an_adapter_word_for_word(tree: Tree) -> None:
    tree.write("tokparity.yaml", blocks(PAGE, "yaml")[0])
    done = tree.command("run", cwd=tree.path)
    # Right about ASCII, so the control holds; the faults it has are no platform's, and not one.
    assert done.code == 1, done.err
    assert done.out.startswith("tokparity: NO parity (exit 1): 6 lanes, 1 tokenizer, 8 corpora\n")
    assert re.search(r"✗ unexplained \[\w+\]: bundled, encode, \d+ cases on all 6 lanes", done.out)
    assert done.out.count("✗ ") - done.out.count("; ✗ ") == 1
    assert "the subject does not offer decode: not compared" in done.out
    # On Latin words one fault is left, and it is named.
    done = tree.run(adapter(corpora=["corpora/decomposed.jsonl"], lanes=TWO_LANES))
    assert (done.code, causes(done)) == (1, {"normalizer-left-out"}), done.err


def test_the_command_that_a_finding_prints_shows_it_again(tree: Tree) -> None:
    """With a corpus and a tokenizer that are files, which have names in no other run."""
    shutil.copy(BUNDLED / "tokenizer.json", tree.write("my/tokenizer.json", ""))
    tree.write("tokparity.yaml", blocks(PAGE, "yaml")[0])
    typed = ["--corpus", "corpora/decomposed.jsonl", "--tokenizer", "my/tokenizer.json"]
    done = tree.command("run", "--lanes", NATIVE, *typed, cwd=tree.path)
    again = re.search(r"again: +tokparity (.*)$", done.out, re.MULTILINE)
    assert again is not None, done.err
    once_more = tree.command(*shlex.split(again[1]), "--json", cwd=tree.path)
    assert (once_more.code, causes(once_more)) == (1, {"normalizer-left-out"}), once_more.err
    (found,) = once_more.report["findings"]
    assert found["cases"] == ["decomposed/fr"]


def test_a_declared_fault_of_the_foreign_tree_passes(tree: Tree) -> None:
    (declared,) = DECLARED["deviations"]
    deviations = [{**declared, "tokenizers": ["bundled"]}]
    corpora = ["corpora/decomposed.jsonl"]
    done = tree.run(adapter(corpora=corpora, deviations=deviations, lanes=TWO_LANES))
    assert done.code == 0, done.err
    (found,) = done.report["findings"]
    assert (found["cause"], found["declared"]) == ("normalizer-left-out", True)


def test_the_sources_taken_away_are_taken_away(tree: Tree) -> None:
    subject = {**ADAPTER["subject"], "sources": ["src/tokenizer/*.cpp"]}
    done = tree.run(adapter(subject=subject), "--lanes", NATIVE)
    assert done.code == 4
    assert "multiple definition of `main'" in done.err


def test_a_glob_that_matches_nothing_is_an_error(tree: Tree) -> None:
    subject = {**ADAPTER["subject"], "sources": ["src/*.cpp"]}
    done = tree.run(adapter(subject=subject))
    assert done.code == 2
    assert "occasion.yaml: subject.sources[0]" in done.err


def test_an_unknown_key_names_the_nearest(tree: Tree) -> None:
    done = tree.run(adapter(toknizers=["bundled"]))
    assert done.code == 2
    assert "did you mean 'tokenizers'?" in done.err


def test_exactly_one_of_the_three_mains(tree: Tree) -> None:
    done = tree.run(adapter(subject={**ADAPTER["subject"], "probe": "parity/probe.cpp"}))
    assert done.code == 2
    assert "probe and adapter" in done.err


def test_your_own_main_and_a_corpus_of_your_own(tree: Tree) -> None:
    done = tree.run(own_main(corpora=["corpora/own.jsonl"], lanes=TWO_LANES))
    assert done.code == 0, done.err
    own = [cell for cell in done.report["cells"] if cell["corpus"] == "own"]
    assert [(cell["cases"], cell["pass"], cell["ungraded"]) for cell in own] == [(2, 1, 1)] * 2
    # The greeting is in no golden, and the report says whose word it went by.
    assert any("not in the golden" in limit for limit in done.report["limits"]), done.err


def test_a_false_trait_is_an_error(tree: Tree) -> None:
    false = OWN_CORPUS.replace('["nfc-stable"]', '["ascii"]')
    tree.write("corpora/false.jsonl", false)
    done = tree.run(own_main(corpora=["corpora/false.jsonl"]))
    assert done.code == 2
    assert "false.jsonl:1" in done.err
    assert "ascii" in done.err


def test_a_refusal_is_counted_apart(tree: Tree) -> None:
    refusing = 'throw tokparity::Unsupported("no NFC here");\n        auto tokenizer ='
    tree.write("parity/refusing.cpp", OWN_MAIN.replace("auto tokenizer =", refusing, 1))
    subject = {**own_main()["subject"], "probe": "parity/refusing.cpp"}
    done = tree.run(own_main(subject=subject, corpora=["smoke"]), "--lanes", NATIVE)
    # The one tokenizer asked for is refused, so nothing at all was compared.
    cells = done.report["cells"]
    assert cells
    assert all((cell["unsupported"], cell["fail"]) == (cell["cases"], 0) for cell in cells)
    assert "no NFC here" in done.err


def archive(tree: Tree, triple: str, compiler: str) -> None:
    place = tree.path / "third_party" / triple
    place.mkdir()
    made = place / "unicode.o"
    source = tree.path / "third_party" / "unicode.cpp"
    subprocess.run([compiler, "-O1", "-c", str(source), "-o", str(made)], check=True)
    ar = shutil.which("ar")
    assert ar is not None
    subprocess.run([ar, "rcs", str(place / "libunicode.a"), str(made)], check=True)


def test_the_right_archive_is_found_in_each_lane(tree: Tree) -> None:
    archive(tree, f"{HOST}-linux-gnu", "g++")
    archive(tree, f"{OTHER}-linux-gnu", f"{OTHER}-linux-gnu-g++")
    (link,) = re.findall(r"`link: (\[[^`]*\])`", PAGE.replace("\n", " "))
    defines = {**ADAPTER["subject"]["defines"], "ENGINE_UNICODE": None}
    subject = {**ADAPTER["subject"], "defines": defines}
    rest = {"corpora": ["digits"], "lanes": TWO_LANES}
    done = tree.run(adapter(subject={**subject, "link": yaml.safe_load(link)}, **rest))
    assert done.code == 0, done.err
    assert len(done.report["lanes"]) == 2
    # The define asks for what the archive has; without both, Roman numerals go wrong.
    done = tree.run(adapter(subject=subject, **rest))
    assert done.code == 4
    assert "unicode_is_number" in done.err
    assert tree.run(adapter(**rest)).code == 1


def test_a_declared_deviation_is_proven_and_its_end_is_noticed(
    tree: Tree, real_tokenizers: Path
) -> None:
    assert real_tokenizers.is_dir()
    without = {"name": "reference", "args": ["--without-nfc"]}
    rest = {"tokenizers": ["qwen3"], "corpora": ["combining_marks"]}
    undeclared = tree.run({"subject": without, **rest})
    assert (undeclared.code, causes(undeclared)) == (1, {"normalizer-left-out"})
    declared = tree.run({"subject": without, **rest, **DECLARED})
    assert declared.code == 0, declared.err
    (found,) = declared.report["findings"]
    assert (found["declared"], len(found["lanes"])) == (True, 6)
    assert found["reason"] == DECLARED["deviations"][0]["reason"]
    assert sum(cell["xfail"] for cell in declared.report["cells"]) == 6 * len(found["cases"])
    gone = tree.run({"subject": {"name": "reference"}, **rest, **DECLARED})
    assert gone.code == 1
    assert sum(cell["xpass"] for cell in gone.report["cells"]) == 6 * len(found["cases"])


def test_goldens_of_your_own(tree: Tree) -> None:
    configuration = own_main(corpora=["corpora/own.jsonl"], goldens="parity/goldens")
    tree.write("occasion.yaml", configuration)
    golden = tree.path / "parity" / "goldens" / "bundled" / "encodings.json"
    done = tree.command("bless", "occasion.yaml", cwd=tree.path)
    assert done.code == 0, done.err
    assert f"0 kept: {golden}" in done.out
    first = golden.read_bytes()
    assert "own/greeting" in {entry["id"] for entry in json.loads(first)["entries"]}
    assert tree.command("bless", "occasion.yaml", cwd=tree.path).code == 0
    assert golden.read_bytes() == first
    done = tree.run(configuration, "--lanes", NATIVE)
    assert done.code == 0, done.err
    assert not any("golden" in limit for limit in done.report["limits"])
    # It is searched first: one wrong id in it is noticed, and nothing is blessed over it.
    spoilt = json.loads(first)
    greeting = next(entry for entry in spoilt["entries"] if entry["id"] == "own/greeting")
    greeting["ids"][0] += 1
    golden.write_text(json.dumps(spoilt))
    assert tree.run(configuration, "--lanes", NATIVE).code == 5
    assert tree.command("bless", "occasion.yaml", cwd=tree.path).code == 5
    assert json.loads(golden.read_bytes()) == spoilt


def test_any_program(tree: Tree) -> None:
    (command,) = re.findall(r"`command: (\[[^`]*\])`", PAGE)
    words = yaml.safe_load(command)
    sources = ["parity/probe.cpp", "src/tokenizer/vocabulary.cpp", "src/tokenizer/tokenizer.cpp"]
    includes = ["-Iinclude", "-Ithird_party", f"-I{REPOSITORY / 'probes' / 'include'}"]
    build = ["g++", "-std=c++20", "-O2", *includes, *sources, "-o", "engine-probe"]
    subprocess.run(build, cwd=tree.path, check=True)
    real = tree.path / "engine-probe"
    script = f'#!/bin/sh\n[ "$1" = {words[1]} ] || exit 9\nshift\nexec {real} "$@"\n'
    tree.write(words[0], script).chmod(0o755)
    configuration = {"subject": {"name": "engine", "command": words}, "corpora": ["digits"]}
    done = tree.run(configuration)
    assert [lane["name"] for lane in done.report["lanes"]] == [NATIVE], done.err
    assert done.code == 1
    assert causes(done) == {"unexplained"}
    # No lane but that which it was built for, unless the file names one; then hello is held to it.
    assert tree.run(configuration, "--lanes", f"{HOST}-linux-gnu/unsigned/*").code == 2
    named = {**configuration, "lanes": [f"{HOST}-linux-gnu/unsigned/native"]}
    done = tree.run(named)
    assert done.code == 3
    assert "hello says char is 'signed'" in done.err or HOST != "x86_64"


def test_another_triple_is_a_file(tree: Tree) -> None:
    """The same target under another name: its own file, found and believed like ours."""
    text = (REPOSITORY / "toolchains" / f"{OTHER}-linux-gnu.yaml").read_text()
    ours = f"triple: {OTHER}-linux-gnu"
    assert ours in text
    tree.write(
        f"toolchains/{OTHER}-none-linux-gnu.yaml",
        text.replace(ours, f"triple: {OTHER}-none-linux-gnu"),
    )
    rest = {"toolchains": ["toolchains"], "corpora": ["smoke"]}
    lane = f"{OTHER}-none-linux-gnu/default/*"
    done = tree.run(own_main(**rest), "--lanes", lane)
    assert done.code == 0, done.err
    ran = [one["name"] for one in done.report["lanes"] if one["name"] != NATIVE]
    assert len(ran) == 1
    assert ran[0].startswith(f"{OTHER}-none-linux-gnu/default/qemu-")
    # A wrong fact is found by the first run.
    width = {"aarch64": ("113", "64"), "x86_64": ("64", "113")}[OTHER]
    wrong = re.sub(r"long_double_bits: \d+", f"long_double_bits: {width[1]}", text)
    tree.write(
        f"toolchains/{OTHER}-none-linux-gnu.yaml",
        wrong.replace(ours, f"triple: {OTHER}-none-linux-gnu"),
    )
    done = tree.run(own_main(**rest), "--lanes", lane)
    assert done.code == 3, done.err
    assert any("long_double_bits" in reason for reason in done.report["invalid"]), done.err


def test_doctor_says_what_another_triple_lacks(tree: Tree) -> None:
    text = (REPOSITORY / "toolchains" / "aarch64-linux-gnu.yaml").read_text()
    lacking = text.replace("aarch64-linux-gnu", "m68k-linux-gnu").replace("aarch64", "m68k")
    tree.write("further/m68k-linux-gnu.yaml", lacking)
    tree.write("occasion.yaml", adapter(toolchains=["further"]))
    done = tree.command("doctor", "occasion.yaml", "--lanes", "m68k*", cwd=tree.path)
    assert done.code == 4, done.err
    assert re.search(r"apt-get install .*g\+\+-m68k-linux-gnu", done.out)
