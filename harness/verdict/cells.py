"""The table's numbers: how the cases of each corpus came out, by lane and tokenizer."""

from collections.abc import Sequence

import numpy as np

from harness.report.model import Cell
from harness.verdict.question import Grade, Grades, Question


def cells(answers: Sequence[tuple[Question, Grades]], only: str | None = None) -> tuple[Cell, ...]:
    """Return one cell for each lane, tokenizer and corpus, in the order in which they were asked.

    A case counts once, with the worst of what its operations came to. ``only`` keeps one lane.
    """
    found: list[Cell] = []
    tokenizers = dict.fromkeys(question.tokenizer for question, _ in answers)
    for tokenizer in tokenizers:
        own = [answer for answer in answers if answer[0].tokenizer == tokenizer]
        cases = list(dict.fromkeys(case for question, _ in own for case in question.cases))
        place = {case: index for index, case in enumerate(cases)}
        rows = [np.asarray([place[case] for case in question.cases]) for question, _ in own]
        corpora = list(dict.fromkeys(case.partition("/")[0] for case in cases))
        number = {corpus: index for index, corpus in enumerate(corpora)}
        corpus_of = np.asarray([number[case.partition("/")[0]] for case in cases], dtype=np.int64)
        for lane in dict.fromkeys(lane for question, _ in own for lane in question.observed):
            if only is not None and lane != only:
                continue
            # -1: no operation asked this lane the case, so it has no cell to count in.
            worst = np.full(len(cases), -1, dtype=np.int16)
            for (question, graded), at in zip(own, rows, strict=True):
                lanes = list(question.observed)
                if lane in lanes and at.shape[0]:
                    np.maximum.at(worst, at, graded[lanes.index(lane)].astype(np.int16))
            for corpus, index in number.items():
                here = worst[(corpus_of == index) & (worst >= 0)]
                count = np.bincount(here, minlength=len(Grade)).tolist()
                found.append(
                    Cell(
                        lane=lane,
                        tokenizer=tokenizer,
                        corpus=corpus,
                        cases=int(here.shape[0]),
                        passed=count[Grade.PASS],
                        fail=count[Grade.FAIL],
                        xfail=count[Grade.XFAIL],
                        xpass=count[Grade.XPASS],
                        crash=count[Grade.CRASH],
                        timeout=count[Grade.TIMEOUT],
                        unsupported=count[Grade.UNSUPPORTED],
                        unresolved=count[Grade.UNRESOLVED],
                        ungraded=count[Grade.UNGRADED],
                    )
                )
    return tuple(found)
