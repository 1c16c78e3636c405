"""GGUF metadata: files that the format's own library writes, and files that lie."""

import os
import struct
import threading
from collections.abc import Callable
from pathlib import Path

import gguf as theirs
import pytest

from harness.errors import TokenizerError
from harness.gguf import Array, metadata, vocabulary

TOKENS = ["<s>", "</s>", "é", "<|im_end|>", ""]
TEMPLATE = "{{ bos_token }}{{ messages[0].content }} é"


def written(
    path: Path, *, order: theirs.GGUFEndian = theirs.GGUFEndian.LITTLE, named: bool = True
) -> Path:
    writer = theirs.GGUFWriter(path, "llama", endianess=order)
    writer.add_name("a name")
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(TOKENS)
    writer.add_token_types([3, 3, 1, 3, 1])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(3)
    writer.add_add_bos_token(True)
    writer.add_array("nested", [[1, 2], [3]])
    writer.add_float64("a.number", 0.5)
    writer.add_chat_template(
        [{"name": "default", "template": TEMPLATE}, {"name": "tool_use", "template": "tools"}]
        if named
        else TEMPLATE
    )
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.mark.parametrize("order", list(theirs.GGUFEndian))
def test_a_file_of_the_formats_own_library_is_read(
    tmp_path: Path, order: theirs.GGUFEndian
) -> None:
    found = metadata(written(tmp_path / "a.gguf", order=order))
    assert found.version == 3
    assert found.big_endian == (order == theirs.GGUFEndian.BIG)
    assert found.values["a.number"] == 0.5
    assert isinstance(found.values["tokenizer.ggml.tokens"], Array)
    assert found.texts("tokenizer.ggml.tokens") == tuple(TOKENS)
    assert found.texts("no.such") == ()
    own = vocabulary(found)
    assert (own.name, own.model, own.pattern) == ("a name", "gpt2", "qwen2")
    assert (own.bos_id, own.eos_id, own.bos, own.eos) == (0, 3, "<s>", "<|im_end|>")
    assert own.add_bos is True
    assert own.templates == {"default": TEMPLATE, "tool_use": "tools"}


def test_version_2_is_read_and_others_are_not(tmp_path: Path) -> None:
    path = written(tmp_path / "a.gguf", named=False)
    data = bytearray(path.read_bytes())
    data[4:8] = struct.pack("<I", 2)
    path.write_bytes(data)
    assert vocabulary(metadata(path)).templates == {"default": TEMPLATE}
    for version in (1, 4, 0x01000000):
        data[4:8] = struct.pack("<I", version)
        path.write_bytes(data)
        with pytest.raises(TokenizerError, match=f"version {version}"):
            metadata(path)


def test_what_a_file_does_not_say_is_none(tmp_path: Path) -> None:
    path = tmp_path / "bare.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 0))
    own = vocabulary(metadata(path))
    assert (own.name, own.bos_id, own.bos, own.add_bos, own.templates) == (None,) * 4 + ({},)


