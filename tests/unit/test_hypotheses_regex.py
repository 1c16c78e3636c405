r"""Patterns: a tree and back, and each rewriting against a pattern written by hand.

The pattern by hand says what is meant; texts that tell the two apart say that it is done.
"""

import random
import time
from functools import cache

import pytest
from tokenizers import Regex

from harness.hypotheses.patterns import (
    CL100K,
    DEEPSEEK_V3,
    GPT2,
    LLAMA3,
    O200K,
    PATTERNS,
    QWEN2,
    QWEN35,
    TEKKEN,
)
from harness.hypotheses.regex import Atom, Class, UnknownSyntax, parse, render, rewrite_members
from harness.hypotheses.rewriting import (
    Rewriting,
    ascii_whitespace,
    contractions_case_insensitive,
    contractions_case_sensitive,
    digits,
    marks_in_letter_run,
    marks_out_of_letter_run,
    no_whitespace_lookahead,
    older_classes,
)
from harness.unicode_ages import NEWER
from tests.unit.split import words

ALL = [pattern for own in PATTERNS.values() for pattern in own]
IN, IN_ALL = marks_in_letter_run(everywhere=False), marks_in_letter_run(everywhere=True)
OUT, OUT_ALL = marks_out_of_letter_run(everywhere=False), marks_out_of_letter_run(everywhere=True)
SINGLE, THREE, ANY = digits(""), digits("{1,3}"), digits("+")
REWRITINGS = [
    *(IN, IN_ALL, OUT, OUT_ALL, SINGLE, THREE, ANY, no_whitespace_lookahead, ascii_whitespace),
    *(contractions_case_sensitive, contractions_case_insensitive),
    *map(older_classes, ("13.0", "15.1")),
]
UNASSIGNED = "\u0378"


@pytest.mark.parametrize(
    "pattern",
    [
        *ALL,
        "",
        "a||b",
        r"(?<!\p{L})(?<=x)(?>a*)(?i-m:b)(?<name>c)\k<name>(?i)d",
        r"[]a][^]b][a-z\]\[&&[^c]][[:^alpha:]-]x{2,}y{,3}z{1}?",
        r"\x{10D40}\x41\u0041\101\(\)\|\\",
        "a{b}|{|]}",
    ],
)
def test_a_pattern_is_rendered_to_what_it_was_read_from(pattern: str) -> None:
    assert render(parse(pattern)) == pattern


def test_what_stands_in_a_class_is_told_from_what_stands_by_itself() -> None:
    ((run, plain),) = parse(r"[^\s\]]+\s")
    assert run.node == Class(True, (Atom(r"\s"), Atom(r"\]")))
    assert (run.is_run, plain.node, plain.is_run) == (True, Atom(r"\s"), False)
    marked = rewrite_members(
        parse(r"\\s\s[\s[^\s]](?!\s|\\\s)"),
        lambda atom: Atom("_") if atom.text == r"\s" else atom,
    )
    assert render(marked) == r"\\s_[_[^_]](?!_|\\_)"


@pytest.mark.parametrize(
    "pattern",
    ["a)", "(a", "[a", "*a", "(?x: a)", "(?#a)", "(?(1)a|b)", "a\\", r"\p", r"\Qa\E", "[[:alpha:]"],
)
def test_what_is_not_understood_is_refused_and_left_as_it_is(pattern: str) -> None:
    with pytest.raises(UnknownSyntax):
        parse(pattern)
    for rewriting in REWRITINGS:
        assert rewriting(rf"\p{{N}}+|\s+(?!\S)|{pattern}") == rf"\p{{N}}+|\s+(?!\S)|{pattern}"


TEXT = (
    "e\u0301a !!\u0301b \u0301 क्षि 12345 ab1234 x½² 's'S don'T WE'LL we'll I'Mx I'mx"
    "  a   b\t\tc \n\n d \n\u00a0x \u3000\u3000y\u2028\n  "
)
LEAD, OTHERS = r"[^\r\n\p{L}\p{N}]?", r"[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
CONTRACTED = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"


