"""Which files a probe is made from, as the lane's own compiler says."""

import os
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness.needs import which
from harness.ninja_file import Variant, compile_flags, link_inputs
from harness.repro.layout import dependencies, normal, search_directories
from harness.repro.value import Unmade
from harness.subject import Subject


def included(
    subject: Subject, variant: Variant, jobs: int
) -> tuple[tuple[str, ...], frozenset[Path]]:
    """Return a variant's compile flags, and every file of the subject that its probe is made from.

    The compiler says which files it reads; those of its own directories are left out. Raises
    :class:`Unmade` where it does not say.
    """
    assert subject.probe is not None  # noqa: S101 - only subjects that are built come here
    found = which(str(variant.compiler))
    if found is None:
        raise Unmade(f"{variant.compiler} is missing, which tells the sources' headers")
    compiler = str(found)
    flags = compile_flags(subject, variant)
    target = [flag for flag in flags if flag.startswith("--target=")]
    said = _said([compiler, *target, "-E", "-v", "-x", "c++", os.devnull], errors=True)
    system = [Path(os.path.realpath(path)) for path in search_directories(said)]

    def of(path: Path) -> list[Path]:
        rule = _said([compiler, *flags, "-M", "-MT", "x", str(path)])
        return [normal(Path.cwd() / name) for name in dependencies(rule)]

    sources = list(dict.fromkeys([subject.probe, *subject.sources]))
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        files = {path for some in pool.map(of, sources) for path in some}
    own = {
        path
        for path in files
        if not any(Path(os.path.realpath(path)).is_relative_to(place) for place in system)
    }
    linked = {Path(piece) for piece in link_inputs(subject, variant) if Path(piece).is_file()}
    return flags, frozenset({*own, *sources, *map(normal, linked)})


def _said(argv: Sequence[str], *, errors: bool = False) -> str:
    """Return what a compiler prints, or what it says besides; raises where it refuses."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    done = subprocess.run(
        list(argv),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="surrogateescape",
        env={**kept, "LC_ALL": "C"},
        check=False,
    )
    if done.returncode != 0:
        words = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise Unmade(f"{Path(argv[0]).name} does not tell the sources' headers: {words[0]}")
    return done.stderr if errors else done.stdout
