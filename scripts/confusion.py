"""Run the bank of planted subjects; ``--write`` puts the confusion table into docs/attribution.md.

    scripts/confusion [--write] [--only WORD] [--jobs 2] [--cache DIR]

Each subject of ``tests/bank/bank.yaml`` is put through a whole run, and what the run names is held
against what was planted. The healthy ones are put through it on the real tokenizers besides, as far
as DIR has them (``tokparity fetch all --cache DIR``). Exits 1 where a target is missed.
"""

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from tests.bank.bank import HEALTHY, Entry, Grade, Result, asked, entries, real

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "attribution.md"
HEADING = "## Measured"


@dataclass(frozen=True)
class Target:
    """What is asked of one kind of subject: its name in words, and how many must come out well."""

    kind: str
    words: str
    well: frozenset[Grade]
    share: float = 1.0


TARGETS = (
    Target("single", "one defect", frozenset({Grade.NAMED, Grade.TIED})),
    Target("pair", "two defects", frozenset({Grade.NAMED, Grade.TIED}), share=0.9),
    Target("triple", "three defects", frozenset({Grade.NAMED, Grade.TIED}), share=0.9),
    Target("outside", "outside the list", frozenset({Grade.UNEXPLAINED})),
    Target("healthy", "healthy", frozenset({Grade.SILENT})),
    Target("real", "healthy, on real tokenizers", frozenset({Grade.SILENT})),
    Target("policy", "bytes that are not UTF-8", frozenset({Grade.NAMED})),
)


def measured(chosen: Sequence[Entry], jobs: int, cache: Path) -> Iterator[Result]:
    """Put every entry through a run, several at a time, and yield the results in order."""
    # Workers begin anew: a fork would take the threads' locks along and not the threads.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(partial(asked, cache=cache), chosen)


def missed(results: Sequence[Result]) -> list[str]:
    """Return in what the targets are missed, in sentences."""
    said = []
    for target in TARGETS:
        own = [one for one in results if one.entry.kind == target.kind]
        well = sum(one.grade in target.well for one in own)
        if well < target.share * len(own):
            said.append(f"{target.words}: {well} of {len(own)}, and {target.share:.0%} are asked")
        said += [
            f"{one.entry.name}: named {' and '.join(one.named)}, which is not what was planted"
            for one in own
            if one.grade is Grade.WRONG
        ]
    return said


def page(results: Sequence[Result], lacking: Sequence[str] = ()) -> str:
    """Return the section of docs/attribution.md; ``lacking`` are tokenizers not fetched."""
    return f"""{HEADING}

`scripts/confusion --write` puts each subject of [the bank](../tests/bank/bank.yaml) through a whole
run on the native lane, with the bundled corpora and the bank's own, and writes this section. The
subjects are Python programs that share no code with tokparity; what is planted in them is in
`tests/bank/planted/`. *Named*: the planted causes are named first, parameters included. *Tied*: on
every case of these corpora the planted cause and the one named first do the same, and both are
reported. *Partly*: not all of them are named. Where a mismatch that nothing explains reaches the
smoke corpus the run claims nothing at all; that counts as unexplained. The healthy subjects are put
through it on real tokenizers as well. {_real(results, lacking)}

{_totals(results)}

**What was named for what.**

The number is that of subjects. A cause named in one operation only, where the other shows nothing
of it, is not listed apart.

{_confusion(results)}
"""


def _real(results: Sequence[Result], lacking: Sequence[str]) -> str:
    """Say on which real tokenizers the healthy subjects were, and on which not."""
    asked_on = dict.fromkeys(one.entry.tokenizer for one in results if one.entry.kind == "real")
    said = f"They were so on {', '.join(asked_on) or 'none'}"
    rest = f"; not fetched, and so not asked: {', '.join(lacking)}" if lacking else ""
    return f"{said}{rest}."


def _totals(results: Sequence[Result]) -> str:
    rows = []
    for target in TARGETS:
        own = [one for one in results if one.entry.kind == target.kind]
        counts = [sum(one.grade is grade for one in own) for grade in Grade]
        rows.append([target.words, len(own), *counts, _asked_for(target)])
    return _table(["planted", "subjects", *Grade, "asked for"], rows)


def _asked_for(target: Target) -> str:
    words = " or ".join(grade for grade in Grade if grade in target.well)
    return f"{target.share:.0%} {words}" + (", none wrong" if target.share < 1 else "")


def _confusion(results: Sequence[Result]) -> str:
    rows: dict[tuple[str, ...], int] = {}
    for one in results:
        if one.entry.kind not in HEALTHY:
            named = "; ".join(one.named) or "nothing"
            row = (one.entry.planted, named, "; ".join(one.ties), str(one.grade))
            rows[row] = rows.get(row, 0) + 1
    return _table(
        ["planted", "named first", "tied with it", "grade", "subjects"],
        [[*row, count] for row, count in rows.items()],
    )


def _table(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table that is not padded: one long cell would make every line as long."""
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join(f"| {' | '.join(_escaped(str(cell)) for cell in line)} |" for line in lines)


def _escaped(words: str) -> str:
    return words.replace("|", r"\|")


def with_section(document: str, section: str) -> str:
    """Return a document with the section in the place of its own of the same heading, or last."""
    pattern = re.compile(rf"^{re.escape(HEADING)}$.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
    if pattern.search(document):
        following = pattern.sub(lambda _: section + "\n", document, count=1)
        return following.rstrip("\n") + "\n"
    return f"{document.rstrip()}\n\n{section}"


@contextmanager
def _cache(given: Path | None) -> Iterator[Path]:
    if given is not None:
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="tokparity-bank-") as name:
        yield Path(name)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--write", action="store_true", help="write docs/attribution.md")
    parser.add_argument("--only", default="", help="only subjects with this word in their names")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--cache", type=Path, help="a cache to use, in place of one of its own")
    options = parser.parse_args(arguments)
    results = []
    with _cache(options.cache) as cache:
        others, lacking = real(cache)
        for name in lacking:
            print(f"not fetched, and so not asked: {name}", file=sys.stderr, flush=True)
        everything = [*entries(), *others]
        chosen = [one for one in everything if options.only in f"{one.kind} {one.name}"]
        for result in measured(chosen, options.jobs, cache):
            words = " and ".join(result.named) or "nothing"
            print(f"{result.grade}: {result.entry.name}: {words}", file=sys.stderr, flush=True)
            results.append(result)
    section = page(results, lacking)
    print(section)
    if options.write and not options.only:
        PAGE.write_text(with_section(PAGE.read_text("utf-8"), section), encoding="utf-8")
    said = missed(results)
    for words in said:
        print(f"missed: {words}", file=sys.stderr)
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
