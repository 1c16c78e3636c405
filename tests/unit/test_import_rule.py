"""The rule of dependence: values ← pure ← effects ← pipeline ← cli."""

import ast
from pathlib import Path

import pytest

HARNESS = Path(__file__).resolve().parents[2] / "harness"

RANKS = {
    "values": {
        "errors",
        "files",
        "corpus",
        "lane",
        "outcomes",
        "plural",
        "subject",
        "traits",
        "watch",
        "unicode_ages",
        "unicode_pins",
        "unicode_versions",
    },
    "pure": {
        "diff",
        "isolate",
        "hypotheses",
        "attribute",
        "report",
        "sanitizer_words",
        "untangle",
        "verdict",
        "reduce",
        "reduced",
        "signature",
    },
    "effects": {
        "account",
        "ask",
        "atomic",
        "build",
        "canary",
        "config",
        "derive",
        "deviation_file",
        "doctor",
        "evidence",
        "expect",
        "explain",
        "fetch",
        "golden",
        "golden_file",
        "gguf",
        "answers",
        "build_inputs",
        "hello",
        "lockstep",
        "matrix",
        "needs",
        "ninja_file",
        "ninja_run",
        "judgement",
        "oracle",
        "places",
        "plan",
        "probe",
        "provenance",
        "repro",
        "requests",
        "runners",
        "scratch",
        "served",
        "sanitize",
        "sanitizer_look",
        "session",
        "stages",
        "store",
        "stream",
        "subject_file",
        "tokenizers",
        "toolchain",
        "toolchain_file",
        "tools",
        "validated",
        "wire",
        "sessions",
        "failure",
        "foretell",
        "reduction",
        "rig",
        "wanted",
    },
    "pipeline": {"pipeline"},
    "cli": {"cli", "__main__"},
}
ORDER = list(RANKS)
# Third parties that only one place may know.
RESERVED = {
    "tokenizers": {"oracle"},
    "docker": {"runners"},
    "plumbum": {"runners"},
    "click": {"cli"},
    "rich": {"cli"},
}


def _imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            if node.module == "harness":
                found |= {f"harness.{alias.name}" for alias in node.names}
    return found


def _rank(noun: str) -> int:
    for position, rank in enumerate(ORDER):
        if noun in RANKS[rank]:
            return position
    raise AssertionError(f"harness/{noun}: give it a rank in {Path(__file__).name}")


def _noun(path: Path) -> str:
    return path.relative_to(HARNESS).parts[0].removesuffix(".py")


def violations(path: Path, imports: set[str]) -> list[str]:
    noun = _noun(path)
    found = []
    for name in sorted(imports):
        first, _, rest = name.partition(".")
        if first == "harness" and rest:
            target = rest.split(".")[0]
            if target == "__version__":
                continue
            if _rank(target) > _rank(noun):
                found.append(f"{noun} imports {name}, which stands above it")
        elif first in RESERVED and noun not in RESERVED[first]:
            found.append(f"{noun} imports {first}, which only {RESERVED[first]} may")
    return found


MODULES = sorted(p for p in HARNESS.rglob("*.py") if p != HARNESS / "__init__.py")


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(HARNESS)))
def test_a_module_imports_only_what_stands_below_it(path: Path) -> None:
    assert violations(path, _imports(path)) == []


def test_the_rule_sees_a_value_that_imports_an_effect() -> None:
    assert violations(HARNESS / "lane.py", {"harness.build"})
    assert violations(HARNESS / "golden.py", {"tokenizers"})
    assert not violations(HARNESS / "oracle.py", {"tokenizers"})
