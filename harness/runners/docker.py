"""A container of the engine on this machine, with nothing in it but the probe and its files.

The container has no network, no capabilities, a read-only root and a user that is not root. The
default image is empty: a statically linked probe needs nothing. ``image:`` in a toolchain file
names another, which the engine must already have.
"""

import io
import os
import resource
import stat
import tarfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import docker
from docker.errors import APIError, ImageNotFound
from docker.models.images import Image
from docker.types import LogConfig, Mount, Ulimit

from harness.errors import LaneUnavailable
from harness.lane import Lane
from harness.runners.carried import carried, readdressed
from harness.runners.container import ENGINE_ERRORS, Contained, words
from harness.runners.native import processor
from harness.runners.spawn import Lost
from harness.toolchain_file import Toolchain
from harness.tools import tool

LABEL = "tokparity"
EMPTY_IMAGE = "tokparity-empty:1"
_CONNECT_SECONDS = 5
_ANSWER_SECONDS = 60  # a busy engine takes its time to create a container
_MEMORY = "4g"
_PROCESSES = 256
_NOBODY = 65534
_INSIDE = "/tokparity"
_BINFMT = Path("/proc/sys/fs/binfmt_misc")


@dataclass(frozen=True)
class Docker:
    """Runs a probe in a fresh container of ``image``, which is removed at its end."""

    client: docker.DockerClient
    image: str
    identity: str
    emulated: bool

    def argv(self, command: Sequence[str]) -> list[str]:
        """Return the command as the container sees it."""
        places = {index: _inside(index, path) for index, path in carried(command).items()}
        return readdressed(command, places)

    def start(self, command: Sequence[str], *, stdin: int, cwd: Path) -> Contained:
        """Start the probe; raises :class:`Lost` where the engine is gone.

        ``cwd`` is not the container's: the probe works in an empty directory of its own. Raises
        :class:`LaneUnavailable` where the engine refuses.
        """
        del cwd
        files = carried(command)
        for path in files.values():
            _readable(path)
        argv = self.argv(command)
        try:
            container = self.client.containers.create(
                self.image,
                argv[1:],
                entrypoint=argv[:1],
                # Process 1 of a container ignores the signals it sends itself: abort() would not
                # end as SIGABRT. So process 1 is the engine's own init.
                init=True,
                stdin_open=True,
                environment={"LC_ALL": "C", "TZ": "UTC"},
                mounts=[
                    Mount(_inside(index, path), str(path), type="bind", read_only=True)
                    for index, path in files.items()
                ],
                tmpfs={"/tmp": "size=64m,mode=1777"},  # noqa: S108 - the container's own
                working_dir="/tmp",  # noqa: S108
                read_only=True,
                user=_user(),
                network_mode="none",
                cap_drop=["ALL"],
                security_opt=["no-new-privileges"],
                mem_limit=_MEMORY,
                memswap_limit=_MEMORY,
                pids_limit=_PROCESSES,
                ulimits=[Ulimit(name="core", soft=0, hard=0), _stack()],
                log_config=LogConfig(type="none"),
                labels={LABEL: str(os.getpid())},
            )
            try:
                return Contained(container, stdin)
            except BaseException:
                with suppress(*ENGINE_ERRORS):
                    container.remove(force=True, v=True)
                raise
        except APIError as error:
            raise LaneUnavailable(
                f"the container engine refused: {words(error)}", where=command[0]
            ) from error
        except ENGINE_ERRORS as error:
            raise Lost(
                f"the container engine was lost: {words(error)}", where=command[0]
            ) from error


