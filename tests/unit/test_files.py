"""Only ordinary files of a sensible size are read."""

import os
from pathlib import Path

import pytest

from harness.files import read_ordinary


def test_an_ordinary_file_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    assert read_ordinary(path) == b"abc"
    assert read_ordinary(path, most=3) == b"abc"


def test_what_is_too_large_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(OSError, match="at most 10 fit"):
        read_ordinary(path, most=10)


def test_what_would_never_end_is_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero")):
        with pytest.raises(OSError, match="no ordinary file"):
            read_ordinary(path)
    with pytest.raises(IsADirectoryError):
        read_ordinary(tmp_path)
    with pytest.raises(FileNotFoundError):
        read_ordinary(tmp_path / "none")
