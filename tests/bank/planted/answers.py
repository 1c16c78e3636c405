"""The post-processor, and what can become of the ids at the very end."""

from tests.bank.planted import Ids, NotHere, Subject, defect


def template(subject: Subject, which: str = "single") -> tuple[Ids, Ids]:
    """Return the ids that the file's template puts before and after a text, A.

    The second text of a pair is empty: what stands around it falls to the first.
    """
    post = subject.described.get("post_processor")
    if post is None or post["type"] != "TemplateProcessing":
        raise NotHere("no template")
    before: Ids = []
    after: Ids = []
    side = before
    for piece in post[which]:
        if "Sequence" in piece:
            side = after
        else:
            side += post["special_tokens"][piece["SpecialToken"]["id"]]["ids"]
    return before, after


@defect("special-tokens-missing")
def _(subject: Subject, value: str) -> None:
    template(subject)
    subject.specials = lambda ids, asked: ids


@defect("special-tokens-doubled")
def _(subject: Subject, value: str) -> None:
    before, after = template(subject)
    twice = after if value == "leading" else after * 2
    subject.specials = lambda ids, asked: [*before * 2, *ids, *twice] if asked else ids


@defect("special-tokens-added")
def _(subject: Subject, value: str) -> None:
    before, after = template(subject)
    subject.specials = lambda ids, asked: [*before, *ids, *after]


@defect("pair-template")
def _(subject: Subject, value: str) -> None:
    before, after = template(subject, "pair")
    subject.specials = lambda ids, asked: [*before, *ids, *after] if asked else ids


@defect("truncated-tokens")
def _(subject: Subject, value: str) -> None:
    subject.ids.append(lambda ids: ids[: int(value)])


@defect("vocabulary-shifted")
def _(subject: Subject, value: str) -> None:
    by = int(value) if value else len(subject.added)
    added = {token["id"] for token in subject.added}
    subject.ids.append(lambda ids: [one if one in added else one + by for one in ids])
