"""The subject: the tokenizer under test, C++ sources or any program that speaks the protocol."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What is tested. Every path is absolute; source globs are already expanded, in a fixed order.

    A subject is built (``probe`` and ``sources``) or it is given (``command``), never both.

    In ``include``, ``flags`` and ``link`` the words ``{triple}`` and ``{arch}`` stand for the
    lane's, so that an archive built for each target can be named once.
    """

    name: str
    probe: Path | None = None  # their main, or one of ours
    sources: tuple[Path, ...] = ()
    include: tuple[Path, ...] = ()
    defines: Mapping[str, str | int | None] = field(default_factory=lambda: MappingProxyType({}))
    std: str = "c++20"
    flags: tuple[str, ...] = ()  # to every compile, before the lane's own, which therefore win
    link: tuple[str, ...] = ()  # after the objects: objects, archives, -lNAME
    args: tuple[str, ...] = ()  # passed to the probe after the tokenizer's path
    command: tuple[str, ...] | None = None  # argv of a program that needs no build

    def __post_init__(self) -> None:
        """Refuse a subject that is both built and given, or neither."""
        if (self.probe is None) == (self.command is None):
            raise ValueError("a subject has either a probe main or a command")
        if self.command is not None and not self.command:
            raise ValueError("a subject's command has at least one word")
