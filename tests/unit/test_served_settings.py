"""What `served:` may say, and what an address must be."""

from pathlib import Path

import pytest

from harness.config import Overrides, resolve
from harness.errors import UsageError
from harness.served.live.settings import Settings, Start, address

WHOLE = """
served:
  tokenizer: ./my/tokenizer.json
  prompts: prompts.jsonl
  chat: true
  band: 512±8
  boundary: rendered
  template: my/template.jinja
  in_flight: 2
  timeout: 30
  servers:
    - url: http://127.0.0.1:8080/
      name: one
      dialect: vllm
      model: m
      key_env: KEY
    - url: http://127.0.0.1:8081
      server:
        command: [./serve, --port, "8081"]
        lane: aarch64-linux-gnu/default/qemu-cortex-a53
        seconds: 5
"""


def settings(directory: Path, text: str) -> Settings:
    path = directory / "tokparity.yaml"
    path.write_text(text, encoding="utf-8")
    found = resolve(path, Overrides()).served
    assert found is not None
    return found


def test_everything_that_a_file_may_say(tmp_path: Path) -> None:
    found = settings(tmp_path, WHOLE)
    assert found.tokenizer == str(tmp_path / "my/tokenizer.json")
    assert found.prompts == tmp_path / "prompts.jsonl"
    assert found.template == tmp_path / "my/template.jinja"
    assert (found.chat, found.band, found.boundary) == (True, "512±8", "rendered")
    assert (found.in_flight, found.seconds, found.preflight, found.gguf) == (2, 30, False, None)
    one, two = found.servers
    assert (one.name, one.url, one.start) == ("one", "http://127.0.0.1:8080", None)
    assert (one.dialect, one.model, one.key_env) == ("vllm", "m", "KEY")
    assert two.name == "aarch64-linux-gnu/default/qemu-cortex-a53"
    assert two.start == Start(("./serve", "--port", "8081"), tmp_path, two.name, 5)


def test_a_file_without_servers_asks_none(tmp_path: Path) -> None:
    (tmp_path / "tokparity.yaml").write_text("tokenizers: [bundled]\n", encoding="utf-8")
    assert resolve(tmp_path / "tokparity.yaml", Overrides()).served is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("servers:", "server:"), "did you mean 'servers'?"),
        (("in_flight: 2", "in_flight: 0"), "served.in_flight"),
        (("timeout: 30", "timeout: 0"), "served.timeout"),
        (("url: http://127.0.0.1:8081", "url: 127.0.0.1:8081"), "served.servers.1.url"),
        (("boundary: rendered", "boundary: both"), "served.boundary"),
        (("name: one", "name: aarch64-linux-gnu/default/qemu-cortex-a53"), "two servers"),
        (("  prompts: prompts.jsonl\n", ""), "served.prompts"),
        (('[./serve, --port, "8081"]', "[]"), "command"),
    ],
)
def test_a_mistake_is_named_with_its_place(
    tmp_path: Path, change: tuple[str, str], words: str
) -> None:
    assert change[0] in WHOLE
    with pytest.raises(UsageError) as raised:
        settings(tmp_path, WHOLE.replace(*change))
    assert words in str(raised.value)
    assert "tokparity.yaml" in str(raised.value)


@pytest.mark.parametrize(
    "url", ["http://h", "https://h:8443/prefix", "http://[::1]:8080", "http://127.0.0.1:1"]
)
def test_an_address_is_left_as_it_is_but_for_its_last_slash(url: str) -> None:
    assert address(url + "/") == url


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("127.0.0.1:8080", "remedy: http://127.0.0.1:8080"),
        ("localhost", "remedy: http://localhost"),
        ("ftp://h", "is no address"),
        ("http://a b", "is no address"),
        ("http://h/\n", "is no address"),
        ("http://h/\u202e", "is no address"),
        ("http://", "is no address"),
        ("", "is no address"),
        ("http://h:99999", "is no address"),
        ("http://h:x", "is no address"),
        ("http://h:0", "is no address"),
        ("http://[::1", "is no address"),
        ("http://h/?a=b", "query"),
        ("http://h/#a", "fragment"),
    ],
)
def test_what_is_no_address_is_refused(url: str, words: str) -> None:
    with pytest.raises(UsageError) as raised:
        address(url)
    assert words in str(raised.value)


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(UsageError) as raised:
        address("http://user:hunter2@h")
    assert "hunter2" not in str(raised.value)
