"""What can go wrong between us and a server, in words, and whether it is worth asking again."""

import socket
import ssl
from dataclasses import dataclass

import httpcore

_SHOWN = 200  # characters of anything that a server wrote


@dataclass(frozen=True)
class Fault:
    """One fault. ``again``: nothing was answered yet and another attempt may fare better."""

    words: str
    again: bool = False
    refused: bool = False


def before_answer(error: Exception, at: str, heard: bytes) -> Fault:
    """Return what kept a server at ``at`` (``HOST:PORT``) from answering at all.

    ``heard`` are the first bytes that came, if any did.
    """
    cause = _cause(error)
    if isinstance(error, httpcore.ConnectTimeout):
        return Fault(f"no connection to {at} in time")
    if isinstance(error, httpcore.ConnectError):
        return _unconnected(cause, at)
    if isinstance(error, httpcore.ReadError):
        return Fault(f"{at} broke the connection without an answer: {_strerror(cause)}", again=True)
    if isinstance(error, httpcore.RemoteProtocolError):
        return _no_http(str(error), at, heard)
    if isinstance(error, httpcore.LocalProtocolError):
        return Fault(f"the request cannot be made: {shown(str(error))}")
    return Fault(f"{at} cannot be asked: {shown(str(error) or type(error).__name__)}")


def within_answer(error: Exception) -> Fault:
    """Return what broke an answer off after its status had come."""
    if isinstance(error, httpcore.RemoteProtocolError):
        words = str(error)
        if "closed connection" in words:
            return Fault("the answer was cut: the connection closed before its end")
        return Fault(f"the answer breaks off, for it stops being HTTP: {shown(words)}")
    return Fault(f"the answer was cut: {_strerror(_cause(error))}")


def late(error: Exception, *, total: bool, total_seconds: float, silence_seconds: float) -> Fault:
    """Return the fault of a time limit; ``total``: of the whole exchange, else of one wait."""
    if total:
        return Fault(f"not done within {total_seconds:g} s")
    did = "took nothing in" if isinstance(error, httpcore.WriteTimeout) else "sent nothing"
    return Fault(f"the server {did} for {silence_seconds:g} s")


def shown(text: str) -> str:
    """Return the start of what a server wrote."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _unconnected(cause: BaseException | None, at: str) -> Fault:
    if isinstance(cause, socket.gaierror):
        return Fault(f"the name in {at} cannot be resolved: {_strerror(cause)}")
    if isinstance(cause, ssl.SSLCertVerificationError):
        return Fault(
            f"TLS: the certificate of {at} is not trusted: {cause.verify_message} (SSL_CERT_FILE "
            "names the certificates to trust)"
        )
    if isinstance(cause, ssl.SSLError):
        plain = cause.reason in ("WRONG_VERSION_NUMBER", "UNEXPECTED_EOF_WHILE_READING")
        hint = " (does it speak plain http?)" if plain else ""
        return Fault(f"TLS with {at} failed: {cause.reason or 'the connection closed'}{hint}")
    if isinstance(cause, ConnectionRefusedError):
        return Fault(f"{at} refused the connection: no server there", again=True, refused=True)
    again = isinstance(cause, ConnectionError)
    return Fault(f"no connection to {at}: {_strerror(cause)}", again=again)


def _no_http(words: str, at: str, heard: bytes) -> Fault:
    if "too long" in words:
        return Fault(f"{at} sent more headers than any server has reason to, over 100 KiB")
    if not heard:
        return Fault(f"{at} closed the connection without an answer", again=True)
    if heard.startswith(b"HTTP/") and "without sending" in words:
        return Fault(f"{at} closed the connection within the headers of its answer")
    return Fault(f"{at} does not speak HTTP; it said {shown(str(heard)[1:])}")


def _cause(error: BaseException) -> BaseException | None:
    """Return the system's own error behind httpcore's, which its pool unties from it."""
    found: BaseException | None = error
    while found is not None and not isinstance(found, OSError):
        found = found.__cause__ or found.__context__
    return found


def _strerror(cause: BaseException | None) -> str:
    if isinstance(cause, OSError) and cause.strerror:
        return cause.strerror
    return shown(str(cause)) if cause is not None else "the connection failed"
