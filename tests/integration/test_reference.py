"""The bundled subject against the oracle, on small tokenizers that have every part it supports."""

import itertools
import json
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, processors
from tokenizers import pre_tokenizers as pre

from tests.integration.reference_probe import (
    BUILDS,
    SOURCES,
    Answers,
    ask,
    build,
    compile_argv,
    ids_of,
    pieces_of,
    request,
    text_of,
)
from tests.integration.reference_tokenizers import (
    BYTE_LEVEL_REGEX,
    FAMILIES,
    description,
    pre_tokenizer,
    splits,
    trained,
    write,
)

TEXTS = (
    "",
    " ",
    "  ",
    "\n",
    "Hello, world! Don't WE'RE it'S I'Ll 'ſ x'ſy",
    "a  b   c \t d\r\n\r\n e \n",
    "1234567 ١٢٣٤ ½ ① 3.14",
    "a\u0085b\u00a0c\u1680d\u2003e\u2028f\u3000g\u001ch\u200bi",
    "e\u0301" * 40,
    "q\u0301 \u1100\u1161\u11a8 \uac00\u11a8 Kanto\u0304 lu\u0308\u030cshi",
    "ที่นี่ क्षि बِسْمِ שָׁלוֹם 東京タワー 한국어",
    "fooBarBaz HTTPServer ǅungla ªº中A中AA aʰBʰ ÀÉ'S",
    '!!\u0301x ..//\n/ "quoted" <|im_end|> <|im_end|',
    "👨‍👩‍👧‍👦 ❤️ 🫨 \uf059 \ufeffabc ab\0cd",
    "\u0327\u0301 \u0378\u0301 \U00016123 \U00011383\u0301 \u20e0\u0300\U0001e4ec",
)
ALPHABET = (
    ([" "] * 6 + list("\n\r\t'.,!/-_09zAa") + ["'s", "'LL", "\u00a0", "\u3000", "\u0085", "\u0301"])
    + list("éßΩжЖ東あ한각١½①ʰªǅ😀\u200d\ufe0f\u0e35\u093c\u0f71")
    + ["e\u0301", "the", "text", "\u1100\u1161"]
)


@pytest.fixture(scope="session", params=list(BUILDS))
def reference(request: pytest.FixtureRequest, cache: Path) -> Path:
    return build(cache / "reference-tests" / request.param, BUILDS[request.param])


def random_texts(seed: int, count: int, extra: Sequence[str] = ()) -> list[str]:
    chance = random.Random(seed)  # noqa: S311 - the same texts every time
    alphabet = [*ALPHABET, *extra, *extra]
    return ["".join(chance.choices(alphabet, k=chance.randint(0, 12))) for _ in range(count)]


def assert_parity(reference: Path, tokenizer: Tokenizer, path: Path, texts: Sequence[str]) -> None:
    """Every operation the subject offers gives what the oracle gives."""
    ids = [one.ids for one in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]
    special = [one.ids for one in tokenizer.encode_batch_fast(texts, add_special_tokens=True)]
    decoded = tokenizer.decode_batch(ids, skip_special_tokens=False)
    normalized = [
        tokenizer.normalizer.normalize_str(text) if tokenizer.normalizer else text for text in texts
    ]
    operations = ("encode", "encode_special", "normalize", "pretokenize")
    requests = [request(operation, text) for operation in operations for text in texts]
    requests += ["decode " + " ".join(map(str, one)) for one in ids]
    answers = ask(reference, path, requests)
    assert answers.status == 0, answers.stderr
    assert answers.hello["operations"] == [
        "encode", "encode_special", "decode", "normalize", "pretokenize",
    ]  # fmt: skip
    parts = [answers.lines[i : i + len(texts)] for i in range(0, len(answers.lines), len(texts))]
    for text, expected, line in zip(texts, ids, parts[0], strict=True):
        assert ids_of(line) == expected, repr(text)
    for text, expected, line in zip(texts, special, parts[1], strict=True):
        assert ids_of(line) == expected, repr(text)
    assert [text_of(line) for line in parts[2]] == normalized
    assert [text_of(line) for line in parts[4]] == decoded
    for text, line in zip(normalized, parts[3], strict=True):
        expected = [one for one, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text)]
        written = [
            "".join(one for one, _ in pre.ByteLevel(False, use_regex=False).pre_tokenize_str(piece))
            for piece in pieces_of(line)
        ]
        assert written == expected, repr(text)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("normalizer", ["none", "NFC"])
