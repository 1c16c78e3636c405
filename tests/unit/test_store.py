from pathlib import Path

import pytest

from harness import store
from harness.outcomes import Status, from_answers
from harness.store import Store


def test_outcomes_and_document_come_back(tmp_path: Path) -> None:
    outcomes = from_answers([[1, 2], Status.ERROR, []], {1: "why \udcff \x1b"})
    name = store.key(a=1)
    Store(tmp_path).put(name, {"seconds": 1.5}, outcomes)
    entry = Store(tmp_path).get(name)
    assert entry is not None
    assert entry.outcomes is not None
    assert entry.document == {"seconds": 1.5}
    assert entry.outcomes.answer(0).tolist() == [1, 2]
    assert entry.outcomes.status.tolist() == [Status.OK, Status.ERROR, Status.OK]
    assert entry.outcomes.notes == {1: "why \udcff \x1b"}


def test_a_key_depends_on_every_part() -> None:
    names = {store.key(a=1, b=2), store.key(a=1, b=3), store.key(a=2, b=2), store.key(a=1)}
    assert len(names) == 4


@pytest.mark.parametrize("keep", [0, 1, 100, -1])
def test_a_damaged_entry_is_as_good_as_absent(tmp_path: Path, keep: int) -> None:
    name = store.key(a=1)
    kept = Store(tmp_path)
    kept.put(name, {"x": 1}, from_answers([[1, 2, 3]] * 50))
    [path] = tmp_path.rglob("*.npz")
    path.write_bytes(path.read_bytes()[:keep])
    assert kept.get(name) is None


def test_no_half_file_is_left_when_writing_fails(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        Store(tmp_path).put(store.key(a=1), {"x": object()})
    assert list(tmp_path.rglob("*.part")) == []


def test_an_entry_that_cannot_be_stored_costs_nothing_but_words(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("in the way")
    kept = Store(tmp_path)
    assert kept.trouble is None
    kept.put(store.key(a=1), {"x": 1})
    assert str(tmp_path) in (kept.trouble or "")
    assert kept.get(store.key(a=1)) is None


def test_equal_outcomes_are_kept_once_and_each_entry_keeps_its_own_notes(tmp_path: Path) -> None:
    kept = Store(tmp_path)
    for note in ("one", "other"):
        kept.put(store.key(note=note), {}, from_answers([[1], Status.ERROR], {1: note}))
    assert len(list(tmp_path.rglob("*.npz"))) == 1
    for note in ("one", "other"):
        entry = kept.get(store.key(note=note))
        assert entry is not None
        assert entry.outcomes is not None
        assert entry.outcomes.notes == {1: note}


def test_damaged_outcomes_are_stored_anew(tmp_path: Path) -> None:
    name, outcomes = store.key(a=1), from_answers([[1, 2, 3]])
    Store(tmp_path).put(name, {}, outcomes)
    [path] = tmp_path.rglob("*.npz")
    Store(tmp_path).put(store.key(a=2), {}, from_answers([[1, 2, 4]]))
    [other] = [one for one in tmp_path.rglob("*.npz") if one != path]
    # A whole file in the wrong place: nothing but its digest tells.
    path.write_bytes(other.read_bytes())
    assert Store(tmp_path).get(name) is None
    Store(tmp_path).put(name, {}, outcomes)
    entry = Store(tmp_path).get(name)
    assert entry is not None
    assert entry.outcomes is not None
    assert entry.outcomes.answer(0).tolist() == [1, 2, 3]
