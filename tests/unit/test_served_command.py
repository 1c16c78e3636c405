"""``tokparity served`` as it is typed: which servers, with what, and what is refused beforehand."""

import errno
from collections.abc import Callable
from pathlib import Path

import click
import pytest

import harness.cli.served
import harness.cli.streams
from harness.cli.root import outcome
from harness.errors import StorageError
from harness.served.live.outcome import Served, unanswered
from harness.served.live.session import Places
from harness.served.live.settings import Settings

Typed = Callable[..., tuple[int, str, str]]
FILE = """
cache: kept
served:
  tokenizer: bundled
  prompts: p.jsonl
  timeout: 7
  servers:
    - {url: "http://127.0.0.1:1", name: one, dialect: tgi}
    - {url: "http://127.0.0.1:2"}
"""


class Judge:
    """In the place of what asks servers: keeps what it was to ask."""

    settings: Settings
    places: Places

    def __call__(self, settings: Settings, places: Places, _watch: object) -> Served:
        self.settings, self.places = settings, places
        gone = [unanswered(one.name, one.url, "gone \x1b[31m") for one in settings.servers]
        return Served(tuple(gone), settings.tokenizer, "0" * 64, str(settings.prompts))


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Judge:
    one = Judge()
    monkeypatch.setattr(harness.cli.served, "judge", one)
    return one


@pytest.fixture
def typed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Typed:
    """Type a command in an empty directory; return its exit code, output and complaints."""
    monkeypatch.chdir(tmp_path)

    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["tokparity", "served", *map(str, words)])
        code = outcome()
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


def test_urls_with_options(typed: Typed, judge: Judge) -> None:
    line = "--tokenizer gpt2 --prompts p.jsonl --chat --band 9±1 --boundary raw --dialect vllm"
    more = "--model m --key-env K --preflight --in-flight 9 --timeout 2.5 --template t --gguf g"
    Path("t").touch()
    Path("g").touch()
    code, out, err = typed("http://a:1/", "https://b", *line.split(), *more.split())
    assert (code, err) == (6, "")
    assert "\x1b" not in out
    found = judge.settings
    assert [(one.name, one.url) for one in found.servers] == [
        ("http://a:1", "http://a:1"),
        ("https://b", "https://b"),
    ]
    assert {(one.dialect, one.model, one.key_env) for one in found.servers} == {("vllm", "m", "K")}
    assert (found.tokenizer, found.prompts, found.chat) == ("gpt2", Path("p.jsonl"), True)
    assert (found.band, found.boundary, found.preflight) == ("9±1", "raw", True)
    assert (found.in_flight, found.seconds) == (9, 2.5)
    assert (found.template, found.gguf) == (Path("t"), Path("g"))


@pytest.mark.parametrize("option", ["--template", "--gguf"])
def test_a_template_that_is_not_there(option: str, typed: Typed, judge: Judge) -> None:
    """Whether or not a prompt turns out to be a chat that would need it."""
    words = ("http://a:1", "--tokenizer", "gpt2", "--prompts", "p.jsonl", option, "none\x1b[31m")
    code, out, err = typed(*words)
    assert (code, out) == (2, "")
    assert "none\\u{1b}[31m: there is no such file" in err
    assert not hasattr(judge, "settings")


def test_an_interrupt_claims_to_keep_nothing(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> Served:
        raise KeyboardInterrupt

    monkeypatch.setattr(harness.cli.served, "judge", interrupted)
    code, out, err = typed("http://a:1", "--tokenizer", "gpt2", "--prompts", "p.jsonl")
    assert (code, out, err) == (130, "", "tokparity: interrupted; nothing of it is kept\n")


def test_the_file_here_and_the_command_line_above_it(
    typed: Typed, judge: Judge, tmp_path: Path
) -> None:
    (tmp_path / "tokparity.yaml").write_text(FILE, encoding="utf-8")
    assert typed()[0] == 6
    assert judge.settings.prompts == tmp_path / "p.jsonl"
    assert judge.places.cache == tmp_path / "kept"
    assert [one.dialect for one in judge.settings.servers] == ["tgi", None]
    assert typed("tokparity.yaml", "--timeout", "9", "--dialect", "vllm", "--chat")[0] == 6
    assert (judge.settings.seconds, judge.settings.chat) == (9, True)
    assert [one.dialect for one in judge.settings.servers] == ["vllm", "vllm"]
    assert judge.settings.tokenizer == "bundled"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "no server is named"),
        (["http://a"], "--tokenizer is not given"),
        (["http://a", "--tokenizer", "gpt2"], "--prompts is not given"),
        (["127.0.0.1:8080"], "remedy: http://127.0.0.1:8080"),
        (["http://a", "b.yaml"], "'b.yaml' is no address of a server"),
        (["ftp://a", "--tokenizer", "gpt2", "--prompts", "p"], "is no address"),
        (["http://a", "http://a", "--tokenizer", "gpt2", "--prompts", "p"], "two servers"),
        (["http://a", "--timeout", "0"], "--timeout"),
        (["http://a", "--timeout", "nan"], "--timeout"),
        (["http://a", "--in-flight", "0"], "--in-flight"),
    ],
)
def test_what_is_refused_before_any_server_is_asked(
    typed: Typed, judge: Judge, words: list[str], told: str
) -> None:
    code, out, err = typed(*words)
    assert (code, out) == (2, ""), err
    assert told in err
    assert not hasattr(judge, "settings")


def test_a_full_disk_is_not_answered_with_an_option_that_is_not_there(
    typed: Typed, judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(harness.cli.streams, "print", full, raising=False)
    monkeypatch.setattr("os.dup2", lambda *_: None)
    with monkeypatch.context() as patched:
        told: list[str] = []
        patched.setattr("harness.cli.root.streams.complain", told.append)
        typed("http://a:1", "--tokenizer", "gpt2", "--prompts", "p.jsonl")
    assert judge.settings.tokenizer == "gpt2"
    assert "No space left" in "".join(told)
    assert "make room there" in "".join(told)
    assert "--out" not in "".join(told)


@pytest.mark.parametrize(("option", "told"), [("--out", True), ("--cut", False)])
def test_a_full_disk_names_the_option_that_is_there(
    option: str, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.dup2", lambda *_: None)
    command = click.Command("any", params=[click.Option([option])])
    with click.Context(command):
        error = harness.cli.streams.failure(OSError(errno.ENOSPC, "full"))
    assert isinstance(error, StorageError)
    assert ("--out DIR" in (error.remedy or "")) is told
