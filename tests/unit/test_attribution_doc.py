"""Every name a report can use has its heading, and every heading is a name that is used."""

import re
from pathlib import Path

from harness.hypotheses import NAMES
from harness.hypotheses.input import POLICIES, REFUSED
from harness.isolate import AXES, NONDETERMINISM, PLATFORM_CAUSES, PLATFORM_PREFIX
from harness.sanitizer_words import SANITIZER_CAUSES
from harness.verdict import DECLARABLE_NAMES
from harness.verdict.claims import SPEAKING_CAUSES, UNEXPLAINED

PAGE = Path(__file__).resolve().parents[2] / "docs" / "attribution.md"
CAUSES = {
    *NAMES,
    *PLATFORM_CAUSES,
    *SPEAKING_CAUSES,
    *DECLARABLE_NAMES,
    *SANITIZER_CAUSES,
    NONDETERMINISM,
    UNEXPLAINED,
    PLATFORM_PREFIX,
}
USED = CAUSES | {*AXES, *POLICIES, REFUSED}


def headings() -> list[str]:
    return re.findall(r"^### (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


def test_every_name_has_its_heading() -> None:
    assert set(headings()) >= USED


def test_every_heading_is_a_name_in_use_and_stands_once() -> None:
    assert set(headings()) <= USED
    assert len(headings()) == len(set(headings()))


def test_every_link_within_the_page_leads_somewhere() -> None:
    page = PAGE.read_text(encoding="utf-8")
    titles = re.findall(r"^#+ (.+)$", page, re.MULTILINE)
    anchors = {title.lower().replace(" ", "-") for title in titles}
    assert set(re.findall(r"\]\(#([^)]+)\)", page)) <= anchors
