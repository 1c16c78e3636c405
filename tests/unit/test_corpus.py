import json
from pathlib import Path

import pytest

from harness.corpus import Case, bundled_names, case_id, load
from harness.errors import CorpusError

CORPORA = Path(__file__).resolve().parents[2] / "corpora"


def write(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


def test_a_corpus_keeps_its_cases_in_order(tmp_path: Path) -> None:
    path = write(
        tmp_path / "mine.jsonl",
        '{"id": "a", "text": "e\\u0301", "traits": ["nfd", "x-o"], "source": "s", "catches": "c"}',
        "",
        '{"id": "b", "hex": "61FF"}\r',
    )
    corpus = load(path)
    assert corpus.name == "mine"
    assert [case.id for case in corpus.cases] == ["a", "b"]
    assert corpus.case_ids == ("mine/a", "mine/b")
    assert case_id("mine", corpus.cases[0]) == "mine/a"
    first, second = corpus.cases
    assert first.text == "e\u0301"
    assert {"nfd", "marks:1", "x-o"} <= first.traits
    assert (first.source, first.catches) == ("s", "c")
    assert second.data == b"a\xff"
    assert second.text is None
    assert second.traits == {"invalid-utf8"}


def test_line_separators_other_than_newlines_are_content(tmp_path: Path) -> None:
    path = write(tmp_path / "c.jsonl", json.dumps({"id": "a", "text": "a\u2028b\x85c"}))
    path.write_text('{"id": "a", "text": "a\u2028b\x85c"}\n', "utf-8")
    assert load(path).cases[0].text == "a\u2028b\x85c"


def test_a_huge_line_is_an_ordinary_case(tmp_path: Path) -> None:
    path = write(tmp_path / "c.jsonl", json.dumps({"id": "a", "text": "x" * 10_000_000}))
    assert len(load(path).cases[0].data) == 10_000_000


@pytest.mark.parametrize(
    ("line", "what", "remedy"),
    [
        ("{", "is not JSON", ""),
        ("[1]", "is a JSON list", ""),
        ('{"id": "a", "txt": "x"}', "unknown key 'txt'", "did you mean 'text'?"),
        ('{"id": "a", "colour": "x"}', "unknown key 'colour'", ""),
        ('{"id": "a", "text": "x", "hex": "61"}', "has both 'text' and 'hex'", ""),
        ('{"id": "a"}', "has neither 'text' nor 'hex'", ""),
        ('{"text": "x"}', "has no 'id'", ""),
        ('{"id": "a/b", "text": "x"}', "the id 'a/b' is not usable", ""),
        ('{"id": "", "text": "x"}', "the id '' is not usable", ""),
        ('{"id": 7, "text": "x"}', "'id' is a JSON int", ""),
        ('{"id": "a", "text": 7}', "'text' is a JSON int", ""),
        ('{"id": "a", "text": null, "hex": "61"}', "'text' is a JSON NoneType", ""),
        ('{"id": "a", "text": "x", "traits": "nfd"}', "'traits' is not a list", ""),
        ('{"id": "a", "text": "x", "traits": [1]}', "'traits' is not a list", ""),
        ('{"id": "a", "text": "x\\ud800"}', "lone surrogate U+D800 at character 1", "'hex'"),
        ('{"id": "a", "hex": "6"}', "not pairs of hexadecimal", ""),
        ('{"id": "a", "hex": "6 1 "}', "not pairs of hexadecimal", ""),
        ('{"id": "a", "hex": "zz"}', "not pairs of hexadecimal", ""),
        ('{"id": "ok", "text": "x"}', "appears twice, first on line 1", ""),
        ('{"id": "a", "id": "b", "text": "x"}', "names the key 'id' twice", ""),
        ('{"id": "a", "text": "x", "traits": ["nfd"]}', "claims the trait 'nfd', which is", ""),
        ('{"id": "a", "text": "e\\u0301", "traits": ["marks:2"]}', "has marks:1", ""),
        ('{"id": "a", "text": "x", "traits": ["nfdd"]}', "unknown trait", "did you mean 'nfd'?"),
        ("[" * 100_000, "nested too deeply", ""),
        ('{"id": ' + "1" * 5000 + "}", "is not a case", ""),
        ('{"id": "a", "\\u001b[2J": 1}', "unknown key '\\x1b[2J'", ""),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, line: str, what: str, remedy: str) -> None:
    path = write(tmp_path / "c.jsonl", '{"id": "ok", "text": "x"}', line)
    with pytest.raises(CorpusError) as caught:
        load(path)
    assert what in caught.value.what
    assert caught.value.where == f"{path}:2"
    assert remedy in str(caught.value.remedy)


def test_a_false_trait_is_answered_with_the_computed_ones(tmp_path: Path) -> None:
    line = '{"id": "a", "text": "x y", "traits": ["nul"]}'
    with pytest.raises(CorpusError) as caught:
        load(write(tmp_path / "c.jsonl", line))
    assert "ascii, nfc-stable, whitespace" in str(caught.value.expected)


def test_a_line_that_is_not_utf8_says_which_byte(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_bytes(b'{"id": "a", "text": "\xff"}\n')
    with pytest.raises(CorpusError, match="not UTF-8 at byte 22"):
        load(path)


@pytest.mark.parametrize("content", ["", "\n\n \n"])
def test_a_corpus_without_a_case_is_an_error(tmp_path: Path, content: str) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text(content)
    with pytest.raises(CorpusError, match="holds no case"):
        load(path)


def test_a_file_that_is_not_there_or_a_directory_is_an_error(tmp_path: Path) -> None:
    for path in (tmp_path / "none.jsonl", tmp_path):
        with pytest.raises(CorpusError, match="cannot be read"):
            load(path)


def test_the_sha256_is_of_the_content_and_not_of_the_layout(tmp_path: Path) -> None:
    def sha256(*lines: str) -> str:
        return load(write(tmp_path / "c.jsonl", *lines)).sha256

    base = sha256('{"id": "a", "text": "x"}', '{"id": "b", "text": "y"}')
    assert base == sha256('{"text":"x",  "id":"a"}', "", '{"id": "b", "hex": "79"}')
    different = [
        sha256('{"id": "b", "text": "y"}', '{"id": "a", "text": "x"}'),
        sha256('{"id": "a", "text": "x"}'),
        sha256('{"id": "a", "text": "X"}', '{"id": "b", "text": "y"}'),
        sha256('{"id": "a2", "text": "x"}', '{"id": "b", "text": "y"}'),
        sha256('{"id": "a", "text": "x", "traits": ["ascii"]}', '{"id": "b", "text": "y"}'),
        sha256('{"id": "a", "text": "x", "source": "s"}', '{"id": "b", "text": "y"}'),
    ]
    assert len({base, *different}) == 1 + len(different)


def test_statistics_count_what_is_there(tmp_path: Path) -> None:
    path = write(
        tmp_path / "c.jsonl",
        '{"id": "a", "text": "e\\u0301"}',
        '{"id": "b", "hex": "ff"}',
        '{"id": "c", "text": "q\\u0301\\u0301"}',
    )
    counts = load(path).statistics()
    assert (counts.cases, counts.bytes, counts.code_points) == (3, 9, 5)
    assert (counts.longest, counts.ungraded) == (5, 1)
    assert counts.traits == {"invalid-utf8": 1, "marks": 2, "nfc-stable": 1, "nfd": 1}


def test_smoke_comes_first_and_other_files_are_no_corpora(tmp_path: Path) -> None:
    for name in ("z.jsonl", "a.jsonl", "smoke.jsonl", "traits.yaml"):
        (tmp_path / name).touch()
    assert bundled_names(tmp_path) == ("smoke", "a", "z")


def test_every_bundled_corpus_loads_with_all_its_regimes() -> None:
    names = bundled_names(CORPORA)
    assert set(names) == {
        *("smoke", "multilingual", "combining_marks", "whitespace", "digits"),
        *("added_tokens", "byte_edges", "public_bugs"),
    }
    corpora = {name: load(CORPORA / f"{name}.jsonl") for name in names}
    for name in names:
        content = (CORPORA / f"{name}.jsonl").read_bytes()
        assert content.isascii(), name
    assert len(corpora["public_bugs"].cases) == 41
    assert all(case.source and case.catches for case in corpora["public_bugs"].cases)


def edges(case: Case) -> set[str]:
    """What makes a case more than everyone must get right."""
    found = {one.partition(":")[0] for one in case.traits}
    forbidden = {"nfd", "marks", "nul", "control", "invalid-utf8", "long", "empty", "astral"}
    bytes_ = {f"byte {byte:02x}" for byte in case.data if byte in (0x85, 0xA0)}
    return (found & forbidden) | bytes_


def test_smoke_stands_at_no_edge() -> None:
    assert [edges(case) for case in load(CORPORA / "smoke.jsonl").cases if edges(case)] == []
    assert edges(Case("planted", "à e\u0301\0".encode())) == {
        *("nfd", "marks", "nul", "control", "byte a0")
    }


def test_dense_marks_come_with_twins_of_each_script() -> None:
    cases = {case.id: case for case in load(CORPORA / "combining_marks.jsonl").cases}
    for script in ("devanagari", "thai", "arabic", "hebrew"):
        own = [case for case in cases.values() if script in case.traits and "-twin" in case.id]
        assert len(own) >= 4
        for twin in own:
            stable = cases[twin.id.removesuffix("-twin")]
            assert "nfd" in twin.traits
            assert "nfc-stable" in stable.traits
            for one in (twin, stable):
                marks = [int(t[6:]) for t in one.traits if t.startswith("marks:")]
                assert 74 <= marks[0] <= 150, one.id


def continuation_bytes(cases: list[Case]) -> tuple[set[int], set[int]]:
    """The values seen as the last byte of a case, and as a middle byte of a character."""
    final = {case.data[-1] for case in cases if case.text}
    middle = {byte for case in cases for char in case.text or "" for byte in char.encode()[1:-1]}
    return final, middle


def test_every_continuation_byte_is_met_at_the_end_and_in_the_middle() -> None:
    cases = list(load(CORPORA / "byte_edges.jsonl").cases)
    everyone = set(range(0x80, 0xC0))
    final, middle = continuation_bytes(cases)
    assert everyone <= final
    assert everyone <= middle
    without = [case for case in cases if case.data[-1:] != b"\x93"]
    assert 0x93 not in continuation_bytes(without)[0]
