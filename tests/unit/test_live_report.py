"""The reports on live servers: every number and every missing one, and nothing that acts."""

import json
from dataclasses import replace

import pytest

from harness.served.live import served_json, served_text
from harness.served.live.bands import held
from harness.served.live.facts import Aids
from harness.served.live.outcome import Served, ServerOutcome, shown_url, unanswered
from harness.served.live.preflight import Preflight
from harness.served.live.values import Answer, Ask, Client, Row, Spelling
from harness.served.live.verdict import judge
from harness.served.target import Band
from tests.unit.served_rows import but, chat, healthy, processed, said

SHA = "c0382117" * 8
HOSTILE = "\x1b[31m##[group]evil\r\n\u202e"


def outcome(*rows: Row, name: str = "lane", **more: object) -> ServerOutcome:
    made = ServerOutcome(name, "http://h:1", rows, judge(rows, Aids("--tell")), "vllm", "m")
    return replace(made, **more)  # type: ignore[arg-type]


def served(*servers: ServerOutcome) -> Served:
    return Served(servers, "qwen2.5", SHA, "prompts.jsonl", "ab" * 32)


def text_of(*servers: ServerOutcome) -> str:
    return served_text.render(served(*servers))


def document(*servers: ServerOutcome) -> dict[str, object]:
    found: dict[str, object] = json.loads(served_json.dumps(served(*servers)))
    return found


def cells(text: str, start: str) -> list[str]:
    [line] = [one for one in text.splitlines() if one.strip().startswith(start)]
    return line.split()


def test_a_row_of_the_table() -> None:
    row = but(healthy((7, *range(1023)), raw=range(1023), name="p1"), plain=said(1024, cached=8))
    text = text_of(outcome(row))
    told = ["p1", "1,023", "1,024", "1,023", "1,024", "1,024", "-", "1,024", "8", "1,024", "1/0/1"]
    assert cells(text, "p1") == told
    assert "✓ agrees: 1 of 1 prompt\n" in text
    assert "verdict: agrees (exit 0)" in text


def test_missing_is_a_dash_and_null_and_zero_is_zero() -> None:
    bare = Row("p1", Ask("x", None, chat=False), Client(None, None))
    bare = but(bare, plain=said(), streamed=Answer(500), streamed_usage=Answer(None, error="gone"))
    text = text_of(outcome(bare))
    told = ["✗", "p1", "-", "-", "-", "-", "-", "HTTP", "500", "failed", "-", "-", "0/0/0"]
    assert cells(text, "✗ p1") == told
    [row] = served_json.to_dict(served(outcome(bare)))["servers"][0]["rows"]
    assert row["client"] == {"raw": None, "special": None, "rendered": None}
    plain = next(one for one in row["answers"] if one["question"] == "plain")
    assert (plain["prompt_tokens"], plain["count"], plain["processed"]) == (None, None, None)
    assert {one["question"] for one in row["answers"]} == {"plain", "streamed", "streamed-usage"}
    zero = but(healthy(name="p1"), plain=said(0))
    assert cells(text_of(outcome(zero)), "✗ p1")[6] == "0"


def test_cached_tokens_stand_apart() -> None:
    row = but(healthy(), plain=said(5, cached=0), streamed_usage=said(5, cached=4))
    assert cells(text_of(outcome(row)), "a ")[8] == "0/-/4"
    [told] = served_json.to_dict(served(outcome(row)))["servers"][0]["rows"]
    cached = {one["question"]: one["usages"] for one in told["answers"]}
    assert cached["streamed-usage"][0]["cached_tokens"] == 4


def test_a_second_line_only_where_the_spellings_differ() -> None:
    assert "↳ ascii-escaped" not in text_of(outcome(healthy()))
    other = but(healthy(), only=Spelling.ESCAPED, plain=said(7))
    assert cells(text_of(outcome(other)), "↳ ascii-escaped")[4] == "7"


