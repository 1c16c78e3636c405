import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness import golden as goldens
from harness.corpus import Case, Corpus, load
from harness.errors import GoldenRefused
from harness.golden import Golden, bless, check, expected, read, verify
from harness.golden_file import rendered
from harness.oracle import Oracle, library_version
from harness.outcomes import Status
from harness.tokenizers import TokenizerFile, inspect

BUNDLED = Path(__file__).resolve().parents[2] / "goldens" / "bundled"
COMMAND = "tokparity bless --tokenizer bundled"


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    return Oracle.load(BUNDLED / "tokenizer.json")


@pytest.fixture(scope="module")
def tokenizer() -> TokenizerFile:
    return inspect(BUNDLED / "tokenizer.json")


def corpus(*cases: tuple[str, bytes], name: str = "mine") -> Corpus:
    return Corpus(name, tuple(Case(one, data) for one, data in cases), "0" * 64, Path("mine"))


TWO = corpus(("a", b"hello world"), ("b", "e\u0301\0".encode()))
BROKEN = corpus(("bad", b"a\xff"), name="edge")


@pytest.fixture
def blessed(tmp_path: Path, oracle: Oracle, tokenizer: TokenizerFile) -> Path:
    path = tmp_path / "encodings.json"
    bless(path, oracle, tokenizer, [TWO, BROKEN], COMMAND)
    return path


def edit(path: Path, **changes: object) -> Golden:
    """Change keys of a golden, in the layout that blessing writes."""
    document = json.loads(path.read_text()) | changes
    path.write_bytes(rendered(document))
    return read(path)


def entries(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text())["entries"]
    return found


def test_blessing_records_everything_an_entry_has(
    tmp_path: Path, oracle: Oracle, tokenizer: TokenizerFile
) -> None:
    path = tmp_path / "new" / "encodings.json"
    done = bless(path, oracle, tokenizer, [TWO, BROKEN], COMMAND)
    assert (done.added, done.kept) == (("mine/a", "mine/b", "edge/bad"), 0)
    document = json.loads(path.read_text("ascii"))
    assert document["oracle"] == f"tokenizers {library_version()}"
    assert document["tokenizer_sha256"] == tokenizer.sha256
    assert document["provenance"]["tokenizer"] == {"name": "bundled", "sha256": tokenizer.sha256}
    assert document["provenance"]["unicode"]["normalizer"] == "9.0"
    assert document["provenance"]["command"] == COMMAND
    first, second = document["entries"]
    assert set(first) == {"id", "text", "ids", "ids_special", "decoded"}
    assert first["ids_special"] == [2563, *first["ids"]]
    # The normalizer composed it, so decoding does not give the text back: recorded, no error.
    assert (second["text"], second["decoded"]) == ("e\u0301\0", "é\0")
    assert document["ungraded"] == [{"id": "edge/bad", "hex": "61ff", "reason": "not UTF-8"}]


def test_a_reader_of_the_old_format_reads_it(blessed: Path) -> None:
    document = json.loads(blessed.read_text())
    assert {one["text"]: one["ids"] for one in document["entries"]}["hello world"]


def test_blessing_again_changes_no_byte(
    blessed: Path, oracle: Oracle, tokenizer: TokenizerFile
) -> None:
    before, changed = blessed.read_bytes(), blessed.stat().st_mtime_ns
    done = bless(blessed, oracle, tokenizer, [TWO, BROKEN], "another command")
    assert (done.added, done.kept) == ((), 3)
    assert blessed.read_bytes() == before
    assert blessed.stat().st_mtime_ns == changed


def test_blessing_appends_lines_and_keeps_the_others(
    blessed: Path, oracle: Oracle, tokenizer: TokenizerFile
) -> None:
    before = blessed.read_text().splitlines()
    more = corpus(("c", b"three"), ("d", b"\xfe"), name="more")
    done = bless(blessed, oracle, tokenizer, [TWO, more], COMMAND)
    assert (done.added, done.kept) == (("more/c", "more/d"), 3)
    after = {line.rstrip(",") for line in blessed.read_text().splitlines()}
    assert {line.rstrip(",") for line in before} <= after
    assert len(after) == len({line.rstrip(",") for line in before}) + 2


