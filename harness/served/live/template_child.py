"""The process that renders chat templates, as the field does. It knows jinja2 and nothing of ours.

A template is a program that a stranger wrote: it may loop for ever or eat all memory. So it runs
here, where it can be ended. A line of JSON on stdin asks for many renderings, ``{"now", "seconds",
"memory", "characters", "templates": [{"source", "tokens"}], "jobs": [[template, opening,
[[role, content], …]], …]}``; each is answered by a line, ``[text, error, given_up]``, as soon as it
is made: text or error is null, and a template that was given up will not be tried again in this
batch. The first line of all is ``ready``. Started by its path and with ``-P``: the
modules beside it are not importable.
"""

import json
import resource
import signal
import sys
from collections.abc import Mapping
from datetime import datetime
from types import FrameType
from typing import Any

from jinja2 import Template, TemplateError, TemplateSyntaxError, nodes
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

_LONGEST_ERROR = 500
# What hears no signal, one long step of C, is killed a little later; of user time alone, so that
# the milder bell, which counts the system's too, always rings first.
_DEADLY = 1.2


class OutOfTime(BaseException):
    """A rendering took too long. No ``Exception``: jinja2 swallows those in places."""


class TooMuch(Exception):
    """A rendering made more characters than it may."""


class Raised(TemplateError):
    """The template called ``raise_exception``."""


class Generation(Extension):
    """``{% generation %}`` … ``{% endgeneration %}``: marks what a model wrote, renders as is."""

    tags = {"generation"}  # noqa: RUF012 - the base class declares it so

    def parse(self, parser: Parser) -> nodes.Node:
        """Return the block as a scope of its own."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body).set_lineno(line)


class Clock:
    """Raises :class:`OutOfTime` once ``seconds`` of processor time have gone by in the block.

    Where that cannot be raised, for no line of Python comes by, SIGVTALRM ends the process.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.running = False
        signal.signal(signal.SIGPROF, self._ring)

    def __enter__(self) -> None:
        self.running = True
        signal.setitimer(signal.ITIMER_VIRTUAL, _DEADLY * self.seconds)
        # Again and again, should something swallow the first.
        signal.setitimer(signal.ITIMER_PROF, self.seconds, 0.2)

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Let it not ring any more."""
        self.running = False
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)

    def _ring(self, _signal: int, _frame: FrameType | None) -> None:
        if self.running:
            raise OutOfTime


def main() -> None:
    """Say that all is loaded, then answer batches until stdin ends."""
    print("ready", flush=True)
    while line := sys.stdin.buffer.readline():
        batch = json.loads(line)
        memory = batch["memory"]
        resource.setrlimit(resource.RLIMIT_AS, (memory, resource.getrlimit(resource.RLIMIT_AS)[1]))
        Batch(batch).answer()


class Batch:
    """One batch: its templates, each compiled once, and what became of them."""

    def __init__(self, asked: Mapping[str, Any]) -> None:
        self.asked = asked
        self.environment = environment(datetime.fromisoformat(asked["now"]))
        self.clock = Clock(asked["seconds"])
        self.compiled: dict[int, Template | str] = {}
        self.given_up: dict[int, str] = {}

    def answer(self) -> None:
        """Print the answer of each job."""
        for number, opening, messages in self.asked["jobs"]:
            text, error = self.made(number, opening, messages)
            error = None if error is None else error[:_LONGEST_ERROR]
            sys.stdout.write(json.dumps([text, error, number in self.given_up]) + "\n")
            sys.stdout.flush()

    def made(
        self, number: int, opening: bool, messages: list[list[str]]
    ) -> tuple[str | None, str | None]:
        """Return the text that one job makes, or why there is none.

        A template is tried with many conversations: one that ran into a limit is given up, or it
        would do so with each of them.
        """
        if number in self.given_up:
            return None, self.given_up[number]
        try:
            with self.clock:
                template = self._template(number)
                if isinstance(template, str):
                    return None, template
                return self._rendered(template, number, opening, messages), None
        except OutOfTime:
            self.clock.stop()
            seconds = self.asked["seconds"]
            limit = f"the template does not end within {seconds:g} s of processor time"
        except (MemoryError, TooMuch) as error:
            limit = words(error, self.asked["memory"])
        except Exception as error:  # a template can raise anything
            return None, words(error, self.asked["memory"])
        self.given_up[number] = f"{limit}, and is not tried again"
        return None, self.given_up[number]

    def _template(self, number: int) -> Template | str:
        if number not in self.compiled:
            try:
                source = self.asked["templates"][number]["source"]
                self.compiled[number] = self.environment.from_string(source)
            except Exception as error:  # the compiler too, from deep nesting
                self.compiled[number] = words(error, self.asked["memory"])
        return self.compiled[number]

    def _rendered(
        self, template: Template, number: int, opening: bool, messages: list[list[str]]
    ) -> str:
        most = self.asked["characters"]
        pieces, size = [], 0
        for piece in template.generate(
            **self.asked["templates"][number]["tokens"],
            messages=[{"role": role, "content": content} for role, content in messages],
            tools=None,
            documents=None,
            add_generation_prompt=opening,
        ):
            size += len(piece)
            if size > most:
                raise TooMuch(f"the template makes more than {most:,} characters")
            pieces.append(piece)
        return "".join(pieces)


def environment(now: datetime) -> ImmutableSandboxedEnvironment:
    """Return the field's environment, its clock standing at ``now``."""
    found = ImmutableSandboxedEnvironment(
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=[Generation, "jinja2.ext.loopcontrols"],
    )
    found.filters["tojson"] = to_json
    found.globals["raise_exception"] = raise_exception
    found.globals["strftime_now"] = now.strftime
    return found


def to_json(
    value: object,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Return JSON as it is: jinja2's own filter escapes for HTML."""
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )


def raise_exception(message: object) -> None:
    """Give a template the means to refuse a conversation."""
    raise Raised(str(message))


def words(error: Exception, memory: int) -> str:
    """Return in words what a template did."""
    if isinstance(error, Raised):
        return f"the template refuses the messages: {error.message}"
    if isinstance(error, TooMuch):
        return str(error)
    if isinstance(error, MemoryError):
        return f"the template takes more than {memory >> 20:,} MiB of memory"
    if isinstance(error, RecursionError):
        return "the template is nested too deeply"
    if isinstance(error, SecurityError):
        return f"the template does what the sandbox forbids: {error}"
    if isinstance(error, TemplateSyntaxError):
        return f"the template is no template: line {error.lineno}: {error.message}"
    return f"the template fails: {type(error).__name__}: {error}"


if __name__ == "__main__":
    main()
