"""What looks like a cut and is another template, and the reverse; what no number proves."""

from dataclasses import replace

import pytest

from harness.served.live.cuts import EITHER, cut_words
from harness.served.live.facts import Aids
from harness.served.live.finding import Cause, Causes
from harness.served.live.notes import Fitted
from harness.served.live.values import Answer, Ask, Client, Message, Processed, Row, Spelling
from harness.served.live.verdict import judge, judge_row
from tests.unit.served_rows import but, endpoint, healthy, processed, said

Ids = tuple[int, ...]
DEFAULT, OPEN, CLOSE = "[system:be helpful]", "[user:", "][answer:"


def ids(text: str) -> Ids:
    """A token a character, so that every text is told by its ids."""
    return tuple(map(ord, text))


def decoded(numbers: object) -> str:
    return "".join(map(chr, numbers))  # type: ignore[call-overload]


AIDS = Aids("the option --tell", specials=(("§", ord("§")),), decode=decoded, encode=ids)


def talk(content: str, theirs: str, *, name: str = "a", default: str = DEFAULT) -> Row:
    """A chat of which the server processes ``theirs``, and tells the ids and no text."""
    ours = f"{default}{OPEN}{content}{CLOSE}"
    row = replace(
        healthy(ids(ours), name=name),
        ask=Ask((Message("user", content),), "m", chat=True),
        client=Client(ids(content), None, ours, ids(ours)),
    )
    size = len(theirs)
    row = but(
        row, plain=said(size), streamed_usage=said(size), processed=processed(ids=ids(theirs))
    )
    return but(row, tokenize=None, tokenize_special=None)


def bare(content: str) -> str:
    return f"{OPEN}{content}{CLOSE}"


def template_endpoint(row: Row, text: str) -> Row:
    return but(row, rendered=Answer(200, processed=Processed("/apply-template", text=text)))


def verdicts(*rows: Row, **more: object) -> list[str]:
    return [one.verdict.value for one in judge(rows, AIDS, **more).judgements]  # type: ignore[arg-type]


CONTENTS = ("how are you", "a longer question, this one")


def test_a_default_system_message_that_is_not_there_is_no_truncation() -> None:
    """The server has the end of ours, of one prompt as if it were cut, and never was."""
    one, two = (talk(text, bare(text), name=text) for text in CONTENTS)
    assert verdicts(one) == ["undetermined"]
    assert "it was cut there, or its template has no more" in judge([one], AIDS).groups[0].words
    # The same is gone of prompts of several lengths: no limit does that.
    judged = judge([one, two], AIDS)
    assert [group.verdict.value for group in judged.groups] == ["template"]
    assert "the same is gone of all 2 such prompts" in judged.groups[0].words
    # Proven by the template that fits, of one prompt too, where it gives the very ids.
    fitted = Fitted(names=("bare",), ids=(ids(bare(CONTENTS[0])),))
    assert verdicts(one, fitted=fitted) == ["template"]
    other = Fitted(names=("bare",), ids=(ids(bare(CONTENTS[0]))[::-1],))
    assert verdicts(one, fitted=other) == ["undetermined"]


def test_the_beginning_of_the_answer_that_is_not_there_is_no_truncation() -> None:
    without = [f"{DEFAULT}{OPEN}{text}]" for text in CONTENTS]
    rows = [talk(text, made) for text, made in zip(CONTENTS, without, strict=True)]
    assert verdicts(*rows) == ["template", "template"]
    # A limit that any text would keep is named by no tool that knows of templates.
    cut = Causes((Cause("truncated-tokens", "truncated-tokens", "…"),), 1, 1, by="ids")
    judged = judge(rows[:1], AIDS, causes=cut)
    assert (judged.verdict, judged.notes) == ("undetermined", ())


def test_a_limit_that_leaves_every_message_whole_is_one() -> None:
    rows = [talk(text, f"{DEFAULT}{bare(text)}"[-36:]) for text in ("how are you", "how are you?")]
    assert verdicts(*rows) == ["truncated", "truncated"]
    # So it is where some other prompt is cut to that many within its message.
    within = talk("x" * 60, f"{DEFAULT}{bare('x' * 60)}"[-36:])
    assert verdicts(rows[0], within) == ["truncated", "truncated"]
    assert judge([rows[0], within], AIDS).notes == (
        "truncated to 36 tokens, the end kept: 2 of 2 prompts",
    )


def test_a_message_that_is_cut_was_cut() -> None:
    text = "how are you"
    assert verdicts(talk(text, f"{DEFAULT}{bare(text)}"[-15:])) == ["truncated"]
    assert verdicts(talk(text, f"{DEFAULT}{OPEN}how")) == ["truncated"]
    # Nothing of any message is left: no template is so.
    assert verdicts(talk(text, "answer:")) == ["truncated"]


