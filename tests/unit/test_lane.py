import pytest

from harness.errors import UsageError
from harness.lane import lane, parse, select

LANES = [
    parse(f"{triple}/{char}/{runner}")
    for triple, runner in (
        ("x86_64-linux-gnu", "native"),
        ("aarch64-linux-gnu", "qemu-cortex-a53"),
    )
    for char in ("default", "signed", "unsigned")
]


def test_a_name_survives_parsing() -> None:
    name = "x86_64-linux-gnu/signed/native/fp-contract=fast/optimisation=O3"
    assert parse(name).name == name


def test_a_value_may_be_the_name_of_a_locale() -> None:
    name = "x86_64-linux-gnu/default/native/address-layout=fixed/locale=tr_TR.UTF-8"
    assert dict(parse(name).variations)["locale"] == "tr_TR.UTF-8"
    assert parse(name).name == name


def test_variations_have_one_order() -> None:
    one = parse("t/default/native/b=1/a=2")
    assert one.name == "t/default/native/a=2/b=1"
    assert one == lane("t", "default", "native", {"b": "1", "a": "2"})


@pytest.mark.parametrize(
    "name",
    [
        "",
        "x86_64-linux-gnu",
        "a/b",
        "t/maybe/native",
        "t/default/native/opt",
        "t/default/native/a=1/a=2",
        "t/default/native/a=",
        "t//native",
        "t/default/native/\x1b[2J=1",
    ],
)
def test_what_is_no_lane_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        parse(name)


def test_a_lane_that_names_a_cpu_knows_it() -> None:
    assert parse("t/default/qemu-cortex-a53").cpu == "cortex-a53"
    assert parse("t/default/native").cpu is None
    assert parse("t/default/native").native


def test_globs_select_in_the_lanes_own_order_without_repeats() -> None:
    chosen = select(LANES, ["aarch64*/unsigned/*", "*/unsigned/*"])
    assert [one.name for one in chosen] == [
        "x86_64-linux-gnu/unsigned/native",
        "aarch64-linux-gnu/unsigned/qemu-cortex-a53",
    ]


def test_a_glob_that_selects_nothing_is_an_error_even_beside_one_that_does() -> None:
    with pytest.raises(UsageError, match="selects no lane of 6"):
        select(LANES, ["*", "riscv64*"])


def test_a_whole_name_selects_a_lane_the_matrix_lacks() -> None:
    name = "aarch64-linux-gnu/default/qemu-max"
    assert [one.name for one in select(LANES, [name])] == [name]
