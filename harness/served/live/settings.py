"""Which servers are asked what: the ``served:`` of a configuration file, or a command line.

Paths in a file are relative to that file; a server's command starts in the file's directory.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import Field

from harness.errors import UsageError
from harness.served.target import Boundary
from harness.subject_file import absolute
from harness.validated import Strict

IN_FLIGHT = 4
SECONDS = 120.0
START_SECONDS = 300.0
_EXAMPLE = "http://HOST:PORT, as in http://127.0.0.1:8080"


class StartModel(Strict):
    """How a server is started: its command and the lane that it runs on."""

    command: list[str] = Field(min_length=1)
    lane: str | None = None
    seconds: float = Field(default=START_SECONDS, gt=0, le=86400)


class ServerModel(Strict):
    """One server of the file."""

    url: str
    name: str | None = None
    dialect: str | None = None
    model: str | None = None
    key_env: str | None = None
    server: StartModel | None = None


class ServedModel(Strict):
    """The ``served:`` mapping of a configuration file."""

    servers: list[ServerModel] = Field(min_length=1)
    tokenizer: str
    prompts: str
    chat: bool = False
    band: str | None = None
    boundary: Boundary | None = None
    template: str | None = None
    gguf: str | None = None
    preflight: bool = False
    in_flight: int = Field(default=IN_FLIGHT, ge=1, le=256)
    timeout: float = Field(default=SECONDS, gt=0, le=86400)


@dataclass(frozen=True)
class Start:
    """A server's command, the directory it starts in, and its lane (None: natively).

    ``seconds`` is how long it may take until it answers.
    """

    command: tuple[str, ...]
    directory: Path
    lane: str | None = None
    seconds: float = START_SECONDS


@dataclass(frozen=True)
class ServerAt:
    """One server: its name in the report, where it is, and what is known of it beforehand.

    ``dialect`` and ``model`` are None where the server is to be asked; ``key_env`` names the
    environment variable that holds the key; ``start`` is None for a server that runs already.
    """

    name: str
    url: str
    dialect: str | None = None
    model: str | None = None
    key_env: str | None = None
    start: Start | None = None


@dataclass(frozen=True, kw_only=True)
class Settings:
    """All that ``tokparity served`` depends on. ``seconds`` is the time limit of one request.

    ``tokenizer`` is a name or a path; ``band`` as a person writes it.
    """

    servers: tuple[ServerAt, ...]
    tokenizer: str
    prompts: Path
    chat: bool = False
    band: str | None = None
    boundary: Boundary | None = None
    template: Path | None = None
    gguf: Path | None = None
    preflight: bool = False
    in_flight: int = IN_FLIGHT
    seconds: float = SECONDS


def settings_of(model: ServedModel, base: Path, where: str) -> Settings:
    """Return what the ``served:`` of a file at ``where`` asks for, its paths below ``base``.

    Raises :class:`UsageError`: an address that is none, or two servers of one name.
    """
    looks_like_path = "/" in model.tokenizer or model.tokenizer.endswith(".json")
    return Settings(
        servers=named(
            [
                _server(one, base, f"{where}: served.servers.{index}")
                for index, one in enumerate(model.servers)
            ],
            f"{where}: served.servers",
        ),
        tokenizer=str(absolute(model.tokenizer, base)) if looks_like_path else model.tokenizer,
        prompts=absolute(model.prompts, base),
        chat=model.chat,
        band=model.band,
        boundary=model.boundary,
        template=None if model.template is None else absolute(model.template, base),
        gguf=None if model.gguf is None else absolute(model.gguf, base),
        preflight=model.preflight,
        in_flight=model.in_flight,
        seconds=model.timeout,
    )


def _server(model: ServerModel, base: Path, where: str) -> ServerAt:
    start = None
    if model.server is not None:
        start = Start(tuple(model.server.command), base, model.server.lane, model.server.seconds)
    url = address(model.url, f"{where}.url")
    name = model.name or (start.lane if start is not None and start.lane else url)
    return ServerAt(name, url, model.dialect, model.model, model.key_env, start)


def address(url: str, where: str | None = None) -> str:
    """Return a server's address without a slash at its end, and without OpenAI's ``/v1``.

    Clients are given ``http://host:8000/v1``; half of what is asked lies beside that path.

    Raises :class:`UsageError` for what is no ``http(s)://host[:port][/path]``, and for one with a
    user and password in it: they would stand in every report.
    """
    if not url.isprintable() or " " in url:
        shown = url[:200]
        raise UsageError(f"'{shown}' is no address of a server", where=where, expected=_EXAMPLE)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"is no address: {error}", where=where, expected=_EXAMPLE) from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        bare = "://" not in url and url
        raise UsageError(
            f"'{url[:200]}' is no address of a server",
            where=where,
            expected=_EXAMPLE,
            remedy=f"http://{url[:200]}" if bare else None,
        )
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            "the address holds a user and password, which would stand in every report",
            where=where,
            remedy="--key-env NAME (key_env: NAME), and the key in that environment variable",
        )
    if parts.query or parts.fragment:
        raise UsageError("the address has a query or a fragment", where=where, expected=_EXAMPLE)
    return url.rstrip("/").removesuffix("/v1").rstrip("/")


def named(servers: Sequence[ServerAt], where: str | None = None) -> tuple[ServerAt, ...]:
    """Return the servers; raises :class:`UsageError` where two have one name."""
    seen: set[str] = set()
    for one in servers:
        if one.name in seen:
            raise UsageError(
                f"two servers are named '{one.name}'",
                where=where,
                expected="a name of its own for each",
            )
        seen.add(one.name)
    return tuple(servers)
