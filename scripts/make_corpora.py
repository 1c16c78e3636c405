"""Write the generated corpora of ``corpora/``, the same bytes every time.

    python scripts/make_corpora.py            writes the files
    python scripts/make_corpora.py --check    exits 1 where a file differs

``public_bugs.jsonl`` is curated by hand and only checked. Every line states all the traits that can
be computed from it, so that a reader sees them and a run verifies them.
"""

import argparse
import itertools
import json
import sys
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from harness.atomic import write_atomically  # noqa: E402
from harness.corpus import load  # noqa: E402
from harness.traits import WHITE_SPACE, computed_traits, nfc  # noqa: E402

CORPORA = ROOT / "corpora"
TEXTS = ROOT / "scripts" / "corpus_texts"
CURATED = ("public_bugs",)
Line = tuple[str, str | bytes, str | None]  # id, content, what it catches


def smoke() -> Iterator[Line]:
    """Yield what every tokenizer must get right: nothing here stands at any edge."""
    texts = {
        "word": "hello",
        "two-words": "hello world",
        "sentence": "The quick brown fox jumps over the lazy dog.",
        "capitals": "THE QUICK BROWN FOX",
        "mixed-case": "HelloWorld helloWorld",
        "question": "What is 2 + 2? Reply with just the number.",
        "contraction": "it's what they're saying, isn't it",
        "comma": "one, two, three",
        "number": "42",
        "year": "In 2024 and 2025",
        "decimal": "3.14159",
        "symbols": "a + b = c; x < y && y > z",
        "brackets": "f(x)[0]{1}",
        "quoted": "say \"yes\" or 'no'",
        "path": "/usr/local/bin/python3",
        "url": "https://example.org/index.html?q=1",
        "code": "int main() { return 0; }",
        "snake": "snake_case_name",
        "newline": "first line\nsecond line",
        "repeated": "ha ha ha ha ha",
        "single": "a",
        "french": "café crème",
        "german": "schön und grün",
        "russian": "Мой дом",
        "japanese": "日本",
        "korean": "한글",
    }
    for name, text in texts.items():
        data = text.encode()
        if nfc(text) != text or {0x00, 0x85, 0xA0} & set(data):
            raise ValueError(f"smoke case {name} stands at an edge")
        yield name, text, None


def multilingual() -> Iterator[Line]:
    """Yield a sentence a language, and the decomposed twin of those that have one."""
    for line in (TEXTS / "multilingual.tsv").read_text("utf-8").splitlines():
        name, text = line.split("\t", 1)
        yield name, text, None
        decomposed = unicodedata.normalize("NFD", text)
        if name in {"fr", "vi", "ko", "el-polytonic", "ru", "ja-katakana"}:
            yield f"{name}-nfd", decomposed, "the same sentence, decomposed"


# Syllables of each script with their marks in canonical order, and the same with the marks or
# characters as people also type them, which NFC changes.
_SYLLABLES = {
    "devanagari": (
        ["क्षि", "ज्ञा", "श्री", "ड़ी", "न्दी", "स्त्रि", "ऩे", "द्धिं"],
        ["क्षि", "ज्ञा", "श्री", "\u095cी", "न्दी", "स्त्रि", "\u0928\u093cे", "द्धिं"],
    ),
    "thai": (
        ["ก\u0e38\u0e48", "ที่", "น\u0e39\u0e49", "ปั้", "ม\u0e38\u0e4b", "ผึ้", "ด\u0e39\u0e48"],
        ["ก\u0e48\u0e38", "ที่", "น\u0e49\u0e39", "ปั้", "ม\u0e4b\u0e38", "ผึ้", "ด\u0e48\u0e39"],
    ),
    "arabic": (
        ["ب\u064e\u0651", "س\u0652", "م\u0650\u0651", "\u0623\u064e", "ل\u064f\u0651", "ه\u0650"],
        [
            "ب\u0651\u064e",
            "س\u0652",
            "م\u0651\u0650",
            "\u0627\u0654\u064e",
            "ل\u0651\u064f",
            "ه\u0650",
        ],
    ),
    "hebrew": (
        ["ב\u05b0\u05bc", "ש\u05b8\u05c1", "ד\u05b7\u05bc", "ל\u05b5", "ת\u05b4\u05bc", "מ\u05b6"],
        ["ב\u05bc\u05b0", "ש\u05c1\u05b8", "ד\u05bc\u05b7", "ל\u05b5", "ת\u05bc\u05b4", "מ\u05b6"],
    ),
}
_STACKS = {
    "devanagari": ("क", "\u093c\u0952\u0951", "\u093c\u0951\u0952"),
    "thai": ("ก", "\u0e38\u0e48", "\u0e48\u0e38"),
    "arabic": ("ب", "\u064e\u0651\u0670", "\u0651\u064e\u0670"),
    "hebrew": ("ב", "\u05b0\u05bc\u05bf", "\u05bc\u05b0\u05bf"),
}


