"""scripts/setup on machines that lack something, with the programs of such a machine in PATH.

The machine is a directory of programs: those of this one but for what is missing, ``id``, ``sudo``
and ``apt-get`` being stand-ins that keep what they are asked. That pip then installs what it is
asked to is what the environment that runs these tests was made with.
"""

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.integration.conftest import REPOSITORY

OTHER = {"x86_64": "aarch64", "aarch64": "x86_64"}[platform.machine()]
CROSS = f"{OTHER}-linux-gnu-g++"
PLAIN = (
    "bash cat chmod cp cut dirname env grep mkdir printf pwd sed sha256sum sh sort touch true uname"
)
NEEDED = ("g++", CROSS, "qemu-aarch64", "qemu-x86_64")
SCRIPT = (REPOSITORY / "scripts" / "setup").read_text(encoding="utf-8")
# What the script asks for, program and package, and what of it tests alone need.
NEEDS = dict(re.findall(r"^ *need (\S+) (\S+)$", SCRIPT, re.MULTILINE))
ONLY_DEV = re.search(r'^if \[ "\$what" = dev \]; then\n(.*?)^fi$', SCRIPT, re.MULTILINE | re.DOTALL)
assert ONLY_DEV is not None
DEV = dict(re.findall(r"^ *need (\S+) (\S+)$", ONLY_DEV[1], re.MULTILINE))
INSTALL = "apt-get update && apt-get install -y --no-install-recommends"

# A Python that answers what is asked of it, makes an environment of itself, and installs nothing.
PYTHON = """#!/bin/sh
echo "python $*" >>"$TOLD"
case "$1 $2" in
  "-m venv") mkdir -p "$3/bin"; cp "$0" "$3/bin/python" ;;
  "-c import ensurepip"*) exit ${NO_VENV:-0} ;;
  -c*) exit ${TOO_OLD:-0} ;;
esac
"""
# Installs by making the program that was missing.
APT = """#!/bin/sh
echo "apt-get $* ($DEBIAN_FRONTEND)" >>"$TOLD"
if [ "$1" = install ]; then
  printf '#!/bin/sh\\n' >"$MACHINE/$MISSING"
  chmod +x "$MACHINE/$MISSING"
fi
"""
SUDO = """#!/bin/sh
echo "sudo $*" >>"$TOLD"
[ "$1" = -n ] && shift
exec "$@"
"""


class Machine:
    """A copy of what scripts/setup reads, and the programs it finds."""

    def __init__(self, path: Path, *, user: int, missing: str | None = None) -> None:
        self.clone = path / "clone"
        self.programs = path / "programs"
        self.told = path / "told"
        (self.clone / "scripts").mkdir(parents=True)
        self.programs.mkdir()
        shutil.copy(REPOSITORY / "scripts" / "setup", self.clone / "scripts")
        shutil.copy(REPOSITORY / "pyproject.toml", self.clone)
        for name in PLAIN.split():
            found = shutil.which(name)
            assert found is not None, name
            (self.programs / name).symlink_to(found)
        self.missing = missing or "nothing"
        for name in (*NEEDED, *DEV):
            if name != missing:
                self.program(name, "#!/bin/sh\n")
        self.program("python3", PYTHON)
        self.program("id", f"#!/bin/sh\necho {user}\n")
        self.program("apt-get", APT)

    def program(self, name: str, text: str) -> None:
        (self.programs / name).write_text(text)
        (self.programs / name).chmod(0o755)

    def setup(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.clone / "scripts" / "setup"), *arguments],
            env={
                "PATH": str(self.programs),
                "MACHINE": str(self.programs),
                "MISSING": self.missing,
                "TOLD": str(self.told),
                **environment,
            },
            cwd=self.clone.parent,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def asked(self, program: str = "") -> list[str]:
        """What the stand-ins were asked, in order."""
        lines = self.told.read_text().splitlines() if self.told.is_file() else []
        return [line for line in lines if line.startswith(program)]

    def state(self) -> dict[str, tuple[int, int]]:
        """Every file with its size and time."""
        found = {path: path.stat() for path in sorted(self.clone.rglob("*"))}
        return {str(path): (one.st_size, one.st_mtime_ns) for path, one in found.items()}


def test_neither_root_nor_sudo_is_told_the_line_and_nothing_changes(tmp_path: Path) -> None:
    machine = Machine(tmp_path, user=1000, missing=CROSS)
    before = machine.state()
    done = machine.setup()
    assert done.returncode == 4
    package = f"g++-{OTHER.replace('_', '-')}-linux-gnu"
    assert done.stdout == f"{INSTALL} {package}\n"
    assert "as root, run:" in done.stderr
    assert machine.state() == before
    assert machine.asked("apt-get") == []
    assert not any("venv" in line and "-m" in line for line in machine.asked())
    # The line is right: run as it stands, what was missing is there, and set-up goes through.
    subprocess.run(
        ["/bin/sh", "-c", done.stdout],
        env={
            "PATH": str(machine.programs),
            "MACHINE": str(machine.programs),
            "MISSING": CROSS,
            "TOLD": str(machine.told),
        },
        check=True,
    )
    assert machine.setup().returncode == 0


