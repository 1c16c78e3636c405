"""Write harness/unicode_pins.py: the code point sets that traits rest on, from pinned Unicode data.

    python scripts/make_unicode_pins.py            writes the file
    python scripts/make_unicode_pins.py --check    exits 1 where the file differs

Needs ``unicodedataplus==16.0.0.post1`` (Unicode 16.0 with the age of every character). It is a
maintainer's script: a run reads the written file only, so that a trait never depends on the Unicode
version of the Python that verifies it.
"""

import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import unicodedataplus as ucd

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.generated import checking, ranges, settle  # noqa: E402

TARGET = ROOT / "harness" / "unicode_pins.py"
UNICODE = "16.0.0"
NORMALIZER = (9, 0)
HEADER = '''"""Code point sets pinned to a Unicode version; written by scripts/make_unicode_pins.py.

Each set is a text of inclusive hexadecimal ranges. ``NORMALIZER_KNOWS`` is every character of
Unicode 9.0, the version that the normalizer of the pinned oracle implements; all others are of
Unicode 16.0, the version of its pattern classes.
"""
'''


def age(char: str) -> tuple[int, int]:
    """Return the version that first assigned ``char``; (99, 0) where none has."""
    major, _, minor = ucd.age(char).partition(".")
    return (int(major), int(minor)) if major.isdigit() else (99, 0)


def new_to_the_normalizer() -> frozenset[str]:
    """Return the characters newer than the normalizer that a current one must know.

    They have a combining class or a canonical decomposition, or are a part of one.
    """
    newer = [c for c in map(chr, range(0x110000)) if NORMALIZER < age(c) < (99, 0)]
    decomposed = {char: str(ucd.normalize("NFD", char)) for char in newer}
    parts = {part for char, text in decomposed.items() if text != char for part in char + text}
    marks = {char for char in newer if ucd.combining(char) != 0}
    return frozenset((parts | marks) & set(newer))


def module() -> str:
    sets: dict[str, Callable[[str], bool]] = {
        "MARKS": lambda c: ucd.category(c)[0] == "M",
        "NUMBERS": lambda c: ucd.category(c)[0] == "N",
        "PUNCTUATION": lambda c: ucd.category(c)[0] == "P",
        "NORMALIZER_KNOWS": lambda c: age(c) <= NORMALIZER,
        "NORMALIZER_NEW": new_to_the_normalizer().__contains__,
    }
    parts = [HEADER]
    for name, holds in sets.items():
        body = textwrap.fill(" ".join(ranges(holds)), 98, break_on_hyphens=False)
        parts.append(f'{name} = """\n{body}\n"""\n')
    return "\n".join(parts)


def main(arguments: list[str]) -> int:
    check = checking(arguments, __doc__)
    if ucd.unidata_version != UNICODE:
        print(f"unicodedataplus has Unicode {ucd.unidata_version}, not {UNICODE}", file=sys.stderr)
        return 2
    data = module().encode()
    return settle(TARGET, data, check=check, name=TARGET.name, same="as generated")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
