"""docs/bench.md is true: its options and guards are the program's, and its prompt file is read."""

from pathlib import Path

from harness.cli.bench import command
from harness.served.benchfiles import read
from harness.served.guards import guards
from harness.served.prompts import read_prompts
from tests.integration.page import blocks, commands, table
from tests.unit.benched import DATA

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "bench.md").read_text(encoding="utf-8")


def test_every_option_is_on_the_page_and_no_other() -> None:
    options = {max(one.opts, key=len) for one in command.params if one.opts[0].startswith("-")}
    cells = [name for row in table(PAGE, "option") for name in row[0].split(", ")]
    assert {one.strip("`").split()[0] for one in cells} == options


def test_every_guard_is_on_the_page_in_its_order() -> None:
    [found] = read(DATA / "vllm-cmpl.json")
    assert [row[0] for row in table(PAGE, "guard")] == [
        one.name for one in guards(found, None, None, None)
    ]


def test_its_command_and_its_prompt_file(tmp_path: Path) -> None:
    assert commands(PAGE) == ["tokparity bench results.json --expect 1024"]
    [prompts] = [block for block in blocks(PAGE, "") if block.startswith("{")]
    (tmp_path / "p.jsonl").write_text(prompts, encoding="utf-8")
    assert read_prompts(tmp_path / "p.jsonl").meta.target == 512
