"""Build probes/reference with a compiler alone, and ask it: for the tests of that program."""

import fcntl
import json
import subprocess
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "probes" / "reference"
INCLUDE = ROOT / "probes" / "include"
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror")
BUILDS: dict[str, tuple[str, ...]] = {
    "native": ("-O2", "-fsigned-char"),
    # The other signedness of char, and every check at run time that there is.
    "sanitized": (
        "-O1",
        "-funsigned-char",
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all",
        "-D_GLIBCXX_ASSERTIONS",
    ),
}


@dataclass(frozen=True)
class Answers:
    """One run of a probe: its hello, its answers in order, its exit status and stderr."""

    hello: dict[str, Any]
    lines: list[str]
    status: int
    stderr: str


def compile_argv(compiler: str, sources: Path = SOURCES) -> list[str]:
    return [compiler, "-std=c++20", *WARNINGS, f"-I{INCLUDE}", f"-I{sources}"]


def build(directory: Path, flags: Sequence[str], sources: Path = SOURCES) -> Path:
    """Compile the reference into a directory, once however many processes ask at once."""
    directory.mkdir(parents=True, exist_ok=True)
    program = directory / "reference"
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if program.exists():
            return program
        inputs = sorted(sources.glob("*.cpp"))
        objects = [directory / f"{one.stem}.o" for one in inputs]
        argv = [*compile_argv("g++", sources), *flags]

        def compile_one(source: Path, target: Path) -> None:
            subprocess.run([*argv, "-c", str(source), "-o", str(target)], check=True)

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(compile_one, inputs, objects))
        linked = directory / "linked"
        subprocess.run([argv[0], *flags, *map(str, objects), "-o", str(linked)], check=True)
        linked.replace(program)
    return program


def ask(
    program: Path, tokenizer: Path, requests: Iterable[str], args: Sequence[str] = ()
) -> Answers:
    """Start the probe, stream the requests to it, and collect everything that it said."""
    process = subprocess.Popen(
        [str(program), str(tokenizer), *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    said: list[bytes] = []
    threads = [
        threading.Thread(target=_feed, args=(process.stdin, "".join(f"{r}\n" for r in requests))),
        threading.Thread(target=lambda stream=process.stderr: said.append(stream.read())),
    ]
    for thread in threads:
        thread.start()
    hello, *lines = process.stdout.read().decode("ascii").split("\n")
    for thread in threads:
        thread.join()
    status = process.wait()
    greeting = json.loads(hello.removeprefix("tokparity/1 ")) if hello else {}
    return Answers(greeting, lines[:-1], status, said[0].decode("utf-8", "replace"))


def _feed(stream: IO[bytes], text: str) -> None:
    try:
        stream.write(text.encode("ascii"))
        stream.close()
    except BrokenPipeError:
        pass  # a probe that refuses ends before it has read anything


def request(operation: str, data: bytes | str) -> str:
    return f"{operation} {(data.encode() if isinstance(data, str) else data).hex()}"


def ids_of(line: str) -> list[int]:
    word, *ids = line.split(" ")
    assert word == "ok", line
    return [int(one) for one in ids if one]


def text_of(line: str) -> str:
    assert line.startswith("ok"), line
    return bytes.fromhex(line[2:]).decode()


def pieces_of(line: str) -> list[str]:
    word, *pieces = line.split(" ")
    assert word == "ok", line
    return [bytes.fromhex(one).decode() for one in pieces]
