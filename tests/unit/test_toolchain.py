"""What a lane means here, from data alone; no program is started and none need be installed."""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.doctor import diagnose, require
from harness.errors import LaneUnavailable, UsageError
from harness.lane import Lane, lane, parse
from harness.matrix import control_of, default_lanes, full_lanes, multiply, neighbours
from harness.needs import install_line, needs, which
from harness.toolchain import (
    ORDINARY,
    Toolchains,
    axes_of,
    built_apart,
    check,
    emulated,
    flags_for,
    load_toolchains,
    surroundings_of,
    toolchain_for,
)

OWN = Path(__file__).resolve().parents[2] / "toolchains"
X86 = "x86_64-linux-gnu"
ARM = "aarch64-linux-gnu"
HOSTS = ["x86_64", "aarch64"]


@pytest.fixture(scope="module")
def toolchains() -> Toolchains:
    return load_toolchains([OWN])


def names(lanes: tuple[Lane, ...]) -> list[str]:
    return [one.name for one in lanes]


def only(*programs: str) -> Callable[[str], Path | None]:
    return lambda program: Path("/there") / program if program in programs else None


def test_default_lanes_on_an_x86_host(toolchains: Toolchains) -> None:
    assert names(default_lanes(toolchains, "x86_64")) == [
        f"{X86}/default/native",
        f"{X86}/signed/native",
        f"{X86}/unsigned/native",
        f"{ARM}/default/qemu-cortex-a53",
        f"{ARM}/signed/qemu-cortex-a53",
        f"{ARM}/unsigned/qemu-cortex-a53",
    ]


def test_default_lanes_mirror_on_an_arm_host(toolchains: Toolchains) -> None:
    assert names(default_lanes(toolchains, "aarch64")) == [
        f"{ARM}/default/native",
        f"{ARM}/signed/native",
        f"{ARM}/unsigned/native",
        f"{X86}/default/qemu-Nehalem",
        f"{X86}/signed/qemu-Nehalem",
        f"{X86}/unsigned/qemu-Nehalem",
    ]


@pytest.mark.parametrize("host", HOSTS)
def test_every_matrix_is_of_lanes_that_pass_the_check(toolchains: Toolchains, host: str) -> None:
    full = full_lanes(toolchains, host)
    assert set(default_lanes(toolchains, host)) < set(full)
    assert len(set(full)) == len(full)
    for one in full:
        check(one, toolchains, host)
        assert parse(one.name) == one
    settings = {setting for one in full for setting in one.variations}
    assert settings == {("optimisation", "O0"), ("optimisation", "O3"), ("fp-contract", "fast")}
    assert {one.triple for one in full if one.runner == "qemu-max"} == {X86, ARM}


def test_axes_are_effective(toolchains: Toolchains) -> None:
    said = axes_of(parse(f"{X86}/default/native"), toolchains[X86], "x86_64")
    assert said == {
        "address-layout": "random",
        "arch": "x86_64",
        "char": "signed",
        "compiler": "gcc",
        "container": "none",
        "cpu": "host",
        "emulator": "none",
        "endian": "little",
        "fp-contract": "off",
        "libc": "glibc",
        "link": "static",
        "locale": "C",
        "long-double": "64",
        "optimisation": "O2",
        "pointer": "64",
        "wchar": "signed",
    }
    there = axes_of(parse(f"{ARM}/default/qemu-max/optimisation=O0"), toolchains[ARM], "x86_64")
    assert there["char"] == there["wchar"] == "unsigned"
    assert there["cpu"] == "max"
    assert there["emulator"] == "qemu-aarch64"
    assert there["optimisation"] == "O0"
    assert there["long-double"] == "113"
    assert there["address-layout"] == "emulated"


def test_default_and_its_meaning_are_one_lane_under_two_names(toolchains: Toolchains) -> None:
    default, signed, unsigned = (
        axes_of(lane(X86, char, "native"), toolchains[X86], "x86_64")
        for char in ("default", "signed", "unsigned")
    )
    assert default == signed
    assert default != unsigned


