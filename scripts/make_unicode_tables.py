"""Write the reference tokenizer's Unicode tables, or check that the committed ones are these.

    python scripts/make_unicode_tables.py            writes probes/reference/unicode_*.inc
    python scripts/make_unicode_tables.py --check    exits 1 where a committed table differs

Two versions of Unicode, because the oracle (tokenizers 0.22.2) has two:

* its patterns (Oniguruma) and the word characters beside added tokens (Rust's regex crate) are
  those of Unicode 16.0;
* its normalizer knows Unicode 9.0: a character whose age is newer neither decomposes, nor composes,
  nor has a combining class.

Unicode never changes the decomposition or the combining class of an assigned character, so the
older data are the newer ones restricted by age. Both facts are tested by a sweep of every code
point against the oracle: tests/integration/test_unicode_sweep.py.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import unicodedataplus as unicode

DATA = "unicodedataplus==16.0.0.post1"
PATTERN_VERSION = "16.0.0"
NORMALIZER_AGE = (9, 0)
TARGET = Path(__file__).resolve().parent.parent / "probes" / "reference"
COMMAND = "python scripts/make_unicode_tables.py"
CODE_POINTS = range(0x110000)
WIDTH = 100

LETTERS = {"Lu": "kUpper", "Ll": "kLower", "Lt": "kTitle", "Lm": "kModifier", "Lo": "kOtherLetter"}
GROUPS = {"M": "kMark", "N": "kNumber", "P": "kPunctuation", "S": "kSymbol"}

# White_Space of PropList.txt, unchanged since Unicode 6.3.
WHITE_SPACE = frozenset(
    [*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), *range(0x2028, 0x202A)]
) | {0x202F, 0x205F, 0x3000}
# Alphabetic or Join_Control characters that their general category does not show (PropList.txt):
# the circled, squared and parenthesised Latin letters, and the joiners.
WORD_BESIDE_CATEGORY = frozenset(
    [*range(0x24B6, 0x24EA), *range(0x1F130, 0x1F14A), *range(0x1F150, 0x1F16A)]
) | {*range(0x1F170, 0x1F18A), 0x200C, 0x200D}


def main() -> int:
    parser = argparse.ArgumentParser(description="Make the reference tokenizer's Unicode tables.")
    parser.add_argument("--check", action="store_true", help="compare with the committed tables")
    parser.add_argument("--into", type=Path, default=TARGET, help="directory of the tables")
    arguments = parser.parse_args()
    if unicode.unidata_version != PATTERN_VERSION:
        print(f"Unicode {unicode.unidata_version} installed; pip install {DATA}", file=sys.stderr)
        return 2
    differing = 0
    for name, text in tables().items():
        path = arguments.into / name
        if not arguments.check:
            write(path, text)
        elif not path.is_file() or path.read_text(encoding="ascii") != text:
            print(f"{path}: differs from what {COMMAND} writes", file=sys.stderr)
            differing += 1
    return 1 if differing else 0


def tables() -> dict[str, str]:
    """Return every table's text by file name."""
    return {
        "unicode_classes.inc": text(
            f"Classes of Unicode {PATTERN_VERSION}: {{first, last, class and word bit}}.",
            (f"{{0x{a:X}, 0x{b:X}, {value}}}," for a, b, value in ranges(character_class)),
        ),
        "unicode_combining.inc": text(
            f"Canonical combining classes of characters {_age()}: {{first, last, class}}.",
            (f"{{0x{a:X}, 0x{b:X}, {value}}}," for a, b, value in ranges(combining_class)),
        ),
        "unicode_canonical.inc": text(
            f"Full canonical decompositions of characters {_age()}, Hangul left out.",
            (mapping(c, "NFD") for c in CODE_POINTS if decomposes(c, "NFD")),
        ),
        "unicode_compatibility.inc": text(
            f"Full compatibility decompositions of characters {_age()}, where not the canonical.",
            (
                mapping(c, "NFKD")
                for c in CODE_POINTS
                if decomposes(c, "NFKD")
                and unicode.normalize("NFD", chr(c)) != unicode.normalize("NFKD", chr(c))
            ),
        ),
        "unicode_compositions.inc": text(
            f"Primary composites {_age()}: {{first, second, composite}}.",
            (f"{{0x{a:X}, 0x{b:X}, 0x{c:X}}}," for a, b, c in sorted(compositions())),
        ),
    }


def character_class(code: int) -> str:
    """Return the C++ expression of a code point's class, empty for kOther and no word character."""
    category = "Cs" if is_surrogate(code) else unicode.category(chr(code))
    word = category[0] in "LM" or category in ("Nd", "Nl", "Pc") or code in WORD_BESIDE_CATEGORY
    name = LETTERS.get(category) or GROUPS.get(category[0])
    if code in WHITE_SPACE:
        name = "kSpace"
    if name is None:
        return "kOther | kWord" if word else ""
    return f"{name} | kWord" if word else name


def combining_class(code: int) -> str:
    """Return a code point's combining class as the normalizer has it, empty for 0."""
    value = unicode.combining(chr(code)) if normalizer_knows(code) else 0
    return str(value) if value else ""


def decomposes(code: int, form: str) -> bool:
    if not normalizer_knows(code) or 0xAC00 <= code <= 0xD7A3:
        return False
    return bool(unicode.normalize(form, chr(code)) != chr(code))


def mapping(code: int, form: str) -> str:
    decomposed = unicode.normalize(form, chr(code))
    escaped = "".join(f"\\x{ord(one):X}" for one in decomposed)
    return f'{{0x{code:X}, U"{escaped}"}},'


def compositions() -> Iterator[tuple[int, int, int]]:
    """Yield (first, second, composite): canonical pairs that NFC does put together again."""
    for code in CODE_POINTS:
        if not normalizer_knows(code):
            continue
        pair = unicode.decomposition(chr(code)).split()
        if len(pair) == 2 and not pair[0].startswith("<"):
            first, second = (int(one, 16) for one in pair)
            if unicode.normalize("NFC", chr(first) + chr(second)) == chr(code):
                yield first, second, code


def normalizer_knows(code: int) -> bool:
    if is_surrogate(code) or unicode.category(chr(code)) == "Cn":
        return False
    major, minor = unicode.age(chr(code)).split(".")
    return (int(major), int(minor)) <= NORMALIZER_AGE


def is_surrogate(code: int) -> bool:
    return 0xD800 <= code <= 0xDFFF


def ranges(value_of: Callable[[int], str]) -> Iterator[tuple[int, int, str]]:
    """Yield (first, last, value) for each longest run of one non-empty value."""
    first, value = 0, value_of(0)
    for code in range(1, 0x110001):
        following = value_of(code) if code < 0x110000 else ""
        if following != value or code == 0x110000:
            if value:
                yield first, code - 1, value
            first, value = code, following


def text(title: str, items: Iterable[str]) -> str:
    lines = [f"// {title}", f"// Written by `{COMMAND}` from {DATA}; not to be edited."]
    line = ""
    for item in items:
        if line and len(line) + 1 + len(item) > WIDTH:
            lines.append(line)
            line = item
        else:
            line = f"{line} {item}" if line else item
    return "\n".join([*lines, line]) + "\n"


def write(path: Path, content: str) -> None:
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(content, encoding="ascii")
    temporary.replace(path)


def _age() -> str:
    return f"up to Unicode {NORMALIZER_AGE[0]}.{NORMALIZER_AGE[1]}"


if __name__ == "__main__":
    sys.exit(main())
