"""What the installed library knows of Unicode, found out by asking it."""

from collections.abc import Mapping

from tokenizers import Regex, normalizers, pre_tokenizers


def unicode_facts() -> Mapping[str, str | bool]:
    r"""Probe which Unicode versions the installed library rests on.

    ``pattern_classes`` is the newest version of which a sample letter matches ``\p{L}``.
    ``normalizer`` is the newest version of which a sample mark is put in canonical order: NFD must
    move U+0334 (combining class 1) before a mark of a higher class, and leaves it behind one whose
    class is unknown. The other facts are single code points that separated released versions.
    """
    letters = {
        "13.0": "\U00030000",
        "14.0": "\U0001df00",
        "15.0": "\U00031350",
        "15.1": "\U0002ebf0",
        "16.0": "\u1c89",
        "17.0": "\U000323b0",
    }
    marks = {
        "9.0": "\U0001e000",
        "10.0": "\u1df6",
        "11.0": "\U00010d24",
        "12.0": "\U0001e130",
        "13.0": "\u1abf",
        "14.0": "\u0898",
        "15.0": "\U00010efd",
        "16.0": "\u0897",
    }
    nfd = normalizers.NFD()
    ordered = [v for v, mark in marks.items() if nfd.normalize_str(f"a{mark}\u0334")[1] == "\u0334"]
    return {
        "pattern_classes": next(
            (v for v in reversed(letters) if _matches(r"\p{L}", letters[v])), "before 13.0"
        ),
        "normalizer": ordered[-1] if ordered else "before 9.0",
        "U+1FAE8 is \\p{S}": _matches(r"\p{S}", "\U0001fae8"),
        "U+11938 is decomposed": nfd.normalize_str("\U00011938") != "\U00011938",
        "U+32FF is decomposed": normalizers.NFKD().normalize_str("\u32ff") != "\u32ff",
        "U+A7F2 is decomposed": normalizers.NFKD().normalize_str("\ua7f2") != "\ua7f2",
    }


def _matches(pattern: str, char: str) -> bool:
    split = pre_tokenizers.Split(Regex(pattern), "isolated")
    return len(split.pre_tokenize_str(f" {char} ")) == 3
