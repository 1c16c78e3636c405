"""The verdict's rules: each with the numbers that make it, and with those that must not."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from harness.served.live.cuts import cut_of
from harness.served.live.facts import Aids
from harness.served.live.finding import Cause, Causes, Finding, Judgement, Verdict
from harness.served.live.notes import Fitted
from harness.served.live.values import Answer, Ask, Client, Processed, Row, Spelling, TooLong
from harness.served.live.verdict import judge, judge_row
from tests.unit.served_rows import but, chat, endpoint, healthy, processed, said

AIDS = Aids(determines="the option --tell", specials=(("<s>", 9), ("<b>", 7)))
OURS = tuple(range(100, 120))
TWENTY_SIX = tuple(range(26))


def found(row: Row, aids: Aids = AIDS) -> list[str]:
    return [one.verdict.value for one in judge_row(row, aids).findings]


def words(row: Row, aids: Aids = AIDS) -> str:
    return "; ".join(one.words for one in judge_row(row, aids).findings)


def test_a_healthy_server_agrees() -> None:
    for row in (healthy(), chat(), healthy(())):
        judged = judge_row(row, AIDS)
        assert (judged.verdict, judged.exit, judged.notes) == (Verdict.AGREES, 0, ())
    assert judge([healthy(), chat(name="b")], AIDS).exit == 0


def test_nothing_compared_is_no_success() -> None:
    assert (judge([]).exit, judge([]).verdict) == (6, Verdict.NO_COUNT)
    asked = but(healthy(), plain=None, streamed=None, streamed_usage=None)
    assert (found(asked), judge_row(asked).exit) == (["no-count"], 6)
    unknown = replace(healthy(), client=Client(None, None))
    assert (found(unknown), judge_row(unknown).exit) == (["no-count"], 6)
    assert "the tokenizer refuses it" in words(unknown)


@pytest.mark.parametrize(
    ("answer", "verdict", "exit_code", "told"),
    [
        (said(), "no-count", 6, "no count of prompt tokens"),
        (replace(said(), error="usage is text"), "no-count", 6, "usage is text"),
        (Answer(None, error="connection refused"), "server-failed", 6, "connection refused"),
        (Answer(500, error="oops"), "server-failed", 6, "500, oops"),
        (Answer(200, whole=False, error="cut"), "server-failed", 6, "200, cut"),
        (Answer(404, error="no such model"), "refused", 6, "404, no such model"),
        (Answer(302, error="moved"), "server-failed", 6, "302, moved"),
        (Answer(429, error="busy"), "server-failed", 6, "429, busy"),
    ],
)
def test_no_count(answer: Answer, verdict: str, exit_code: int, told: str) -> None:
    row = but(healthy(), plain=answer, streamed=None, streamed_usage=None)
    judged = judge_row(row, AIDS)
    assert (judged.verdict, judged.exit) == (verdict, exit_code)
    assert told in words(row)


def test_under_and_over_reported() -> None:
    low = but(healthy(OURS), plain=said(15), streamed_usage=said(15))
    assert found(low) == ["under-reported"]
    assert "20 tokens were processed (the ids returned), and the usage says 15" in words(low)
    assert found(but(healthy(OURS), plain=said(25), streamed_usage=said(25))) == ["over-reported"]
    # A zero is a number, and a wrong one.
    assert found(but(healthy(OURS), plain=said(0), streamed_usage=said(0))) == ["under-reported"]
    counted = but(low, processed=processed(count=20))
    assert found(counted) == ["under-reported"]


def test_cached_tokens_that_the_usage_leaves_out_are_named() -> None:
    row = but(healthy(OURS), plain=said(15, cached=5), streamed_usage=said(15))
    assert "the 5 tokens out of the cache are left out" in words(row)
    # A number that leaves out the cached ones is no count of the prompt.
    anew = but(healthy(OURS), plain=said(20, cached=5), processed=processed(count=15))
    assert found(anew) == []
    assert found(but(anew, processed=processed(count=14))) == ["inconsistent"]


@pytest.mark.parametrize(
    ("kept", "told"),
    [
        (OURS[:15], "of our 20 tokens the first 15 were processed"),
        (OURS[-15:], "of our 20 tokens the last 15 were processed"),
        (OURS[:1] + OURS[-14:], "of our 20 tokens the first 1 and the last 14 were processed"),
    ],
)
def test_truncated_at_either_end(kept: tuple[int, ...], told: str) -> None:
    row = but(healthy(OURS), plain=said(15), streamed_usage=said(15), processed=processed(ids=kept))
    assert found(row) == ["truncated"]
    assert told in words(row)


def test_what_is_no_part_of_ours_is_not_truncated() -> None:
    others = (*OURS[:10], 1, *OURS[12:])
    row = but(
        healthy(OURS), plain=said(19), streamed_usage=said(19), processed=processed(ids=others)
    )
    assert found(row) == ["tokenizer"]
    assert "other ids from the token 11 on" in words(row)
    assert [cut_of((1, 2, 3), one) for one in ((), (1, 2, 3), (2,), (1, 3))] == [
        None,
        None,
        None,
        (1, 1),
    ]


def test_a_missing_special_token_is_not_a_truncation() -> None:
    raw = OURS
    row = healthy((7, *raw), raw=raw)
    row = but(row, plain=said(20), streamed_usage=said(20), processed=processed(ids=raw))
    assert found(row) == ["tokenizer"]
    rendered = chat((9, 1, 2, 3, 9))
    rendered = but(
        rendered, plain=said(4), streamed_usage=said(4), processed=processed(ids=(1, 2, 3, 9))
    )
    assert found(rendered) == ["tokenizer"]


def test_truncated_by_the_servers_own_words_where_it_tells_no_ids() -> None:
    row = but(healthy(OURS, text="x" * 20), plain=said(15), streamed_usage=said(15))
    told = but(row, processed=processed(count=15, truncated=True))
    assert found(told) == ["truncated"]
    assert "which end of it it does not say" in words(told)
    part = but(row, processed=processed(count=15, text="x" * 15))
    assert found(part) == ["truncated"]
    silent = but(row, processed=processed(count=15))
    assert found(silent) == ["undetermined"]
    # Usage right, and a part of the prompt processed: both are told.
    hidden = but(healthy(OURS), processed=processed(ids=OURS[:15]))
    assert found(hidden) == ["over-reported", "truncated"]


def test_one_limit_over_all_prompts() -> None:
    rows = []
    for name, size in (("a", 20), ("b", 30), ("c", 10)):
        ids = tuple(range(size))
        kept = ids[-15:]
        row = but(healthy(ids, name=name), plain=said(len(kept)), streamed_usage=said(len(kept)))
        rows.append(but(row, processed=processed(ids=kept)))
    # One that is a single special token over: nothing but the limit says that it is cut.
    ids = (7, *range(15))
    row = but(healthy(ids, name="d", raw=ids[1:]), plain=said(15), streamed_usage=said(15))
    rows.append(but(row, processed=processed(ids=ids[1:])))
    assert judge(rows[3:], AIDS).verdict == "tokenizer"
    judged = judge(rows, AIDS)
    assert judged.notes == ("truncated to 15 tokens, the end kept: 3 of 4 prompts",)
    assert [one.verdict.value for one in judged.judgements] == [
        "truncated",
        "truncated",
        "agrees",
        "truncated",
    ]
    assert judged.judgements[3].findings[0].words == ("of our 16 tokens the last 15 were processed")
    uneven = but(
        rows[1], plain=said(12), streamed_usage=said(12), processed=processed(ids=range(18, 30))
    )
    assert "not to one number of tokens: 12 to 15 left" in judge([rows[0], uneven], AIDS).notes[0]


def decoding(text: str) -> Aids:
    """Decode the server's ids to this text."""
    return replace(AIDS, decode=lambda ids: text if 5 in ids else "<s>user one two three<s>")