def combining_marks() -> Iterator[Line]:
    """Yield 74 to 150 marks an entry: words, one unbroken run, and one letter with a stack."""
    for script, (stable, typed) in _SYLLABLES.items():
        for shape, most, every in (("words", 90, 3), ("run", 110, 0), ("long-run", 150, 0)):
            canonical = nfc(_syllables(stable, most, every))
            twin = _syllables(typed, most, every)
            if nfc(twin) != canonical or twin == canonical:
                raise ValueError(f"the twins of {script} are not twins")
            yield f"{script}-{shape}", canonical, "marks cut off from a letter run, or capped"
            yield f"{script}-{shape}-twin", twin, "normalization left out or of another form"
        letter, ordered, typed_order = _STACKS[script]
        stack = letter + "".join(sorted(ordered * (78 // len(ordered)), key=unicodedata.combining))
        yield f"{script}-stack", nfc(stack), "a bound on the marks of one letter"
        yield (
            f"{script}-stack-twin",
            letter + typed_order * (78 // len(ordered)),
            "marks in typed order",
        )
    yield "latin-stack", "q" + "\u0323" * 40 + "\u0301" * 40, "a bound on the marks of one letter"
    yield "latin-stack-twin", "q" + "\u0301\u0323" * 40, "a bounded buffer for reordering"
    yield "latin-run", "q\u0301" * 100, "marks in or out of the letter run"
    yield "latin-run-twin", "e\u0301" * 100, "twice the tokens where NFC is left out"
    yield "marks-alone", "\u0301" * 74, "marks without a letter"
    yield "marks-after-digit", "1\u0301" * 74, "marks after a number"
    yield "marks-after-space", " \u0301" * 74, "marks after a space"
    newer = "a character that the oracle's normalizer (Unicode 9.0) does not know"
    yield "newer-mark-10", "a\u1df6\u0334", newer
    yield "newer-mark-11", "\u0995\u09fe\u0334", newer
    yield "newer-mark-14", "\u0628\u0898\u064e", newer
    yield "newer-mark-16", "\u0628\u0897\u064e", newer
    yield "newer-composite-13", "\U00011935\U00011930", newer
    yield "newer-composite-13-twin", "\U00011938", newer


def _syllables(parts: list[str], most: int, every: int) -> str:
    """Repeat syllables up to ``most`` marks, with a space after each ``every`` of them."""
    text, marks = "", 0
    for index, part in enumerate(itertools.cycle(parts), start=1):
        # Counted decomposed, so that both twins are cut at the same syllable.
        marks += sum(unicodedata.category(c)[0] == "M" for c in unicodedata.normalize("NFD", part))
        if marks > most:
            return text.rstrip(" ")
        text += part + (" " if every and index % every == 0 else "")
    raise AssertionError("a cycle has no end")


def whitespace() -> Iterator[Line]:
    """Yield each white space character and its impostors, then runs in every position."""
    impostors = "\x1c\x1d\x1e\x1f\u180e\u200b\u200c\u200d\u2060\ufeff"
    for char in [*sorted(WHITE_SPACE), *impostors]:
        kind = "white space" if char in WHITE_SPACE else "not white space"
        name = f"u{ord(char):04x}"
        yield name, f"a{char}b {char}{char}c{char}1{char}.{char}", f"U+{ord(char):04X} is {kind}"
    for count in (1, 2, 3, 4, 7, 8, 16, 17, 63, 64, 65, 200):
        yield f"run-{count}", f"a{' ' * count}b{' ' * count}", "lookahead at the end of a run"
    runs = {
        "leading": "   a",
        "only-newline": "\n",
        "only-mixed": " \t\n \r\n\t ",
        "newlines": "a\n\n\nb\n\n",
        "spaces-newline": "a   \n   b",
        "newline-spaces": "a\n\n  \n\n  b",
        "tabs": "\ta\t\tb\t",
        "indent": "if x:\n    if y:\n        z\n",
        "crlf-run": "a\r\n\r\n\r\nb\r\rc",
        "space-digit": "a  1   2    3",
        "space-punctuation": "a  .   ,    ;\n!\n\n?",
        "space-mark": "a  \u0301b",
        "nbsp-run": "a\u00a0\u00a0b \u00a0 c",
        "ideographic": "\u3000\u3000中\u3000\u3000文\u3000",
        "separators": "a\u2028\u2029b\u2028",
        "before-newline": "x \u00a0\n\u00a0 y",
        "many-newlines": "a" + "\n" * 100 + "b",
    }
    for name, text in runs.items():
        yield name, text, None


def digits() -> Iterator[Line]:
    """Yield runs of each length and digits of other scripts, among those newer than some tables."""
    for count in (*range(1, 11), 12, 19, 20, 21, 100):
        yield f"run-{count}", ("1234567890" * 10)[:count], "groups of one or of three"
    others = {
        "arabic-indic": "٠١٢٣٤٥٦٧٨٩",
        "persian": "۰۱۲۳۴۵۶۷۸۹",
        "devanagari": "०१२३४५६७८९",
        "thai": "๐๑๒๓๔๕๖๗๘๙",
        "fullwidth": "０１２３４５６７８９",
        "mathematical": "𝟎𝟏𝟐𝟑𝟘𝟙𝟚",
        "superscript": "x²³¹ y₀₁₂",
        "fractions": "½¼¾⅓⅔ 1½",
        "roman": "ⅠⅡⅢⅣ Ⅷⅻ ↀ",
        "circled": "①②③⑳⓪",
        "cjk-numbers": "一二三〇十百",
        "hangzhou": "〡〢〣〸",
    }
    for name, text in others.items():
        yield name, f"{text} a{text}b", "a digit is more than 0 to 9"
    newer = {
        "kawi-15": "\U00011f50\U00011f51",
        "nag-mundari-15": "\U0001e4f0\U0001e4f1",
        "kaktovik-15": "\U0001d2c0\U0001d2c1",
        "garay-16": "\U00010d40\U00010d41",
        "gurung-khema-16": "\U00016130",
    }
    for name, text in newer.items():
        # Contexts in which a number and a symbol part ways on either side.
        yield name, f"1{text}234 {text}\n\n  \nx{text}", "a digit newer than the tables"
    shapes = {
        "thousands": "1,234,567.89",
        "date": "2024-02-29T23:59:60Z",
        "version": "v1.2.3-rc4+5",
        "hexadecimal": "0xDEADBEEF 0b1010 1e10",
        "letters-between": "a1b22c333d4444e55555",
        "spaces-between": "1 22 333 4444 55555",
        "marks-between": "1\u03012\u0301 3\u20e3",
        "mixed-scripts": "12٣٤56７８",
        "negative": "-1 −1 +1 ±1",
    }
    for name, text in shapes.items():
        yield name, text, None


def added_tokens() -> Iterator[Line]:
    """Yield the added tokens of the bundled and the real tokenizers, in every neighbourhood."""
    chat = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    texts = {
        "chatml": chat,
        "chatml-system": f"<|im_start|>system\nYou are terse.<|im_end|>\n{chat}",
        "llama3": "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>",
        "deepseek": "<｜begin▁of▁sentence｜><｜User｜>Hi<｜Assistant｜>ok<｜end▁of▁sentence｜>",
        "gpt-oss": "<|start|>user<|message|>Hi<|end|><|start|>assistant<|channel|>final",
        "thinking": "<think>\nno\n</think>\n\nyes <tool_call>{}</tool_call>",
        "fim": "<|fim_prefix|>a<|fim_suffix|>b<|fim_middle|>",
        "alone": "<|endoftext|>",
        "twice": "<|endoftext|><|endoftext|>",
        "spaced": " <|endoftext|> <|im_end|> ",
        "in-word": "a<|im_end|>b",
        "after-letter-space": "a <|im_end|>",
        "newlines": "a\n<|im_end|>\n\nb",
        "upper": "<|IM_END|> <|Im_Start|>",
        "cut-front": "im_end|> |im_end|>",
        "cut-back": "<|im_end <|im_en",
        "nested": "<|im_<|im_end|>end|>",
        "doubled-brackets": "<<|im_end|>>",
        "inner-space": "<| im_end |>",
        "bos-in-text": "a<|bos|>b",
        "mark-after": "<|im_end|>\u0301a",
        "mark-before": "e\u0301<|im_end|>e\u0301",
        "letter-token-mark": "e<|im_end|>\u0301",
        "jamo-across": "\u1100<|im_end|>\u1161",
        "left-spaces": "a  <|left|>  b",
        "left-newline": "a \n <|left|>b",
        "left-nbsp": "a\u00a0<|left|>\u00a0b",
        "right-spaces": "a  <|right|>  b",
        "right-newline": "a<|right|>\n\n b",
        "both-spaces": "a  <|both|>  b",
        "both-only": "  <|both|>  ",
        "both-prefix": "<|both <|both|<|both|>",
        "both-right": "<|both|>  <|right|>  <|left|>  <|both|>",
        "right-then-left": "<|right|>   <|left|>",
        "mask-left": "a  <|mask|>  b",
        "word-alone": "qwyx",
        "word-spaced": "a qwyx b",
        "word-inside": "aqwyx qwyxa aqwyxa",
        "word-digits": "1qwyx qwyx1 _qwyx qwyx_",
        "word-punctuation": ".qwyx, (qwyx) qwyx-qwyx",
        "word-unicode": "éqwyx qwyxé 中qwyx qwyx中",
        "word-mark": "qwyx\u0301 \u0301qwyx",
        "word-capital": "Qwyx QWYX",
        "normalized": "<|café|>",
        "normalized-twin": "<|cafe\u0301|>",
        "normalized-content": "<|\u212b|> <|Å|> <|A\u030a|>",
        "raw-decomposed": "<|e\u0301|>e\u0301",
        "raw-composed": "<|é|>",
        "raw-mixed": "é<|e\u0301|>e\u0301<|café|>",
    }
    for name, text in texts.items():
        yield name, text, None


def byte_edges() -> Iterator[Line]:
    """Yield every continuation byte, the boundaries of UTF-8, and bytes that are not UTF-8."""
    for byte in range(0x80, 0xC0):
        middle = bytes([0xE4, byte, 0x80, 0xF0, 0x9F, 0x98, byte]).decode()
        final = bytes([0xC3, byte, 0xE4, 0xB8, byte]).decode()
        yield f"continuation-{byte:02x}", f"{middle} {final}", f"byte {byte:02X} inside a character"
    for code in (0x80, 0x85, 0x9F, 0xA0, 0xAD, 0xBF, 0x4E05, 0x4E20, 0x4E3F):
        yield f"last-u{code:04x}", f"a{chr(code)}", "the text's last byte"
        yield f"only-u{code:04x}", chr(code), "the text's only character"
    edges = (0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFDD0, 0xFFFD, 0xFFFE, 0xFFFF, 0x10000)
    for code in (*edges, 0x3FFFF, 0x40000, 0xFFFFF, 0x100000, 0x10FFFF):
        yield f"edge-u{code:04x}", f"a{chr(code)}b{chr(code)}", "a boundary of UTF-8's lengths"
    for name, text in {
        "nul": "\0",
        "nul-first": "\0a",
        "nul-last": "a\0",
        "nul-run": "a\0\0\0b",
        "nul-spaced": "a \0 b\0\n",
        "controls": "".join(map(chr, range(1, 0x20))) + "\x7f",
    }.items():
        yield name, text, "NUL ends the text" if "nul" in name else None
    for name, data in _INVALID.items():
        yield name, b"a" + data + b"b", "bytes that are not UTF-8"
        if len(data) > 1 and name.startswith("cut"):
            yield f"{name}-at-end", b"a" + data, "a sequence cut off by the end"
    yield "all-bytes", bytes(range(256)), "bytes that are not UTF-8"
    yield "blocks", b" " * 31 + b"\xff" + "é".encode() * 16 + b"\xc3", "a fault at a block's edge"


_INVALID: Mapping[str, bytes] = {
    "overlong-2-nul": b"\xc0\x80",
    "overlong-2-last": b"\xc1\xbf",
    "overlong-3": b"\xe0\x80\x80",
    "overlong-3-last": b"\xe0\x9f\xbf",
    "overlong-4": b"\xf0\x80\x80\x80",
    "overlong-4-last": b"\xf0\x8f\xbf\xbf",
    "surrogate-first": b"\xed\xa0\x80",
    "surrogate-last": b"\xed\xbf\xbf",
    "surrogate-pair": b"\xed\xa0\xbd\xed\xb8\x80",
    "above-unicode": b"\xf4\x90\x80\x80",
    "lead-f5": b"\xf5\x80\x80\x80",
    "lead-f8": b"\xf8\x88\x80\x80\x80",
    "byte-fe": b"\xfe",
    "byte-ff": b"\xff",
    "continuation-alone": b"\x80",
    "continuation-last-alone": b"\xbf",
    "continuations": b"\x80\xa0\xbf\x85",
    "lead-alone": b"\xc3",
    "leads": b"\xc3\xe4\xf0",
    "cut-3-of-3": b"\xe4\xb8",
    "cut-4-of-2": b"\xf0\x9f",
    "cut-4-of-3": b"\xf0\x9f\x98",
    "cut-then-whole": b"\xe4\xb8\xe4\xb8\xad",
    "latin-1": b"caf\xe9 \xa0\x85",
}

GENERATORS: Mapping[str, tuple[Callable[[], Iterator[Line]], tuple[str, ...]]] = {
    "smoke": (smoke, ()),
    "multilingual": (multilingual, ()),
    "combining_marks": (combining_marks, ()),
    "whitespace": (whitespace, ()),
    "digits": (digits, ()),
    "added_tokens": (added_tokens, ("added-token",)),
    "byte_edges": (byte_edges, ("utf8-edge",)),
}


def written(name: str) -> bytes:
    """Return one corpus file as it is written: JSON Lines in ASCII."""
    generate, declared = GENERATORS[name]
    lines = []
    for case, content, catches in generate():
        data = content if isinstance(content, bytes) else content.encode()
        body = {"hex": content.hex()} if isinstance(content, bytes) else {"text": content}
        line = {"id": case, **body, "traits": sorted({*computed_traits(data), *declared})}
        if catches is not None:
            line["catches"] = catches
        lines.append(json.dumps(line) + "\n")
    return "".join(lines).encode("ascii")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="compare only, write nothing")
    options = parser.parse_args(arguments)
    differing = 0
    for name in GENERATORS:
        path, data = CORPORA / f"{name}.jsonl", written(name)
        if not options.check:
            write_atomically(path, data)
        elif not path.is_file() or path.read_bytes() != data:
            print(f"{path.name}: differs from what is generated", file=sys.stderr)
            differing += 1
    for name in [*GENERATORS, *CURATED]:
        counts = load(CORPORA / f"{name}.jsonl").statistics()
        print(f"{name}: {counts.cases} cases, {counts.bytes} bytes, {counts.ungraded} not UTF-8")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
