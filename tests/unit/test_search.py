"""The search for causes by the real library: pairs, triples, ties, and what it costs to ask."""

import unicodedata
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from harness.attribute import Attribution, attribute, judged
from harness.errors import TokenizerError
from harness.hypotheses import Description, Hypothesis, Seen, combine
from harness.hypotheses.panel import SAMPLE
from harness.outcomes import Ids, Outcomes, from_answers
from tests.unit.trained import DECLARED, MARK, encode, normalized


def described(name: str, stage: str, **changes: object) -> Hypothesis:
    return Hypothesis(name, stage, name, describe=lambda d: {**d, **changes})


def text(name: str, change: Callable[[bytes], bytes], **parameters: int) -> Hypothesis:
    values = tuple(parameters.items())
    return Hypothesis(name, "input", name, values, text=lambda data: (change(data),))


def drop(n: int) -> Hypothesis:
    return text(f"drop-{n}", lambda data: data[n:])


def split(pattern: str) -> dict[str, object]:
    return {
        "type": "Sequence",
        "pretokenizers": [
            {
                "type": "Split",
                "pattern": {"Regex": pattern},
                "behavior": "Isolated",
                "invert": False,
            },
            {
                "type": "ByteLevel",
                "add_prefix_space": False,
                "trim_offsets": True,
                "use_regex": False,
            },
        ],
    }


LEFT_OUT = described("left-out", "normalizer", normalizer=None)
NFD = described("nfd", "normalizer", normalizer={"type": "NFD"})
NFKC = described("nfkc", "normalizer", normalizer={"type": "NFKC"})
LETTERS = described("letters", "pre-tokenizer", pre_tokenizer=split(r"\p{L}|\P{L}+"))
UNRECOGNISED = described("unrecognised", "added-tokens", added_tokens=[])
NUL = text("nul", lambda data: data.partition(b"\0")[0])
BOM = text("bom", lambda data: data.removeprefix("\ufeff".encode()))
LIST = (LEFT_OUT, NFD, NFKC, NUL, BOM, UNRECOGNISED, LETTERS)

CASES = [
    *(f"plain words {number}".encode() for number in range(6)),
    *(f"cafe{MARK} {number}".encode() for number in range(5)),
    *(f"re{MARK}sume{MARK}\0 and {number}".encode() for number in range(4)),
    *(f"nothing {number}\0 more".encode() for number in range(4)),
    *(f"<tool> {number} <tool>".encode() for number in range(4)),
    "caf\u00e9".encode(),
    "\ufb01ne".encode(),
    "\ufeffwords".encode(),
]


class Asked:
    """The oracle, with its calls counted."""

    def __init__(self) -> None:
        self.calls = 0
        self.texts = 0

    def __call__(self, description: Description, texts: Sequence[str]) -> Outcomes:
        self.calls += 1
        self.texts += len(texts)
        return encode(description, texts)


def oracle(cases: Sequence[bytes], change: Hypothesis | None = None) -> list[Ids]:
    """What the oracle answers, or with a change a subject that has it."""
    found = []
    for data in cases:
        pieces = (data,) if change is None else change.text(data)
        description = DECLARED if change is None else change.describe(DECLARED)
        ids = encode(description, [piece.decode() for piece in pieces]).ids
        found.append(ids if change is None else change.ids(ids))
    return found


def attributed(
    answers: Sequence[Ids],
    cases: Sequence[bytes] = CASES,
    offered: Sequence[Hypothesis] | Callable[[Seen], Sequence[Hypothesis]] = LIST,
    ask: Callable[[Description, Sequence[str]], Outcomes] = encode,
    declared: Sequence[str] = (),
) -> Attribution:
    expected, observed = from_answers(oracle(cases)), from_answers(answers)
    return attribute(
        cases,
        expected,
        observed,
        judged(expected, {"lane": observed}, ()),
        DECLARED,
        ask,
        normalized=normalized,
        declared=declared,
        propose=offered if callable(offered) else lambda _: offered,
    )


def names(found: Attribution) -> list[str]:
    return [one.hypothesis.name for one in found.causes]


