"""The first stage that differs: what is asked, what is left out, and what a cause foretells."""

import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from harness.answers import Answer
from harness.outcomes import Ids, Status
from harness.report import told
from harness.report.model import Finding
from harness.stages import MOST_CASES, FirstStage, compatible, first_stage, stages_of

NONE: Ids = np.empty(0, dtype=np.uint32)


class Staged:
    """A tokenizer of two stages: NFC, then words with the space before them."""

    def normalize(self, text: str) -> str:
        return unicodedata.normalize("NFC", text)

    def pretokenize(self, text: str) -> list[str]:
        return [word for word in self.normalize(text).replace(" ", "\0 ").split("\0") if word]


ORACLE = Staged()
Ask = Callable[[str, bytes], Answer]


def ok(*pieces: bytes, lengths: bool) -> Answer:
    values: list[int] = []
    for piece in pieces:
        values += [*([len(piece)] if lengths else []), *piece]
    return Answer(Status.OK, np.asarray(values, dtype=np.uint32))


def subject(
    normalize: Callable[[str], str] = ORACLE.normalize,
    pretokenize: Callable[[str], list[str]] = ORACLE.pretokenize,
) -> Ask:
    def ask(operation: str, data: bytes) -> Answer:
        text = data.decode()
        if operation == "normalize":
            return ok(normalize(text).encode(), lengths=False)
        return ok(*(piece.encode() for piece in pretokenize(text)), lengths=True)

    return ask


def whole(text: str) -> list[str]:
    return [ORACLE.normalize(text)]


def same(text: str) -> str:
    return text


CASES = [b"e\xcc\x81 a", b"b c", b"d e f"]


def test_a_normalizer_that_differs_is_named_before_what_follows_from_it() -> None:
    found = first_stage(subject(normalize=same, pretokenize=whole), ORACLE, (), CASES[:1], lane="x")
    assert found == FirstStage(
        stage="normalizer", cases=1, of=1, agrees=None, counts=(("normalizer", 1),), lane="x"
    )


def test_pieces_that_differ_are_the_pre_tokenizer_and_none_is_later() -> None:
    found = first_stage(subject(pretokenize=whole), ORACLE, (), CASES)
    assert (found.stage, found.cases, found.of) == ("pre-tokenizer", 3, 3)
    assert first_stage(subject(), ORACLE, (), CASES).stage == "later"


def test_stages_are_counted_over_the_cases_and_the_most_frequent_is_named() -> None:
    found = first_stage(subject(normalize=same, pretokenize=whole), ORACLE, (), CASES)
    assert (found.stage, found.cases, found.of) == ("pre-tokenizer", 2, 3)
    assert found.counts == (("normalizer", 1), ("pre-tokenizer", 2))


def test_a_piece_that_is_empty_is_no_difference() -> None:
    found = first_stage(
        subject(pretokenize=lambda text: ["", *ORACLE.pretokenize(text)]), ORACLE, (), CASES
    )
    assert found.stage == "later"


@pytest.mark.parametrize("added", ["b", "\u00e9 a"], ids=["as it stands", "when normalized"])
def test_a_text_with_an_added_token_is_left_out(added: str) -> None:
    found = first_stage(subject(pretokenize=whole), ORACLE, (added, ""), CASES)
    assert (found.of, found.left_out) == (2, 1)


def test_what_is_not_utf8_or_not_answered_is_left_out() -> None:
    def refusing(operation: str, data: bytes) -> Answer:
        return Answer(Status.UNSUPPORTED, NONE)

    found = first_stage(refusing, ORACLE, (), [*CASES, b"\xff"])
    assert found == FirstStage(stage=None, cases=0, of=0, agrees=None, left_out=4)


def test_the_shortest_cases_are_asked_and_no_more_than_the_most() -> None:
    asked: list[bytes] = []

    def ask(operation: str, data: bytes) -> Answer:
        asked.append(data)
        return subject()(operation, data)

    cases = [b"x" * length for length in range(3 * MOST_CASES, 0, -1)]
    found = first_stage(ask, ORACLE, (), cases)
    assert found.of == MOST_CASES
    assert max(map(len, asked)) == MOST_CASES


def test_a_stage_that_dies_is_the_first_to_differ_and_is_not_asked_for_ever() -> None:
    asked: list[bytes] = []

    def dying(operation: str, data: bytes) -> Answer:
        asked.append(data)
        return Answer(Status.CRASH, NONE, "SIGSEGV")

    found = first_stage(dying, ORACLE, (), [b"x" * length for length in range(1, 30)])
    assert (found.stage, found.of, found.left_out) == ("normalizer", 2, 27)
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("first", "stages", "agrees"),
    [
        ("normalizer", ["normalizer"], True),
        ("later", ["normalizer"], False),
        ("pre-tokenizer", ["normalizer"], False),
        ("pre-tokenizer", ["pre-tokenizer"], True),
        ("later", ["pre-tokenizer"], False),
        ("later", ["model"], True),
        ("normalizer", ["model"], False),
        ("later", ["post-processor"], True),
        ("later", ["added-tokens"], True),
        ("pre-tokenizer", ["added-tokens"], False),
        ("normalizer", ["input"], None),
        ("later", ["input"], None),
        ("pre-tokenizer", ["normalizer", "pre-tokenizer"], True),
        ("later", ["normalizer", "pre-tokenizer"], False),
        ("later", [], None),
    ],
)
def test_where_a_cause_may_first_show(first: str, stages: list[str], agrees: bool | None) -> None:
    assert compatible(first, "some-cause", stages) is agrees


def test_what_pieces_cannot_show_may_show_later() -> None:
    assert compatible("later", "prefix-space-flipped", ["pre-tokenizer"]) is True
    assert compatible("normalizer", "prefix-space-flipped", ["pre-tokenizer"]) is False


def test_the_stages_of_a_cause_are_read_from_its_evidence() -> None:
    assert stages_of({"stage": "model"}) == ("model",)
    assert stages_of({"stage": "input", "stages": ["input", "model"]}) == ("input", "model")
    assert stages_of({}) == ()


def told_of(evidence: Mapping[str, Any]) -> str:
    finding = Finding(
        id="0123abcd",
        tokenizer="t",
        operations=("encode",),
        lanes=("x",),
        cases=("a/b",),
        axes=(),
        cause="some-cause",
        declared=False,
        summary="",
        evidence={"first_stage": evidence},
    )
    return "\n".join(told.sentences(finding, str))


def test_the_report_says_where_stage_and_cause_disagree() -> None:
    found = first_stage(subject(pretokenize=whole), ORACLE, (), CASES, stages=["normalizer"])
    assert found.agrees is False
    words = told_of(found.evidence())
    assert "is the pre-tokenizer, in 3 of 3 cases" in words
    assert "DISAGREE" in words
    agreeing = first_stage(subject(pretokenize=whole), ORACLE, (), CASES, stages=["pre-tokenizer"])
    assert "DISAGREE" not in told_of(agreeing.evidence())
    assert "fits the cause" in told_of(agreeing.evidence())


def test_the_report_counts_what_was_left_out_and_says_where_nothing_is_left() -> None:
    some = first_stage(subject(pretokenize=whole), ORACLE, ("b",), CASES)
    assert "1 case is left out" in told_of(some.evidence())
    none = first_stage(subject(), ORACLE, ("a", "b", "d"), CASES)
    assert "none of" in told_of(none.evidence())
