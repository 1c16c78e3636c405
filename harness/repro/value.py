"""A reproducer as one value: what ``run.sh`` and ``README.md`` are made from."""

from collections.abc import Mapping
from dataclasses import dataclass

from harness.report.model import Finding

# The port that qemu-user's gdb stub listens on, and gdb connects to.
PORT = 1234
EXPECTED, OBSERVED, INPUT, ASKED = "expected.ids", "observed.ids", "input.bin", "input.ids"
TOKENIZER = "tokenizer.json"
# The environment of every lane that has none of its own.
ORDINARY = {"LC_ALL": "C", "TZ": "UTC"}


class Unmade(Exception):
    """There is no reproducer of a finding, and this says why."""


@dataclass(frozen=True, kw_only=True)
class Side:
    """One lane of a reproducer; every path in it is relative to the reproducer's directory.

    ``compile``   argv that makes the probe; None for a subject that is a program already.
    ``command``   argv of the probe itself, before the tokenizer's path.
    ``emulator``  argv that stands before ``command``; empty where the machine runs it itself.
    ``before``    words that stand before all of that, such as ``setarch -R``.
    ``variables`` what the probe's environment holds, and nothing else but PATH.
    ``args``      what follows the tokenizer's path.
    ``needs``     programs it takes, each with the package that carries it.
    ``seconds``   how long it may take to load and answer.
    """

    lane: str
    compile: tuple[str, ...] | None
    command: tuple[str, ...]
    emulator: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    variables: Mapping[str, str]
    args: tuple[str, ...] = ()
    needs: tuple[tuple[str, str], ...] = ()
    seconds: int = 60

    @property
    def argv(self) -> tuple[str, ...]:
        """The words that start the probe on the tokenizer."""
        return (*self.before, *self.emulator, *self.command, TOKENIZER, *self.args)


@dataclass(frozen=True, kw_only=True)
class Reproducer:
    """One finding, ready to be shown again.

    ``sides``     the lane that gave ``observed`` first; for lane against lane one of the others.
    ``input``     the case's bytes; ``asked`` the request's words where they are not its hex.
    ``expected``  and ``observed``: the fields of the answer line; ids, or hex for decode.
    ``status``    what the first side gave: ``ok``, ``crash``, ``timeout``, …
    ``reduced_from`` the case that ``input`` was shrunk from; None where it is the finding's first.
    ``repeats``   how often one lane is asked where chance decides; 1 otherwise.
    ``files``     the files carried, by relative path.
    ``missing``   sentences: what could not be carried.
    """

    finding: Finding
    sides: tuple[Side, ...]
    operation: str
    input: bytes
    asked: str | None = None
    expected: str
    observed: str
    status: str
    expected_from: str = "golden"
    reduced_from: str | None = None
    repeats: int = 1
    files: Mapping[str, bytes]
    missing: tuple[str, ...] = ()
    tokenizer_sha256: str = ""