@pytest.mark.parametrize("cause", LIST, ids=lambda one: str(one.name))
def test_a_single_cause_is_found_before_any_pair_is_tried(cause: Hypothesis) -> None:
    found = attributed(oracle(CASES, cause))
    assert names(found) == [cause.name]
    assert found.asked == (len(LIST),)


@pytest.mark.parametrize(
    "parts",
    [(NUL, LEFT_OUT), (UNRECOGNISED, NFD), (NUL, UNRECOGNISED), (NFKC, LETTERS), (BOM, LETTERS)],
    ids=lambda parts: "+".join(part.name for part in parts),
)
def test_a_pair_is_named_with_what_each_part_is_needed_for(parts: tuple[Hypothesis, ...]) -> None:
    found = attributed(oracle(CASES, combine(parts)))
    assert names(found) == ["+".join(part.name for part in parts)]
    (cause,) = found.causes
    assert cause.hypothesis.parts == parts
    assert cause.explained == cause.tried == len(found.mismatching)
    assert cause.would_break == 0
    assert min(cause.needed) >= 1
    assert max(cause.needed) < len(found.mismatching) or LETTERS in parts
    assert cause.thin == (min(cause.needed) == 1)
    assert len(found.asked) == 2


def test_a_triple_is_named() -> None:
    found = attributed(oracle(CASES, combine([NUL, UNRECOGNISED, LEFT_OUT])))
    assert names(found) == ["nul+unrecognised+left-out"]
    (cause,) = found.causes
    # The four cases with both a mark and a NUL need two of them.
    assert cause.needed == (8, 4, 9)
    assert len(found.asked) == 3


def test_all_pairs_that_hold_are_reported() -> None:
    cases = [case for case in CASES if "\u00e9".encode() not in case]
    found = attributed(oracle(cases, combine([NUL, LEFT_OUT])), cases)
    # Where every mark stands decomposed, leaving NFC out is the same as NFD.
    assert names(found) == ["nul+left-out", "nul+nfd"]


def test_what_one_change_undoes_of_another_is_no_pair() -> None:
    # NFKC after NFD is NFKC: a pair of it would be NFKC under a longer name.
    found = attributed([ids[::-1] for ids in oracle(CASES)], offered=[NFD, NFKC, LEFT_OUT])
    assert names(found) == []
    assert found.asked == (3, 0, 0)


def test_two_changes_of_one_stage_are_tried_in_both_orders() -> None:
    def marked(description: Description) -> Description:
        steps = [description["normalizer"], {"type": "Lowercase"}]
        return {**description, "normalizer": {"type": "Sequence", "normalizers": steps}}

    lower = Hypothesis("lower", "normalizer", "lower", describe=marked)
    cases = [*CASES, *(f"CAFE{MARK} {number}".encode() for number in range(4))]
    for offered in ([lower, NFKC], [NFKC, lower]):
        found = attributed(oracle(cases, combine([NFKC, lower])), cases, offered)
        assert names(found) == ["nfkc+lower"]


def test_a_defect_outside_the_list_is_unexplained_and_says_how_close_it_came() -> None:
    answers = oracle(CASES, combine([NUL, LEFT_OUT]))
    answers[0] = np.append(answers[0], np.uint32(1))
    found = attributed(answers)
    assert names(found) == []
    by_name = {one.hypothesis.name: one for one in found.tested}
    assert {one.name for one in LIST} <= by_name.keys()
    assert by_name["nul"].refuted_by is not None
    pair = by_name["nul+left-out"]
    mismatching = len(found.mismatching)
    assert (pair.accepted, pair.explained, pair.tried) == (False, mismatching - 1, mismatching)
    assert pair.refuted_by == 0
    singles, pairs, triples = found.asked
    assert (singles, pairs >= 10, triples > 0) == (len(LIST), True, True)


