"""What a lane needs of this machine, whether it is here, and how it is installed."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from harness.lane import Lane
from harness.toolchain import reach, settings_of
from harness.toolchain_file import Toolchain

Find = Callable[[str], Path | None]
# A need that is no program: a locale of the C library, and a library that a compiler brings.
_LOCALE = "locale:"
_LIBRARY = ".so"


@dataclass(frozen=True)
class Need:
    """A program that a lane needs here; ``found`` is None where it is missing."""

    program: str
    found: Path | None
    package: str
    why: str


def which(program: str) -> Path | None:
    """Return where ``program`` lies on ``PATH``, or None; of ``locale:NAME`` the lister of it."""
    if program.startswith(_LOCALE):
        lister = which("locale")
        known = () if lister is None else _locales(lister)
        return lister if _codeset(program.removeprefix(_LOCALE)) in known else None
    found = shutil.which(program)
    return Path(os.path.abspath(found)) if found else None  # noqa: PTH100 - symlinks stay: argv[0] chooses


@lru_cache(maxsize=4)
def _locales(lister: Path) -> frozenset[str]:
    done = subprocess.run([str(lister), "-a"], capture_output=True, text=True, check=False)
    return frozenset(_codeset(name) for name in done.stdout.split())


def _codeset(locale: str) -> str:
    """Return a locale's name as the C library compares it: ``C.UTF-8`` and ``C.utf8`` are one."""
    language, dot, codeset = locale.partition(".")
    return language + dot + codeset.lower().replace("-", "")


def needs(one: Lane, toolchain: Toolchain, host: str, find: Find = which) -> tuple[Need, ...]:
    """Return every program the lane needs to be built and run here, found or not."""
    wanted = [
        (need.program, need.package, "compiles it") for need in reach(one, toolchain, host).needs
    ]
    emulator = toolchain.emulator
    if one.cpu is not None and emulator is not None:
        wanted.append((emulator.program, emulator.package, "runs it"))
    if one.machine is not None:
        wanted.append(("ssh", "openssh-client", "reaches its machine"))
    found = [Need(program, find(program), package, why) for program, package, why in wanted]
    compiler = found[0].found
    for axis, (name, value) in settings_of(one, toolchain).items():
        for need in value.needs:
            library = need.program.endswith(_LIBRARY)
            own = compiler and _library(compiler, need.program) if library else find(need.program)
            package = _of_version(need.package, compiler)
            found.append(Need(need.program, own, package, f"makes {axis}={name}"))
    return tuple(found)


def _library(compiler: Path, name: str) -> Path | None:
    """Return where a compiler has one of its own libraries; it answers the bare name if nowhere."""
    said = _asked(compiler, f"-print-file-name={name}")
    path = Path(said)
    return path if path.is_absolute() and path.exists() else None


def _of_version(package: str, compiler: Path | None) -> str:
    """Return a package's name, in which ``{major}`` is the compiler's major version."""
    if "{major}" not in package or compiler is None:
        return package
    return package.replace("{major}", _asked(compiler, "-dumpversion").partition(".")[0])


def _asked(compiler: Path, question: str) -> str:
    done = subprocess.run([str(compiler), question], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def install_line(packages: Iterable[str]) -> str:
    """Return one command that installs the packages, each once, in alphabetical order."""
    return f"apt-get install -y {' '.join(sorted(set(packages)))}"