def test_families(reference: Path, tmp_path: Path, family: str, normalizer: str) -> None:
    tokenizer = trained(family)
    if normalizer != "none":
        tokenizer.normalizer = getattr(normalizers, normalizer)()
    path = write(tmp_path / "tokenizer.json", tokenizer)
    assert_parity(reference, tokenizer, path, [*TEXTS, *random_texts(len(family), 1500)])


def test_the_sanitized_build_has_the_other_char(cache: Path, tmp_path: Path) -> None:
    path = write(tmp_path / "tokenizer.json", trained("qwen2"))
    root = cache / "reference-tests"
    signs = [
        ask(build(root / name, flags), path, []).hello["char"] for name, flags in BUILDS.items()
    ]
    assert signs == ["signed", "unsigned"]


@pytest.mark.parametrize(
    "normalizer",
    [
        normalizers.NFD(),
        normalizers.NFKC(),
        normalizers.NFKD(),
        normalizers.Sequence([]),
        normalizers.Sequence([normalizers.NFD(), normalizers.Sequence([normalizers.NFC()])]),
    ],
    ids=["nfd", "nfkc", "nfkd", "empty", "nested"],
)
def test_normalizers(reference: Path, tmp_path: Path, normalizer: object) -> None:
    tokenizer = trained("qwen2")
    tokenizer.normalizer = normalizer
    path = write(tmp_path / "tokenizer.json", tokenizer)
    assert_parity(reference, tokenizer, path, [*TEXTS, *random_texts(3, 1000)])


FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")
CONTENTS = ("<x>", "ab", "<\u212b>", "é", "e\u0301", " ", "x ", "<x><a>", "\u0301<", "word", "Ⓐ")
AROUND = (
    " ",
    "\u3000",
    "\n",
    "\u0085",
    "a",
    "_",
    "\u0301",
    "字",
    "\u200d",
    "1",
    "-",
    "Å",
    "Ⓐ",
    "É",
)


@pytest.mark.parametrize("flags", list(itertools.product([False, True], repeat=len(FLAGS))))
def test_added_token_flags(reference: Path, tmp_path: Path, flags: tuple[bool, ...]) -> None:
    """One token with each set of flags, beside others, in texts made mostly of them."""
    tokenizer = trained("qwen2", 400)
    tokenizer.normalizer = normalizers.NFC()
    wanted = AddedToken("<x>", **dict(zip(FLAGS, flags, strict=True)))
    others = [AddedToken("<x><a>", normalized=False), AddedToken("<\u212b>", normalized=True)]
    tokenizer.add_tokens([wanted, *others])
    path = write(tmp_path / "tokenizer.json", tokenizer)
    loaded = Tokenizer.from_file(str(path))
    fixed = [before + "<x>" + after for before in AROUND for after in AROUND]
    texts = fixed + random_texts(sum(flags), 400, ["<x>", "<a>", "<\u00c5>", "  ", *AROUND])
    assert_parity(reference, loaded, path, texts)


def test_added_tokens_that_collide(reference: Path, tmp_path: Path) -> None:
    """Repeated contents, equal normalized contents, prefixes, ids that the file gets wrong."""
    chance = random.Random(11)  # noqa: S311 - the same tokenizers every time
    for round_ in range(25):
        tokenizer = trained("qwen2", 400)
        tokenizer.normalizer = normalizers.NFC()
        made = description(tokenizer)
        made["added_tokens"] = [
            {"id": 9000 + i, "content": chance.choice(CONTENTS), "lstrip": False, "rstrip": False}
            | {flag: chance.random() < 0.4 for flag in ("single_word", "normalized", "special")}
            for i in range(8)
        ]
        path = write(tmp_path / f"{round_}.json", made)
        texts = random_texts(round_, 200, [*CONTENTS, *AROUND])
        assert_parity(reference, Tokenizer.from_file(str(path)), path, texts)


