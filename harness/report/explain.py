"""An explanation as text: the stages one below the other, answers side by side."""

from collections.abc import Callable, Mapping, Sequence

from tabulate import tabulate

from harness.plural import counted
from harness.report.escape import terminal
from harness.report.explanation import (
    Answer,
    Column,
    Explanation,
    aligned,
    ids_of,
    special_characters,
    text_of,
)

_UNSAID = "not offered"
# Rows shown around what differs, of long answers; everything is in the JSON.
_AROUND = 3
_WHOLE = 40
_ROWS = 200
_CHARS = 40
_BYTES = 400
_SHORT = 16
_PIECES = 60
# Values of one stage in words for a person.
_Words = Callable[[Sequence[bytes | int]], str]


def render(one: Explanation) -> str:
    """Return the explanation as lines of text with no control character but the line feed."""
    parts = [_title(one), "", *_input(one)]
    labels = {id(column): chr(ord("A") + at % 26) for at, column in enumerate(one.columns)}
    parts += ["", *(f"{labels[id(c)]}  {terminal(c.name)}" for c in one.columns)]
    for lane, names in one.silent.items():
        parts.append(f"   {terminal(lane)} does not offer {', '.join(map(terminal, names))}")
    for lane, why in one.broken.items():
        parts.append(f"   {terminal(lane)} could not be asked: {terminal(why)}")
    parts += ["", *_added(one)]
    parts += ["", "normalized text", *_stage(one, labels, "normalize", _joined)]
    parts += ["", "pieces of the pre-tokenizer", *_stage(one, labels, "pretokenize", _pieces)]
    first, *others = one.columns
    for column in others or [first]:
        parts += ["", *_tokens(one, first, column, labels)]
    parts += ["", "ids with special tokens", *_stage(one, labels, "encode_special", _numbers)]
    return "\n".join(parts)


def _title(one: Explanation) -> str:
    name = "the text" if one.case is None else terminal(one.case)
    said = "all agree" if len(one.columns) == 1 else f"{len(one.columns)} different answers"
    return f"{name} under {terminal(one.tokenizer)}: {said}"


def _input(one: Explanation) -> list[str]:
    text = text_of(one.data)
    size = counted(len(one.data), "byte")
    if text is None:
        lines = [f"input  {size}, not UTF-8: the oracle has no answer"]
    else:
        shown = terminal(text[:_BYTES]) + (" …" if len(text) > _BYTES else "")
        lines = [f'input  "{shown}"', f"       {size}, {counted(len(text), 'character')}"]
    more = " …" if len(one.data) > _BYTES else ""
    lines.append(f"bytes  {one.data[:_BYTES].hex(' ') or '(none)'}{more}")
    special = [] if text is None else special_characters(text)
    for char in special[:_CHARS]:
        mark = f", combining class {char['combining']}" if char["combining"] else ""
        lines.append(
            f"       {char['code_point']} {char['name']} ({bytes.fromhex(char['hex']).hex(' ')}), "
            f"{char['category']}{mark}, character {char['at']}"
            + (f" and {counted(char['times'] - 1, 'time')} more" if char["times"] > 1 else "")
        )
    if len(special) > _CHARS:
        lines.append(f"       and {counted(len(special) - _CHARS, 'character')} more")
    return lines


def _added(one: Explanation) -> list[str]:
    if not one.added:
        return ["added tokens found: none"]
    lines = ["added tokens found"]
    for added in one.added:
        kind = "special" if added.special else "not special"
        everyone = len(added.by) == len(one.columns)
        by = "" if everyone else f", by {', '.join(map(terminal, added.by))} alone"
        lines.append(f'   {added.id} "{terminal(added.content)}", {kind}{by}')
    lines.append("   normalizer and pre-tokenizer are shown for the whole text, these included")
    return lines


def _stage(one: Explanation, labels: Mapping[int, str], operation: str, words: _Words) -> list[str]:
    """Return what each column gives in one stage; columns that give the same are one line."""
    lines: dict[str, list[str]] = {}
    for column in one.columns:
        answer = column.answers.get(operation)
        if answer is None:
            said = f"({_UNSAID})"
        elif answer.status != "ok":
            said = f"({_outcome(answer)})"
        else:
            said = words(answer.values)
        lines.setdefault(said, []).append(labels[id(column)])
    silent = f"({_UNSAID})"
    first = next((said for said in lines if said != silent), silent)
    return [
        f"   {' ' if said in (first, silent) else '≠'} {'='.join(names)}  {said}".rstrip()
        for said, names in lines.items()
    ]


def _outcome(answer: Answer) -> str:
    note = f": {terminal(answer.note)}" if answer.note else ""
    return terminal(answer.status) + note


def _joined(values: Sequence[bytes | int]) -> str:
    data = b"".join(one for one in values if isinstance(one, bytes))
    return _bytes(data, _BYTES) if data else "(nothing)"


