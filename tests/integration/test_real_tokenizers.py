"""The main job on the seven real tokenizers, and the standing example of a declared deviation."""

from pathlib import Path

import pytest
import yaml

from harness.corpus import load
from harness.oracle import Oracle
from harness.tokenizers import resolve
from tests.integration.conftest import REPOSITORY, Command

REAL = ("gpt2", "llama3", "qwen2.5", "qwen3", "qwen3.6", "deepseek-v3", "gpt-oss")
# Those whose tokenizer.json declares NFC, and that a subject without it gets wrong.
NORMALIZING = {"bundled", "qwen2.5", "qwen3", "qwen3.6"}
REFERENCE = {"name": "reference", "args": ["--without-nfc"]}


def named() -> list[str]:
    return [word for name in ("bundled", *REAL) for word in ("--tokenizer", name)]


def texts() -> list[str | None]:
    corpora = sorted((REPOSITORY / "corpora").glob("*.jsonl"))
    return [case.text for path in corpora for case in load(path).cases]


@pytest.mark.parametrize("name", ["bundled", *REAL])
def test_the_post_processor_alone_gives_what_a_second_encoding_would(
    name: str, real_tokenizers: Path
) -> None:
    oracle = Oracle.load(resolve(name, REPOSITORY / "goldens", real_tokenizers).path)
    cases = texts()
    plain, special = oracle.encode_both(cases)
    for both, once in (
        (plain, oracle.encode(cases)),
        (special, oracle.encode(cases, special=True)),
    ):
        assert both.ids.tolist() == once.ids.tolist()
        assert both.offsets.tolist() == once.offsets.tolist()
        assert both.status.tolist() == once.status.tolist()


@pytest.mark.usefixtures("real_tokenizers")
def test_all_seven_have_parity_on_six_lanes(tokparity: Command) -> None:
    done = tokparity("run", *named(), "--json")
    assert done.code == 0, done.err
    report = done.report
    assert report["verdict"] == "pass"
    assert len(report["lanes"]) == 6
    assert {cell["tokenizer"] for cell in report["cells"]} == {"bundled", *REAL}
    for cell in report["cells"]:
        assert cell["pass"] + cell["ungraded"] == cell["cases"] > 0
    # Byte policies are named too, and the same for all.
    assert {policy["name"] for policy in report["byte_policies"]} == {"replaced-per-subpart"}


@pytest.mark.usefixtures("real_tokenizers")
def test_nfc_left_out_is_proven_by_set_equality_and_passes_once_declared(
    tokparity: Command, tmp_path: Path
) -> None:
    config = tmp_path / "tokparity.yaml"
    config.write_text(yaml.safe_dump({"subject": REFERENCE}), encoding="utf-8")
    undeclared = tokparity("run", config, *named(), "--json")
    assert undeclared.code == 1, undeclared.err
    found = undeclared.report["findings"]
    assert {one["tokenizer"] for one in found} == NORMALIZING
    for one in found:
        assert one["cause"] == "normalizer-left-out"
        assert one["evidence"]["sets_equal"] is True
        assert one["evidence"]["mismatching"] == one["evidence"]["normalized_form_differs"] > 0
        assert len(one["lanes"]) == 6
    deviation = {
        "cause": "normalizer-left-out",
        "tokenizers": sorted(NORMALIZING),
        "lanes": ["*"],
        "reason": "this engine does not apply NFC",
    }
    document = {"subject": REFERENCE, "deviations": [deviation]}
    config.write_text(yaml.safe_dump(document), encoding="utf-8")
    declared = tokparity("run", config, *named(), "--json")
    assert declared.code == 0, declared.err
    assert sum(cell["xfail"] for cell in declared.report["cells"]) == 6 * 35 * len(NORMALIZING)
    document["subject"] = {"name": "reference"}
    config.write_text(yaml.safe_dump(document), encoding="utf-8")
    gone = tokparity("run", config, *named(), "--json")
    assert gone.code == 1, gone.err
    assert sum(cell["xpass"] for cell in gone.report["cells"]) > 0
