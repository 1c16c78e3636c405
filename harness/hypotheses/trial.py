"""Hypotheses on trial: what the oracle answers under each, held against what was observed.

Nothing is started here: the oracle comes as a callable. What is asked of several hypotheses at
once is asked description by description, so that the oracle is switched to each but once, and every
text under a description is encoded but once.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from harness.diff import Mask, Rows, differs
from harness.errors import TokparityError
from harness.hypotheses.answering import Encode, answers_under, spliced, text_of
from harness.hypotheses.hypothesis import STAGES, Description, Hypothesis, combine, unchanged, whole
from harness.hypotheses.input import POLICIES, RECOMMENDED
from harness.hypotheses.normal_forms import Normalized, changed_forms
from harness.hypotheses.seen import Seen
from harness.outcomes import Outcomes, Status, from_answers

# Tells one description from another, in an order in which switching is cheap.
Key = tuple[tuple[str, str], ...]
# Which of the cases asked came out as observed, or the oracle's refusal of the description.
Answer = Mask | str

# The parts of a description, those that are costly to switch first.
_COSTLY_FIRST = ("added_tokens", "model", "normalizer", "pre_tokenizer", "post_processor")


@dataclass(frozen=True, eq=False)
class Examined:
    """What became of one hypothesis.

    ``tried`` mismatching cases were asked (all, or as many as say how closely it comes),
    ``explained`` of them came out as observed; ``would_break`` agreeing cases would change (None:
    not asked, the mismatches had refuted it); ``refuted_by`` is the first case that contradicts it.
    ``normalized_differs`` is how many judged cases it gives another normalized form, ``sets_equal``
    whether those are the mismatching ones (both None unless the normalizer is changed).
    ``predicted`` holds its answer to all n cases, ``UNGRADED`` where the oracle has none, and
    ``changes`` bool[n] where that is not the expected one; both None when refuted before every case
    was asked. ``note`` is the oracle's refusal, or why what fits is not accepted.

    ``needed`` counts, for each part of a combination, the mismatching cases that come out as
    observed only with it. ``thin``: an inferred parameter, or a part, rests on a single case.
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
    needed: tuple[int, ...] = ()
    thin: bool = False


@dataclass(frozen=True, eq=False)
class Candidate:
    """A hypothesis under one byte policy, with the description that it makes."""

    hypothesis: Hypothesis
    policy: str
    description: Description
    key: Key

    @property
    def parts(self) -> tuple[Hypothesis, ...]:
        """The single changes it is made of, in the order in which they are made."""
        return self.hypothesis.parts or (self.hypothesis,)


