"""``tokparity bless``: record the oracle's answers, deliberately."""

import json
from pathlib import Path

import click

from harness.atomic import remedied
from harness.cli.options import CACHE, CONFIG, CORPUS, JSON, TOKENIZER, configured, options
from harness.cli.streams import print_out
from harness.golden import bless
from harness.oracle import Oracle
from harness.plan import find_corpora, find_tokenizers


@click.command(name="bless")
@options(CONFIG, TOKENIZER, CORPUS, CACHE, JSON)
def command(
    config: Path | None,
    tokenizers: tuple[str, ...],
    corpora: tuple[str, ...],
    cache: Path | None,
    as_json: bool,
) -> int:
    """Append the oracle's answers for cases that the goldens do not hold yet.

    Existing entries stay byte-identical. Where the oracle would now answer one of them differently,
    or the golden was recorded with another version of the library, nothing is written, what would
    change is shown, and the exit code is 5.
    """
    settings = configured(config, tokenizers=tokenizers, corpora=corpora, cache=cache)
    cases = find_corpora(settings)
    rows = []
    for tokenizer in find_tokenizers(settings):
        path = settings.golden_dirs[0] / tokenizer.name / "encodings.json"
        oracle = Oracle.load(tokenizer.path)
        with remedied("free some space, or name another directory as 'goldens' in tokparity.yaml"):
            done = bless(
                path, oracle, tokenizer, cases, f"tokparity bless --tokenizer {tokenizer.name}"
            )
        rows.append(
            {
                "tokenizer": tokenizer.name,
                "path": str(path),
                "added": len(done.added),
                "kept": done.kept,
            }
        )
        if not as_json:
            print_out(f"{tokenizer.name}: {len(done.added)} added, {done.kept} kept: {path}")
    if as_json:
        print_out(json.dumps(rows, indent=2))
    return 0
