"""Ten ways to be right: the same tokenizer, written or run otherwise."""

from tokenizers import Tokenizer

from tests.bank.planted import Ids, Subject, Word, defect
from tests.bank.planted.models import by_merges, by_scores


@defect("healthy-plain")
def _(subject: Subject, value: str) -> None:
    """The library as it is."""


@defect("healthy-indented")
def _(subject: Subject, value: str) -> None:
    subject.indent = 2


@defect("healthy-respelt")
def _(subject: Subject, value: str) -> None:
    """Merges as text, where they are lists; the vocabulary from its other end."""
    model = subject.model
    if "merges" in model:
        model["merges"] = [
            one if isinstance(one, str) else " ".join(one) for one in model["merges"]
        ]
    if isinstance(model["vocab"], dict):
        model["vocab"] = dict(reversed(model["vocab"].items()))


@defect("healthy-wrapped")
def _(subject: Subject, value: str) -> None:
    """Every stage in a sequence of one, twice over."""
    for stage, inner in (("normalizer", "normalizers"), ("pre_tokenizer", "pretokenizers")):
        for _time in range(2):
            declared = subject.described[stage]
            if declared is not None:
                subject.described[stage] = {"type": "Sequence", inner: [declared]}


@defect("healthy-forgetful")
def _(subject: Subject, value: str) -> None:
    """Nothing is remembered from one word to the next."""

    def forget(tokenizer: Tokenizer) -> None:
        if subject.model["type"] in {"BPE", "Unigram"}:
            tokenizer.model._resize_cache(0)

    subject.loaded.append(forget)


@defect("healthy-asked-twice")
def _(subject: Subject, value: str) -> None:
    def ask(tokenizer: Tokenizer, text: str, special: bool) -> Ids:
        tokenizer.encode(text, add_special_tokens=not special)
        return list(tokenizer.encode(text, add_special_tokens=special).ids)

    subject.ask = ask


@defect("healthy-in-a-batch")
def _(subject: Subject, value: str) -> None:
    def ask(tokenizer: Tokenizer, text: str, special: bool) -> Ids:
        others = [text[::-1], text, "", text + text[:1]]
        return list(tokenizer.encode_batch(others, add_special_tokens=special)[1].ids)

    subject.ask = ask


@defect("healthy-own-matcher")
def _(subject: Subject, value: str) -> None:
    """Added tokens are cut out here, each word is given to the library's model."""
    subject.own = True


def _wordpiece(subject: Subject) -> Word:
    vocabulary: dict[str, int] = subject.model["vocab"]
    unknown = [vocabulary[subject.model["unk_token"]]]
    most = subject.model["max_input_chars_per_word"]

    def word(_: Tokenizer, spelt: str) -> Ids:
        ids: Ids = []
        start = 0
        while start < len(spelt):
            mark = "##" if start else ""
            ends = range(len(spelt), start, -1)
            end = next((end for end in ends if mark + spelt[start:end] in vocabulary), None)
            if end is None or len(spelt) > most:
                return unknown
            ids.append(vocabulary[mark + spelt[start:end]])
            start = end
        return ids

    return word


@defect("healthy-own-model")
def _(subject: Subject, value: str) -> None:
    """A model of our own, double precision and all."""
    if subject.model["type"] == "WordPiece":
        subject.word = _wordpiece(subject)
    elif subject.model["type"] == "Unigram":
        subject.word = by_scores(subject, float)
    elif not subject.model.get("byte_fallback"):
        subject.word = by_merges(subject, rightmost=False)
    else:
        subject.own = True


@defect("healthy-other-decoder")
def _(subject: Subject, value: str) -> None:
    """What only decoding needs plays no part in ids; neither does truncation switched off."""
    subject.described["decoder"] = None
    subject.described["truncation"] = subject.described["padding"] = None
