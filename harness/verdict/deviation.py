"""One deviation an owner declares: which cause, with which parameters, and where it may appear."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from harness.hypotheses import NAMES, PARAMETERS
from harness.isolate import AXES, PLATFORM_CAUSES, axes_of_cause
from harness.verdict.claims import SPEAKING_CAUSES, UNRESOLVED

# What an owner may declare. Nobody can promise nondeterminism, nor declare the unexplained.
DECLARABLE_NAMES: tuple[str, ...] = (
    *NAMES,
    *PLATFORM_CAUSES,
    *(cause for cause in SPEAKING_CAUSES if cause != UNRESOLVED),
)
# Between the names of changes that were made together.
AND = "+"


def declarable(cause: str, axes: Collection[str] = AXES) -> bool:
    """Whether a deviation may name ``cause``.

    That is one of the fixed names, ``platform-`` and the names of ``axes`` that are a cause
    together, or hypotheses joined as ``a+b``.
    """
    parts = cause.split(AND)
    if len(parts) > 1:
        return len(set(parts)) == len(parts) and all(part in NAMES for part in parts)
    return cause in DECLARABLE_NAMES or bool(axes_of_cause(cause, axes))


def parameters_known(cause: str) -> tuple[str, ...]:
    """Return the keys that a cause may be declared with; ``name.key`` where it is a combination."""
    parts = cause.split(AND)
    if len(parts) == 1:
        return PARAMETERS.get(cause, ())
    return tuple(f"{part}.{key}" for part in parts for key in PARAMETERS.get(part, ()))


@dataclass(frozen=True, kw_only=True)
class Deviation:
    """A divergence the subject's owner declares: its cause, and where it may appear, as globs.

    ``parameters`` are (key, value) pairs the cause must have been proven with; a key it is not
    declared with may have any value. A combined cause's keys are written ``name.key``.
    """

    cause: str
    subject: str = "*"
    tokenizers: tuple[str, ...] = ("*",)
    lanes: tuple[str, ...] = ("*",)
    parameters: tuple[tuple[str, str], ...] = ()
    reason: str = ""
    link: str | None = None

    @property
    def label(self) -> str:
        """The cause with the parameters it is declared with."""
        values = ", ".join(f"{key} {value}" for key, value in self.parameters)
        return f"{self.cause} ({values})" if values else self.cause

    @property
    def parts(self) -> frozenset[str]:
        """The single changes that the cause is made of."""
        return frozenset(self.cause.split(AND))

    @property
    def tested(self) -> bool:
        """Whether the cause is a hypothesis, which the oracle proves."""
        return all(part in NAMES for part in self.parts)

    def of(self, subject: str | None) -> bool:
        """Whether the deviation is one of this subject."""
        return subject is None or fnmatchcase(subject, self.subject)

    def covers(self, tokenizer: str, lane: str | None = None) -> bool:
        """Whether the deviation may appear with this tokenizer, and on this lane if given."""
        return any(fnmatchcase(tokenizer, glob) for glob in self.tokenizers) and (
            lane is None or any(fnmatchcase(lane, glob) for glob in self.lanes)
        )

    def among(self, lanes: Sequence[str], tokenizer: str) -> tuple[str, ...]:
        """Return the lanes that the deviation speaks of with this tokenizer."""
        return tuple(lane for lane in lanes if self.covers(tokenizer, lane))

    def names(self, cause: str) -> bool:
        """Whether ``cause`` is the cause declared, in whatever order its parts are written."""
        return self.parts == frozenset(cause.split(AND))

    def agrees(self, parameters: Mapping[str, str]) -> bool:
        """Whether a cause with these parameters is the one declared, as far as it is said."""
        return all(
            parameters.get(key, parameters.get(f"{self.cause}.{key}")) == value
            for key, value in self.parameters
        )


def declared_for(deviations: Sequence[Deviation], tokenizer: str) -> tuple[str, ...]:
    """Return the hypotheses declared for this tokenizer, for ``attribute`` to test in full.

    A combined cause is named as it is declared, ``a+b``, and so are its parts, of which at least
    one must show.
    """
    own = [one for one in deviations if one.covers(tokenizer) and one.tested]
    return tuple(dict.fromkeys(name for one in own for name in (one.cause, *sorted(one.parts))))