def test_sudo_that_asks_for_a_password_nobody_can_type_is_none(tmp_path: Path) -> None:
    machine = Machine(tmp_path, user=1000, missing="g++")
    machine.program("sudo", "#!/bin/sh\nexit 1\n")
    done = machine.setup()
    assert (done.returncode, done.stdout) == (4, f"{INSTALL} g++\n")


def test_scripts_run_stops_with_the_same_exit(tmp_path: Path) -> None:
    machine = Machine(tmp_path, user=1000, missing=CROSS)
    shutil.copy(REPOSITORY / "scripts" / "run", machine.clone / "scripts")
    done = subprocess.run(
        [str(machine.clone / "scripts" / "run")],
        env={"PATH": str(machine.programs), "TOLD": str(machine.told)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.startswith(INSTALL)) == (4, True)


def test_root_has_apt_install_it(tmp_path: Path) -> None:
    machine = Machine(tmp_path, user=0, missing="qemu-aarch64")
    done = machine.setup()
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert machine.asked("apt-get") == [
        "apt-get update -q (noninteractive)",
        "apt-get install -y -q --no-install-recommends qemu-user (noninteractive)",
    ]
    assert machine.asked("sudo") == []


def test_a_user_with_sudo_has_apt_install_it(tmp_path: Path) -> None:
    machine = Machine(tmp_path, user=1000, missing="g++")
    machine.program("sudo", SUDO)
    done = machine.setup()
    assert done.returncode == 0, done.stderr
    assert machine.asked("sudo") == [
        "sudo -n true",
        "sudo env DEBIAN_FRONTEND=noninteractive apt-get update -q",
        "sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends g++",
    ]
    assert len(machine.asked("apt-get")) == 2


def test_the_second_call_does_nothing(tmp_path: Path) -> None:
    machine = Machine(tmp_path, user=1000)
    assert machine.setup().returncode == 0
    made = [line for line in machine.asked("python") if " -m " in line]
    assert [line.split()[2:4] for line in made] == [
        ["venv", ".venv"],
        ["pip", "install"],
        ["pip", "install"],
    ]
    assert made[-1].endswith("--editable .")
    before = machine.state()
    machine.told.unlink()
    done = machine.setup()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert machine.state() == before
    assert not any(" -m " in line for line in machine.asked())


def test_what_the_environment_is_made_from_makes_it_again(tmp_path: Path) -> None:
    machine = Machine(tmp_path, user=1000)
    assert machine.setup().returncode == 0
    with (machine.clone / "pyproject.toml").open("a") as file:
        file.write("\n")
    machine.told.unlink()
    assert machine.setup().returncode == 0
    assert sum(" -m pip install" in line for line in machine.asked()) == 2
    assert not any(" -m venv" in line for line in machine.asked())


def test_an_installation_that_failed_is_tried_again(tmp_path: Path) -> None:
    machine = Machine(tmp_path, user=1000)
    machine.program("python3", PYTHON.replace("esac", '  "-m pip") exit ${NO_PIP:-0} ;;\nesac'))
    assert machine.setup(NO_PIP="1").returncode == 1
    assert machine.setup().returncode == 0
    assert [line for line in machine.asked() if "--editable ." in line] != []


@pytest.mark.parametrize("missing", DEV)
def test_what_only_tests_need_is_asked_for_by_them_alone(tmp_path: Path, missing: str) -> None:
    machine = Machine(tmp_path, user=1000, missing=missing)
    assert machine.setup().returncode == 0
    done = machine.setup("dev")
    assert (done.returncode, done.stdout) == (4, f"{INSTALL} {DEV[missing]}\n")


def test_tests_get_their_group(tmp_path: Path) -> None:
    machine = Machine(tmp_path, user=1000)
    assert machine.setup("dev").returncode == 0
    assert any(line.endswith("--editable . --group dev") for line in machine.asked())


def test_a_python_that_is_too_old_or_has_no_venv_is_named(tmp_path: Path) -> None:
    machine = Machine(tmp_path, user=1000)
    done = machine.setup(TOO_OLD="1")
    assert (done.returncode, done.stdout) == (4, f"{INSTALL} python3 python3-venv\n")
    done = machine.setup(NO_VENV="1")
    assert (done.returncode, done.stdout) == (4, f"{INSTALL} python3-venv\n")


def test_root_with_nothing_but_an_old_python_is_told_so(tmp_path: Path) -> None:
    machine = Machine(tmp_path, user=0)
    done = machine.setup(TOO_OLD="1")
    assert done.returncode == 4
    assert "Python 3.11 or newer is needed" in done.stderr
    assert not (machine.clone / ".venv").exists()


def test_the_packages_are_those_the_toolchains_name() -> None:
    """The script knows them before there is a Python that could read the toolchain files."""
    named: dict[str, str] = {}
    for path in (REPOSITORY / "toolchains").glob("*.yaml"):
        chain = yaml.safe_load(path.read_text())
        for compiler in chain["compilers"].values():
            for reach in compiler.values():
                named |= {need["program"]: need["package"] for need in reach["needs"]}
        named[chain["emulator"]["program"]] = chain["emulator"]["package"]
    assert {program: NEEDS.get(program) for program in named} == named


def test_the_scripts_can_be_run() -> None:
    for name in ("scripts/setup", "scripts/run", "scripts/test", ".ci/run"):
        assert os.access(REPOSITORY / name, os.X_OK), name