def _pieces(values: Sequence[bytes | int]) -> str:
    pieces = [_piece(one) for one in values if isinstance(one, bytes)]
    more = f" and {len(pieces) - _PIECES} more" if len(pieces) > _PIECES else ""
    return f"{len(pieces)}: {' '.join(pieces[:_PIECES])}{more}"


def _piece(piece: bytes) -> str:
    text = text_of(piece)
    return f"({piece.hex(' ')})" if text is None else f'"{terminal(text)}"'


def _numbers(values: Sequence[bytes | int]) -> str:
    more = f" and {len(values) - _ROWS} more" if len(values) > _ROWS else ""
    return f"{len(values)}: {' '.join(str(one) for one in values[:_ROWS])}{more}"


def _tokens(
    one: Explanation, first: Column, column: Column, labels: Mapping[int, str]
) -> list[str]:
    """Return the tokens of two columns row by row, or of one where there is no other."""
    alone = column is first
    answers = [first.answers.get("encode")] + ([] if alone else [column.answers.get("encode")])
    names = [labels[id(first)]] + ([] if alone else [labels[id(column)]])
    unanswered = [
        f"   {name}  ({_UNSAID if answer is None else _outcome(answer)})"
        for name, answer in zip(names, answers, strict=True)
        if answer is None or answer.status != "ok"
    ]
    sides = [ids_of(first, "encode")] + ([] if alone else [ids_of(column, "encode")])
    counts = " and ".join(f"{name} {len(ids)}" for name, ids in zip(names, sides, strict=True))
    title = [f"tokens: {counts}", *unanswered]
    places: Sequence[tuple[int | None, ...]] = (
        [(at,) for at in range(len(sides[0]))] if alone else aligned(sides[0], sides[1])
    )
    differing = [not alone and not _same(sides, row) for row in places]
    marked = differing.index(True) if True in differing else None
    rows = []
    for at in _shown(differing):
        if at is None:
            rows.append(["", *["…", ""] * len(sides)])
            continue
        mark = "→" if at == marked else "≠" if differing[at] else ""
        cells = []
        for ids, place in zip(sides, places[at], strict=True):
            cells += ["", ""] if place is None else [str(place), _cell(one, ids[place])]
        rows.append([mark, *cells])
    if not rows:
        return [*title, *([] if unanswered else ["   (no token)"])]
    table = tabulate(
        rows,
        headers=["", *(h for name in names for h in ("", name))],
        tablefmt="plain",
        disable_numparse=True,
    )
    return [*title, *(f"   {line}".rstrip() for line in table.splitlines())]


def _same(sides: Sequence[Sequence[int]], row: Sequence[int | None]) -> bool:
    left, right = row
    return left is not None and right is not None and sides[0][left] == sides[1][right]


def _cell(one: Explanation, identity: int) -> str:
    """Return a token: its id, its spelling, and the text and bytes it stands for."""
    known = one.tokens.get(identity, {})
    if "piece" not in known:
        return f"{identity} (not in the vocabulary)"
    data = bytes.fromhex(known["hex"])
    spelt = terminal(known["piece"])
    same = data == known["piece"].encode("utf-8", "surrogatepass")
    return f"{identity} {spelt} {_bytes(data, _SHORT, quoted=not same)}"


def _bytes(data: bytes, most: int, *, quoted: bool = True) -> str:
    """Return bytes as text with the code points that are not ASCII, and as hex."""
    more = " …" if len(data) > most else ""
    text = text_of(data)
    words = [f"({data[:most].hex(' ')}{more})"]
    if text is not None:
        points = list(dict.fromkeys(f"U+{ord(char):04X}" for char in text if _special(char)))
        words = [*points[:most], *words]
        if quoted:
            words = [f'"{terminal(text[:most])}"{" …" if len(text) > most else ""}', *words]
    return " ".join(words)


def _special(char: str) -> bool:
    return not (char.isascii() and char.isprintable())


def _shown(differing: Sequence[bool]) -> list[int | None]:
    """Return the rows to show, None for a gap: all of few, of many those around a difference."""
    if len(differing) <= _WHOLE:
        return list(range(len(differing)))
    near: set[int] = set(range(_AROUND)) | set(range(len(differing) - _AROUND, len(differing)))
    if True not in differing:
        near |= set(range(_WHOLE))
    for at, differs in enumerate(differing):
        if differs:
            near |= set(range(max(0, at - _AROUND), min(len(differing), at + _AROUND + 1)))
    rows: list[int | None] = []
    last = -1
    for at in sorted(near)[:_ROWS]:
        if at != last + 1:
            rows.append(None)
        rows.append(at)
        last = at
    if last != len(differing) - 1:
        rows.append(None)
    return rows
