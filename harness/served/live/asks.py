"""The prompts of a file as what is asked of a server, and what does not go with them."""

import numpy as np

from harness.errors import UsageError
from harness.oracle import Oracle
from harness.outcomes import Status
from harness.served.live.clients import clients
from harness.served.live.settings import Settings
from harness.served.live.values import Ask, Message
from harness.served.prompts import Prompt, PromptFile, check


def asks_of(file: PromptFile, *, chat: bool) -> tuple[Ask, ...]:
    """Return what each prompt asks; with ``chat`` a text is sent as one message of the user's.

    Raises :class:`UsageError` for several texts that are to be one chat.
    """
    return tuple(_ask(one, str(file.path), chat=chat) for one in file.prompts)


def _ask(prompt: Prompt, where: str, *, chat: bool) -> Ask:
    content = prompt.content
    if isinstance(content, str):
        return Ask((Message("user", content),) if chat else content, None, chat)
    messages = isinstance(content[0], Message)
    if chat and not messages:
        raise UsageError(
            f"prompt {prompt.id} is several texts, and no chat can be",
            where=where,
            expected="a text, or messages; several texts go without --chat",
        )
    return Ask(content, None, messages)


def faults(file: PromptFile, oracle: Oracle) -> tuple[str, ...]:
    """Return what a prompt file is not as it says or should be; its band is held elsewhere."""
    made = clients([Ask(one.content, None, chat=False) for one in file.prompts], oracle)
    single = [
        (at, one.raw)
        for at, one in enumerate(made)
        if one.raw is not None and isinstance(file.prompts[at].content, str)
    ]
    again = oracle.encode(oracle.decode([ids for _, ids in single]))
    stable = [True] * len(made)
    for row, (at, ids) in enumerate(single):
        if again.status[row] == Status.OK:
            stable[at] = np.array_equal(again.answer(row), ids)
    # What cannot be counted is said of its own prompt; here it must not pass for an empty one.
    least = max(1, file.meta.minimum or 0)
    counts = [least if one.raw is None else len(one.raw) for one in made]
    return check(file, counts, stable, band=None).violations


def refuse_unused(settings: Settings, *, chat: bool, banded: bool) -> None:
    """Raise :class:`UsageError` for a setting that no prompt or band gives any use.

    Whoever gives a template or a boundary believes that counts are held against it. ``chat`` says
    whether any prompt is a chat, ``banded`` whether there is a band.
    """
    for option, value in (("--template", settings.template), ("--gguf", settings.gguf)):
        if value is not None and not chat:
            raise UsageError(
                f"{option} is given, and no prompt is a chat",
                where=str(settings.prompts),
                expected="prompts that are messages, or --chat to send texts as chats",
            )
    if settings.boundary is not None and not banded:
        raise UsageError(
            f"--boundary {settings.boundary} is given, and no band that it would be the side of",
            where=str(settings.prompts),
            expected='--band N±K, or "target" and "tolerance" in the file\'s _meta',
        )