def test_every_verdict_is_in_both_reports() -> None:
    low = but(healthy(name="b"), plain=said(4), streamed_usage=said(4))
    text = text_of(outcome(healthy(), low))
    assert "✗ under-reported: 1 of 2 prompts (b: 5 tokens were processed" in text
    assert "verdict: under-reported (exit 8)" in text
    found = served_json.to_dict(served(outcome(healthy(), low)))
    assert (found["schema"], found["exit"]) == ("tokparity-served/1", 8)
    [server] = found["servers"]
    assert [one["verdict"] for one in server["rows"]] == ["agrees", "under-reported"]
    assert server["verdicts"][0]["prompts"] == ["b"]
    assert server["rows"][1]["findings"][0]["evidence"] == {"source": "the ids returned", "off": -1}
    # Ids are long: only those of prompts that something is wrong with.
    told = [
        answer["processed"]["ids"]
        for one in server["rows"]
        for answer in one["answers"]
        if answer["question"] == "processed"
    ]
    assert told == [None, None, [1, 2, 3, 4, 5], [1, 2, 3, 4, 5]]


def test_findings_come_first_and_the_rest_is_counted() -> None:
    rows = [healthy(name=f"p{number}") for number in range(60)]
    rows.append(but(healthy(name="last"), plain=said(4)))
    text = text_of(outcome(*rows))
    assert cells(text, "✗ last")
    assert "… and 21 more, 0 of them with a finding" in text


def test_nothing_that_a_server_says_acts_on_a_terminal() -> None:
    row = but(healthy(name=HOSTILE), plain=Answer(400, error=HOSTILE), streamed=None)
    one = outcome(row, name=HOSTILE, model=HOSTILE, dialect=HOSTILE, evidence=(HOSTILE,))
    two = unanswered(HOSTILE, f"http://h/{HOSTILE}", HOSTILE)
    three = outcome(but(healthy(name=HOSTILE), plain=said(9)), name="other", template=HOSTILE)
    for text in (text_of(one, two, three), served_json.dumps(served(one, two, three))):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "\r" not in text
    assert "##[" not in text_of(one, two, three)
    assert json.loads(served_json.dumps(served(one)))["servers"][0]["rows"][0]["id"] == HOSTILE


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://me:secret@h:8080/v1?key=secret#x", "http://h:8080/v1"),
        ("https://h", "https://h"),
        ("h:80", "h:80"),
    ],
)
def test_no_credentials_are_shown(url: str, shown: str) -> None:
    assert shown_url(url).endswith(shown.removeprefix("h:"))
    assert "secret" not in shown_url(url)


def test_a_server_that_could_not_be_asked() -> None:
    gone = unanswered("b", "http://u:p@h:1", "connection refused")
    text = text_of(outcome(healthy()), gone)
    assert "✗ could not be asked: connection refused" in text
    assert "u:p@" not in text
    found = served_json.to_dict(served(outcome(healthy()), gone))
    assert (found["exit"], found["servers"][1]["verdict"]) == (6, None)
    assert served().exit == 6


def test_bands_and_exit_codes() -> None:
    band = Band(4, 4, "rendered")
    out = outcome(healthy(), bands=held([healthy()], band))
    assert out.exit == 7
    assert "by the server's: band 4 rendered broken: +1 from its lower edge, -1" in text_of(out)
    silent = but(healthy(), plain=said(), streamed_usage=said())
    missing = outcome(silent, bands=held([silent], band))
    assert missing.exit == 6
    low = but(healthy(), plain=said(4), streamed_usage=said(4))
    wrong = outcome(low, bands=held([low], band))
    assert wrong.exit == 8
    assert [served(*some).exit for some in ((out,), (out, missing), (out, missing, wrong))] == [
        7,
        6,
        8,
    ]
    [server] = served_json.to_dict(served(out))["servers"]
    assert server["bands"]["server"]["margins"] == {"lower": 1, "upper": -1}
    assert server["bands"]["server"]["outside"] == [{"id": "a", "tokens": 5}]


def test_the_exit_code_is_explained_by_what_is_printed() -> None:
    """No verdict's line, and no end of a report, says another exit code than the process has."""
    good = outcome(healthy(), name="good")
    assert "overall" not in text_of(good)
    out = outcome(healthy(), name="out", bands=held([healthy()], Band(4, 4, "rendered")))
    assert "verdict: agrees, out of band (exit 7)" in text_of(out)
    assert text_of(good, replace(good, name="two")).endswith("\n\noverall: exit 0")
    assert text_of(good, out).endswith("overall: exit 7 (out: agrees, out of band)")
    gone = unanswered("gone", "http://h", "refused")
    assert text_of(gone).endswith("overall: exit 6 (gone: could not be asked)")
    assert text_of(good, out, gone).endswith("overall: exit 6 (gone: could not be asked)")
    broken = replace(served(good), violations=("_meta.count is 3 and there is 1 prompt",))
    text = served_text.render(broken)
    assert "verdict: agrees (exit 0)" in text
    assert text.endswith("overall: exit 7 (prompts.jsonl is not in order)")
    unknown = held([but(healthy(), plain=said(), tokenize=None)], Band(5, 5, "rendered"))
    uncounted = outcome(healthy(), bands=unknown)
    assert "agrees, a count for the band is missing (exit 6)" in text_of(uncounted)


