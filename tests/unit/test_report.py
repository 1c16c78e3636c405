"""The report: what it says, that it survives JSON, and that no text in it can act on a reader."""

import json as standard_json
import re
import shlex
import unicodedata
from dataclasses import replace
from typing import Any

import pytest

from harness.errors import UsageError
from harness.report import json, markdown, text
from harness.report.escape import markdown as for_markdown
from harness.report.escape import shell, terminal
from harness.report.model import Cell, Finding, First, Policy, Report, ReportLane
from harness.report.words import byte_words, token

LANES = ("x86_64-linux-gnu/default/native", "aarch64-linux-gnu/unsigned/qemu-cortex-a53")
RAN = tuple(
    ReportLane(name=lane, axes={"char": "signed"}, status="ran", control=lane == LANES[0])
    for lane in LANES
)
HOSTILE = [
    "\x1b[2J\x1b[H",
    "\x1b]0;title\x07",
    "\x9b31m",
    "a\rb",
    "a\nb",
    "\n::error file=a::gone",
    "::set-output name=x::y",
    "##[add-mask]x",
    "tab\there",
    "nul\0",
    "\x7f\x08",
    "\u202eevil\u202c",
    "\u2066x\u2069",
    "zero\u200bwidth\ufeff",
    "line\u2028paragraph\u2029",
    "\u0085next",
    "\ud800lone",
    "x" + "\u0301" * 40,
    "\u0301starts",
    "\U000e0041tag",
    "\ue000private",
    "a|b",
    "`code` **bold** _it_ ~s~",
    "<script>alert(1)</script>",
    "[a](javascript:x) ![i](http://h/x.png)",
    "&lt; @someone #1 $x$",
    "\u3164\u115f\u2800",
    "back\\slash \\u{1b}",
    "</code>|--|",
    "'; rm -rf $HOME; '",
]


def report(word: str = "word", **changes: Any) -> Report:  # noqa: ANN401
    """A failing report in which everything that others can write is ``word``."""
    finding = Finding(
        id="0123abcd",
        tokenizer=word,
        operations=("encode", "encode_special"),
        lanes=LANES,
        cases=(f"smoke/{word}", "smoke/two"),
        axes=("char",),
        cause="char-signedness",
        declared=True,
        absent=True,
        summary=word,
        reason=word,
        link=word,
        evidence={
            "hypothesis": word,
            "judged": 43,
            "mismatching": 2,
            "sets_equal": True,
            "normalized_form_differs": 2,
            "ties": [word],
            "declared_as": word,
            "named_otherwise": word,
            "groups": [[LANES[0]], [word]],
            "outcomes": {LANES[0]: "ok", LANES[1]: word},
            "confounded": [word],
            "separating_lanes": [word],
            "inseparable": [word],
            "words": {word: 2},
            "note": word,
            "input": {
                "bytes": 400,
                "hex": word.encode("utf-8", "surrogatepass")[:96].hex(),
            },
            "tokens": {
                "expected": token(7, word, byte_level=False),
                "observed": token(8, word, byte_level=True),
            },
            "refuted": [
                {
                    "hypothesis": word,
                    "explained": 1,
                    "of": 2,
                    "would_break": 3,
                    "refuted_by": f"smoke/{word}",
                    "sets_equal": None,
                    "note": word,
                }
            ],
        },
        first=First(
            case=f"smoke/{word}",
            index=0,
            expected=(7,),
            observed=(8, 9),
            lane=LANES[0],
            operation="encode",
            expected_from=word,
        ),
    )
    crashed = replace(
        finding,
        cause="crash",
        first=First(
            case=f"smoke/{word}",
            index=0,
            expected=(7,),
            observed=(),
            lane=LANES[1],
            operation="encode",
            observed_status="crash",
        ),
    )
    cells = tuple(
        Cell(lane=lane, tokenizer=word, corpus=corpus, cases=43, passed=40, fail=3)
        for lane in LANES
        for corpus in ("smoke", word)
    )
    values: dict[str, Any] = {
        "verdict": "fail",
        "exit": 1,
        "lanes": (*RAN, ReportLane(name=word, axes={}, status="unavailable", unavailable=word)),
        "cells": cells,
        "findings": (finding, crashed),
        "limits": (word,),
        "provenance": {"compiler": word},
        "invalid": (word,),
        "drift": (word,),
        "reused": (word,),
        "policies": (Policy(tokenizer=word, operation="encode", name="dropped", cases=3),),
        "command": ("tokparity", "run", word),
    }
    return Report(**{**values, **changes})


def acts(shown: str) -> list[str]:
    """Return the characters of a text that could act on whatever shows it."""
    bad = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    return [char for char in shown if unicodedata.category(char) in bad and char != "\n"]


