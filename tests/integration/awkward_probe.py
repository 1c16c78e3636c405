"""A probe that answers as the oracle does, and misbehaves in every lane but the first of three.

``awkward_probe.py MODE DIRECTORY TOKENIZER``; the lanes that ran are remembered in DIRECTORY. When
lanes are asked again, they are in the same order, each in a directory of its own again.
"""

import json
import os
import platform
import signal
import sys
import time
from pathlib import Path

from tokenizers import Tokenizer

mode, place, tokenizer = sys.argv[1:4]
remembered, here = Path(place) / "lanes", str(Path.cwd())  # each lane has a directory of its own
lanes = remembered.read_text().split("\n") if remembered.exists() else []
if here not in lanes:
    lanes.append(here)
    remembered.write_text("\n".join(lanes))
bad = mode if lanes.index(here) % 3 else "healthy"
arch = {"arm64": "aarch64"}.get(platform.machine(), platform.machine())


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


loaded = Tokenizer.from_file(tokenizer)
if bad == "crashes-at-load":
    os.kill(os.getpid(), signal.SIGSEGV)
if bad == "exits-at-load":
    sys.exit("cannot find my data \x1b[31mfile")
if bad == "says-nothing":
    time.sleep(600)
facts = {"subject": "awkward", "arch": "vax" if bad == "contradicts" else arch}
hello = "tokparity/1 " + json.dumps({**facts, "operations": ["encode"]})
say("\x1b[2Jwelcome" if bad == "no-hello" else hello)
if bad == "never-reads":
    time.sleep(600)
if bad == "closes-stdin":
    os.close(0)
    time.sleep(600)
if bad == "answers-early":
    say("ok 1 2 3")
for number, line in enumerate(sys.stdin, start=1):
    operation, _, text = line.rstrip("\n").partition(" ")
    if bad == "chats" and number == 3:
        say("debug: \x1b[31mencoding")
    if bad == "answers-twice" and number == 3:
        say("ok 1")
    if bad == "leaves-one-out" and number == 3:
        continue
    if bad == "floods-stderr":
        sys.stderr.write("\x1b[2Jx" * 100_000)
    if operation != "encode":
        say("unsupported")
        continue
    ids = loaded.encode(
        bytes.fromhex(text).decode("utf-8", "replace"), add_special_tokens=False
    ).ids
    say(" ".join(["ok", *map(str, ids)]))
