"""Requests as a file that every lane reads for itself.

The file is what a probe finds on its standard input: no writer is needed, so no writer can be
waited for while answers are waited for, whatever their size. After a crash the next probe starts
reading at the offset of the next request.
"""

import hashlib
from binascii import hexlify
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from harness.atomic import whole_file
from harness.outcomes import Ids

# A text's bytes, or ids as the words of `decimals`.
Payload = bytes | Sequence[str]
_TOGETHER = 2048


@dataclass(frozen=True, eq=False)
class RequestFile:
    """``n`` requests in a file, one a line.

    ``offsets``    int64[n + 1]; request ``i`` is bytes ``offsets[i]:offsets[i + 1]``.
    ``operations`` the distinct operations; ``kinds`` uint8[n] indexes it.
    ``sha256``     of the whole file.
    """

    path: Path
    offsets: npt.NDArray[np.int64]
    operations: tuple[str, ...]
    kinds: npt.NDArray[np.uint8]
    sha256: str

    def __len__(self) -> int:
        """Return the number of requests."""
        return int(self.kinds.shape[0])

    def operation(self, index: int) -> str:
        """Return the operation of one request."""
        return self.operations[int(self.kinds[index])]

    def line(self, index: int) -> bytes:
        """Return one request as it stands in the file, newline included."""
        first, last = int(self.offsets[index]), int(self.offsets[index + 1])
        with self.path.open("rb") as file:
            file.seek(first)
            return file.read(last - first)

    def longest(self) -> int:
        """Return the length in bytes of the longest request, 0 where there is none."""
        return int(np.diff(self.offsets).max(initial=0))


def request_line(operation: str, payload: Payload) -> bytes:
    """Return one request: hex for bytes, decimals for ids."""
    words = hexlify(payload) if isinstance(payload, bytes) else " ".join(payload).encode("ascii")
    return b"%s %s\n" % (operation.encode("ascii"), words)


def decimals(ids: Ids) -> list[str]:
    """Write ids as decimals; many at a time, each different id is written once."""
    most = int(ids.max(initial=0))
    if most > ids.shape[0]:
        return [str(number) for number in ids.tolist()]
    words = np.array([str(number) for number in range(most + 1)], dtype=object)
    found: list[str] = words[ids].tolist()
    return found


def write_requests(path: Path, requests: Iterable[tuple[str, Payload]]) -> RequestFile:
    """Write requests to ``path``, whole or not at all; raises :class:`StorageError`.

    Each request is an operation with its payload: the text's bytes, or ids for ``decode``.
    """
    lengths, kinds = [0], bytearray()
    known: dict[str, int] = {}
    digest = hashlib.sha256()
    # Sixty thousand small writes and digests would cost as much as making the lines.
    waiting = iter(requests)
    with whole_file(path) as file:
        while some := list(islice(waiting, _TOGETHER)):
            lines = [request_line(operation, payload) for operation, payload in some]
            lengths += map(len, lines)
            kinds += bytes(known.setdefault(name, len(known)) for name, _ in some)
            block = b"".join(lines)
            file.write(block)
            digest.update(block)
    return RequestFile(
        path,
        np.cumsum(np.asarray(lengths, dtype=np.int64)),
        tuple(known),
        np.frombuffer(bytes(kinds), dtype=np.uint8),
        digest.hexdigest(),
    )


def pieces(values: Ids) -> list[bytes]:
    """Read a ``pretokenize`` answer: each piece is its length, then its bytes, all as uint32."""
    found, at = [], 0
    while at < values.shape[0]:
        end = at + 1 + int(values[at])
        found.append(values[at + 1 : end].astype(np.uint8).tobytes())
        at = end
    return found


def prompt_and_ids(values: Ids) -> tuple[bytes, Ids]:
    """Read a ``request`` answer: the prompt's length, its bytes, then the ids."""
    end = 1 + int(values[0])
    return values[1:end].astype(np.uint8).tobytes(), values[end:]
