"""The rules that make a verdict of one prompt's numbers. Pure; each rule is a function of its own.

What rests on evidence that is not there is ``undetermined``, and no number stands in for another.
"""

from collections.abc import Callable, Iterator

from harness.served.exits import NO_COUNT
from harness.served.live.facts import Facts, counted, ids_of, prompts_of
from harness.served.live.finding import Finding, Verdict, tokens
from harness.served.live.processing import processed
from harness.served.live.values import Answer, Kind

Rule = Callable[[Facts], Iterator[Finding]]


def findings(one: Facts) -> list[Finding]:
    """Return everything that the rules find under one spelling, in no order."""
    return [found for rule in RULES for found in rule(one)]


def answered(one: Facts) -> Iterator[Finding]:
    """Find no answer, an error, a refusal, or an answer without a count."""
    plain = one.plain
    if plain is None:
        yield Finding(Verdict.NO_COUNT, "the server was not asked", NO_COUNT)
        return
    if plain.too_long is not None or _refused(plain):
        yield _refusal(one, plain)
    elif _failed(plain):
        words = f"the request failed: {_why(plain)}"
        yield Finding(Verdict.SERVER_FAILED, words, NO_COUNT, {"status": plain.status})
    elif one.usage is None:
        words = "the answer has no count of prompt tokens"
        words += f": {plain.error}" if plain.error else ""
        yield Finding(Verdict.NO_COUNT, words, NO_COUNT)
    if one.client is None:
        words = "we cannot count it: " + (
            "no chat template is known that makes a text of it "
            "(--template FILE or --gguf FILE gives one)"
            if one.row.ask.chat
            else "the tokenizer refuses it"
        )
        yield Finding(Verdict.NO_COUNT, words, NO_COUNT)


def reported(one: Facts) -> Iterator[Finding]:
    """Hold the usage against what was processed: under- or over-reported."""
    usage, processed = one.usage, one.processed_count
    if usage is None or processed is None or usage == processed or one.processed is None:
        return
    source = one.processed.source
    if one.processed.ids is None and one.client == usage and not one.processed.truncated:
        words = (
            f"the usage is {tokens(usage)}, as we count, and {processed:,} were processed by the "
            f"server's own word ({source})"
        )
        yield Finding(Verdict.INCONSISTENT, words, evidence={"source": source})
        return
    words = f"{tokens(processed)} were processed ({source}), and the usage says {usage:,}"
    if one.cached and usage + one.cached == processed:
        words += f": the {tokens(one.cached)} out of the cache are left out"
    verdict = Verdict.UNDER_REPORTED if usage < processed else Verdict.OVER_REPORTED
    yield Finding(verdict, words, evidence={"source": source, "off": usage - processed})


def tokenizer_endpoint(one: Facts) -> Iterator[Finding]:
    """Hold the tokenizer endpoint against ours, where what was processed is as we have it."""
    ours = one.row.expected
    if ours is None or (one.observed is not None and one.observed[1] != ours):
        return
    if any(count not in (None, len(ours)) for count in (one.usage, one.processed_count)):
        return
    pairs = [(one.tokenize_kind, ours)]
    if not one.row.ask.chat and one.row.client.raw is not None:
        pairs.append((Kind.TOKENIZE, one.row.client.raw))
    for kind, due in pairs:
        answer = one.answer(kind)
        count = None if answer is None else counted(answer)
        if answer is None or count is None:
            continue
        ids = ids_of(answer)
        if count != len(due) or ids not in (None, due):
            other = "other ids than ours" if count == len(due) else f"{len(due):,} by our count"
            words = f"the tokenizer endpoint has {tokens(count)} ({kind.value}), {other}"
            yield Finding(Verdict.INCONSISTENT, words, evidence={"source": kind.value})
            return


def streams(one: Facts) -> Iterator[Finding]:
    """Hold the usage of streams against that of the plain request."""
    for kind in (Kind.STREAMED_USAGE, Kind.STREAMED):
        answer = one.answer(kind)
        if answer is None or answer is one.plain:
            continue
        name = "the stream" if kind is Kind.STREAMED_USAGE else "the stream without include_usage"
        yield from _stream(one, answer, name, asked=kind is Kind.STREAMED_USAGE)


def _stream(one: Facts, answer: Answer, name: str, *, asked: bool) -> Iterator[Finding]:
    if _refused(answer) or answer.too_long is not None:
        if one.usage is not None:
            yield Finding(Verdict.STREAM_FAULT, f"{name} was refused: {_why(answer)}", NO_COUNT)
        return
    if _failed(answer):
        verdict = Verdict.SERVER_FAILED
        if answer.status is not None and answer.status < 400:
            verdict = Verdict.STREAM_FAULT
        began = answer.status is not None and answer.status < 300
        what = "broke off" if began else "failed"
        yield Finding(verdict, f"{name} {what}: {_why(answer)}", NO_COUNT)
        return
    counts = prompts_of(answer)
    if not counts:
        if answer.error is not None:
            what = "has no usage that can be read" if asked else "is not as it should be"
            yield Finding(Verdict.STREAM_FAULT, f"{name} {what}: {answer.error[:300]}", NO_COUNT)
        elif asked:
            words = f"{name} has no usage, though it was asked for"
            if one.usage is not None:
                words += f"; the plain answer says {one.usage:,}"
            yield Finding(Verdict.STREAM_FAULT, words, NO_COUNT)
        return
    if len(counts) > 1:
        listed = ", ".join(f"{count:,}" for count in counts[:8]) + (", …" if counts[8:] else "")
        words = f"{name} has {len(counts):,} usages: {listed}"
        yield Finding(Verdict.STREAM_FAULT, words, evidence={"usages": counts[:64]})
    if one.usage is not None and counts[-1] != one.usage:
        words = f"{name} says {tokens(counts[-1])}, the plain answer {one.usage:,}"
        yield Finding(Verdict.STREAM_FAULT, words, evidence={"off": counts[-1] - one.usage})


RULES: tuple[Rule, ...] = (answered, reported, processed, tokenizer_endpoint, streams)


def busy(answer: Answer) -> bool:
    """Whether the server had no time for the request, which says nothing of the prompt."""
    return answer.status in (408, 425, 429)


def _refused(answer: Answer) -> bool:
    return answer.status is not None and 400 <= answer.status < 500 and not busy(answer)


def _failed(answer: Answer) -> bool:
    return answer.status is None or answer.status >= 300 or not answer.whole


def _why(answer: Answer) -> str:
    words = answer.error or "no reason given"
    if answer.status is None or words.startswith(f"HTTP {answer.status}"):
        return words[:300]
    return f"{answer.status}, {words[:300]}"


def _refusal(one: Facts, plain: Answer) -> Finding:
    limit = plain.too_long
    if limit is None:
        words = f"the server refuses it: {_why(plain)}"
        return Finding(Verdict.REFUSED, words, NO_COUNT, {"status": plain.status})
    words = "the server refuses it as too long"
    if limit.count is not None:
        words += f": {'' if limit.exact else 'at least '}{tokens(limit.count)}"
    if limit.limit is not None:
        words += f" of {limit.limit:,} that fit"
    if one.client is not None:
        words += f"; we count {one.client:,}"
    return Finding(
        Verdict.REFUSED,
        words,
        NO_COUNT,
        {"count": limit.count, "exact": limit.exact, "limit": limit.limit},
    )
