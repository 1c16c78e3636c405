"""Requests in a file: every byte, and where each line lies."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.errors import StorageError
from harness.requests import request_line, write_requests


def test_lines_and_offsets(tmp_path: Path) -> None:
    asked: list[tuple[str, bytes | list[str]]] = [
        ("encode", b"a\n\x00\xff"),
        ("encode", b""),
        ("decode", ["1", "22", "333"]),
        ("decode", []),
        ("encode", b"z"),
    ]
    made = write_requests(tmp_path / "deep" / "it.requests", asked)
    lines = [b"encode 610a00ff\n", b"encode \n", b"decode 1 22 333\n", b"decode \n", b"encode 7a\n"]
    assert [made.line(index) for index in range(len(made))] == lines
    assert made.path.read_bytes() == b"".join(lines)
    assert [made.operation(index) for index in range(5)] == [a for a, _ in asked]
    assert made.operations == ("encode", "decode")
    assert made.longest() == len(lines[0])
    assert made.sha256 == hashlib.sha256(b"".join(lines)).hexdigest()


def test_every_byte_value_survives() -> None:
    assert bytes.fromhex(request_line("encode", bytes(range(256))).split()[1].decode()) == bytes(
        range(256)
    )


def test_no_requests(tmp_path: Path) -> None:
    made = write_requests(tmp_path / "none", [])
    assert len(made) == 0
    assert made.offsets.tolist() == [0]
    assert made.longest() == 0


def test_what_fails_half_way_leaves_nothing(tmp_path: Path) -> None:
    def broken() -> Iterator[tuple[str, bytes]]:
        yield "encode", b"a"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_requests(tmp_path / "it", broken())
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be written"):
        write_requests(tmp_path / "file" / "it", [("encode", b"a")])
