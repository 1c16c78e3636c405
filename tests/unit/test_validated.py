"""YAML into checked values: every mistake names its file, its place, and the nearest right word."""

from pathlib import Path
from typing import Literal

import pytest
from pydantic import Field

from harness.errors import UsageError
from harness.validated import Strict, load_yaml, validate


class Inner(Strict):
    colour: Literal["red", "green"] = "red"
    count: int = 1


class Model(Strict):
    name: str
    inner: Inner = Inner()
    many: list[Inner] = Field(default_factory=list)
    keyed: dict[str, Inner] = Field(default_factory=dict)
    words: list[str] = Field(default_factory=list)
    ratio: float = 1.0
    mixed: str | dict[str, list[str]] = ""


def refused(tmp_path: Path, text: str | bytes) -> UsageError:
    path = tmp_path / "it.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UsageError) as caught:
        load_yaml(path, Model)
    assert str(path) in (caught.value.where or "")
    return caught.value


def test_a_good_file(tmp_path: Path) -> None:
    path = tmp_path / "it.yaml"
    path.write_text("name: x\ninner: {colour: green}\nmany: [{count: 2}]\nratio: 2\n")
    model = load_yaml(path, Model)
    assert model.inner.colour == "green"
    assert model.many[0].count == 2
    assert model.ratio == 2


def test_merge_keys_are_understood(tmp_path: Path) -> None:
    path = tmp_path / "it.yaml"
    path.write_text("name: x\ninner: &i {count: 3}\nkeyed: {a: {<<: *i, colour: green}}\n")
    assert load_yaml(path, Model).keyed["a"] == Inner(colour="green", count=3)


@pytest.mark.parametrize(
    ("text", "key", "meant"),
    [
        ("name: x\nwrods: []\n", "wrods", "words"),
        ("name: x\ninner: {color: red}\n", "color", "colour"),
        ("name: x\nmany: [{count: 1}, {cuont: 1}]\n", "cuont", "count"),
        ("name: x\nkeyed: {a: {colours: red}}\n", "colours", "colour"),
        ("nmae: x\n", "nmae", "name"),
    ],
)
def test_a_misspelt_key_is_answered_with_the_right_one(
    tmp_path: Path, text: str, key: str, meant: str
) -> None:
    error = refused(tmp_path, text)
    assert f"unknown key '{key}'" in error.what
    assert error.remedy == f"did you mean '{meant}'?"


def test_a_key_path_leads_to_the_mistake(tmp_path: Path) -> None:
    error = refused(tmp_path, "name: x\nmany: [{count: 1}, {count: two}]\n")
    assert (error.where or "").endswith("it.yaml: many.1.count")
    assert "'two'" in error.what


def test_a_word_that_is_none_of_the_choices(tmp_path: Path) -> None:
    error = refused(tmp_path, "name: x\ninner: {colour: gren}\n")
    assert error.remedy == "did you mean 'green'?"


@pytest.mark.parametrize("word", ["off", "no", "yes", "on"])
def test_a_yaml_truth_value_where_text_belongs_says_to_quote(tmp_path: Path, word: str) -> None:
    error = refused(tmp_path, f"name: {word}\n")
    assert "quote" in (error.remedy or "")


def test_a_number_is_not_taken_for_text(tmp_path: Path) -> None:
    assert "12" in refused(tmp_path, "name: 12\n").what


def test_a_missing_key(tmp_path: Path) -> None:
    error = refused(tmp_path, "words: []\n")
    assert error.what == "is missing"
    assert (error.where or "").endswith(": name")


def test_an_empty_file_lacks_what_is_mandatory(tmp_path: Path) -> None:
    assert refused(tmp_path, "").what == "is missing"


@pytest.mark.parametrize("text", ["- a\n- b\n", "just text\n", "42\n"])
def test_a_file_that_is_no_mapping(tmp_path: Path, text: str) -> None:
    assert refused(tmp_path, text).expected == "a mapping"


@pytest.mark.parametrize(
    ("text", "place", "expected"),
    [
        ("name: x\nmixed: {a: 1}\n", ": mixed.a", "a list"),
        ("name: x\nmixed: 1\n", ": mixed", "text or a mapping"),
        ("name: x\nwords: a\n", ": words", "a list"),
        ("name: x\ninner: {count: 1.5}\n", ": inner.count", "a whole number"),
        ("name: x\nkeyed: {1: {}}\n", ": keyed.1", "keys that are text"),
    ],
)
def test_what_was_expected_is_said_in_yamls_words(
    tmp_path: Path, text: str, place: str, expected: str
) -> None:
    error = refused(tmp_path, text)
    assert (error.where or "").endswith(place)
    assert error.expected == expected
    assert "more" not in error.what


@pytest.mark.parametrize("text", ["name: " + "9" * 5000, 'name: "a\\0b"', "name: !!int x"])
def test_a_value_that_cannot_be_read_has_its_line_and_column(tmp_path: Path, text: str) -> None:
    assert (refused(tmp_path, text).where or "").endswith("it.yaml:1:7")


def test_a_date_is_text(tmp_path: Path) -> None:
    path = tmp_path / "it.yaml"
    path.write_text("name: 2026-13-45\n")
    assert load_yaml(path, Model).name == "2026-13-45"


def test_a_syntax_error_names_line_and_column(tmp_path: Path) -> None:
    error = refused(tmp_path, "name: x\nwords: [a, b\ninner: {\n")
    assert (error.where or "").split(":")[-2] in ("3", "4")
    assert "not YAML" in error.what


def test_a_repeated_key_is_an_error_and_not_the_lasts_victory(tmp_path: Path) -> None:
    error = refused(tmp_path, "name: x\nratio: 1\nname: y\n")
    assert "appears twice" in error.what
    assert (error.where or "").endswith(":3:1")


@pytest.mark.parametrize(
    "text", [b"name: \xff\n", "name: \x01\n", "name: !!python/name:os.system\n"]
)
def test_bytes_and_tags_that_do_not_belong(tmp_path: Path, text: str | bytes) -> None:
    refused(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        "name: " + "[" * 5000 + "]" * 5000,
        "name: " + "{a: " * 5000 + "1" + "}" * 5000,
        "name: &a [*a]\n",
        "? [a, b]\n: 1\n",
    ],
)
def test_depth_and_cycles_do_not_bring_it_down(tmp_path: Path, text: str) -> None:
    refused(tmp_path, text)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load_yaml(tmp_path / "none.yaml", Model)


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load_yaml(tmp_path, Model)


def test_more_mistakes_are_counted() -> None:
    with pytest.raises(UsageError, match="2 more"):
        validate({"name": 1, "ratio": "x", "words": 1}, Model, "here")
