"""The search for causes: single changes first, then pairs, then triples; the smallest that holds.

A hypothesis holds when the oracle, so changed, gives what was observed on **every** judged case.
Most fall on the first short mismatching case, so few are asked more
(:mod:`harness.hypotheses.panel`); what is asked together is asked description by description
(:mod:`harness.hypotheses.trial`).

A combination is looked for only where no smaller one holds, so each of its parts is needed; every
part must besides be needed by a mismatching case, and there must be twice as many mismatching cases
as parts. What fits and has less evidence than that is reported as not accepted: never a wrong name.

The bounds below keep the search of what cannot be explained short. Within :data:`MOST_PAIRS` pairs
those of changes that each explain some case by themselves come first, then those of which one does.
Triples are tried around the :data:`AROUND` pairs that explain most, :data:`MOST_TRIPLES` in all.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from harness.diff import Mask
from harness.hypotheses.hypothesis import Hypothesis
from harness.hypotheses.panel import Panel, Tried
from harness.hypotheses.seen import Seen
from harness.hypotheses.trial import Candidate, Examined, Trial

Propose = Callable[[Seen], Sequence[Hypothesis]]

# Hypotheses of one name, with different parameters, that combinations are made of.
_VARIANTS = 24
# Changes that explain some mismatch, beside each of which parameters are inferred anew.
_REFINED = 12
MOST_PAIRS = 20_000
AROUND = 8
MOST_TRIPLES = 6_000
# Refuted combinations of one size that are reported, the closest.
_REPORTED = 3


@dataclass(frozen=True, eq=False)
class Found:
    """What the search found.

    ``causes``  the accepted hypotheses of the smallest size, ties included.
    ``tested``  every accepted hypothesis; of the refuted the closest of each name; the closest
                combinations.
    ``asked``   how many hypotheses of each size were tried, singles first.
    """

    causes: tuple[Examined, ...]
    tested: tuple[Examined, ...]
    asked: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Search:
    """A search under way: the trial, what proposes, and the cases hypotheses are compared by."""

    trial: Trial
    policy: str | None
    propose: Propose
    panel: Panel

    @classmethod
    def of(cls, trial: Trial, policy: str | None, propose: Propose) -> "Search":
        """Begin a search; ``policy`` None: what becomes of invalid UTF-8 is not known."""
        return cls(trial, policy, propose, Panel.of(trial))

    def run(self, declared: Iterable[str] = ()) -> Found:
        """Look for causes; every hypothesis of a ``declared`` name is tested on all cases."""
        singles = self._proposed(self.trial.seen)
        mismatches = bool(self.panel.sample)
        thorough = frozenset(declared)
        if not mismatches:
            singles = [one for one in singles if one.candidate.hypothesis.name in thorough]
        asked = [len({id(one.candidate.hypothesis) for one in singles})]
        self.panel.narrow(singles, self.panel.sample)
        self.panel.settle([one for one in singles if one.alive])
        tested = self._closest(singles, thorough)
        causes = [one for one in tested if one.accepted and mismatches]
        smallest = min((one.hypothesis.size for one in causes), default=1)
        causes = [one for one in causes if one.hypothesis.size == smallest]
        if mismatches and not causes and len(self.trial.seen.mismatching) > 1:
            combined, counts = self._combinations(singles)
            tested += combined
            asked += counts
            causes = [one for one in combined if one.accepted]
        return Found(tuple(causes), tuple(tested), tuple(asked))

    def _proposed(self, seen: Seen) -> list[Tried]:
        return [
            Tried(candidate)
            for hypothesis in self.propose(seen)
            for candidate in self.trial.candidates(hypothesis, self.policy)
        ]

    def _closest(self, singles: Sequence[Tried], thorough: frozenset[str]) -> list[Examined]:
        """Return the accepted of each name, or its closest, which is asked the whole sample."""
        groups: dict[str, list[Tried]] = {}
        for one in singles:
            groups.setdefault(one.candidate.hypothesis.name, []).append(one)
        kept: dict[str, list[Tried]] = {}
        for name, group in groups.items():
            accepted = [one for one in group if one.full is not None and one.full.accepted]
            distinct = {id(one.candidate.hypothesis): one for one in reversed(accepted)}
            best = max(group, key=lambda one: (one.full is not None, one.fits, -one.seen))
            kept[name] = list(distinct.values())[::-1] or [best]
        self.panel.compare([one for group in kept.values() for one in group if one.full is None])
        for name in thorough & kept.keys():
            for one in kept[name]:
                one.full = one.full or self.trial.everywhere(one.candidate)
        return [one.examined() for group in kept.values() for one in group]

    # Combinations

    def _combinations(self, singles: Sequence[Tried]) -> tuple[list[Examined], list[int]]:
        self.panel.widen(singles)
        pool = self._pool(singles)
        pairs = list(_within(MOST_PAIRS, self._pairs(pool)))
        # Those each of whose changes shows by itself are asked first, and believed first.
        apart = [pair for pair in pairs if all(one.count for one in pair)]
        beside = [pair for pair in pairs if not all(one.count for one in pair)]
        tested: list[Examined] = []
        closest: list[Tried] = []
        asked = 0
        for group in (apart, beside):
            found, tried, count = self._try(group)
            tested += found
            closest += tried
            asked += count
            if any(one.accepted for one in tested):
                return tested, [asked]
        around = self._around(closest)
        tested += self._reported(around)
        triples, count = self._triples(around, pool)
        return [*tested, *triples], [asked, count]

    def _pool(self, singles: Sequence[Tried]) -> list[Tried]:
        """Return the changes that combinations are made of.

        Beside each change that explains some mismatches, parameters are inferred once more, from
        the mismatches that it leaves: together they show what no single one can.
        """
        few = self._few(singles)
        self.panel.compare(few)
        pool = {one.identity: one for one in few if one.refusal is None}
        signatures: set[bytes] = set()
        for one in sorted(pool.values(), key=lambda one: -one.count):
            if one.explains is None or not one.count or len(signatures) >= _REFINED:
                continue
            if (signature := one.explains.tobytes()) not in signatures:
                signatures.add(signature)
                more = [t for t in self._left_by(one.explains) if t.identity not in pool]
                more = self._few(more)
                self.panel.compare(more)
                pool |= {t.identity: t for t in more if t.refusal is None}
        return list(pool.values())

    def _left_by(self, explained: Mask) -> list[Tried]:
        """Propose once more, as if the mismatches of the sample were only those left over.

        Of many parameters those come first that explain what is left.
        """
        seen = self.trial.seen
        rows = [row for row, done in zip(self.panel.sample, explained, strict=True) if not done]
        left = np.zeros_like(seen.judged)
        left[seen.agreeing] = True
        left[rows] = True
        proposed = self._proposed(replace(seen, judged=left))
        self.panel.narrow(proposed, rows)
        return proposed

    @staticmethod
    def _few(tried: Sequence[Tried]) -> list[Tried]:
        """Return no more than some of each name: the closest, then the first."""
        kept: list[Tried] = []
        groups: dict[str, list[Tried]] = {}
        for one in tried:
            groups.setdefault(one.candidate.hypothesis.name, []).append(one)
        for group in groups.values():
            kept += sorted(group, key=lambda one: (-one.count, -one.fits))[:_VARIANTS]
        return kept

    @staticmethod
    def _pairs(pool: Sequence[Tried]) -> Iterator[tuple[Tried, Tried]]:
        """Pair all changes, those that together explain most by themselves first."""

        def merit(pair: tuple[Tried, Tried]) -> tuple[int, int]:
            one, other = pair
            apart = sum(bool(each.count) for each in pair)
            return -apart, -int((one.mask | other.mask).sum())

        yield from sorted(combinations(pool, 2), key=merit)

    def _try(self, groups: Sequence[tuple[Tried, ...]]) -> tuple[list[Examined], list[Tried], int]:
        """Try combinations: (those asked every case, all that the oracle takes, how many)."""
        tried: dict[tuple[object, ...], Tried] = {}
        probes: list[tuple[Tried, int]] = []
        for group in groups:
            row = self._probe(group)
            for candidate in self._joined(group):
                one = Tried(candidate)
                if tried.setdefault(one.identity, one) is one:
                    probes.append((one, row))
        answers = self.trial.agree([(one.candidate, (row,)) for one, row in probes])
        for (one, row), answer in zip(probes, answers, strict=True):
            one.hear(answer, (row,))
        standing = [one for one in tried.values() if one.alive]
        for one in standing:
            one.seen = 0
        self.panel.narrow(standing, self.panel.sample)
        self.panel.settle([one for one in standing if one.alive])
        full = [one for one in standing if one.full is not None]
        for one in full:
            one.full = self._sufficient(one.candidate, one.examined())
        return (
            [one.examined() for one in full],
            [one for one in tried.values() if one.refusal is None],
            len(tried),
        )

    def _joined(self, group: tuple[Tried, ...]) -> Iterator[Candidate]:
        """Combine; changes of one stage in both orders, where the order makes a difference."""
        first = self.trial.joined([one.candidate for one in group])
        if first is not None:
            yield first
        stages = [part.stage for one in group for part in one.candidate.parts]
        if len(set(stages)) < len(stages):
            other = self.trial.joined([one.candidate for one in reversed(group)])
            if other is not None and (first is None or other.key != first.key or not other.key):
                yield other

    def _probe(self, group: tuple[Tried, ...]) -> int:
        """Return the case to ask first: one that needs all of them, else one that few explain."""
        explained = np.sum([one.mask for one in group], axis=0)
        return self.panel.sample[int(np.argmin(explained))]

    def _sufficient(self, candidate: Candidate, full: Examined) -> Examined:
        """Return what is accepted: only where each part is needed, and the evidence is enough."""
        if not full.accepted:
            return full
        mismatching = self.trial.seen.mismatching.tolist()
        parts = candidate.parts
        needed: list[int] = []
        for place in range(len(parts)):
            rest = [
                self.trial.candidates(part, candidate.policy)[0]
                for part in (*parts[:place], *parts[place + 1 :])
            ]
            without = rest[0] if len(rest) == 1 else self.trial.joined(rest)
            answer = "" if without is None else self.trial.agree([(without, mismatching)])[0]
            needed.append(len(mismatching) if isinstance(answer, str) else int((~answer).sum()))
        note = None
        if not min(needed):
            note = "one of its changes alone explains every mismatching case"
        elif self._alike(mismatching):
            note = "every mismatching case has the same outcome, to which many changes lead at once"
        elif len(mismatching) < 2 * len(parts):
            note = (
                f"it fits every case, but {len(mismatching)} mismatching cases are too few to name "
                f"{len(parts)} causes at once"
            )
        return replace(
            full,
            accepted=note is None,
            note=note,
            needed=tuple(needed),
            thin=full.thin or min(needed) == 1,
        )

    def _alike(self, rows: Sequence[int]) -> bool:
        """Whether several cases came out alike: of a subject that answers nothing, all do."""
        observed = self.trial.seen.observed
        return len(rows) > 1 and len({observed.answer(row).tobytes() for row in rows}) == 1

    def _around(self, closest: Sequence[Tried]) -> list[Tried]:
        """Return the pairs that explain most of the sample."""
        promising = sorted(closest, key=lambda one: -one.fits / max(1, one.seen))
        some = promising[: 8 * AROUND]
        self.panel.compare(some)
        return sorted(some, key=lambda one: -one.count)[:AROUND]

    @staticmethod
    def _reported(around: Sequence[Tried]) -> list[Examined]:
        return [one.examined() for one in around[:_REPORTED] if one.count and one.full is None]

    def _triples(
        self, around: Sequence[Tried], pool: Sequence[Tried]
    ) -> tuple[list[Examined], int]:
        groups: list[tuple[Tried, ...]] = []
        for pair in around:
            more = {one.identity: one for one in pool}
            if pair.explains is not None and pair.count:
                left = [t for t in self._left_by(pair.explains) if t.identity not in more]
                left = self._few(left)
                self.panel.compare(left)
                more |= {one.identity: one for one in left if one.refusal is None}
            third = sorted(more.values(), key=lambda one: -int(one.mask.sum()))
            groups += [(pair, one) for one in third]
        full, closest, count = self._try(groups[:MOST_TRIPLES])
        best = sorted(closest, key=lambda one: -one.fits)[:AROUND]
        self.panel.compare(best)
        best.sort(key=lambda one: -one.count)
        return [*full, *self._reported(best)], count


def _within(most: int, pairs: Iterable[tuple[Tried, Tried]]) -> Iterator[tuple[Tried, Tried]]:
    for _, pair in zip(range(most), pairs, strict=False):
        yield pair
