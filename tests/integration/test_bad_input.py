"""Bad input of every kind: an exit code, a message with place and remedy, nothing left over."""

import gzip
import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.cli import main
from tests.integration.awkward import (
    CONTROL,
    PROBE,
    SIGNED,
    TRIPLE,
    UNSIGNED,
    holding,
    read_only,
    small_disk,
    table,
    unfinished,
)
from tests.integration.conftest import REPOSITORY, TOKPARITY, Command, Done

BUNDLED = REPOSITORY / "goldens" / "bundled" / "tokenizer.json"
QUICK = ("--lanes", CONTROL, "--corpus", "smoke")
Here = Callable[..., Done]


@pytest.fixture
def here(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    cache: Path,
    tmp_path: Path,
) -> Here:
    """Run ``tokparity`` in this process, in ``tmp_path``: for what is refused before it starts."""

    def run(*arguments: str | Path) -> Done:
        monkeypatch.setattr(sys, "argv", ["tokparity", *map(str, arguments)])
        monkeypatch.setenv("TOKPARITY_CACHE", str(cache))
        monkeypatch.chdir(tmp_path)
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        handlers = [signal.getsignal(number) for number in numbers]
        try:
            with pytest.raises(SystemExit) as stop:
                main()
        finally:
            for number, handler in zip(numbers, handlers, strict=True):
                signal.signal(number, handler)
        out, err = capsys.readouterr()
        return Done(int(str(stop.value.code)), out, err)

    return run


def decent(done: Done) -> Done:
    """Whatever happened: no traceback, no bug of ours, nothing that a terminal would act upon."""
    everything = done.out + done.err
    assert done.code != 70, everything
    assert "Traceback" not in everything
    assert "a bug in tokparity" not in everything
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", everything), ascii(everything)
    return done


def refused(done: Done, code: int, *words: str) -> str:
    """One error of ours with this exit code, in which all these words stand."""
    decent(done)
    assert done.code == code, done.out + done.err
    assert done.err.lstrip("\n").startswith("tokparity: "), done.err
    assert done.out == ""
    for word in words:
        assert word in done.err, done.err
    return done.err