@pytest.mark.parametrize(
    ("rewriting", "before", "by_hand"),
    [
        (
            IN,
            QWEN2,
            rf"{CONTRACTED}|{LEAD}[\p{{L}}\p{{M}}]+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+{OTHERS}",
        ),
        (IN_ALL, QWEN2, QWEN35),
        (OUT_ALL, QWEN35, QWEN2),
        (OUT, QWEN35, QWEN35.replace(r"[\p{L}\p{M}]+", r"\p{L}+")),
        (IN, GPT2, GPT2.replace(r"\p{L}+", r"[\p{L}\p{M}]+", 1)),
        (OUT, DEEPSEEK_V3[2], DEEPSEEK_V3[2].replace(r"[\p{L}\p{M}]", r"\p{L}")),
        (OUT, O200K, O200K.replace(r"\p{M}", "")),
        (THREE, QWEN2, LLAMA3),
        (SINGLE, LLAMA3, QWEN2),
        (ANY, QWEN2, QWEN2.replace(r"|\p{N}|", r"|\p{N}+|")),
        (SINGLE, GPT2, GPT2.replace(r"\p{N}+", r"\p{N}", 1)),
        (ANY, DEEPSEEK_V3[0], r"\p{N}+"),
        (no_whitespace_lookahead, QWEN2, QWEN2.replace(r"\s+(?!\S)|", "")),
        (
            no_whitespace_lookahead,
            CL100K,
            CL100K.replace(r"|\s+(?!\S)|\s", r"|\s+"),
        ),
        (contractions_case_sensitive, QWEN2, QWEN2.replace("(?i:", "(?:")),
        (contractions_case_sensitive, CL100K, CL100K.replace("(?i:", "(?:")),
        (contractions_case_sensitive, O200K, O200K.replace("(?i:", "(?:")),
        (
            contractions_case_insensitive,
            GPT2,
            CONTRACTED + GPT2.removeprefix("'s|'t|'re|'ve|'m|'ll|'d"),
        ),
        (
            contractions_case_insensitive,
            r"'(?:[sdmt]|ll|ve|re)|\p{L}+|\s",
            rf"{CONTRACTED}|\p{{L}}+|\s",
        ),
        (
            ascii_whitespace,
            QWEN2,
            QWEN2.replace(r"[^\s", r"[^\t-\r ")
            .replace(r"\s", r"[\t-\r ]")
            .replace(r"\S", r"[^\t-\r ]"),
        ),
    ],
)
def test_a_rewriting_does_what_is_meant(rewriting: Rewriting, before: str, by_hand: str) -> None:
    after = rewriting(before)
    assert words(after, TEXT) == words(by_hand, TEXT)
    assert words(after, TEXT) != words(before, TEXT)
    source = random.Random(after)  # noqa: S311 - any texts will do
    for _ in range(300):
        text = "".join(source.choice(TEXT) for _ in range(12))
        assert words(after, text) == words(by_hand, text), ascii(text)


def test_other_spellings_are_known() -> None:
    either = r"(?:'[sS]|'[rR][eE])|\p{L}+"
    assert contractions_case_sensitive(either) == r"(?:'s|'re)|\p{L}+"
    assert words(contractions_case_insensitive(either), "'RE'Re") == ["'RE", "'Re"]
    assert contractions_case_insensitive(r"a|'s|'t|b") == r"a|(?i:'s|'t)|b"
    for spelling in (r"(?!\S)", r"(?![^\s])", r"(?=\s|$)"):
        assert no_whitespace_lookahead(rf"(?:\s+{spelling}|\s+)") == r"(?:\s+)"
    assert THREE(r"\d+|[0-9]|\p{Nd}{1,3}+") == r"\d{1,3}|[0-9]{1,3}|\p{Nd}{1,3}"
    assert ascii_whitespace(r"[^\S\n]") == r"[^[^\t\n\x0B\f\r ]\n]"


