"""Attribution against the lanes: ``python scripts/bench_attribution.py CORPUS CACHE``.

Runs the bundled subject with every real tokenizer on the default lanes and times how long the lanes
take; then lets the whole list of hypotheses explain defects in the same cases, of the kinds that
cost differently: one cause, two causes at once, and none of the list. Prints one JSON object: the
lanes' seconds, and for each defect the seconds over all tokenizers, `encode` and `encode_special`.
"""

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from harness.attribute import attribute
from harness.config import Config, Overrides, resolve
from harness.expect import OracleOnDemand
from harness.judgement import decoder, description, encoder, normalizer
from harness.outcomes import Outcomes, Status, from_answers
from harness.pipeline import run
from harness.plan import plan_run
from harness.watch import Watch

Answers = Callable[[Sequence[bytes]], Outcomes]
Defect = Callable[[Sequence[bytes], Answers], Outcomes]


def one_cause(cases: Sequence[bytes], answers: Answers) -> Outcomes:
    """Drop the text's last byte."""
    return answers([data[:-1] for data in cases])


def two_causes(cases: Sequence[bytes], answers: Answers) -> Outcomes:
    """Drop the text's last byte, and of long answers all but the first 40 ids."""
    found = one_cause(cases, answers)
    return from_answers([found.answer(row)[:40] for row in range(len(found))])


def no_cause(cases: Sequence[bytes], answers: Answers) -> Outcomes:
    """Reverse every third answer."""
    found = answers(cases)
    return from_answers(
        [found.answer(row)[:: -1 if row % 3 == 0 else 1] for row in range(len(found))]
    )


def lanes_seconds(config: Config) -> float:
    """Run the job and return how long its lanes took."""
    begun: dict[str, float] = {}

    def note(name: str, _: int | None) -> None:
        begun.setdefault(name, time.perf_counter())

    report = run(config, Watch(stage=note))
    if report.exit:
        raise SystemExit(f"the bundled subject does not pass: exit {report.exit}")
    return begun["causes"] - begun["lanes"]


def attribution_seconds(config: Config, defect: Defect) -> tuple[float, int]:
    """Return the seconds attribution takes with all tokenizers, and how many it explained."""
    plan = plan_run(config)
    cases = [case.data for case in plan.cases]
    texts = [data.decode("utf-8", "replace") for data in cases]
    seconds, explained = 0.0, 0
    for tokenizer in plan.tokenizers:
        oracle = OracleOnDemand(tokenizer)
        for special in (False, True):

            def answers(data: Sequence[bytes], special: bool = special) -> Outcomes:
                wanted = [one.decode("utf-8", "replace") for one in data]
                return oracle().encode(wanted, special=special)  # noqa: B023 - used at once

            expected = oracle().encode(texts, special=special)
            observed = defect(cases, answers)
            begun = time.perf_counter()
            found = attribute(
                cases,
                expected,
                observed,
                np.asarray(expected.status == Status.OK),
                description(oracle, special=special),
                encoder(oracle),
                normalized=normalizer(oracle),
                decode_ids=decoder(oracle),
            )
            seconds += time.perf_counter() - begun
            explained += bool(found.causes)
    return seconds, explained


def main() -> None:
    """Measure, and print one JSON object."""
    corpus, cache = sys.argv[1:]
    config = resolve(
        None,
        Overrides(corpora=(corpus,), tokenizers=("all",), cache=Path(cache), fresh=True, jobs=2),
    )
    measured: dict[str, object] = {"lanes": lanes_seconds(config)}
    for defect in (one_cause, two_causes, no_cause):
        seconds, explained = attribution_seconds(config, defect)
        measured[defect.__name__] = {"seconds": seconds, "explained": explained}
    json.dump(measured, sys.stdout)


if __name__ == "__main__":
    main()
