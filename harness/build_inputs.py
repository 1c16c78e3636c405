"""Every file that went into a build, as ninja's dependency log knows them.

ninja rebuilds an output when an input is *newer*. A file that is replaced by an older one (a
checkout that keeps times, a restored copy, a package that was downgraded) is not newer, and a stale
object would be a wrong verdict. So for every object a digest of the times and sizes of all its
inputs is remembered, and an object whose inputs are not as remembered is made again.
"""

import hashlib
import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.atomic import write_atomically
from harness.subject import Subject

_REMEMBERED = "inputs.json"
Made = Mapping[str, tuple[str, ...]]


def dependencies(root: Path, ninja: Sequence[str]) -> Made:
    """Return every object of one build file, with all files it was compiled from."""
    listed = subprocess.run(
        [*ninja, "-t", "deps"], cwd=root, capture_output=True, text=True, errors="surrogateescape",
        check=False,
    )  # fmt: skip
    found: dict[str, tuple[str, ...]] = {}
    lines = iter(listed.stdout.split("\n"))
    for line in lines:
        output, mark, count = line.partition(": #deps ")
        if mark:
            found[output] = tuple(next(lines)[4:] for _ in range(int(count.split(",")[0])))
    return found


def remember(root: Path, ninja: Sequence[str]) -> None:
    """Keep the state of the inputs of the build that has just ended, beside that of others."""
    known = {**_remembered(root), **_states(root, dependencies(root, ninja))}
    write_atomically(root / _REMEMBERED, json.dumps(known).encode())


def forget_changed(root: Path, ninja: Sequence[str]) -> None:
    """Remove every object that was not made from its inputs as they are now."""
    known = _remembered(root)
    for output, state in _states(root, dependencies(root, ninja)).items():
        if known.get(output) != state:
            (root / output).unlink(missing_ok=True)


def _remembered(root: Path) -> dict[str, str]:
    try:
        known: dict[str, str] = json.loads((root / _REMEMBERED).read_bytes())
    except (OSError, ValueError):
        return {}  # nothing was built here yet, or nothing that can be relied on
    return known


def _states(root: Path, made_from: Made) -> dict[str, str]:
    """Return a digest of the times and sizes of each object's inputs; a file is looked at once."""
    seen: dict[str, str] = {}

    def state(path: str) -> str:
        if path not in seen:
            try:
                found = (root / path).stat()
                seen[path] = f"{path} {found.st_mtime_ns} {found.st_size}"
            except OSError:
                seen[path] = f"{path} is not there"
        return seen[path]

    return {
        output: hashlib.sha256(
            "\n".join(map(state, paths)).encode("utf-8", "surrogateescape")
        ).hexdigest()
        for output, paths in made_from.items()
    }


def sources_digest(subject: Subject, made_from: Made, root: Path) -> str:
    """Return one sha256 over the subject's sources and the headers in its include directories.

    Names enter by their last part only, so that it does not depend on where the sources lie.
    """
    files = {path for path in (subject.probe, *subject.sources) if path is not None}
    for paths in made_from.values():
        for name in paths:
            path = root / name
            if any(path.is_relative_to(place) for place in subject.include):
                files.add(path)
    lines = sorted(
        f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}"
        for path in files
        if path.is_file()
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
