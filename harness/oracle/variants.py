"""One file's tokenizer with other added tokens, or with words for tokens, over the same model.

A load costs half a second and the added tokens cannot be taken out of a loaded tokenizer. A new
tokenizer over the *model object* of the loaded one shares its vocabulary and costs milliseconds.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from tokenizers import AddedToken, Tokenizer
from tokenizers.models import Model, Unigram

from harness.errors import TokenizerError

STAGES = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
# Variants kept; each holds little but the patterns of its added tokens.
_KEPT = 16
# The id of every word, in a tokenizer whose tokens are words.
WORD = 0
# No text holds these: they are noncharacters.
_NOTHING = "\ufdd0\ufdd1\ufdd2\ufdd3"


class Added(NamedTuple):
    """An added token as tokenizer.json has it, apart from its id."""

    content: str
    special: bool
    lstrip: bool
    rstrip: bool
    single_word: bool
    normalized: bool

    @classmethod
    def of(cls, token: Mapping[str, Any]) -> "Added":
        """Return an entry of tokenizer.json's ``added_tokens``, as the library reads it."""
        flags = (bool(token.get(flag, flag == "normalized")) for flag in cls._fields[1:])
        return cls(token["content"], *flags)


class Variant:
    """A tokenizer, and what its stages are set to; a stage is set only where it differs."""

    def __init__(self, tokenizer: Tokenizer, stages: Mapping[str, object] | None = None) -> None:
        self.tokenizer = tokenizer
        self._stages = dict(stages or {})
        self._split_special = False
        self.ids: dict[int, int] = {}
        self.added: object = None
        tokens = tokenizer.get_added_tokens_decoder().values()
        self._rebuilds = any(token.normalized for token in tokens)

    def under(self, wanted: Mapping[str, Any]) -> Tokenizer:
        """Return the tokenizer with its stages set as ``wanted``."""
        for name in STAGES:
            if name not in self._stages or self._stages[name] is not wanted[name]:
                setattr(self.tokenizer, name, wanted[name])
                self._stages[name] = wanted[name]
                if name == "normalizer" and self._rebuilds:
                    # Setting a normalizer leaves the patterns of normalized added tokens as the
                    # old one made them. Adding nothing rebuilds them, as loading would.
                    self.tokenizer.add_tokens([])
        if self._split_special != wanted["split_special"]:
            self.tokenizer.encode_special_tokens = wanted["split_special"]
            self._split_special = wanted["split_special"]
        return self.tokenizer


class Source(Protocol):
    """What variants are made of: a loaded file."""

    where: str
    tokenizer: Tokenizer

    def declared_tokens(self) -> list[Added]:
        """Return the file's added tokens, in its order."""
        ...


class Variants:
    """The variants of one loaded file, the least recently used of them forgotten."""

    def __init__(self, source: Source, stages: Mapping[str, object]) -> None:
        self._source = source
        self._base = Variant(source.tokenizer, stages)
        # By which model and which added tokens, the latter by identity: to hash hundreds of tokens
        # at every switch would cost more than the switch. A variant holds on to its tokens.
        self._kept: OrderedDict[tuple[str, int], Variant] = OrderedDict()

    def of(self, added: tuple[Added, ...] | None, model: Model | None = None) -> Variant:
        """Return the variant with these added tokens (None: the file's), over the shared model.

        ``model`` is one to use instead; there is only one other. Raises :class:`TokenizerError` for
        a token the file does not declare, and where the others cannot keep their ids.
        """
        if added is None and model is None:
            return self._base
        key = ("shared" if model is None else "other", id(added))
        if key not in self._kept:
            tokens = _placed(self._source, added)
            variant = _made(model or self._source.tokenizer.model, tokens)
            _check_ids(self._source, variant.tokenizer, tokens)
            self._keep(key, variant, added)
        self._kept.move_to_end(key)
        return self._kept[key]

    def words(self, added: tuple[Added, ...] | None) -> Variant:
        """Return the variant whose model makes one token, with id ``WORD``, of every word.

        The variant's ``ids`` map its own ids of the added tokens to the file's.
        """
        key = ("words", id(added))
        if key not in self._kept:
            # A Unigram that knows nothing fuses the unknown: its token is the word as it came.
            variant = _made(Unigram([(_NOTHING, 0.0)], WORD, False), _placed(self._source, added))
            for number, token in variant.tokenizer.get_added_tokens_decoder().items():
                real = self._source.tokenizer.token_to_id(token.content)
                if real is not None:
                    variant.ids[number] = real
            self._keep(key, variant, added)
        self._kept.move_to_end(key)
        return self._kept[key]

    def _keep(self, key: tuple[str, int], variant: Variant, added: object) -> None:
        variant.added = added
        self._kept[key] = variant
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)


def _made(model: Model, tokens: Sequence[Added]) -> Variant:
    tokenizer = Tokenizer(model)
    tokenizer.add_tokens([AddedToken(**one._asdict()) for one in tokens])
    return Variant(tokenizer)


def _placed(source: Source, added: Sequence[Added] | None) -> list[Added]:
    """Return the tokens to add, in the file's order, so that each gets the id it has in the file.

    A token that is left out keeps its place under a content that no text has, unless the model's
    vocabulary gives it its id.
    """
    declared = source.declared_tokens()
    if added is None:
        return declared
    wanted: dict[str, list[Added]] = {}
    for one in added:
        wanted.setdefault(one.content, []).append(one)
    known = {one.content for one in declared}
    if new := next((content for content in wanted if content not in known), None):
        raise TokenizerError(f"declares no added token {new!r}", where=source.where)
    model = source.tokenizer.model
    placed: list[Added] = []
    for place, token in enumerate(declared):
        if token.content in wanted:
            placed += wanted[token.content]
            wanted[token.content] = []
        elif model.token_to_id(token.content) is None:
            placed.append(token._replace(content=f"{_NOTHING}{place}", normalized=False))
    return placed


def _check_ids(source: Source, tokenizer: Tokenizer, placed: Sequence[Added]) -> None:
    for one in placed:
        found = source.tokenizer.token_to_id(one.content)
        if found is not None and tokenizer.token_to_id(one.content) != found:
            raise TokenizerError(
                f"added token {one.content!r} cannot keep its id {found} where others are left out",
                where=source.where,
            )