def test_the_pins_are_among_the_flags(toolchains: Toolchains) -> None:
    flags = flags_for(parse(f"{X86}/unsigned/native"), toolchains[X86], "x86_64")
    assert flags.compiler == "g++"
    assert flags.compile == ("-funsigned-char", "-ffp-contract=off", "-O2")
    assert flags.link == ("-static",)
    varied = parse(f"{X86}/default/native/fp-contract=fast/link=dynamic/optimisation=O3")
    flags = flags_for(varied, toolchains[X86], "x86_64")
    assert flags.compile == ("-ffp-contract=fast", "-O3")
    assert flags.link == ()


@pytest.mark.parametrize(
    ("triple", "host", "compiler", "package"),
    [
        (X86, "x86_64", "g++", "g++"),
        (X86, "aarch64", "x86_64-linux-gnu-g++", "g++-x86-64-linux-gnu"),
        (ARM, "aarch64", "g++", "g++"),
        (ARM, "x86_64", "aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu"),
    ],
)
def test_the_compiler_depends_on_the_host(
    toolchains: Toolchains, triple: str, host: str, compiler: str, package: str
) -> None:
    one = lane(triple, "default", f"qemu-{toolchains[triple].emulator.cpu}")  # type: ignore[union-attr]
    assert flags_for(one, toolchains[triple], host).compiler == compiler
    first, *_, last = needs(one, toolchains[triple], host, only(compiler))
    assert (first.program, first.package) == (compiler, package)
    assert first.found == Path("/there") / compiler
    assert last.found is None
    assert last.package == "qemu-user"


def test_clang_reaches_a_foreign_target_by_name(toolchains: Toolchains) -> None:
    one = parse(f"{ARM}/default/qemu-max/compiler=clang/wchar=signed")
    flags = flags_for(one, toolchains[ARM], "x86_64")
    assert flags.compiler == "clang++"
    assert flags.compile[0] == flags.link[0] == f"--target={ARM}"
    assert flags.compile[-4:] == ("-Xclang", "-fwchar-type=int", "-Xclang", "-fsigned-wchar")
    assert axes_of(one, toolchains[ARM], "x86_64")["wchar"] == "signed"
    # It takes the C++ library from gcc's cross compiler, which is a need of its own.
    wanted = [need.package for need in needs(one, toolchains[ARM], "x86_64", only())]
    assert wanted == ["clang", "g++-aarch64-linux-gnu", "qemu-user"]


@pytest.mark.parametrize(
    ("name", "word", "meant"),
    [
        ("x86_64-linux-gnx/default/native", "triple", X86),
        (f"{X86}/default/native/optimization=O3", "axis", "optimisation"),
        (f"{X86}/default/native/optimisation=O4", "optimisation value", None),
        (f"{X86}/default/native/fp-contract=of", "fp-contract value", "off"),
        (f"{X86}/default/nativ", "runner", "native"),
        (f"{X86}/default/qemu", "runner", None),
        (f"{X86}/default/dokcer", "runner", "docker"),
        (f"{X86}/default/ssh-", "runner", None),
        (f"{X86}/default/ssh--V", "runner", None),
        (f"{X86}/default/qemu-nehalem", "cpu", "Nehalem"),
        (f"{ARM}/default/qemu-cortex-a35x", "cpu", "cortex-a35"),
        (f"{X86}/default/native/cpu=max", "axis", None),
        (f"{X86}/default/native/char=signed", "axis", None),
    ],
)
def test_an_unknown_word_is_answered_with_the_nearest(
    toolchains: Toolchains, name: str, word: str, meant: str | None
) -> None:
    with pytest.raises(UsageError) as caught:
        check(parse(name), toolchains, "x86_64")
    assert f"unknown {word} '" in caught.value.what
    if meant is not None:
        assert caught.value.remedy == f"did you mean '{meant}'?"


def test_a_value_that_needs_another(toolchains: Toolchains) -> None:
    with pytest.raises(UsageError, match="cannot have wchar=unsigned") as caught:
        check(parse(f"{X86}/default/native/wchar=unsigned"), toolchains, "x86_64")
    named = (caught.value.remedy or "").removeprefix("name the lane ")
    check(parse(named), toolchains, "x86_64")


