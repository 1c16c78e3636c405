"""Chat templates rendered as the field does, and those that try to take the machine with them."""

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

import pytest

from harness.errors import LaneUnavailable
from harness.served.live import template_child, templates
from harness.served.live.templates import Job, Rendered, Renderer, RenderLimits, Template
from harness.served.live.values import Message

CLOCK = datetime(2024, 7, 26, 12, 30)
USER = (Message("user", "Hi"),)


@pytest.fixture(scope="module")
def renderer() -> Iterator[Renderer]:
    with Renderer(clock=CLOCK) as made:
        yield made


def text(renderer: Renderer, source: str, *messages: Message, **tokens: str) -> str:
    [found] = renderer.render([Job(Template(source, tokens), messages or USER)])
    assert found.error is None
    assert found.text is not None
    return found.text


def error(renderer: Renderer, source: str) -> str:
    [found] = renderer.render([Job(Template(source), USER)])
    assert found.text is None
    assert found.error is not None
    return found.error


@pytest.mark.parametrize(
    ("source", "made"),
    [
        # Without trim_blocks and lstrip_blocks there would be a newline and spaces more.
        ("a\n  {% if true %}\nb\n  {% endif %}\nc\n", "a\nb\nc"),
        ("{{ messages[0].role }}: {{ messages[0]['content'] }}", "user: Hi"),
        ("{{ {'é': '<\\'&>'} | tojson }}", '{"é": "<\'&>"}'),
        ("{{ {'a': [1]} | tojson(indent=1) }}", '{\n "a": [\n  1\n ]\n}'),
        ("{{ {'b': 1, 'a': 2} | tojson }}", '{"b": 1, "a": 2}'),
        ("{{ strftime_now('%d %b %Y') }}", "26 Jul 2024"),
        ("{% generation %}\nx{% endgeneration %}", "x"),
        (
            "{% for one in [1, 2] %}{% if one == 2 %}{% break %}{% endif %}{{ one }}{% endfor %}",
            "1",
        ),
        ("{{ bos_token }}|{{ no_such_thing }}", "<s>|"),
        ("{{ tools is none }} {{ documents is none }}", "True True"),
        ("{{ '<&>' }}", "<&>"),
        ("{{ '\\ud800' }}é\u2028", "\ud800é\u2028"),
    ],
)
def test_the_fields_settings(renderer: Renderer, source: str, made: str) -> None:
    assert text(renderer, source, bos_token="<s>") == made  # noqa: S106


def test_the_beginning_of_the_answer_is_asked_for(renderer: Renderer) -> None:
    template = Template("{{ add_generation_prompt }}")
    jobs = [Job(template, USER), Job(template, USER, opening=False)]
    assert renderer.render(jobs) == [Rendered("True"), Rendered("False")]


def test_many_come_back_in_their_order(renderer: Renderer) -> None:
    templates = [Template("{{ messages[0].content }}"), Template("{{ messages | length }}!")]
    jobs = [Job(templates[number % 2], (Message("user", f"é{number}"),)) for number in range(500)]
    made = [one.text for one in renderer.render(jobs)]
    assert made == [f"é{number}" if number % 2 == 0 else "1!" for number in range(500)]
    assert renderer.render([]) == []


def test_more_text_than_fits_one_batch(renderer: Renderer) -> None:
    long = (Message("user", "x" * (5 << 20)),)
    made = renderer.render([Job(Template("{{ messages[0].content | length }}"), long)] * 3)
    assert [one.text for one in made] == [str(5 << 20)] * 3


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("{{ raise_exception('roles must alternate') }}", "refuses the messages: roles must"),
        ("{% if %}", "is no template: line 1: Expected an expression"),
        ("\n{{ messages | no_such }}", "is no template: line 2: No filter named 'no_such'"),
        ("{{ messages[0].content.x.y }}", "fails: UndefinedError: 'str object' has no"),
        ("{{ 1 / 0 }}", "fails: ZeroDivisionError"),
        ("{{ ''.__class__.__mro__ }}", "the sandbox forbids"),
        ("{% set _ = messages.append(1) %}", "the sandbox forbids"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "nested too deeply"),
        ("{{ " + "(" * 5000 + ")" * 5000 + " }}", "nested too deeply"),
    ],
)
def test_a_template_that_fails_says_so(renderer: Renderer, source: str, words: str) -> None:
    assert words in error(renderer, source)
    assert text(renderer, "still here") == "still here"


def test_a_long_error_is_cut(renderer: Renderer) -> None:
    assert len(error(renderer, "{{ raise_exception('x' * 100000) }}")) == 500


LIMITS = RenderLimits(seconds=0.1, wall=0.7, memory=256 << 20, characters=1_000_000)
ROUND = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"

# A search that is one step of C code and some minutes of work: nothing but killing ends it.
DEADLY = (
    "{% set long = messages[0].content * 5000000 %}"
    "{% set row = [long ~ 'b'] * 99999 %}{{ (long ~ 'c') in row }}"
)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (ROUND, "does not end within 0.1 s of processor time"),
        ("{{ 'a' * (10 ** 10) }}", "takes more than 256 MiB of memory"),
        ("{% for a in range(99999) %}{{ 'a' * 99999 }}{% endfor %}", "more than 1,000,000 char"),
    ],
)
def test_a_template_without_end_is_ended(source: str, words: str) -> None:
    with Renderer(limits=LIMITS) as limited:
        assert words in error(limited, source)
        assert text(limited, "still here") == "still here"


