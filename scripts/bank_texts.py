"""What scripts/train_bank.py trains on: the project's own texts, and what their words lack.

The tokenizers of the bank must have merges across every border that a pattern draws, or a border
drawn elsewhere would not show in the ids: what clings to words, characters that are newer than some
tables, runs of one letter.
"""

from pathlib import Path

_HERE = Path(__file__).resolve().parent
_ENDINGS = ("s", "re", "ll", "t", "d", "ve", "m")
_CLINGING = (
    *(
        f"{head}'{tail} {head}'{tail}"
        for head in ("it", "IT", "we", "WE")
        for ending in _ENDINGS
        for tail in (ending, ending.upper())
    ),
    "it'ſ IT'ſ we'ſ it'ſ IT'ſ we'ſ",
    "1234567890 123456789 12345678 1234567 123456 12345 1234 123 12 2024 1999 1234 12345 123456",
    "a1 b2 c3 a12 b234 1a 2b 12c 234x x234 ١٢٣٤٥ ١٢٣ ٣٤ ５６７ １２ 1١",
    "HelloWorld iPhone XMLHttpRequest XMLHttp HelloWorld iPhone path/to/file a!/ !/ ?/",
    "q\u0301 q\u0301q\u0301 a\u0301b !\u0301 !!\u0301a \u0301a",
    "\u0301\u0301 1\u0301 ?\u0301? ...\u0301",
    "ที่นี่ ที่ นี่ क्षि क्षिक्षि क्ष بِسْمِ بِ سْ مِ",
    "a\u00a0b a\u00a0 \u00a0b \u00a0\u00a0 a\u3000b \u3000\u3000",
    "a\u2003b a\u2028b !\u0085 !\u00a0 .\u2028",
    "a\n  b\n  c\n d\n  e\n   f\n  g\n h\n  i\n",
    "! \n !\n !\n\n .\n .\n\n a\n b\n\n x  y   z \n  \n \n\n  \n   \n\n\n",
    "a中b a中 中b 中文a a中文 x日本 日本x カタa aカタ a中 中b カb",
    # Behind another word the apostrophe begins a piece, so these are words of their own lines.
    *("'STOP", "'Sup", "'TIS", "'REAL", "'LLama", "'S", "'RE", "'LL", "'T"),
    "(a) .b -c _d $e \"f #g (the .the -the _the $the !the '.' .. ... !!! ?! -- ---",
)
# Letters, digits and marks by the version of Unicode that brought them, and where a class decides.
_NEWER = (
    "\u0860\U00011a00\U0002ceb0\u10d0\u1c90\U00011d60\ua7bd\U0001e100\U00011fd2\u08be\U00030000"
    "\U00010e80\u0870\ua7c0\U0001df00\U00031350\u0cf3\U0001df25\U0002ebf0\U0002ebf1\u1c89\ua7cb"
    "\U000105c0\U00010d30\U0001e140\U00011950\U0001e4f0\U00011f50\U00010d40\U00016ac0"
)
_AROUND = tuple(f"a{c}b {c}c 1{c}2 !{c}? {c}{c}\n {c} 1{c}{c}234 x{c}" for c in _NEWER)
# Runs of one letter, so that a merge can be made at either end of them, and of white space.
_RUNS = [
    "aaa aaaa hmmm zzz zzzz brrr",
    "    x   y  z\n\n\n\nx\n\n\ny\t\t\tz",
    "aaa zzz hmmm brrr",
] * 4


def lines() -> list[str]:
    """Return the lines to train on, in order, as often as they count."""
    prose = (_HERE / "training_text.txt").read_text("utf-8").splitlines(keepends=True)
    tongues = (_HERE / "corpus_texts" / "multilingual.tsv").read_text("utf-8").splitlines()
    prose += [line.split("\t", 1)[1] + "\n" for line in tongues]
    return [*prose, *_RUNS, *(_CLINGING + _AROUND) * 10]