def test_native_is_for_the_hosts_own_arch(toolchains: Toolchains) -> None:
    with pytest.raises(LaneUnavailable) as caught:
        check(parse(f"{ARM}/signed/native"), toolchains, "x86_64")
    assert caught.value.remedy == f"{ARM}/signed/qemu-cortex-a53"
    check(parse(f"{ARM}/signed/native"), toolchains, "aarch64")


@pytest.mark.parametrize("host", HOSTS)
def test_a_docker_lane_is_emulated_only_where_it_is_foreign(
    toolchains: Toolchains, host: str
) -> None:
    for triple, toolchain in toolchains.items():
        one = parse(f"{triple}/default/docker")
        check(one, toolchains, host)
        axes = axes_of(one, toolchain, host)
        own = toolchain.arch == host
        assert axes["container"] == "docker"
        assert axes["emulator"] == ("none" if own else "binfmt")
        assert axes["cpu"] == ("host" if own else "binfmt")
        assert emulated(one, toolchain, host) != own
        # Its engine is asked for by itself; no program of this machine is needed to reach it.
        assert [need.why for need in needs(one, toolchain, host, only())] == ["compiles it"]


@pytest.mark.parametrize("host", HOSTS)
def test_an_ssh_lane_is_another_machines_cpu(toolchains: Toolchains, host: str) -> None:
    one = parse(f"{ARM}/default/ssh-pi-5.lan")
    check(one, toolchains, host)
    axes = axes_of(one, toolchains[ARM], host)
    assert (axes["cpu"], axes["emulator"], axes["container"]) == ("pi-5.lan", "none", "none")
    assert not emulated(one, toolchains[ARM], host)
    assert needs(one, toolchains[ARM], host, only())[-1].package == "openssh-client"


def test_an_empty_image_has_no_libraries(toolchains: Toolchains) -> None:
    one = parse(f"{X86}/default/docker/link=dynamic")
    with pytest.raises(UsageError, match="an empty image has no libraries"):
        check(one, toolchains, "x86_64")
    filled = toolchains[X86].model_copy(update={"image": "debian:12"})
    check(one, {X86: filled}, "x86_64")


@pytest.mark.parametrize("name", ["docker", "ssh-board"])
def test_containers_and_other_machines_are_asked_for_by_name(
    toolchains: Toolchains, name: str
) -> None:
    one = parse(f"{X86}/default/{name}")
    native = parse(f"{X86}/default/native")
    matrices = (*full_lanes(toolchains, "x86_64"), *neighbours(native, toolchains[X86], "x86_64"))
    assert not [lane for lane in matrices if lane.contained or lane.machine]
    near = neighbours(one, toolchains[X86], "x86_64")
    for other in near:
        check(other, toolchains, "x86_64")
    assert native in near
    assert parse(f"{X86}/unsigned/{name}") in near
    assert multiply({"triple": [X86], "runner": [name]}, toolchains, "x86_64") == (one,)


def test_multiply(toolchains: Toolchains) -> None:
    made = multiply(
        {"char": ["signed", "unsigned"], "optimisation": ["O2", "O3"]}, toolchains, "x86_64"
    )
    assert len(made) == 8
    assert f"{X86}/signed/native" in names(made)
    assert f"{ARM}/unsigned/qemu-cortex-a53/optimisation=O3" in names(made)
    own = {"triple": ["host"], "address-layout": ["random", "fixed"]}
    for host, triple in (("x86_64", X86), ("aarch64", ARM)):
        assert names(multiply(own, toolchains, host)) == [
            f"{triple}/default/native",
            f"{triple}/default/native/address-layout=fixed",
        ]
    narrow = multiply({"triple": [ARM], "runner": ["qemu-max"]}, toolchains, "x86_64")
    assert names(narrow) == [f"{ARM}/default/qemu-max"]


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        ({"optimization": ["O2"]}, "unknown axis"),
        ({"optimisation": ["O9"]}, "unknown optimisation value"),
        ({"char": ["plain"]}, "unknown char"),
        ({"triple": ["riscv64"]}, "unknown triple"),
        ({"wchar": ["unsigned"]}, "cannot have"),
        ({"char": []}, "has no value"),
        ({"runner": ["native"]}, "machine"),
        ({"address-layout": ["random", "fixed"]}, "has its own"),
        ({"sanitizer": ["address"]}, "unknown axis 'sanitizer'"),
    ],
)
def test_multiply_refuses_and_never_drops(
    toolchains: Toolchains, axes: dict[str, list[str]], words: str
) -> None:
    with pytest.raises((UsageError, LaneUnavailable), match=words):
        multiply(axes, toolchains, "x86_64")


