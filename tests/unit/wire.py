"""Recorded traffic of real servers as replies, for the dialects to read."""

import re
from collections.abc import Mapping
from pathlib import Path

from harness.served.live.values import Reply

WIRE = Path(__file__).resolve().parents[1] / "data" / "wire"
VLLM = "vllm-0.32.txt"
LLAMA = "llama-server.txt"
LLAMA_TOLD = "llama-server-told.txt"


def recorded(name: str) -> Mapping[str, Reply]:
    """Return every exchange of a recording by its title.

    Of long streams the recording lacks the start and the end; an event that was cut is left out,
    and the end mark, cut too, is made whole.
    """
    found = {}
    text = (WIRE / name).read_text(encoding="utf-8")
    for part in re.split(r"^### ", text, flags=re.MULTILINE)[1:]:
        title, line, body = part.split("\n", 2)
        status = int(line.rpartition(" -> ")[2])
        if "data: " not in body:
            found[title] = Reply(status, body.partition("\n")[0].encode())
            continue
        whole = [one for one in body.strip().split("\n\n") if one.startswith("data: ")]
        events = [one.removeprefix("data: ") for one in whole]
        if events[-1] == "[DON":
            events[-1] = "[DONE]"
        found[title] = Reply(status, events=tuple(events))
    return found
