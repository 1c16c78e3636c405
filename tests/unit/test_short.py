"""What continuous integration leaves out is there to be left out."""

from pathlib import Path

import pytest

from tests.short import LEFT_OUT, left_out

TESTS = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("name", LEFT_OUT)
def test_each_name_is_of_a_test(name: str) -> None:
    file, _, function = name.partition("::")
    [path] = TESTS.rglob(file)
    assert f"def {function.partition('[')[0]}" in path.read_text(encoding="utf-8")
    assert left_out(f"tests/integration/{name}]")


def test_no_other_test_is_left_out() -> None:
    assert not left_out("tests/integration/test_repro_run.py::test_a_crash_is_a_crash_again")
    assert not left_out("tests/unit/test_short.py::test_each_name_is_of_a_test[x]")