@pytest.mark.parametrize("host", HOSTS)
def test_neighbours_are_one_step_away_and_can_be_expressed(
    toolchains: Toolchains, host: str
) -> None:
    for one in full_lanes(toolchains, host):
        toolchain = toolchain_for(one, toolchains)
        here = axes_of(one, toolchain, host)
        found = neighbours(one, toolchain, host)
        assert len(set(found)) == len(found)
        for other in found:
            check(other, toolchains, host)
            there = axes_of(other, toolchain, host)
            changed = {axis for axis in here if here[axis] != there[axis]}
            assert changed
            steps = changed - {"emulator", "address-layout"} if "cpu" in changed else changed
            assert len(steps) == 1 or steps == {"compiler", "wchar"}, other.name


@pytest.mark.parametrize("host", HOSTS)
def test_every_axis_of_a_run_has_a_neighbour_that_changes_it(
    toolchains: Toolchains, host: str
) -> None:
    control = control_of(toolchains, host)
    near = neighbours(control, toolchains[control.triple], host)
    here = axes_of(control, toolchains[control.triple], host)
    changed = {
        axis
        for one in near
        for axis, value in axes_of(one, toolchains[one.triple], host).items()
        if value != here[axis]
    }
    assert changed >= {"char", "optimisation", "fp-contract", "cpu", "compiler", "link"}
    assert changed >= {"locale", "address-layout"}
    levels = {dict(one.variations).get("optimisation") for one in near}
    assert levels >= {"O0", "O3"}
    # What compares nothing separates nothing.
    assert not [one for one in near if "sanitizer" in dict(one.variations)]


def test_a_lane_of_the_run_alone_is_started_otherwise_and_built_alike(
    toolchains: Toolchains,
) -> None:
    plain = parse(f"{X86}/default/native")
    fixed = parse(f"{X86}/default/native/address-layout=fixed/locale=C.UTF-8/optimisation=O3")
    own = toolchains[X86]
    assert surroundings_of(plain, own) == ORDINARY
    around = surroundings_of(fixed, own)
    assert around.environment == (("LC_ALL", "C.UTF-8"),)
    assert around.command == ("setarch", "-R")
    assert around.words == "LC_ALL=C.UTF-8 setarch -R"
    assert built_apart(fixed, own) == (("optimisation", "O3"),)
    bare = parse(f"{X86}/default/native/optimisation=O3")
    assert flags_for(fixed, own, "x86_64") == flags_for(bare, own, "x86_64")
    assert axes_of(fixed, own, "x86_64")["locale"] == "C.UTF-8"


def test_a_locale_and_a_wrapper_are_needs_of_their_lanes(toolchains: Toolchains) -> None:
    one = parse(f"{X86}/default/native/address-layout=fixed/locale=tr_TR.UTF-8")
    wanted = {need.program: need for need in needs(one, toolchains[X86], "x86_64", only("g++"))}
    assert wanted["locale:tr_TR.UTF-8"].package == "locales-all"
    assert wanted["setarch"].package == "util-linux"
    with pytest.raises(LaneUnavailable) as caught:
        require([one], toolchains, "x86_64", only("g++"))
    assert caught.value.remedy == "apt-get install -y locales-all util-linux"
    # Every C library has these two.
    plain = parse(f"{X86}/default/native/locale=C.UTF-8")
    assert [need.program for need in needs(plain, toolchains[X86], "x86_64", only())] == ["g++"]


