"""The bank of planted subjects is whole, and what a run makes of one is graded as it should be."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.config import Overrides, resolve
from harness.corpus import load
from harness.hypotheses import NAMES
from harness.hypotheses.input import POLICIES
from harness.report.model import Finding, Policy, Report
from harness.tokenizers import cached_path, source
from scripts.confusion import HEADING, missed, page, with_section
from tests.bank import probe
from tests.bank.bank import CORPUS, TOKENIZERS, Entry, Grade, Result, entries, graded, real
from tests.bank.planted import DEFECTS, NotHere

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "train_bank.py"
BANK = entries()
LARGEST = 150_000
UNPROVEN = "control lane x, bundled: 3 of 26 smoke cases differ and no proven cause says why"


def of(kind: str) -> list[Entry]:
    return [entry for entry in BANK if entry.kind == kind]


def file_of(entry: Entry) -> Path:
    own = TOKENIZERS / f"{entry.tokenizer}.json"
    return own if own.is_file() else ROOT / "goldens" / entry.tokenizer / "tokenizer.json"


@pytest.mark.parametrize("name", NAMES)
def test_every_hypothesis_is_planted_alone_somewhere(name: str) -> None:
    assert any(entry.causes == {name} for entry in of("single"))


@pytest.mark.parametrize("name", [name for name in POLICIES if name != "replaced-per-subpart"])
def test_every_byte_policy_is_planted_somewhere(name: str) -> None:
    assert any(entry.policy == name for entry in of("policy"))


def test_no_name_is_expected_that_the_product_does_not_have() -> None:
    assert {cause for entry in BANK for cause in entry.causes} <= set(NAMES)


def test_there_are_pairs_strangers_and_healthy_ones_enough() -> None:
    assert len(of("pair")) >= 20
    assert all(len(entry.causes) == 2 for entry in of("pair"))
    assert all(len(entry.causes) == 3 for entry in of("triple"))
    assert len({entry.plant[0].partition("=")[0] for entry in of("outside")}) >= 12
    everywhere = {path.stem for path in TOKENIZERS.glob("*.json")} | {"bundled"}
    for plant in {entry.plant for entry in of("healthy")}:
        assert {entry.tokenizer for entry in of("healthy") if entry.plant == plant} == everywhere
    assert len({entry.plant for entry in of("healthy")}) == 10


def test_no_subject_is_in_the_bank_twice() -> None:
    assert len({(entry.kind, entry.name) for entry in BANK}) == len(BANK)


@pytest.mark.parametrize("entry", BANK, ids=lambda e: f"{e.kind} {e.name}")
def test_the_probe_can_plant_it_there(entry: Entry) -> None:
    assert probe.planted(file_of(entry), list(entry.plant)).described["model"]


def test_a_defect_without_room_is_refused_and_not_left_out() -> None:
    with pytest.raises(NotHere):
        probe.planted(TOKENIZERS / "gpt2-like.json", ["pair-template"])
    done = subprocess.run(
        [
            sys.executable,
            str(ROOT / "tests" / "bank" / "probe.py"),
            str(TOKENIZERS / "gpt2-like.json"),
            "--defect=pair-template",
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    assert '"refused": "no template"' in done.stdout


def test_nothing_planted_shares_code_with_the_product() -> None:
    for path in [ROOT / "tests/bank/probe.py", *(ROOT / "tests/bank/planted").glob("*.py")]:
        assert "harness" not in path.read_text("utf-8"), path


def test_the_tokenizers_are_small_and_as_the_script_writes_them() -> None:
    for path in TOKENIZERS.glob("*.json"):
        assert path.stat().st_size < LARGEST, path.name
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_script_tells_a_tokenizer_that_is_not_as_it_writes_it(tmp_path: Path) -> None:
    for part in ("scripts", "harness", "tests/bank/tokenizers"):
        (tmp_path / part).parent.mkdir(parents=True, exist_ok=True)
        if part == "harness":
            (tmp_path / part).symlink_to(ROOT / part)
        else:
            (tmp_path / part).mkdir(parents=True)
    for path in (ROOT / "scripts").iterdir():
        if path != SCRIPT:
            (tmp_path / "scripts" / path.name).symlink_to(path)
    copy = tmp_path / "scripts" / SCRIPT.name
    copy.write_bytes(SCRIPT.read_bytes())
    for path in TOKENIZERS.glob("*.json"):
        (tmp_path / "tests/bank/tokenizers" / path.name).write_bytes(path.read_bytes())
    with (tmp_path / "tests/bank/tokenizers/gpt2-like.json").open("ab") as file:
        file.write(b" ")
    done = subprocess.run(
        [sys.executable, str(copy), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr == "gpt2-like.json: differs from what is trained\n"


def test_the_corpus_can_be_read_with_the_bundled_ones() -> None:
    config = resolve(None, Overrides())
    assert config.corpora == ("bundled",)
    assert load(CORPUS).name == "corpus"


# -- grading -------------------------------------------------------------------------------------


def finding(cause: str, *ties: str, **parameters: int) -> Finding:
    return Finding(
        id="f1",
        tokenizer="bundled",
        operations=("encode",),
        lanes=("x",),
        cases=("a/b",),
        axes=(),
        cause=cause,
        declared=False,
        summary="",
        evidence={"parameters": parameters, "ties": list(ties)},
    )


def report(*findings: Finding, invalid: tuple[str, ...] = ()) -> Report:
    return Report(verdict="fail", exit=1, findings=findings, invalid=invalid)


ONE = Entry("single", ("word-capped=8",), "bundled", frozenset({"word-capped"}), {"n": 8})
TWO = Entry("pair", ("a", "b"), "bundled", frozenset({"a", "b"}))
NONE = Entry("outside", ("x",), "bundled")


@pytest.mark.parametrize(
    ("entry", "said", "grade"),
    [
        (ONE, report(finding("word-capped", n=8)), Grade.NAMED),
        (ONE, report(finding("word-capped", n=9)), Grade.WRONG),
        (ONE, report(finding("word-capped", "word-capped (n 8)", n=9)), Grade.TIED),
        (ONE, report(finding("marks-capped", "word-capped (n 8)")), Grade.TIED),
        (ONE, report(finding("marks-capped", "word-capped (n 9)")), Grade.WRONG),
        (ONE, report(finding("word-capped")), Grade.WRONG),
        (ONE, report(finding("unexplained")), Grade.UNEXPLAINED),
        (ONE, report(finding("word-capped", n=8), finding("unexplained")), Grade.UNEXPLAINED),
        (ONE, report(finding("word-capped", n=8), finding("crash")), Grade.WRONG),
        (ONE, report(), Grade.SILENT),
        (TWO, report(finding("a+b")), Grade.NAMED),
        (TWO, report(finding("b+a")), Grade.NAMED),
        (TWO, report(finding("a"), finding("a+b")), Grade.NAMED),
        (TWO, report(finding("a")), Grade.PARTLY),
        (TWO, report(finding("a+c")), Grade.WRONG),
        (TWO, report(finding("a+c", "a+b (a.n 3)")), Grade.TIED),
        (NONE, report(finding("unexplained")), Grade.UNEXPLAINED),
        (NONE, report(invalid=(UNPROVEN,)), Grade.UNEXPLAINED),
        (NONE, report(invalid=("x: the probe died",)), Grade.WRONG),
        (NONE, report(finding("a")), Grade.WRONG),
        (NONE, report(), Grade.SILENT),
    ],
)
def test_what_a_run_names_is_held_against_what_was_planted(
    entry: Entry, said: Report, grade: Grade
) -> None:
    assert graded(entry, said).grade == grade


def test_a_byte_policy_is_graded_by_its_name_and_a_finding_spoils_it() -> None:
    entry = Entry("policy", ("policy=dropped",), "bundled", policy="dropped")
    right, wrong = (
        Policy(tokenizer="t", operation="encode", name=n, cases=3) for n in ("dropped", None)
    )
    assert graded(entry, Report(verdict="pass", exit=0, policies=(right,))).grade == Grade.NAMED
    assert graded(entry, Report(verdict="pass", exit=0, policies=(wrong,))).grade == Grade.WRONG
    spoilt = Report(verdict="fail", exit=1, policies=(right,), findings=(finding("a"),))
    assert graded(entry, spoilt).grade == Grade.WRONG


# -- the table -----------------------------------------------------------------------------------


def test_a_missed_target_is_said_and_a_wrong_name_whatever_the_share() -> None:
    named = Result(TWO, Grade.NAMED, ("a+b",))
    partly = Result(TWO, Grade.PARTLY, ("a",))
    wrong = Result(TWO, Grade.WRONG, ("a+c",))
    assert missed([named] * 9 + [partly]) == []
    assert missed([named] * 8 + [partly] * 2) == ["two defects: 8 of 10, and 90% are asked"]
    assert missed([named] * 9 + [wrong]) == [
        "a + b on bundled: named a+c, which is not what was planted"
    ]
    assert missed([Result(NONE, Grade.SILENT, ())]) == [
        "outside the list: 0 of 1, and 100% are asked"
    ]


def test_healthy_subjects_are_asked_on_the_real_tokenizers_that_are_there(tmp_path: Path) -> None:
    none, lacking = real(tmp_path)
    names = [path.parent.name for path in (ROOT / "goldens").glob("*/source.yaml")]
    assert (none, sorted((*lacking, "bundled"))) == ([], sorted(names))
    [first, *rest] = lacking
    path = cached_path(source(first, ROOT / "goldens"), tmp_path)
    path.parent.mkdir()
    path.write_text("{}")
    found, still = real(tmp_path)
    assert list(still) == rest
    assert {(one.kind, one.tokenizer) for one in found} == {("real", first)}
    assert [one.plant for one in found] == list(dict.fromkeys(one.plant for one in of("healthy")))


def test_what_was_not_fetched_is_said_and_what_was_named_is_a_miss() -> None:
    entry = Entry("real", ("healthy-plain",), "gpt2")
    silent, wrong = Result(entry, Grade.SILENT, ()), Result(entry, Grade.WRONG, ("a",))
    text = page([silent], ["llama3", "qwen3"])
    assert "They were so on gpt2; not fetched, and so not asked: llama3, qwen3." in text
    assert re.search(r"^\| healthy, on real tokenizers \| 1 \|", text, re.MULTILINE)
    assert "| healthy-plain |" not in text
    assert "They were so on none." in page([])
    assert missed([silent]) == []
    assert len(missed([wrong])) == 2


def test_the_section_takes_its_own_place_and_no_other() -> None:
    section = page([Result(ONE, Grade.TIED, ("a|b",), ("word-capped (n 8)",))])
    assert section.startswith(f"{HEADING}\n")
    assert "a\\|b" in section
    first = with_section("# Title\n\n## Before\n\ntext\n", section)
    assert first.startswith("# Title\n\n## Before\n\ntext\n\n## Measured\n")
    assert with_section(first, section) == first
    between = with_section("# T\n\n## Measured\n\nold\n\n## After\n\nmore\n", section)
    assert "old" not in between
    assert between.endswith("\n\n## After\n\nmore\n")


def test_every_planted_defect_is_in_the_bank() -> None:
    used = {plant.partition("=")[0] for entry in BANK for plant in entry.plant}
    assert set(DEFECTS) == used
