"""Benchmark files: each program's format behind one protocol, read into the same frozen runs.

A format is a module with a ``NAME``, ``claims`` and ``runs``. The shapes were read from the
programs' own sources and documentation; what each does about the server's count is in its module.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from harness.errors import UsageError
from harness.served.benchfiles import aiperf, guidellm, llmperf, sglang, vllm
from harness.served.benchfiles.documents import Content, Document, load
from harness.served.benchfiles.run import Claimed, Origin, Request, Run, Source, Traffic

__all__ = [
    "FORMATS",
    "Claimed",
    "Content",
    "Format",
    "Origin",
    "Request",
    "Run",
    "Source",
    "Traffic",
    "read",
]


class Format(Protocol):
    """One program's files."""

    @property
    def NAME(self) -> str:  # noqa: N802 - a module's constant
        """The program, as a person knows it."""

    def claims(self, value: Any, /) -> bool:  # noqa: ANN401 - any JSON
        """Whether a JSON value has the shape of this program's files."""

    def runs(self, documents: Sequence[Document], /) -> list[Run]:
        """Return the runs that a file's values hold; raises :class:`UsageError`."""


FORMATS: tuple[Format, ...] = (sglang, vllm, guidellm, aiperf, llmperf)
_WHAT = "a result file of " + ", ".join(one.NAME for one in FORMATS)


def read(path: Path) -> tuple[Run, ...]:
    """Return the runs of one benchmark file.

    Raises :class:`UsageError`: see :func:`harness.served.benchfiles.documents.load`; a format that
    is none of :data:`FORMATS`; values of several formats in one file; a field of a wrong type, or a
    number that is negative, not finite or beyond any sense.
    """
    content = load(path, _WHAT)
    first = content.documents[0]
    for one in FORMATS:
        if one.claims(first.value):
            for other in content.documents[1:]:
                if not one.claims(other.value):
                    raise UsageError(
                        f"is no result of {one.NAME}, as the file's first is",
                        where=other.place,
                        expected="results of one program in one file",
                    )
            found = one.runs(content.documents)
            if not found:
                raise UsageError(
                    "holds no run", where=str(path), expected=f"a result of {one.NAME}"
                )
            return tuple(
                replace(run, place=run.place or str(path), file=str(path), sha256=content.sha256)
                for run in found
            )
    raise UsageError(
        f"is of no format known here: {_shape(first.value)}",
        where=first.place,
        expected=_WHAT,
        remedy="give the file as the benchmark wrote it, with its details "
        "(vllm: --save-result --save-detailed; sglang: --output-file --output-details)",
    )


def _shape(value: object) -> str:
    if isinstance(value, Mapping):
        keys = [str(key)[:30] for key in list(value)[:6]]
        return f"an object with {', '.join(keys)}" if keys else "an object with nothing in it"
    if isinstance(value, list):
        return f"a list of {len(value)}" + (f", first {_shape(value[0])}" if value else "")
    return f"a {type(value).__name__}"