def bytes_only() -> Tokenizer:
    alphabet = {one: i for i, one in enumerate(sorted(pre.ByteLevel.alphabet()))}
    tokenizer = Tokenizer(models.BPE(alphabet, []))
    tokenizer.pre_tokenizer = pre_tokenizer(BYTE_LEVEL_REGEX)
    return tokenizer


def test_ignore_merges(reference: Path, tmp_path: Path) -> None:
    tokenizer = trained("llama3")
    made = description(tokenizer)
    made["model"]["vocab"]["ĠVi\u00e1»\u0129t"] = 5000  # no merge makes it
    for ignore in (False, True):
        made["model"]["ignore_merges"] = ignore
        path = write(tmp_path / f"{ignore}.json", made)
        loaded = Tokenizer.from_file(str(path))
        assert_parity(reference, loaded, path, [" Việt", *TEXTS, *random_texts(5, 300)])


@pytest.mark.parametrize("fuse", [False, True])
@pytest.mark.parametrize("unk", [None, "<unk>"])
def test_bytes_without_a_token(
    reference: Path, tmp_path: Path, unk: str | None, fuse: bool
) -> None:
    made = description(trained("llama3", 300))
    model = made["model"]
    missing = {"a", "Ã", "©", "t"}
    model["vocab"] = {one: i for one, i in model["vocab"].items() if not missing & set(one)}
    model["vocab"]["<unk>"] = 4000
    model["merges"] = [m for m in model["merges"] if not missing & set("".join(m))]
    model["unk_token"], model["fuse_unk"] = unk, fuse
    path = write(tmp_path / "tokenizer.json", made)
    texts = ["aat tta éa", *random_texts(6, 300)]
    assert_parity(reference, Tokenizer.from_file(str(path)), path, texts)


def test_merges_as_strings_and_a_model_without_a_type(reference: Path, tmp_path: Path) -> None:
    made = description(trained("gpt2"))
    merges = made["model"]["merges"]
    made["model"]["merges"] = ["#version: 0.2", *(" ".join(one) for one in merges)]
    del made["model"]["type"]
    path = write(tmp_path / "tokenizer.json", made)
    assert_parity(reference, Tokenizer.from_file(str(path)), path, TEXTS)


def test_the_last_of_equal_merges_and_of_equal_keys_counts(reference: Path, tmp_path: Path) -> None:
    made = description(bytes_only())
    model = made["model"]
    model["vocab"] |= {"ab": 300, "bc": 301, "abc": 302}
    model["merges"] = [["a", "b"], ["b", "c"], ["a", "b"], ["a", "bc"], ["ab", "c"]]
    text = json.dumps(made).replace('"ab": 300', '"ab": 7, "ab": 300')
    path = tmp_path / "tokenizer.json"
    path.write_text(text)
    loaded = Tokenizer.from_file(str(path))
    assert_parity(reference, loaded, path, ["abc", "ab", "aabcbc", "bcab"])


@pytest.mark.parametrize("behavior", ["isolated", "removed"])
@pytest.mark.parametrize("invert", [False, True])
@pytest.mark.parametrize("family", ["deepseek-v3", "llama3"])
def test_split_behaviours(
    reference: Path, tmp_path: Path, behavior: str, invert: bool, family: str
) -> None:
    tokenizer = trained(family)
    made = description(tokenizer)
    for part in made["pre_tokenizer"]["pretokenizers"][:-1]:
        part["behavior"], part["invert"] = behavior.capitalize(), invert
    path = write(tmp_path / "tokenizer.json", made)
    loaded = Tokenizer.from_file(str(path))
    assert_parity(reference, loaded, path, [*TEXTS, *random_texts(8, 300)])


