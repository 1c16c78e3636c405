"""Every code point through the bundled subject and the oracle: the two facts about Unicode.

The pattern classes (and the word characters beside added tokens) are those of Unicode 16.0, the
normalizer's data those of Unicode 9.0. Each is swept over all 1,112,064 scalar values. Many code
points share a text, since a text costs more than a character; one that is taken wrongly still
shows, by where its text is split.
"""

import shutil
import subprocess
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest
from tokenizers import AddedToken, Tokenizer, models, normalizers
from tokenizers import pre_tokenizers as pre

from tests.integration.reference_probe import BUILDS, ROOT, SOURCES, ask, build, request
from tests.integration.reference_tokenizers import (
    BYTE_LEVEL_REGEX,
    PATTERNS,
    pre_tokenizer,
    splits,
    write,
)

SCALARS = [*range(0xD800), *range(0xE000, 0x110000)]
PACK = 100
# In every text of these, a code point that is no letter joins what follows, or a letter does not.
EVERYWHERE = ("{c}!", "x{c}")
# Where the FACTS were found: alone, between digits, after an apostrophe, at the edge of a run …
BOUNDARIES = (
    "{c}",
    "1{c}234 {c}\n\n  \nx",
    "ab{c}ab",
    "'{c}",
    "a'{c}e",
    "x{c}!1{c}Yy!!{c}{c}1",
    "X{c}'S{c}\r\n/",
)
NEAR = 8


@pytest.fixture(scope="session")
def reference(cache: Path) -> Path:
    return build(cache / "reference-tests" / "native", BUILDS["native"])


def byte_tokens() -> Tokenizer:
    alphabet = {one: i for i, one in enumerate(sorted(pre.ByteLevel.alphabet()))}
    return Tokenizer(models.BPE(alphabet, []))


def near_boundaries() -> list[int]:
    """The code points that are at most NEAR away from one of another general category."""
    categories = [unicodedata.category(chr(one)) for one in range(0x110000)]
    edges = [i for i in range(1, 0x110000) if categories[i] != categories[i - 1]]
    near = {one for edge in edges for one in range(edge - NEAR, edge + NEAR)}
    # Python's own tables are older than the oracle's: what they do not know is near a boundary too.
    near.update(_newer_blocks())
    return [one for one in sorted(near) if one < 0x110000 and not 0xD800 <= one < 0xE000]


def _newer_blocks() -> Iterator[int]:
    for first, last in ((0x105C0, 0x105FF), (0x10D40, 0x10D8F), (0x11380, 0x113FF)):
        yield from range(first, last + 1)
    for first, last in ((0x11BC0, 0x11BFF), (0x16100, 0x1613F), (0x16D40, 0x16D7F)):
        yield from range(first, last + 1)


def packed(contexts: Sequence[str], codes: Sequence[int], size: int = PACK) -> list[str]:
    return [
        "".join(context.replace("{c}", chr(one)) for one in codes[i : i + size])
        for context in contexts
        for i in range(0, len(codes), size)
    ]


def differing_splits(
    reference: Path, directory: Path, family: str, texts: Sequence[str]
) -> list[tuple[str, str, str]]:
    """The texts that the reference splits otherwise, each with the oracle's and its own pieces."""
    tokenizer = byte_tokens()
    tokenizer.pre_tokenizer = pre_tokenizer(family)
    path = write(directory / f"{family}.json", tokenizer)
    answers = ask(reference, path, (request("pretokenize", text) for text in texts))
    found = []
    oracle = splits(family)
    for text, line in zip(texts, answers.lines, strict=True):
        # Pieces with a NUL between: a list of each would cost more than the comparison.
        observed = bytes.fromhex(line[3:].replace(" ", "00")).decode()
        parts = [text]
        for split in oracle:
            parts = [piece for one in parts for piece, _ in split.pre_tokenize_str(one)]
        expected = "\0".join(parts)
        if observed != expected:
            found.append((text, expected, observed))
    return found


