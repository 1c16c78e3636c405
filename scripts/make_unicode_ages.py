"""Write harness/unicode_ages.py: the characters that each later version of Unicode brought.

    python scripts/make_unicode_ages.py            writes the file
    python scripts/make_unicode_ages.py --check    exits 1 where the file differs

Needs ``unicodedataplus==16.0.0.post1`` (Unicode 16.0 with the age of every character). It is a
maintainer's script: a run reads the written file only, so that a named version never depends on the
Unicode version of the Python that names it.
"""

import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import unicodedataplus as ucd

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.generated import checking, ranges, settle  # noqa: E402

TARGET = ROOT / "harness" / "unicode_ages.py"
UNICODE = "16.0.0"
VERSIONS = ("10.0", "11.0", "12.0", "12.1", "13.0", "14.0", "15.0", "15.1", "16.0")
HEADER = '''"""Characters by the version of Unicode that brought them.

Written by scripts/make_unicode_ages.py. ``NEWER`` has, for every version after 9.0 and in their
order, the characters that were first assigned in it, as a text of inclusive hexadecimal ranges.
"""

from collections.abc import Mapping

NEWER: Mapping[str, str] = {
'''


def brought_by(version: str) -> Callable[[str], bool]:
    """Return what tells the characters that ``version`` was first to assign."""
    return lambda char: bool(ucd.age(char) == version)


def module() -> str:
    parts = [HEADER]
    for version in VERSIONS:
        own = " ".join(ranges(brought_by(version)))
        body = textwrap.fill(own, 98, break_on_hyphens=False)
        parts.append(f'    "{version}": """\n{body}\n""",\n')
    return "".join([*parts, "}\n"])


def main(arguments: list[str]) -> int:
    check = checking(arguments, __doc__)
    if ucd.unidata_version != UNICODE:
        print(f"unicodedataplus has Unicode {ucd.unidata_version}, not {UNICODE}", file=sys.stderr)
        return 2
    data = module().encode()
    return settle(TARGET, data, check=check, name=TARGET.name, same="as generated")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