def test_a_token_id_beyond_the_vocabulary_has_no_spelling(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(lying(entry("tokenizer.ggml.bos_token_id", 4, struct.pack("<I", 2**32 - 1))))
    own = vocabulary(metadata(path))
    assert own.bos_id == 2**32 - 1
    assert own.bos is None


def entry(key: str, kind: int, data: bytes) -> bytes:
    return struct.pack("<Q", len(key)) + key.encode() + struct.pack("<I", kind) + data


def text(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


def lying(*entries: bytes, keys: int | None = None) -> bytes:
    count = len(entries) if keys is None else keys
    return b"GGUF" + struct.pack("<IQQ", 3, 0, count) + b"".join(entries)


HUGE = struct.pack("<Q", 1 << 62)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "is no GGUF file"),
        (b"GG", "is no GGUF file"),
        (b'{"model": {}}', "is no GGUF file"),
        (b"GGUF\x03\0\0", "cut off"),
        (lying(keys=1), "cut off"),
        (lying(keys=1 << 40), "claims 1,099,511,627,776 keys"),
        (lying(HUGE), "claims a text of"),
        (lying(entry("a", 8, HUGE)), "claims a text of"),
        (lying(entry("a", 9, struct.pack("<I", 4) + HUGE)), "claims an array of"),
        (lying(entry("a", 9, struct.pack("<IQ", 4, 30) + b"\0" * 60)), "cut off"),
        (lying(entry("a", 9, struct.pack("<IQ", 8, 1) + HUGE)), "claims a text of"),
        (lying(entry("a", 9, struct.pack("<IQ", 8, 2) + text(b"x" * 40))), "cut off"),
        (lying(entry("a", 9, struct.pack("<IQ", 8, 1) + struct.pack("<Q", 40))), "cut off"),
        (lying(entry("a", 9, struct.pack("<IQ", 9, 1) * 9 + b"\0" * 99)), "unknown type 9"),
        (lying(entry("a", 13, b"\0" * 99)), "unknown type 13"),
        (lying(entry("a", 9, struct.pack("<IQ", 77, 1) + b"\0")), "unknown type 77"),
        (lying(entry("a", 4, b"\0" * 4), entry("a", 4, b"\0" * 4)), "'a' twice"),
    ],
)
def test_a_file_that_lies_is_an_error(tmp_path: Path, data: bytes, what: str) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(data)
    with pytest.raises(TokenizerError, match=what) as caught:
        metadata(path)
    assert str(path) in str(caught.value.where)


def test_every_cut_of_a_real_file_is_an_error(tmp_path: Path) -> None:
    data = written(tmp_path / "whole.gguf").read_bytes()
    path = tmp_path / "cut.gguf"
    end = data.rindex(b"tools") + 5
    for length in range(0, end, 7):
        path.write_bytes(data[:length])
        with pytest.raises(TokenizerError):
            metadata(path)


def test_a_value_of_another_type_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    for key, kind, data in (
        ("general.name", 4, b"\0" * 4),
        ("tokenizer.chat_template", 7, b"\1"),
        ("tokenizer.ggml.bos_token_id", 8, text(b"x")),
        ("tokenizer.ggml.add_bos_token", 4, b"\0" * 4),
    ):
        path.write_bytes(lying(entry(key, kind, data)))
        with pytest.raises(TokenizerError, match=f"'{key}' is of another type"):
            vocabulary(metadata(path))
    tokens = entry("tokenizer.ggml.tokens", 9, struct.pack("<IQ", 4, 1) + b"\0" * 4)
    path.write_bytes(lying(tokens))
    with pytest.raises(TokenizerError, match="an array of texts"):
        metadata(path).texts("tokenizer.ggml.tokens")


def test_bytes_that_are_no_utf8_are_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(lying(entry("general.name", 8, text(b"a\xff"))))
    found = metadata(path).text("general.name")
    assert found is not None and found.encode("utf-8", "surrogateescape") == b"a\xff"


@pytest.mark.parametrize("made", [os.mkfifo, Path.mkdir, lambda _path: None])
def test_what_is_no_file_is_an_error_at_once(
    tmp_path: Path, made: Callable[[Path], object]
) -> None:
    path = tmp_path / "a.gguf"
    made(path)
    raised: list[BaseException] = []

    def read() -> None:
        try:
            metadata(path)
        except TokenizerError as error:
            raised.append(error)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(5)
    assert len(raised) == 1


def test_a_large_vocabulary_is_walked_over(tmp_path: Path) -> None:
    tokens = b"".join(text(b"token%d" % number) for number in range(150_000))
    path = tmp_path / "a.gguf"
    path.write_bytes(
        lying(
            entry("tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, 150_000) + tokens),
            entry("tokenizer.ggml.eos_token_id", 4, struct.pack("<I", 149_999)),
        )
    )
    found = metadata(path)
    assert vocabulary(found).eos == "token149999"
    assert found.texts("tokenizer.ggml.tokens", 2) == ("token0", "token1")
