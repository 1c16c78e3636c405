import pickle

import pytest

from harness import errors
from harness.errors import TokparityError

CODES = {
    "UsageError": 2,
    "CorpusError": 2,
    "TokenizerError": 2,
    "InstrumentInvalid": 3,
    "LaneUnavailable": 4,
    "BuildFailed": 4,
    "StorageError": 4,
    "GoldenRefused": 5,
    "TokparityError": 70,
}


@pytest.mark.parametrize(("name", "code"), CODES.items())
def test_every_error_knows_its_documented_exit_code(name: str, code: int) -> None:
    assert getattr(errors, name).exit_code == code


def test_no_error_is_left_out_of_the_table() -> None:
    family = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, TokparityError)
    }
    assert family == set(CODES)


def test_an_error_says_what_where_and_the_remedy() -> None:
    error = errors.UsageError(
        "no such key", where="a.yaml:3", expected="one of x", remedy="edit it"
    )
    assert str(error) == "a.yaml:3: no such key\n  expected: one of x\n  remedy: edit it"


def test_an_error_survives_pickling() -> None:
    error = errors.StorageError("disk full", where="/cache", remedy="free some space")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert str(again) == str(error)
    assert type(again) is type(error)
