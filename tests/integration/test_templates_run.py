"""Real templates with their real tokenizers: the published figures come out."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.oracle import Oracle
from harness.places import bundled
from harness.served.live.candidates import Tried, as_it_is, candidates
from harness.served.live.clients import clients, counter
from harness.served.live.fit import fit
from harness.served.live.shapes import SHAPES
from harness.served.live.template_files import beside
from harness.served.live.templates import Renderer
from harness.served.live.values import Ask, Message
from harness.served.live.wild import WILD
from harness.tokenizers import source, sources, template_path

QUESTION = "What is 2 + 2? Reply with just the number."
LONG = "hello" + " hello" * 504
CONFIG = "tokenizer_config.json"


@pytest.fixture
def renderer() -> Iterator[Renderer]:
    with Renderer() as made:
        yield made


@pytest.fixture
def qwen(real_tokenizers: Path) -> Path:
    file = real_tokenizers / "tokenizers" / f"{source('qwen2.5', bundled('goldens')).pinned.sha256}"
    path = file.with_suffix(".json")
    assert path.name.startswith("c0382117")
    return path


def test_the_published_figures(qwen: Path, renderer: Renderer) -> None:
    oracle = Oracle.load(qwen)
    [own] = beside(qwen)
    asks = [Ask((Message("user", text),), None, chat=True) for text in (QUESTION, LONG)]
    chatml = clients(asks, oracle, renderer, as_it_is(WILD["ChatML"]))
    template = clients(asks, oracle, renderer, as_it_is(own))
    found = [
        tuple(len(one or ()) for one in (bare.raw, bare.rendered_ids, whole.rendered_ids))
        for bare, whole in zip(chatml, template, strict=True)
    ]
    assert found == [(14, 22, 43), (505, 513, 534)]
    # The 25 that one server reported: the user's span as plain text, `.<|im_end|>` in pieces.
    plain = oracle.described({**oracle.description, "added_tokens": []})
    span = counter(plain)([f"{QUESTION}<|im_end|>\n"])
    around = counter(oracle)(["<|im_start|>user\n", "<|im_start|>assistant\n"])
    assert sum(one or 0 for one in span + around) == 25


def test_servers_with_and_without_the_default_system_message_are_told_apart(
    qwen: Path, renderer: Renderer
) -> None:
    count = counter(Oracle.load(qwen))
    tried = candidates(beside(qwen), renderer)
    known = {one.candidate.name: one for one in tried}
    whole, bare = known[CONFIG], known[f"{CONFIG}, without its default system message"]
    assert whole.candidate.aliases == ("Qwen2.5 (ChatML with its default system message)",)
    assert bare.candidate.aliases == ("ChatML",)
    for one in (whole, bare):
        found = fit(tried, _counts(count(_texts(one))), count)
        assert found.named[0].candidate == one.candidate
        assert len(found.named) == 1
    # Between the two the difference is constant but for the shape with a system message of its own.
    off = fit(tried, _counts(count(_texts(whole))), count)
    offsets = next(one.offsets for one in off.named if one.candidate == whole.candidate)
    assert offsets == (0,) * len(SHAPES)
    against = next(one for one in off.rest if one.candidate == bare.candidate)
    assert against.offsets == (21, 21, 21, 0, 21, 21)


def _texts(one: Tried) -> list[str]:
    return [text.text or "" for text in one.texts]


def _counts(numbers: list[int | None]) -> dict[str, int | None]:
    return {shape.name: number for shape, number in zip(SHAPES, numbers, strict=True)}


def test_every_real_template_renders_and_is_recognised(
    real_tokenizers: Path, renderer: Renderer
) -> None:
    pinned = {
        name: path
        for name, one in sources(bundled("goldens")).items()
        if (path := template_path(one, real_tokenizers)) is not None
    }
    assert set(pinned) == {"deepseek-v3", "llama3", "qwen2.5", "qwen3"}
    aliases = {"llama3": "Llama-3", "qwen3": "ChatML"}
    for name, path in pinned.items():
        tokenizer = path.with_name(path.name.removesuffix(".config.json") + ".json")
        [own] = beside(tokenizer)
        count = counter(Oracle.load(tokenizer))
        tried = candidates([own], renderer)
        assert all(one.error is None for one in tried[0].texts)
        assert aliases.get(name, "") in ("", *tried[0].candidate.aliases)
        numbers = _counts(count(_texts(tried[0])))
        assert CONFIG in fit(tried, numbers, count).names
