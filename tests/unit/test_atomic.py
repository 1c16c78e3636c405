"""Files that are whole or absent."""

import errno
import os
from pathlib import Path

import pytest

from harness.atomic import directory, storage, write_atomically
from harness.errors import StorageError


def test_it_writes_and_replaces(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b"
    write_atomically(path, b"one")
    write_atomically(path, b"two", mode=0o755)
    assert path.read_bytes() == b"two"
    assert path.stat().st_mode & 0o777 == 0o755
    assert [entry.name for entry in path.parent.iterdir()] == ["b"]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT])
def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, code: int) -> None:
    with pytest.raises(StorageError) as caught, storage(tmp_path):
        raise OSError(code, os.strerror(code), str(tmp_path / "x"))
    assert caught.value.exit_code == 4
    assert caught.value.where == str(tmp_path / "x")
    assert os.strerror(code) in caught.value.what
    assert "--cache" in (caught.value.remedy or "")


def test_other_errors_pass(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), storage(tmp_path):
        (tmp_path / "none").read_bytes()


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    write_atomically(path, b"old")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "chmod", full)
    with pytest.raises(StorageError):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a"]


def test_a_file_where_a_directory_belongs(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    with pytest.raises(StorageError):
        directory(tmp_path / "a")
    with pytest.raises(StorageError):
        write_atomically(tmp_path / "a" / "b", b"")
