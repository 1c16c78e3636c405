"""``tokparity served``: are the counts that a server reports those of what was sent."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from harness.cli import INTERRUPTED
from harness.cli.options import CACHE, JSON, QUIET, configured, options
from harness.cli.progress import watching
from harness.cli.streams import complain, print_out
from harness.errors import UsageError
from harness.places import bundled, default_cache
from harness.served.live.served_json import dumps
from harness.served.live.served_text import render
from harness.served.live.session import Places, judge
from harness.served.live.settings import (
    IN_FLIGHT,
    SECONDS,
    ServerAt,
    Settings,
    address,
    named,
)

_FILE = click.Path(path_type=Path)


@click.command(name="served")
@click.argument("targets", nargs=-1, metavar="[URL...|CONFIG]")
@click.option("--tokenizer", metavar="NAME|FILE", help="The tokenizer that the server has.")
@click.option("--prompts", type=_FILE, metavar="FILE", help="The prompts to send.")
@click.option("--chat", is_flag=True, help="Send every prompt as a chat, not as a completion.")
@click.option("--band", metavar="N±K", help="Hold every prompt to a band: 512±8, or 500..520.")
@click.option(
    "--boundary",
    type=click.Choice(["raw", "rendered"]),
    help="The side of the chat template that the band is on (default: the prompt file's).",
)
@click.option("--template", type=_FILE, metavar="FILE", help="The chat template: jinja or JSON.")
@click.option("--gguf", type=_FILE, metavar="FILE", help="The model file that holds the template.")
@click.option("--dialect", metavar="NAME", help="How the server speaks (default: it is asked).")
@click.option("--model", metavar="NAME", help="The model to ask for, where several are served.")
@click.option("--key-env", metavar="NAME", help="The environment variable that holds the key.")
@click.option("--preflight", is_flag=True, help="Check the band, stop at the first violation.")
@click.option(
    "--in-flight",
    type=click.IntRange(1, 256),
    metavar="N",
    help=f"Prompts at a time (default: {IN_FLIGHT}).",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0, 86400, min_open=True),
    metavar="S",
    help=f"Seconds that one request may take (default: {SECONDS:g}).",
)
@options(CACHE, JSON, QUIET)
def command(
    targets: tuple[str, ...],
    cache: Path | None,
    as_json: bool,
    quiet: bool,
    **given: Any,  # noqa: ANN401
) -> int:
    """Hold a server's counts against the prompts that are sent to it.

    Without a URL the servers are those of tokparity.yaml. Each prompt is asked about in every way
    that the server offers; what disagrees is named by rule. Exit codes: 0 agrees, 6 a count is
    missing, 7 a count is out of its band, 8 counts disagree.
    """
    settings, place = _settings(targets, cache, given)
    _there(settings)
    try:
        with watching(quiet=quiet) as watch:
            found = judge(settings, Places(bundled("goldens"), place), watch)
    except KeyboardInterrupt:
        complain("tokparity: interrupted; nothing of it is kept")
        return INTERRUPTED
    print_out(dumps(found) if as_json else render(found))
    return found.exit


def _there(settings: Settings) -> None:
    """Refuse a template that is not there, also where no prompt turns out to be a chat."""
    for path in (settings.template, settings.gguf):
        if path is not None and not path.exists():
            raise UsageError(
                "there is no such file",
                where=str(path),
                expected="a chat template, or a model file that has one",
            )


def _settings(
    targets: tuple[str, ...], cache: Path | None, given: dict[str, Any]
) -> tuple[Settings, Path]:
    """Return what is to be asked, and the cache; the command line's word stands above a file's."""
    line = {key: value for key, value in given.items() if value not in (None, False)}
    if math.isnan(line.get("timeout", 0.0)):
        raise UsageError("--timeout is not a number", expected="seconds, as in 120")
    if "timeout" in line:
        line["seconds"] = line.pop("timeout")
    of_servers = {key: line.pop(key) for key in ("dialect", "model", "key_env") if key in line}
    files = [one for one in targets if "://" not in one]
    if targets and not files:
        for key in ("tokenizer", "prompts"):
            if key not in line:
                raise UsageError(
                    f"--{key} is not given", expected=f"tokparity served URL --{key} …"
                )
        urls = [address(one) for one in targets]
        servers = named([ServerAt(url, url, **of_servers) for url in urls])
        return Settings(servers=servers, **line), cache or default_cache()
    if len(targets) > 1:
        raise UsageError(
            f"'{files[0][:200]}' is no address of a server",
            expected="URLs (http://HOST:PORT), or one configuration file",
        )
    if files and not Path(files[0]).exists():
        address(files[0])  # more likely an address without http:// than a file that is not there
    config = configured(Path(files[0]) if files else None, cache=cache)
    if config.served is None:
        raise UsageError(
            "no server is named",
            where=None if config.file is None else str(config.file),
            expected="tokparity served URL, or servers under 'served:' of a configuration file",
        )
    servers = tuple(replace(one, **of_servers) for one in config.served.servers)
    return replace(config.served, servers=servers, **line), config.cache
