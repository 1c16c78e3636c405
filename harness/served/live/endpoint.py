"""Where a server is, as an HTTP request needs it, and the key that it asks for."""

import os
import re
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

import httpcore

from harness.errors import UsageError
from harness.served.live.settings import address

_PORTS = {"http": 80, "https": 443}
_AS_IT_IS = "/%:@!$&'()*+,;=~-._"  # what a path may hold, its own escapes among it
_NAME = re.compile(r"[A-Z_][A-Z0-9_]*")
Headers = tuple[tuple[bytes, bytes], ...]


@dataclass(frozen=True)
class Endpoint:
    """One server's address: ``at`` is ``HOST:PORT``, ``headers`` are those of every request.

    Nothing that is printed of it holds the key.
    """

    url: str
    at: str
    secure: bool
    host: bytes
    port: int
    prefix: str
    key: str | None = field(default=None, repr=False)
    headers: Headers = field(default=(), repr=False)

    def target(self, path: str) -> httpcore.URL:
        """Return the address of a path below the server's own."""
        return httpcore.URL(
            scheme=b"https" if self.secure else b"http",
            host=self.host,
            port=self.port,
            target=(self.prefix + path).encode(),
        )


def endpoint(url: str, key_env: str | None = None) -> Endpoint:
    """Return the endpoint that a URL names; ``key_env`` is the variable that holds its key.

    Raises :class:`UsageError`: no address, a variable that is not set, or no possible key.
    """
    url = address(url)
    parts = urlsplit(url)
    host = _host(parts.hostname or "", url)
    port = parts.port or _PORTS[parts.scheme]
    named = f"[{host}]" if ":" in host else host
    key = None if key_env is None else _key(key_env)
    return Endpoint(
        url=url,
        at=f"{named}:{port}",
        secure=parts.scheme == "https",
        host=host.encode(),
        port=port,
        prefix=quote(parts.path, safe=_AS_IT_IS),
        key=key,
        headers=_headers(named if port == _PORTS[parts.scheme] else f"{named}:{port}", key),
    )


def _headers(host: str, key: str | None) -> Headers:
    own = [] if key is None else [(b"Authorization", b"Bearer " + key.encode())]
    return (
        (b"Host", host.encode()),
        (b"Accept", b"*/*"),
        (b"Accept-Encoding", b"identity"),
        (b"User-Agent", b"tokparity"),
        *own,
    )


def _key(name: str) -> str:
    key = os.environ.get(name, "").strip()
    if not key and not _NAME.fullmatch(name):
        # It may be the key itself, put there by mistake, so it is not shown.
        raise UsageError(
            "no environment variable has the name given for that of the key",
            expected="the NAME of the variable that holds the key, and not the key",
        )
    if not key:
        raise UsageError(
            "the environment variable that should hold the key is not set",
            where=name,
            remedy=f"export {name}=…",
        )
    if not key.isascii() or not key.isprintable():
        raise UsageError(
            "the environment variable holds something that cannot be a key",
            where=name,
            expected="printable ASCII characters",
        )
    return key


def _host(host: str, url: str) -> str:
    try:
        return host if ":" in host else host.encode("idna").decode()
    except UnicodeError:
        raise UsageError("the address has no possible host name", where=url[:200]) from None