@pytest.mark.parametrize("family", FAMILIES)
def test_prefix_space(reference: Path, tmp_path: Path, family: str) -> None:
    tokenizer = trained(family)
    tokenizer.pre_tokenizer = pre_tokenizer(family, add_prefix_space=True)
    tokenizer.add_tokens([AddedToken("<x>", normalized=False)])
    path = write(tmp_path / "tokenizer.json", tokenizer)
    assert_parity(reference, tokenizer, path, [*TEXTS, "a<x>b <x> c", *random_texts(9, 300)])


def template(single: str) -> processors.PostProcessor:
    return processors.TemplateProcessing(
        single=single, pair=f"{single} $B", special_tokens=[("<s>", 1), ("</s>", 2)]
    )


@pytest.mark.parametrize(
    "processor",
    [
        template("<s> $A"),
        template("<s> $A </s> </s>"),
        template("$A </s> $A"),
        processors.ByteLevel(),
        processors.Sequence([processors.ByteLevel(), template("<s> $A </s>")]),
        processors.Sequence([]),
    ],
    ids=["first", "around", "twice", "byte-level", "sequence", "empty"],
)
def test_post_processors(reference: Path, tmp_path: Path, processor: object) -> None:
    tokenizer = trained("llama3")
    tokenizer.post_processor = processor
    path = write(tmp_path / "tokenizer.json", tokenizer)
    assert_parity(reference, tokenizer, path, TEXTS)


@pytest.mark.parametrize(
    "decoder",
    [None, decoders.ByteLevel(), decoders.Sequence([decoders.ByteLevel(), decoders.ByteLevel()])],
    ids=["none", "byte-level", "twice"],
)
def test_decode_of_any_ids(reference: Path, tmp_path: Path, decoder: object) -> None:
    """Broken characters, added tokens outside the byte alphabet, ids that have no token."""
    tokenizer = trained("llama3")
    tokenizer.decoder = decoder
    tokenizer.add_special_tokens(["<｜User▁x｜>", "<é>"])
    chance = random.Random(4)  # noqa: S311 - the same ids every time
    size = tokenizer.get_vocab_size()
    ids = [[chance.randrange(size + 20) for _ in range(7)] for _ in range(2000)] + [
        [],
        [4294967295],
    ]
    path = write(tmp_path / "tokenizer.json", tokenizer)
    answers = ask(reference, path, ["decode " + " ".join(map(str, one)) for one in ids])
    expected = tokenizer.decode_batch(ids, skip_special_tokens=False)
    assert [text_of(line) for line in answers.lines] == expected


@pytest.mark.parametrize("letter", ["x", "a", "ab", "the"])
def test_long_words(reference: Path, tmp_path: Path, letter: str) -> None:
    """A word of a megabyte is merged, and neither takes a frame nor a second look a character."""
    tokenizer = trained("qwen2")
    path = write(tmp_path / "tokenizer.json", tokenizer)
    lengths = (10_000, 36_000, 1_000_000 // len(letter))
    texts = [letter * length for length in lengths] + [
        "\u0301" * 20_000,
        " " * 50_000,
        "\n" * 9_999,
    ]
    expected = [one.ids for one in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]
    answers = ask(reference, path, [request("encode", text) for text in texts])
    assert [ids_of(line) for line in answers.lines] == expected


INVALID = (
    b"\xff", b"\xe6\xad", b"a\xed\xa0\x80b", b"\xc0\xaf", b"\xf0\x9f\x98", b"\xf4\x90\x80\x80",
    b"\xe6\x94\x94\x9f ", b"\x80\xbf", b"\xf8\x88\x80\x80\x80", b"\xe0\x80\x80",
    b" " * 64 + b"\xff", b"\xf1\x80\x80\xe1\x80\xc2b\x80c\x80\xbfd",
)  # fmt: skip


def test_invalid_utf8_is_replaced_a_maximal_subpart_at_a_time(
    reference: Path, tmp_path: Path
) -> None:
    tokenizer = trained("qwen2")
    path = write(tmp_path / "tokenizer.json", tokenizer)
    chance = random.Random(2)  # noqa: S311 - the same bytes every time
    edges = bytes([0x41, 0x80, 0xBF, 0xC2, 0xE0, 0xED, 0xF0, 0xF4, 0x90, 0xA0, 0x9F, 0x8F, 0xFF])
    data = [*INVALID, *(bytes(chance.choices(edges, k=9)) for _ in range(3000))]
    replaced = [one.decode("utf-8", "replace") for one in data]
    answers = ask(reference, path, [request("encode", one) for one in data])
    ids = [one.ids for one in tokenizer.encode_batch_fast(replaced, add_special_tokens=False)]
    assert [ids_of(line) for line in answers.lines] == ids
    answers = ask(reference, path, [request("normalize", one) for one in data])
    assert [text_of(line) for line in answers.lines] == replaced


def test_without_nfc(reference: Path, tmp_path: Path) -> None:
    tokenizer = trained("qwen2")
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC()])
    tokenizer.add_tokens([AddedToken("<\u212b>", normalized=True)])
    path = write(tmp_path / "tokenizer.json", tokenizer)
    texts = [*TEXTS, "<\u212b> <\u00c5>"]
    with_nfc = [one.ids for one in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]
    made = description(tokenizer)
    made["normalizer"] = None
    bare = Tokenizer.from_str(json.dumps(made))
    expected = [one.ids for one in bare.encode_batch_fast(texts, add_special_tokens=False)]
    assert expected != with_nfc
    requests = [request("encode", text) for text in texts]
    answers = ask(reference, path, requests, ["--without-nfc"])
    assert [ids_of(line) for line in answers.lines] == expected