# --- configuration -----------------------------------------------------------------------------

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n"
    for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tokeniser: [x]\n", (": tokeniser:", "unknown key", "did you mean 'tokenizers'?")),
        ("subject: {nme: x}\n", (": subject.nme:", "did you mean 'name'?")),
        ("limits: {case_second: 1}\n", (": limits.case_second:", "did you mean 'case_seconds'?")),
        ("- a\n- b\n", ("the list", "expected: a mapping")),
        ("just words\n", ("the text 'just words'", "expected: a mapping")),
        ("subject: [1]\n", (": subject:", "expected: a mapping")),
        ("jobs: many\n", (": jobs:", "'many'", "expected: a whole number")),
        ("jobs: 0\n", (": jobs:", "expected: more than 0")),
        ("tokenizers: bundled\n", (": tokenizers:", "expected: a list")),
        ("tokenizers: []\n", (": tokenizers:", "expected: at least one item")),
        ("tokenizers: [on]\n", (": tokenizers.0:", "quote the word")),
        ("lanes: {char: signed}\n", (": lanes.char:", "expected: a list")),
        ("lanes: []\n", (": lanes:", "the list []", "expected: at least one item")),
        ("lanes: {}\n", (": lanes:", "the mapping {}", "expected: at least one item")),
        ("lanes: 3\n", (": lanes:", "expected: text or a list or a mapping")),
        ("lanes: [a/b]\n", (": lanes:", "'a/b' is not a lane", "tokparity lanes")),
        ("lanes: defualt\n", (": lanes", "'defualt'", "expected: default, full")),
        ("limits: {case_seconds: .inf}\n", (": limits.case_seconds:", "expected: at most")),
        (
            "limits: {case_seconds: .nan}\n",
            (": limits.case_seconds:", "number nan", "at most"),
        ),
        ("operations: [encod]\n", (": operations.0:", "did you mean 'encode'?")),
        ("deviations: [{cause: crsh, reason: r}]\n", ("deviations[0].cause", "'crash'")),
        ("toolchains: [nowhere]\n", (": toolchains.0:", "no such directory", "toolchain files")),
        ("corpora: [smok]\n", (": corpora:", "'smoke'?")),
        ("tokenizers: [qwen9]\n", (": tokenizers:", "did you mean 'qwen3'?")),
        ("2026-01-31: 1\n", ("unknown key '2026-01-31'",)),
        ("1: 2\n", ("expected: keys that are text",)),
        ("a: [1\nb: 2\n", (":2:2:", "is not YAML")),
        ("a: 1\n\tb: 2\n", (":2:1:", "is not YAML")),
        ("jobs: 1\njobs: 2\n", (":2:1:", "appears twice")),
        ("jobs: " + "9" * 5000 + "\n", (":1:7:", "is not YAML", "digits")),
        ("a: !!python/object/apply:os.system [id]\n", (":1:4:", "is not YAML")),
        ("a: *nothing\n", (":1:4:", "undefined alias")),
        ("{a: " * 5000, ("levels deep",)),
        (BOMB, ("unknown key 'a'",)),
        (b"tokenizers: [\xff]\n", ("is not UTF-8 at byte 13",)),
        ("tokenizers: [bundled]\n".encode("utf-16"), ("is not UTF-8",)),
        (b"tokenizers: [a\0b]\n", ("is not YAML", "position 14")),
        ('cache: "a\\0b"\n', (":1:8:", "NUL")),
        ('"\\e[31mred": 1\n', ("unknown key '\\u{1b}[31mred'",)),
        ('subject: {name: "\\e]0;x\\a", probe: "\\e[2J"}\n', (": subject.probe:", "\\u{1b}[2J")),
        (
            "subject: {name: s, probe: none.cpp}\n",
            (": subject.probe:", "none.cpp", "existing file"),
        ),
        (
            "subject: {name: s, probe: tokparity.yaml, sources: ['no/*.cpp']}\n",
            (": subject.sources[0]:", "'no/*.cpp' matches no file", "a path or glob"),
        ),
        ("subject: {name: s, command: [./none]}\n", (": subject.command:", "none", "existing")),
        ("subject: {name: s, adapter: lama_cpp}\n", (": subject.adapter:", "no adapter")),
        ("subject: {name: s}\n", (": subject:", "no main", "exactly one of")),
        ("tokenizers: [./loop.json]\n", ("loop.json", "cannot be read", "a tokenizer.json")),
        ("corpora: [~nobody-at-all/c.jsonl]\n", ("c.jsonl", "cannot be read", "a corpus")),
    ],
)
def test_a_wrong_configuration(
    text: str | bytes, words: tuple[str, ...], here: Here, tmp_path: Path
) -> None:
    (tmp_path / "loop.json").symlink_to("loop.json")
    path = tmp_path / "tokparity.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    refused(
        here("run", path),
        2,
        str(path) if words[0].startswith((":", "the ", "unknown", "is ")) else "",
        *words,
    )


@pytest.mark.parametrize("text", ["", "# nothing\n", "null\n", "\ufeffjobs: 1\n"])
def test_an_empty_configuration_is_the_defaults(text: str, here: Here, tmp_path: Path) -> None:
    (tmp_path / "tokparity.yaml").write_text(text, encoding="utf-8")
    assert decent(here("lanes")).code == 0


def test_a_configuration_that_is_no_file(here: Here, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    os.mkfifo(tmp_path / "pipe.yaml")
    refused(here("run", "empty"), 2, "empty/tokparity.yaml", "No such file", "a YAML file")
    refused(here("run", "none.yaml"), 2, "none.yaml", "No such file", "a YAML file")
    refused(here("run", "pipe.yaml"), 2, "pipe.yaml", "no ordinary file")
    refused(here("run", "/dev/zero"), 2, "/dev/zero", "no ordinary file")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--lanes", "zzz*"), ("'zzz*' selects no lane", "tokparity lanes")),
        (("--lanes", "\x1b[31m"), ("\\u{1b}[31m", "tokparity lanes")),
        (("--case", "smoke/wrd"), ("no case 'smoke/wrd'", "'smoke/word'?")),
        (("--case", "nope"), ("no case 'nope'", "CORPUS/ID")),
        (("--corpus", "smok"), ("no corpus 'smok'", "'smoke'?")),
        (("--tokenizer", "gpt22"), ("'gpt22'", "did you mean 'gpt2'?")),
    ],
)
def test_a_wrong_choice(arguments: tuple[str, ...], words: tuple[str, ...], here: Here) -> None:
    refused(here("run", *arguments), 2, *words)


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "--jobs", "0"),
        ("run", "--nope"),
        ("nope",),
        ("run", "--\x1b[31m"),
        ("\x1b[31m",),
        ("run", "a.yaml", "\x1b[31m"),
    ],
)
def test_a_wrong_command_line(arguments: tuple[str, ...], here: Here) -> None:
    done = decent(here(*arguments))
    assert done.code == 2
    assert "--help" in done.err


