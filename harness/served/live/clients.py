"""What we make of every prompt, counted in batches at the oracle's own speed."""

from collections.abc import Callable, Iterable, Sequence

from harness.oracle import Oracle
from harness.outcomes import Outcomes, Status
from harness.served.live.candidates import Candidate, render_as
from harness.served.live.templates import Renderer
from harness.served.live.values import Ask, Client, Message

Ids = tuple[int, ...]


def clients(
    asks: Sequence[Ask],
    oracle: Oracle,
    renderer: Renderer | None = None,
    template: Candidate | None = None,
) -> list[Client]:
    """Return what we make of each prompt, in order.

    Several texts are counted one by one and joined, as a server does that takes them as several
    prompts. The raw ids of a chat are those of its contents, joined; they have no special tokens,
    which are the template's to add. Without ``template`` or ``renderer`` a chat is not rendered.
    What the tokenizer refuses, a lone surrogate among it, is None.
    """
    rendered = _rendered(asks, renderer, template)
    texts = [_texts(ask) for ask in asks]
    raw, special = oracle.encode_both([_encodable(one) for own in texts for one in own])
    theirs = oracle.encode([_encodable(one) for one in rendered])
    plain, around = iter(_ids(raw)), iter(_ids(special))
    whole = iter(_ids(theirs))
    made = []
    for ask, own, text in zip(asks, texts, rendered, strict=True):
        bare = _joined([next(plain) for _ in own])
        added = _joined([next(around) for _ in own])
        made.append(Client(bare, None if ask.chat else added, text, next(whole)))
    return made


def counter(oracle: Oracle) -> Callable[[Sequence[str]], list[int | None]]:
    """Return what counts rendered texts: no special tokens are added, those in the text count."""

    def count(texts: Sequence[str]) -> list[int | None]:
        found = oracle.encode([_encodable(one) for one in texts])
        return [
            int(length) if status == Status.OK else None
            for length, status in zip(found.lengths, found.status, strict=True)
        ]

    return count


def _rendered(
    asks: Sequence[Ask], renderer: Renderer | None, template: Candidate | None
) -> list[str | None]:
    found: list[str | None] = [None] * len(asks)
    if renderer is None or template is None:
        return found
    chats = [at for at, ask in enumerate(asks) if ask.chat]
    made = render_as(template, [_messages(asks[at]) for at in chats], renderer)
    for at, one in zip(chats, made, strict=True):
        found[at] = one.text
    return found


def _messages(ask: Ask) -> tuple[Message, ...]:
    if isinstance(ask.prompt, str):
        return (Message("user", ask.prompt),)
    return tuple(one if isinstance(one, Message) else Message("user", one) for one in ask.prompt)


def _texts(ask: Ask) -> list[str]:
    if isinstance(ask.prompt, str):
        return [ask.prompt]
    return [one.content if isinstance(one, Message) else one for one in ask.prompt]


def _encodable(text: str | None) -> str | None:
    """Return None for a text that no UTF-8 can carry: it would slow down a whole batch."""
    if text is None or text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return None
    return text


def _ids(found: Outcomes) -> Iterable[Ids | None]:
    for at, status in enumerate(found.status):
        yield tuple(found.answer(at).tolist()) if status == Status.OK else None


def _joined(parts: Sequence[Ids | None]) -> Ids | None:
    known = [one for one in parts if one is not None]
    return tuple(number for one in known for number in one) if len(known) == len(parts) else None