def test_unknown_argument(reference: Path, tmp_path: Path) -> None:
    path = write(tmp_path / "tokenizer.json", trained("qwen2", 300))
    answers = ask(reference, path, [], ["--with-nfc"])
    assert answers.status == 2
    assert "--with-nfc" in answers.stderr


def _set(*keys: str | int, to: object) -> Callable[[dict[str, Any]], None]:
    def change(made: dict[str, Any]) -> None:
        place: Any = made
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = to

    return change


SPLIT = ("pre_tokenizer", "pretokenizers", 0)
REFUSED: list[tuple[Callable[[dict[str, Any]], None], str]] = [
    (_set("normalizer", to={"type": "Lowercase"}), "normalizer: Lowercase"),
    (
        _set(
            "normalizer", to={"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Nmt"}]}
        ),
        "normalizer: Nmt",
    ),
    (_set("pre_tokenizer", to=None), "pre_tokenizer: one without ByteLevel"),
    (_set("pre_tokenizer", to={"type": "Metaspace"}), "pre_tokenizer: Metaspace"),
    (_set(*SPLIT, "pattern", to={"Regex": r"\w+"}), r"pre_tokenizer: Split pattern \w+"),
    (_set(*SPLIT, "pattern", to={"String": " "}), "pre_tokenizer: Split by a pattern"),
    (_set(*SPLIT, "behavior", to="MergedWithNext"), "Split behavior MergedWithNext"),
    (
        _set(*SPLIT, to={"type": "ByteLevel", "add_prefix_space": False}),
        "ByteLevel after ByteLevel",
    ),
    (_set("model", "type", to="Unigram"), "model: Unigram"),
    (_set("model", "dropout", to=0.1), "model: dropout 0.1"),
    (_set("model", "byte_fallback", to=True), "model: byte_fallback true"),
    (_set("model", "continuing_subword_prefix", to="##"), "continuing_subword_prefix '##'"),
    (_set("model", "end_of_word_suffix", to="</w>"), "end_of_word_suffix '</w>'"),
    (_set("post_processor", to={"type": "RobertaProcessing"}), "post_processor: RobertaProcessing"),
    (_set("decoder", to={"type": "Metaspace"}), "decoder: Metaspace"),
    (_set("version", to="2.0"), "version: 2.0"),
]


@pytest.mark.parametrize(("change", "reason"), REFUSED, ids=[reason for _, reason in REFUSED])
def test_refusals_name_the_part(
    reference: Path, tmp_path: Path, change: Callable[[dict[str, Any]], None], reason: str
) -> None:
    made = description(trained("qwen2", 300))
    change(made)
    answers = ask(reference, write(tmp_path / "tokenizer.json", made), [])
    assert reason in answers.hello["refused"]
    assert answers.hello["operations"] == []
    assert answers.status == 0