def test_a_pair_needs_twice_as_many_cases_as_parts() -> None:
    few = [*CASES[:6], CASES[6], CASES[-6]]
    found = attributed(oracle(few, combine([UNRECOGNISED, LEFT_OUT])), few)
    assert names(found) == []
    assert len(found.mismatching) == 2
    (pair, *_) = [one for one in found.tested if one.hypothesis.name == "unrecognised+left-out"]
    assert not pair.accepted
    assert pair.note is not None
    assert "2 mismatching cases are too few to name 2 causes" in pair.note


def test_a_part_that_no_mismatch_needs_is_not_named() -> None:
    """Leaving NFC out explains every mismatch and breaks one match, which the other part mends."""
    spared = f"cafe{MARK} spared".encode()
    mend = text(
        "mend",
        lambda data: (
            unicodedata.normalize("NFC", data.decode()).encode() if data == spared else data
        ),
    )
    cases = [*CASES, spared]
    answers = oracle(cases, LEFT_OUT)
    answers[-1] = oracle([spared])[0]
    found = attributed(answers, cases, [LEFT_OUT, mend])
    assert names(found) == []
    (pair,) = [one for one in found.tested if one.hypothesis.size == 2]
    assert pair.note == "one of its changes alone explains every mismatching case"
    assert pair.needed == (0, 9)


def cut(n: int) -> Hypothesis:
    return text("cut", lambda data: data[:n], n=n)


def offer_cut(seen: Seen) -> list[Hypothesis]:
    """Infer as the stages do: from every mismatching case at once."""
    lengths = [len(seen.cases[row]) for row in seen.mismatching.tolist()]
    kept = [len(seen.cases[row]) for row in seen.agreeing.tolist()]
    limits = range(max(kept, default=0), min(lengths, default=0))
    return [LEFT_OUT, *(cut(n) for n in limits)]


def test_a_parameter_is_inferred_from_what_another_change_leaves() -> None:
    long = [f"{'words ' * 8}{number}".encode() for number in range(10, 14)]
    cases = [*CASES[:11], *long]
    answers = oracle(cases, combine([cut(40), LEFT_OUT]))
    mismatching = Seen(
        DECLARED,
        cases,
        from_answers(oracle(cases)),
        from_answers(answers),
        np.ones(len(cases), dtype=np.bool_),
    )
    # Short cases with a mark mismatch too, so a limit cannot be inferred from all of them.
    assert [one.name for one in offer_cut(mismatching)] == ["left-out"]
    found = attributed(answers, cases, offer_cut)
    assert "cut+left-out" in names(found)
    assert ("cut.n", 40) in [value for one in found.causes for value in one.hypothesis.parameters]


def test_a_parameter_that_rests_on_one_case_says_so() -> None:
    cases = [b"plain", b"words words words"]
    one, two = cut(10), LEFT_OUT
    thin = attributed(oracle(cases, one), cases, [one, two])
    assert [(cause.hypothesis.name, cause.thin) for cause in thin.causes] == [("cut", True)]
    cases.append(b"nothing nothing nothing")
    ample = attributed(oracle(cases, one), cases, [one, two])
    assert [cause.thin for cause in ample.causes] == [False]


def test_what_the_oracle_refuses_is_noted_and_the_others_go_on() -> None:
    unknown = described("unknown", "normalizer", normalizer={"type": "NFX"})
    found = attributed(oracle(CASES, combine([NUL, LEFT_OUT])), offered=[unknown, *LIST])
    assert names(found) == ["nul+left-out"]
    (refused,) = [one for one in found.tested if one.note]
    assert refused.hypothesis is unknown
    assert "is no normalizer that tokenizers" in str(refused.note)

    def refusing(description: Description, texts: Sequence[str]) -> Outcomes:
        raise TokenizerError("not today")

    found = attributed(oracle(CASES, LEFT_OUT), ask=refusing)
    assert names(found) == []
    assert {one.note for one in found.tested if one.hypothesis is LEFT_OUT} == {"not today"}


