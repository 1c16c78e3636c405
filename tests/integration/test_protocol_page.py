"""The conversation on ``docs/protocol.md`` happens as it is printed there."""

import json
import re
import shlex
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "protocol.md"


def test_the_conversation_by_hand(tmp_path: Path) -> None:
    section = PAGE.read_text(encoding="utf-8").partition("## By hand")[2]
    lines = [line[4:] for line in section.splitlines() if line.startswith("    ")]
    build, start, hello, *turns = lines
    probe = tmp_path / "probe"
    assert build.startswith("$ g++ ")
    assert build.endswith(" -o probe")
    assert start == "$ ./probe goldens/bundled/tokenizer.json"
    command = f"{build.removeprefix('$ ').removesuffix('probe')}{shlex.quote(str(probe))}"
    subprocess.run(["/bin/sh", "-c", command], cwd=ROOT, check=True)
    requests, answers = turns[::2], turns[1::2]
    done = subprocess.run(
        [str(probe), "goldens/bundled/tokenizer.json"],
        input="".join(f"{request}\n" for request in requests),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    said, *given = done.stdout.splitlines()
    assert given == answers
    assert len(answers) > 5
    # Compiler, libc and time are this machine's; what hello is made of is not.
    printed, heard = (json.loads(line.partition(" ")[2]) for line in (hello, said))
    assert list(printed) == list(heard)
    assert printed["operations"] == heard["operations"]
    for key in printed:
        assert re.search(rf"`{key}`", PAGE.read_text(encoding="utf-8")), key
