"""Candidates for what a server makes of messages: each known template, and what is done to it.

Each is tried as it is, without the model's default system message, with an empty one in its place,
with that message where it has none itself, and without the beginning of the answer. Candidates that
make the same texts of every shape are one candidate with several names.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from harness.served.live.shapes import SHAPES, Shape
from harness.served.live.template_files import Sourced
from harness.served.live.templates import Job, Rendered, Renderer, Template
from harness.served.live.values import Message
from harness.served.live.wild import WILD

_SYSTEM, _USER = "system-sentence-4181", "user-sentence-6765"


@dataclass(frozen=True)
class Candidate:
    """One way to make a text of messages.

    Where a conversation has no system message, ``system`` is put in as one, and ``cut`` is taken
    out of the text behind ``kept``, with which it begins. ``opening`` adds the beginning of the
    answer. ``aliases`` are the names of templates that make the same text of every shape.
    """

    name: str
    template: Template
    system: str | None = None
    kept: str = ""
    cut: str = ""
    opening: bool = True
    aliases: tuple[str, ...] = ()

    @property
    def plain(self) -> bool:
        """Whether it is a template as it is, with nothing done to it."""
        return self.system is None and not self.cut and self.opening

    def job(self, messages: tuple[Message, ...]) -> Job:
        """Return the rendering that a conversation needs."""
        if self.system is not None and not has_system(messages):
            messages = (Message("system", self.system), *messages)
        return Job(self.template, messages, self.opening)

    def finished(self, messages: tuple[Message, ...], rendered: Rendered) -> Rendered:
        """Return what becomes of a rendering: the default system message taken out."""
        start = self.kept + self.cut
        if not self.cut or rendered.text is None or has_system(messages):
            return rendered
        if not rendered.text.startswith(start):
            return Rendered(None, "the default system message is not where it was found before")
        return Rendered(self.kept + rendered.text[len(start) :])


@dataclass(frozen=True)
class Tried:
    """A candidate and what it makes of every shape, in their order."""

    candidate: Candidate
    texts: tuple[Rendered, ...]


@dataclass(frozen=True)
class SystemTurn:
    """What a template does by itself where a conversation has no system message.

    ``cut`` is the whole turn, which stands behind ``kept``; ``message`` its content, None where the
    turn holds more than what a system message would give.
    """

    kept: str
    cut: str
    message: str | None


def as_it_is(one: Sourced) -> Candidate:
    """Return the candidate that is a template with nothing done to it."""
    return Candidate(one.name, one.template)


def has_system(messages: Sequence[Message]) -> bool:
    """Return whether a conversation has a system message."""
    return any(one.role == "system" for one in messages)


def render_as(
    candidate: Candidate, conversations: Sequence[tuple[Message, ...]], renderer: Renderer
) -> list[Rendered]:
    """Return what a candidate makes of each conversation."""
    made = renderer.render([candidate.job(one) for one in conversations])
    return [
        candidate.finished(messages, one) for messages, one in zip(conversations, made, strict=True)
    ]


def candidates(
    own: Sequence[Sourced], renderer: Renderer, shapes: Sequence[Shape] = SHAPES
) -> tuple[Tried, ...]:
    """Return every candidate and its texts: the model's own templates, then those in the wild.

    ``own`` are the templates that are known of the model. A template that makes no text of any
    shape is there once, with its errors.
    """
    sourced = [*own, *WILD.values()]
    turns = system_turns([one.template for one in sourced], renderer)
    message = next((one.message for one in turns[: len(own)] if one and one.message), None)
    every = [
        found
        for at, (one, turn) in enumerate(zip(sourced, turns, strict=True))
        for found in _variants(one, turn, message, known=at < len(own))
    ]
    conversations = [one.messages for one in shapes]
    jobs = [candidate.job(messages) for candidate in every for messages in conversations]
    made = iter(renderer.render(jobs))
    return _distinct(
        Tried(
            candidate,
            tuple(candidate.finished(messages, next(made)) for messages in conversations),
        )
        for candidate in every
    )


def _variants(
    one: Sourced, turn: SystemTurn | None, message: str | None, *, known: bool
) -> Iterator[Candidate]:
    """Yield what can be done to a template; ``known`` says that it is the model's own."""
    plain = as_it_is(one)
    found = [plain]
    if turn is not None and turn.cut:
        name = f"{one.name}, without its default system message"
        found.append(replace(plain, name=name, kept=turn.kept, cut=turn.cut))
    if known or turn is not None:
        found.append(replace(plain, name=f"{one.name}, with an empty system message", system=""))
    if turn is not None and message is not None and turn.message != message:
        name = f"{one.name}, with the model's default system message"
        found.append(replace(plain, name=name, system=message))
    yield from found
    for each in found:
        name = f"{each.name}, without the beginning of the answer"
        yield replace(each, name=name, opening=False)


def _distinct(tried: Iterator[Tried]) -> tuple[Tried, ...]:
    """Join the candidates that make the same texts under the first one's name.

    Of what makes no text at all, only the templates as they are stay, each with its errors.
    """
    found: dict[tuple[str | None, ...], Tried] = {}
    for one in tried:
        texts = tuple(each.text for each in one.texts)
        if all(text is None for text in texts):
            if one.candidate.plain:
                found.setdefault((one.candidate.name,), one)
            continue
        first = found.setdefault(texts, one)
        if first is not one and one.candidate.plain:
            names = (*first.candidate.aliases, one.candidate.name)
            found[texts] = replace(first, candidate=replace(first.candidate, aliases=names))
    return tuple(found.values())


def system_turns(templates: Sequence[Template], renderer: Renderer) -> list[SystemTurn | None]:
    """Return what each template puts in for a missing system message.

    None for a template that takes no system message, or does not mark where one ends: nothing can
    be said of it.
    """
    user = (Message("user", _USER),)
    both = (Message("system", _SYSTEM), *user)
    jobs = [Job(one, messages, False) for one in templates for messages in (user, both)]
    made = iter(renderer.render(jobs))
    return [system_turn(one, next(made).text, next(made).text) for one in templates]


def system_turn(template: Template, bare: str | None, told: str | None) -> SystemTurn | None:
    """Return the system turn of a template, from two renderings without the answer's beginning.

    ``bare`` is of a user's message alone, ``told`` of a system message before it; both of fixed
    sentences. What closes the user's turn closes the system's too, in every template that marks
    turns, and what is between them and the user's sentence then opens the user's.
    """
    if bare is None or told is None or bare.count(_USER) != 1 or told.count(_USER) != 1:
        return None
    before, close = bare.split(_USER)
    head, found, rest = told.partition(_SYSTEM)
    between = rest.partition(_USER)[0]
    if not found or not close or not between.startswith(close):
        return None
    opens = between[len(close) :]
    if not opens or not before.endswith(opens):
        return None
    turn = before[: -len(opens)]
    bos = template.tokens.get("bos_token", "")
    kept = bos if bos and turn.startswith(bos) else ""
    message = None
    if turn.startswith(head) and turn.endswith(close):
        message = turn[len(head) : -len(close)]
    return SystemTurn(kept, turn[len(kept) :], message)
