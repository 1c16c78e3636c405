"""``tokparity explain`` on real probes, and the stages as evidence of a run."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.integration.awkward import CONTROL, UNSIGNED
from tests.integration.conftest import REPOSITORY, Command

SUBJECTS = REPOSITORY / "tests" / "subjects"
SIGN = SUBJECTS / "char-compared-with-zero" / "tokparity.yaml"
CRASH = SUBJECTS / "crash-on-one" / "tokparity.yaml"
TWO = ("--lanes", CONTROL, "--lanes", UNSIGNED)
# An engine that says of its stages what is right, and encodes without the first of them.
LYING = """
#include "tokenizer.hpp"
#include "tokparity/probe.hpp"

int main(int argc, char** argv) {
  return tokparity::serve(argc, argv, [](const std::string& path, const auto&) {
    const auto right = std::make_shared<reference::Tokenizer>(path, reference::Options{});
    reference::Options options;
    options.without_nfc = true;
    const auto wrong = std::make_shared<reference::Tokenizer>(path, options);
    tokparity::Subject subject;
    subject.name = "lying";
    subject.encode = [=](std::string_view text) { return wrong->encode(text, false); };
    subject.normalize = [=](std::string_view text) { return right->normalize(text); };
    subject.pretokenize = [=](std::string_view text) { return right->pretokenize(text); };
    return subject;
  });
}
"""


def explained(tokparity: Command, *arguments: str | Path) -> dict[str, Any]:
    done = tokparity("explain", *arguments, "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["schema"] == "tokparity-explain/1"
    [one] = found["explanations"]
    return dict(one)


def test_a_case_that_diverges_is_shown_with_its_first_difference(tokparity: Command) -> None:
    done = tokparity("explain", "smoke/french", SIGN, *TWO)
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert "smoke/french under bundled: 2 different answers" in lines
    assert f"A  oracle = {CONTROL}" in lines
    assert f"B  {UNSIGNED}" in lines
    assert any("U+00E9 LATIN SMALL LETTER E WITH ACUTE (c3 a9)" in line for line in lines)
    [marked] = [line for line in lines if "→" in line]
    assert '"fé" U+00E9 (66 c3 a9)' in marked
    found = explained(tokparity, "smoke/french", SIGN, *TWO)
    assert found["first_difference"] == [{"columns": [0, 1], "index": 1}]
    assert found["columns"][1]["lanes"] == [UNSIGNED]
    assert found["columns"][1]["normalize"] is None
    assert found["not_offered"][UNSIGNED] == ["normalize", "pretokenize", "encode_special"]


def test_a_case_on_which_all_agree_is_one_column(tokparity: Command) -> None:
    found = explained(tokparity, "smoke/french", "--lanes", CONTROL)
    assert found["agree"] is True
    [column] = found["columns"]
    assert column["oracle"] is True
    assert column["lanes"] == [CONTROL]
    assert bytes.fromhex("".join(column["pretokenize"]["values"])).decode() == "café crème"


def test_every_stage_is_shown_of_a_text_with_an_added_token(tokparity: Command) -> None:
    text = "e\u0301 <|im_end|>\x1b[2J"
    options = ("--lanes", CONTROL, "--probe-arg=--without-nfc")
    done = tokparity("explain", "--text", text, *options)
    assert done.code == 0, done.err
    assert "\x1b" not in done.out
    found = explained(tokparity, "--text", text, *options)
    [added] = found["added_tokens"]
    assert added["content"] == "<|im_end|>"
    assert added["special"] is True
    oracle, lane = found["columns"]
    assert bytes.fromhex(oracle["normalize"]["values"][0]).decode().startswith("\u00e9 ")
    assert bytes.fromhex(lane["normalize"]["values"][0]).decode() == text
    assert len(lane["pretokenize"]["values"]) == len(oracle["pretokenize"]["values"]) + 1
    ids = oracle["encode_special"]["values"]
    assert ids[1:] == oracle["encode"]["values"]
    spelt = {token["id"]: token for token in found["tokens"]}
    assert bytes.fromhex(spelt[oracle["encode"]["values"][0]]["hex"]).decode() == "\u00e9"


def test_bytes_that_are_no_text_are_held_lane_against_lane(tokparity: Command) -> None:
    found = explained(tokparity, "--hex", "ff61", SIGN, *TWO)
    assert [column["oracle"] for column in found["columns"]] == [False, False]
    assert found["input"]["text"] is None
    done = tokparity("explain", "--hex", "ff61", SIGN, *TWO)
    assert "not UTF-8: the oracle has no answer" in done.out


def test_a_crash_is_shown_as_what_the_lane_gave(tokparity: Command) -> None:
    found = explained(tokparity, "public_bugs/new-emoji", CRASH, "--lanes", CONTROL)
    assert [column["encode"]["status"] for column in found["columns"]] == ["ok", "crash"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "CORPUS/ID, --text or --hex"),
        (("smoke/frnch",), "did you mean 'smoke/french'?"),
        (("--hex", "6"), "two digits a byte"),
        (("--text", "a", "--hex", "61"), "one of them"),
        (("--text", "a", "one.yaml", "two"), "one argument too many"),
        (("a/b", "one.yaml", "two"), "one argument too many"),
        (("--text", "a", "--tokenizer", "nobody"), "nobody"),
        (("--text", "a", "--lanes", "none/*"), "selects no lane"),
        (("--text", "a", "nowhere.yaml"), "nowhere.yaml"),
    ],
)
def test_what_cannot_be_explained_says_why(
    tokparity: Command, arguments: tuple[str, ...], words: str
) -> None:
    done = tokparity("explain", *arguments)
    assert done.code == 2
    assert words in done.err
    assert "Traceback" not in done.err
    assert done.out == ""


def stage_of(tokparity: Command, *arguments: str | Path) -> dict[str, Any]:
    done = tokparity("run", *arguments, "--lanes", CONTROL, "--json")
    assert done.code == 1, done.err
    [found] = done.report["findings"]
    assert found["cause"] == "normalizer-left-out"
    assert ("DISAGREE" in done.err) == (found["evidence"]["first_stage"]["agrees"] is False)
    return dict(found["evidence"]["first_stage"])


def test_the_first_stage_that_differs_stands_beside_the_cause(tokparity: Command) -> None:
    found = stage_of(tokparity, SUBJECTS / "nfc-left-out" / "tokparity.yaml")
    assert found["stage"] == "normalizer"
    assert found["agrees"] is True
    assert found["cases"] == found["of"] > 20
    assert found["left_out"] > 0  # added tokens in the text
    assert found["lane"] == CONTROL


def test_a_stage_that_contradicts_the_cause_is_said_to(tokparity: Command, tmp_path: Path) -> None:
    reference = REPOSITORY / "probes" / "reference"
    (tmp_path / "probe.cpp").write_text("#include <memory>\n" + LYING)
    (tmp_path / "tokparity.yaml").write_text(
        "subject:\n  name: lying\n  probe: probe.cpp\n"
        f"  sources: ['{reference}/*.cpp', '!{reference}/main.cpp']\n"
        f"  include: ['{reference}']\n"
        "operations: [encode]\n"
    )
    found = stage_of(tokparity, tmp_path / "tokparity.yaml")
    assert found["stage"] == "later"
    assert found["agrees"] is False


def test_a_subject_without_stages_has_no_such_evidence(tokparity: Command) -> None:
    done = tokparity("run", SIGN, *TWO, "--json")
    assert done.code == 1, done.err
    [found] = done.report["findings"]
    assert "first_stage" not in found["evidence"]


def test_a_lane_that_cannot_be_built_is_named_beside_the_others(
    tokparity: Command, tmp_path: Path
) -> None:
    directory = tmp_path / "bytes"
    shutil.copytree(REPOSITORY / "tests" / "integration" / "cpp" / "bytes", directory)
    source = directory / "src" / "bytes.cpp"
    refused = "#ifdef __CHAR_UNSIGNED__\n#error not here\n#endif\n"
    source.write_text(refused + source.read_text())
    (directory / "tokparity.yaml").write_text(
        "subject: {name: bytes, probe: src/bytes.cpp, include: [include]}\n"
    )
    done = tokparity("explain", "--text", "hi", directory, *TWO)
    assert done.code == 4
    assert f"{UNSIGNED} could not be asked" in done.out
    assert f"B  {CONTROL}" in done.out
    assert "not here" in done.err
