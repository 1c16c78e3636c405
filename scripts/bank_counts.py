"""Vocabularies by counting, for the models whose trainer gives another one in each run."""

import math
from collections import Counter
from collections.abc import Iterator

from tokenizers import normalizers
from tokenizers import pre_tokenizers as pre

from scripts.bank_texts import lines


def pieces(most: int) -> Iterator[tuple[str, float]]:
    """Yield pieces of words with the logarithm of their share, the ``most`` frequent first.

    Rounding makes many sums of scores equal but for their last bits, where single precision decides
    otherwise than double.
    """
    counted: Counter[str] = Counter()
    for line in lines():
        for word in line.split():
            spelt = "▁" + word
            for start in range(len(spelt)):
                for end in range(start + 1, min(start + 7, len(spelt)) + 1):
                    counted[spelt[start:end]] += 1
    kept = {piece: n for piece, n in counted.items() if n >= (2 if len(piece) == 1 else 6)}
    total = sum(kept.values())
    ordered = sorted(kept.items(), key=lambda item: (-item[1], item[0]))[:most]
    for piece, count in ordered:
        yield piece, -0.7 * round(math.log(total / count) / 0.7)


def words(most: int) -> Iterator[str]:
    """Yield words, their beginnings and their ends (with ``##``), the ``most`` frequent."""
    uncased = normalizers.BertNormalizer(lowercase=True, strip_accents=True)
    cased = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    split = pre.BertPreTokenizer()
    counted: Counter[str] = Counter()
    alphabet: set[str] = set()
    for line in lines():
        # Cased words besides, so that a text left in upper case is more than unknown.
        for normalizer in (uncased, cased):
            for word, _ in split.pre_tokenize_str(normalizer.normalize_str(line)):
                alphabet |= set(word)
                counted[word] += 1
                for end in range(2, min(len(word), 6)):
                    counted[word[:end]] += 1
                    counted["##" + word[-end:]] += 1
    yield from sorted(alphabet)
    yield from (f"##{char}" for char in sorted(alphabet))
    ordered = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    yield from (word for word, _ in ordered[:most])
