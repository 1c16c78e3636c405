"""Bands and preflight: what is a band, what holds one, and what stops before anything is spent."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.served.live.bands import Bands, across, band_for, held, parse_band
from harness.served.live.facts import Aids
from harness.served.live.preflight import preflight
from harness.served.live.values import Answer, Client, Message, Row, Spelling
from harness.served.prompts import Meta, check, read_prompts
from harness.served.target import Band, Boundary
from tests.unit.benched import written
from tests.unit.served_rows import but, chat, endpoint, healthy, said


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("512±8", 504, 520),
        ("512+-8", 504, 520),
        ("512 +/- 8", 504, 520),
        ("500..520", 500, 520),
        (" 512 ", 512, 512),
        ("8±8", 0, 16),
    ],
)
def test_bands(text: str, low: int, high: int) -> None:
    assert parse_band(text, "raw") == Band(low, high, "raw")


@pytest.mark.parametrize(
    "text", ["", "512±", "a", "-1", "520..500", "4±5", "0", "1e3", "5±9999999999", "٥"]
)
def test_what_is_no_band(text: str) -> None:
    with pytest.raises(UsageError):
        parse_band(text, "raw")


def test_a_band_names_its_boundary() -> None:
    with pytest.raises(UsageError, match="names its boundary"):
        parse_band("512", None)
    with pytest.raises(UsageError, match="no boundary is given"):
        band_for(None, None, Meta(target=5))


@pytest.mark.parametrize(
    ("given", "boundary", "meta", "band"),
    [
        ("512±8", "raw", Meta(), Band(504, 520, "raw")),
        (None, None, Meta(target=5, tolerance=1, boundary="rendered"), Band(4, 6, "rendered")),
        (None, "raw", Meta(target=5, tolerance=9), Band(0, 14, "raw")),
        (None, None, Meta(target=5, tolerance=9, boundary="raw"), Band(0, 14, "raw")),
        ("5±1", None, Meta(target=5, tolerance=1, boundary="raw"), Band(4, 6, "raw")),
        (None, "raw", Meta(), None),
    ],
)
def test_the_band_of_a_run(
    given: str | None, boundary: Boundary | None, meta: Meta, band: Band | None
) -> None:
    assert band_for(given, boundary, meta) == band


def test_two_bands_or_two_boundaries() -> None:
    with pytest.raises(UsageError, match="two bands"):
        band_for("6", None, Meta(target=5, boundary="raw"))
    with pytest.raises(UsageError, match="two boundaries"):
        band_for("5", "rendered", Meta(target=5, boundary="raw"))


def of(size: int, name: str = "a") -> Row:
    return healthy(range(size), name=name)


def test_margins_on_both_sides_of_the_wire() -> None:
    found = held([of(505), of(513, "b")], Band(504, 520, "rendered"))
    assert (found.client.state, found.server.state, found.exit) == ("held", "held", 0)
    assert found.server.margins == (1, 7)
    broken = held([of(505), of(534, "b"), of(500, "c")], Band(504, 520, "rendered"))
    assert (broken.server.state, broken.server.margins, broken.exit) == ("broken", (-4, -14), 7)
    assert broken.server.outside == (("b", 534), ("c", 500))
    assert "2 out of it (b: 534, c: 500)" in str(broken.server)


def test_the_edges_are_in_the_band() -> None:
    band = Band(504, 520, "rendered")
    assert held([of(504), of(520, "b")], band).server.margins == (0, 0)
    assert held([of(504), of(520, "b")], band).exit == 0
    assert [held([of(size)], band).client.state for size in (503, 521)] == ["broken", "broken"]
    assert [preflight([of(size)], band, Sender()).exit for size in (503, 504, 520, 521)] == [
        7,
        0,
        0,
        7,
    ]


def test_a_missing_count_is_not_in_the_band() -> None:
    silent = but(of(512), plain=said(), streamed_usage=said())
    found = held([silent], Band(504, 520, "rendered"))
    assert (found.client.state, found.server.state, found.exit) == ("held", "not known", 6)
    assert found.server.margins is None
    assert "1 without a count" in str(found.server)
    assert held([], Band(1, 2, "raw")).server.state == "not known"


def test_raw_and_rendered_are_two_lengths() -> None:
    """The raw text's length is told by the tokenizer endpoint, never by a usage that has more."""
    row = healthy((7, *range(505)), raw=range(505))
    raw = held([row], Band(505, 505, "raw"))
    assert (raw.client.counts, raw.server.counts) == ((505,), (505,))
    rendered = held([row], Band(505, 505, "rendered"))
    assert (rendered.client.outside, rendered.server.outside) == ((("a", 506),), (("a", 506),))
    untold = but(row, tokenize=None)
    assert held([untold], Band(505, 505, "raw")).server.unknown == ("a",)
    bare = but(healthy(range(505)), tokenize=None)
    assert held([bare], Band(505, 505, "raw")).server.counts == (505,)
    talk = held([chat()], Band(3, 3, "raw"))
    assert (talk.client.counts, talk.server.unknown) == ((3,), ("a",))


def test_of_two_spellings_the_further_out_counts() -> None:
    row = but(of(512), only=Spelling.ESCAPED, plain=said(600))
    assert held([row], Band(504, 520, "rendered")).server.outside == (("a", 600),)


