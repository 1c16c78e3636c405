"""The prompt shapes that a chat template is recognised by. One alone proves nothing."""

from dataclasses import dataclass

from harness.served.live.values import Message


@dataclass(frozen=True)
class Shape:
    """One conversation, named for what it shows."""

    name: str
    messages: tuple[Message, ...]


def _asked(text: str) -> tuple[Message, ...]:
    return (Message("user", text),)


SHAPES: tuple[Shape, ...] = (
    Shape("ends-in-a-letter", _asked("Name the largest planet")),
    Shape("ends-in-punctuation", _asked("What is 2 + 2? Reply with just the number.")),
    # Not a special token of anybody: what is shown is whether `<|` itself is rewritten.
    Shape("contains-<|", _asked("What does <|not a token|> mean in a prompt")),
    Shape(
        "with-a-system-message",
        (Message("system", "Answer in one word."), Message("user", "What colour is the sky?")),
    ),
    Shape(
        "several-turns",
        (
            Message("user", "Count to three"),
            Message("assistant", "One, two, three."),
            Message("user", "And one more?"),
        ),
    ),
    Shape("empty", _asked("")),
)
