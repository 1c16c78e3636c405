"""One hypothesis on trial: what the oracle answers under it, held against what was observed.

Nothing is started here: the oracle comes as a callable.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.diff import Mask, Rows, differs
from harness.errors import TokparityError
from harness.hypotheses.hypothesis import Description, Hypothesis, unchanged
from harness.hypotheses.input import POLICIES, RECOMMENDED
from harness.hypotheses.normalizer import beside_added, normalized_contents, segments
from harness.hypotheses.seen import Seen
from harness.outcomes import Outcomes, Status, from_answers

# The oracle under a description: one outcome a text.
Encode = Callable[[Description, Sequence[str]], Outcomes]
# A description's normalizer alone: one normalized text a text.
Normalized = Callable[[Description, Sequence[str]], Sequence[str]]
# What becomes of bytes that need not be UTF-8.
Decode = Callable[[bytes], str]

# Mismatching cases asked before all of them are: most hypotheses fall on the first.
_PROBES = (1, 8)


@dataclass(frozen=True, eq=False)
class Examined:
    """What became of one hypothesis.

    ``tried`` mismatching cases were asked, ``explained`` of them came out as observed;
    ``would_break`` agreeing cases would change (None: not asked, the mismatches had refuted it);
    ``refuted_by`` is the first case that contradicts it. ``normalized_differs`` is how many judged
    cases it gives another normalized form, ``sets_equal`` whether those are the mismatching ones
    (both None unless the normalizer is changed). ``predicted`` holds its answer to all n cases,
    ``UNGRADED`` where the oracle has none, and ``changes`` bool[n] where that is not the expected
    one; both None when refuted before every case was asked. ``note`` is the oracle's refusal.
    """

    hypothesis: Hypothesis
    accepted: bool
    tried: int = 0
    explained: int = 0
    would_break: int | None = None
    refuted_by: int | None = None
    normalized_differs: int | None = None
    sets_equal: bool | None = None
    predicted: Outcomes | None = None
    changes: Mask | None = None
    note: str | None = None


@dataclass(frozen=True, eq=False)
class Trial:
    """The evidence every hypothesis is held against."""

    seen: Seen
    encode: Encode
    normalized: Normalized | None

    def run(self, hypothesis: Hypothesis, policy: str | None, *, thorough: bool) -> Examined:
        """Test one hypothesis, under the byte policy known or, unknown, under each that differs."""
        names = [RECOMMENDED if policy is None or policy not in POLICIES else policy]
        if policy is None and "input" in hypothesis.stages:
            names = list(POLICIES)
        best: Examined | None = None
        for name in names:
            try:
                tested = self._test(hypothesis, POLICIES[name], thorough=thorough)
            except TokparityError as refusal:
                return Examined(hypothesis, accepted=False, note=refusal.what)
            if best is None or tested.accepted or tested.explained > best.explained:
                best = tested
            if tested.accepted or not self._makes_invalid(hypothesis):
                break
        assert best is not None  # noqa: S101 - names is never empty
        return best

    def _makes_invalid(self, hypothesis: Hypothesis) -> bool:
        """Whether the input change leaves bytes that are not UTF-8, so that a policy matters."""
        for row in np.flatnonzero(self.seen.judged).tolist():
            for piece in hypothesis.text(self.seen.cases[row]):
                try:
                    piece.decode("utf-8")
                except UnicodeDecodeError:
                    return True
        return False

    def predict(self, hypothesis: Hypothesis, rows: Sequence[int], decode: Decode) -> Outcomes:
        """Return the oracle's answers to the cases at ``rows`` under the hypothesis."""
        wanted = np.asarray(rows, dtype=np.int64)
        only_text = hypothesis.describe(self.seen.description) == self.seen.description
        if only_text and hypothesis.ids is unchanged:
            # Only the input changes: a case it leaves alone keeps its expected answer.
            touched = np.asarray(
                [hypothesis.text(self.seen.cases[row]) != (self.seen.cases[row],) for row in rows],
                dtype=np.bool_,
            )
            answers = self._answers(hypothesis, wanted[touched], decode)
            return spliced(
                self.seen.expected.take(wanted), answers, np.flatnonzero(touched), dense=True
            )
        return self._answers(hypothesis, wanted, decode)

    def _answers(self, hypothesis: Hypothesis, rows: Rows, decode: Decode) -> Outcomes:
        data = [self.seen.cases[row] for row in rows.tolist()]
        return answers(data, hypothesis, self.seen.description, self.encode, decode)

    def _test(self, hypothesis: Hypothesis, decode: Decode, *, thorough: bool) -> Examined:
        # Short cases first: they cost least and refute as well.
        order = sorted(self.seen.mismatching.tolist(), key=lambda row: len(self.seen.cases[row]))
        for size in _PROBES:
            rows = order[:size]
            wrong = differs(self.predict(hypothesis, rows, decode), self.seen.observed.take(rows))
            if wrong.any() and not thorough:
                return Examined(
                    hypothesis,
                    accepted=False,
                    tried=len(rows),
                    explained=int((~wrong).sum()),
                    refuted_by=rows[int(np.argmax(wrong))],
                )
        return self.everywhere(hypothesis, decode)

    def everywhere(self, hypothesis: Hypothesis, decode: Decode) -> Examined:
        """Test one hypothesis on every case the oracle can take."""
        graded = np.flatnonzero(self.seen.expected.status == Status.OK)
        answers = self.predict(hypothesis, graded.tolist(), decode)
        predicted = spliced(self.seen.expected, answers, graded, dense=True)
        wrong = differs(predicted, self.seen.observed) & self.seen.judged
        is_mismatch = np.zeros_like(self.seen.judged)
        is_mismatch[self.seen.mismatching] = True
        missed, broken = np.flatnonzero(wrong & is_mismatch), np.flatnonzero(wrong & ~is_mismatch)
        contradicting = np.concatenate([missed, broken])
        sizes = self._normalized_set(hypothesis, is_mismatch)
        return Examined(
            hypothesis,
            accepted=not contradicting.shape[0] and sizes[1] is not False,
            tried=int(self.seen.mismatching.shape[0]),
            explained=int(self.seen.mismatching.shape[0] - missed.shape[0]),
            would_break=int(broken.shape[0]),
            refuted_by=int(contradicting[0]) if contradicting.shape[0] else None,
            normalized_differs=sizes[0],
            sets_equal=sizes[1],
            predicted=predicted,
            changes=differs(predicted, self.seen.expected)
            & (self.seen.expected.status == Status.OK),
        )

    def _normalized_set(
        self, hypothesis: Hypothesis, is_mismatch: Mask
    ) -> tuple[int | None, bool | None]:
        """Return (how many judged cases get another normalized form, are they the mismatches)."""
        if self.normalized is None or hypothesis.stages != {"normalizer"}:
            return None, None
        rows = np.flatnonzero(self.seen.judged)
        texts = [self.seen.cases[row].decode("utf-8") for row in rows.tolist()]
        parts = [segments(text, self.seen.description) for text in texts]
        flat = [part for own in parts for part in own]
        before = self._normal_forms(self.seen.description, flat)
        after = self._normal_forms(hypothesis.describe(self.seen.description), flat)
        changed = np.asarray([a != b for a, b in zip(before, after, strict=True)], dtype=np.bool_)
        starts = np.cumsum([0] + [len(own) for own in parts])[:-1]
        cases = np.logical_or.reduceat(changed, starts) if rows.shape[0] else changed
        return int(cases.sum()), bool(np.array_equal(cases, is_mismatch[rows]))

    def _normal_forms(
        self, description: Description, texts: Sequence[str]
    ) -> list[tuple[str, ...]]:
        """Return the texts' normal forms, as the stages after the normalizer see them."""
        assert self.normalized is not None  # noqa: S101 - its one caller has looked
        contents = normalized_contents(self.seen.description)
        forms = self.normalized(description, [*contents, *texts])
        own = forms[: len(contents)]
        return [beside_added(form, own) for form in forms[len(contents) :]]

    def closest(self, group: Sequence[Examined]) -> list[Examined]:
        """Return the accepted of one name, or its closest refuted one, asked every mismatch."""
        accepted = [one for one in group if one.accepted]
        if accepted:
            return accepted
        best = max(group, key=lambda one: (one.predicted is not None, one.explained, -one.tried))
        if best.predicted is None and best.note is None:
            rows = self.seen.mismatching
            answer = self.predict(best.hypothesis, rows.tolist(), POLICIES[RECOMMENDED])
            wrong = differs(answer, self.seen.observed.take(rows))
            best = replace(best, tried=int(rows.shape[0]), explained=int((~wrong).sum()))
        return [best]