def test_a_locale_is_found_under_any_spelling_of_its_codeset() -> None:
    assert which("locale:C.utf8") is not None
    assert which("locale:C.UTF-8") == which("locale")
    assert which("locale:xx_XX.UTF-8") is None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (f"{ARM}/default/qemu-max/address-layout=fixed", "qemu-aarch64 has its own"),
        (f"{ARM}/default/qemu-max/address-layout=random", "qemu-aarch64 has its own"),
        (f"{X86}/default/docker/address-layout=fixed", "cannot have address-layout=fixed"),
        (f"{X86}/default/ssh-board/locale=C.UTF-8", "cannot have locale=C.UTF-8"),
        (f"{X86}/default/native/link=dynamic/sanitizer=address", "cannot have sanitizer=address"),
    ],
)
def test_what_a_runner_cannot_honour_is_refused_in_words(
    toolchains: Toolchains, name: str, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        check(parse(name), toolchains, "x86_64")


def test_a_sanitizers_library_is_the_compilers_own(toolchains: Toolchains, tmp_path: Path) -> None:
    compiler = tmp_path / "g++"
    compiler.write_text(
        "#!/bin/sh\ncase $1 in -dumpversion) echo 14.2.0;; *) echo libasan.so;; esac\n"
    )
    compiler.chmod(0o755)
    one = parse(f"{X86}/default/native/link=dynamic/sanitizer=address")
    found = needs(one, toolchains[X86], "x86_64", {"g++": compiler}.get)
    assert [(need.program, need.found, need.package) for need in found] == [
        ("g++", compiler, "g++"),
        ("libasan.so", None, "libgcc-14-dev"),
    ]
    assert flags_for(one, toolchains[X86], "x86_64").link == ("-fsanitize=address",)


def test_a_long_double_can_be_told_otherwise_on_one_target(toolchains: Toolchains) -> None:
    one = parse(f"{X86}/default/native/long-double=113")
    assert axes_of(one, toolchains[X86], "x86_64")["long-double"] == "113"
    with pytest.raises(UsageError, match="unknown axis 'long-double'"):
        check(parse(f"{ARM}/default/qemu-max/long-double=53"), toolchains, "x86_64")


def test_neighbours_separate_what_the_default_lanes_confound(toolchains: Toolchains) -> None:
    near = names(neighbours(parse(f"{X86}/default/native"), toolchains[X86], "x86_64"))
    assert f"{X86}/default/qemu-Nehalem" in near  # arch apart from emulation
    assert f"{X86}/default/native/compiler=clang/wchar=unsigned" in near  # arch apart from wchar_t
    assert f"{X86}/unsigned/native" in near
    assert f"{X86}/signed/native" not in near  # the same lane under another name
    far = names(neighbours(parse(f"{ARM}/default/qemu-cortex-a53"), toolchains[ARM], "x86_64"))
    assert f"{ARM}/default/qemu-max" in far
    assert f"{ARM}/default/native" not in far


def test_a_neighbour_does_not_lose_what_its_lane_requires(toolchains: Toolchains) -> None:
    one = parse(f"{X86}/default/native/compiler=clang/wchar=unsigned")
    near = neighbours(one, toolchains[X86], "x86_64")
    assert parse(f"{X86}/default/native/compiler=clang") in near
    assert all(dict(other.variations).get("compiler") == "clang" for other in near)


def test_the_control_is_the_hosts_own(toolchains: Toolchains) -> None:
    assert control_of(toolchains, "aarch64").name == f"{ARM}/default/native"
    with pytest.raises(LaneUnavailable, match="riscv64"):
        control_of(toolchains, "riscv64")


# Another triple is a file and no code.

RISCV = (
    (OWN / f"{ARM}.yaml")
    .read_text()
    .replace("aarch64", "riscv64")
    .replace("cortex-a53", "rv64")
    .replace("cpus: [cortex-a35, ", "cpus: [")
)


@pytest.fixture
def third(tmp_path: Path) -> Toolchains:
    (tmp_path / "riscv64-linux-gnu.yaml").write_text(RISCV)
    return load_toolchains([OWN, tmp_path])


def test_another_triple_is_a_file_and_no_code(third: Toolchains) -> None:
    lanes = default_lanes(third, "x86_64")
    assert len(lanes) == 9
    own = [one for one in lanes if one.triple == "riscv64-linux-gnu"]
    assert own[0].name == "riscv64-linux-gnu/default/qemu-rv64"
    toolchain = third["riscv64-linux-gnu"]
    assert axes_of(own[0], toolchain, "x86_64")["emulator"] == "qemu-riscv64"
    assert flags_for(own[0], toolchain, "x86_64").compiler == "riscv64-linux-gnu-g++"
    check(own[0], third, "x86_64")
    assert neighbours(own[0], toolchain, "x86_64")
    assert control_of(third, "riscv64").name == "riscv64-linux-gnu/default/native"
    assert full_lanes(third, "riscv64")[0].name == "riscv64-linux-gnu/default/native"
    ill = diagnose(own, third, "x86_64", only("qemu-riscv64"))
    assert ill[0].install == "apt-get install -y g++-riscv64-linux-gnu"


def test_a_later_directory_replaces_a_triple(tmp_path: Path) -> None:
    text = (OWN / f"{X86}.yaml").read_text().replace("cpu: Nehalem", "cpu: max")
    (tmp_path / f"{X86}.yaml").write_text(text)
    found = load_toolchains([OWN, tmp_path])
    emulator = found[X86].emulator
    assert emulator is not None
    assert emulator.cpu == "max"


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("  char: unsigned", "  char: unsinged", "facts.char"),
        ('default: "off"', "default: off", "axes.fp-contract.default"),
        ("cpu: rv64", "cpu: rv65", "emulator"),
        ("default: O2", "default: O9", "axes.optimisation"),
        ("endian: little", "endain: little", "endain"),
        ("requires: {compiler: clang}", "requires: {compiler: icc}", ""),
        ("values: {gcc: {}, clang: {}}", "values: {gcc: {}}", ""),
        ("triple: riscv64-linux-gnu", "triple: riscv32-linux-gnu", "triple"),
        ("  optimisation:", "  optimization:", ""),
        ("    when: run\n", "    when: never\n", "axes.address-layout.when"),
        ("    when: run\n", "", "axes.address-layout"),
        ("C: {}", "C: {flags: [-O0]}", "axes.locale"),
        ("runners: [native]", "runners: [nativ]", "runners"),
    ],
)
def test_a_toolchain_file_that_is_wrong_is_refused(
    tmp_path: Path, old: str, new: str, where: str
) -> None:
    assert old in RISCV
    (tmp_path / "riscv64-linux-gnu.yaml").write_text(RISCV.replace(old, new, 1))
    with pytest.raises(UsageError) as caught:
        load_toolchains([tmp_path])
    assert "riscv64-linux-gnu.yaml" in (caught.value.where or "")
    assert where in (caught.value.where or "")