def encoding(size: int) -> Aids:
    return replace(AIDS, encode=lambda text: (1,) * (size if "helpful" in text else 5))


def told_text(row: Row, text: str) -> Row:
    return but(row, rendered=Answer(200, processed=Processed("/apply-template", text=text)))


def test_another_template_by_the_text_that_the_server_tells() -> None:
    longer = "<s>system helpful<s>user one two three<s>"
    ids = (9, 5, 9, 1, 2, 3, 9)
    row = told_text(but(chat(), plain=said(7), streamed_usage=said(7)), longer)
    assert found(but(row, processed=processed(ids=ids), tokenize=endpoint(ids))) == ["template"]
    # By its count alone, only if its text accounts for it.
    counted = but(row, processed=processed(count=7), tokenize=None)
    # Servers leave out the opening token of a text that they tell.
    for size, verdict in ((7, "template"), (6, "template"), (8, "undetermined")):
        assert found(counted, encoding(size)) == [verdict]


def test_the_same_template_whether_the_opening_token_is_told_or_not() -> None:
    assert found(told_text(chat(), "user one two three<s>")) == []
    assert found(told_text(chat(), "<s><s>user one two three<s>")) == []
    # Texts that are spelt otherwise and have the same ids are the same.
    other = but(chat(), processed=processed(count=5), tokenize=None)
    other = told_text(other, "<s>USER one two three<s>")
    assert found(other, replace(AIDS, encode=lambda text: tuple(text.lower().encode()))) == []
    assert found(other) == ["template"]