def test_the_servers_own_text_tells_a_cut_from_a_template() -> None:
    text = CONTENTS[0]
    row = talk(text, bare(text))
    assert verdicts(template_endpoint(row, bare(text))) == ["template"]
    assert verdicts(template_endpoint(row, f"{DEFAULT}{bare(text)}")) == ["truncated"]
    # Without ids, by the text that was processed.
    size = len(bare(text))
    counted = but(row, processed=processed(count=size, text=bare(text)))
    assert verdicts(counted) == ["undetermined"]
    assert verdicts(template_endpoint(counted, bare(text))) == ["template"]
    assert verdicts(template_endpoint(counted, f"{DEFAULT}{bare(text)}")) == ["truncated"]
    within = but(row, plain=said(15), streamed_usage=said(15))
    within = but(within, processed=processed(count=15, text=bare(text)[-15:]))
    assert verdicts(within) == ["truncated"]


def test_white_space_off_a_message_is_the_templates() -> None:
    row = talk("how are you  ", f"{DEFAULT}{bare('how are you')}")
    assert verdicts(row) == ["template"]
    # One that fits the shapes, and not this prompt, is not the server's.
    judged = judge([row], AIDS, fitted=Fitted(names=("own",), ids=(row.expected,)))
    assert judged.templates == ()
    assert "fits on every prompt shape, and not on these prompts" in judged.notes[0]


def test_a_closing_token_is_the_templates_or_the_tokenizers() -> None:
    text = CONTENTS[0]
    row = talk(text, f"{DEFAULT}{bare(text)}§")
    assert verdicts(row) == ["undetermined"]
    put = Causes((Cause("token-put-last", "token-put-last", "…"),), 1, 1, by="ids")
    judged = judge([row], AIDS, causes=put)
    assert judged.verdict == "tokenizer"
    assert "not told" not in judged.groups[0].words


def test_short_messages_are_in_any_text() -> None:
    assert verdicts(talk("a", "ids of another vocabulary, an a among them")) == ["undetermined"]
    assert verdicts(talk("", "ids of another vocabulary altogether")) == ["undetermined"]


@pytest.mark.parametrize(
    ("ours", "theirs", "end"),
    [
        ("xyxyxyxy", "xyxy", EITHER),
        ("§xyxyxyxy", "§xyxy", EITHER),
        ("abcdefab", "abc", "the beginning"),
        ("abcdefab", "fab", "the end"),
        ("§abcdefg", "§efg", "both ends"),
    ],
)
def test_a_prompt_that_repeats_itself_does_not_say_which_end(
    ours: str, theirs: str, end: str
) -> None:
    head = next((n for n, one in enumerate(theirs) if ours[n] != one), len(theirs))
    tail = len(theirs) - head
    if end == "the end":
        head, tail = 0, len(theirs)
    assert cut_words(ids(ours), ids(theirs), (head, tail), {ord("§")})[1] == end


def test_a_template_that_is_off_by_a_constant_is_not_proven_by_counts() -> None:
    text = CONTENTS[0]
    row = but(talk(text, bare(text)), processed=None)
    fitted = Fitted(names=("bare",), ids=(ids(bare(text)),))
    assert verdicts(row, fitted=fitted) == ["template"]
    constant = replace(fitted, offset=-19)
    judged = judge([row], AIDS, fitted=constant)
    assert (judged.verdict, judged.templates) == ("undetermined", ())
    assert "the template bare would do that, and so would other things" in judged.notes[0]
    # The ids prove it all the same.
    judged = judge([talk(text, bare(text))], AIDS, fitted=constant)
    assert (judged.verdict, judged.templates) == ("template", ("bare",))


def test_a_proven_change_to_messages_is_named_beside_the_template() -> None:
    text = CONTENTS[0]
    row = template_endpoint(talk(text, f"{DEFAULT}{bare('h' + text)}"), bare("h" + text))
    named = Causes((Cause("zero-width", "zero-width", "…"),), 1, 1, by="texts")
    judged = judge([row], AIDS, causes=named)
    assert (judged.verdict, judged.groups[0].words[:12]) == ("template", "zero-width: ")
    assert judged.notes[0].startswith("cause: zero-width")


def test_what_a_cache_leaves_out_is_not_laid_on_the_spelling() -> None:
    """The second of two requests is counted otherwise, whatever its spelling."""
    row = but(healthy(), only=Spelling.RAW, plain=said(1))
    row = but(row, only=Spelling.ESCAPED, streamed_usage=said(1))
    row = but(row, only=Spelling.RAW, streamed_usage=said(1))
    names = [one.verdict.value for one in judge_row(row, AIDS).findings]
    assert "spelling" not in names
    assert "inconsistent" in names
    apart = but(healthy(), only=Spelling.ESCAPED, plain=said(7), streamed_usage=said(7))
    assert "spelling" in [one.verdict.value for one in judge_row(apart, AIDS).findings]


def test_an_opening_token_that_was_written_twice_was_not_put_there() -> None:
    text = "§§ab"
    row = healthy(ids(text), text=text)
    assert judge_row(row, AIDS).notes == ()
    assert (
        judge_row(replace(row, ask=Ask("§ab", "m", chat=False)), AIDS)
        .notes[0]
        .startswith("begins with § twice")
    )


def test_the_tokenizer_endpoint_counts_a_cut_as_well() -> None:
    """Of a completion the beginning is a cut, whatever stands there."""
    row = healthy(ids("one two three"), text="one two three")
    row = but(row, plain=said(3), streamed_usage=said(3), processed=processed(ids=ids("one")))
    row = but(row, tokenize_special=endpoint(ids("one two three")))
    assert verdicts(row) == ["truncated"]