def differing_forms(
    reference: Path, directory: Path, form: str, texts: Sequence[str]
) -> list[tuple[str, str, str]]:
    """The texts that the reference normalizes otherwise, with the oracle's form and its own."""
    tokenizer = byte_tokens()
    tokenizer.normalizer = getattr(normalizers, form)()
    tokenizer.pre_tokenizer = pre_tokenizer(BYTE_LEVEL_REGEX)
    path = write(directory / f"{form}.json", tokenizer)
    answers = ask(reference, path, (request("normalize", text) for text in texts))
    found = []
    for text, line in zip(texts, answers.lines, strict=True):
        expected = tokenizer.normalizer.normalize_str(text)
        observed = bytes.fromhex(line[3:]).decode()
        if observed != expected:
            found.append((text, expected, observed))
    return found


@pytest.mark.parametrize("family", list(PATTERNS))
def test_every_code_point_in_every_pattern(reference: Path, tmp_path: Path, family: str) -> None:
    texts = packed(EVERYWHERE, SCALARS)
    assert not differing_splits(reference, tmp_path, family, texts)[:3]


@pytest.mark.parametrize("family", list(PATTERNS))
def test_boundary_sensitive_contexts(reference: Path, tmp_path: Path, family: str) -> None:
    codes = near_boundaries()
    assert len(codes) > 15_000
    together = "\n".join(BOUNDARIES[1:]) + "\n{c}"
    texts = [together.replace("{c}", chr(one)) for one in codes] + [chr(one) for one in codes]
    assert not differing_splits(reference, tmp_path, family, texts)[:3]


@pytest.mark.parametrize(("family", "context"), [("llama3", "'{c}"), ("o200k", "a'{c}\n")])
def test_every_code_point_after_an_apostrophe(
    reference: Path, tmp_path: Path, family: str, context: str
) -> None:
    """Case folding in (?i:'s|…): only U+017F folds to one of those letters beside ASCII."""
    assert not differing_splits(reference, tmp_path, family, packed([context], SCALARS))[:3]


def normalizer_texts(codes: Sequence[int], pairs: bool = True) -> list[str]:
    # A line end neither composes nor moves: each code point is as good as alone.
    alone = packed(["{c}\n"], codes)
    # U+0345 has the highest combining class, U+0334 the lowest: the order shows who has one at all.
    moved = packed(["a\u0345{c}\n", "a{c}\u0334\n", "e{c}\u0323\u0301\n"], codes)
    return alone + moved + (["\n".join(one) for one in _batches(_pairs())] if pairs else [])


def _pairs() -> Iterator[str]:
    """Every canonical pair, and every jamo beside every jamo and some syllables."""
    for code in SCALARS:
        parts = unicodedata.decomposition(chr(code)).split()
        if parts and not parts[0].startswith("<"):
            yield "".join(chr(int(one, 16)) for one in parts)
    leads = [*range(0x10FF, 0x1115), 0xABFF, 0xAC00, 0xAC01, 0xAC1C, 0xD788, 0xD7A3, 0xD7A4]
    yield from (chr(a) + chr(b) for a in leads for b in range(0x1160, 0x11C5))


def _batches(items: Iterable[str]) -> Iterator[list[str]]:
    listed = list(items)
    yield from (listed[i : i + PACK] for i in range(0, len(listed), PACK))


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_every_code_point_in_the_normalizer(reference: Path, tmp_path: Path, form: str) -> None:
    assert not differing_forms(reference, tmp_path, form, normalizer_texts(SCALARS))[:3]


