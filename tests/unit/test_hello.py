"""A probe's first line: read, or refused in words; and held against its lane."""

import json

import pytest

from harness.hello import contradictions, hello_of, parse_hello, shown

FACTS = {
    "subject": "mine",
    "version": "1.2",
    "arch": "x86_64",
    "pointer_bits": 64,
    "char": "signed",
    "wchar": "signed",
    "wchar_bits": 32,
    "long_double_bits": 64,
    "endian": "little",
    "fp_contract": "off",
    "load_ms": 12.5,
    "operations": ["encode", "decode"],
}
AXES = {
    "arch": "x86_64",
    "char": "signed",
    "wchar": "signed",
    "endian": "little",
    "pointer": "64",
    "long-double": "64",
    "fp-contract": "off",
}


def line(**changes: object) -> bytes:
    return b"tokparity/1 " + json.dumps({**FACTS, **changes}).encode()


def test_a_good_hello() -> None:
    hello = parse_hello(line())
    assert (hello.subject, hello.version, hello.load_ms) == ("mine", "1.2", 12.5)
    assert hello.operations == ("encode", "decode")
    assert hello.refused is None
    assert hello.error is None
    assert hello_of(hello.facts) == hello
    assert contradictions(hello, AXES) == ()


def test_a_refusal_and_an_error_need_no_operations() -> None:
    assert parse_hello(line(refused="Unigram", operations=[])).refused == "Unigram"
    assert parse_hello(line(error="no such file", operations=[])).error == "no such file"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (b"", "no hello"),
        (b"Loading tokenizer...", "no hello"),
        (b"tokparity/2 {}", "protocol 'tokparity/2'"),
        (b"tokparity/1", "not JSON"),
        (b"tokparity/1 {", "not JSON"),
        (b"tokparity/1 [1]", "no JSON object"),
        (b"tokparity/1 \xff{}", "not JSON"),
        (b"tokparity/1 " + b"[" * 100_000, "not JSON"),
        (line(operations=[]), "offers no encode"),
        (line(operations="encode"), "operations"),
        (line(operations=[1]), "operations"),
        (line(subject=3), "subject"),
        (line(refused=True), "refused"),
    ],
)
def test_what_is_no_hello(said: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_hello(said)


@pytest.mark.parametrize(
    ("changes", "both"),
    [
        ({"arch": "aarch64"}, ("aarch64", "x86_64")),
        ({"char": "unsigned"}, ("'unsigned'", "signed")),
        ({"wchar": "unsigned"}, ("'unsigned'", "signed")),
        ({"endian": "big"}, ("big", "little")),
        ({"pointer_bits": 32}, ("32", "64")),
        ({"long_double_bits": 113}, ("113", "64")),
        ({"fp_contract": "fast"}, ("fast", "off")),
    ],
)
def test_a_contradiction_names_both_values(
    changes: dict[str, object], both: tuple[str, str]
) -> None:
    (words,) = contradictions(parse_hello(line(**changes)), AXES)
    assert all(value in words for value in both)


def test_what_is_not_claimed_contradicts_nothing() -> None:
    bare = parse_hello(b'tokparity/1 {"operations": ["encode"]}')
    assert contradictions(bare, AXES) == ()
    # A baseline without the instruction measures "off" whatever the lane asked for.
    assert contradictions(parse_hello(line()), {**AXES, "fp-contract": "fast"}) == ()


def test_shown_is_one_short_printable_line() -> None:
    hostile = shown(b"\x1b[2J\r\n\xff" + b"x" * 500)
    assert hostile.isprintable()
    assert hostile.isascii() or "…" in hostile
    assert len(hostile) < 200