def test_an_entry_that_would_change_is_shown_and_nothing_is_written(
    blessed: Path, oracle: Oracle, tokenizer: TokenizerFile
) -> None:
    wrong = entries(blessed)
    wrong[0]["ids"][1] = 7
    edit(blessed, entries=wrong)
    before = blessed.read_bytes()
    with pytest.raises(GoldenRefused) as caught:
        bless(blessed, oracle, tokenizer, [TWO, corpus(("c", b"x"), name="more")], COMMAND)
    assert "1 recorded answer would change" in caught.value.what
    assert "mine/a: ids from index 0: [2131, 7, 579" in caught.value.what
    assert "remove those entries" in str(caught.value.remedy)
    assert caught.value.exit_code == 5
    assert blessed.read_bytes() == before


@pytest.mark.parametrize("field", ["ids", "ids_special", "decoded"])
def test_drift_is_found_in_every_field(blessed: Path, oracle: Oracle, field: str) -> None:
    assert verify(read(blessed), oracle) == ()
    wrong = entries(blessed)
    wrong[1][field] = wrong[1][field][:-1]
    (drift,) = verify(edit(blessed, entries=wrong), oracle)
    assert (drift.id, drift.field) == ("mine/b", field)
    assert drift.index == len(wrong[1][field])


def test_bytes_changed_under_the_same_id_are_refused(
    blessed: Path, oracle: Oracle, tokenizer: TokenizerFile
) -> None:
    for changed in (corpus(("a", b"hello")), corpus(("a", b"hello world\xff"))):
        with pytest.raises(GoldenRefused, match="other bytes under the id 'mine/a'"):
            bless(blessed, oracle, tokenizer, [changed], COMMAND)
        with pytest.raises(GoldenRefused, match="other bytes"):
            expected(read(blessed), [changed])
    with pytest.raises(GoldenRefused, match="other bytes"):
        expected(read(blessed), [corpus(("bad", b"a\xfe"), name="edge")])


def test_another_version_of_the_library_is_refused_by_name(
    blessed: Path, oracle: Oracle, tokenizer: TokenizerFile
) -> None:
    golden = edit(blessed, oracle="tokenizers 0.20.3")
    with pytest.raises(GoldenRefused) as caught:
        check(golden, tokenizer, "0.22.2")
    assert "0.20.3" in caught.value.what
    assert "0.22.2" in caught.value.what
    assert caught.value.remedy == "pip install tokenizers==0.20.3"
    with pytest.raises(GoldenRefused):
        bless(blessed, oracle, tokenizer, [TWO], COMMAND)


def test_a_golden_for_another_tokenizer_is_refused(
    blessed: Path, oracle: Oracle, tokenizer: TokenizerFile
) -> None:
    other = replace(tokenizer, sha256="f" * 64)
    with pytest.raises(GoldenRefused, match="golden for another tokenizer"):
        check(read(blessed), other, library_version())
    with pytest.raises(GoldenRefused, match="golden for another tokenizer"):
        bless(blessed, oracle, other, [TWO], COMMAND)
    check(read(blessed), tokenizer, library_version())


def test_an_unknown_oracle_is_refused(blessed: Path, tokenizer: TokenizerFile) -> None:
    with pytest.raises(GoldenRefused, match="names the oracle 'tiktoken'"):
        check(edit(blessed, oracle="tiktoken"), tokenizer, library_version())


def test_another_layout_cannot_be_appended_to(
    blessed: Path, oracle: Oracle, tokenizer: TokenizerFile
) -> None:
    blessed.write_text(json.dumps(json.loads(blessed.read_text()), indent=1))
    assert verify(read(blessed), oracle) == ()
    with pytest.raises(GoldenRefused, match="not in the layout"):
        bless(blessed, oracle, tokenizer, [TWO], COMMAND)


