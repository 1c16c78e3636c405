"""Guards: what has to hold before a benchmark's numbers bind anybody. Pure.

A guard passes, fails, is ``vacuous`` (it holds, and could not have failed: the lengths are the
client's own) or is ``unchecked`` (there is nothing to check it by). Only a run whose guards all
pass is eligible; an unchecked one keeps a run from it where the guard is required.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from harness.plural import grouped
from harness.served.benchfiles import Run, Source
from harness.served.consistency import contradictions
from harness.served.prompts import Checked
from harness.served.shortfall import Shortfall
from harness.served.target import Target

State = Literal["pass", "fail", "vacuous", "unchecked"]
_REQUIRED = ("counted", "origin", "failures", "total", "lengths")


@dataclass(frozen=True)
class Guard:
    """One guard of a run and what it found, in words."""

    name: str
    state: State
    words: str

    @property
    def objects(self) -> bool:
        """Whether it keeps the run from being eligible."""
        return self.state in ("fail", "vacuous") or (
            self.state == "unchecked" and self.name in _REQUIRED
        )


def guards(
    run: Run, target: Target | None, short: Shortfall | None, prompts: Checked | None
) -> tuple[Guard, ...]:
    """Return every guard of a run, in the order in which they are read."""
    return tuple(_all(run, target, short, prompts))


def reasons(found: tuple[Guard, ...]) -> tuple[str, ...]:
    """Return why a run is not eligible; empty where it is."""
    return tuple(f"{one.name}: {one.words}" for one in found if one.objects)


def _all(
    run: Run, target: Target | None, short: Shortfall | None, prompts: Checked | None
) -> Iterator[Guard]:
    if not run.counted:
        yield Guard("counted", "fail", "the file has no count of input tokens")
    else:
        yield Guard("counted", "pass", "the file has counts of input tokens")
    yield _origin(run)
    yield _failures(run)
    yield _corpus(run, target)
    yield _total(run, target)
    yield _lengths(run, target, short)
    yield _boundary(run, target)
    yield _distinct(prompts)
    yield _prompts(prompts)
    found = contradictions(run)
    yield Guard(
        "consistent",
        "fail" if found else "pass",
        "; ".join(found) if found else "the file does not contradict itself",
    )


def _origin(run: Run) -> Guard:
    origin = run.origin
    if origin.source is Source.SERVER:
        return Guard("origin", "pass", f"counted by the server: {origin.reason}")
    if origin.source is Source.CLIENT:
        return Guard("origin", "fail", f"counted by the client: {origin.reason}")
    return Guard("origin", "fail", f"it is not known who counted: {origin.reason}")


def _failures(run: Run) -> Guard:
    failed = run.failed
    if failed is None:
        return Guard("failures", "unchecked", "the file does not say how many requests failed")
    if failed:
        return Guard(
            "failures",
            "fail",
            f"{failed:,} of {grouped(run.size or failed, 'request')} failed; in no sum",
        )
    return Guard("failures", "pass", "no request failed")


def _corpus(run: Run, target: Target | None) -> Guard:
    if target is None or target.counts is None:
        return Guard("corpus", "unchecked", "there is no prompt file to hold it against")
    size, due = run.size, len(target.counts)
    if size is None:
        return Guard("corpus", "unchecked", "the file does not say how many requests there were")
    if size != due:
        return Guard(
            "corpus",
            "fail",
            f"{grouped(size, 'request')}, and the file has {grouped(due, 'prompt')}",
        )
    return Guard("corpus", "pass", f"{grouped(size, 'request')}, one a prompt")


def _total(run: Run, target: Target | None) -> Guard:
    if target is None:
        return Guard("total", "unchecked", "there is no target: --expect or --prompts")
    total = run.input_tokens
    rows: Sequence[int] = [row for row, _ in run.completed]
    if run.requests is None:
        rows = range(run.claimed.completed or 0)
    due = target.total(rows) if rows else None
    if total is None:
        return Guard("total", "unchecked", "the total of the completed requests is not known")
    if due is None:
        missing = "the file has fewer prompts" if rows else "no request was completed"
        return Guard("total", "unchecked", f"there is no target for all of it: {missing}")
    allowed = target.tolerance * len(rows)
    if abs(total - due) > allowed:
        words = f"{total:,} of {due:,} tokens, {_apart(due - total)}"
        return Guard("total", "fail", words + (f" (allowed: {allowed:,})" if allowed else ""))
    words = f"{total:,} tokens" if total == due else f"{total:,} tokens for {due:,}"
    return _earned(run, "total", words + _times(target, len(rows)))


def _lengths(run: Run, target: Target | None, short: Shortfall | None) -> Guard:
    if target is None or short is None:
        return Guard("lengths", "unchecked", "there is no target: --expect or --prompts")
    done = len(run.completed)
    if run.requests is None:
        return Guard(
            "lengths", "unchecked", "the file has no length of a request, only what they sum to"
        )
    if not done:
        return Guard("lengths", "unchecked", "no request completed")
    if short.off:
        words = f"{len(short.off):,} of {done:,} are off their length"
        if short.constant is not None:
            sign = "more" if short.constant > 0 else "fewer"
            words += (
                f", each by {abs(short.constant):,} {sign}: as a chat template or special tokens "
                "make it, and one offset proves neither"
            )
        elif target.counts is not None and len({one.missing > 0 for one in short.off}) == 2:
            words += (
                ", some too long and some too short: are the requests in the prompts' order? "
                "(vllm: --disable-shuffle)"
            )
        return Guard("lengths", "fail", words)
    if short.unknown:
        return Guard(
            "lengths", "fail", f"{short.unknown:,} of {grouped(done, 'request')} without a length"
        )
    if run.completed and target.of(run.completed[-1][0]) is None:
        return Guard("lengths", "fail", "there are more requests than prompts")
    words = f"all {done:,} are {target.each:,}" if target.counts is None else f"all {done:,} agree"
    if target.tolerance:
        words += f" within {target.tolerance:,}"
    if short.reordered:
        words += ", in another order than the prompts"
    return _earned(run, "lengths", words)


def _boundary(run: Run, target: Target | None) -> Guard:
    if target is None:
        return Guard("boundary", "unchecked", "there is no target: --expect or --prompts")
    if run.traffic.endpoint is None:
        return Guard("boundary", "unchecked", "the file does not say which endpoint was used")
    if (
        run.traffic.endpoint == "chat"
        and run.origin.source is not Source.CLIENT
        and target.boundary == "raw"
    ):
        return Guard(
            "boundary",
            "fail",
            "a server counts a chat request after its template (rendered), and the target is raw: "
            "give the rendered length with --boundary rendered",
        )
    return Guard(
        "boundary", "pass", f"{target.boundary}, and the endpoint is {run.traffic.endpoint}"
    )


def _distinct(prompts: Checked | None) -> Guard:
    if prompts is None:
        return Guard("distinct", "unchecked", "there is no prompt file to hold it against")
    if prompts.twins:
        return Guard(
            "distinct",
            "fail",
            f"{grouped(len(prompts.twins), 'prompt stands', 'prompts stand')} twice, and a cache "
            "may answer the second",
        )
    return Guard("distinct", "pass", f"{_all_of(len(prompts.counts))} distinct")


def _prompts(prompts: Checked | None) -> Guard:
    if prompts is None:
        return Guard("prompts", "unchecked", "there is no prompt file to check")
    if prompts.violations:
        return Guard("prompts", "fail", "; ".join(prompts.violations))
    return Guard("prompts", "pass", "the prompt file is in order")


def _earned(run: Run, name: str, words: str) -> Guard:
    if run.origin.source is Source.CLIENT:
        return Guard(
            name, "vacuous", f"{words}, vacuously: the client's own numbers cannot but agree"
        )
    return Guard(name, "pass", words)


def _times(target: Target, rows: int) -> str:
    if target.counts is not None:
        return f", the sum of {grouped(rows, 'prompt')}"
    return f" = {rows:,} × {target.each:,}"


def _all_of(number: int) -> str:
    return "the one prompt is" if number == 1 else f"all {number:,} prompts are"


def _apart(missing: int) -> str:
    return f"{missing:,} missing" if missing > 0 else f"{-missing:,} too many"
