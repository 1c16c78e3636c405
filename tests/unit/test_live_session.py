"""Servers asked from end to end: settings of no use, a server that crashes, a dialect refuted."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.errors import UsageError
from harness.places import bundled
from harness.served.live.http import Limits
from harness.served.live.outcome import Served
from harness.served.live.served_text import render
from harness.served.live.session import Places, judge
from harness.served.live.settings import ServerAt, Settings, Start
from tests.unit.wired import answering, closed_port, wired

Judged = Callable[..., Served]

# Tells its model, then dies of the first prompt.
CRASHES = """
import http.server, json, os, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        known = self.path == "/v1/models"
        body = json.dumps({"data": [{"id": "tiny", "owned_by": "me"}]}).encode()
        self.send_response(200 if known else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_POST(self):
        os.write(1, b"no kernel \\x1b[31m for this card\\n")
        os.kill(os.getpid(), 9)
    def log_message(self, *_):
        pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


@pytest.fixture
def judged(tmp_path: Path) -> Judged:
    def run(at: ServerAt, *lines: dict[str, Any], **more: Any) -> Served:  # noqa: ANN401
        prompts = tmp_path / "p.jsonl"
        rows = lines or ({"id": "1", "prompt": "Hello"},)
        prompts.write_text("".join(json.dumps(one) + "\n" for one in rows))
        settings = Settings(servers=(at,), tokenizer="bundled", prompts=prompts, **more)
        places = Places(bundled("goldens"), tmp_path)
        return judge(settings, places, limits=Limits(retries=0))

    return run


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"template": Path("t.jinja")}, "--template is given, and no prompt is a chat"),
        ({"gguf": Path("t.gguf")}, "--gguf is given, and no prompt is a chat"),
        ({"boundary": "raw"}, "--boundary raw is given, and no band"),
    ],
)
def test_a_setting_of_no_use_is_refused(judged: Judged, more: dict[str, Any], words: str) -> None:
    at = ServerAt("there", f"http://127.0.0.1:{closed_port()}")
    with pytest.raises(UsageError, match=words):
        judged(at, **more)


def test_a_setting_of_use_is_not_refused(judged: Judged, tmp_path: Path) -> None:
    template = tmp_path / "t.jinja"
    template.write_text("{{ messages[0].content }}")
    at = ServerAt("there", f"http://127.0.0.1:{closed_port()}")
    # One chat among texts is enough, and a band may be the prompt file's.
    chat = {"id": "2", "messages": [{"role": "user", "content": "Hello"}]}
    text = {"id": "1", "prompt": "Hello"}
    assert judged(at, text, chat, template=template).exit == 6
    assert judged(at, {"_meta": {"target": 1, "tolerance": 9}}, text, boundary="raw").exit == 6


@pytest.mark.parametrize("preflight", [False, True])
def test_a_started_server_that_crashes_is_said_to_have(
    judged: Judged, tmp_path: Path, preflight: bool
) -> None:
    port = closed_port()
    (tmp_path / "serve.py").write_text(CRASHES)
    start = Start((sys.executable, "-IS", "serve.py", str(port)), tmp_path, None, 20)
    at = ServerAt("ours", f"http://127.0.0.1:{port}", start=start)
    found = judged(at, preflight=preflight)
    assert found.exit == 6
    told = "the server ended by itself (SIGKILL (signal 9)); it said last: no kernel "
    assert told in found.servers[0].verdict.notes[0]
    assert told in render(found)
    assert "\x1b" not in render(found)


def test_a_dialect_that_the_server_contradicts_is_noted(judged: Judged) -> None:
    def llama(head: str, _body: bytes) -> tuple[int, bytes]:
        if head.startswith("GET /props "):
            return 200, json.dumps({"default_generation_settings": {"n_ctx": 512}}).encode()
        return 404, b"{}"

    with wired(answering(llama)) as server:
        found = judged(ServerAt("it", server.url, dialect="vllm"))
        assert "--dialect vllm contradicts what the server shows (/props: llama.cpp" in render(
            found
        )
        assert "contradicts" not in render(judged(ServerAt("it", server.url)))


def test_an_address_with_a_wrong_path_is_told_as_that(judged: Judged) -> None:
    with wired(answering(lambda *_: (404, b"{}"))) as server:
        found = judged(ServerAt("it", f"{server.url}/wrong"))
    assert found.exit == 6
    failure = found.servers[0].failure or ""
    assert "nothing known answers at this address" in failure
    assert "is the path of the URL right?" in failure