def test_a_key_of_someone_else_survives(
    blessed: Path, oracle: Oracle, tokenizer: TokenizerFile
) -> None:
    own = entries(blessed)
    own[0]["comment"] = "mine"
    edit(blessed, entries=own, reviewed="yes")
    bless(blessed, oracle, tokenizer, [corpus(("c", b"x"), name="more")], COMMAND)
    assert entries(blessed)[0]["comment"] == "mine"
    assert json.loads(blessed.read_text())["reviewed"] == "yes"


@pytest.mark.parametrize(
    ("operation", "answer"),
    [
        ("encode", [2131, 78, 579, 458]),
        ("encode_special", [2563, 2131, 78, 579, 458]),
        ("decode", list(b"hello world")),
    ],
)
def test_what_is_recorded_is_expected(
    blessed: Path, operation: goldens.Operation, answer: list[int]
) -> None:
    found = expected(read(blessed), [TWO, BROKEN], operation)
    assert found.outcomes.answer(0).tolist() == answer
    assert found.outcomes.status.tolist() == [Status.OK, Status.OK, Status.UNGRADED]
    assert found.missing == ()
    if operation == "decode":
        assert bytes(found.outcomes.answer(1).astype(np.uint8)) == "é\0".encode()


@pytest.mark.parametrize("operation", ["encode", "encode_special", "decode"])
def test_what_is_missing_is_asked_of_the_live_oracle(
    blessed: Path, oracle: Oracle, operation: goldens.Operation
) -> None:
    wanted = [corpus(("new", b"a b c"), ("new-bad", b"\xff")), TWO, BROKEN]
    found = expected(read(blessed), wanted, operation)
    assert found.missing == (0,)
    assert found.outcomes.status[0] == Status.UNRESOLVED
    # Bytes that are not UTF-8 are no question to the oracle, recorded or not.
    assert found.outcomes.status[1] == Status.UNGRADED
    filled = goldens.fill({operation: found}, oracle, wanted)[operation]
    texts = [c.text for part in wanted for c in part.cases]
    live = goldens.answers(oracle, texts, (operation,))[operation]
    assert filled.status.tolist() == live.status.tolist() == [0, 6, 0, 0, 6]
    assert filled.ids.tolist() == live.ids.tolist()
    assert filled.offsets.tolist() == live.offsets.tolist()


def test_without_a_golden_everything_is_missing() -> None:
    found = expected(None, [TWO, BROKEN])
    assert found.missing == (0, 1)
    assert found.outcomes.status.tolist() == [5, 5, 6]


