"""The wheel, away from the clone: it carries what a run reads, and runs."""

import os
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness import __version__
from tests.integration.clone import tracked
from tests.integration.conftest import REPOSITORY

CARRIED = ("toolchains", "corpora", "goldens", "probes")
HOST = os.uname().machine


@dataclass(frozen=True)
class Built:
    """The two archives, made as a release is made."""

    wheel: Path
    sdist: Path


@dataclass(frozen=True)
class Installed:
    """An environment with the wheel in it, and an empty directory that is not in any clone."""

    python: Path
    elsewhere: Path
    cache: Path

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("TOKPARITY", "PYTHON", "VIRTUAL_ENV"))
        }
        return subprocess.run(
            [str(self.python.with_name("tokparity")), *arguments],
            cwd=self.elsewhere,
            env={**inherited, "TOKPARITY_CACHE": str(self.cache)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    place = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(place)],
        cwd=REPOSITORY,
        check=True,
        capture_output=True,
    )
    (wheel,) = place.glob("*.whl")
    (sdist,) = place.glob("*.tar.gz")
    return Built(wheel, sdist)


@pytest.fixture(scope="module")
def installed(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    place = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", str(place / "venv")], check=True)
    python = place / "venv" / "bin" / "python"
    install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(built.wheel)]
    subprocess.run([str(python), *install], check=True, cwd=place)
    elsewhere = place / "elsewhere"
    elsewhere.mkdir()
    return Installed(python, elsewhere, place / "cache")


def content(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def wanted() -> dict[str, bytes]:
    """What must be in the wheel, by its name there."""
    found = {}
    for name in tracked(REPOSITORY):
        top = name.partition("/")[0]
        if top == "harness":
            found[name] = (REPOSITORY / name).read_bytes()
        elif top in CARRIED:
            found[f"harness/bundled/{name}"] = (REPOSITORY / name).read_bytes()
    return found


def test_the_wheel_carries_everything_and_nothing_besides(built: Built) -> None:
    inside = content(built.wheel)
    data = {name: text for name, text in inside.items() if ".dist-info/" not in name}
    assert set(data) == set(wanted())
    assert data == wanted()
    assert all(any(f"/bundled/{kind}/" in name for name in data) for kind in CARRIED)


def test_the_wheel_says_what_it_is(built: Built) -> None:
    assert built.wheel.name == f"tokparity-{__version__}-py3-none-any.whl"
    inside = content(built.wheel)
    info = f"tokparity-{__version__}.dist-info"
    assert inside[f"{info}/licenses/LICENSE"] == (REPOSITORY / "LICENSE").read_bytes()
    metadata = inside[f"{info}/METADATA"].decode()
    assert "License-Expression: Apache-2.0" in metadata
    assert "Requires-Dist: tokenizers==0.22.2" in metadata
    assert "pytest" not in metadata.partition("\n\n")[0]


def test_the_sdist_is_the_tree(built: Built) -> None:
    top = f"tokparity-{__version__}/"
    with tarfile.open(built.sdist) as archive:
        names = {name.removeprefix(top) for name in archive.getnames()}
    assert names - {"PKG-INFO"} == set(tracked(REPOSITORY))


def test_the_wheel_of_the_sdist_is_the_wheel(built: Built, tmp_path: Path) -> None:
    with tarfile.open(built.sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (tree,) = tmp_path.iterdir()
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "out")]
    subprocess.run(build, cwd=tree, check=True, capture_output=True)
    (again,) = (tmp_path / "out").glob("*.whl")
    assert content(again) == content(built.wheel)


def test_it_runs_from_an_empty_directory(installed: Installed) -> None:
    """Two lanes, one of them emulated, of the six; each is twenty-odd files to compile."""
    done = installed.run("run", "--quiet", "--lanes", "*/default/*")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("tokparity: parity (exit 0): 2 lanes, 1 tokenizer, 8 corpora\n")
    assert list(installed.elsewhere.iterdir()) == []
    assert str(REPOSITORY) not in done.stdout + done.stderr


def test_it_knows_lanes_tokenizers_and_adapters(installed: Installed) -> None:
    assert len(installed.run("lanes").stdout.splitlines()) == 2 + 6
    done = installed.run("fetch", "bundled")
    assert done.returncode == 0, done.stderr
    place = done.stdout.split()[-1]
    assert "site-packages/harness/bundled/goldens/bundled" in place
    done = installed.run("fetch", "no-such")
    assert (done.returncode, "qwen3.6" in done.stderr) == (2, True)
    engine = installed.elsewhere.with_name("engine")
    engine.mkdir()
    (engine / "tokparity.yaml").write_text("subject: {name: a, adapter: none, sources: []}\n")
    done = installed.run("run", str(engine / "tokparity.yaml"))
    assert (done.returncode, "from_file_encode" in done.stderr) == (2, True)


def test_a_wheel_that_lacks_its_data_cannot_run(installed: Installed) -> None:
    """What the runs above rest on: it is the carried data that is read."""
    bundled = next(installed.python.parents[1].glob("lib/*/site-packages/harness/bundled"))
    away = bundled.with_name("away")
    bundled.rename(away)
    try:
        assert installed.run("run", "--quiet", "--lanes", f"{HOST}*/default/*").returncode != 0
    finally:
        away.rename(bundled)
