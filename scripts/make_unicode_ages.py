"""Write harness/unicode_ages.py: the characters that each later version of Unicode brought.

    python scripts/make_unicode_ages.py            writes the file
    python scripts/make_unicode_ages.py --check    exits 1 where the file differs

Needs ``unicodedataplus==16.0.0.post1`` (Unicode 16.0 with the age of every character). It is a
maintainer's script: a run reads the written file only, so that a named version never depends on the
Unicode version of the Python that names it.
"""

import argparse
import os
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import unicodedataplus as ucd

TARGET = Path(__file__).resolve().parent.parent / "harness" / "unicode_ages.py"
UNICODE = "16.0.0"
VERSIONS = ("10.0", "11.0", "12.0", "12.1", "13.0", "14.0", "15.0", "15.1", "16.0")
HEADER = '''"""Characters by the version of Unicode that brought them.

Written by scripts/make_unicode_ages.py. ``NEWER`` has, for every version after 9.0 and in their
order, the characters that were first assigned in it, as a text of inclusive hexadecimal ranges.
"""

from collections.abc import Mapping

NEWER: Mapping[str, str] = {
'''


def ranges(version: str) -> Iterator[str]:
    """Yield the inclusive ranges of the code points that ``version`` was first to assign."""
    first: int | None = None
    for code in range(0x110001):
        inside = code < 0x110000 and ucd.age(chr(code)) == version
        if inside and first is None:
            first = code
        elif not inside and first is not None:
            yield f"{first:X}" if first == code - 1 else f"{first:X}-{code - 1:X}"
            first = None


def module() -> str:
    parts = [HEADER]
    for version in VERSIONS:
        body = textwrap.fill(" ".join(ranges(version)), 98, break_on_hyphens=False)
        parts.append(f'    "{version}": """\n{body}\n""",\n')
    return "".join([*parts, "}\n"])


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="compare only, write nothing")
    options = parser.parse_args(arguments)
    if ucd.unidata_version != UNICODE:
        print(f"unicodedataplus has Unicode {ucd.unidata_version}, not {UNICODE}", file=sys.stderr)
        return 2
    text = module()
    if options.check:
        same = TARGET.is_file() and TARGET.read_text("utf-8") == text
        print(f"{TARGET.name}: {'as generated' if same else 'differs'}")
        return 0 if same else 1
    half = TARGET.with_name(f".{TARGET.name}.{os.getpid()}")
    half.write_text(text, "utf-8")
    half.replace(TARGET)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