def test_a_legacy_golden_is_read_by_text(
    tmp_path: Path, oracle: Oracle, tokenizer: TokenizerFile
) -> None:
    path = tmp_path / "old.json"
    ids = oracle.encode(["hello world"]).ids.tolist()
    document = {"oracle": "tokenizers 0.22.2", "entries": [{"text": "hello world", "ids": ids}]}
    path.write_text(json.dumps(document))
    golden = read(path)
    (name,) = golden.entries
    assert name.startswith("legacy/")
    check(golden, tokenizer, "0.22.2")
    assert verify(golden, oracle) == ()
    found = expected(golden, [TWO])
    assert found.outcomes.answer(0).tolist() == ids
    assert found.missing == (1,)
    assert expected(golden, [TWO], "decode").missing == (0, 1)
    with pytest.raises(GoldenRefused, match="legacy"):
        bless(path, oracle, tokenizer, [TWO], COMMAND)
    with pytest.raises(GoldenRefused, match=r"and 0\.22\.2 is installed"):
        check(replace(golden, oracle="tokenizers 0.20.3"), tokenizer, "0.22.2")


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"oracle": 1}, "names no oracle"),
        ({"tokenizer_sha256": 1}, "names no oracle"),
        ({"entries": [1]}, "entry 1 has no text"),
        ({"entries": [{"text": "x", "ids": []}]}, "entry 1 has no id"),
        ({"entries": [{"id": "a", "text": "x"}]}, "'a' has ids that are not"),
        ({"entries": [{"id": "a", "text": "x", "ids": [True]}]}, "'a' has ids that are not"),
        ({"entries": [{"id": "a", "text": "x", "ids": [-1]}]}, "'a' has ids that are not"),
        ({"entries": [{"id": "a", "text": "x", "ids": [2**32]}]}, "'a' has ids that are not"),
        ({"entries": [{"id": "a", "text": "\ud800", "ids": []}]}, "lone surrogate"),
        ({"entries": [{"id": "a", "text": "x", "ids": [], "decoded": 1}]}, "'decoded' is not"),
        ({"entries": [{"id": "a", "text": "x", "ids": []}] * 2}, "the entry 'a' twice"),
        ({"ungraded": [{"id": "mine/a", "hex": "ff", "reason": "r"}]}, "'mine/a' twice"),
        ({"ungraded": [{"id": "z", "hex": "f", "reason": "r"}]}, "not hexadecimal"),
        ({"ungraded": [1]}, "without id, hex and reason"),
    ],
)
def test_a_golden_that_is_none_is_refused(
    blessed: Path, changes: dict[str, Any], what: str
) -> None:
    with pytest.raises(GoldenRefused) as caught:
        edit(blessed, **changes)
    assert what in caught.value.what
    assert caught.value.where == str(blessed)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"entries": 1}', "[" * 100_000])
def test_a_file_that_is_no_golden_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "encodings.json"
    path.write_text(content)
    with pytest.raises(GoldenRefused):
        read(path)
    with pytest.raises(GoldenRefused, match="cannot be read"):
        read(tmp_path / "none.json")


CORPORA = Path(__file__).resolve().parents[2] / "corpora"
NAMES = sorted(path.parent.name for path in BUNDLED.parent.glob("*/source.yaml"))


def test_every_named_tokenizer_has_a_golden() -> None:
    assert set(NAMES) == {
        *("bundled", "gpt2", "llama3", "qwen2.5", "qwen3", "qwen3.6", "deepseek-v3", "gpt-oss")
    }


@pytest.mark.parametrize("name", NAMES)
def test_the_committed_goldens_hold_every_bundled_case_and_no_other(name: str) -> None:
    golden = read(BUNDLED.parent / name / "encodings.json")
    corpora = [load(path) for path in sorted(CORPORA.glob("*.jsonl"))]
    assert golden.oracle == "tokenizers 0.22.2"
    assert expected(golden, corpora).missing == ()
    assert expected(golden, corpora, "encode_special").missing == ()
    assert expected(golden, corpora, "decode").missing == ()
    recorded = {*golden.entries, *golden.ungraded}
    assert recorded == {one for corpus in corpora for one in corpus.case_ids}
    assert (golden.path.stat().st_size) < 1_000_000


def test_the_bundled_golden_is_what_the_oracle_gives(oracle: Oracle) -> None:
    assert verify(read(BUNDLED / "encodings.json"), oracle) == ()


@pytest.mark.parametrize(
    ("name", "case", "count"),
    [
        # Measured: e and a combining acute, forty times, is forty tokens once composed.
        ("qwen3", "acute-40", 40),
        ("qwen2.5", "acute-40", 40),
        ("gpt2", "acute-40", 120),
        ("qwen3", "empty", 0),
        ("qwen3", "special-adjacent", 3),
        ("gpt-oss", "long-x-regex", 4500),
        ("bundled", "special-in-text", 8),
    ],
)
def test_public_cases_have_their_known_counts(name: str, case: str, count: int) -> None:
    golden = read(BUNDLED.parent / name / "encodings.json")
    assert len(golden.entries[f"public_bugs/{case}"].ids) == count
