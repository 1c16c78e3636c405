"""Time and memory of diff and isolation: ``python scripts/bench_diff.py [IDS] [--json]``.

Six lanes of IDS ids each (5,000,000 unless given): all alike; one case in a hundred different on
one axis; one in a hundred, half, or all of the answers of another length. Memory is the peak that
diff and isolation add to the ids, as a multiple of the ids' own size.
"""

import json
import sys
import time
import tracemalloc

import numpy as np

from harness.isolate import separate
from harness.outcomes import Outcomes

LANES = {
    f"{arch}/{char}": {"arch": arch, "char": "unsigned" if char == "unsigned" else "signed"}
    for arch in ("x86_64", "aarch64")
    for char in ("default", "signed", "unsigned")
}
CASE = 25  # ids a case, about a sentence


def outcomes(ids: int, changed: float, *, longer: bool) -> dict[str, Outcomes]:
    """Return six lanes; on ``changed`` of the cases the unsigned lanes give another answer."""
    random = np.random.default_rng(7)
    lengths = random.integers(1, 2 * CASE, ids // CASE)
    hit = random.random(lengths.shape[0]) < changed
    found = {}
    for name, axes in LANES.items():
        own = lengths + (hit & (axes["char"] == "unsigned") if longer else 0)
        offsets = np.concatenate(([0], np.cumsum(own))).astype(np.int64)
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], own)
        values = (within * 7919 % 50_000).astype(np.uint32)
        if axes["char"] == "unsigned" and not longer:
            values[offsets[:-1][hit]] += 1
        found[name] = Outcomes(np.zeros(lengths.shape[0], dtype=np.uint8), offsets, values)
    return found


def main() -> None:
    """Print one line a shape, or with ``--json`` one list of objects."""
    words = [word for word in sys.argv[1:] if word != "--json"]
    ids = int(words[0]) if words else 5_000_000
    measured = []
    for shape, changed, longer in (
        ("alike", 0.0, False),
        ("1 % differ", 0.01, False),
        ("1 % longer", 0.01, True),
        ("half longer", 0.5, True),
        ("all longer", 1.0, True),
    ):
        lanes = outcomes(ids, changed, longer=longer)
        size = sum(one.ids.nbytes for one in lanes.values())
        begun = time.perf_counter()
        separate(lanes, LANES)
        seconds = time.perf_counter() - begun
        tracemalloc.start()
        separate(lanes, LANES)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        measured.append({"shape": shape, "seconds": seconds, "memory": 1 + peak / size})
    if "--json" in sys.argv:
        print(json.dumps(measured))
        return
    for row in measured:
        print(
            f"{row['shape']:12} {row['seconds']:6.3f} s   "
            f"memory {row['memory']:4.2f} x the ids' own size"
        )


if __name__ == "__main__":
    main()
