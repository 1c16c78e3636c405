"""One prompt's numbers under one spelling of the body, taken out of the answers. Pure.

C is what we count, T the server's tokenizer endpoint, U the usage of a plain request, S that of a
stream, X what the server says that it processed. Each is None where nobody told it.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from harness.served.live.values import Answer, Kind, Message, Processed, Row, Spelling

Ids = tuple[int, ...]

# What any client sends, the plainest first.
USAGES = (Kind.PLAIN, Kind.STREAMED_USAGE, Kind.STREAMED)


@dataclass(frozen=True)
class Aids:
    """What the rules may ask besides the answers; all of it ours, none needed.

    ``determines`` says which server option would tell what was processed. ``specials`` are the
    special tokens, each with its id. ``decode`` gives the text of ids, special tokens kept;
    ``encode`` the ids of a rendered text, None where the tokenizer refuses it.
    """

    determines: str = ""
    specials: Collection[tuple[str, int]] = ()
    decode: Callable[[Sequence[int]], str] | None = None
    encode: Callable[[str], Ids | None] | None = None

    @property
    def special_ids(self) -> frozenset[int]:
        """The ids of the special tokens."""
        return frozenset(number for _, number in self.specials)

    def bare(self, text: str) -> str:
        """Return a text without the special tokens written at its very beginning.

        Servers tell a rendered text with its opening token or without, and put it in themselves.
        """
        while True:
            found = next((one for one, _ in self.specials if one and text.startswith(one)), None)
            if found is None:
                return text
            text = text.removeprefix(found)


@dataclass(frozen=True)
class Facts:
    """What one prompt's answers say, under one spelling."""

    row: Row
    spelling: Spelling
    aids: Aids = field(default_factory=Aids)

    def answer(self, kind: Kind) -> Answer | None:
        """Return one answer, None where the question was not asked."""
        return self.row.answer(kind, self.spelling)

    @property
    def client(self) -> int | None:
        """C: the tokens that should be processed, as we count them."""
        return None if self.row.expected is None else len(self.row.expected)

    @property
    def tokenize_kind(self) -> Kind:
        """The tokenizer question whose answer should be C: of a chat there is but one."""
        return Kind.TOKENIZE if self.row.ask.chat else Kind.TOKENIZE_SPECIAL

    @property
    def tokenize(self) -> Answer | None:
        """T: the tokenizer endpoint's answer to what should be processed; None without one."""
        found = self.answer(self.tokenize_kind)
        return found if found is not None and counted(found) is not None else None

    @property
    def plain(self) -> Answer | None:
        """The first request that was sent as any client sends it: plain, else a stream."""
        return next((one for one in map(self.answer, USAGES) if one is not None), None)

    @property
    def usage(self) -> int | None:
        """U: the prompt tokens of that request's usage."""
        return None if self.plain is None else self.plain.prompt_tokens

    @property
    def cached(self) -> int | None:
        """The tokens of that request that came out of a cache, as the server says."""
        usages = () if self.plain is None else self.plain.usages
        return next((one.cached for one in reversed(usages) if one.cached is not None), None)

    @property
    def processed(self) -> Processed | None:
        """X: what the server says that it processed, from the place that says most.

        The usages of a stream over several texts, one a text, are the server's own account of it.
        """
        answer = self.answer(Kind.PROCESSED)
        told = None if answer is None else answer.processed
        if told is not None and (told.ids is not None or told.count is not None):
            return told
        return self._of_several() or told

    def _of_several(self) -> Processed | None:
        texts = self.row.ask.prompt
        if isinstance(texts, str) or not texts or isinstance(texts[0], Message):
            return None
        for kind in (Kind.STREAMED_USAGE, Kind.STREAMED):
            answer = self.answer(kind)
            counts = [] if answer is None or not answer.whole else prompts_of(answer)
            if len(counts) == len(texts) > 1:
                return Processed("the usages of the stream, one a text", count=sum(counts))
        return None

    @property
    def processed_count(self) -> int | None:
        """X as a number: of its ids where they are told.

        A number that falls short of the usage by exactly the cached tokens is of those processed
        anew, and says nothing of the prompt.
        """
        told = self.processed
        if told is None or told.ids is not None:
            return None if told is None or told.ids is None else len(told.ids)
        if told.count is not None and self.cached and told.count + self.cached == self.usage:
            return None
        return told.count

    @property
    def refused_count(self) -> int | None:
        """The exact count that a refusal of a prompt that is too long names."""
        limit = None if self.plain is None else self.plain.too_long
        return limit.count if limit is not None and limit.exact else None

    @property
    def template_text(self) -> str | None:
        """The text as the server's template makes it, before anything is cut off it.

        Text that is told beside ids is that too; text without ids is made of what was processed.
        """
        rendered = self.answer(Kind.RENDERED)
        if rendered is not None and rendered.processed and rendered.processed.text is not None:
            return rendered.processed.text
        told = self.processed
        return None if told is None or told.ids is None else told.text

    @property
    def server_text(self) -> str | None:
        """The text that the server made of the prompt, where it tells it."""
        if self.template_text is not None or self.processed is None:
            return self.template_text
        return self.processed.text

    @property
    def our_text(self) -> str | None:
        """The text that should be processed: rendered for a chat; None of several texts."""
        if self.row.ask.chat:
            return self.row.client.rendered
        return self.row.ask.prompt if isinstance(self.row.ask.prompt, str) else None

    @property
    def same_text(self) -> bool | None:
        """Whether server and client make the same text, opening special tokens aside.

        A server may tell it decoded from its ids, normalized, so texts of the same ids are the
        same. Nothing but a chat template puts more around a prompt.
        """
        ours, theirs = self.our_text, self.server_text
        if ours is None or theirs is None:
            return None
        ours, theirs = self.aids.bare(ours), self.aids.bare(theirs)
        if ours == theirs or not (self.row.ask.chat or ours in theirs):
            return True
        if self.aids.encode is None:
            return False
        return self.aids.encode(ours) == self.aids.encode(theirs)

    @property
    def observed(self) -> tuple[str, Ids] | None:
        """The server's ids of the prompt, and the place that tells them.

        Those processed; else the tokenizer endpoint's, where no count speaks against their being
        the ones.
        """
        told = self.processed
        if told is not None and told.ids is not None:
            return told.source, told.ids
        for kind in (self.tokenize_kind, *([Kind.RENDERED] if self.row.ask.chat else [])):
            answer = self.answer(kind)
            ids = None if answer is None else ids_of(answer)
            counts = (self.usage, self.processed_count, self.refused_count)
            if ids is not None and all(one in (None, len(ids)) for one in counts):
                return "the tokenizer endpoint", ids
        return None


def counted(answer: Answer) -> int | None:
    """Return the tokens that a tokenizer endpoint counted: of its ids where it tells them."""
    ids = ids_of(answer)
    return len(ids) if ids is not None else answer.count


def ids_of(answer: Answer) -> Ids | None:
    """Return the ids of a tokenizer endpoint's answer."""
    if answer.ids is not None:
        return answer.ids
    return None if answer.processed is None else answer.processed.ids


def prompts_of(answer: Answer) -> list[int]:
    """Return the prompt tokens of every usage object that has them, in their order."""
    return [one.prompt for one in answer.usages if one.prompt is not None]


def facts(row: Row, aids: Aids) -> list[Facts]:
    """Return the facts of each spelling that was sent."""
    sent = {spelling for _, spelling in row.answers}
    return [Facts(row, one, aids) for one in (Spelling.RAW, Spelling.ESCAPED) if one in sent]
