"""One exception family: every member knows its exit code, and says what, where and the remedy.

Exit codes are the project's public agreement (README, "Exit codes"). Only ``harness.cli`` turns an
error into an exit; every other module raises.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar


class TokparityError(Exception):
    """Base of every error a user can cause or cure.

    ``what`` is one sentence; ``where`` names the file with its line or key; ``expected`` says what
    would have been right; ``remedy`` is what to do, as a command where there is one.
    """

    exit_code: ClassVar[int] = 70

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        expected: str | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.expected = expected
        self.remedy = remedy

    @property
    def why(self) -> str:
        """What it is and the remedy, for where the place is told beside it."""
        return self.what if self.remedy is None else f"{self.what}\nremedy: {self.remedy}"

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle with the keyword arguments, so an error crosses a process pool whole."""
        return (_rebuild, (type(self), self.what, self.where, self.expected, self.remedy))

    def __str__(self) -> str:
        """Render the error over at most four lines."""
        lines = [self.what if self.where is None else f"{self.where}: {self.what}"]
        if self.expected is not None:
            lines.append(f"  expected: {self.expected}")
        if self.remedy is not None:
            lines.append(f"  remedy: {self.remedy}")
        return "\n".join(lines)


@contextmanager
def placed(where: str | None) -> Iterator[None]:
    """Say where a mistake stands that was found too deep to know it."""
    try:
        yield
    except TokparityError as error:
        if error.where is None:
            error.where = where
        raise


def _rebuild(
    kind: type[TokparityError],
    what: str,
    where: str | None,
    expected: str | None,
    remedy: str | None,
) -> TokparityError:
    return kind(what, where=where, expected=expected, remedy=remedy)


class UsageError(TokparityError):
    """The command line or a configuration file cannot be understood."""

    exit_code = 2


class CorpusError(UsageError):
    """A corpus file is malformed, repeats an id, or claims a trait its case does not have."""


class TokenizerError(UsageError):
    """A tokenizer file cannot be read: cut short, a Git LFS pointer, too deep, or no such thing."""


class InstrumentInvalid(TokparityError):
    """The instrument itself is not to be believed: canary, control, hello, nothing compared."""

    exit_code = 3


class LaneUnavailable(TokparityError):
    """A requested lane cannot be built or run on this machine."""

    exit_code = 4


class BuildFailed(LaneUnavailable):
    """The compiler or linker refused; the message carries its words and the exact command."""


class StorageError(LaneUnavailable):
    """A directory cannot be written, or the disk is full."""


class GoldenRefused(TokparityError):
    """A golden or its provenance was refused: version, sha256, or an entry that would change."""

    exit_code = 5
