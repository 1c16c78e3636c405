"""The pages hold together: links lead somewhere, words are the glossary's, no place is named."""

import re
import subprocess
from pathlib import Path

import pytest

from harness.isolate import AXES
from harness.outcomes import OPERATIONS

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("tests/**/*.md")])
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
# Words of other projects for what the glossary has a word for.
SYNONYMS = ("tokeniser", "normaliser", "pre-tokeniser", "ground truth", "golden file", "test case")
# Written apart, so that this file is none of those it looks for.
PLACES = (
    "/" + "work/",
    "/" + "tmp/",
    "/" + "root/",
    "pypi" + ".org",
    "python" + "hosted",
    "registry." + "npmjs",
    "deb." + "debian",
    "archive." + "ubuntu",
)


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def anchors(page: str) -> set[str]:
    """The anchors that a page's headings have on the service that shows it."""
    titles = re.findall(r"^#+ (.+)$", _FENCE.sub("", page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def dead_links(page: Path, text: str) -> list[str]:
    dead = []
    for target in re.findall(r"\]\(([^)\s]+)\)", _FENCE.sub("", text)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name) if name else page
        if not path.exists() or (
            anchor and anchor not in anchors(path.read_text(encoding="utf-8") if name else text)
        ):
            dead.append(target)
    return dead


def places(text: str) -> list[str]:
    return [place for place in PLACES if place in text]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    assert dead_links(page, page.read_text(encoding="utf-8")) == []


def test_a_dead_link_is_noticed() -> None:
    page = ROOT / "README.md"
    planted = "[a](docs/nowhere.md) [b](docs/words.md#nothing) [c](#gone) [d](docs/words.md#words)"
    assert dead_links(page, planted) == ["docs/nowhere.md", "docs/words.md#nothing", "#gone"]


def test_the_readme_leads_to_every_page() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"\]\((docs/[\w-]+\.md)", readme))
    assert linked == {str(path.relative_to(ROOT)) for path in ROOT.glob("docs/*.md")}


def glossary() -> dict[str, str]:
    page = (ROOT / "docs" / "words.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line[:2] == "| "]
    return {word: meaning for cell, meaning in rows[2:] for word in cell.split(", ")}


def test_every_word_of_the_glossary_is_used() -> None:
    # On the other pages, or in the harness, whose words are shown to users.
    places = [page for page in [*PAGES, *ROOT.glob("harness/**/*.py")] if page.name != "words.md"]
    used = "\n".join(page.read_text(encoding="utf-8").lower() for page in places)
    assert len(glossary()) > 15
    assert [word for word in glossary() if word.lower() not in used] == []


def test_the_glossary_names_axes_that_there_are() -> None:
    named = glossary()["axis"].partition(":")[2].replace("…", "").split(",")
    assert {name.strip() for name in named if name.strip()} <= set(AXES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_page_has_another_word_for_it(page: Path) -> None:
    text = page.read_text(encoding="utf-8").lower()
    assert [word for word in SYNONYMS if word in text] == []


def test_every_operation_is_on_the_page_of_the_protocol() -> None:
    page = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
    for operation in OPERATIONS:
        assert f"| `{operation} " in page


def test_no_file_names_a_machine_or_a_registry() -> None:
    found = {}
    for path in tracked():
        text = path.read_text(encoding="utf-8", errors="replace")
        if named := places(text):
            found[str(path.relative_to(ROOT))] = named
    assert found == {}


def test_a_planted_place_is_noticed() -> None:
    assert places("see /" + "tmp/there") == ["/" + "tmp/"]


def test_what_stands_beside_the_readme() -> None:
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")[:300]
    for name in ("CHANGELOG.md", "CONTRIBUTING.md"):
        assert (ROOT / name).is_file()
