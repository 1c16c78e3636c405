"""A subject for every lane, through ninja, into probes named by the hash of their bytes.

Everything lives below one cache directory::

    build/<subject>-<key>/build.ninja, lock, <variant>/…    incremental, one run at a time
    probes/<sha256>/probe                                   whole and never changed

A probe is copied out of the build tree before the lock is given up, so that a rebuild by another
run never changes a probe that runs.
"""

import hashlib
import json
import os
import re
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.atomic import directory, storage, write_atomically
from harness.errors import LaneUnavailable, StorageError, UsageError
from harness.lane import Lane
from harness.needs import Find, install_line, needs, which
from harness.ninja_file import PROBE, Variant
from harness.ninja_run import Tree, alone
from harness.subject import Subject
from harness.toolchain import Toolchains, built_apart, flags_for, reach, toolchain_for
from harness.tools import Tool, tool


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """What a probe was made with. ``sources_sha256`` covers sources and the subject's headers."""

    compiler: str
    linker: str
    compile_flags: tuple[str, ...]
    link_flags: tuple[str, ...]
    sources_sha256: str


@dataclass(frozen=True, kw_only=True)
class Probe:
    """The subject's executable for one lane.

    ``command`` is its argv before the tokenizer's path and ``args`` what follows the path.
    ``provenance`` is None for a subject that was given as a command and not built here.
    """

    lane: Lane
    path: Path
    sha256: str
    command: tuple[str, ...]
    args: tuple[str, ...] = ()
    provenance: Provenance | None = None


@dataclass(frozen=True, kw_only=True)
class Built:
    """One probe or one reason a lane; ``rebuilt`` counts the compiles and links that ran."""

    probes: Mapping[Lane, Probe | LaneUnavailable]
    rebuilt: int
    seconds: float


def build(
    subject: Subject,
    lanes: Sequence[Lane],
    toolchains: Toolchains,
    *,
    cache: Path,
    host_arch: str,
    jobs: int | None = None,
    say: Callable[[str], None] = lambda _: None,
    find: Find = which,
    cancel: threading.Event | None = None,
) -> Built:
    """Build the subject for every lane; nothing is compiled twice that did not change.

    A lane that cannot be built is a value of the result: :class:`BuildFailed` with the compiler's
    words and the exact command, :class:`StorageError`, or :class:`LaneUnavailable` with an install
    line. Raises :class:`StorageError` where the cache itself cannot be used, :class:`UsageError`
    for a source path that ninja cannot name, and :class:`Cancelled`. Safe in several threads and
    processes at once: a second build in the same cache waits, and ``say`` is told so.
    """
    start = time.monotonic()
    if subject.command is not None:
        probes = {lane: _given(subject, subject.command, lane, find) for lane in lanes}
        return Built(probes=probes, rebuilt=0, seconds=time.monotonic() - start)
    _nameable(subject)
    found: dict[Lane, Probe | LaneUnavailable] = {}
    by_lane: dict[Lane, tuple[Variant, list[Tool]]] = {}
    for lane in lanes:
        try:
            by_lane[lane] = _variant(lane, toolchains, host_arch, find)
        except LaneUnavailable as error:
            found[lane] = error
    rebuilt = 0
    if by_lane:
        variants = {variant.name: (variant, tools) for variant, tools in by_lane.values()}
        root = directory(cache / "build")
        with alone(root, say) as lock:
            tree = Tree(subject, root, _key(subject), variants, lock)
            rebuilt = tree.make(jobs or os.cpu_count() or 1, cancel)
            digest = tree.sources_digest()
            for lane, (variant, tools) in by_lane.items():
                found[lane] = tree.failure(lane, variant) or _kept(
                    subject, lane, tree, variant, tools, cache, digest
                )
    ordered = {lane: found[lane] for lane in lanes}
    return Built(probes=ordered, rebuilt=rebuilt, seconds=time.monotonic() - start)


