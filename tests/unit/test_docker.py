"""The pure parts of the docker runner: the empty image, and what the kernel has registered."""

import io
import tarfile
from pathlib import Path

import pytest

from harness.runners import docker

ENABLED = "enabled\ninterpreter /usr/libexec/qemu-aarch64\nflags: {flags}\noffset 0\nmagic 7f454c\n"


def test_the_empty_image_is_empty_and_always_the_same() -> None:
    made = docker._empty()
    assert made == docker._empty()
    with tarfile.open(fileobj=io.BytesIO(made)) as tar:
        (only,) = tar.getmembers()
    assert (only.name, only.isdir(), only.mode, only.mtime) == ("tmp", True, 0o1777, 0)


@pytest.mark.parametrize(
    ("entry", "found"),
    [
        (ENABLED.format(flags="OCF"), Path("/usr/libexec/qemu-aarch64")),
        (ENABLED.format(flags="OC"), None),  # not to be found from within a container
        (ENABLED.format(flags=""), None),
        (ENABLED.format(flags="OCF").replace("enabled", "disabled"), None),
        ("", None),
        (None, None),
    ],
)
def test_what_the_kernel_has_registered(
    entry: str | None, found: Path | None, tmp_path: Path
) -> None:
    if entry is not None:
        (tmp_path / "qemu-aarch64").write_text(entry)
    assert docker._registered("aarch64", tmp_path) == found
    assert docker._registered("riscv64", tmp_path) is None


def test_files_of_one_name_do_not_meet_in_the_container() -> None:
    assert docker._inside(0, Path("/a/probe")) != docker._inside(1, Path("/b/probe"))