def test_no_toolchain_at_all(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no toolchain"):
        load_toolchains([tmp_path])


# What doctor says.


def test_doctor_names_what_is_missing_and_the_install_line(toolchains: Toolchains) -> None:
    lanes = default_lanes(toolchains, "x86_64")
    found = diagnose(lanes, toolchains, "x86_64", only("g++"))
    assert [one.available for one in found] == [True] * 3 + [False] * 3
    assert found[0].install is None
    assert found[3].install == "apt-get install -y g++-aarch64-linux-gnu qemu-user"
    assert {need.program for need in found[3].missing} == {"aarch64-linux-gnu-g++", "qemu-aarch64"}


def test_doctor_says_where_no_package_helps(toolchains: Toolchains) -> None:
    (found,) = diagnose(
        [parse(f"{ARM}/default/native")], toolchains, "x86_64", only("aarch64-linux-gnu-g++")
    )
    assert not found.available
    assert found.install is None
    assert found.obstacle is not None
    assert "aarch64 machine" in found.obstacle.what


def test_require_names_every_lane_and_one_line(toolchains: Toolchains) -> None:
    lanes = default_lanes(toolchains, "x86_64")
    require(lanes[:3], toolchains, "x86_64", only("g++"))
    with pytest.raises(LaneUnavailable) as caught:
        require(lanes, toolchains, "x86_64", only("g++"))
    error = caught.value
    assert error.exit_code == 4
    assert "3 of 6 lanes" in error.what
    assert all(one.name in (error.where or "") for one in lanes[3:])
    assert error.remedy == "apt-get install -y g++-aarch64-linux-gnu qemu-user"


def test_an_install_line_names_a_package_once() -> None:
    assert install_line(["b", "a", "b"]) == "apt-get install -y a b"
