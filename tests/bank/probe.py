"""A subject with planted defects, which speaks the probe protocol: ``probe.py FILE --defect NAME``.

Several ``--defect`` are several defects; one with a parameter is ``NAME=VALUE``. Nothing of the
product is imported, so that nothing of it can be wrong in the same way here.
"""

import argparse
import json
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TextIO

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tokenizers import Tokenizer

from tests.bank.planted import DEFECTS, NotHere, Subject
from tests.bank.planted.tokens import encode

for _name in (
    "answers",
    "cutters",
    "healthy",
    "models",
    "nearly",
    "normalizers",
    "outside",
    "patterns",
    "texts",
    "tokens",
):
    import_module(f"tests.bank.planted.{_name}")

Operation = Callable[[bytes], list[int]]


def planted(path: Path, defects: list[str]) -> Subject:
    """Return the tokenizer of a file with these defects; raises NotHere where one has no room."""
    subject = Subject(json.loads(path.read_text(encoding="utf-8")))
    for one in defects:
        name, _, value = one.partition("=")
        DEFECTS[name](subject, value)
    return subject


def operations(subject: Subject) -> dict[str, Operation]:
    """Load a subject, and return what it can be asked."""
    tokenizer = Tokenizer.from_str(json.dumps(subject.described, indent=subject.indent))
    tokenizer.no_truncation()
    for change in subject.loaded:
        change(tokenizer)
    own = subject.own or subject.shortest or subject.word or subject.recognised
    # Each text is asked for twice, with special tokens and without.
    by_hand = cache(lambda text: tuple(encode(subject, tokenizer, text)))

    def answer(data: bytes, special: bool) -> list[int]:
        for prepare in subject.texts:
            data = prepare(data)
        text = subject.policy(data)
        if own:
            ids = list(by_hand(text))
            if subject.specials is None and special:
                ids = around(subject, ids)
        else:
            ids = subject.ask(tokenizer, text, special and subject.specials is None)
        if subject.specials is not None:
            ids = subject.specials(ids, special)
        for finish in subject.ids:
            ids = finish(ids)
        return ids

    return {
        "encode": lambda data: answer(data, special=False),
        "encode_special": lambda data: answer(data, special=True),
    }


def around(subject: Subject, ids: list[int]) -> list[int]:
    """Return ids with the special tokens of the file's template, if it has one."""
    from tests.bank.planted.answers import template

    try:
        before, after = template(subject)
    except NotHere:
        return ids
    return [*before, *ids, *after]


def serve(offered: dict[str, Operation], requests: TextIO, answers: TextIO) -> None:
    """Answer every request, in order, each as soon as it is known."""
    for line in requests:
        name, _, rest = line.rstrip("\n").partition(" ")
        if name not in offered:
            said = "unsupported"
        else:
            try:
                said = " ".join(["ok", *map(str, offered[name](bytes.fromhex(rest)))])
            except Exception as error:  # whatever fails is this request's answer
                said = f"err {str(error).encode().hex()}"
        answers.write(said + "\n")
        answers.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("--defect", action="append", default=[], metavar="NAME[=VALUE]")
    chosen = parser.parse_args()
    hello = {"subject": "bank", "version": "1"}
    try:
        offered = operations(planted(chosen.tokenizer, chosen.defect))
    except NotHere as reason:
        print("tokparity/1", json.dumps({**hello, "refused": str(reason), "operations": []}))
        return
    print("tokparity/1", json.dumps({**hello, "operations": list(offered)}), flush=True)
    serve(offered, sys.stdin, sys.stdout)


if __name__ == "__main__":
    main()
