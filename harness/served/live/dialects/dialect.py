"""The protocol that every dialect fulfils."""

from typing import Protocol

from harness.served.live.values import Answer, Ask, Call, Kind, Reply


class Dialect(Protocol):
    """How one kind of server is asked, and how its replies read. Pure."""

    @property
    def name(self) -> str:
        """The dialect's name in reports and on the command line."""

    @property
    def determines(self) -> str:
        """What would tell what was processed, as in "it would be told by …"."""

    def call(self, kind: Kind, ask: Ask) -> Call | None:
        """Return the call that asks this question; None where this server cannot be asked it."""

    def read(self, kind: Kind, reply: Reply) -> Answer:
        """Return what a reply says. Never raises: what cannot be read is None, with ``error``."""