def connect(lane: Lane, toolchain: Toolchain, host: str) -> Docker:
    """Return the runner of a docker lane; raises :class:`LaneUnavailable` in words."""
    emulator = None if toolchain.arch == host else _registered(toolchain.arch)
    if toolchain.arch != host and emulator is None:
        raise LaneUnavailable(
            f"this kernel runs no {toolchain.arch} program: binfmt_misc has no enabled "
            f"qemu-{toolchain.arch} with the flag F",
            where=lane.name,
            remedy="apt-get install -y binfmt-support qemu-user-static",
        )
    client = _engine(lane)
    try:
        image = _image(client, toolchain.image, lane)
        engine, kernel = client.version()["Version"], client.info()["KernelVersion"]
    except ENGINE_ERRORS as error:
        client.close()
        raise LaneUnavailable(
            f"the container engine failed: {words(error)}", where=lane.name, remedy="docker info"
        ) from error
    cpu = processor(Path("/proc/cpuinfo").read_text(errors="replace"))
    parts = [f"docker {engine}", f"image {image.id}", f"kernel {kernel}", cpu]
    if emulator is not None:
        found = tool(emulator)
        parts += [f"binfmt {emulator.name}", found.version, found.sha256]
    return Docker(client, str(image.id), "; ".join(parts), emulator is not None)


def _engine(lane: Lane) -> docker.DockerClient:
    try:
        client = docker.from_env(timeout=_CONNECT_SECONDS)
        client.ping()
    except ENGINE_ERRORS as error:
        raise LaneUnavailable(
            f"no container engine answers: {words(error)}",
            where=lane.name,
            expected="a docker engine on this machine, and the right to use it",
            remedy="apt-get install -y docker.io, start dockerd; or set DOCKER_HOST",
        ) from error
    if not client.api.base_url.startswith("http+docker://local"):
        client.close()
        raise LaneUnavailable(
            "the container engine is on another machine, which has no probe to run",
            where=lane.name,
            expected="DOCKER_HOST to name a socket of this machine, or nothing",
            remedy=f"{lane.triple}/{lane.char}/ssh-HOST runs the probe on another machine",
        )
    client.api.timeout = _ANSWER_SECONDS
    return client


def _image(client: docker.DockerClient, name: str | None, lane: Lane) -> Image:
    try:
        return client.images.get(name or EMPTY_IMAGE)
    except ImageNotFound as error:
        if name is not None:
            # Nothing is pulled unasked: it would be another image every month.
            raise LaneUnavailable(
                f"the engine has no image '{name}'",
                where=lane.name,
                remedy=f"docker pull {name}",
            ) from error
    repository, _, tag = EMPTY_IMAGE.partition(":")
    client.api.import_image_from_data(_empty(), repository=repository, tag=tag)
    return client.images.get(EMPTY_IMAGE)


def _empty() -> bytes:
    """Return a tar that holds an empty directory and nothing of this machine or hour."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        place = tarfile.TarInfo("tmp")
        place.type, place.mode = tarfile.DIRTYPE, 0o1777
        tar.addfile(place)
    return made.getvalue()


def _registered(arch: str, registry: Path = _BINFMT) -> Path | None:
    """Return the interpreter that the kernel starts for programs of ``arch``, or None.

    Only one that was opened when it was registered (flag F) is found from within a container.
    """
    try:
        said = (registry / f"qemu-{arch}").read_text()
    except OSError:
        return None
    fields = dict(line.partition(" ")[::2] for line in said.splitlines())
    if "enabled" not in fields or "F" not in fields.get("flags:", ""):
        return None
    return Path(fields["interpreter"]) if "interpreter" in fields else None


def _inside(index: int, path: Path) -> str:
    return f"{_INSIDE}/{index}/{path.name}"


def _user() -> str:
    """Return this user, or nobody in place of root."""
    return f"{os.getuid()}:{os.getgid()}" if os.getuid() else f"{_NOBODY}:{_NOBODY}"


def _readable(path: Path) -> None:
    if os.getuid() == 0 and not path.stat().st_mode & stat.S_IROTH:
        raise LaneUnavailable(
            "cannot be read in a container, where its user is not root",
            where=str(path),
            remedy=f"chmod a+r {path}",
        )


def _stack() -> Ulimit:
    """Return this process's own limit, as a native probe has it: recursion must end alike."""
    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    return Ulimit(name="stack", soft=soft, hard=hard)
