"""Hold the rate at which a server is asked against that of a bare load tool, wrk, side by side.

``bench_served.py TOKENIZER.json`` starts a real llama.cpp server with weights that mean nothing and
that tokenizer, a new one for each tool and round, and sends it the very same requests: 1,000
prompts, four questions each. Prints one JSON object; ``scripts/bench`` makes its row of it.
"""

import argparse
import json
import random
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from harness.oracle import Oracle
from harness.served.live.asking import ask_all
from harness.served.live.clients import clients
from harness.served.live.dialects import DIALECTS
from harness.served.live.http import Server, body_bytes
from harness.served.live.values import Ask, Client, Kind, Row, Spelling
from tests.served.gguf_made import Model, make
from tests.served.llama_server import llama_server

LUA = Path(__file__).with_name("served_load.lua")
KINDS = (Kind.TOKENIZE_SPECIAL, Kind.PLAIN, Kind.STREAMED, Kind.STREAMED_USAGE)
IN_FLIGHT = 4
WORDS = 200


def prompts(tokenizer: Path, count: int) -> list[str]:
    """Return as many different prompts of ``WORDS`` words; the same ones every time."""
    vocabulary = json.loads(tokenizer.read_text(encoding="utf-8"))["model"]["vocab"]
    words = sorted(word for word in vocabulary if word.isascii() and word.isalpha())
    chance = random.Random(1)  # noqa: S311 - to be the same every time
    return [" ".join(chance.choices(words, k=WORDS)) for _ in range(count)]


def ours(url: str, asks: Sequence[Ask]) -> float:
    """Ask with the product's own client; return requests a second."""
    rows = [Row(str(number), ask, Client(None, None)) for number, ask in enumerate(asks)]
    with Server(url) as server:
        begun = time.perf_counter()
        done = ask_all(server, DIALECTS["llama.cpp"](), rows, KINDS, in_flight=IN_FLIGHT)
        seconds = time.perf_counter() - begun
    failed = [one.error for row in done for one in row.answers.values() if one.status != 200]
    if failed:
        raise SystemExit(f"the server failed: {failed[0]}")
    return len(rows) * len(KINDS) / seconds


def bare(url: str, asks: Sequence[Ask], place: Path) -> float:
    """Send the same requests with wrk; return requests a second."""
    dialect = DIALECTS["llama.cpp"]()
    lines = []
    for ask in asks:
        for kind in KINDS:
            call = dialect.call(kind, ask)
            if call is None:
                raise SystemExit(f"llama.cpp is not asked {kind}")
            lines.append(f"{call.path}\t{body_bytes(call.body, Spelling.RAW).decode()}\n")
    calls = place / "calls.txt"
    calls.write_text("".join(lines), encoding="utf-8")
    wrk = ["wrk", "-t1", f"-c{IN_FLIGHT}", "-d10m", "--timeout", "60s", "-s", str(LUA)]
    begun = time.perf_counter()
    with subprocess.Popen([*wrk, url, "--", str(calls)], stdout=subprocess.PIPE) as tool:
        assert tool.stdout is not None  # noqa: S101 - it is a pipe
        said = next((line for line in tool.stdout if line.strip().isdigit()), b"no").strip()
        seconds = time.perf_counter() - begun
        tool.kill()
    if said != b"0":
        raise SystemExit(f"wrk: {said.decode()} requests failed")
    return len(lines) / seconds


def counting(tokenizer: Path, asks: Sequence[Ask]) -> float:
    """Return how long our counts take, over what the oracle's own batch takes."""
    oracle = Oracle.load(tokenizer)
    texts = [ask.prompt for ask in asks if isinstance(ask.prompt, str)]
    begun = time.perf_counter()
    for special in (False, True):
        oracle.encode(texts, special=special)
    middle = time.perf_counter()
    clients(asks, oracle)
    return (time.perf_counter() - middle) / (middle - begun)


def main() -> None:
    """Measure, and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("--prompts", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    asks = [Ask(text, None, chat=False) for text in prompts(chosen.tokenizer, chosen.prompts)]
    rates: dict[str, list[float]] = {"ours": [], "bare": []}
    with tempfile.TemporaryDirectory(prefix="tokparity-bench-") as name:
        place = Path(name)
        model = make(chosen.tokenizer, Model(), place / "tiny.gguf")
        for _ in range(chosen.rounds):
            with llama_server(model) as url:
                rates["bare"].append(bare(url, asks, place))
            with llama_server(model) as url:
                rates["ours"].append(ours(url, asks))
    found = {name: statistics.median(each) for name, each in rates.items()}
    found["ratio"] = statistics.median(
        one / other for one, other in zip(rates["ours"], rates["bare"], strict=True)
    )
    found["counting"] = counting(chosen.tokenizer, asks)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