def failing(reference: Path, path: Path, content: bytes) -> str:
    path.write_bytes(content)
    return _error(ask(reference, path, []))


def _error(answers: Answers) -> str:
    assert answers.status == 0, answers.stderr
    message: str = answers.hello["error"]
    return message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "byte 0"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS pointer"),
        (b"[" * 4_000_000, "nested deeper than 128 levels"),
        (b'{"a":' * 1_000_000, "nested deeper than 128 levels"),
        (b'{"model": \n\n nul}', "line 3, column 2 (byte 13)"),
        (b'{"model": 01}', "expected ',' or '}'"),
        (b'{"model": -}', "expected a digit"),
        (b'{"model": 1.e3}', "expected a digit"),
        (b'{"model": [1,]}', "expected a value"),
        (b'{"model": {"a" 1}}', "expected ':'"),
        (b'{"model": "\\ud800"}', "half a surrogate pair"),
        (b'{"model": "\\udc00"}', "half a surrogate pair"),
        (b'{"model": "\\u12g4"}', "four hexadecimal digits"),
        (b'{"model": "\\x"}', "unknown escape"),
        (b'{"model": "\x01"}', "control character"),
        (b'{"model": "\xff"}', "invalid UTF-8"),
        (b"{} {}", "more text after the value"),
        (b"[]", "expected an object with a model"),
        (b'{"model": {}}', "pre_tokenizer"),
    ],
)
def test_malformed_files(reference: Path, tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    hello = ask(reference, path, []).hello
    assert message in str(hello.get("error") or hello.get("refused"))


def test_every_truncation_is_an_error(reference: Path, tmp_path: Path) -> None:
    """Cut at 60 places, so also inside escapes, numbers, names and multi-byte characters."""
    made = description(trained("qwen2", 280))
    made["added_tokens"] = []
    content = json.dumps(made, ensure_ascii=False).encode()
    tail = json.dumps(made).encode()
    for whole in (content, tail):
        for cut in range(1, len(whole), len(whole) // 30):
            assert "not JSON" in failing(reference, tmp_path / "tokenizer.json", whole[:cut])


def test_files_that_are_none(reference: Path, tmp_path: Path) -> None:
    assert "No such file" in _error(ask(reference, tmp_path / "missing.json", []))
    assert "not a regular file" in _error(ask(reference, tmp_path, []))


def test_merges_of_unknown_tokens(reference: Path, tmp_path: Path) -> None:
    made = description(trained("qwen2", 300))
    made["model"]["merges"].append(["zzz", "a"])
    answers = ask(reference, write(tmp_path / "tokenizer.json", made), [])
    assert "'zzz'" in answers.hello["error"]


def test_escapes_in_the_file(reference: Path, tmp_path: Path) -> None:
    tokenizer = trained("qwen2")
    tokenizer.add_tokens(['\t"\\/\b\f\n\r\x00', "😀👍", "\u2028é"])
    made = description(tokenizer)
    path = tmp_path / "tokenizer.json"
    for ascii_only in (True, False):
        path.write_text(json.dumps(made, ensure_ascii=ascii_only, indent=3), encoding="utf-8")
        texts = ['a\t"\\/\b\f\n\r\x00b', "x😀👍y\u2028é"]
        assert_parity(reference, tokenizer, path, texts)


def test_sources_are_formatted_and_free_of_warnings_under_clang() -> None:
    files = [str(one) for one in sorted(SOURCES.glob("*.[ch]pp"))]
    subprocess.run(
        [str(Path(sys.executable).with_name("clang-format")), "--dry-run", "-Werror", *files],
        check=True,
    )
    inputs = [one for one in files if one.endswith(".cpp")]
    subprocess.run([*compile_argv("clang++"), "-fsyntax-only", *inputs], check=True)


def test_splits_are_what_the_patterns_say() -> None:
    assert [len(splits(family)) for family in FAMILIES] == [1, 1, 1, 1, 3, 1, 0]