def test_a_band_held_on_one_server_and_broken_on_another() -> None:
    band = Band(504, 520, "rendered")
    bands: dict[str, Bands] = {"chatml": held([of(513)], band), "template": held([of(534)], band)}
    words = across(bands)
    assert words is not None
    assert words.startswith("the band 512 ± 8 rendered is held on chatml and broken on template")
    assert across({"one": bands["chatml"], "two": bands["chatml"]}) is None
    assert across({"one": bands["template"]}) is None
    unknown = held([but(of(5), plain=None, streamed=None, streamed_usage=None)], band)
    assert across({"one": bands["chatml"], "two": unknown}) is None


class Sender:
    """Sends rows, and remembers which."""

    def __init__(self, **answers: Answer) -> None:
        self.answers = answers
        self.sent: list[str] = []

    def __call__(self, row: Row) -> Row:
        self.sent.append(row.id)
        answer = self.answers.get(row.id, said(len(row.expected or ())))
        return but(replace(row, answers={}), only=Spelling.RAW, plain=answer)


def test_preflight_sends_each_prompt_once() -> None:
    send = Sender()
    found = preflight([of(505, "a"), of(513, "b")], Band(504, 520, "rendered"), send)
    assert (found.violation, found.exit, found.total, len(found.rows)) == (None, 0, 2, 2)
    assert send.sent == ["a", "b"]


@pytest.mark.parametrize(
    ("answer", "words", "exit_code"),
    [
        (said(534), "prompt b: the usage says 534 tokens and we count 505", 8),
        (said(), "prompt b: the answer has no count", 6),
        (Answer(None, error="gone"), "prompt b: the request failed: gone", 6),
    ],
)
def test_preflight_stops_at_the_first_violation(answer: Answer, words: str, exit_code: int) -> None:
    send = Sender(b=answer)
    found = preflight([of(505, "a"), of(505, "b"), of(505, "c")], None, send)
    assert str(found.violation).startswith(words)
    assert (found.exit, send.sent, found.total) == (exit_code, ["a", "b"], 3)


def test_a_preflight_says_what_would_tell_more() -> None:
    found = preflight([of(505, "a")], None, Sender(a=said(500)), Aids("--verbose"))
    assert str(found.violation).endswith("it would be told by --verbose")


def test_preflight_sends_nothing_that_we_know_is_wrong() -> None:
    send = Sender()
    found = preflight([of(505, "a"), of(534, "b")], Band(504, 520, "rendered"), send)
    assert (
        found.violation == "prompt b has 534 tokens by our count, out of the band 512 ± 8 rendered"
    )
    assert (found.exit, send.sent, found.rows) == (7, [], ())


def test_preflight_on_the_servers_count_where_ours_is_on_the_other_side() -> None:
    row = but(healthy(range(512), name="a"), tokenize=endpoint(600))
    send = Sender()
    found = preflight([row], Band(504, 520, "raw"), send)
    assert found.violation is None
    unknown = replace(row, client=Client(None, None))
    assert preflight([unknown], Band(504, 520, "rendered"), send).exit == 6


def test_a_live_prompt_file_has_texts_lists_and_conversations(tmp_path: Path) -> None:
    talk = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    path = written(
        tmp_path / "p.jsonl",
        {"_meta": {"target": 5}},
        "text",
        {"prompt": ["a b c", "d"], "id": "several"},
        {"messages": talk, "id": "talk"},
        {"messages": talk},
    )
    file = read_prompts(path, live=True)
    assert [one.content for one in file.prompts] == [
        "text",
        ("a b c", "d"),
        (Message("system", "s"), Message("user", "u")),
        (Message("system", "s"), Message("user", "u")),
    ]
    assert file.prompts[0].text == "text"
    with pytest.raises(TypeError):
        _ = file.prompts[1].text
    assert check(file, [5] * 4, [True] * 4, band=None).twins == (3,)
    with pytest.raises(UsageError, match="is no prompt"):
        read_prompts(path)


@pytest.mark.parametrize(
    ("document", "what"),
    [
        ({"messages": []}, "has no list of messages"),
        ({"messages": "hello"}, "has no list of messages"),
        ({"messages": [5]}, "is no message"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "has the role 'robot'"),
        ({"messages": [{"role": ["user"], "content": "x"}]}, "has the role"),
        ({"messages": [{"role": "user", "content": [1]}]}, "has a content that is no text"),
        ({"messages": [{"role": "user", "content": "\ud800"}]}, "the lone surrogate U+D800"),
        ({"messages": [{"role": "user", "content": "x"}], "prompt": "y"}, "messages and a prompt"),
        ({"prompt": []}, "is no prompt"),
        ({"prompt": ["a", 5]}, "is no prompt"),
        ({"prompt": ["a", "\udfff"]}, "the lone surrogate U+DFFF"),
    ],
)
def test_a_broken_live_prompt(tmp_path: Path, document: object, what: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_prompts(written(tmp_path / "p.jsonl", document), live=True)
    assert what in caught.value.what


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("10..20", "10 to 20 raw"),
        ("10..21", "10 to 21 raw"),
        ("12..12", "12 raw"),
        ("15±5", "15 ± 5 raw"),
        ("15", "15 raw"),
    ],
)
def test_a_band_is_shown_as_it_was_given(text: str, shown: str) -> None:
    assert str(parse_band(text, "raw")) == shown
    # How it is written makes it no other band.
    assert parse_band("10..20", "raw") == parse_band("15±5", "raw")


def test_the_band_of_a_file_is_shown_as_it_stands_there() -> None:
    for tolerance, shown in ((1, "5 ± 1 raw"), (5, "5 ± 5 raw"), (9, "0 to 14 raw")):
        meta = Meta(target=5, tolerance=tolerance, boundary="raw")
        assert str(band_for(None, None, meta)) == shown
