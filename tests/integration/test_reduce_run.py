"""``tokparity reduce`` on real probes: what is left, what it shows, and how many questions."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest

from tests.integration.awkward import CONTROL, UNSIGNED
from tests.integration.conftest import REPOSITORY, TOKPARITY, Command, Done

SUBJECTS = REPOSITORY / "tests" / "subjects"
ACUTE = "\u0301"
# What a planted subject's config selects: the control, and one lane under an emulator.
TWO = 2

PROBE = """\
import json, os, signal, sys, time
from pathlib import Path
from tokenizers import Tokenizer
loaded = Tokenizer.from_file(sys.argv[1])
here = Path(__file__).parent
if (here / "broken").exists():
    sys.exit("broken")
print('tokparity/1 {{"subject":"s","operations":["encode","decode"]}}', flush=True)
for line in sys.stdin:
    operation, _, word = line.rstrip("\\n").partition(" ")
    if operation == "decode":
        text = loaded.decode([int(one) for one in word.split()], skip_special_tokens=False)
        data = text.encode()
    elif operation == "encode":
        data = bytes.fromhex(word)
        text = data.decode("utf-8", "replace")
        ids = loaded.encode(text, add_special_tokens=False).ids
    else:
        print("unsupported", flush=True)
        continue
{hook}
    answer = [data.hex()] if operation == "decode" else map(str, ids)
    print(" ".join(["ok", *answer]), flush=True)
"""


def scripted(tmp_path: Path, hook: str, more: str = "operations: [encode]") -> Path:
    """Write a subject that answers as the oracle does, but for ``hook``; return its config."""
    script = tmp_path / "probe.py"
    script.write_text(PROBE.format(hook=indent(dedent(hook).strip(), "    ")))
    config = tmp_path / "tokparity.yaml"
    config.write_text(
        f"subject: {{name: scripted, command: [{sys.executable}, {script}]}}\n"
        f"corpora: [smoke]\n{more}\n"
    )
    return config


def corpus(tmp_path: Path, **texts: str) -> Path:
    path = tmp_path / "long.jsonl"
    lines = [json.dumps({"id": name, "text": text}) for name, text in texts.items()]
    path.write_text("\n".join(lines) + "\n")
    return path


def prose(size: int, seed: int = 5) -> list[str]:
    """A text without a combining mark, in which nothing is wrong."""
    letters = random.Random(seed)  # noqa: S311 - a text to cut up, no secret
    return [letters.choice("abcdefgh ijk. lmno\u00e9\u4e2d") for _ in range(size)]


def reduced(done: Done, lanes: int = 1) -> dict[str, Any]:
    """The reduced case of a command that ended well, every promise of it held against itself."""
    assert done.code == 0, done.err or done.out
    found: dict[str, Any] = json.loads(done.out)
    assert found["confirmed"]
    assert found["stopped"] is None
    assert found["minimal"]
    assert len(found["lanes"]) == lanes == len(found["observed"])
    assert set(found["questions"]) == set(found["lanes"])
    rest = iter(bytes.fromhex(found["original"]["hex"]))
    assert all(byte in rest for byte in bytes.fromhex(found["hex"])), "not what stood in the case"
    return found


def again(tokparity: Command, found: dict[str, Any], *arguments: str | Path) -> Done:
    """Reduce what was reduced: there is nothing to take away any more."""
    return tokparity("reduce", "--hex", found["hex"], *arguments, "--json")


# --- planted subjects --------------------------------------------------------------------------


def test_ten_thousand_characters_end_at_the_marks_smallest_context(
    tokparity: Command, tmp_path: Path
) -> None:
    units = prose(10_000)
    units[7300:7302] = ["e", ACUTE]
    case = corpus(tmp_path, one="".join(units))
    subject = SUBJECTS / "nfc-left-out" / "tokparity.yaml"
    found = reduced(tokparity("reduce", "long/one", subject, "--corpus", case, "--json"), lanes=TWO)
    assert found["text"] == "e" + ACUTE
    assert found["cause"] == "normalizer-left-out"
    assert found["unit"] == "character"
    assert max(found["questions"].values()) < 200
    assert len(found["expected"]) == 1
    assert {len(ids) for ids in found["observed"].values()} == {3}


PLANTED = [
    ("char-compared-with-zero", "multilingual/fr", "char-signedness", 1),
    ("crash-on-one", "public_bugs/new-emoji", "crash", 3),
    ("marks-capped", "public_bugs/acute-40", "marks-capped", None),
    ("nul-ends-text", "byte_edges/nul-last", "nul-ends-text", None),
    ("last-byte-dropped", "public_bugs/contraction-upper", "last-byte-dropped", 1),
]


@pytest.mark.parametrize(("name", "case", "cause", "left"), PLANTED, ids=[p[0] for p in PLANTED])
def test_a_planted_subject_keeps_its_cause(
    name: str, case: str, cause: str, left: int | None, tokparity: Command
) -> None:
    subject = SUBJECTS / name / "tokparity.yaml"
    lanes: tuple[str, ...] = ()
    if name == "char-compared-with-zero":
        lanes = ("--lanes", CONTROL, "--lanes", UNSIGNED)
    found = reduced(tokparity("reduce", case, subject, *lanes, "--json"), lanes=TWO)
    assert found["cause"] == cause
    if left is not None:
        assert len(found["text"]) == left
    if name == "char-compared-with-zero":
        assert found["observed"][CONTROL] == found["expected"] != found["observed"][UNSIGNED]
    if name == "crash-on-one":
        assert set(found["kinds"].values()) == {"crash, SIGSEGV (signal 11)"}
    if name == "marks-capped":
        assert 7 <= len(found["text"]) <= 9
    if name == "nul-ends-text":
        assert "\0" in found["text"]


def test_what_is_left_is_never_another_failure(tokparity: Command, tmp_path: Path) -> None:
    # NFC is left out; and the very text e + acute, alone, crashes: smaller, and something else.
    # Where char is unsigned there is no subject at all, and the others go on without it.
    (tmp_path / "probe.cpp").write_text("""
        #include "planted.hpp"
        #include <cstdlib>
        #ifdef __CHAR_UNSIGNED__
        #error "no such lane"
        #endif
        int main(int argc, char** argv) {
          return tokparity::serve(argc, argv, [](const std::string& path, const auto&) {
            tokparity::Subject subject = planted::healthy("two", path);
            reference::Options options;
            options.without_nfc = true;
            const auto raw = std::make_shared<reference::Tokenizer>(path, options);
            subject.encode = [raw](std::string_view text) {
              if (text == "e\\xCC\\x81") std::abort();
              return raw->encode(text, false);
            };
            return subject;
          });
        }
    """)
    config = tmp_path / "tokparity.yaml"
    config.write_text(f"""