def test_another_tokenizer_where_the_text_is_the_same() -> None:
    ids = (9, 1, 2, 4, 9)
    row = but(chat(), processed=processed(ids=ids), tokenize=endpoint(ids))
    assert found(row) == ["tokenizer"]
    # The tokenizer endpoint's ids stand for what was processed where no count speaks against it.
    silent = but(chat(), processed=None, tokenize=endpoint(ids))
    assert found(silent) == ["tokenizer"]
    assert found(but(silent, tokenize=endpoint((*ids, 1)))) == ["inconsistent"]


def test_template_or_tokenizer_by_decoding_where_the_text_is_not_told() -> None:
    ids = (9, 5, 1, 2, 3, 9)
    row = but(chat(), plain=said(6), streamed_usage=said(6), rendered=None, tokenize=None)
    row = but(row, processed=processed(ids=ids))
    texts = {
        "<s>user one two three<s>": "tokenizer",
        "<s>please: one two three<s>": "template",
        "something else": "undetermined",
    }
    for text, verdict in texts.items():
        assert found(row, decoding(text)) == [verdict]
    assert found(row) == ["undetermined"]


def test_counts_alone_are_undetermined_and_the_option_is_named() -> None:
    row = but(healthy(OURS), plain=said(15), streamed_usage=said(15), processed=None)
    assert found(row) == ["undetermined"]
    assert "as the server's own tokenizer does; it would be told by the option --tell" in words(row)
    # U=T≠C over the same text: the tokenizer is another.
    other = but(row, tokenize_special=endpoint(15))
    assert found(other) == ["tokenizer"]
    assert judge_row(row, AIDS).exit == 8


def test_a_tokenizer_endpoint_that_is_not_what_is_processed() -> None:
    assert found(but(healthy(), tokenize_special=endpoint(6))) == ["inconsistent"]
    assert found(but(healthy(), tokenize=endpoint((1, 2, 3, 4, 6)))) == ["inconsistent"]
    assert "other ids than ours" in words(but(healthy(), tokenize=endpoint((1, 2, 3, 4, 6))))
    assert found(but(healthy(), tokenize=Answer(404, error="none"), tokenize_special=None)) == []


@pytest.mark.parametrize(
    ("streamed", "asked", "exit_code", "told"),
    [
        (said(), said(), 6, "no usage, though it was asked for; the plain answer says 5"),
        (said(), said(0), 8, "the stream says 0 tokens, the plain answer 5"),
        (said(), said(5, 5), 8, "the stream has 2 usages: 5, 5"),
        (said(4), said(5), 8, "the stream without include_usage says 4 tokens"),
        (
            said(),
            Answer(200, whole=False, error="cut off"),
            6,
            "the stream broke off: 200, cut off",
        ),
        (
            said(),
            Answer(200, error="internal error"),
            6,
            "no usage that can be read: internal error",
        ),
        (
            said(),
            Answer(200, error="usage is no object", done=True),
            6,
            "no usage that can be read",
        ),
        (said(), Answer(302, error="HTTP 302: to b"), 6, "the stream failed: HTTP 302: to b"),
        (Answer(200, error="x"), said(5), 6, "without include_usage is not as it should be: x"),
        (said(), Answer(400, error="no stream_options"), 6, "the stream was refused: 400"),
    ],
)
def test_stream_faults(streamed: Answer, asked: Answer, exit_code: int, told: str) -> None:
    row = but(healthy(), streamed=streamed, streamed_usage=asked)
    judged = judge_row(row, AIDS)
    assert (judged.verdict, judged.exit) == (Verdict.STREAM_FAULT, exit_code)
    assert told in words(row)


def test_a_stream_that_fails_at_once_is_the_servers_failure() -> None:
    assert found(but(healthy(), streamed_usage=Answer(500, error="x"))) == ["server-failed"]
    assert found(but(healthy(), streamed_usage=Answer(None, error="x"))) == ["server-failed"]