def test_words_of_one_and_of_many() -> None:
    one, two = text_of(outcome(healthy())), text_of(outcome(healthy(), healthy(name="b")))
    assert "(1 prompt)" in one
    assert "(2 prompts)" in two
    low = but(healthy(), plain=said(4), streamed_usage=said(4))
    assert "under-reported: 1 of 1 prompt (a" in text_of(outcome(low))
    assert "the usage is off by -1 on 1 of 1 prompt\n" in text_of(outcome(low))


def test_the_legend_stands_once_and_tells_every_mark() -> None:
    text = text_of(outcome(healthy()), unanswered("b", "http://h", "refused"))
    assert "\n\n\n" not in text
    legend = text[text.index("raw: our count") :]
    assert "usage/stream/+usage" in legend
    assert "↳" in legend


def test_a_preflight_that_stopped() -> None:
    stopped = Preflight((), 3, "prompt a has 534 tokens", 7)
    one = outcome(preflight=stopped)
    text = text_of(one)
    assert "preflight: 0 of 3 prompts sent" in text
    assert "verdict: none, nothing was sent (exit 7)" in text
    assert "overall" not in text
    assert "✗ stopped: prompt a has 534 tokens" in text
    assert one.exit == 7
    assert served_json.to_dict(served(one))["servers"][0]["preflight"]["sent"] == 0


def test_servers_side_by_side() -> None:
    chatml, template = (
        outcome(healthy(range(513)), name="chatml"),
        outcome(healthy(range(534)), name="full"),
    )
    text = text_of(chatml, template)
    assert "the same prompts have other totals: chatml 513, full 534" in text
    assert ["a", "513", "534"] in [line.split() for line in text.splitlines()]
    alike = text_of(chatml, replace(chatml, name="other"))
    assert "the usage is the same on chatml, other, prompt by prompt" in alike
    silent = outcome(but(healthy(), plain=said()), name="silent")
    assert "silent -" in text_of(chatml, silent)
    # A total with a part missing is no total.
    partly = outcome(healthy(), but(healthy(name="b"), plain=said()), name="partly")
    assert (partly.total, chatml.total) == (None, 513)


def test_receipts_claim_only_what_was_used() -> None:
    used = outcome(chat(), template="the GGUF's").receipt(SHA, None)
    assert (used.template, used.boundary, used.method) == ("the GGUF's", "rendered", "server_usage")
    assert used.eligible
    unused = outcome(healthy(), template="the GGUF's").receipt(SHA, None)
    assert (unused.template, unused.boundary) == (None, "raw")
    nothing = outcome()
    assert (nothing.receipt(SHA, None).boundary, document(nothing)["servers"][0]["verdict"]) == (  # type: ignore[index]
        None,
        None,
    )
    assert "verdict: none, nothing was sent (exit 6)" in text_of(nothing)
    # What is put around a text is counted by the usage, and so it is not the text alone.
    around = outcome(healthy((7, 1, 2), raw=(1, 2))).receipt(SHA, None)
    assert (around.template, around.boundary) == (None, "rendered")
    unmade = replace(chat(), client=Client((1,), (1,)))
    assert outcome(unmade, template="the GGUF's").receipt(SHA, None).template is None
    silent = but(healthy(), plain=said(), streamed_usage=said())
    receipt = outcome(silent).receipt(SHA, "ab")
    assert (receipt.method, receipt.eligible) == (None, False)
    assert "method not known" in str(receipt)
    assert receipt.to_dict()["tokenizer_sha256"] == SHA


def test_the_json_is_ascii_and_whole() -> None:
    row = but(healthy(name="é"), processed=processed(ids=(1, 2)))
    text = served_json.dumps(served(outcome(row)))
    assert text.isascii()
    assert document(outcome(row))["tokenizer"] == {"name": "qwen2.5", "sha256": SHA}