subject:
  name: two
  sources: ["{REPOSITORY}/probes/reference/*.cpp", "!{REPOSITORY}/probes/reference/main.cpp"]
  include: ["{REPOSITORY}/probes/reference", "{SUBJECTS}"]
  probe: probe.cpp
operations: [encode]
lanes: [{CONTROL}, {UNSIGNED}]
corpora: [smoke]
""")
    case = corpus(tmp_path, one="".join(prose(300)) + "xe" + ACUTE + "y", other="a" + ACUTE)
    done = tokparity("reduce", "long/one", config, "--corpus", case, "--json")
    found = reduced(done)
    assert found["cause"] == "normalizer-left-out"
    assert set(found["kinds"].values()) == {"ids"}
    assert len(found["text"]) == 3
    assert "e" + ACUTE in found["text"]
    [note] = found["notes"]
    assert UNSIGNED in note
    assert "no such lane" in note


# --- other causes, other bytes -----------------------------------------------------------------


def test_an_unexplained_case_and_its_words(tokparity: Command, tmp_path: Path) -> None:
    config = scripted(tmp_path, "if '\u2603' in text and '\x1b' in text: ids = ids[::-1]")
    text = "".join(prose(150)) + "\u2603" + "".join(prose(60)) + "\x1b[2J" + "".join(prose(40))
    done = tokparity("reduce", "--text", text, config)
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0] == (
        f"given/text: {len(text.encode())} bytes reduced to 4 bytes, "
        "minimal: no single character can go"
    )
    assert "unexplained" in lines[1]
    assert 'text:      "\u2603\\u{1b}"' in done.out
    assert "U+2603 U+001B" in done.out
    assert "e2 98 83 1b" in done.out
    assert "\x1b" not in done.out


def test_raw_bytes_are_reduced_to_bytes(tokparity: Command, tmp_path: Path) -> None:
    hook = "if b'\\xfe' in data and b'\\x9f' in data: os.abort()"
    config = scripted(tmp_path, hook)
    data = "\u4e2d".encode() * 9 + b"\xfe" + "\U0001f600".encode() * 6
    file = tmp_path / "case.bin"
    file.write_bytes(data)
    found = reduced(tokparity("reduce", file, config, "--json"))
    assert found["hex"] == "fe9f"
    assert (found["unit"], found["text"], found["expected"]) == ("byte", None, None)
    assert (found["cause"], found["case"]) == ("crash", "given/file")
    shown = tokparity("reduce", "--hex", found["hex"], config)
    assert "no single byte can go" in shown.out
    assert "fe 9f" in shown.out
    assert "crash, SIGABRT (signal 6)" in shown.out


def test_decoding_is_reduced_by_its_text(tokparity: Command, tmp_path: Path) -> None:
    config = scripted(
        tmp_path,
        "if operation == 'decode' and '\u2603' in text: data = data[:-1]",
        "operations: [encode, decode]",
    )
    found = reduced(tokparity("reduce", "--text", "abc \u2603 def", config, "--json"))
    assert (found["operation"], found["text"]) == ("decode", "\u2603")
    snow = list("\u2603".encode())
    assert (found["expected"], list(found["observed"].values())) == (snow, [snow[:-1]])


def test_a_hang_has_few_questions_with_less_time(tokparity: Command, tmp_path: Path) -> None:
    config = scripted(
        tmp_path,
        "while '\u2603' in text and 'Z' in text: time.sleep(60)",
        "operations: [encode]\nlimits: {case_seconds: 2}",
    )
    found = reduced(tokparity("reduce", "--text", "abcd\u2603efghZi", config, "--json"))
    assert (found["text"], found["cause"]) == ("\u2603Z", "hang")
    assert max(found["questions"].values()) <= 62
    assert any("50%" in note for note in found["notes"])


# --- what cannot be reduced --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["smoke/word"], "does not diverge: bundled, encode: the oracle's"),
        (["smoke/wor"], "did you mean 'smoke/word'?"),
        (["nowhere/at-all"], "there is no case 'nowhere/at-all', and no ordinary file"),
        ([], "needs exactly one case"),
        (["smoke/word", "--text", "a", "x.yaml"], "needs exactly one case"),
        (["--hex", "4"], "--hex is not pairs of hexadecimal digits"),
    ],
)
def test_what_is_no_diverging_case(
    arguments: list[str], words: str, tokparity: Command, tmp_path: Path
) -> None:
    config = scripted(tmp_path, "pass")
    more = [] if "x.yaml" in arguments else [str(config)]
    first = arguments[:1] if arguments and not arguments[0].startswith("--") else []
    if not arguments:
        more = []
    done = tokparity("reduce", *first, *more, *arguments[len(first) :], cwd=tmp_path)
    assert done.code == 2, done.out + done.err
    assert words in done.err
    assert "Traceback" not in done.err


def test_a_case_that_is_answered_in_two_ways_is_refused(tokparity: Command, tmp_path: Path) -> None:
    hook = "if '\u2603' in text: ids = [os.getpid()]"
    done = tokparity("reduce", "--text", "abc\u2603", scripted(tmp_path, hook))
    assert done.code == 2, done.out
    assert "two ways" in done.err


def test_an_answer_that_depends_on_what_was_asked_before_is_not_believed(
    tokparity: Command, tmp_path: Path
) -> None:
    # Once a long text with it was asked, every text has other ids.
    hook = """
    spoilt = globals().get("spoilt", False) or ("\u2603" in text and len(text) > 20)
    if spoilt: ids = [7, 7]
    """
    text = "".join(prose(30)) + "\u2603"
    done = tokparity("reduce", "--text", text, scripted(tmp_path, hook), "--json")
    found = json.loads(done.out)
    assert done.code == 3
    assert not found["confirmed"]
    assert not found["minimal"]
    assert "what was asked before" in found["stopped"]


def test_a_probe_that_does_not_come_up_again_leaves_what_was_found(
    tokparity: Command, tmp_path: Path
) -> None:
    hook = """
    if "\u2603" in text:
        if len(text) < 20: (here / "broken").touch()
        os.abort()
    """
    text = "".join(prose(200)) + "\u2603" + "".join(prose(100))
    done = tokparity("reduce", "--text", text, scripted(tmp_path, hook), "--json")
    assert done.code == 3, done.err
    found = json.loads(done.out)
    assert "a probe is lost" in found["stopped"]
    assert "\n" not in found["stopped"]
    assert not found["minimal"]
    assert "\u2603" in found["text"]
    assert len(found["text"]) < 60
    assert "NOT minimal" in done.err


def test_a_spent_budget_is_said(tokparity: Command, tmp_path: Path) -> None:
    config = scripted(tmp_path, "if '\u2603' in text: os.abort()")
    text = "".join(prose(200)) + "\u2603" + "".join(prose(100))
    done = tokparity("reduce", "--text", text, config, "--questions", "6")
    assert done.code == 0, done.err
    assert "NOT minimal: the budget of 6 questions is spent" in done.out


def test_an_interrupt_leaves_no_process_and_prints_what_was_found(
    cache: Path, tmp_path: Path
) -> None:
    hook = """
    if "\u2603" in text:
        if len(text) < 20:
            (here / "waits").touch()
            time.sleep(60)
        ids = ids[::-1] + [1]
    """
    config = scripted(tmp_path, hook, "operations: [encode]\nlimits: {case_seconds: 60}")
    text = "".join(prose(200)) + "\u2603" + "".join(prose(100))
    run = subprocess.Popen(
        [str(TOKPARITY), "reduce", "--text", text, str(config), "--json"],
        env={**os.environ, "TOKPARITY_CACHE": str(cache)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 120
    while not (tmp_path / "waits").exists():
        assert run.poll() is None, run.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=30)
    assert run.returncode == 130, err
    found = json.loads(out)
    assert found["stopped"] == "interrupted"
    assert "\u2603" in found["text"]
    assert len(found["text"]) < len(text)
    assert str(tmp_path).encode() not in b"".join(
        path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if _readable(path)
    )


def _readable(path: Path) -> bool:
    try:
        return path.read_bytes() is not None
    except OSError:
        return False


# --- in a run ----------------------------------------------------------------------------------


def test_a_run_reduces_a_case_of_every_finding(tokparity: Command, tmp_path: Path) -> None:
    config = scripted(
        tmp_path,
        """
        if "\u2603" in text: os.abort()
        if "Z" in text: ids = ids[::-1] + [1]
        """,
    )
    case = corpus(
        tmp_path, crash="xxxx \u2603 xxxx", odd="yyyy Z yyyy", odder="Z" * 90, both="\u2603Z"
    )
    done = tokparity("run", config, "--corpus", case, "--reduce", "--json")
    assert done.code == 1, done.err
    evidence = {one["cause"]: one["evidence"]["reduced"] for one in done.report["findings"]}
    assert {cause: one["text"] for cause, one in evidence.items()} == {
        "crash": "\u2603",
        "unexplained": "Z",
    }
    # Of the cases that show nothing else the shortest was taken.
    assert evidence["unexplained"]["case"] == "long/odd"
    assert all(one["minimal"] for one in evidence.values())
    assert 'reduced: long/odd to "Z" (1 byte, minimal: no single character can go' in done.err


def test_what_a_run_cannot_reduce_is_said(tokparity: Command, tmp_path: Path) -> None:
    config = scripted(tmp_path, "if '\u2603' in text: ids = [os.getpid()]")
    case = corpus(tmp_path, odd="xxxx \u2603 xxxx")
    done = tokparity("run", config, "--corpus", case, "--reduce", "--json")
    assert done.code == 1, done.err
    [found] = done.report["findings"]
    assert found["cause"] == "nondeterminism"
    assert "two ways" in found["evidence"]["reduced"]["why_not"]
    assert "not reduced: long/odd" in done.err
