"""What a report rests on: every version and digest that could change a verdict."""

import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness import __version__
from harness.ask import Asker
from harness.build import Built, Probe
from harness.evidence import Evidence
from harness.oracle import library_version, unicode_facts
from harness.plan import Plan


def collect(plan: Plan, asker: Asker, built: Built, evidence: Sequence[Evidence]) -> dict[str, Any]:
    """Gather the provenance of a run, as plain values for ``report.json``."""
    return {
        "tokparity": __version__,
        "python": platform.python_version(),
        "host": {"arch": plan.lanes.host, "system": platform.platform()},
        "oracle": {"library": "tokenizers", "version": library_version(), **unicode_facts()},
        "config": None if plan.config.file is None else str(plan.config.file),
        "command": ["tokparity", *sys.argv[1:]],
        "subject": {"name": plan.config.subject.name, "args": list(plan.config.subject.args)},
        "tokenizers": {
            one.tokenizer.name: {
                "sha256": one.tokenizer.sha256,
                "golden_sha256": one.expected.golden_sha256,
                "cases_without_golden": one.expected.live,
            }
            for one in evidence
        },
        "corpora": {corpus.name: corpus.sha256 for corpus in plan.corpora},
        "lanes": {
            lane.name: _lane(asker, probe)
            for lane, probe in built.probes.items()
            if isinstance(probe, Probe)
        },
    }


def _lane(asker: Asker, probe: Probe) -> dict[str, Any]:
    found: dict[str, Any] = {
        "probe_sha256": probe.sha256,
        "runner": asker.runner(probe.lane).identity,
    }
    made = probe.provenance
    if made is not None:
        found |= {
            "compiler": made.compiler,
            "linker": made.linker,
            "compile_flags": list(made.compile_flags),
            "link_flags": list(made.link_flags),
            "sources_sha256": made.sources_sha256,
        }
    else:
        found["program"] = Path(probe.command[0]).name
    return found