@dataclass(frozen=True, eq=False)
class Trial:
    """The evidence every hypothesis is held against."""

    seen: Seen
    encode: Encode
    normalized: Normalized | None
    # (change, description) → the description changed, and the descriptions' keys, by identity.
    _described: dict[tuple[int, int], tuple[object, object, Description]] = field(
        default_factory=dict
    )
    _digests: dict[int, tuple[object, str]] = field(default_factory=dict)

    def candidates(self, hypothesis: Hypothesis, policy: str | None) -> list[Candidate]:
        """Return the hypothesis under the byte policy known or, unknown, under each that differs.

        ``policy`` is None where it is not known what the subject makes of invalid UTF-8.
        """
        names = [policy if policy in POLICIES else RECOMMENDED]
        if policy is None and hypothesis.text is not whole and self._makes_invalid(hypothesis):
            names = list(POLICIES)
        description = self._describe(hypothesis, self.seen.description)
        key = self._key(description)
        return [Candidate(hypothesis, name or RECOMMENDED, description, key) for name in names]

    def joined(self, parts: Sequence[Candidate]) -> Candidate | None:
        """Return the combination; None where it is one of them again, or policies contradict."""
        ordered = sorted(
            [(one, part) for one in parts for part in one.parts],
            key=lambda pair: (STAGES.index(pair[1].stage), pair[1].order),
        )
        hypotheses = [part for _, part in ordered]
        if len({part.name for part in hypotheses}) < len(hypotheses):
            return None
        # Only an input change makes invalid UTF-8, so only its policy is more than a default.
        policies = {one.policy for one, part in ordered if part.text is not whole}
        if len(policies) > 1:
            return None
        description = self.seen.description
        for part in hypotheses[:-1]:
            description = self._describe(part, description)
        description = hypotheses[-1].describe(description)
        key = self._key(description)
        if self._overridden(parts, key):
            return None
        policy = policies.pop() if policies else parts[0].policy
        return Candidate(combine(hypotheses), policy, description, key)

    def _overridden(self, parts: Sequence[Candidate], key: Key) -> bool:
        """Whether the description is as without one of the parts, which changes nothing else."""
        for place, part in enumerate(parts):
            if part.hypothesis.text is whole and part.hypothesis.ids is unchanged:
                others = (*parts[:place], *parts[place + 1 :])
                without = others[0] if len(others) == 1 else self.joined(others)
                if without is None or without.key == key:
                    return True
        return False

    def _describe(self, hypothesis: Hypothesis, description: Description) -> Description:
        # Kept, so that what a change puts in is one object wherever the change is made.
        place = (id(hypothesis), id(description))
        if place not in self._described:
            made = hypothesis.describe(description)
            self._described[place] = (hypothesis, description, made)
        return self._described[place][2]

    def _key(self, description: Description) -> Key:
        declared = self.seen.description
        if description is declared:
            return ()
        names = (*_COSTLY_FIRST, *sorted((description.keys() | declared.keys()) - _KNOWN))
        found = []
        for name in names:
            value, own = description.get(name), declared.get(name)
            if value is not own and value != own:
                found.append((name, self._digest(name, value)))
        return tuple(found)

    def _digest(self, name: str, value: object) -> str:
        if name != "added_tokens":
            return hashlib.sha1(_json(value), usedforsecurity=False).hexdigest()
        if id(value) not in self._digests:
            digest = hashlib.sha1(_json(value), usedforsecurity=False).hexdigest()
            self._digests[id(value)] = (value, digest)
        return self._digests[id(value)][1]

    def _makes_invalid(self, hypothesis: Hypothesis) -> bool:
        """Whether the input change leaves bytes that are not UTF-8, so that a policy matters."""
        for row in np.flatnonzero(self.seen.judged).tolist():
            for piece in hypothesis.text(self.seen.cases[row]):
                try:
                    piece.decode("utf-8")
                except UnicodeDecodeError:
                    return True
        return False

    def agree(self, asked: Sequence[tuple[Candidate, Sequence[int]]]) -> list[Answer]:
        """Return for each candidate bool[k]: which of the k cases asked come out as observed.

        A string in its place is the oracle's refusal of the description.
        """
        groups: dict[Key, list[int]] = {}
        for index, (candidate, _) in enumerate(asked):
            groups.setdefault(candidate.key, []).append(index)
        found: list[Answer] = [""] * len(asked)
        for key in sorted(groups):
            members = groups[key]
            for index, answer in zip(
                members, self._agree_alike([asked[index] for index in members]), strict=True
            ):
                found[index] = answer
        return found

    def _agree_alike(self, asked: Sequence[tuple[Candidate, Sequence[int]]]) -> list[Answer]:
        """Do the same for candidates of one description: one call of the oracle, if any."""
        texts: dict[str, int] = {}
        wanted: list[list[list[int] | None]] = []
        for candidate, rows in asked:
            hypothesis, decode = candidate.hypothesis, POLICIES[candidate.policy]
            idle = not candidate.key and hypothesis.ids is unchanged
            places: list[list[int] | None] = []
            for row in rows:
                data = self.seen.cases[row]
                pieces = hypothesis.text(data)
                if idle and pieces == (data,):
                    places.append(None)  # nothing changes: the expected answer stands
                else:
                    own = [texts.setdefault(text_of(one, decode), len(texts)) for one in pieces]
                    places.append(own)
            wanted.append(places)
        outcomes = from_answers([])
        if texts:
            try:
                outcomes = self.encode(asked[0][0].description, list(texts))
            except TokparityError as refusal:
                return [refusal.what for _ in asked]
        return [
            np.asarray(
                [
                    self._came_out(candidate.hypothesis, row, own, outcomes)
                    for row, own in zip(rows, places, strict=True)
                ],
                dtype=np.bool_,
            )
            for (candidate, rows), places in zip(asked, wanted, strict=True)
        ]

    def _came_out(
        self, hypothesis: Hypothesis, row: int, pieces: list[int] | None, outcomes: Outcomes
    ) -> bool:
        if self.seen.observed.status[row] != Status.OK:
            return False
        observed = self.seen.observed.answer(row)
        if pieces is None:
            return np.array_equal(self.seen.expected.answer(row), observed)
        if any(outcomes.status[piece] != Status.OK for piece in pieces):
            return False
        own = [outcomes.answer(piece) for piece in pieces]
        ids = own[0] if len(own) == 1 else np.concatenate(own or [np.empty(0, np.uint32)])
        return np.array_equal(hypothesis.ids(ids), observed)

    def everywhere(self, candidate: Candidate) -> Examined:
        """Test one hypothesis on every case the oracle can take."""
        try:
            return self._everywhere(candidate)
        except TokparityError as refusal:
            return Examined(candidate.hypothesis, accepted=False, note=refusal.what)

    def _everywhere(self, candidate: Candidate) -> Examined:
        hypothesis, seen = candidate.hypothesis, self.seen
        graded = np.flatnonzero(seen.expected.status == Status.OK)
        answers = self._predict(candidate, graded)
        predicted = spliced(seen.expected, answers, graded, dense=True)
        wrong = differs(predicted, seen.observed) & seen.judged
        is_mismatch = np.zeros_like(seen.judged)
        is_mismatch[seen.mismatching] = True
        missed, broken = np.flatnonzero(wrong & is_mismatch), np.flatnonzero(wrong & ~is_mismatch)
        contradicting = np.concatenate([missed, broken])
        sizes: tuple[int | None, bool | None] = (None, None)
        if self.normalized is not None and hypothesis.stages == {"normalizer"}:
            sizes = changed_forms(seen, self.normalized, candidate.description, is_mismatch)
        return Examined(
            hypothesis,
            accepted=not contradicting.shape[0] and sizes[1] is not False,
            tried=int(seen.mismatching.shape[0]),
            explained=int(seen.mismatching.shape[0] - missed.shape[0]),
            would_break=int(broken.shape[0]),
            refuted_by=int(contradicting[0]) if contradicting.shape[0] else None,
            normalized_differs=sizes[0],
            sets_equal=sizes[1],
            predicted=predicted,
            changes=differs(predicted, seen.expected) & (seen.expected.status == Status.OK),
            thin=bool(hypothesis.parameters) and seen.mismatching.shape[0] == 1,
        )

    def _predict(self, candidate: Candidate, rows: Rows) -> Outcomes:
        """Return the oracle's answers to the cases at ``rows`` under the hypothesis."""
        hypothesis = candidate.hypothesis
        if not candidate.key and hypothesis.ids is unchanged:
            # Only the input changes: a case it leaves alone keeps its expected answer.
            touched = np.asarray(
                [
                    hypothesis.text(self.seen.cases[row]) != (self.seen.cases[row],)
                    for row in rows.tolist()
                ],
                dtype=np.bool_,
            )
            answers = self._answers(candidate, rows[touched])
            return spliced(
                self.seen.expected.take(rows), answers, np.flatnonzero(touched), dense=True
            )
        return self._answers(candidate, rows)

    def _answers(self, candidate: Candidate, rows: Rows) -> Outcomes:
        data = [self.seen.cases[row] for row in rows.tolist()]
        decode = POLICIES[candidate.policy]
        return answers_under(candidate.description, data, candidate.hypothesis, self.encode, decode)


_KNOWN = frozenset(_COSTLY_FIRST)


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, default=repr).encode()
