"""Isolation: the smallest set of axes, its rivals, and the lanes that would decide."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from harness.isolate import Separation, axes_of_cause, cause_of, induced, separate
from harness.outcomes import Outcomes, Status, from_answers

Values = dict[str, str]


def axes(arch: str, char: str, **more: str) -> Values:
    """The axes of a lane of the default matrix; arch decides several of them."""
    aarch64 = arch == "aarch64"
    known = {
        "arch": arch,
        "char": char,
        "wchar": "unsigned" if aarch64 else "signed",
        "long-double": "113" if aarch64 else "64",
        "compiler": "gcc",
        "optimisation": "O2",
        "fp-contract": "off",
        "emulator": "qemu" if aarch64 else "none",
    }
    return {**known, **{key.replace("_", "-"): value for key, value in more.items()}}


MATRIX = {
    "x/default": axes("x86_64", "signed"),
    "x/signed": axes("x86_64", "signed"),
    "x/unsigned": axes("x86_64", "unsigned"),
    "a/default": axes("aarch64", "unsigned"),
    "a/signed": axes("aarch64", "signed"),
    "a/unsigned": axes("aarch64", "unsigned"),
}


def observed(lanes: Mapping[str, Values], *rules: Sequence[tuple[str, str]]) -> dict[str, Outcomes]:
    """One case a rule: lanes whose axes meet every (axis, value) of the rule answer otherwise."""
    found = {}
    for name, own in lanes.items():
        hits = [all(own.get(a) == v for a, v in rule) for rule in rules]
        found[name] = from_answers([[2] if hit else [1] for hit in hits])
    return found


def only(separations: tuple[Separation, ...]) -> Separation:
    assert len(separations) == 1
    return separations[0]


def test_lanes_that_agree_separate_nothing() -> None:
    assert separate(observed(MATRIX, [("arch", "mips")]), MATRIX) == ()


def test_char_alone() -> None:
    found = only(separate(observed(MATRIX, [("char", "unsigned")]), MATRIX))
    assert (found.axes, found.cause) == (("char",), "char-signedness")
    assert found.confounded == ()
    assert found.partition == (
        ("x/default", "x/signed", "a/signed"),
        ("x/unsigned", "a/default", "a/unsigned"),
    )


def test_arch_is_confounded_with_what_it_decides() -> None:
    found = only(separate(observed(MATRIX, [("arch", "aarch64")]), MATRIX))
    assert (found.axes, found.cause) == (("arch",), "architecture")
    assert found.confounded == ("wchar", "long-double", "emulator")
    assert found.separating == ()
    assert found.inseparable == ("wchar", "long-double", "emulator")


def test_the_fewest_lanes_that_decide_are_planned() -> None:
    offered = {
        "x/clang": axes("x86_64", "signed", compiler="clang"),
        "x/short-wchar": axes("x86_64", "signed", wchar="unsigned"),
        "x/long-double": axes("x86_64", "signed", long_double="113"),
        "x/both": axes("x86_64", "signed", wchar="unsigned", long_double="113"),
        "x/emulated": axes("x86_64", "signed", emulator="qemu"),
    }
    found = only(separate(observed(MATRIX, [("arch", "aarch64")]), MATRIX, candidates=offered))
    assert found.separating == ("x/both", "x/emulated")
    assert found.inseparable == ()


def test_a_lane_that_only_may_decide_is_planned_where_none_does() -> None:
    offered = {"x/other": axes("x86_64", "signed", emulator="other")}
    found = only(separate(observed(MATRIX, [("arch", "aarch64")]), MATRIX, candidates=offered))
    assert found.separating == ("x/other",)
    assert found.inseparable == ("wchar", "long-double")


@pytest.mark.parametrize(
    ("rule", "cause"), [("wchar", "wchar-signedness"), ("arch", "architecture")]
)
def test_the_planned_lane_decides(rule: str, cause: str) -> None:
    value = {"wchar": "unsigned", "arch": "aarch64"}[rule]
    lanes = {**MATRIX, "x/short-wchar": axes("x86_64", "signed", wchar="unsigned")}
    found = only(separate(observed(lanes, [(rule, value)]), lanes))
    assert (found.axes, found.cause) == ((rule,), cause)
    assert "wchar" not in found.confounded


TOGETHER = {
    "x/emulated": axes("x86_64", "signed", emulator="qemu"),
    "x/unsigned/emulated": axes("x86_64", "unsigned", emulator="qemu"),
    "x/short-wchar": axes("x86_64", "signed", wchar="unsigned"),
    "x/unsigned/short-wchar": axes("x86_64", "unsigned", wchar="unsigned"),
    "x/unsigned/long-double": axes("x86_64", "unsigned", long_double="113"),
}


@pytest.mark.parametrize(
    ("axis", "value", "cause"),
    [
        ("arch", "aarch64", "platform-arch-char"),
        ("wchar", "unsigned", "platform-char-wchar"),
        ("long-double", "113", "platform-char-long-double"),
        ("emulator", "qemu", "platform-char-emulator"),
    ],
)
def test_axes_that_act_together_are_told_from_their_rivals_together(
    axis: str, value: str, cause: str
) -> None:
    """A lane of which each axis by itself foretells nothing decides by both at once."""
    rule = [("char", "unsigned"), (axis, value)]
    known = {**MATRIX, **TOGETHER}
    every = observed(known, rule)
    ran = {name: every[name] for name in MATRIX}
    found = only(separate(ran, known, candidates=TOGETHER))
    assert found.confounded == ("wchar", "long-double", "emulator")
    assert found.separating == tuple(name for name in TOGETHER if name.startswith("x/unsigned"))
    assert found.inseparable == ()
    ran |= {name: every[name] for name in found.separating}
    told = only(separate(ran, known, candidates=TOGETHER))
    assert (told.cause, told.confounded) == (cause, ())


def test_two_axes_together() -> None:
    rule = [("char", "unsigned"), ("arch", "aarch64")]
    found = only(separate(observed(MATRIX, rule), MATRIX))
    assert (found.axes, found.cause) == (("arch", "char"), "platform-arch-char")
    assert found.confounded == ("wchar", "long-double", "emulator")


def test_three_axes_together() -> None:
    lanes = {
        f"{a}{c}{o}": axes(a, c, optimisation=o)
        for a in ("x86_64", "aarch64")
        for c in ("signed", "unsigned")
        for o in ("O0", "O2")
    }
    rule = [("char", "unsigned"), ("arch", "aarch64"), ("optimisation", "O2")]
    assert only(separate(observed(lanes, rule), lanes)).axes == ("arch", "char", "optimisation")


@pytest.mark.parametrize("effective", [True, False])
def test_fp_contraction_by_either_account_of_the_axis(effective: bool) -> None:
    """x86-64 without FMA contracts nothing, whatever the flag: the axis may say so, or the flag."""
    lanes = {
        **MATRIX,
        "x/fast": axes("x86_64", "signed", fp_contract="off" if effective else "fast"),
        "a/fast": axes("aarch64", "unsigned", fp_contract="fast"),
    }
    outcomes = {name: from_answers([[2] if name == "a/fast" else [1]]) for name in lanes}
    found = only(separate(outcomes, lanes))
    assert found.axes == (("fp-contract",) if effective else ("arch", "fp-contract"))
    assert found.cause == "fp-contraction"


def test_an_axis_that_says_more_than_was_observed_is_dropped() -> None:
    """Every lane its own emulator explains anything; arch says less and suffices."""
    lanes = {name: {**own, "cpu": name} for name, own in MATRIX.items()}
    found = only(separate(observed(lanes, [("arch", "aarch64")]), lanes))
    assert found.axes == ("arch",)
    assert "cpu" not in found.confounded


def test_two_causes_are_two_separations() -> None:
    rules = [[("char", "unsigned")], [("arch", "aarch64")], [("char", "unsigned")]]
    found = {one.cause: one.cases.tolist() for one in separate(observed(MATRIX, *rules), MATRIX)}
    assert found == {"char-signedness": [0, 2], "architecture": [1]}


def test_one_axis_set_is_preferred_where_it_explains_every_case() -> None:
    """Case 0 could be arch or char, case 1 only char: one cause, and arch is not confounded."""
    lanes = {
        "x/signed": axes("x86_64", "signed"),
        "a/unsigned": axes("aarch64", "unsigned"),
        "a/signed": axes("aarch64", "signed"),
    }
    outcomes = {
        "x/signed": from_answers([[1], [1]]),
        "a/unsigned": from_answers([[2], [2]]),
        "a/signed": from_answers([Status.UNRESOLVED, [1]]),
    }
    found = only(separate(outcomes, lanes))
    assert (found.axes, found.cases.tolist(), found.confounded) == (("char",), [0, 1], ())


def test_an_unresolved_lane_gives_no_evidence() -> None:
    outcomes = observed(MATRIX, [("char", "unsigned")])
    outcomes["x/unsigned"] = from_answers([Status.UNRESOLVED])
    assert "char" in only(separate(outcomes, MATRIX)).axes


FAILURES = [Status.CRASH, Status.TIMEOUT, Status.UNSUPPORTED, Status.ERROR]


@pytest.mark.parametrize("status", FAILURES)
def test_outcomes_of_every_kind(status: Status) -> None:
    outcomes = {
        name: from_answers([status if own["char"] == "unsigned" else [1]])
        for name, own in MATRIX.items()
    }
    assert only(separate(outcomes, MATRIX)).cause == "char-signedness"


def test_a_crash_is_one_outcome_whatever_the_signal() -> None:
    """One trap instruction ends as SIGILL on x86-64 and as SIGTRAP on aarch64: no other defect."""
    outcomes = {
        name: from_answers([Status.CRASH], {0: "SIGTRAP" if own["arch"] == "aarch64" else "SIGILL"})
        for name, own in MATRIX.items()
    }
    assert separate(outcomes, MATRIX) == ()


def test_kinds_of_failure_are_outcomes_of_their_own() -> None:
    """Crash, hang, refusal and error, each on lanes of its own, are four and not one."""
    lanes = {str(status): {"arch": "x", "locale": str(status)} for status in FAILURES}
    outcomes = {str(status): from_answers([status]) for status in FAILURES}
    found = only(separate(outcomes, lanes))
    assert found.cause == "locale"
    assert len(found.partition) == len(FAILURES)


RUN_TIME = {
    "x": axes("x86_64", "signed", locale="C", address_layout="random", link="static"),
    "x/other": axes("x86_64", "signed", locale="tr", address_layout="fixed", link="dynamic"),
}


@pytest.mark.parametrize(("axis", "lanes"), [("link", 1), ("cpu", 2), ("locale", 3)])
def test_axes_that_vary_together_are_told_apart_one_lane_after_the_other(
    axis: str, lanes: int
) -> None:
    """Four axes vary together, and each could be it: the lane that would show the first is asked.

    Where it shows nothing the first is refuted, and the next is asked for.
    """
    both = {name: {**own, "cpu": name} for name, own in RUN_TIME.items()}
    offered = {
        f"x/{one}": {**both["x"], one: both["x/other"][one]}
        for one in ("locale", "address-layout", "link", "cpu")
    }
    known = {**both, **offered}
    outcomes = {"x": from_answers([[1]]), "x/other": from_answers([[2]])}
    for _ in range(lanes):
        found = only(separate(outcomes, known, candidates=offered))
        assert (len(found.separating), found.inseparable) == (1, ())
        [lane] = found.separating
        hit = known[lane][axis] == both["x/other"][axis]
        outcomes[lane] = from_answers([[2] if hit else [1]])
    told = only(separate(outcomes, known, candidates=offered))
    assert (told.axes, told.confounded, told.separating) == ((axis,), (), ())


def test_equal_axes_with_two_outcomes_are_nondeterminism() -> None:
    outcomes = {name: from_answers([[1], [1]]) for name in MATRIX}
    outcomes["x/signed"] = from_answers([[2], [1]])
    found = only(separate(outcomes, MATRIX))
    assert (found.cause, found.axes, found.cases.tolist()) == ("nondeterminism", (), [0])
    assert found.contradicted == 1


def test_a_repeat_that_differs_is_nondeterminism_even_where_lanes_agree() -> None:
    outcomes = {name: from_answers([[1], [1]]) for name in MATRIX}
    found = only(separate(outcomes, MATRIX, repeats={"x/signed": [1]}))
    assert (found.cause, found.cases.tolist()) == ("nondeterminism", [1])


def test_nondeterminism_swallows_patterns_that_chance_could_have_made() -> None:
    outcomes = observed(MATRIX, [("char", "unsigned")], [("arch", "mips")])
    found = only(separate(outcomes, MATRIX, repeats={"a/signed": [1]}))
    assert (found.cause, found.cases.tolist(), found.contradicted) == ("nondeterminism", [0, 1], 1)


def test_many_lanes_do_not_overflow_the_patterns() -> None:
    lanes = {f"l{n}": {"arch": "x", "cpu": str(n % 2)} for n in range(40)}
    outcomes = {name: from_answers([[int(own["cpu"])]]) for name, own in lanes.items()}
    found = only(separate(outcomes, lanes))
    assert (found.axes, found.cause) == (("cpu",), "cpu")


def test_an_axis_some_lanes_do_not_state() -> None:
    lanes: dict[str, Values] = {"a": {"arch": "x"}, "b": {"arch": "x", "locale": "C"}}
    outcomes = {"a": from_answers([[1]]), "b": from_answers([[2]])}
    assert only(separate(outcomes, lanes)).cause == "locale"


def test_a_cause_no_axis_is_known_for_is_named_by_its_axes() -> None:
    assert cause_of(["optimisation", "compiler"]) == "platform-compiler-optimisation"
    assert cause_of(["moon-phase"]) == "platform-moon-phase"
    assert cause_of(["fp-contract", "arch"]) == "fp-contraction"


def test_induced_is_a_mask_of_every_case_spoken_of() -> None:
    rules = [[("char", "unsigned")], [("arch", "mips")], [("arch", "aarch64")]]
    found = separate(observed(MATRIX, *rules), MATRIX)
    assert np.array_equal(induced(found, 3), [True, False, True])
    assert not induced((), 2).any()


def test_the_axes_of_a_cause_are_those_it_is_named_by() -> None:
    assert axes_of_cause("architecture") == (("arch",),)
    assert set(axes_of_cause("fp-contraction")) == {("fp-contract",), ("arch", "fp-contract")}
    for axes in ((), ("arch", "char"), ("long-double", "fp-contract"), ("locale", "arch", "cpu")):
        cause = cause_of(axes)
        assert [set(own) for own in axes_of_cause(cause)] == ([set(axes)] if axes else [])
    assert axes_of_cause("platform-moon-phase") == ()
    assert axes_of_cause("platform-moon-phase", ["moon", "moon-phase"]) == (("moon-phase",),)
    assert axes_of_cause("nul-ends-text") == ()