def test_no_end_mark_is_noted_and_no_fault() -> None:
    row = but(healthy(), streamed_usage=replace(said(5), done=False))
    assert (found(row), judge_row(row).notes) == ([], ("no end mark in: streamed-usage",))
    assert judge([row, healthy()]).notes == ("1 of 2 prompts: no end mark in: streamed-usage",)


def test_an_opening_token_that_is_there_twice_is_noted() -> None:
    row = healthy((7, 7, 1, 2), raw=(7, 1, 2))
    assert (found(row), judge_row(row, AIDS).notes[0][:24]) == ([], "begins with <b> twice, o")
    assert judge_row(healthy((1, 1, 2)), AIDS).notes == ()
    assert judge_row(healthy((7, 1, 7)), AIDS).notes == ()


def test_several_texts_under_reported_by_the_streams_own_account() -> None:
    row = but(healthy((1, 2, 3, 4)), plain=said(3), streamed_usage=said(3, 1), processed=None)
    row = but(row, tokenize=None, tokenize_special=None)
    several = replace(row, ask=Ask(("a b c", "d"), "m", chat=False))
    assert found(several) == ["under-reported", "stream-fault", "stream-fault"]
    assert "4 tokens were processed (the usages of the stream, one a text)" in words(several)
    # Of a single text two usages are no account of anything.
    assert found(row) == ["stream-fault", "stream-fault", "undetermined"]


@pytest.mark.parametrize(
    ("limit", "verdicts"),
    [
        (TooLong(20, exact=True, limit=16), ["refused"]),
        (TooLong(17, exact=False, limit=16), ["refused"]),
        (TooLong(24, exact=True, limit=16), ["undetermined", "refused"]),
        (TooLong(21, exact=False, limit=16), ["undetermined", "refused"]),
        (TooLong(None, exact=False, limit=None), ["refused"]),
    ],
)
def test_refusals_of_what_is_too_long(limit: TooLong, verdicts: Sequence[str]) -> None:
    answer = Answer(400, too_long=limit, error="too long")
    row = but(healthy(OURS), plain=answer, streamed=answer, streamed_usage=answer, processed=None)
    assert found(row) == verdicts
    assert "too long" in words(row)


def test_the_two_spellings_are_compared() -> None:
    row = but(healthy(), only=Spelling.ESCAPED, plain=said(7), streamed_usage=said(7))
    assert found(row)[0] == "over-reported"
    assert "spelling" in found(row)
    assert "(ascii-escaped body)" in words(row)
    assert "usage 5 of a raw UTF-8 body and 7 of an ASCII-escaped one" in words(row)
    ids = but(healthy(), only=Spelling.ESCAPED, tokenize=endpoint((1, 2, 3, 4, 6)))
    assert "spelling" in found(ids)
    cached = but(healthy(), only=Spelling.ESCAPED, plain=said(5, cached=4))
    assert found(cached) == []
    gone = but(healthy(), only=Spelling.ESCAPED, plain=Answer(None, error="gone"))
    assert found(gone) == ["server-failed"]
    busy = but(healthy(), only=Spelling.ESCAPED, plain=Answer(429, error="busy"))
    assert found(busy) == ["server-failed"]
    refused = but(healthy(), only=Spelling.ESCAPED, plain=Answer(400, error="no"))
    assert "plain: status 200 of a raw UTF-8 body and 400" in words(refused)


def named(by: str, *names: str) -> Causes:
    causes = tuple(Cause(one, one, "what it does") for one in names)
    return Causes(causes, judged=3, mismatching=1, by=by)


def test_a_proven_cause_names_what_is_open() -> None:
    ids = (9, 1, 2, 4, 9)
    row = but(healthy((9, 1, 2, 3, 9)), processed=processed(ids=ids))
    judged = judge([row], AIDS, causes=named("ids", "normalizer-left-out"))
    assert judged.judgements[0].findings[0].words.startswith("normalizer-left-out: ")
    assert judged.verdict == "tokenizer"
    assert "cause: normalizer-left-out (what it does)" in judged.notes[0]
    cut = but(
        healthy(OURS), plain=said(15), streamed_usage=said(15), processed=processed(ids=OURS[:15])
    )
    assert judge([cut], AIDS, causes=named("ids", "truncated-characters")).verdict == "truncated"
    # Trimmed white space leaves a beginning too.
    trimmed = named("ids", "trailing-whitespace-trimmed", "truncated-tokens")
    judged = judge([cut], AIDS, causes=trimmed)
    assert judged.verdict == "tokenizer"
    assert "these prompts cannot tell those causes apart" in judged.notes
    counted = but(healthy(OURS), plain=said(15), streamed_usage=said(15), processed=None)
    assert judge([counted], AIDS, causes=named("ids", "x")).verdict == "undetermined"
    assert judge([counted], AIDS, causes=named("counts", "x")).verdict == "tokenizer"


