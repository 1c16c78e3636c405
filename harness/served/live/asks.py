"""The prompts of a file as what is asked of a server, and what the file is not as it says."""

import numpy as np

from harness.errors import UsageError
from harness.oracle import Oracle
from harness.outcomes import Status
from harness.served.live.clients import clients
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