@pytest.mark.parametrize("word", HOSTILE)
def test_hostile_text_acts_on_no_terminal(word: str) -> None:
    shown = text.render(report(word))
    assert acts(shown) == []
    assert not re.search(r"[\u0300-\u036f]{3}", shown)
    assert "##[" not in shown
    plain = text.render(report())
    # A word that breaks a line, or a table, would show as lines too many.
    assert shown.count("\n") >= plain.count("\n")
    assert not any(line.lstrip().startswith("::") for line in shown.splitlines())
    assert shown.count("again:") == plain.count("again:") == 2


def test_changes_made_together_point_to_a_heading_each() -> None:
    found = report()
    both = replace(found.findings[0], cause="nul-ends-text+lowercase-added")
    shown = text.render(replace(found, findings=(both,)))
    assert "docs/attribution.md#nul-ends-text, docs/attribution.md#lowercase-added\n" in shown


@pytest.mark.parametrize("word", HOSTILE)
def test_hostile_text_is_no_markup(word: str) -> None:
    shown = markdown.render(report(word))
    assert acts(shown) == []
    assert "::" not in shown
    assert "##[" not in shown
    assert set(re.findall(r"</?[a-z]+", shown)) == {"<code", "</code"}
    assert "](" not in shown
    assert "http://" not in shown
    rows = [line for line in shown.splitlines() if line.startswith("|")]
    assert len(rows) == 4
    assert {row.count("|") for row in rows} == {4}


@pytest.mark.parametrize("word", HOSTILE)
def test_hostile_text_survives_json_in_printable_ascii(word: str) -> None:
    dumped = json.dumps(report(word))
    assert all(char == "\n" or 0x20 <= ord(char) < 0x7F for char in dumped)
    assert json.from_dict(standard_json.loads(dumped)) == report(word)


@pytest.mark.parametrize("word", [*HOSTILE, "", "plain", "it's", "a b", "é"])
def test_a_word_of_a_command_comes_back_whole_from_bash(word: str) -> None:
    quoted = shell(word)
    assert quoted.isascii()
    assert quoted.isprintable()
    if "\0" in word:
        return  # no argument can hold it
    data = word.encode("utf-8", "surrogatepass")
    if not quoted.startswith("$'"):
        assert shlex.split(quoted) == [word]
    else:
        assert unquoted(quoted) == data


def unquoted(word: str) -> bytes:
    """Read bash's ``$'…'`` form back."""
    assert word.startswith("$'")
    assert word.endswith("'")
    parts = re.findall(r"\\x([0-9a-f]{2})|\\(.)|(.)", word[2:-1])
    return b"".join(
        bytes.fromhex(code) if code else (escaped or plain).encode()
        for code, escaped, plain in parts
    )


def test_escaping_leaves_ordinary_text_alone() -> None:
    for plain in ("héllo wörld", "हिन्दी", "ไทย", "한국어", "e\u0301", "a_b (c) 100%"):
        assert terminal(plain) == plain


def test_escapes_read_back_one_way_only() -> None:
    assert terminal("\x1b") == r"\u{1b}"
    assert terminal(r"\u{1b}") == r"\\u{1b}"
    assert terminal("x\u0301\u0302\u0303") == "x\u0301\u0302\\u{303}"
    assert terminal(" \u0301") == r" \u{301}"
    assert terminal("\u00a0\u3000") == r"\u{a0}\u{3000}"


def test_markdown_leaves_lane_names_readable() -> None:
    assert for_markdown(LANES[0]) == LANES[0]
    assert for_markdown("_a_") == "&#95;a&#95;"


def healthy(*tokenizers: str, **first: Any) -> Report:  # noqa: ANN401
    cells = [
        Cell(lane=lane, tokenizer=name, corpus=corpus, cases=43, passed=43)
        for name in tokenizers
        for lane in LANES
        for corpus in ("smoke", "digits")
    ]
    if first:
        cells[0] = replace(cells[0], **first)
    return Report(verdict="pass", exit=0, lanes=RAN, cells=tuple(cells))


def test_the_table_has_lanes_down_and_corpora_across() -> None:
    lines = text.render(healthy("tiny")).splitlines()
    assert lines[0] == "tokparity: parity (exit 0): 2 lanes, 1 tokenizer, 2 corpora"
    assert lines[2].split() == ["tiny", "smoke", "digits"]
    assert lines[4].split() == [LANES[0], "(control)", "43/43", "43/43"]
    assert lines[5].split() == [LANES[1], "43/43", "43/43"]


def test_of_several_tokenizers_the_healthy_are_a_line_each() -> None:
    shown = text.render(healthy("qwen3", "gpt2", passed=40, fail=3))
    assert "gpt2: 86/86 on each of 2 lanes, 2 corpora" in shown.splitlines()
    assert "40/43 ✗3" in shown
    assert "✗ differ" in shown


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"passed": 43}, "43/43"),
        ({"passed": 40, "fail": 3}, "40/43 ✗3"),
        ({"passed": 32, "xfail": 11}, "43/43 ≈11"),
        ({"passed": 31, "ungraded": 12}, "31/31 +12"),
        ({"passed": 40, "crash": 1, "timeout": 2}, "40/43 crash 1 hang 2"),
        ({"unsupported": 43, "passed": 0}, "0/43 refused 43"),
        ({"passed": 42, "xpass": 1}, "42/43 gone 1"),
        ({"passed": 42, "unresolved": 1}, "42/43 unresolved 1"),
    ],
)
def test_what_a_cell_says(counts: dict[str, int], expected: str) -> None:
    assert expected in text.render(healthy("tiny", **counts))


