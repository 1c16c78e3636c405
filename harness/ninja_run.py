"""ninja, run in one build directory at a time, and what its compilers said."""

import fcntl
import os
import shutil
import subprocess
import sysconfig
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from harness.atomic import REMEDY, directory, storage, write_atomically
from harness.build_inputs import dependencies, forget_changed, remember, sources_digest
from harness.errors import BuildFailed, LaneUnavailable, StorageError
from harness.lane import Lane
from harness.needs import which
from harness.ninja_file import FAILED, OBJECTS, PROBE, STAMP, Edge, Variant, edges, ninja_text
from harness.plural import counted
from harness.runners.spawn import Cancelled, end_group
from harness.subject import Subject
from harness.tools import Tool

_EDGE = "tokparity-edge "  # ninja's status line of every edge that it ran
_FULL = ("No space left on device", "Disk quota exceeded", "Read-only file system")
_DENIED = ("Permission denied",)
_SCARCE = 32 << 20  # bytes: an optimised, static probe with its objects takes some 10 MB
_MOST_WORDS = 6000  # characters of a compiler's words that a message carries
# What a compiler may know of its surroundings. Variables that add search paths or flags (CPATH,
# LIBRARY_PATH, CXXFLAGS) are left out: the configuration alone decides what is built.
_INHERITED = ("PATH", "HOME", "TMPDIR")


class Tree:
    """One subject in the build directory, which is held under its lock.

    All subjects share the directory, for they share objects; each has its own ``place`` in it for
    its build file and its probes.
    """

    def __init__(
        self,
        subject: Subject,
        root: Path,
        place: str,
        variants: Mapping[str, tuple[Variant, list[Tool]]],
        lock: int,
    ) -> None:
        self._subject = subject
        self._root = root
        self._place = place
        self._lock = lock
        self._edges = {
            name: edges(subject, one, root, place) for name, (one, _) in variants.items()
        }
        for name, (_, tools) in variants.items():
            for made in (root / OBJECTS / name, root / place / name):
                for old in directory(made).glob(f"*{FAILED}"):
                    old.unlink()
            # A compiler of the same name but other bytes is another compiler.
            stamp = "".join(f"{one.path} {one.version} {one.sha256}\n" for one in tools)
            _write_if_other(root / OBJECTS / name / STAMP, stamp)
        _write_if_other(root / place / "build.ninja", ninja_text(self._edges))
        self._ninja = (str(_ninja()), "-f", f"{place}/build.ninja")
        self._said = ""

    def make(self, jobs: int, cancel: threading.Event | None) -> int:
        """Run ninja over every variant; return the number of edges that ran."""
        with storage(self._root):
            forget_changed(self._root, self._ninja)
        argv = [*self._ninja, "-k", "0", "-j", str(jobs)]
        process = subprocess.Popen(
            [*argv, *(f"{self._place}/{name}/{PROBE}" for name in self._edges)],
            cwd=self._root,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            # Not reached by the terminal's Ctrl-C: it is ended below, in order. It holds the lock,
            # too: should this process be killed, no other run enters while ninja still writes.
            start_new_session=True,
            pass_fds=(self._lock,),
        )
        try:
            self._said = _said(process, cancel)
        except BaseException:
            # ninja ends its compilers and removes what they left half written, then exits.
            process.terminate()
            end_group(process, patience=10)
            raise
        rebuilt = sum(line.startswith(_EDGE) for line in self._said.splitlines())
        if process.returncode != 0:
            self._storage_trouble()
        if rebuilt:
            with storage(self._root):
                remember(self._root, self._ninja)
        return rebuilt

    def _storage_trouble(self) -> None:
        own = [line for line in self._said.splitlines() if line.startswith("ninja: ")]
        for line in own:
            if any(words in line for words in (*_FULL, *_DENIED)):
                raise StorageError(line, where=str(self._root), remedy=REMEDY)

    def probe(self, variant: Variant) -> Path:
        """Return where the variant's probe lies, if it was made."""
        return self._root / self._place / variant.name / PROBE

    def flags(self, variant: Variant) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the flags of the variant's compiles, and those of its link."""
        made = self._edges[variant.name]
        return made[0].flags, made[-1].flags

    def sources_digest(self) -> str:
        """Return one sha256 over the subject's sources and headers as they were compiled."""
        made_from = dependencies(self._root, self._ninja)
        return sources_digest(self._subject, made_from, self._root)

    def failure(self, lane: Lane, variant: Variant) -> LaneUnavailable | None:
        """Return why the variant has no probe, or None where it has one."""
        made = self._edges[variant.name]
        failed = [edge for edge in made if (self._root / (edge.output + FAILED)).exists()]
        if failed:
            return self._refused(lane, failed)
        if not self.probe(variant).is_file() or "ninja: error:" in self._said:
            return BuildFailed(f"ninja stopped:\n{_shortened(self._said)}", where=lane.name)
        return None

    def _refused(self, lane: Lane, failed: Sequence[Edge]) -> LaneUnavailable:
        edge = failed[0]
        words = (self._root / (edge.output + FAILED)).read_text(errors="replace").strip()
        for sign in _FULL:
            if sign in words:
                return StorageError(f"cannot be written: {sign}", where=lane.name, remedy=REMEDY)
        what = edge.inputs[0] if edge.depfile else "the link"
        more = f"\n({counted(len(failed) - 1, 'more file')} failed)" if len(failed) > 1 else ""
        return BuildFailed(
            f"{what} does not build:\n{_shortened(words)}{more}",
            where=lane.name,
            remedy=f"the command was: cd {self._root} && {edge.command}{_scarcity(self._root)}",
        )


@contextmanager
def alone(root: Path, say: Callable[[str], None]) -> Iterator[int]:
    """Hold the build directory's lock; yields its file descriptor."""
    with storage(root):
        handle = os.open(root / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another run that builds in {root}")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield handle
    finally:
        os.close(handle)


def _said(process: "subprocess.Popen[bytes]", cancel: threading.Event | None) -> str:
    while True:
        try:
            out, _ = process.communicate(timeout=0.2)
            return out.decode(errors="replace")
        except subprocess.TimeoutExpired:
            if cancel is not None and cancel.is_set():
                raise Cancelled from None


def _ninja() -> Path:
    beside = Path(sysconfig.get_path("scripts")) / "ninja"
    found = beside if beside.is_file() else which("ninja")
    if found is None:
        raise LaneUnavailable(
            "ninja is missing", expected="the ninja package", remedy="pip install ninja"
        )
    return found


def _environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    # 1980-01-01: __DATE__ and __TIME__ must not make two builds differ (reproducible-builds.org).
    fixed = {"LC_ALL": "C.UTF-8", "SOURCE_DATE_EPOCH": "315532800", "NINJA_STATUS": _EDGE}
    return {**kept, **fixed}


def _write_if_other(path: Path, text: str) -> None:
    """Write only what changed: to ninja, a file written anew is a file changed."""
    data = text.encode()
    with storage(path):
        same = path.is_file() and path.read_bytes() == data
    if not same:
        write_atomically(path, data)


def _scarcity(root: Path) -> str:
    """Warn where the disk is almost full: linkers then fail without a word about it."""
    free = shutil.disk_usage(root).free
    if free >= _SCARCE:
        return ""
    return f"\n  only {free / 1e6:.1f} MB are free in {root}: {REMEDY}"


def _shortened(words: str) -> str:
    """Keep the beginning, where the first error is."""
    if len(words) <= _MOST_WORDS:
        return words
    return f"{words[:_MOST_WORDS]}\n… ({len(words) - _MOST_WORDS} characters more)"