def test_what_does_not_end_costs_itself_and_not_the_thousand_after_it() -> None:
    sometimes = "{% if messages[0].content == 'loop' %}" + ROUND + "{% endif %}ended"
    loop, fine = (Message("user", "loop"),), USER
    other = Template("other")
    with Renderer(limits=LIMITS) as limited:
        jobs = [Job(Template(sometimes), one) for one in (fine, loop)]
        jobs += [Job(Template(sometimes), fine)] * 1000 + [Job(other, loop)]
        made = limited.render(jobs)
    assert made[0] == Rendered("ended")
    # Even what would end: which it is, only trying tells.
    assert {one.error for one in made[1:1002]} == {
        "the template does not end within 0.1 s of processor time, and is not tried again"
    }
    assert made[1002] == Rendered("other")


@pytest.mark.parametrize(
    "limit", [template_child.OutOfTime, MemoryError, template_child.TooMuch("too much")]
)
def test_a_template_runs_into_a_limit_once(limit: object, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def into_it(_batch: object, _template: object, number: int, *_: object) -> str:
        tried.append(number)
        if number == 1:
            return "fine"
        raise limit  # type: ignore[misc]

    monkeypatch.setattr(template_child.Batch, "_rendered", into_it)
    asked = {
        "now": CLOCK.isoformat(),
        "seconds": 60,
        "memory": 1 << 30,
        "templates": [{"source": "a", "tokens": {}}, {"source": "b", "tokens": {}}],
        "jobs": [],
    }
    before = signal.getsignal(signal.SIGPROF)
    try:
        batch = template_child.Batch(asked)
        made = [batch.made(number, True, []) for number in (0, 1, 0, 1, 0)]
    finally:
        signal.signal(signal.SIGPROF, before)
    assert tried == [0, 1, 1]
    assert made[1] == made[3] == ("fine", None)
    assert str(made[0][1]).endswith(", and is not tried again")
    assert made[0] == made[2] == made[4]


@pytest.mark.parametrize("source", [ROUND, DEADLY, "{{ 'a' * (10 ** 10) }}"])
def test_what_ran_into_a_limit_is_not_sent_again(
    source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    real = templates._message

    def counting(jobs: Sequence[Job], now: datetime, limits: RenderLimits) -> bytes:
        sent.extend(job.template.source for job in jobs)
        return real(jobs, now, limits)

    monkeypatch.setattr(templates, "_message", counting)
    bad, other = Job(Template(source, {"bos_token": "a"}), USER), Job(Template("other"), USER)
    with Renderer(limits=LIMITS) as limited:
        [first, fine] = limited.render([bad, other])
        assert fine == Rendered("other")
        again = Job(Template(source, {"bos_token": "b"}), USER, opening=False)
        assert limited.render([again, other, bad]) == [first, fine, first]
        assert sent.count(source) == 1
    assert str(first.error).endswith(", and is not tried again")


def test_one_step_without_end_costs_no_more_than_a_loop() -> None:
    patient = RenderLimits(seconds=0.1, wall=600, memory=256 << 20)
    with Renderer(limits=patient) as limited:
        assert "does not end within 0.1 s of processor time" in error(limited, DEADLY)
        assert text(limited, "still here") == "still here"


def test_a_renderer_that_dies_is_named_and_replaced() -> None:
    with Renderer(limits=LIMITS) as limited:
        assert text(limited, "x") == "x"
        child = limited._child
        assert child is not None
        os.kill(child._process.pid, signal.SIGKILL)
        assert "SIGKILL" in error(limited, "y")
        assert text(limited, "x") == "x"


def test_a_renderer_that_does_not_start_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = tmp_path / "child.py"
    child.write_text("raise SystemExit('no jinja2 here')")
    monkeypatch.setattr(templates, "_CHILD", child)
    with Renderer() as made, pytest.raises(LaneUnavailable, match="no jinja2 here"):
        made.render([Job(Template("x"), USER)])
    monkeypatch.setattr(sys, "executable", str(tmp_path / "none"))
    with Renderer() as made, pytest.raises(LaneUnavailable, match="No such file"):
        made.render([Job(Template("x"), USER)])


def test_nothing_is_left_running() -> None:
    with Renderer() as made:
        assert text(made, "x") == "x"
        assert made._child is not None
        process = made._child._process
    assert process.returncode is not None
    made.close()


def test_an_interruption_leaves_no_answers_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    with Renderer() as made:
        assert text(made, "before") == "before"
        child = made._child
        assert child is not None
        with monkeypatch.context() as patched:
            patched.setattr(child, "line", _interrupted)
            with pytest.raises(KeyboardInterrupt):
                made.render([Job(Template("lost"), USER)])
        assert text(made, "after") == "after"


def _interrupted(_seconds: float) -> bytes:
    raise KeyboardInterrupt
