"""A real llama.cpp server in a process of its own, on a free port, gone with the test."""

import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def free_port() -> int:
    """Return a port of this machine that nobody listened on a moment ago."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def command(model: Path, port: int, context: int) -> list[str]:
    """Return the command that starts the server; it runs until it is killed."""
    return [
        sys.executable,
        str(ROOT / "tests/served/serve.py"),
        str(model),
        str(port),
        str(context),
    ]


@contextmanager
def llama_server(model: Path, *, context: int = 2048) -> Iterator[str]:
    """Start a server on a model file and yield its URL; shows its last words where it fails."""
    port = free_port()
    argv: Sequence[str] = [*command(model, port, context), "--until-eof"]
    log = model.with_suffix(f".{port}.log")
    with log.open("wb") as said:
        process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, cwd=ROOT
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, log.read_text(errors="replace")[-2000:]
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()
