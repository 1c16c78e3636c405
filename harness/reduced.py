"""A case made smaller, as a value: what is left of it, what it shows, and how sure that is."""

from collections.abc import Mapping
from dataclasses import dataclass

from harness.reduce import Unit


@dataclass(frozen=True, kw_only=True)
class Reduced:
    """The smallest text found that shows the failure of a case.

    ``case``        ``corpus/id`` of the case; ``original`` its bytes, ``data`` what is left.
    ``tokenizer``   ``operation`` what was asked of which tokenizer; ``cause`` the failure's cause
                    and ``finding`` the id of the finding it belongs to.
    ``lanes``       the lanes that were kept apart and alike; ``questions`` how many candidates,
                    repeats included, each was asked about.
    ``minimal``     no single ``unit`` can go: each was left out, and the rest did not show the
                    failure. ``stopped`` says why not, where it is False.
    ``confirmed``   new probes, asked nothing else and given the whole time, show it as well.
    ``signature``   in words, what every accepted candidate has in common.
    ``expected``    the oracle's ids for ``data`` (bytes of text for ``decode``); None where it has
                    no word.
    ``observed``    by lane, the ids it gave; None where it gave none. ``kinds`` says what instead.
    ``notes``       sentences: lanes that could not take part, time limits that were lowered.
    """

    case: str
    original: bytes
    data: bytes
    operation: str
    tokenizer: str
    cause: str
    finding: str
    lanes: tuple[str, ...]
    questions: Mapping[str, int]
    unit: Unit
    minimal: bool
    confirmed: bool
    signature: str
    expected: tuple[int, ...] | None
    observed: Mapping[str, tuple[int, ...] | None]
    kinds: Mapping[str, str]
    stopped: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str | None:
        """What is left as text, None where it is not UTF-8."""
        try:
            return self.data.decode("utf-8")
        except UnicodeDecodeError:
            return None

    @property
    def asked(self) -> int:
        """The most questions that any lane was asked."""
        return max(self.questions.values(), default=0)
