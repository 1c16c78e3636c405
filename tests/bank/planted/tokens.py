"""Added tokens: other flags in the file, tokens that never match, and a matcher of our own."""

import unicodedata
from collections.abc import Callable, Iterator

from tokenizers import Tokenizer

from tests.bank.planted import NotHere, Subject, Token, defect
from tests.bank.planted.texts import SPACE


def _only(subject: Subject, chosen: Callable[[Token], bool]) -> None:
    if all(map(chosen, subject.added)):
        raise NotHere("every added token is of that kind")
    subject.recognised = chosen


@defect("added-tokens-unrecognised")
def _(subject: Subject, value: str) -> None:
    _only(subject, lambda token: False)


@defect("added-tokens-only-special")
def _(subject: Subject, value: str) -> None:
    _only(subject, lambda token: bool(token["special"]))


@defect("added-tokens-only-non-special")
def _(subject: Subject, value: str) -> None:
    _only(subject, lambda token: not token["special"])


def _flag(subject: Subject, flag: str, before: bool) -> None:
    found = [token for token in subject.added if token[flag] is before]
    if not found:
        raise NotHere(f"no added token with {flag} {before}")
    for token in found:
        token[flag] = not before


@defect("added-lstrip-ignored")
def _(subject: Subject, value: str) -> None:
    _flag(subject, "lstrip", True)


@defect("added-rstrip-ignored")
def _(subject: Subject, value: str) -> None:
    _flag(subject, "rstrip", True)


@defect("added-single-word-ignored")
def _(subject: Subject, value: str) -> None:
    _flag(subject, "single_word", True)


@defect("added-normalized-ignored")
def _(subject: Subject, value: str) -> None:
    _flag(subject, "normalized", True)


@defect("added-after-normalization")
def _(subject: Subject, value: str) -> None:
    _flag(subject, "normalized", False)


@defect("added-shortest-first")
def _(subject: Subject, value: str) -> None:
    contents = [token["content"] for token in subject.added]
    if not any(a != b and b.startswith(a) for a in contents for b in contents):
        raise NotHere("no added token begins another")
    subject.shortest = True


def _is_word(char: str) -> bool:
    return unicodedata.category(char) in {"Nd", "Nl", "Pc"} or unicodedata.category(char)[0] in "LM"


def _found(text: str, tokens: list[Token], *, shortest: bool) -> Iterator[tuple[int, Token]]:
    """Yield where added tokens begin, from the left, of several the longest (or shortest)."""
    ordered = sorted(tokens, key=lambda token: len(token["content"]), reverse=not shortest)
    # Real tokenizers have hundreds, most of which begin alike, and a text has few such places.
    beginning: dict[str, list[Token]] = {}
    for token in ordered:
        beginning.setdefault(token["content"][0], []).append(token)
    place = 0
    while place < len(text):
        near = beginning.get(text[place], ())
        hit = next((one for one in near if text.startswith(one["content"], place)), None)
        if hit is not None:
            yield place, hit
        place += 1 if hit is None else len(hit["content"])


def split_off(
    text: str, tokens: list[Token], *, shortest: bool = False
) -> Iterator[tuple[str, Token | None]]:
    """Yield the text in parts: an added token with its spelling, or what lies between two."""
    done = 0
    for start, token in _found(text, tokens, shortest=shortest):
        end = start + len(token["content"])
        if token["single_word"]:
            inside = start > 0 and _is_word(text[start - 1])
            if inside or (end < len(text) and _is_word(text[end])):
                continue
        first, last = start, end
        if token["lstrip"]:
            first = max(done, len(text[:start].rstrip(SPACE)))
        if token["rstrip"]:
            last = len(text) - len(text[end:].lstrip(SPACE))
        if done < first:
            yield text[done:first], None
        yield text[first:last], token
        done = last
    if done < len(text):
        yield text[done:], None


def parts(subject: Subject, tokenizer: Tokenizer, text: str) -> Iterator[tuple[str, int | None]]:
    """Yield a text's parts, normalized, or the id of an added token, as the library cuts it."""
    normalizer = tokenizer.normalizer

    def normal(one: str) -> str:
        return one if normalizer is None else str(normalizer.normalize_str(one))

    tokens = [one for one in subject.added if subject.recognised is None or subject.recognised(one)]
    raw = [one for one in tokens if not one["normalized"]]
    later = [{**one, "content": normal(one["content"])} for one in tokens if one["normalized"]]
    for part, token in split_off(text, raw, shortest=subject.shortest):
        if token is not None:
            yield part, token["id"]
            continue
        for inner, known in split_off(normal(part), later, shortest=subject.shortest):
            yield inner, None if known is None else known["id"]


def encode(subject: Subject, tokenizer: Tokenizer, text: str) -> list[int]:
    """Return a text's ids without special tokens: cut here, split and encoded by the library."""
    ids: list[int] = []
    for part, known in parts(subject, tokenizer, text):
        if known is not None:
            ids.append(known)
            continue
        for word in words(tokenizer, part):
            if subject.word is not None:
                ids += subject.word(tokenizer, word)
            else:
                ids += [token.id for token in tokenizer.model.tokenize(word)]
    return ids


def words(tokenizer: Tokenizer, normalized: str) -> list[str]:
    """Return the words that the model is given."""
    splitter = tokenizer.pre_tokenizer
    if splitter is None:
        return [normalized]
    return [word for word, _ in splitter.pre_tokenize_str(normalized)]
