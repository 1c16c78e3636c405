"""Where carried files lie in a reproducer: as they lay to each other, below a place of its own."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

# What may stand before a path in one word of a compiler's command line.
_OPTION = re.compile(r"(-(?:I|L|F|B|isystem|iquote|idirafter|include|imacros)?=?)?(?=/)")


@dataclass(frozen=True)
class Layout:
    """Directories, each with the name it has in the reproducer, and the files carried."""

    roots: tuple[tuple[Path, str], ...]
    files: frozenset[Path]

    def of(self, path: Path) -> str | None:
        """Return the relative path of a carried file, or of a directory that holds one."""
        path = normal(path)
        if path not in self.files and not any(one.is_relative_to(path) for one in self.files):
            return None
        for root, name in self.roots:
            if path.is_relative_to(root):
                return str(Path(name) / path.relative_to(root))
        return None

    def word(self, word: str) -> str:
        """Return one word of a command with the path in it, if it is carried, made relative."""
        option = _OPTION.match(word)
        if option is None:
            return word
        found = self.of(Path(word[option.end() :]))
        return word if found is None else f"{option.group()}{found}"


def normal(path: Path) -> Path:
    """Return the path without ``..`` and ``.``; links stay, for the layout is one of names."""
    return Path(os.path.normpath(path))


def layout(files: Sequence[Path], ours: Path) -> Layout:
    """Return the layout of absolute ``files``; ``ours`` is the directory of our own sources.

    All of the subject's lie below ``sources``, whatever their distance, so that an include by
    relative path finds its file. Ours lie apart, below ``tokparity``, unless they and the subject
    are parts of one tree.
    """
    carried = sorted({normal(path) for path in files})
    own = [path.parent for path in carried if not path.is_relative_to(ours)]
    if not own:
        return Layout(((ours, "sources"),), frozenset(carried))
    base = Path(os.path.commonpath(own))
    if base.is_relative_to(ours.parent) or ours.is_relative_to(base):
        whole = Path(os.path.commonpath([base, ours]))
        return Layout(((whole, "sources"),), frozenset(carried))
    return Layout(((ours, "tokparity"), (base, "sources")), frozenset(carried))


def dependencies(rule: str) -> list[str]:
    """Return the prerequisites of the one rule that a compiler's ``-M`` prints.

    Compilers escape a space and ``#`` with a backslash, and a dollar by doubling it (GCC,
    libcpp/mkdeps.cc, ``munge``).
    """
    _, _, listed = rule.replace("\\\n", " ").partition(":")
    words = re.findall(r"(?:\\[ #]|\S)+", listed)
    return [re.sub(r"\\([ #])", r"\1", word).replace("$$", "$") for word in words]


def search_directories(said: str) -> list[str]:
    """Return the directories that a compiler's ``-v`` says it searches for ``<…>``."""
    _, _, rest = said.partition("#include <...> search starts here:")
    listed, _, _ = rest.partition("End of search list.")
    return [line.strip() for line in listed.splitlines() if line.strip()]
