"""By what a kind of server is recognised: a path that it alone answers in a shape of its own."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from harness.served.live.dialects import DIALECTS, Dialect
from harness.served.live.dialects.reading import Json, loaded, member
from harness.served.live.dialects.vllm import Vllm
from harness.served.live.values import Reply

Get = Callable[[str], Reply]

_IDS_SINCE = (0, 10, 2)  # vLLM's return_token_ids


@dataclass(frozen=True)
class Sign:
    """A path, the shape of the answer, and where version and context stand in it."""

    path: str
    fits: Callable[[Json], bool]
    version: str = "version"
    context: tuple[str, ...] = ()


@dataclass(frozen=True)
class Recognised:
    """A kind of server; ``sign`` and ``value`` are None where only its owner or the user says so.

    ``evidence`` is what was said, in words; ``notes`` what contradicts the user's own word.
    """

    kind: str
    sign: Sign | None
    value: Json
    evidence: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def version(self) -> str | None:
        """The server's version as it words it, None where it tells none."""
        told = None if self.sign is None else member(self.value, self.sign.version)
        return told[:60] if isinstance(told, str) and told else None

    @property
    def context(self) -> Json:
        """What stands where the sign tells the context, of any type; None where nothing does."""
        if self.sign is None or not self.sign.context:
            return None
        told = self.value
        for key in self.sign.context:
            told = member(told, key)
        return told

    @property
    def dialect(self) -> Dialect:
        """How to speak with this server, in its version where that makes a difference."""
        if self.kind == "vllm" and self.version is not None:
            return Vllm(by_logprobs=_numbers(self.version) < _IDS_SINCE)
        return DIALECTS[self.kind]()


def _has(*keys: str) -> Callable[[Json], bool]:
    return lambda value: isinstance(value, dict) and all(key in value for key in keys)


def _has_only(key: str) -> Callable[[Json], bool]:
    return lambda value: isinstance(value, dict) and list(value) == [key]


# SGLang goes before Ollama, whose requests it takes too.
_SIGNS: Mapping[str, tuple[Sign, ...]] = {
    "llama.cpp": (
        Sign(
            "/props",
            _has("default_generation_settings"),
            "build_info",
            ("default_generation_settings", "n_ctx"),
        ),
    ),
    "sglang": (
        Sign("/get_server_info", _has("model_path", "version"), context=("context_length",)),
        Sign("/server_info", _has("model_path", "version"), context=("context_length",)),
        Sign("/get_model_info", _has("model_path", "is_generation")),
    ),
    "tgi": (Sign("/info", _has("model_id", "max_total_tokens"), context=("max_total_tokens",)),),
    "ollama": (Sign("/api/version", _has_only("version")),),
    "vllm": (Sign("/version", _has_only("version")),),
}
# Too many servers tell a version there: it confirms vLLM, and does not show it.
_WEAK = frozenset({"vllm"})
# The servers that call themselves the owner of their models.
_OWNERS = {"vllm": "vllm", "llamacpp": "llama.cpp", "sglang": "sglang"}


def recognised(get: Get, owners: Collection[str], given: str | None) -> Recognised:
    """Return the kind of server, by its signs, by the owner of its models, or as ``given``.

    A server without a sign or an owner that is known is taken for an OpenAI-like one.
    """
    evidence = [f"/v1/models: owned by {owner[:40]}" for owner in sorted(owners)[:3]]
    owned = next((_OWNERS[one] for one in sorted(owners) if one in _OWNERS), None)
    found = _signed(get, [given] if given is not None else _order(owned))
    if given is None:
        found = found or Recognised(owned or "openai", None, None, ())
        return replace(found, evidence=(*evidence, *found.evidence))
    if found is None:
        words = f"--dialect {given}, and no answer shows that it is one"
        found = Recognised(given, None, None, (words,))
    notes: tuple[str, ...] = ()
    # Every server speaks like OpenAI's, and one with a sign that is not weak is what it says.
    if given != "openai" and (found.sign is None or given in _WEAK) and owned != given:
        notes = _contradicted(given, owned, _signed(get, _order(owned)))
    return replace(found, evidence=(*evidence, *found.evidence), notes=notes)


def _signed(get: Get, kinds: Iterable[str]) -> Recognised | None:
    """Return the first kind whose sign the server gives, with that as evidence."""
    for kind in kinds:
        for sign in _SIGNS.get(kind, ()):
            value = asked(get, sign.path)
            if sign.fits(value):
                found = Recognised(kind, sign, value, ())
                words = f"{sign.path}: {kind} {found.version or 'of an unknown version'}"
                return replace(found, evidence=(words,))
    return None


def _contradicted(given: str, owned: str | None, shown: Recognised | None) -> tuple[str, ...]:
    """Return in a note what a server shows itself to be, other than the dialect given."""
    kind = owned if shown is None else shown.kind
    if kind in (None, given):
        return ()
    sign = f"its models are owned by {owned}" if shown is None else shown.evidence[0]
    return (
        f"--dialect {given} contradicts what the server shows ({sign}): it is asked as {given} is,"
        f" and what its tokenizer endpoint is found to do may be the dialect's doing, not the"
        f" server's; --dialect {kind}, or none, asks it as what it shows",
    )


def asked(get: Get, path: str) -> Json:
    """Return the JSON at a path, None where there is none."""
    reply = get(path)
    return loaded(reply.body) if reply.status == 200 and reply.failure is None else None


def _order(owned: str | None) -> Iterator[str]:
    """Yield the kinds to try: the owner's own first, the weak ones for no other reason."""
    if owned is not None:
        yield owned
    yield from (kind for kind in _SIGNS if kind != owned and kind not in _WEAK)


def _numbers(version: str) -> tuple[int, ...]:
    """Return a version's numbers; one without numbers, of a build from source, counts as new."""
    parts: list[int] = []
    for part in version.removeprefix("v").split(".")[:3]:
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        parts.append(int(digits))
    return tuple(parts) if len(parts) > 1 and any(parts) else _IDS_SINCE
