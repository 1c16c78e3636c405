"""Changes to the bytes before any stage sees them, and what becomes of bytes that are not UTF-8."""

from collections.abc import Callable, Mapping

from harness.hypotheses.hypothesis import Hypothesis, Pieces
from harness.hypotheses.seen import Seen


def _until_nul(data: bytes) -> Pieces:
    return (data.partition(b"\0")[0],)


def _without_last(data: bytes) -> Pieces:
    return (data[:-1],)


NUL_ENDS_TEXT = Hypothesis(
    "nul-ends-text", "input", "the text ends at its first NUL byte", text=_until_nul
)
LAST_BYTE_DROPPED = Hypothesis(
    "last-byte-dropped", "input", "the text's last byte is left out", text=_without_last
)
NAMES = (NUL_ENDS_TEXT.name, LAST_BYTE_DROPPED.name)


def proposed(seen: Seen) -> tuple[Hypothesis, ...]:
    """Return the input changes that would change any case; the others cannot be tested."""
    return tuple(
        one
        for one in (NUL_ENDS_TEXT, LAST_BYTE_DROPPED)
        if any(one.text(data) != (data,) for data in seen.cases)
    )


def _per_byte(data: bytes) -> str:
    text = data.decode("utf-8", "surrogateescape")
    return "".join("\ufffd" if "\udc80" <= char <= "\udcff" else char for char in text)


def _per_run(data: bytes) -> str:
    text = data.decode("utf-8", "surrogateescape")
    kept: list[str] = []
    for char in text:
        if not "\udc80" <= char <= "\udcff":
            kept.append(char)
        elif not kept or kept[-1] != "":
            # An empty mark stands for the run, so that a genuine U+FFFD before it is not merged.
            kept.append("")
    return "".join(char or "\ufffd" for char in kept)


# What can become of bytes that are not UTF-8; the first is what Unicode recommends (chapter 3.9,
# "Substitution of maximal subparts"), and what CPython's "replace" does.
POLICIES: Mapping[str, Callable[[bytes], str]] = {
    "replaced-per-subpart": lambda data: data.decode("utf-8", "replace"),
    "replaced-per-byte": _per_byte,
    "replaced-per-run": _per_run,
    "dropped": lambda data: data.decode("utf-8", "ignore"),
    "latin-1": lambda data: data.decode("latin-1"),
    "latin-1-per-byte": lambda data: "".join(
        chr(ord(char) & 0xFF) if "\udc80" <= char <= "\udcff" else char
        for char in data.decode("utf-8", "surrogateescape")
    ),
}
RECOMMENDED = "replaced-per-subpart"
REFUSED = "refused"
