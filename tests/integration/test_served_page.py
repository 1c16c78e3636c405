"""docs/served.md is true: its options and keys are the program's, and its report a real one."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli.served import command
from harness.config import Overrides, resolve
from harness.served.live.dialects import DIALECTS
from harness.served.live.finding import Verdict
from harness.served.live.settings import (
    IN_FLIGHT,
    SECONDS,
    START_SECONDS,
    ServedModel,
    ServerModel,
    StartModel,
)
from harness.served.prompts import read_prompts
from tests.integration.page import blocks, commands, table
from tests.served.asking import TOKENIZER, judged, written
from tests.served.gguf_made import Model, make
from tests.served.llama_server import llama_server

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "served.md").read_text(encoding="utf-8")


def keys(heading: str) -> set[str]:
    return {name.strip("` ") for cells in table(PAGE, heading) for name in cells[0].split(",")}


def test_every_option_is_on_the_page_and_no_other() -> None:
    options = {max(one.opts, key=len) for one in command.params if one.opts[0].startswith("-")}
    shown = {words.split()[0].rstrip("`") for words in keys("option")}
    assert shown == options
    # Each is a word that the command takes: one that is not would be refused before all else.
    assert "No such option" in CliRunner().invoke(command, ["--bnad", "1"]).output


def test_every_verdict_and_dialect_is_on_the_page() -> None:
    assert keys("verdict") == {one.value for one in Verdict}
    assert keys("dialect") == set(DIALECTS)


def test_every_key_and_default_is_on_the_page() -> None:
    assert keys("key") == set(ServedModel.model_fields)
    assert keys("key of a server") == set(ServerModel.model_fields)
    rows = {cells[0]: cells[1] for cells in table(PAGE, "key of a server")}
    assert all(f"`{name}`" in rows["`server`"] for name in StartModel.model_fields)
    assert f"{START_SECONDS:g} without" in rows["`server`"]
    options = {cells[0]: cells[1] for cells in table(PAGE, "option")}
    assert f"{IN_FLIGHT} without" in options["`--in-flight N`"]
    assert f"{SECONDS:g} without" in options["`--timeout S`"]


def test_its_configuration_and_its_prompts_are_read(tmp_path: Path) -> None:
    (tmp_path / "tokparity.yaml").write_text(blocks(PAGE, "yaml")[0], encoding="utf-8")
    served = resolve(tmp_path / "tokparity.yaml", Overrides()).served
    assert served is not None
    assert [one.start is None for one in served.servers] == [True, False]
    [prompts] = [block for block in blocks(PAGE, "") if block.startswith("{")]
    (tmp_path / "p.jsonl").write_text(prompts, encoding="utf-8")
    assert len(read_prompts(tmp_path / "p.jsonl", live=True).prompts) == 3


def test_its_commands_are_the_commands() -> None:
    assert commands(PAGE) == [
        "tokparity served http://127.0.0.1:8080 --tokenizer qwen2.5 --prompts prompts.jsonl",
        "tokparity served tokparity.yaml",
    ]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = tmp_path_factory.mktemp("page")
    model = Model(bos="<|bos|>", eos="<|endoftext|>", add_bos=True)
    prompts = written(
        place / "prompts.jsonl",
        {"id": "plain", "prompt": "Hello world, naïve café"},
        {"id": "decomposed", "prompt": "e\u0301 decomposed cafe\u0301"},
        {"id": "array", "prompt": ["a b c", "d"]},
    )
    with llama_server(make(TOKENIZER, model, place / "tiny.gguf")) as url:
        text: str = judged(url, prompts)["text"]
    return text


def test_its_report_is_a_real_one(shown: str) -> None:
    """Every line of the page's report, cut at its ellipsis, stands in a real one."""
    [report] = [block for block in blocks(PAGE, "") if block.startswith("tokenizer ")]
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    for line in report.splitlines()[3:]:
        start = " ".join(line.partition("…")[0].split())
        assert any(one.startswith(start) for one in lines), line
