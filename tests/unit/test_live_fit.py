"""Candidates for a server's template: where they come from, what is done to them, which fits."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from harness.errors import UsageError
from harness.oracle import Oracle
from harness.served.live import templates
from harness.served.live.candidates import (
    Candidate,
    Tried,
    as_it_is,
    candidates,
    render_as,
    system_turns,
)
from harness.served.live.clients import counter
from harness.served.live.fit import Fit, fit
from harness.served.live.shapes import SHAPES
from harness.served.live.template_files import Sourced, beside, of_file, of_gguf
from harness.served.live.templates import Rendered, Renderer, RenderLimits, Template
from harness.served.live.values import Message
from harness.served.live.wild import WILD
from tests.served.gguf_made import Model, make

BUNDLED = Path(__file__).resolve().parents[2] / "goldens/bundled/tokenizer.json"
# A template of our own with a default system message, which no known one has.
OWN = (
    "{{ bos_token }}{% if messages[0].role != 'system' %}<|im_start|>system\nBe kind.<|im_end|>\n"
    "{% endif %}{% for one in messages %}<|im_start|>{{ one.role }}\n{{ one.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
NAME = "tokenizer_config.json"
BARE = f"{NAME}, without its default system message"


@pytest.fixture(scope="module")
def renderer() -> Iterator[Renderer]:
    with Renderer() as made:
        yield made


@pytest.fixture(scope="module")
def tried(renderer: Renderer) -> tuple[Tried, ...]:
    own = Sourced(NAME, Template(OWN, {"bos_token": "<|bos|>"}))
    return candidates([own], renderer)


@cache
def oracle() -> Oracle:
    return Oracle.load(BUNDLED)


@cache
def counted(text: str) -> int | None:
    return counter(oracle())([text])[0]


def count(given: Sequence[str]) -> list[int | None]:
    return [counted(one) for one in given]


def counts(texts: Sequence[str | None], off: int = 0) -> dict[str, int | None]:
    """What a server counts that makes these texts of the shapes."""
    found = [None if one is None else counted(one) for one in texts]
    return {
        shape.name: None if number is None else number + off
        for shape, number in zip(SHAPES, found, strict=True)
    }


def named(tried: Sequence[Tried], name: str) -> Tried:
    return next(one for one in tried if one.candidate.name == name)


def texts(one: Tried) -> list[str | None]:
    return [each.text for each in one.texts]


def fitted(tried: Sequence[Tried], numbers: Mapping[str, int | None]) -> Fit:
    return fit(tried, numbers, count)


def named_plainly(found: Fit) -> list[str]:
    return [one.candidate.name for one in found.named]


def test_the_variants_of_a_template_are_what_their_names_say(tried: tuple[Tried, ...]) -> None:
    start, answer = "<|im_start|>", "<|im_start|>assistant\n"
    user = f"{start}user\nName the largest planet<|im_end|>\n"
    system = f"{start}system\nBe kind.<|im_end|>\n"
    empty = f"{start}system\n<|im_end|>\n"
    made = {
        NAME: f"<|bos|>{system}{user}{answer}",
        BARE: f"<|bos|>{user}{answer}",
        f"{NAME}, with an empty system message": f"<|bos|>{empty}{user}{answer}",
        f"{NAME}, without the beginning of the answer": f"<|bos|>{system}{user}",
        f"{BARE}, without the beginning of the answer": f"<|bos|>{user}",
        "ChatML": f"{user}{answer}",
        "ChatML, with the model's default system message": f"{system}{user}{answer}",
        "no template: the last message": "Name the largest planet",
    }
    for name, text in made.items():
        assert named(tried, name).texts[0].text == text
    # A conversation's own system message is no default: nothing is cut out of it.
    own = f"{start}system\nAnswer in one word.<|im_end|>\n"
    for name in (NAME, BARE):
        found = str(named(tried, name).texts[3].text)
        assert found.startswith(f"<|bos|>{own}{start}user\nWhat")


def test_every_candidate_is_fitted_from_its_own_counts(tried: tuple[Tried, ...]) -> None:
    assert len(tried) > 30
    numbers = {one.candidate.name: counts(texts(one)) for one in tried}
    for name, own in numbers.items():
        found = fitted(tried, own)
        # What is named besides gives these counts too: nothing is named by a guess.
        assert set(named_plainly(found)) == {one for one in numbers if numbers[one] == own}
        assert name in found.names


def test_the_models_own_template_is_told_from_all_others(tried: tuple[Tried, ...]) -> None:
    found = fitted(tried, counts(texts(named(tried, NAME))))
    assert found.names == (NAME,)
    assert found.words == f"the server's template is {NAME}: exact on all 6 shapes"
    bare = fitted(tried, counts(texts(named(tried, BARE))))
    assert bare.names == (BARE,)


@pytest.mark.parametrize("off", [1, -3, 400])
def test_a_constant_offset_proves_nothing(tried: tuple[Tried, ...], off: int) -> None:
    found = fitted(tried, counts(texts(named(tried, NAME)), off))
    assert NAME not in found.names
    assert NAME in [one.candidate.name for one in found.constant]
    if not found.named:
        assert "which proves nothing" in found.words


@pytest.mark.parametrize("shape", [one.name for one in SHAPES])
def test_one_shape_off_or_unanswered_names_nothing(tried: tuple[Tried, ...], shape: str) -> None:
    right = counts(texts(named(tried, NAME)))
    wrong = fitted(tried, {**right, shape: (right[shape] or 0) + 1})
    assert wrong.named == ()
    assert wrong.constant == ()
    assert wrong.rest[0].candidate.name == NAME
    assert wrong.rest[0].exact == len(SHAPES) - 1
    for missing in ({**right, shape: None}, {k: v for k, v in right.items() if k != shape}):
        found = fitted(tried, missing)
        assert found.named == ()
        assert found.unanswered == (shape,)
        assert shape in found.words


def test_no_shape_alone_tells_the_candidates_apart(tried: tuple[Tried, ...]) -> None:
    # Why there are six: by any one of them alone, several candidates would fit somebody's counts.
    for at in range(len(SHAPES)):
        numbers = [counts(texts(one))[SHAPES[at].name] for one in tried]
        assert len(set(numbers)) < len(numbers)


def test_those_that_cannot_be_told_apart_are_all_named() -> None:
    one, other = Template("one"), Template("two")
    both = [
        Tried(Candidate(name, template), (Rendered(text),) * len(SHAPES))
        for name, template, text in (("first", one, "ab"), ("second", other, "ba"))
    ]
    found = fit(both, {one.name: 2 for one in SHAPES}, lambda given: [2] * len(given))
    assert found.names == ("first", "second")
    assert "first or second" in found.words
    assert "cannot tell them apart" in found.words


def test_a_text_that_cannot_be_made_or_counted_is_not_a_fit() -> None:
    whole = Tried(Candidate("uncounted", Template("x")), (Rendered("x"),) * len(SHAPES))
    broken = Tried(Candidate("broken", Template("y")), (Rendered(None, "fails"),) * len(SHAPES))
    found = fit([whole, broken], {one.name: 0 for one in SHAPES}, lambda given: [None] * len(given))
    assert found.named == ()
    assert [one.errors for one in found.rest] == [(), ("fails",)]


def test_templates_that_make_the_same_texts_are_one_candidate(renderer: Renderer) -> None:
    chatml = WILD["ChatML"].template
    both = [Sourced("the GGUF", chatml), Sourced(NAME, Template("{# x #}" + chatml.source))]
    found = candidates(both, renderer)
    assert found[0].candidate.name == "the GGUF"
    assert found[0].candidate.aliases == (NAME, "ChatML")
    assert NAME not in [one.candidate.name for one in found]


def test_a_template_that_makes_nothing_is_there_once_with_its_error(renderer: Renderer) -> None:
    found = candidates([Sourced("bad", Template("{{ raise_exception('no') }}"))], renderer)
    [bad] = [one for one in found if one.candidate.name.startswith("bad")]
    assert {one.error for one in bad.texts} == {"the template refuses the messages: no"}


def test_every_template_in_the_wild_renders_every_shape(renderer: Renderer) -> None:
    conversations = [one.messages for one in SHAPES]
    for one in WILD.values():
        for made in render_as(as_it_is(one), conversations, renderer):
            assert made.error is None


def test_wild_templates_are_as_in_the_field(renderer: Renderer) -> None:
    turns = SHAPES[4].messages
    both = (Message("system", "S"), Message("user", "U"))
    first, third, tekken = "Mistral, first version", "Mistral, third version", "Mistral, Tekken"
    for name, messages, made in (
        (first, both, "<s>[INST] S\n\nU [/INST]"),
        (third, both, "<s>[INST] S\n\nU[/INST]"),
        (tekken, both, "<s>[INST]S\n\nU[/INST]"),
        (
            first,
            turns,
            "<s>[INST] Count to three [/INST] One, two, three.</s>[INST] And one more? [/INST]",
        ),
        (
            "Gemma",
            both,
            "<bos><start_of_turn>user\nS\n\nU<end_of_turn>\n<start_of_turn>model\n",
        ),
        ("Llama-2", both, "<s>[INST] <<SYS>>\nS\n<</SYS>>\n\nU [/INST]"),
        (
            "Llama-3",
            both,
            "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nS<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\nU<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n",
        ),
        (
            "Llama-3.1",
            both,
            "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\n"
            "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\nS<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\nU<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n",
        ),
    ):
        [found] = render_as(as_it_is(WILD[name]), [messages], renderer)
        assert found.text == made


def test_the_system_turn_is_found_or_nothing_is_said(renderer: Renderer) -> None:
    known = WILD["Qwen2.5 (ChatML with its default system message)"].template
    mute = Template("{% for one in messages %}{{ one.content }}{% endfor %}")
    strict = Template(
        "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
        "<u>{{ messages[0].content }}</u>"
    )
    qwen, llama, none, refused = system_turns(
        [known, WILD["Llama-3.1"].template, mute, strict], renderer
    )
    assert qwen is not None and llama is not None
    assert qwen.message == "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."
    assert qwen.cut == f"<|im_start|>system\n{qwen.message}<|im_end|>\n"
    assert llama.kept == "<|begin_of_text|>"
    assert "Today Date" in llama.cut
    assert none is None and refused is None


def test_what_is_not_where_it_was_is_not_cut(renderer: Renderer) -> None:
    fickle = Candidate("x", Template("{{ messages[0].content }}"), kept="", cut="gone ")
    made = render_as(
        fickle, [(Message("user", "gone here"),), (Message("user", "there"),)], renderer
    )
    assert made[0] == Rendered("here")
    assert "is not where it was" in str(made[1].error)


def config(path: Path, template: object, **more: object) -> Path:
    path.write_text(json.dumps({"chat_template": template, **more}))
    return path


def test_templates_lie_beside_the_tokenizer(tmp_path: Path) -> None:
    tokenizer = tmp_path / "tokenizer.json"
    assert beside(tokenizer) == ()
    more = {"bos_token": "<s>", "eos_token": {"content": "</s>"}, "pad_token": None}
    config(tmp_path / NAME, "one", **more)
    tokens = {"bos_token": "<s>", "eos_token": "</s>"}
    assert beside(tokenizer) == (Sourced(NAME, Template("one", tokens)),)
    named_ones = [{"name": "tool_use", "template": "t"}, {"name": "default", "template": "d"}, 7]
    config(tmp_path / NAME, named_ones)
    assert [(one.name, one.template.source) for one in beside(tokenizer)] == [
        (NAME, "d"),
        (f"{NAME} (tool_use)", "t"),
    ]
    (tmp_path / "chat_template.jinja").write_text("j é", encoding="utf-8")
    extra = tmp_path / "additional_chat_templates"
    extra.mkdir()
    (extra / "rag.jinja").write_text("r")
    assert [one.template.source for one in beside(tokenizer)] == ["j é", "r", "d", "t"]


def test_a_fetched_tokenizers_template_lies_beside_it(tmp_path: Path) -> None:
    sha256 = "a" * 64
    config(tmp_path / f"{sha256}.config.json", "one")
    config(tmp_path / f"{'b' * 64}.config.json", "other")
    [found] = beside(tmp_path / f"{sha256}.json")
    assert found == Sourced(NAME, Template("one", {}))


def test_a_given_file_is_a_template_or_a_configuration(tmp_path: Path) -> None:
    bare = tmp_path / "my.jinja"
    bare.write_text("{{ messages }}")
    tokens = {"bos_token": "<s>"}
    assert of_file(bare, tokens) == (Sourced("my.jinja", Template("{{ messages }}", tokens)),)
    given = config(tmp_path / "c.json", "x", **{"eos_token": "</s>"})
    [found] = of_file(given, tokens)
    assert found.template == Template("x", {"bos_token": "<s>", "eos_token": "</s>"})


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"\xff", "is not UTF-8 at byte 0"),
        (b"{}", "has no chat_template"),
        (b'{"chat_template": [{"name": "x"}]}', "has no chat_template"),
        (None, "cannot be read: No such file"),
    ],
)
def test_a_given_file_that_is_no_template_is_an_error(
    tmp_path: Path, content: bytes | None, what: str
) -> None:
    path = tmp_path / "given"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=what) as caught:
        of_file(path)
    assert caught.value.where == str(path)


def test_a_broken_configuration_beside_the_tokenizer_is_an_error(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text("[1]")
    with pytest.raises(UsageError, match="is not a JSON object"):
        beside(tmp_path / "tokenizer.json")


def test_a_gguf_has_a_template_and_names_its_tokens(tmp_path: Path) -> None:
    model = Model(template="{{ bos_token }}x", bos="<|bos|>", eos="<|im_end|>")
    tokens = {"bos_token": "<|bos|>", "eos_token": "<|im_end|>"}
    made = make(BUNDLED, model, tmp_path / "a.gguf")
    assert of_gguf(made) == (Sourced("the GGUF", Template("{{ bos_token }}x", tokens)),)
    assert of_gguf(make(BUNDLED, Model(), tmp_path / "b.gguf")) == ()


def test_a_template_without_end_costs_one_limit_for_all_that_is_done_to_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    messages: list[bytes] = []
    real = templates._message

    def keeping(*given: Any) -> bytes:  # noqa: ANN401
        messages.append(real(*given))
        return messages[-1]

    monkeypatch.setattr(templates, "_message", keeping)
    with Renderer(limits=RenderLimits(seconds=1)) as limited:
        found = candidates([Sourced(NAME, Template(loop))], limited, SHAPES[:2])
    # One batch tried it, which gives it up at once; those that followed left it out.
    assert sum(b"range(99999)" in one for one in messages) == 1 < len(messages)
    [bad] = [one for one in found if one.candidate.name.startswith(NAME)]
    [words] = {str(one.error) for one in bad.texts}
    assert words.endswith("within 1 s of processor time, and is not tried again")
