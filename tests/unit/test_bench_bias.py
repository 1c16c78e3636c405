"""Bias and spread: the figures of the two public reports, signs, bounds."""

import math
from pathlib import Path

import pytest

from harness.served.bench_text import effect, percent
from harness.served.benchfiles import Run
from harness.served.bias import (
    Range,
    bias,
    cost_of_milliseconds,
    cost_of_rate,
    differing,
    output_rate,
    spread,
)
from tests.unit.benched import run, vllm


def timed(tmp_path: Path, lengths: list[int], duration: float, concurrency: int | None = 1) -> Run:
    return run(tmp_path, vllm(lengths, duration=duration, max_concurrency=concurrency))


def test_5942_of_6144_tokens(tmp_path: Path) -> None:
    found = timed(tmp_path, [1024, 1024, 915, 1024, 1024, 931], 174.39)
    assert found.input_tokens == 5942
    one = bias(found, 6144 - 5942, cost_of_milliseconds(1.027))
    assert one.missing == 202
    assert one.seconds is not None
    assert one.seconds.low == one.seconds.high == pytest.approx(0.2075, abs=5e-5)
    assert one.output is not None
    assert effect(one.output) == "+0.119 %"
    assert one.lower_bound


def test_47072_of_49152_tokens(tmp_path: Path) -> None:
    found = timed(tmp_path, [1024] * 44 + [504] * 4, 271.4, 4)
    assert found.input_tokens == 47072
    one = bias(found, 2080, cost_of_rate(1300, 1800))
    assert one.output is not None
    assert one.output.low * 100 == pytest.approx(0.426, abs=5e-4)
    assert one.output.high * 100 == pytest.approx(0.590, abs=5e-4)
    assert effect(one.output) == "+0.43 to +0.59 %"
    assert not one.lower_bound
    assert "up to 4 requests overlapped" in one.why


def test_the_two_coefficients_of_variation_of_three_repetitions() -> None:
    # Three values a, a(1+d), a(1-d): the population's CV is d × √(2/3), the sample's d.
    apart = 0.000390 * math.sqrt(1.5)
    found = spread([40.0 * (1 - apart), 40.0, 40.0 * (1 + apart)])
    assert found is not None
    assert f"{found.population * 100:.4f} {found.sample * 100:.4f}" == "0.0390 0.0478"
    assert found.sample / found.population == pytest.approx(math.sqrt(1.5))


def test_effects_are_exact_and_not_the_first_order_only(tmp_path: Path) -> None:
    found = timed(tmp_path, [900], 10.0)  # 16 tokens out
    one = bias(found, 100, cost_of_milliseconds(10))  # one second of ten saved
    assert one.output is not None
    assert one.output.low == one.output.high == pytest.approx(0.1)
    # Reported (900+16)/10 a second; would have been (1000+16)/11.
    assert one.total is not None
    assert one.total.low == pytest.approx((916 / 10) / (1016 / 11) - 1)
    assert one.total_if_wrong == pytest.approx(916 / 1016 - 1)


def test_tokens_too_many_turn_the_signs_round(tmp_path: Path) -> None:
    one = bias(timed(tmp_path, [1100], 10.0), -100, cost_of_rate(100, 200))
    assert one.output is not None
    assert one.output.low == pytest.approx(-0.1)
    assert one.output.high == pytest.approx(-0.05)
    assert effect(one.output) == "-10 to -5.0 %"
    assert one.total_if_wrong is not None
    assert one.total_if_wrong > 0
    assert not one.lower_bound


@pytest.mark.parametrize(("concurrency", "bound"), [(1, True), (2, False), (None, False)])
def test_a_lower_bound_only_where_requests_did_not_overlap(
    tmp_path: Path, concurrency: int | None, bound: bool
) -> None:
    found = timed(tmp_path, [900], 10.0, concurrency)
    assert bias(found, 100, cost_of_milliseconds(1)).lower_bound is bound


def test_without_a_cost_or_a_duration_there_is_no_size(tmp_path: Path) -> None:
    assert bias(timed(tmp_path, [900], 10.0), 100, None).output is None
    assert bias(timed(tmp_path, [900], 0.0), 100, cost_of_milliseconds(1)).output is None


def test_one_run_has_no_spread() -> None:
    assert spread([1.0]) is None
    assert spread([0.0, 1.0]) is None
    same = spread([2.0, 2.0])
    assert same is not None
    assert same.sample == 0


def test_the_output_rate_is_the_files_own_else_computed(tmp_path: Path) -> None:
    assert output_rate(run(tmp_path, vllm([8], output_throughput=8.5))) == 8.5
    assert output_rate(run(tmp_path, vllm([8], output_throughput=None))) == 8.0
    assert output_rate(run(tmp_path, vllm([8], output_throughput=None, duration=None))) is None


def test_runs_that_are_no_repetitions(tmp_path: Path) -> None:
    one, other = run(tmp_path, vllm([8])), run(tmp_path, vllm([8], duration=2.01))
    assert differing([one, other]) == ()
    assert differing([one, one]) == ("one run is there twice",)
    assert differing([one, run(tmp_path, vllm([8, 8], model_id="n"))]) == (
        "the model differs",
        "the number of requests differs",
    )


def test_a_range_whose_ends_look_alike_is_one_number() -> None:
    assert effect(Range(0.0101, 0.0103)) == "+1.02 %"
    assert effect(Range(0.010, 0.012)) == "+1.0 to +1.2 %"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0 %"),
        (0.00119, "+0.119 %"),
        (-0.5, "-50.0 %"),
        (1.5, "+150 %"),
        (0.000001, "+0.000100 %"),
    ],
)
def test_three_digits_of_an_effect(value: float, shown: str) -> None:
    assert percent(value) == shown