@pytest.mark.parametrize(
    ("rewriting", "pattern"),
    [
        (IN, QWEN35),
        (IN_ALL, O200K),
        (OUT_ALL, QWEN2),
        (OUT_ALL, r"\p{M}+|[\p{N}\p{M}]+|[\p{L}&&\p{M}]+"),
        (IN, r"\p{L}|(?!\p{L})|[\p{L}&&[^a]]+|\\p{L}+"),
        (SINGLE, QWEN2),
        (THREE, LLAMA3),
        (ANY, GPT2),
        (ANY, r"\p{N}{3}|\p{N}?|[\p{L}\p{N}]+|\p{N}*"),
        (no_whitespace_lookahead, r"\s+|\s*(?!\S)|\s+(?!\p{L})"),
        (contractions_case_sensitive, TEKKEN),
        (contractions_case_insensitive, TEKKEN),
        (contractions_case_insensitive, LLAMA3),
        (contractions_case_insensitive, r"'x|(?:a|b)|'sx"),
        (ascii_whitespace, r"\\s|[\\s]|\p{L}"),
        (older_classes("15.0"), r"\b\p{L}+"),
        (older_classes("15.0"), r"\p{Any}|[a-z]|\s|."),
    ],
)
def test_a_pattern_without_such_a_thing_stays_as_it_is(rewriting: Rewriting, pattern: str) -> None:
    assert rewriting(pattern) == pattern


@cache
def newer_than(version: str) -> list[str]:
    """Return one in each hundred ideographs, and one in three of all others; ends of ranges too."""
    found = []
    for ranges in (ages for one, ages in NEWER.items() if float(one) > float(version)):
        for part in ranges.split():
            first, last = (int(end, 16) for end in f"{part}-{part}".split("-")[:2])
            found += [*range(first, last, 3 if last - first < 500 else 100), last]
    return list(map(chr, found))


CONTEXTS = ("a{0}b", "1{0}2", " {0}'s", "!{0}!{0}", "{0}\n\n  \nx", "{0}\u0301{0}")
CLASSES = r"[\p{L}1]+|\P{L}|[\P{N}x]{2}", r"[^\p{L}\p{M}]+|\w", r"\W+|[\D]", r"[^\P{L}]+|\d"
MORE = r"\p{^L}+", r"[[:alpha:]]+", r"[^[:^alpha:]]+", r"\p{Cn}+", r"[\p{C}]|\P{Cn}", r"[\w&&\P{N}]"


@pytest.mark.parametrize("version", ["13.0", "14.0", "15.0", "15.1"])
@pytest.mark.parametrize("pattern", [*ALL, *CLASSES, *MORE])
def test_a_newer_character_is_taken_for_an_unassigned_one(version: str, pattern: str) -> None:
    """Every newer character in its place, against the same text with U+0378 in that place."""
    newer = newer_than(version)
    older = older_classes(version)(pattern)
    for context in CONTEXTS:
        text = "\x01".join(context.format(char) for char in newer)
        spelled = "\x01".join(context.format(UNASSIGNED) for _ in newer)
        assert list(map(len, words(older, text))) == list(map(len, words(pattern, spelled)))
        assert words(older, spelled) == words(pattern, spelled)


@pytest.mark.parametrize(
    ("char", "first"),
    [("\u0870", "14.0"), ("\U0001e4f0", "15.0"), ("\U0002ebf0", "15.1"), ("\U00010d40", "16.0")],
)
def test_a_character_is_newer_than_each_version_before_its_own(char: str, first: str) -> None:
    for version in ("13.0", "14.0", "15.0", "15.1"):
        run = older_classes(version)(r"[\p{L}\p{N}]+")
        known = float(version) >= float(first)
        assert words(run, f"a{char}1") == ([f"a{char}1"] if known else ["a", char, "1"])


@pytest.mark.parametrize("pattern", ALL)
def test_no_rewriting_makes_a_long_text_cost_a_square(pattern: str) -> None:
    texts = ["x" * 36_000, " " * 9_000 + "a", "'" * 9_000, "\n" * 9_000, "e\u0301" * 3_000]
    for rewriting in REWRITINGS:
        after = rewriting(pattern)
        Regex(after)
        begun = time.monotonic()
        for text in texts:
            words(after, text)
        # About a tenth of a second; a square would be minutes.
        assert time.monotonic() - begun < 10
