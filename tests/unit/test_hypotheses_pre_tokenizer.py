"""Changes to the pre-tokenizer: what is offered, what it does, and that it names a planted one."""

import json
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from harness.hypotheses import Description, Hypothesis, combine
from harness.hypotheses.patterns import DEEPSEEK_V3, GPT2, LLAMA3, PATTERNS, QWEN2
from harness.hypotheses.pre_tokenizer import NAMES, VERSIONS, can_show, proposed
from harness.hypotheses.steps import flat
from harness.hypotheses.word_cap import COMMON, allowed
from tests.unit.observed import seen
from tests.unit.split import pieces
from tests.unit.tiny import File, answers, encoded, explaining, observed, only, word_piece

BUNDLED: File = json.loads(
    (Path(__file__).resolve().parents[2] / "goldens" / "bundled" / "tokenizer.json").read_text()
)
Step = Mapping[str, Any]
CONTRACTED = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
NUMBERS = ("Nd", "Nl", "No", "Cn")  # as CPython has it; what it does not know may be one
INSENSITIVE = "contractions-case-insensitive"
ASCII = r"[\t-\r ]"


def a_split(pattern: str, behavior: str = "Isolated", *, invert: bool = False) -> Step:
    found = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior}
    return {**found, "invert": invert}


def byte_level(*, prefix: bool = False, regex: bool = False) -> Step:
    return {
        "type": "ByteLevel",
        "add_prefix_space": prefix,
        "trim_offsets": True,
        "use_regex": regex,
    }


def sequence(*steps: Step) -> Description:
    return {"pre_tokenizer": {"type": "Sequence", "pretokenizers": list(steps)}}


def offered(description: Description, cases: Sequence[bytes] = ()) -> list[str]:
    return list(dict.fromkeys(one.name for one in proposed(seen(description, cases, []))))


def changed(one: Hypothesis, description: Description, text: str) -> list[str]:
    return pieces(one.describe(description)["pre_tokenizer"], text)


def the(description: Description, name: str, **parameters: int | str) -> Hypothesis:
    return only(proposed(seen(description, [], [])), name, **parameters)


def test_every_offered_name_is_listed() -> None:
    found = {
        *offered(sequence(*map(a_split, DEEPSEEK_V3), byte_level()), ["\u1c89".encode()]),
        *offered({"pre_tokenizer": byte_level(regex=True)}),
        *offered(sequence(a_split(QWEN2), byte_level())),
        *(one.name for one in proposed(seen({}, ["e\u0301".encode() + b"x" * 40], [0]))),
    }
    assert found == set(NAMES)


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_is_not_offered_in_place_of_itself(name: str) -> None:
    declared = sequence(*map(a_split, PATTERNS[name]), byte_level())
    inverted = sequence(
        *(a_split(one, "Removed", invert=True) for one in PATTERNS[name]), byte_level()
    )
    others = {f"pattern-{other}" for other in PATTERNS if other != name}
    for description in (declared, inverted):
        assert {one for one in offered(description) if one.startswith("pattern-")} == others


def test_gpt2s_own_pattern_is_known_within_byte_level() -> None:
    whole, apart = byte_level(regex=True), sequence(a_split(GPT2), byte_level())
    assert flat(whole) == flat(apart["pre_tokenizer"])
    assert offered({"pre_tokenizer": whole}) == offered(apart)
    assert "pattern-gpt2" not in offered(apart)
    text = " don't  12ab\n\n x"
    assert pieces(whole, text) == pieces(apart["pre_tokenizer"], text)


@pytest.mark.parametrize(
    "steps",
    [
        [byte_level(prefix=True, regex=True)],
        [{"type": "Digits", "individual_digits": True}, byte_level(prefix=True, regex=True)],
        [a_split(LLAMA3), byte_level(prefix=True)],
    ],
)
def test_a_byte_level_taken_apart_does_what_it_did(steps: list[Step]) -> None:
    declared = sequence(*steps)["pre_tokenizer"]
    apart = {"type": "Sequence", "pretokenizers": list(flat(declared))}
    for text in ("ab 12 c's", " ab", "", "\nx", "é 1\u0301"):
        assert pieces(apart, text) == pieces(declared, text)