# --- tokenizers --------------------------------------------------------------------------------

WORDPIECE = {
    "version": "1.0",
    "added_tokens": [],
    "pre_tokenizer": {"type": "Whitespace"},
    "model": {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
        "vocab": {"[UNK]": 0, "a": 1},
    },
}
DEEP = 100_000_000


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b'{"version": "1.0", "model": {"ty', (":", "cut off", "line 1", "fetch it again")),
        (b'{"version": "1.0", "model": {"ty}', (":1:", "is not JSON", "fetch it again")),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:aa\n", ("LFS", "git lfs pull")),
        (b"[" * DEEP, ("is not a JSON object", "a tokenizer.json")),
        (b'{"a":' + b"[" * DEEP + b"}", ("nested too deeply", "a tokenizer.json")),
        (b'{"a":' * (DEEP // 5) + b"}", ("nested too deeply", "a tokenizer.json")),
        (b"", ("is empty", "a tokenizer.json")),
        (b"\x89PNG\r\n\x1a\n\0\0", ("is not a JSON object", "a tokenizer.json")),
        (b"{}", ("has no 'model'", "a tokenizer.json")),
        (b'{"model": {"type": "Foo"}}', ("of a kind", "tokenizers 0.22.2")),
    ],
    ids=lambda value: ascii(value[:20]) if isinstance(value, bytes) else "",
)
def test_a_broken_tokenizer(
    data: bytes, words: tuple[str, ...], here: Here, tmp_path: Path
) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(data)
    started = time.monotonic()
    config = tmp_path / "tokparity.yaml"
    config.write_text(f"subject: {{name: p, command: [{sys.executable}, none.py]}}\n")
    refused(here("run", *QUICK, "--tokenizer", path), 2, str(path), *words)
    assert time.monotonic() - started < 20


