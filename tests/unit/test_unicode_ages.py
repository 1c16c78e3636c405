"""The pinned ages: what the script writes, and what two other sets of Unicode data say."""

import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
import unicodedata2
import unicodedataplus

from harness.traits import CodePoints
from harness.unicode_ages import NEWER

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "make_unicode_ages.py"
AGES = {version: CodePoints(ranges) for version, ranges in NEWER.items()}
CODES = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]


def key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def newer_than(version: str) -> set[str]:
    """Return the characters that came after ``version``, by the pinned ages."""
    later = [ages for one, ages in AGES.items() if key(one) > key(version)]
    return {char for char in map(chr, CODES) if any(char in ages for ages in later)}


def test_the_versions_stand_in_their_order() -> None:
    versions = "10.0 11.0 12.0 12.1 13.0 14.0 15.0 15.1 16.0"
    assert " ".join(NEWER) == versions


def test_the_committed_file_is_what_the_script_writes(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr

    place = tmp_path / "scripts" / SCRIPT.name
    place.parent.mkdir()
    (tmp_path / "harness").mkdir()
    for own in (SCRIPT, SCRIPT.with_name("generated.py")):
        (place.parent / own.name).write_bytes(own.read_bytes())
    spoilt = tmp_path / "harness" / "unicode_ages.py"
    spoilt.write_text('NEWER = {"12.1": "32FE"}\n')
    done = subprocess.run(
        [sys.executable, str(place), "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "unicode_ages.py: differs\n")


def test_a_sweep_finds_each_character_under_its_age_alone() -> None:
    for code in CODES:
        char = chr(code)
        age = unicodedataplus.age(char)
        found = [version for version, ages in AGES.items() if char in ages]
        assert found == ([age] if age in AGES else []), f"U+{code:04X}"


@pytest.mark.skipif(
    unicodedata.unidata_version.removesuffix(".0") not in NEWER,
    reason="this Python's Unicode data are newer than the pinned ones",
)
def test_older_data_assign_what_newer_data_do_less_the_newer_characters() -> None:
    """What a pattern class of an older version rests on: classes lose characters and no more.

    CPython's data are of an older version, and unicodedata2's of 16.0.
    """
    newer = newer_than(unicodedata.unidata_version.removesuffix(".0"))
    for char in map(chr, CODES):
        own = unicodedata.category(char)[0]
        if char in newer:
            assert own == "C", f"U+{ord(char):04X}"
            assert unicodedata2.category(char) != "Cn", f"U+{ord(char):04X}"
        else:
            assert own == unicodedata2.category(char)[0], f"U+{ord(char):04X}"