def test_what_is_not_byte_level_keeps_its_pattern() -> None:
    for declared in (
        None,
        {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
        {"type": "BertPreTokenizer"},
        a_split(QWEN2),
    ):
        found = offered({"pre_tokenizer": declared})
        assert not [one for one in found if one.startswith("pattern-")]
    assert offered({"pre_tokenizer": None}) == offered({}) == []
    assert offered({"pre_tokenizer": {"type": "BertPreTokenizer"}}) == []


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_takes_the_place_of_all_splits(name: str) -> None:
    declared = sequence(
        {"type": "Digits", "individual_digits": True}, a_split(r"\p{Han}+"), byte_level(regex=True)
    )
    meant = sequence(*map(a_split, PATTERNS[name]), byte_level())["pre_tokenizer"]
    for text in ("It'S 12345 e\u0301\u0301 中文カナ \n\n  x_y/\n", "HTTPServer's\t\t¿que?  \n "):
        assert changed(the(declared, f"pattern-{name}"), declared, text) == pieces(meant, text)


def test_each_of_several_splits_can_be_missing() -> None:
    three = sequence(*map(a_split, DEEPSEEK_V3), byte_level())
    found = [one for one in proposed(seen(three, [], [])) if one.name == "split-missing"]
    assert [one.parameters for one in found] == [(("split", number),) for number in (1, 2, 3)]
    for number, one in enumerate(found):
        left = [step for place, step in enumerate(DEEPSEEK_V3) if place != number]
        meant = sequence(*map(a_split, left), byte_level())["pre_tokenizer"]
        text = "ab1234 中文カナx!?"
        assert changed(one, three, text) == pieces(meant, text) != pieces(flat_again(three), text)
    assert "split-missing" not in offered(sequence(a_split(QWEN2), byte_level()))


def flat_again(description: Description) -> Step:
    return {"type": "Sequence", "pretokenizers": list(flat(description["pre_tokenizer"]))}


@pytest.mark.parametrize(
    ("name", "due"),
    [
        ("digits-single", None),
        ("digits-by-three", ["ab", "123", "4", "c"]),
        ("digits-unbounded", ["ab", "1234", "c"]),
    ],
)
def test_a_digits_step_is_changed_too(name: str, due: list[str] | None) -> None:
    declared = sequence({"type": "Digits", "individual_digits": True}, byte_level(regex=True))
    if due is None:
        # GPT-2's own \p{N}+ sees single digits only, so to make it \p{N} changes the words not.
        assert changed(the(declared, name), declared, "ab1234c") == ["ab", *"1234", "c"]
    else:
        assert changed(the(declared, name), declared, "ab1234c") == due


def test_a_digits_step_and_its_split_have_the_same_digits() -> None:
    """The library's Digits know newer ones than its patterns do."""
    alone = {"pre_tokenizer": {"type": "Digits", "individual_digits": False}}
    by_three = the(alone, "digits-by-three")
    few = [char for char in map(chr, range(0x20000)) if unicodedata.category(char) in NUMBERS]
    text = "".join(f"a{char}" for char in few)
    assert changed(by_three, alone, text) == pieces(alone["pre_tokenizer"], text)


def test_older_classes_reach_a_digits_step() -> None:
    digits = {"type": "Digits", "individual_digits": False}
    cases = ["\U0001e4f0\U00010d40".encode()]
    found = proposed(seen({"pre_tokenizer": digits}, cases, []))
    for version, due in (
        ("15.1", ["a", "1\U0001e4f0", "\U00010d40", "2"]),
        ("14.0", ["a", "1", "\U0001e4f0\U00010d40", "2"]),
    ):
        one = only(found, "classes-unicode-version", unicode=version)
        text = "a1\U0001e4f0\U00010d402"
        assert changed(one, {"pre_tokenizer": digits}, text) == due


def test_a_prefix_space_is_flipped() -> None:
    gpt2 = {"pre_tokenizer": byte_level(regex=True)}
    prefixed = {"pre_tokenizer": byte_level(prefix=True, regex=True)}
    qwen = sequence(a_split(QWEN2), byte_level())
    assert changed(the(gpt2, "prefix-space-flipped", before="section"), gpt2, "ab c") == pieces(
        prefixed["pre_tokenizer"], "ab c"
    )
    assert changed(the(prefixed, "prefix-space-flipped"), prefixed, "ab c") == ["ab", "Ġc"]
    for where in ("section", "text"):
        one = the(qwen, "prefix-space-flipped", before=where)
        assert changed(one, qwen, "ab c-d") == ["Ġab", "Ġc", "-d"]
        assert changed(one, qwen, " ab") == ["Ġab"]
    one = the(qwen, "prefix-space-flipped", before="word")
    assert changed(one, qwen, "ab c-d") == ["Ġab", "Ġc", "Ġ-d"]


def test_a_prefix_space_stands_before_the_text_or_each_section_of_it() -> None:
    cases = [b"ab<|endoftext|>cd", b"<|endoftext|>cd", b"ab"]
    token = {"id": 0, "content": "<|endoftext|>", "single_word": False, "lstrip": False}
    token |= {"rstrip": False, "normalized": False, "special": True}
    file = {**BUNDLED, "added_tokens": [{**token, "id": BUNDLED["added_tokens"][0]["id"]}]}
    file["added_tokens"][0]["content"] = BUNDLED["added_tokens"][0]["content"]
    name = file["added_tokens"][0]["content"].encode()
    cases = [case.replace(b"<|endoftext|>", name) for case in cases]
    found = proposed(observed(file, cases))
    by_section = only(found, "prefix-space-flipped", before="section")
    by_text = only(found, "prefix-space-flipped", before="text")
    spaced = [b" ab" + name + b" cd", name + b" cd", b" ab"]
    assert answers(file, cases, by_section) == answers(file, spaced, None)
    spaced = [b" ab" + name + b"cd", name + b"cd", b" ab"]
    assert answers(file, cases, by_text) == answers(file, spaced, None)


@pytest.mark.parametrize(
    ("declared", "flipped", "due"),
    [
        ({"prepend_scheme": "always"}, "nothing", ["a", "▁b"]),
        ({"prepend_scheme": "first"}, "nothing", ["a", "▁b"]),
        ({"add_prefix_space": True}, "nothing", ["a", "▁b"]),
        ({"prepend_scheme": "never"}, "section", ["▁a", "▁b"]),
        ({"add_prefix_space": False, "prepend_scheme": "never"}, "text", ["▁a", "▁b"]),
    ],
)
def test_a_metaspace_is_flipped(declared: Step, flipped: str, due: list[str]) -> None:
    description = {"pre_tokenizer": {"type": "Metaspace", "replacement": "▁", **declared}}
    one = the(description, "prefix-space-flipped", before=flipped)
    assert pieces(description["pre_tokenizer"], "a b") != due
    assert changed(one, description, "a b") == due


def test_versions_are_offered_where_a_case_is_too_new_for_them() -> None:
    qwen = sequence(a_split(QWEN2), byte_level())
    for char, due in (
        ("\U00010d40", VERSIONS),
        ("\U0002ebf0", ("15.0", "14.0", "13.0")),
        ("\U0001e4f0", ("14.0", "13.0")),
        ("\u0870", ("13.0",)),
        ("\u08be", ()),
    ):
        cases = [b"ascii", f"x{char}".encode()]
        found = proposed(seen(qwen, cases, []))
        versions = [dict(one.parameters).get("unicode") for one in found]
        assert tuple(one for one in versions if one) == due
        assert can_show("classes-unicode-version", seen(qwen, cases, [])) == bool(due)


NEW = {"14.0": "\u0870", "15.0": "\U0001e4f0", "15.1": "\U0002ebf0", "16.0": "\u1c89"}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_version_is_named_exactly_and_a_tie_where_none_could_tell(version: str) -> None:
    cases = [b"it's", *(f"x {char}'s {char}".encode() for char in NEW.values())]
    plain = observed(BUNDLED, cases)
    one = only(proposed(plain), "classes-unicode-version", unicode=version)
    given = answers(BUNDLED, cases, one)
    found = explaining(BUNDLED, observed(BUNDLED, cases, given), proposed)
    assert [(one.name, dict(one.parameters)) for one in found] == [
        ("classes-unicode-version", {"unicode": version})
    ]
    last = [cases[0], cases[-1]]
    given = answers(BUNDLED, last, one)
    found = explaining(BUNDLED, observed(BUNDLED, last, given), proposed)
    assert [dict(one.parameters)["unicode"] for one in found] == list(VERSIONS)


CASES = [
    *("#\u0317", "q!#\u0317"),
    *(
        "Don'Tx stop's WE'LLs",
        "12345 and 6",
        "e\u0327\u0301a q\u0301\u0301x x!\u0301!",
        "a \u3000c",
    ),
    *("tabs\t\t and   spaces \n\n  x  ", "中文とカナ, \u0915\u094d\u0937\u093f", "ends in \n  "),
    *("it's/\nHTTPServer camelCase", "a\u00a0b \u00a0\u00a0c", "x_(y) #z"),
    *("end\n ", "12ab", "x 中文y"),
]


@cache
def eager() -> File:
    """Byte-level BPE with a token for each stretch of the cases, whatever borders it crosses."""
    spelling = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    spelled = [spelling.pre_tokenize_str(text)[0][0] for text in CASES]
    merges: dict[tuple[str, str], None] = {}
    for long in range(2, 7):
        for text in spelled:
            for first in range(len(text) - long + 1):
                merges[text[first : first + long - 1], text[first + long - 1]] = None
    tokens = [*pre_tokenizers.ByteLevel.alphabet(), *map("".join, merges)]
    vocabulary = {token: number for number, token in enumerate(dict.fromkeys(tokens))}
    tokenizer = Tokenizer(models.BPE(vocabulary, list(merges)))
    tokenizer.decoder = decoders.ByteLevel()
    file: File = json.loads(tokenizer.to_str())
    return file


def ids_under(pre_tokenizer: Description, texts: Sequence[str]) -> list[list[int]]:
    return encoded({**eager(), **pre_tokenizer}, texts)


@pytest.mark.parametrize(
    ("declared", "planted", "named"),
    [
        (QWEN2, QWEN2.replace("(?i:", "(?:"), ["contractions-case-sensitive"]),
        (QWEN2, LLAMA3, ["digits-by-three", "pattern-llama3"]),
        (QWEN2, QWEN2.replace(r"\p{N}|", r"\p{N}+|"), ["digits-unbounded"]),
        (LLAMA3, QWEN2, ["digits-single", "pattern-qwen2"]),
        (QWEN2, QWEN2.replace(r"\s+(?!\S)|", ""), ["no-whitespace-lookahead"]),
        (QWEN2, QWEN2.replace(r"?\p{L}+", r"?[\p{L}\p{M}]+"), ["marks-in-letter-run"]),
        (QWEN2, PATTERNS["qwen3.5"][0], ["marks-in-letter-run", "pattern-qwen3.5"]),
        (PATTERNS["qwen3.5"][0], QWEN2, ["marks-out-of-letter-run", "pattern-qwen2"]),
        (GPT2, GPT2.replace(r"'s|'t|'re|'ve|'m|'ll|'d", CONTRACTED), [INSENSITIVE]),
        (QWEN2, ASCII.join(QWEN2.split(r"\s")).replace(r"\S", r"[^\t-\r ]"), ["ascii-whitespace"]),
        (QWEN2, GPT2, ["pattern-gpt2"]),
        (QWEN2, PATTERNS["o200k"][0], ["pattern-o200k"]),
        (QWEN2, PATTERNS["tekken"][0], ["pattern-tekken"]),
        (LLAMA3, PATTERNS["cl100k"][0], ["pattern-cl100k"]),
    ],
)
def test_a_planted_pattern_is_named(declared: str, planted: str, named: list[str]) -> None:
    """Planted by hand in the file; the answers are the library's."""
    file = {**eager(), **sequence(a_split(declared), byte_level())}
    given = ids_under(sequence(a_split(planted), byte_level()), CASES)
    found = explaining(file, observed(file, [text.encode() for text in CASES], given), proposed)
    assert list(dict.fromkeys(one.name for one in found)) == named


@pytest.mark.parametrize("missing", [1, 2, 3])
def test_a_missing_split_is_named(missing: int) -> None:
    left = [step for place, step in enumerate(DEEPSEEK_V3, 1) if place != missing]
    file = {**eager(), **sequence(*map(a_split, DEEPSEEK_V3), byte_level())}
    given = ids_under(sequence(*map(a_split, left), byte_level()), CASES)
    found = explaining(file, observed(file, [text.encode() for text in CASES], given), proposed)
    assert [(one.name, one.parameters) for one in found] == [
        ("split-missing", (("split", missing),))
    ]


@pytest.mark.parametrize("cap", [5, 7, 16, 23, 64, 100, 1000])
@pytest.mark.parametrize("decode", [True, False])
def test_a_cap_on_words_is_inferred(cap: int, decode: bool) -> None:
    """Words of every length around it, and of many; some of them no cap can show in."""
    file = {**BUNDLED, **sequence(a_split(QWEN2), byte_level())}
    planted = {**BUNDLED, **sequence(a_split(QWEN2), a_split(f"(?m:.{{{cap}}})"), byte_level())}
    word = "internationalisation"
    texts = [
        f"the {(word * 200)[:long]} of it" for long in (3, cap - 1, cap, cap + 1, cap + 9, 3000)
    ]
    texts += ["naïve " * 3 + "é" * (cap + 2), f"x {'=' * 3 * cap} y", "and no more than that"]
    given = encoded(planted, texts)
    seen = observed(file, [text.encode() for text in texts], given, decode=decode)
    found = explaining(file, seen, proposed)
    if decode or cap in COMMON:
        assert [(one.name, one.parameters) for one in found] == [
            ("word-capped", (("characters", cap),))
        ]
    else:
        assert found == []


def test_a_cap_is_inferred_where_bytes_of_characters_are_tokens() -> None:
    file = {**BUNDLED, **sequence(a_split(QWEN2), byte_level())}
    planted = {**BUNDLED, **sequence(a_split(QWEN2), a_split("(?m:.{9})"), byte_level())}
    texts = ["漢字😀仮名" * 9 + "internationalisation", "😀 internationalisation"]
    cases = [text.encode() for text in texts]
    assert 9 in allowed(observed(file, cases, encoded(planted, texts)))


def test_only_caps_that_every_case_allows_are_tried() -> None:
    file = {**BUNDLED, **sequence(a_split(QWEN2), byte_level())}
    planted = {**BUNDLED, **sequence(a_split(QWEN2), a_split("(?m:.{24})"), byte_level())}
    texts = [f"the {'internationalisation' * 2}", "it and internationalisationinternational"]
    texts += [f"of {'thereof' * 9}", "in " + "=" * 80, "the other otherotherotherotherother"]
    seen = observed(file, [text.encode() for text in texts], encoded(planted, texts))
    longest = max(len(seen.decode(ids[None])) for ids in seen.observed.ids) if seen.decode else 0
    assert 24 in allowed(seen)
    assert all(24 % cap == 0 and cap >= longest > 4 for cap in allowed(seen))
    alone = seen.only(seen.mismatching[:1])
    assert set(allowed(alone)) > set(allowed(seen))
    assert all(cap >= longest for cap in allowed(seen))


def test_a_cap_is_inferred_beside_another_cause() -> None:
    declared = sequence(a_split(QWEN2), byte_level())
    file = {**BUNDLED, **declared}
    planted = {**BUNDLED, **sequence(a_split(GPT2), a_split("(?m:.{13})"), byte_level())}
    texts = [f"{word} internationalisation {word}\n\n {word}" for word in ("the", "of", "and it")]
    texts += ["the\n\n  and\n the"]
    seen = observed(file, [text.encode() for text in texts], encoded(planted, texts))
    found = [one for one in proposed(seen) if one.name == "word-capped"]
    assert 13 in [dict(one.parameters)["characters"] for one in found]
    capped = only(found, "word-capped", characters=13)
    both = combine([capped, only(proposed(seen), "pattern-gpt2")])
    given = [seen.observed.answer(row).tolist() for row in range(len(texts))]
    assert answers(file, seen.cases, both) == given


def test_a_cap_on_pieces_of_words_is_one_of_the_common_ones() -> None:
    file = word_piece()
    cut = {"type": "Sequence", "pretokenizers": [file["pre_tokenizer"], a_split("(?m:.{16})")]}
    texts = ["cat" * 7, "sat " * 9, "the cat", "thereonthematsat" * 2]
    given = encoded({**file, "pre_tokenizer": cut}, texts)
    found = explaining(file, observed(file, [text.encode() for text in texts], given), proposed)
    assert [one.label for one in found] == ["word-capped (characters 16)"]


def test_no_cap_is_inferred_from_what_is_no_cut() -> None:
    declared = sequence(a_split(QWEN2), byte_level())
    file = {**BUNDLED, **declared}
    assert allowed(observed(file, [b"internationalisation"])) == ()
    texts = ["the cat", "it is"]
    seen = observed(file, [text.encode() for text in texts], [[1], [2, 3]])
    assert allowed(seen) == ()


def test_a_pattern_is_exchanged_before_it_is_rewritten() -> None:
    """In whichever order a combination is made, the rewriting finds the pattern it is about."""
    qwen = sequence(a_split(QWEN2), byte_level())
    found = proposed(seen(qwen, ["\u1c89".encode()], []))
    exchanged, spaces = only(found, "pattern-gpt2"), only(found, "ascii-whitespace")
    looks = only(found, "no-whitespace-lookahead")
    older = only(found, "classes-unicode-version", unicode="15.1")
    digits = only(found, "digits-by-three")
    for parts in (
        [spaces, exchanged, looks, older, digits],
        [older, digits, looks, spaces, exchanged],
    ):
        together = combine(parts)
        text = "12345 a\u00a0 \u1c89x  b"
        assert changed(together, qwen, text) == pieces(
            sequence(
                a_split(
                    r"'s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}&&[^\x{1C89}]]+| ?\p{N}{1,3}"
                    r"| ?[^\t-\r [\p{L}&&[^\x{1C89}]]\p{N}]+|[\t-\r ]+"
                ),
                byte_level(),
            )["pre_tokenizer"],
            text,
        )


def test_a_change_does_nothing_where_there_is_nothing_of_the_kind() -> None:
    three = sequence(*map(a_split, DEEPSEEK_V3), byte_level())
    for one in proposed(seen(three, ["\u1c89".encode()], [])):
        bare: Description = {"pre_tokenizer": {"type": "BertPreTokenizer"}, "normalizer": None}
        assert one.describe(bare) == bare
        assert three == sequence(*map(a_split, DEEPSEEK_V3), byte_level())


def test_can_show_needs_what_the_tokenizer_declares() -> None:
    qwen = seen(sequence(a_split(QWEN2), byte_level()), [b"a"], [])
    assert can_show("digits-by-three", qwen)
    assert not can_show("digits-single", qwen)
    assert not can_show("pattern-qwen2", qwen)
    assert not can_show("classes-unicode-version", qwen)
    assert not can_show("word-capped", qwen)
    assert can_show("word-capped", seen({}, [b"x" * 20], []))