def test_a_wide_table_is_broken_by_corpora() -> None:
    cells = tuple(
        Cell(lane=LANES[1], tokenizer="tiny", corpus=f"corpus_number_{n}", cases=9, passed=9)
        for n in range(9)
    )
    shown = text.render(replace(healthy("tiny"), cells=cells), width=90)
    assert max(map(len, shown.splitlines())) <= 90
    assert all(f"corpus_number_{n}" in shown for n in range(9))


def test_a_finding_says_what_where_why_and_how_to_see_it_again() -> None:
    shown = text.render(report())
    for words in (
        "✗ char-signedness [0123abcd]: gone, word, encode, encode_special, 2 cases on all 2 lanes",
        "the 2 cases that differ are exactly the 2 whose normalized form differs",
        "refuted: word explains 1 of 2 and would break 3 that agree, refuted by smoke/word: word",
        'expected: 7 "word" U+0077 U+006F U+0072 U+0064 (77 6f 72 64), of 1 token',
        "observed: crash: word",
        "docs/attribution.md#char-signedness",
    ):
        assert words in shown, words
    command = (
        f"tokparity run word --tokenizer word --case smoke/word --lanes {LANES[0]} --lanes word"
    )
    assert command in shown
    # A tokenizer that is a file is called as one: its name means nothing to another run.
    called = text.render(report(called={"word": "my/tokenizer.json"}))
    assert command.replace("--tokenizer word", "--tokenizer my/tokenizer.json") in called


def test_an_answer_that_ends_early_and_a_byte_of_decode() -> None:
    base = report()
    first = base.findings[0].first
    assert first is not None
    short = replace(first, index=1, expected=(7, 8), observed=(7,))
    decode = replace(first, operation="decode", index=0, expected=(0xC3, 0xA9), observed=(0xFF,))
    for changed, words in (
        (short, "nothing more, after 1"),
        (decode, '"é" U+00E9 latin small letter e with acute (c3 a9)'),
        (decode, "(ff)"),
    ):
        finding = replace(base.findings[0], first=changed)
        assert words in text.render(replace(base, findings=(finding,)))


def test_words_for_bytes() -> None:
    assert byte_words(b"", terminal) == "(no bytes)"
    assert byte_words(b"\xff\xfe", terminal) == "(ff fe)"
    assert byte_words("é".encode() * 9, terminal, 5).startswith('"éé" …')


def test_a_byte_level_piece_stands_for_its_bytes() -> None:
    assert token(1, "Ġhi", byte_level=True)["hex"] == b" hi".hex()
    assert token(1, "Ġhi", byte_level=False)["hex"] == "Ġhi".encode().hex()
    assert token(1, "<|end of text|>", byte_level=True)["hex"] == b"<|end of text|>".hex()
    assert token(1, None, byte_level=True) == {"id": 1}
    alphabet = {token(1, chr(c), byte_level=True)["hex"] for c in range(0x21, 0x144)}
    assert {f"{byte:02x}" for byte in range(256)} <= alphabet


def test_published_fields() -> None:
    document = json.to_dict(report())
    assert document["schema"] == "tokparity-report/1"
    assert {"verdict", "exit", "lanes", "cells", "findings", "limits", "provenance"} <= set(
        document
    )
    assert {"name", "axes", "status", "probe_sha256"} <= set(document["lanes"][0])
    cell = "lane tokenizer corpus cases pass fail xfail xpass crash timeout unsupported unresolved"
    assert {*cell.split(), "ungraded"} == set(document["cells"][0])
    finding = "id tokenizer lanes cases axes cause declared evidence first operations"
    assert set(finding.split()) <= set(document["findings"][0])
    assert {"case", "index", "expected", "observed"} <= set(document["findings"][0]["first"])


@pytest.mark.parametrize("missing", ["verdict", "cells", "findings", "provenance"])
def test_a_report_with_a_field_missing_is_refused(missing: str) -> None:
    document = json.to_dict(report())
    del document[missing]
    with pytest.raises(UsageError, match=missing):
        json.from_dict(document)


def test_a_report_of_another_schema_or_shape_is_refused() -> None:
    with pytest.raises(UsageError, match="schema"):
        json.from_dict({"schema": "tokparity-report/2"})
    with pytest.raises(UsageError, match="wrong type"):
        json.from_dict({**json.to_dict(report()), "lanes": [3]})


def test_fields_of_a_later_version_are_passed_over() -> None:
    document = json.to_dict(report())
    document["later"] = 1
    document["findings"][0]["later"] = 1
    assert json.from_dict(document) == report()
