"""Prompt files: their shapes, their `_meta`, and every check with a prompt that breaks it."""

import json
from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.served.prompts import Checked, check, read_prompts
from harness.served.target import Band
from tests.unit.benched import written

META = {"_meta": {"target": 5, "tolerance": 1, "count": 2, "boundary": "raw"}}
PROMPTS = [{"prompt": "alpha"}, {"text": "beta!", "id": "b"}]


@pytest.mark.parametrize(
    "documents",
    [
        (META, *PROMPTS),
        (META, "alpha", {"prompt": "beta!", "id": "b"}),
        ([META, *PROMPTS],),
        ({**META, "prompts": PROMPTS},),
        ({**META, "prompts": ["alpha", {"text": "beta!", "id": "b"}]},),
    ],
)
def test_every_shape_is_the_same_file(tmp_path: Path, documents: tuple[object, ...]) -> None:
    found = read_prompts(written(tmp_path / "p.jsonl", *documents))
    assert [(one.text) for one in found.prompts] == ["alpha", "beta!"]
    assert [one.id for one in found.prompts] == ["1", "b"]
    assert (found.meta.target, found.meta.tolerance, found.meta.count) == (5, 1, 2)


def test_a_file_without_meta(tmp_path: Path) -> None:
    found = read_prompts(written(tmp_path / "p.jsonl", *PROMPTS))
    assert (found.meta.target, found.meta.tolerance, len(found.prompts)) == (None, 0, 2)


def test_meta_may_say_more(tmp_path: Path) -> None:
    more = {"_meta": {"target": 5, "made_by": "a script"}}
    assert read_prompts(written(tmp_path / "p.jsonl", more, "alpha")).meta.target == 5


@pytest.mark.parametrize(
    ("documents", "what"),
    [
        ((META,), "holds no prompt"),
        (([],), "holds no prompt"),
        ((META, {"prompt": 5}), "is no prompt"),
        ((META, {"txt": "a"}), "is no prompt"),
        ((META, 5), "is no prompt"),
        ((META, {"messages": []}), "needs the chat template"),
        (("alpha", META), "has _meta after the start"),
        ((META, "\ud800"), "the lone surrogate U+D800"),
        (({"_meta": {"tolerence": 8}}, "a"), "unknown key 'tolerence'"),
        (({"_meta": {"target": "512"}}, "a"), "has the text '512'"),
        (({"_meta": {"target": 0}}, "a"), "has the number 0"),
        (({"_meta": {"tolerance": -1}}, "a"), "has the number -1"),
        (({"_meta": {"boundary": "cooked"}}, "a"), "has the text 'cooked'"),
        (({"_meta": 5}, "a"), "has the number 5"),
    ],
)
def test_a_broken_prompt_file(tmp_path: Path, documents: tuple[object, ...], what: str) -> None:
    path = written(tmp_path / "p.jsonl", *documents)
    with pytest.raises(UsageError) as caught:
        read_prompts(path)
    assert what in caught.value.what
    assert str(caught.value.where).startswith(str(path))


@pytest.mark.parametrize("live", [True, False])
@pytest.mark.parametrize(
    ("documents", "name", "place"),
    [
        (({"id": "b", "prompt": "x"}, "y", {"id": "b", "prompt": "z"}), "b", ":3"),
        (({"id": 7, "prompt": "x"}, {"id": "7", "prompt": "z"}), "7", ":2"),
        # One without an id has its number.
        (({"id": "2", "prompt": "x"}, "z"), "2", ":2"),
        (({"prompts": [{"id": "b", "text": "x"}, {"id": "b", "text": "z"}]},), "b", "prompts.1"),
    ],
)
def test_an_id_that_stands_twice(
    tmp_path: Path, documents: tuple[object, ...], name: str, place: str, *, live: bool
) -> None:
    path = written(tmp_path / "p.jsonl", *documents)
    with pytest.raises(UsageError, match=f"has the id '{name}', as has an earlier") as caught:
        read_prompts(path, live=live)
    assert str(caught.value.where).startswith(str(path))
    assert str(caught.value.where).endswith(place)


def checked(tmp_path: Path, meta: dict[str, object], texts: list[str], **given: object) -> Checked:
    file = read_prompts(written(tmp_path / "p.jsonl", {"_meta": meta}, *texts))
    counts = [len(one) for one in texts]
    stable = [one != "unstable" for one in texts]
    band = None
    if file.meta.target is not None:
        band = Band(
            file.meta.target - file.meta.tolerance, file.meta.target + file.meta.tolerance, "raw"
        )
    return check(file, counts, stable, band=band)


@pytest.mark.parametrize(
    ("meta", "texts", "words"),
    [
        ({"count": 3}, ["alpha", "beta!"], "_meta.count is 3 and there are 2 prompts"),
        ({}, ["alpha", "beta!", "alpha"], "1 prompt repeats an earlier one (prompt 1 stands 2"),
        ({}, ["alpha", ""], "1 prompt is shorter than 1 token (prompt 2: 0)"),
        ({"minimum": 5}, ["alpha", "beta"], "shorter than 5 tokens (prompt 2: 4)"),
        ({"target": 5, "tolerance": 1}, ["alpha", "alphas", "alphabet"], "out of the band 5 ± 1 r"),
        ({"target": 5}, ["alpha", "beta"], "out of the band 5 raw (prompt 2: 4)"),
        ({}, ["alpha", "unstable"], "1 prompt gives other ids once decoded"),
    ],
)
def test_each_check_has_a_prompt_that_breaks_it(
    tmp_path: Path, meta: dict[str, object], texts: list[str], words: str
) -> None:
    found = checked(tmp_path, meta, texts)
    assert len(found.violations) == 1
    assert words in found.violations[0]


def test_margins_are_the_distance_to_the_edges(tmp_path: Path) -> None:
    meta: dict[str, object] = {"target": 5, "tolerance": 2, "count": 2}
    found = checked(tmp_path, meta, ["beta", "alphas"])
    assert (found.violations, found.margins) == ((), (1, 1))
    assert checked(tmp_path, {**meta, "target": 7}, ["beta", "alphas"]).margins == (-1, 3)
    assert checked(tmp_path, {}, ["beta"]).margins is None


def test_a_surrogate_pair_is_one_character(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(json.dumps("\U0001f600"), "ascii")
    assert read_prompts(path).prompts[0].text == "\U0001f600"