def test_a_tokenizer_that_is_no_file(here: Here, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    with (tmp_path / "sparse.json").open("wb") as file:
        file.truncate(2 << 30)
    for path, words in (
        ("pipe.json", "no ordinary file"),
        ("/dev/zero", "no ordinary file"),
        (str(tmp_path), "Is a directory"),
        ("none.json", "No such file"),
        ("sparse.json", "more than any tokenizer.json"),
    ):
        refused(here("run", "--tokenizer", path), 2, Path(path).name, words, "expected: ")


def probing(tmp_path: Path, mode: str = "healthy", more: str = "") -> Path:
    """A configuration whose subject is the awkward probe, on the three native lanes."""
    command = json.dumps([sys.executable, str(PROBE), mode, str(tmp_path)])
    path = tmp_path / f"{mode}.yaml"
    path.write_text(
        f"subject: {{name: awkward, command: {command}}}\n"
        f"lanes: [{CONTROL}, {SIGNED}, {UNSIGNED}]\n"
        "operations: [encode]\n"
        "corpora: [smoke]\n"
        "limits: {case_seconds: 1, load_seconds: 5}\n" + more
    )
    return path


REFUSING = """
import json, sys
print("tokparity/1", json.dumps({"subject": "picky", "operations": [],
      "refused": "the model is \\u001b[31mWordPiece"}), flush=True)
"""


def test_a_tokenizer_that_the_subject_refuses_is_its_own_column(
    tokparity: Command, tmp_path: Path
) -> None:
    (tmp_path / "wordpiece.json").write_text(json.dumps(WORDPIECE))
    (tmp_path / "picky.py").write_text(
        "import sys\n"
        "if 'wordpiece' not in sys.argv[-1]:\n"
        f"    import runpy; sys.argv[1:1] = ['healthy', {str(tmp_path)!r}]\n"
        f"    runpy.run_path({str(PROBE)!r}, run_name='__main__')\n"
        "    sys.exit()\n" + REFUSING
    )
    text = (
        f"subject: {{name: picky, command: [{sys.executable}, ./picky.py]}}\n"
        "tokenizers: [bundled, ./wordpiece.json]\ncorpora: [smoke]\noperations: [encode]\n"
    ).replace("./picky.py", str(tmp_path / "picky.py"))
    config = tmp_path / "tokparity.yaml"
    config.write_text(text)
    done = decent(tokparity("run", config, "--json"))
    assert done.code == 1, done.err
    cells = {cell["tokenizer"]: cell for cell in done.report["cells"]}
    assert cells["wordpiece"]["unsupported"] == cells["wordpiece"]["cases"] > 0
    assert cells["bundled"]["pass"] == cells["bundled"]["cases"]
    assert "WordPiece" in done.err
    config.write_text(
        text + "deviations: [{cause: unsupported, tokenizers: [wordpiece], reason: BPE alone}]\n"
    )
    done = decent(tokparity("run", config, "--json"))
    assert done.code == 0, done.err


# --- corpora -----------------------------------------------------------------------------------

GOOD = '{"id": "a", "text": "x"}\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (GOOD + "nope\n", (":2:", "is not JSON", "one object a line")),
        (GOOD + GOOD, (":2:", "'a' appears twice", "line 1")),
        ('{"id": "a", "text": "x", "traits": ["nfd"]}\n', (":1:", "'nfd'", "false", "computed")),
        ('{"id": "a", "text": "x", "traits": ["zzz"]}\n', (":1:", "'zzz'", "unknown", "'x-zzz'")),
        ('{"id": "a", "text": "x", "trait": []}\n', (":1:", "'trait'", "did you mean 'traits'?")),
        ('{"id": "a", "text": "\\ud800"}\n', (":1:", "lone surrogate", "'hex'")),
        ('{"id": "a", "text": 1}\n', (":1:", "'text'", "a string")),
        ('{"id": "a", "hex": "zz"}\n', (":1:", "hexadecimal")),
        ('{"id": "a"}\n', (":1:", "neither", "exactly one of them")),
        ("[" * 100_000 + "\n", (":1:", "nested too deeply")),
        ("", ("holds no case", "one JSON object a line")),
        (" \n\n", ("holds no case", "one JSON object a line")),
        (b'{"id": "a", "text": "\xff"}\n', (":1:", "is not UTF-8", "hexadecimal")),
        (gzip.compress(GOOD.encode(), mtime=0), ("is compressed", "gunzip")),
        ('{"id": "\\u001b[31m", "text": "x"}\n', (":1:", "x1b[31m", "letters, digits")),
        ('{"id": "a", "text": "x", "\\u001b[2J": 1}\n', (":1:", "x1b[2J", "id, text")),
        ('{"id": "' + "a" * 100_000 + '", "text": "x"}\n', (":1:", "at most 200")),
    ],
    ids=lambda value: ascii(value[:40]) if isinstance(value, str | bytes) else "",
)
def test_a_broken_corpus(
    text: str | bytes, words: tuple[str, ...], here: Here, tmp_path: Path
) -> None:
    path = tmp_path / "c.jsonl"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert len(refused(here("run", "--corpus", path), 2, str(path), *words)) < 2000


