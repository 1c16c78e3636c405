"""What a sanitizer wrote to stderr, read: the kind of fault, and its file and line.

Two forms are known, those of gcc and clang: ``FILE:LINE:COLUMN: runtime error: WORDS`` of the
undefined-behaviour sanitizer and ``==PID==ERROR: AddressSanitizer: KIND …``, each with a stack of
frames behind it. The place of a report is the first of its frames that lies in the subject's own
sources: a fault inside ``std::vector`` is the caller's.
"""

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

MEMORY_ERROR = "memory-error"
UNDEFINED_BEHAVIOUR = "undefined-behaviour"
# What a sanitizer can find. Neither is declarable: a fault is not a way to answer.
SANITIZER_CAUSES = (MEMORY_ERROR, UNDEFINED_BEHAVIOUR)

_RUNTIME = re.compile(r"^(?P<file>[^\n]+?):(?P<line>\d+):\d+: runtime error: (?P<words>[^\n]+)$")
_ADDRESS = re.compile(r"^==\d+==\s*ERROR: AddressSanitizer: (?P<words>(?P<kind>[\w-]+)[^\n]*)$")
_FRAME = re.compile(r"^\s+#\d+ 0x[0-9a-f]+ (?:in .+? )?(?P<file>[^\s()]+):(?P<line>\d+)(?::\d+)?$")
# An address of one run is not the address of the next.
_HEX = re.compile(r"\b0x[0-9a-f]+\b")
_SHOWN = 200

Own = Callable[[str], str | None]


@dataclass(frozen=True)
class Fault:
    """One report of a sanitizer.

    ``kind`` names the fault without its values, ``place`` is ``FILE:LINE`` as the subject's owner
    knows the file, ``words`` the report's first line, addresses left out.
    """

    cause: str
    kind: str
    place: str
    words: str


@dataclass(frozen=True, kw_only=True)
class Sighting:
    """A fault, and what showed it; ``case`` is None for one that came while the probe loaded."""

    tokenizer: str
    operation: str
    case: str | None
    lane: str
    fault: Fault


def faults(stderr: str, own: Own) -> list[Fault]:
    """Return every report in what a probe wrote, in order; ``own`` names the subject's files.

    ``own`` returns the name under which the owner knows a file of the subject's, None for others.
    """
    lines = stderr.splitlines()
    found = []
    for number, line in enumerate(lines):
        if match := _RUNTIME.match(line):
            words = match["words"]
            first = f"{match['file']}:{match['line']}"
            place = _place([first, *_frames(lines[number + 1 :])], own)
            found.append(Fault(UNDEFINED_BEHAVIOUR, _kind(words), place, words[:_SHOWN]))
        elif match := _ADDRESS.match(line):
            words = " ".join(_HEX.sub("", match["words"].partition(" at pc ")[0]).split())
            words = words.removesuffix(" on address")
            place = _place(_frames(lines[number + 1 :]), own)
            found.append(Fault(MEMORY_ERROR, match["kind"], place, words[:_SHOWN]))
    return found


def _kind(words: str) -> str:
    """Return a runtime error's words up to its values."""
    plain = re.split(r": | [-+]?\d| for type | of type ", words, maxsplit=1)[0]
    return plain.strip()


def _frames(lines: Sequence[str]) -> list[str]:
    """Return the places of the first stack of frames, which may stand some lines below."""
    found: list[str] = []
    for line in lines:
        if match := _FRAME.match(line):
            found.append(f"{match['file']}:{match['line']}")
        elif re.match(r"\s+#\d+ ", line):
            continue  # a frame of which only the address is known
        elif found or not line.strip() or _RUNTIME.match(line):
            break
    return found


def _place(places: Sequence[str], own: Own) -> str:
    """Return the first place that is the subject's, or else the first, or else words for none."""
    for place in places:
        path, _, line = place.rpartition(":")
        name = own(path)
        if name is not None:
            return f"{name}:{line}"
    return places[0] if places else "unknown place"


def owner(files: Sequence[Path], include: Sequence[Path], base: Path) -> Own:
    """Return a function that names the subject's files as they lie below ``base``.

    ``files`` are its main and sources, ``include`` its directories of headers. A compiler is told
    to write a source's directory as ``source`` and each of ``include`` by its number, so these
    names are read back; one that fits two files is left as the bare file name.
    """
    directories = list(dict.fromkeys(path.parent for path in files))

    def own(path: str) -> str | None:
        role, _, rest = path.partition("/")
        if role == "source":
            places = [one / rest for one in directories]
        elif re.fullmatch(r"include\d+", role):
            places = [one / rest for one in include[int(role[7:]) :][:1]]
        else:
            places = [Path(path)] if _below(Path(path), [*directories, *include]) else []
        there = list(dict.fromkeys(one.resolve() for one in places if one.is_file()))
        if not there:
            return None
        return _named(there[0], base) if len(there) == 1 else Path(rest).name

    return own


def _below(path: Path, directories: Sequence[Path]) -> bool:
    return path.is_absolute() and any(path.is_relative_to(one) for one in directories)


def _named(path: Path, base: Path) -> str:
    """Return a path as it is written in a file that lies in ``base``."""
    return os.path.relpath(path, base.resolve())
