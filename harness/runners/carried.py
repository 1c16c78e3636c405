"""Which words of a probe's command are files that must travel to where the probe runs."""

from collections.abc import Sequence
from pathlib import Path


def carried(command: Sequence[str]) -> dict[int, Path]:
    """Return the files named by whole words of a command, by the index of the word.

    These are the probe, the tokenizer, and an argument that is the absolute path of a file. A path
    inside another word (``--vocab=/x``) is not seen: give it as a word of its own.
    """
    paths = {index: Path(word) for index, word in enumerate(command) if word.startswith("/")}
    return {index: path for index, path in paths.items() if path.is_file()}


def readdressed(command: Sequence[str], places: dict[int, str]) -> list[str]:
    """Return the command with its files at other places, by the index of the word."""
    return [places.get(index, word) for index, word in enumerate(command)]


def exit_status(code: int) -> int:
    """Return an exit code as this project has it: a signal, told as 128 + n, is negative.

    Shells, ``tini`` and container engines all tell a death by signal so. A program that exits with
    such a code by itself cannot be told from one that died, and dying is what is far more common.
    """
    return 128 - code if 128 < code <= 128 + 64 else code