def test_input_changes_are_asked_in_one_call() -> None:
    changes = [drop(n) for n in range(1, 40)]
    asked = Asked()
    attributed([ids[::-1] for ids in oracle(CASES)], offered=changes[:1], ask=asked)
    alone = asked.calls
    many = Asked()
    found = attributed([ids[::-1] for ids in oracle(CASES)], offered=changes, ask=many)
    assert found.asked[0] == 39
    assert found.asked[1] > 700
    # Any number of them is switched to and asked as one is, and so is any number of pairs.
    assert many.calls <= alone + 8


def test_pairs_are_asked_description_by_description() -> None:
    changes = [drop(n) for n in range(1, 20)]
    asked = Asked()
    offered = [*changes, LEFT_OUT, NFKC]
    found = attributed([ids[::-1] for ids in oracle(CASES)], offered=offered, ask=asked)
    assert found.asked[1] > 19 * 18 // 2 + 2 * 19
    # Three descriptions: the declared one, no normalizer, NFKC.
    assert asked.calls <= 3 * 10


def test_most_fall_on_one_case() -> None:
    cases = [f"cafe{MARK} {number}".encode() for number in range(2000)]
    patterns = [
        described(f"split-{n}", "pre-tokenizer", pre_tokenizer=split(rf"\p{{L}}{{{n}}}|\P{{L}}+"))
        for n in range(1, 30)
    ]
    asked = Asked()
    answers = oracle(cases, LEFT_OUT)
    found = attributed(answers, cases, [*patterns, LEFT_OUT], asked)
    assert names(found) == ["left-out"]
    # One case each, a sample to say how close each came; all cases only of the one that holds.
    assert asked.texts <= len(patterns) * (1 + SAMPLE) + 1 + 8 + SAMPLE + len(cases)


def test_what_refutes_one_is_asked_of_the_others_first() -> None:
    cases = [f"cafe{MARK} {number}".encode() for number in range(1000)]
    # All of them leave NFC out, and besides drop the end of a case that agrees.
    cases.append(b"the end of it is at stake")

    def dropping(n: int) -> Hypothesis:
        change = text("", lambda data: data[:-n] if data == cases[-1] else data)
        return Hypothesis(
            f"odd-{n}", "normalizer", "odd", text=change.text, describe=LEFT_OUT.describe
        )

    odd = [dropping(n) for n in range(1, 25)]
    asked = Asked()
    found = attributed(oracle(cases, LEFT_OUT), cases, [*odd, LEFT_OUT], asked)
    assert names(found) == ["left-out"]
    assert all(one.refuted_by == 1000 for one in found.tested if not one.accepted)
    sampled = len(odd) * (1 + 8 + SAMPLE) + SAMPLE * 2
    assert asked.texts < sampled + 2.5 * len(cases)


def test_a_declared_cause_is_tested_on_all_cases_though_it_is_refuted() -> None:
    found = attributed(oracle(CASES, NUL), declared=["left-out"])
    assert names(found) == ["nul"]
    (declared,) = [one for one in found.tested if one.hypothesis is LEFT_OUT]
    assert declared.changes is not None
    assert declared.would_break is not None
    assert declared.would_break > 0


def test_a_lossy_model_may_hide_some_of_what_the_normalizer_changes() -> None:
    # Both sides of the rule, on the same answers: one more case changes its normal form, not ids.
    cases = [*CASES[:11], f"e{MARK}".encode()]

    def lying(description: Description, texts: Sequence[str]) -> list[str]:
        shown = normalized(description, texts)
        changed = description["normalizer"] != DECLARED["normalizer"]
        return [f"{one}!" if one == "plain words 1" and changed else one for one in shown]

    def found(description: Description) -> Attribution:
        expected = from_answers(oracle(cases))
        observed = from_answers(oracle(cases, LEFT_OUT))
        return attribute(
            cases,
            expected,
            observed,
            judged(expected, {"lane": observed}, ()),
            description,
            lambda changed, texts: encode({**changed, "model": DECLARED["model"]}, texts),
            normalized=lying,
            propose=lambda _: [LEFT_OUT],
        )

    lossy = {**DECLARED, "model": {**DECLARED["model"], "unk_token": "?"}}
    assert names(found(DECLARED)) == []
    assert names(found(lossy)) == ["left-out"]
