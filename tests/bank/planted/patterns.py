"""Patterns: other ones in the file, or the declared ones with one thing spelt otherwise."""

from collections.abc import Callable

from tests.bank.planted import NotHere, Step, Subject, defect

GPT_2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_FIRST, _REST = r"[^\r\n\p{L}\p{N}]?", r"|\s*[\r\n]+|\s+(?!\S)|\s+"
_ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_MARKS = r"| ?[^\s\p{L}\p{N}]+[\r\n]*"
PATTERNS = {
    "gpt2": GPT_2,
    "cl100k": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    "llama3": rf"{_ENDING}|{_FIRST}\p{{L}}+|\p{{N}}{{1,3}}{_MARKS}{_REST}",
    "qwen2": rf"{_ENDING}|{_FIRST}\p{{L}}+|\p{{N}}{_MARKS}{_REST}",
    "qwen3.5": rf"{_ENDING}|{_FIRST}[\p{{L}}\p{{M}}]+|\p{{N}}"
    rf"| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*{_REST}",
    "o200k": rf"{_FIRST}{_UPPER}*{_LOWER}+{_ENDING}?|{_FIRST}{_UPPER}+{_LOWER}*{_ENDING}?"
    rf"|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*{_REST}",
    "tekken": rf"{_FIRST}{_UPPER}*{_LOWER}+|{_FIRST}{_UPPER}+{_LOWER}*|\p{{N}}"
    rf"| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*{_REST}",
}
DEEPSEEK_3 = (
    r"\p{N}{1,3}",
    "[一-龥\u3040-ゟ゠-ヿ]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
)


def steps_of(subject: Subject) -> list[Step]:
    """Return the file's pre-tokenizer as steps, the library's own pattern spelt out as a Split."""
    declared = subject.described["pre_tokenizer"]
    if declared is None:
        return []
    steps: list[Step] = []
    for step in declared["pretokenizers"] if declared["type"] == "Sequence" else [declared]:
        if step["type"] == "ByteLevel" and step["use_regex"] and not step["add_prefix_space"]:
            steps += [_split(GPT_2), {**step, "use_regex": False}]
        else:
            steps.append(step)
    return steps


def _split(pattern: str) -> Step:
    return {
        "type": "Split",
        "pattern": {"Regex": pattern},
        "behavior": "Isolated",
        "invert": False,
    }


def set_steps(subject: Subject, steps: list[Step]) -> None:
    subject.described["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": steps}


def _patterns(subject: Subject, *patterns: str) -> None:
    steps = steps_of(subject)
    others = [step for step in steps if step["type"] != "Split"]
    if len(others) == len(steps):
        raise NotHere("no Split")
    set_steps(subject, [*map(_split, patterns), *others])


def _pattern(name: str) -> Callable[[Subject, str], None]:
    return lambda subject, value: _patterns(subject, PATTERNS[name])


for _name in PATTERNS:
    defect(f"pattern-{_name}")(_pattern(_name))


@defect("pattern-deepseek-v3")
def _(subject: Subject, value: str) -> None:
    _patterns(subject, *DEEPSEEK_3)


@defect("split-missing")
def _(subject: Subject, value: str) -> None:
    steps = steps_of(subject)
    splits = [place for place, step in enumerate(steps) if step["type"] == "Split"]
    if len(splits) < int(value):
        raise NotHere(f"{len(splits)} Splits")
    del steps[splits[int(value) - 1]]
    set_steps(subject, steps)


def respell(subject: Subject, *changes: tuple[str, str]) -> None:
    """Replace a piece of every pattern, plainly or as a regular expression; one must change."""
    steps = steps_of(subject)
    changed = False
    for step in steps:
        if step["type"] != "Split":
            continue
        pattern = before = step["pattern"]["Regex"]
        for old, new in changes:
            pattern = pattern.replace(old, new)
        step["pattern"] = {"Regex": pattern}
        changed = changed or pattern != before
    if not changed:
        raise NotHere("no pattern has it")
    set_steps(subject, steps)


@defect("marks-in-letter-run")
def _(subject: Subject, value: str) -> None:
    more = [(r"[^\s\p{L}\p{N}]+", r"[^\s\p{L}\p{M}\p{N}]+")] if value == "everywhere" else []
    respell(subject, (r"?\p{L}+", r"?[\p{L}\p{M}]+"), *more)


@defect("marks-out-of-letter-run")
def _(subject: Subject, value: str) -> None:
    respell(subject, (r"[\p{L}\p{M}]+", r"\p{L}+"), (r"\p{M}", ""))


@defect("digits-single")
def _(subject: Subject, value: str) -> None:
    respell(subject, (r"\p{N}{1,3}", r"\p{N}"), (r" ?\p{N}+", r" ?\p{N}"))


@defect("digits-by-three")
def _(subject: Subject, value: str) -> None:
    respell(subject, (r"|\p{N}|", r"|\p{N}{1,3}|"), (r" ?\p{N}+", r" ?\p{N}{1,3}"))


@defect("digits-unbounded")
def _(subject: Subject, value: str) -> None:
    respell(subject, (r"|\p{N}|", r"|\p{N}+|"), (r"\p{N}{1,3}", r"\p{N}+"))


@defect("no-whitespace-lookahead")
def _(subject: Subject, value: str) -> None:
    respell(subject, (r"|\s+(?!\S)", ""))


@defect("contractions-case-sensitive")
def _(subject: Subject, value: str) -> None:
    respell(subject, ("(?i:'s", "(?:'s"))


@defect("contractions-case-insensitive")
def _(subject: Subject, value: str) -> None:
    respell(subject, ("'s|'t|'re|'ve|'m|'ll|'d|", "(?i:'s|'t|'re|'ve|'m|'ll|'d)|"))


@defect("ascii-whitespace")
def _(subject: Subject, value: str) -> None:
    inside = r" \t\n\x0b\f\r"
    respell(
        subject,
        (r"[^\s", f"[^{inside}"),
        (r"(?!\S)", f"(?![^{inside}])"),
        (r"\s", f"[{inside}]"),
    )


@defect("prefix-space-flipped")
def _(subject: Subject, value: str) -> None:
    declared = subject.described["pre_tokenizer"] or {"type": "none"}
    steps = declared["pretokenizers"] if declared["type"] == "Sequence" else [declared]
    for step in steps:
        if step["type"] == "ByteLevel":
            step["add_prefix_space"] = not step["add_prefix_space"]
            return
        if step["type"] == "Metaspace":
            step["prepend_scheme"] = "never" if step["prepend_scheme"] != "never" else "always"
            return
    raise NotHere("nothing puts a space in front")
