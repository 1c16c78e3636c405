"""What every case should give: the golden's word, and the live oracle's where the golden is silent.

Both are computed once for a tokenizer, golden, corpora and library version, and kept.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness import golden as goldens
from harness.corpus import Corpus
from harness.golden import Drift, Golden
from harness.oracle import Oracle, library_version
from harness.outcomes import Operation, Outcomes, Status, concatenate
from harness.store import Store, key
from harness.tokenizers import TokenizerFile


@dataclass(frozen=True, kw_only=True)
class Expected:
    """The expected outcomes of every case, one row a case of the plan, by operation.

    ``live`` counts the cases that no golden holds; ``drift`` says where the installed library no
    longer gives what the golden records; ``golden_sha256`` is None where there is no golden.
    """

    outcomes: Mapping[Operation, Outcomes]
    drift: tuple[str, ...]
    live: int
    golden_sha256: str | None
    reused: bool


class OracleOnDemand:
    """An oracle that is loaded when first asked: a run that needs none does not pay for one."""

    def __init__(self, tokenizer: TokenizerFile) -> None:
        self._tokenizer = tokenizer
        self._oracle: Oracle | None = None

    def __call__(self) -> Oracle:
        """Return the oracle, loading it on the first call."""
        if self._oracle is None:
            self._oracle = Oracle.load(self._tokenizer.path)
        return self._oracle


def expect(
    tokenizer: TokenizerFile,
    oracle: OracleOnDemand,
    golden_file: Path,
    corpora: Sequence[Corpus],
    operations: Sequence[Operation],
    store: Store,
) -> Expected:
    """Find the expected outcomes of every case, and check that the golden still holds.

    Raises :class:`~harness.errors.GoldenRefused` where the golden is another tokenizer's or was
    recorded with another version of the library.
    """
    golden: Golden | None = None
    sha256: str | None = None
    if golden_file.is_file():
        golden = goldens.read(golden_file)
        goldens.check(golden, tokenizer, library_version())
        sha256 = hashlib.sha256(golden_file.read_bytes()).hexdigest()
    # Decoding is asked of the ids that `encode` should give, so both are always known.
    wanted = tuple(dict.fromkeys(("encode", *operations)))
    name = key(
        what="expected",
        library=library_version(),
        tokenizer=tokenizer.sha256,
        golden=sha256,
        cases=[(c.name, c.sha256, len(c.cases), c.case_ids) for c in corpora],
        operations=wanted,
    )
    entry = store.get(name)
    if entry is not None and entry.outcomes is not None:
        return _unpacked(entry.document, entry.outcomes, wanted, sha256)
    drift = () if golden is None else goldens.verify(golden, oracle())
    recorded = {op: goldens.expected(golden, corpora, op) for op in wanted}
    missing = max(len(one.missing) for one in recorded.values())
    outcomes = (
        goldens.fill(recorded, oracle(), corpora)
        if missing
        else {op: one.outcomes for op, one in recorded.items()}
    )
    document: dict[str, Any] = {
        "drift": [_in_words(tokenizer, one) for one in drift],
        "live": missing,
    }
    store.put(name, document, concatenate(list(outcomes.values())))
    return Expected(
        outcomes=outcomes,
        drift=tuple(document["drift"]),
        live=missing,
        golden_sha256=sha256,
        reused=False,
    )


def graded(expected: Outcomes) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the rows that the oracle could answer, int64[k]."""
    return np.flatnonzero(expected.status == Status.OK)


def _unpacked(
    document: Mapping[str, Any],
    outcomes: Outcomes,
    operations: Sequence[Operation],
    sha256: str | None,
) -> Expected:
    cases = len(outcomes) // len(operations)
    rows = np.arange(cases)
    return Expected(
        outcomes={
            operation: outcomes.take(rows + index * cases)
            for index, operation in enumerate(operations)
        },
        drift=tuple(document["drift"]),
        live=document["live"],
        golden_sha256=sha256,
        reused=True,
    )


def _in_words(tokenizer: TokenizerFile, drift: Drift) -> str:
    return (
        f"{tokenizer.name}: {drift.id}: the installed tokenizers {library_version()} gives other "
        f"{drift.field} than the golden from index {drift.index}"
    )