def answers(
    data: Sequence[bytes],
    hypothesis: Hypothesis | None,
    description: Description,
    encode: Encode,
    decode: Decode,
) -> Outcomes:
    """Encode each text under the hypothesis: piece by piece, the pieces' ids laid end to end."""
    if not data:
        return Outcomes(
            np.empty(0, np.uint8), np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.uint32)
        )
    pieces = [(one,) if hypothesis is None else hypothesis.text(one) for one in data]
    changed = description if hypothesis is None else hypothesis.describe(description)
    found = encode(changed, [decode(piece) for own in pieces for piece in own])
    bounds = np.cumsum([0] + [len(own) for own in pieces])
    status = np.maximum.reduceat(found.status, bounds[:-1])
    joined = Outcomes(status, found.offsets[bounds], found.ids)
    if hypothesis is None or hypothesis.ids is unchanged:
        return joined
    return from_answers(
        [
            hypothesis.ids(joined.answer(row)) if one == Status.OK else Status(one)
            for row, one in enumerate(status.tolist())
        ]
    )


def spliced(base: Outcomes, other: Outcomes, rows: Rows, *, dense: bool = False) -> Outcomes:
    """Return ``base`` with the cases at ``rows`` from ``other``.

    ``other`` holds as many cases as ``base``, or with ``dense`` exactly the cases at ``rows``.
    """
    source = np.arange(len(base), dtype=np.int64)
    source[rows] = len(base) + (np.arange(rows.shape[0]) if dense else rows)
    joined = Outcomes(
        np.concatenate([base.status, other.status]),
        np.concatenate([base.offsets, base.offsets[-1] + other.offsets[1:]]),
        np.concatenate([base.ids, other.ids]),
    )
    return joined.take(source)