def test_templates_that_fit() -> None:
    row = but(chat(), plain=said(26), streamed_usage=said(26), processed=None, rendered=None)
    row = but(row, tokenize=None)
    assert judge([row], AIDS).verdict == "undetermined"
    fitted = judge([row], AIDS, fitted=Fitted(names=("chatml",), ids=(TWENTY_SIX,)))
    assert (fitted.verdict, fitted.templates) == ("template", ("chatml",))
    assert "the template chatml gives it" in fitted.groups[0].words
    # One that fits the shapes and not this prompt does not explain it; our own never does.
    for ids in ((TWENTY_SIX[1:],), (TWENTY_SIX[:5],), (None,), ()):
        other = judge([row], AIDS, fitted=Fitted(names=("chatml",), ids=ids))
        assert other.verdict == "undetermined"
    offset = judge([row], AIDS, fitted=Fitted(offset=21))
    assert offset.verdict == "undetermined"
    assert "off by +21 on every prompt shape" in offset.notes[0]
    # Where nothing is wrong, a template that fits is not news.
    assert judge([chat()], AIDS, fitted=Fitted(names=("chatml",))).notes == ()


def test_verdicts_are_counted_the_gravest_first() -> None:
    low = but(healthy(name="b"), plain=said(4), streamed_usage=said(4))
    silent = but(healthy(name="c"), streamed_usage=said())
    judged = judge([healthy(), low, silent, replace(low, id="d")], AIDS)
    assert [(one.verdict.value, one.prompts, one.exit) for one in judged.groups] == [
        ("under-reported", ("b", "d"), 8),
        ("stream-fault", ("c",), 6),
    ]
    assert (judged.verdict, judged.exit) == ("under-reported", 8)
    assert judged.notes == ("the usage is off by -1 on 2 of 4 prompts",)
    assert judge([healthy(), silent], AIDS).exit == 6


def test_retries_are_counted() -> None:
    row = but(healthy(), only=Spelling.RAW, plain=replace(said(5), retries=2))
    assert judge([row], AIDS).notes[0].startswith("2 requests were sent again")


def test_findings_are_ordered_by_gravity_whatever_the_rules_order() -> None:
    one = Finding(Verdict.NO_COUNT, "x", 6)
    assert Judgement("a", (one,)).exit == 6
    assert [one.value for one in Verdict][-1] == "agrees"


def test_a_status_is_said_once() -> None:
    assert "refuses it: HTTP 404: gone" in words(
        but(healthy(), plain=Answer(404, error="HTTP 404: gone"))
    )
    assert "refuses it: 404, gone" in words(but(healthy(), plain=Answer(404, error="gone")))


def test_a_group_counts_prompts_and_not_names() -> None:
    row = but(healthy(), plain=said(4), streamed_usage=said(4))
    [group] = judge([row, row]).groups
    assert group.prompts == ("a", "a")


def test_an_unknown_template_has_a_remedy() -> None:
    row = replace(chat(), client=Client((1, 2, 3), (1, 2, 3)))
    assert "--template FILE or --gguf FILE" in words(row)


def test_counts_of_another_tokenizer_tell_no_template() -> None:
    fitted = Fitted(words=("no template that is known gives the counts",))
    low = but(healthy(), plain=said(4), streamed_usage=said(4))
    assert fitted.words[0] in judge([low], fitted=fitted).notes
    theirs = endpoint((1, 2, 3, 4, 6))
    other = but(
        healthy(), tokenize=theirs, tokenize_special=theirs, processed=processed(ids=theirs.ids)
    )
    judged = judge([other], fitted=fitted)
    assert judged.verdict is Verdict.TOKENIZER
    assert fitted.words[0] not in judged.notes
    assert any("of the same text it makes other ids than we do" in one for one in judged.notes)


def test_a_count_beside_ours_names_who_says_it() -> None:
    told = replace(processed(count=6), processed=Processed("tokenizer and counter", 6))
    row = but(healthy(), processed=told)
    assert "6 were processed by the server's own word (tokenizer and counter)" in words(row)


def test_one_request_that_was_sent_again() -> None:
    row = but(healthy(), only=Spelling.RAW, plain=replace(said(5), retries=1))
    assert any(one.startswith("1 request was sent again") for one in judge([row]).notes)