def test_every_code_point_beside_added_tokens(reference: Path, tmp_path: Path) -> None:
    r"""What \w is for single_word, and \s for lstrip and rstrip."""
    # Whatever stands between two added tokens is one id: the sweep is about where they are found.
    tokenizer = Tokenizer(models.BPE({"?": 0}, [], unk_token="?", fuse_unk=True))  # noqa: S106
    tokenizer.pre_tokenizer = pre.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.add_tokens(
        [
            AddedToken("<w>", single_word=True, normalized=False),
            AddedToken("<l>", lstrip=True, normalized=False),
            AddedToken("<r>", rstrip=True, normalized=False),
        ]
    )
    path = write(tmp_path / "tokenizer.json", tokenizer)
    # Short texts: for each token with lstrip the oracle looks through all the text before it.
    texts = packed(["{c}<w>,<w>{c},<r>{c}<l>"], SCALARS, 10)
    answers = ask(reference, path, (request("encode", text) for text in texts))
    encoded = tokenizer.encode_batch_fast(texts, add_special_tokens=False)
    for text, one, line in zip(texts, encoded, answers.lines, strict=True):
        assert line == f"ok {' '.join(map(str, one.ids))}", repr(text)


# One character moved in one table each: what the sweeps would say of it.
PLANTED = {
    "unicode_classes.inc": ("{0x1E4D0, 0x1E4EA, kOtherLetter | kWord},", "", 0x1E4D5),
    "unicode_combining.inc": ("{0x315, 0x315, 232},", "{0x315, 0x315, 230},", 0x315),
    "unicode_canonical.inc": ('{0xC5, U"\\x41\\x30A"},', "", 0xC5),
    "unicode_compositions.inc": ("{0x41, 0x30A, 0xC5},", "", 0xC5),
    "unicode_compatibility.inc": ('{0xB2, U"\\x32"},', '{0xB2, U"\\x33"},', 0xB2),
}


@pytest.fixture(scope="session")
def spoilt(cache: Path) -> Path:
    """The reference with every planted change at once, compiled without optimisation."""
    sources = cache / "reference-spoilt" / "sources"
    shutil.copytree(SOURCES, sources, dirs_exist_ok=True)
    for name, (old, new, _) in PLANTED.items():
        text = (SOURCES / name).read_text()
        assert text.count(old) == 1, name
        (sources / name).write_text(text.replace(old, new))
    return build(cache / "reference-spoilt" / "build", ("-O0",), sources)


def test_the_sweeps_find_one_changed_code_point(spoilt: Path, tmp_path: Path) -> None:
    _, _, code = PLANTED["unicode_classes.inc"]
    around = range(code - 200, code + 200)
    for family in PATTERNS:
        found = differing_splits(spoilt, tmp_path, family, packed(EVERYWHERE, around))
        assert any(chr(code) in text for text, _, _ in found), family
    latin = range(0xA0, 0x400)
    for name, form in (("combining", "NFD"), ("canonical", "NFD"), ("compatibility", "NFKD")):
        _, _, code = PLANTED[f"unicode_{name}.inc"]
        found = differing_forms(spoilt, tmp_path, form, normalizer_texts(latin, pairs=False))
        assert any(chr(code) in text for text, _, _ in found), name
    _, _, code = PLANTED["unicode_compositions.inc"]
    found = differing_forms(spoilt, tmp_path, "NFC", ["A\u030a", "B\u030a"])
    assert [text for text, _, _ in found] == ["A\u030a"]


def make_tables(*arguments: str) -> subprocess.CompletedProcess[str]:
    script = ROOT / "scripts" / "make_unicode_tables.py"
    return subprocess.run(
        [sys.executable, str(script), *arguments], capture_output=True, text=True, check=False
    )


def test_committed_tables_are_what_the_script_writes(tmp_path: Path) -> None:
    done = make_tables("--check")
    assert (done.returncode, done.stderr) == (0, "")
    for name in PLANTED:
        shutil.copy(SOURCES / name, tmp_path / name)
    (tmp_path / "unicode_combining.inc").write_text("{0x300, 0x314, 230},\n")
    (tmp_path / "unicode_canonical.inc").unlink()
    done = make_tables("--check", "--into", str(tmp_path))
    assert done.returncode == 1
    assert "unicode_combining.inc: differs" in done.stderr
    assert "unicode_canonical.inc: differs" in done.stderr
    assert "unicode_classes.inc" not in done.stderr
