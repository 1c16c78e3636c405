"""A server that answers with the recorded traffic of a real vLLM 0.32.

Every answer was given to one prompt, :data:`PROMPT`, as a text or as one user message, with the
tokenizer of Qwen2.5's family; ``truncate`` to the same text again and again, cut to 16 tokens. The
recording leaves out the middle of long streams, so an event without its start is left out here.
"""

import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).resolve().parents[1] / "data" / "wire" / "vllm-0.32.txt"
PROMPT = "Hello world, naïve café"
Answer = tuple[int, bytes]


def recorded(path: Path = RECORDED) -> Mapping[str, Answer]:
    """Return every exchange of a recording by its title: status and body."""
    found = {}
    for part in re.split(r"^### ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        title, line, body = part.split("\n", 2)
        status = int(line.rpartition(" -> ")[2])
        found[title] = status, _mended(body).encode()
    return found


def _mended(body: str) -> str:
    body = body.strip("\n")
    if "data: " not in body:
        return body
    start = 0 if body.startswith("data: ") else body.index("data: ")
    events = [one for one in body[start:].split("\n\n") if _whole(one)]
    return "\n\n".join([*events, "data: [DONE]"]) + "\n\n"


def _whole(event: str) -> bool:
    try:
        json.loads(event.removeprefix("data: "))
    except ValueError:
        return False
    return True


def title_for(path: str, body: Mapping[str, Any], *, truncating: bool) -> str | None:
    """Return the title of the exchange that answers a request, None where none was recorded."""
    usage = (body.get("stream_options") or {}).get("include_usage", False)
    if path == "/tokenize":
        if "messages" in body:
            return "tokenize chat"
        return "tok" if body.get("add_special_tokens", True) else "tokenize no special"
    if path not in ("/v1/completions", "/v1/chat/completions"):
        return None
    if path == "/v1/completions" and truncating:
        return None if body.get("stream") else "truncate"
    kind = "chat" if path == "/v1/chat/completions" else "cmpl"
    if body.get("stream"):
        return f"{kind} stream usage" if usage else f"{kind} stream no opts"
    if body.get("return_token_ids"):
        return "chat return_token_ids" if kind == "chat" else "return_token_ids"
    return kind


@contextmanager
def replay(*, truncating: bool = False) -> Iterator[str]:
    """Serve the recording and yield the URL."""
    exchanges = recorded()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 1 << 16  # headers and body in one packet

        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def do_GET(self) -> None:
            known = {
                "/version": {"version": "0.32.0"},
                "/v1/models": {"data": [{"id": "tiny", "max_model_len": 2048, "owned_by": "vllm"}]},
            }
            if self.path in known:
                self._write(200, json.dumps(known[self.path]).encode())
            else:
                self._write(404, b'{"detail":"Not Found"}')

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            title = title_for(self.path, body, truncating=truncating)
            if title is None:
                self._write(404, b'{"detail":"Not Found"}')
            else:
                self._write(*exchanges[title])

        def _write(self, status: int, body: bytes) -> None:
            stream = body.startswith(b"data: ")
            self.send_response(status)
            self.send_header("content-type", "text/event-stream" if stream else "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
