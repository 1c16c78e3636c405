"""What the scripts share that write a file of the project from pinned inputs, or check it."""

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

from harness.atomic import write_atomically


def checking(arguments: list[str], doc: str | None) -> bool:
    """Read a generator's command line; return whether it is to compare only."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0] if doc else None)
    parser.add_argument("--check", action="store_true", help="compare only, write nothing")
    return bool(parser.parse_args(arguments).check)


def settle(target: Path, data: bytes, *, check: bool, name: str, same: str) -> int:
    """Write ``data`` to ``target``, or say whether it is there already; return the exit status.

    ``name`` is what the file is called in words, ``same`` what is said where nothing differs.
    """
    if not check:
        write_atomically(target, data)
        return 0
    equal = target.is_file() and target.read_bytes() == data
    print(f"{name}: {same if equal else 'differs'}")
    return 0 if equal else 1


def ranges(holds: Callable[[str], bool]) -> Iterator[str]:
    """Yield the inclusive ranges of code points for which ``holds``, surrogates left out."""
    first: int | None = None
    for code in range(0x110001):
        inside = code < 0x110000 and not 0xD800 <= code < 0xE000 and holds(chr(code))
        if inside and first is None:
            first = code
        elif not inside and first is not None:
            yield f"{first:X}" if first == code - 1 else f"{first:X}-{code - 1:X}"
            first = None