def _kept(
    subject: Subject,
    lane: Lane,
    tree: Tree,
    variant: Variant,
    tools: Sequence[Tool],
    cache: Path,
    digest: str,
) -> Probe | LaneUnavailable:
    """Copy a probe to its final place."""
    built = tree.probe(variant)
    try:
        with storage(built):
            data = built.read_bytes()
            sha256 = hashlib.sha256(data).hexdigest()
            path = cache / "probes" / sha256 / PROBE
            if not path.is_file() or path.stat().st_size != len(data):
                write_atomically(path, data, mode=0o755)
    except StorageError as error:
        return error
    compile_flags, link_flags = tree.flags(variant)
    return Probe(
        lane=lane,
        path=path,
        sha256=sha256,
        command=(str(path),),
        args=subject.args,
        provenance=Provenance(
            compiler=tools[0].version,
            linker=_linker(variant.compiler),
            compile_flags=compile_flags,
            link_flags=link_flags,
            sources_sha256=digest,
        ),
    )


def _variant(
    lane: Lane, toolchains: Toolchains, host: str, find: Find
) -> tuple[Variant, list[Tool]]:
    toolchain = toolchain_for(lane, toolchains)
    wanted = {program.program for program in reach(lane, toolchain, host).needs}
    found = [need for need in needs(lane, toolchain, host, find) if need.program in wanted]
    missing = [need for need in found if need.found is None]
    if missing:
        raise LaneUnavailable(
            f"cannot be built here: {', '.join(need.program for need in missing)} is missing",
            where=lane.name,
            remedy=install_line(need.package for need in missing),
        )
    tools = [tool(need.found) for need in found if need.found is not None]
    varied = built_apart(lane, toolchain)
    parts = (lane.triple, lane.char, *(f"{axis}={value}" for axis, value in varied))
    variant = Variant(
        name=",".join(parts),
        triple=lane.triple,
        arch=toolchain.arch,
        compiler=tools[0].path,
        flags=flags_for(lane, toolchain, host),
    )
    return variant, tools


def _given(
    subject: Subject, command: tuple[str, ...], lane: Lane, find: Find
) -> Probe | LaneUnavailable:
    """Return a program as the probe it is; its hash covers every word that names a file."""
    program = Path(command[0]) if "/" in command[0] else find(command[0])
    if program is None or not os.access(program, os.X_OK) or program.is_dir():
        return LaneUnavailable(
            f"'{command[0]}' cannot be executed", where=lane.name, expected="an executable program"
        )
    files = [program, *(Path(word) for word in command[1:] if Path(word).is_file())]
    try:
        digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in files]
    except OSError as error:
        return LaneUnavailable(f"cannot be read: {error.strerror}", where=str(error.filename))
    whole = digests[0] if len(digests) == 1 else _sha("\n".join(digests))
    argv = (str(program), *command[1:])
    return Probe(lane=lane, path=program, sha256=whole, command=argv, args=subject.args)


def _nameable(subject: Subject) -> None:
    """Refuse the few paths that a build file has no way to write."""
    for path in (subject.probe, *subject.sources, *subject.include):
        bad = re.search(r"[|\n\r\0]", str(path))
        if bad is not None:
            raise UsageError(
                f"the path has the character {bad.group()!r}, which ninja cannot name",
                where=str(path),
                remedy="rename the file or its directory",
            )


def _key(subject: Subject) -> str:
    """Return the name of a subject's place in the build directory; its sources may come and go."""
    identity = json.dumps(
        [
            str(subject.probe),
            [str(path) for path in subject.include],
            sorted(subject.defines.items()),
            subject.std,
            subject.flags,
            subject.link,
        ]
    )
    return f"{re.sub(r'[^A-Za-z0-9_.-]', '_', subject.name)[:40]}-{_sha(identity)[:16]}"


def _linker(compiler: Path) -> str:
    asked = subprocess.run(
        [str(compiler), "-print-prog-name=ld"], capture_output=True, text=True, check=False
    )
    name = asked.stdout.strip() or "ld"
    found = Path(name) if "/" in name else which(name)
    return tool(found).version if found is not None and found.is_file() else "unknown"


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
