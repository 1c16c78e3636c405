"""One probe with a sanitizer in it, asked so that each report is tied to its case.

Requests go out :data:`TOGETHER` at a time; where a report, a crash or a hang came with
such a group, the group is asked again one request at a time, in a fresh process.

Three bounds, all of them told where they were reached: a sanitizer reports one place once a
process, so a place is tied to the first case of its group that shows it; diverging cases that have
no report yet are asked each in a process of its own, :data:`ALONE` at most; and after
:data:`DEATHS` deaths of the probe the rest is not asked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from harness.ask import Sheet
from harness.hello import Hello
from harness.plural import counted
from harness.sanitizer_words import Own, Sighting, faults
from harness.session import NoHello, Starter
from harness.verdict.sanitized import Sanitized
from harness.wire import Ended, Endless, Wire

TOGETHER = 64
ALONE = 16
DEATHS = 16


class _Died(Exception):
    """The probe ended or fell silent before it answered."""


@dataclass
class Look:
    """One sanitizer's probe and one tokenizer, from the first request to the last."""

    starter: Starter
    tokenizer: str
    sheet: Sheet
    case_ids: Sequence[str]
    own: Own
    sightings: list[Sighting] = field(default_factory=list)
    deaths: int = 0
    _wire: Wire | None = None
    _hello: Hello | None = None

    def everything(self, diverging: Sequence[tuple[str, str]]) -> Sanitized:
        """Ask every request, and then each (operation, case) that diverges by itself."""
        lane = self.starter.probe.lane.name
        limits: list[str] = []
        invalid: Mapping[str, str] = {}
        try:
            asked = self._all()
            if asked < len(self.sheet.requests):
                left = counted(len(self.sheet.requests) - asked, "request")
                limits.append(
                    f"{lane}, {self.tokenizer}: {left} not asked, for the probe had died "
                    f"{self.deaths} times before"
                )
            elif self.sightings:
                limits += self._alone(diverging)
        except NoHello as none:
            if not self._gather(None):
                invalid = {lane: f"{self.tokenizer}: {none.why}"}
        finally:
            self._end()
        return Sanitized(
            sightings=tuple(dict.fromkeys(self.sightings)), limits=tuple(limits), invalid=invalid
        )

    def _all(self) -> int:
        """Ask every request, and return how many were asked."""
        count = len(self.sheet.requests)
        for first in range(0, count, TOGETHER):
            group = range(first, min(first + TOGETHER, count))
            if self._quiet(group):
                continue
            for index in group:
                if self.deaths >= DEATHS:
                    return index
                self._one(index)
        return count

    def _quiet(self, group: range) -> bool:
        """Ask a group; whether every answer came and nothing was written to stderr."""
        try:
            self._ask(group)
        except _Died:
            self.starter.tail.take()
            return False
        if self._refused() or not self.starter.tail.take():
            return True
        # A place is reported once a process, and now each report is to be tied to its case.
        self._end()
        return False

    def _one(self, index: int) -> None:
        """Ask one request, and tie what is reported to its case."""
        try:
            self._ask(range(index, index + 1))
        except _Died:
            self.deaths += 1
        self._gather(index)

    def _alone(self, diverging: Sequence[tuple[str, str]]) -> list[str]:
        """Ask diverging cases that have no report yet, each in a process of its own."""
        known = {(one.operation, one.case) for one in self.sightings}
        left = [index for pair in diverging if pair not in known for index in self._index(pair)]
        for index in left[:ALONE]:
            if self.deaths >= DEATHS:
                break
            self._end()
            self._one(index)
        if len(left) <= ALONE:
            return []
        return [
            f"{self.starter.probe.lane.name}, {self.tokenizer}: of {len(left)} diverging cases "
            f"without a report of their own {ALONE} were asked by themselves"
        ]

    def _index(self, pair: tuple[str, str]) -> list[int]:
        """Return the request of an (operation, case), if there is one."""
        first = 0
        for operation, rows in self.sheet.blocks.items():
            if operation == pair[0]:
                return [
                    first + at
                    for at, row in enumerate(rows.tolist())
                    if self.case_ids[row] == pair[1]
                ][:1]
            first += rows.shape[0]
        return []

    def _ask(self, group: range) -> None:
        """Send requests and read their answers; raises :class:`_Died`, and :class:`NoHello`."""
        limits = self.starter.limits
        most = limits.longest_answer(self.sheet.requests.longest())
        if self._wire is None:
            self._wire, self._hello = self.starter.start_fed()
            self._wire.drain()
            self._gather(None)
        wire = self._wire
        if self._refused():
            return
        wire.send(b"".join(self.sheet.requests.line(index) for index in group))
        try:
            for _ in group:
                if wire.line(limits.case_seconds, most) is None:
                    raise _Died
        except (Ended, Endless, _Died):
            wire.status(limits.case_seconds)
            self._end()
            raise _Died from None
        # A sanitizer writes before its probe answers.
        wire.drain()

    def _refused(self) -> bool:
        """Whether the subject does not take the tokenizer, so that there is nothing to ask."""
        return self._hello is not None and bool(self._hello.refused or self._hello.error)

    def _gather(self, index: int | None) -> bool:
        """Tie what was written to stderr to a request, or to the load; whether it was a report."""
        written = self.starter.tail.take().decode("utf-8", "backslashreplace")
        operation, case = "load", None
        if index is not None:
            operation, row = self.sheet.asked(index)
            case = self.case_ids[row]
        found = faults(written, self.own)
        self.sightings += [
            Sighting(
                tokenizer=self.tokenizer,
                operation=operation,
                case=case,
                lane=self.starter.probe.lane.name,
                fault=fault,
            )
            for fault in found
        ]
        return bool(found)

    def _end(self) -> None:
        if self._wire is not None:
            self._wire.close()
            self._wire = None