def test_a_corpus_that_is_no_file(here: Here, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    for path, words in (
        ("none.jsonl", "No such file"),
        (str(tmp_path), "Is a directory"),
        ("pipe.jsonl", "no ordinary file"),
        ("/dev/zero", "no ordinary file"),
    ):
        refused(here("run", "--corpus", path), 2, Path(path).name, words, "expected: ")


# --- goldens and fetching ----------------------------------------------------------------------


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A goldens directory of one's own with the bundled tokenizer's golden, and its config."""
    shutil.copytree(REPOSITORY / "goldens" / "bundled", tmp_path / "goldens" / "bundled")
    return probing(tmp_path, more="goldens: goldens\n")


def altered(config: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    path = config.parent / "goldens" / "bundled" / "encodings.json"
    document = json.loads(path.read_bytes())
    change(document)
    path.write_text(json.dumps(document))
    return path


def test_a_golden_for_another_tokenizer(own: Path, here: Here) -> None:
    path = altered(own, lambda golden: golden.update(tokenizer_sha256="0" * 64))
    refused(here("run", own, *QUICK), 5, str(path), "another tokenizer", "expected: ")


def test_a_golden_of_another_version_of_the_library(own: Path, here: Here) -> None:
    path = altered(own, lambda golden: golden.update(oracle="tokenizers 0.19.1"))
    refused(here("run", own, *QUICK), 5, str(path), "0.19.1", "pip install tokenizers==0.19.1")


def test_an_altered_entry_is_drift(own: Path, here: Here) -> None:
    altered(own, lambda golden: golden["entries"][0]["ids"].append(7))
    done = decent(here("run", own, *QUICK))
    assert done.code == 5, done.out + done.err
    assert "gives other ids than the golden" in done.out
    assert "25/26" in done.out  # and the lanes' results are there


def test_a_golden_that_is_no_json(own: Path, here: Here) -> None:
    path = own.parent / "goldens" / "bundled" / "encodings.json"
    path.write_bytes(path.read_bytes()[:1000])
    refused(here("run", own, *QUICK), 5, str(path), "is not JSON", "restore it")


def test_blessing_refuses_to_change_what_is_there(own: Path, here: Here) -> None:
    path = altered(own, lambda golden: golden["entries"][0]["ids"].append(7))
    before = path.read_bytes()
    refused(here("bless", own, "--corpus", "smoke"), 5, str(path))
    assert path.read_bytes() == before
    assert not list(path.parent.glob(".partial-*"))


def test_fetching_an_unknown_name(here: Here) -> None:
    refused(here("fetch", "qwen33"), 2, "no tokenizer 'qwen33'", "'qwen3'?")
    refused(here("fetch", "\x1b[31m"), 2, "\\u{1b}[31m", "one of")


def test_fetching_what_is_not_as_pinned_keeps_nothing(here: Here, tmp_path: Path) -> None:
    place = tmp_path / "goldens" / "mine"
    place.mkdir(parents=True)
    shutil.copy(BUNDLED, place / "tokenizer.json")
    wrong = hashlib.sha256(b"another").hexdigest()
    (place / "source.yaml").write_text(
        "registry: bundled\n"
        f"members: [{{path: tokenizer.json, sha256: {wrong}}}]\n"
        f"sha256: {wrong}\nbytes: 10\nlicence: none\n"
    )
    config = tmp_path / "tokparity.yaml"
    config.write_text("goldens: goldens\n")
    cache = tmp_path / "own cache"
    done = here("fetch", "mine", "--config", config, "--cache", cache)
    refused(done, 5, "mine", "has sha256", wrong)
    assert not [path for path in cache.rglob("*") if path.is_file()]


# --- compilers and machines --------------------------------------------------------------------


def toolchains(directory: Path, compiler: str) -> Path:
    """A directory of toolchains in which the host's compiler is another program."""
    directory.mkdir()
    text = (REPOSITORY / "toolchains" / f"{TRIPLE}.yaml").read_text(encoding="utf-8")
    changed = text.replace("program: g++,", f"program: {json.dumps(compiler)},")
    assert changed != text
    (directory / f"{TRIPLE}.yaml").write_text(changed, encoding="utf-8")
    return directory


def test_a_missing_compiler(here: Here, tmp_path: Path) -> None:
    config = table(tmp_path / "subject")
    toolchains(config.parent / "toolchains", "no-such-g++")
    config.write_text(config.read_text() + "toolchains: [toolchains]\n")
    refused(here("run", config), 4, CONTROL, "no-such-g++", "apt-get install -y g++")


def test_a_source_that_does_not_compile(tokparity: Command, tmp_path: Path) -> None:
    config = table(tmp_path / "subject")
    (config.parent / "probe.cpp").write_text("int main( { // \x1b[31m\n")
    done = tokparity("run", config, "--lanes", CONTROL)
    refused(done, 4, CONTROL, "probe.cpp:1:", "error", "the command was", "g++")


def test_without_cross_compiler_the_native_lanes_run_and_the_default_ones_say_what_to_install(
    tokparity: Command, tmp_path: Path
) -> None:
    reachable = tmp_path / "bin"
    reachable.mkdir()
    for directory in os.environ["PATH"].split(":"):
        for program in Path(directory).glob("*"):
            foreign = re.match(r"qemu-|(aarch64|x86_64)-linux-gnu-", program.name)
            if not foreign and not (reachable / program.name).is_symlink():
                (reachable / program.name).symlink_to(program)
    poor = {"PATH": str(reachable)}
    config = table(tmp_path / "subject")
    config.write_text(config.read_text().replace("lanes: [", "lanes: default #"))
    install = "apt-get install -y g++-"
    done = tokparity("run", config, environment=poor)
    refused(done, 4, "3 of 6 lanes cannot run here", install, "qemu-user")
    doctor = decent(tokparity("doctor", config, environment=poor))
    assert doctor.code == 4
    assert install in doctor.out
    done = decent(tokparity("run", config, "--lanes", "*/native", environment=poor))
    assert done.code == 0, done.out + done.err


# --- disks -------------------------------------------------------------------------------------


def started(prefix: list[str], *arguments: str | Path) -> Done:
    done = subprocess.run(
        [*prefix, str(TOKPARITY), *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def test_a_full_disk_while_building_and_again_with_room(tmp_path: Path) -> None:
    config, cache = table(tmp_path / "subject"), tmp_path / "small"
    arguments = ("run", config, "--lanes", CONTROL, "--cache", cache)
    with small_disk(cache, 1500) as prefix:
        refused(started(prefix, *arguments), 4, "--cache")
        assert not unfinished(cache)
        if not prefix:
            subprocess.run(["/usr/bin/mount", "-o", "remount,size=64m", str(cache)], check=True)
        done = decent(started([], *arguments))
        assert done.code == 0, done.out + done.err


def test_a_full_disk_before_anything(tmp_path: Path) -> None:
    config, cache = probing(tmp_path), tmp_path / "small"
    with small_disk(cache, 4) as prefix:
        if prefix:
            prefix[-1] = "--fsize=0"
        else:
            (cache / "filler").write_bytes(bytes(4096))
        refused(started(prefix, "run", config, "--cache", cache), 4, str(cache), "--cache")
        assert not unfinished(cache)


def test_results_that_cannot_be_stored_are_reported_all_the_same(
    tokparity: Command, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "results").write_text("a file where a directory belongs")
    done = decent(tokparity("run", probing(tmp_path), "--lanes", CONTROL, "--cache", cache))
    assert done.code == 0, done.out + done.err
    assert "26/26" in done.out
    assert "results could not be stored for the next run" in done.out


def test_a_read_only_cache_and_report_directory(here: Here, tmp_path: Path) -> None:
    config, place = probing(tmp_path), tmp_path / "locked"
    with read_only(place):
        refused(here("run", config, "--cache", place / "c"), 4, str(place), "--cache DIR")
        refused(here("run", config, "--out", place / "o"), 4, str(place), "--out DIR")
    refused(here("run", config, "--out", config), 4, str(config), "--out DIR")
    refused(here("run", config, "--cache", config), 4, str(config), "--cache DIR")


# --- probes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "code", "words"),
    [
        ("answers-early", 3, "and then"),
        ("answers-twice", 3, "encode of smoke/two-words: answered 'ok 1' and then"),
        ("leaves-one-out", 3, "encode of smoke/two-words: gave no answer"),
        ("chats", 3, "encode of smoke/two-words: answered 'debug: "),
        ("never-reads", 3, "answered none of its first"),
        ("closes-stdin", 3, "answered none of its first"),
        ("no-hello", 3, "the first line is no hello"),
        ("says-nothing", 3, "no hello within 5 s"),
        ("contradicts", 3, "hello says arch is 'vax'"),
        ("exits-at-load", 3, "exit status 1 before hello; stderr ends: 'cannot find my data"),
        ("crashes-at-load", 1, "SIGSEGV"),
        ("floods-stderr", 0, "parity"),
    ],
)
def test_a_probe_that_misbehaves_costs_no_other_lane_its_results(
    mode: str, code: int, words: str, tokparity: Command, tmp_path: Path
) -> None:
    config = probing(tmp_path, mode)
    done = decent(tokparity("run", config, "--jobs", "1", "--json", "--lanes", f"{TRIPLE}/*d*/*"))
    assert done.code == code, done.err
    assert words in done.err
    control = [cell for cell in done.report["cells"] if cell["lane"] == CONTROL]
    assert [cell["pass"] for cell in control] == [cell["cases"] for cell in control] != []
    assert not holding(tmp_path)


# --- interruptions -----------------------------------------------------------------------------


def under_way(cache: Path, *arguments: str | Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [str(TOKPARITY), *map(str, arguments), "--cache", str(cache)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def interrupted(run: "subprocess.Popen[str]", number: int, times: int = 1) -> None:
    for _ in range(times):
        run.send_signal(number)
        time.sleep(0.02)
    out, err = run.communicate(timeout=30)
    refused(Done(run.returncode, out, err), 130, "interrupted", "kept and reused")


def wait_until(happened: Callable[[], object], run: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + 120
    while not happened():
        assert run.poll() is None, run.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("number", "times"), [(signal.SIGINT, 1), (signal.SIGTERM, 1), (signal.SIGINT, 5)]
)
def test_an_interrupted_build_leaves_nothing(number: int, times: int, tmp_path: Path) -> None:
    config, cache = table(tmp_path / "subject"), tmp_path / "cache"
    compiler = tmp_path / "slow-compiler"
    compiler.write_text(
        '#!/bin/sh\ncase "$*" in *--version*) echo slow 1;; *-print-*) echo ld;;\n'
        f'*) touch "{tmp_path}/compiling"; : > half.part; sleep 600; esac\n'
    )
    compiler.chmod(0o755)
    toolchains(config.parent / "toolchains", str(compiler))
    config.write_text(config.read_text() + "toolchains: [toolchains]\n")
    run = under_way(cache, "run", config, "--lanes", CONTROL)
    wait_until((tmp_path / "compiling").exists, run)
    interrupted(run, number, times)
    assert not holding(tmp_path)
    assert [path for path in unfinished(cache) if "half.part" not in path] == []


def test_an_interrupted_lane_keeps_what_the_others_finished(tmp_path: Path) -> None:
    config, cache = table(tmp_path / "subject"), tmp_path / "cache"
    hold, told = config.parent / "hold", config.parent / "told"
    hold.touch()
    run = under_way(cache, "run", config, "--jobs", "1")
    wait_until(told.exists, run)
    interrupted(run, signal.SIGTERM)
    assert not holding(tmp_path)
    assert not unfinished(cache)
    hold.unlink()
    again = under_way(cache, "run", config)
    out, err = again.communicate(timeout=120)
    assert again.returncode == 0, out + err
    assert "3 probes unchanged, 2 of 3 lane runs reused, 1 of 1 oracle check reused" in out


def test_an_interrupted_oracle_leaves_nothing(tmp_path: Path) -> None:
    corpus, cache = tmp_path / "long.jsonl", tmp_path / "cache"
    words = "the quick brown fox 123 \u0915\u094d\u0937 " * 4000
    corpus.write_text(
        "".join(json.dumps({"id": f"c{n}", "text": f"{n} {words}"}) + "\n" for n in range(40))
    )
    run = under_way(cache, "run", probing(tmp_path), "--corpus", corpus, "--lanes", CONTROL)
    wait_until(lambda: list(cache.glob("run-*")), run)
    interrupted(run, signal.SIGINT)
    assert not holding(tmp_path)
    assert not unfinished(cache)


def test_an_interrupt_is_one_though_nobody_hears_of_it(tmp_path: Path) -> None:
    """As in `tokparity run 2>&1 | less`, where Ctrl-C ends the reader too."""
    cache = tmp_path / "cache"
    run = under_way(cache, "run", probing(tmp_path, "says-nothing"), "--lanes", CONTROL)
    wait_until(lambda: list(cache.glob("run-*")), run)
    assert run.stderr is not None
    run.stderr.close()
    run.send_signal(signal.SIGINT)
    assert run.wait(timeout=30) == 130
    assert not holding(tmp_path)


# --- places and surroundings -------------------------------------------------------------------


def test_a_place_of_spaces_quotes_and_other_letters(tokparity: Command, tmp_path: Path) -> None:
    place = tmp_path / 'it\'s "my" $HOME \u00e9\u0939 &;#'
    config = table(place / "sub ject")
    done = decent(
        tokparity("run", config, "--lanes", CONTROL, "--cache", place / "ca che", "--out", place)
    )
    assert done.code == 0, done.out + done.err
    assert json.loads((place / "report.json").read_bytes())["verdict"] == "pass"


def test_two_runs_at_once_in_one_cache(tmp_path: Path) -> None:
    config, cache = table(tmp_path / "subject"), tmp_path / "cache"
    runs = [under_way(cache, "run", config, "--lanes", CONTROL) for _ in range(2)]
    for run in runs:
        out, err = run.communicate(timeout=200)
        assert decent(Done(run.returncode, out, err)).code == 0, out + err
    assert not unfinished(cache)


def test_hostile_names_are_shown_and_never_sent(tokparity: Command, tmp_path: Path) -> None:
    evil = "\x1b]0;pwned\x07\x1b[2J\u202e"
    tokenizer = tmp_path / f"{evil}.json"
    shutil.copy(BUNDLED, tokenizer)
    corpus = tmp_path / f"{evil}.jsonl"
    corpus.write_text(json.dumps({"id": "a", "text": evil, "source": evil, "catches": evil}))
    config = probing(tmp_path, "crashes-at-load")
    arguments = ("--tokenizer", tokenizer, "--corpus", corpus, "--out", tmp_path / "o")
    for more in ((), ("--json",)):
        (tmp_path / "lanes").unlink(missing_ok=True)
        done = decent(tokparity("run", config, *arguments, *more))
        assert done.code in (1, 3), done.out + done.err
        assert "\u202e" not in done.out + done.err
    for name in ("report.json", "report.txt", "report.md"):
        kept = (tmp_path / "o" / name).read_text(encoding="utf-8")
        assert "\x1b" not in kept
        assert "\u202e" not in kept


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("lanes | true", 141),
        ("run CONFIG --lanes LANE | true", 141),
        ("lanes > /dev/full", 4),
        ("run CONFIG --lanes LANE > /dev/full", 4),
        ("run CONFIG --lanes LANE >&-", 0),
        ("run CONFIG --lanes LANE 2>&-", 0),
        ("run CONFIG --lanes LANE <&-", 0),
        ("run none.yaml 2>&-", 2),
        ("run none.yaml 2> /dev/full", 2),
    ],
)
def test_streams_that_are_closed_full_or_gone(
    words: str, code: int, cache: Path, tmp_path: Path
) -> None:
    words = words.replace("CONFIG", shlex.quote(str(probing(tmp_path)))).replace("LANE", CONTROL)
    done = subprocess.run(
        ["/bin/bash", "-c", f"{shlex.quote(str(TOKPARITY))} {words}; exit ${{PIPESTATUS[0]}}"],
        cwd=tmp_path,
        env={**os.environ, "TOKPARITY_CACHE": str(cache)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert decent(Done(done.returncode, done.stdout, done.stderr)).code == code, done.stderr


@pytest.mark.parametrize(
    "surroundings",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"TERM": "dumb", "COLUMNS": "1"},
    ],
)
def test_a_terminal_that_knows_little(
    surroundings: dict[str, str], tokparity: Command, tmp_path: Path
) -> None:
    config = probing(tmp_path, "crashes-at-load")
    done = decent(tokparity("run", config, "--jobs", "1", environment=surroundings))
    assert done.code == 1, done.err
    assert "SIGSEGV" in done.out


def test_nowhere_to_live(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": ""}
    gone = tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(
        [
            "/bin/sh",
            "-c",
            f"rmdir {shlex.quote(str(gone))}; exec {shlex.quote(str(TOKPARITY))} lanes",
        ],
        cwd=gone,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    words = ("current directory", "remedy: cd")
    refused(Done(done.returncode, done.stdout, done.stderr), 2, *words)
