"""What we make of prompts: raw, with special tokens, rendered; several texts; what cannot be."""

from collections.abc import Iterator
from functools import cache

import pytest

from harness.oracle import Oracle
from harness.served.live.candidates import Candidate
from harness.served.live.clients import clients, counter
from harness.served.live.templates import Renderer, Template
from harness.served.live.values import Ask, Client, Message
from tests.unit import tiny

TURN = Candidate("turn", Template("<bos>{{ messages[0].content }}<eos>"))


@cache
def oracle() -> Oracle:
    return Oracle.from_description(tiny.byte_level())


@pytest.fixture(scope="module")
def renderer() -> Iterator[Renderer]:
    with Renderer() as made:
        yield made


def ids(text: str, *, special: bool = False) -> tuple[int, ...]:
    return tuple(oracle().encode([text], special).answer(0).tolist())


def completion(prompt: str | tuple[str, ...]) -> Ask:
    return Ask(prompt, None, chat=False)


def chat(*contents: str) -> Ask:
    return Ask(tuple(Message("user", one) for one in contents), None, chat=True)


def test_a_text_is_counted_with_and_without_special_tokens() -> None:
    assert ids("the cat") != ids("the cat", special=True)
    [found] = clients([completion("the cat")], oracle())
    assert found == Client(ids("the cat"), ids("the cat", special=True))


def test_several_texts_are_counted_one_by_one() -> None:
    [found] = clients([completion(("the cat", "sat"))], oracle())
    assert found.raw == ids("the cat") + ids("sat")
    assert found.special == ids("the cat", special=True) + ids("sat", special=True)


def test_a_chat_is_rendered_and_gets_no_special_tokens_but_the_templates(
    renderer: Renderer,
) -> None:
    [found] = clients([chat("the cat")], oracle(), renderer, TURN)
    text = "<bos>the cat<eos>"
    assert found == Client(ids("the cat"), None, text, ids(text))
    # The post-processor adds a token, which the template's text must not get besides.
    assert found.rendered_ids != ids(text, special=True)
    [several] = clients([chat("the cat", "sat")], oracle(), renderer, TURN)
    assert several.raw == ids("the cat") + ids("sat")


def test_without_a_template_a_chat_is_not_rendered(renderer: Renderer) -> None:
    for given in ((renderer, None), (None, TURN)):
        [found] = clients([chat("the cat")], oracle(), *given)
        assert found == Client(ids("the cat"), None)


def test_each_prompt_gets_its_own(renderer: Renderer) -> None:
    asks = [
        completion("one"),
        chat("two"),
        completion(("three", "four")),
        completion("a \ud800 b"),
        chat("c \ud800 d"),
        completion(("five", "\udfff")),
        completion(""),
        chat("six"),
    ]
    found = clients(asks, oracle(), renderer, TURN)
    assert [one.raw for one in found] == [
        ids("one"),
        ids("two"),
        ids("three") + ids("four"),
        None,
        None,
        None,
        (),
        ids("six"),
    ]
    assert [one.rendered_ids for one in found] == [
        *(None, ids("<bos>two<eos>"), None, None, None, None, None),
        ids("<bos>six<eos>"),
    ]
    assert found[4].rendered == "<bos>c \ud800 d<eos>"
    assert found[3].special is None and found[5].special is None
    assert found[6].special == ids("", special=True)


def test_a_template_that_fails_costs_its_prompt_only(renderer: Renderer) -> None:
    picky = Template("{% if messages[0].content == 'no' %}{{ raise_exception('no') }}{% endif %}x")
    found = clients([chat("no"), chat("yes")], oracle(), renderer, Candidate("picky", picky))
    assert [one.rendered for one in found] == [None, "x"]
    assert [one.rendered_ids for one in found] == [None, ids("x")]


def test_the_counter_counts_special_tokens_in_a_text_and_adds_none() -> None:
    count = counter(oracle())
    texts = ["<bos>the cat<eos>", "", "\ud800", "the cat"]
    assert count(texts) == [len(ids(texts[0])), 0, None, len(ids("the cat"))]
    assert count([]) == []


def test_no_prompts_no_clients() -> None:
    assert clients([], oracle()) == []
