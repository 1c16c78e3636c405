"""``run.sh``: compile, ask the one request, compare, and say whether it is reproduced."""

import shlex
from collections.abc import Sequence

from harness.report.escape import terminal
from harness.repro.value import (
    ASKED,
    EXPECTED,
    INPUT,
    OBSERVED,
    ORDINARY,
    PORT,
    TOKENIZER,
    Reproducer,
    Side,
)

_WIDE = 96


def script(one: Reproducer) -> str:
    """Return the whole script, for any POSIX shell."""
    parts = [_HEAD.format(about=_about(one)), *(_made(n, s) for n, s in _numbered(one))]
    parts += [_request(one), _wanted(one), _FUNCTIONS]
    parts += [_asked(n, side) for n, side in _numbered(one)]
    parts += [_verdict(one)]
    return "\n".join(parts)


def debugger(side: Side) -> list[str]:
    """Return the commands that show one side in a debugger; one in each of two terminals.

    What the probe is started in goes with it, where that is not what every probe has.
    """
    asked = f"< {_file('request')}"
    own = {name: value for name, value in side.variables.items() if ORDINARY.get(name) != value}
    started_in = ["env", *(f"{name}={value}" for name, value in own.items())] if own else []
    program, *beyond = side.command
    if side.emulator:
        name, *options = side.emulator
        start = [*started_in, name, "-g", str(PORT), *options, *side.command, TOKENIZER, *side.args]
        sysroot = [options[at + 1] for at, word in enumerate(options) if word == "-L"]
        root = "".join(f" -ex {shlex.quote(f'set sysroot {path}')}" for path in sysroot)
        return [
            f"{command(start)} {asked}",
            f"gdb-multiarch{root} -ex 'target remote localhost:{PORT}' {shlex.quote(program)}",
        ]
    run = f"run {command([*beyond, TOKENIZER, *side.args])} {asked}"
    gdb = command([*started_in, "gdb"])
    return [f"{gdb} -ex {shlex.quote(run)} {shlex.quote(program)}"]


def by_hand(one: Reproducer, side: Side) -> str | None:
    """Return the one request as a line to type; None where it would be too long for that."""
    words = one.asked if one.asked is not None else one.input.hex()
    if len(words) > 2000:
        return None
    return f"printf '{one.operation} {words}\\n' | {command(side.argv)}"


def command(words: Sequence[str]) -> str:
    """Return words as a shell reads them back."""
    return shlex.join(words)


def one_line(text: str) -> str:
    """Return a command for a comment or a page: as it is, or escaped where it is not printable."""
    return text if text.isascii() and text.isprintable() else terminal(text)


def folded(words: Sequence[str]) -> str:
    """Return a command over several lines, none much longer than a screen is wide."""
    lines: list[str] = []
    line = ""
    for word in map(shlex.quote, words):
        if line and len(line) + 1 + len(word) > _WIDE:
            lines.append(f"{line} \\")
            line = f"  {word}"
        else:
            line = f"{line} {word}" if line else word
    return "\n".join([*lines, line])


_HEAD = """\
#!/bin/sh
{about}
#
# Exit status: 0 reproduced, 1 not reproduced, 2 it could not be built or run here.
set -u
LC_ALL=C
export LC_ALL
cd "$(dirname "$0")" || exit 2
mkdir -p build || exit 2
ulimit -c 0
"""

_FUNCTIONS = """\
# outcome NUMBER STATUS: the answer in one line, from what the probe printed and how it ended.
outcome() {
  if [ "$(wc -l < "build/output-$1")" -ge 2 ]; then
    sed -n -e '2{' -e 's/^ok$/ok /' -e 's/^err.*/error/' -e p -e '}' "build/output-$1"
  elif head -n 1 "build/output-$1" | grep -q '"refused": *"'; then
    echo unsupported
  elif head -n 1 "build/output-$1" | grep -q '"error": *"'; then
    echo error
  elif [ "$2" -eq 124 ]; then
    echo timeout
  elif [ "$2" -eq 126 ] || [ "$2" -eq 127 ] || { [ ! -s "build/output-$1" ] && [ "$2" -lt 128 ]; }
  then
    echo "lane $1 did not start (exit status $2); what it takes is in README.md:" >&2
    tail -n 3 "build/stderr-$1" >&2
    echo none
  else
    echo crash
  fi
}
shown() { cut -c 1-400 "$1"; }
"""


def _about(one: Reproducer) -> str:
    found = one.finding
    lines = [
        f"tokparity finding {found.id}: {found.cause or 'no cause'}",
        f"tokenizer {found.tokenizer}, {one.operation}",
        found.summary,
    ]
    for number, side in _numbered(one):
        lines.append(f"lane {number}: {side.lane}")
    for number, side in _numbered(one):
        if side.emulator or one.status == "crash":
            lines += ["", f"Lane {number} in a debugger, once this has run:"]
            lines += [f"  {line}" for line in debugger(side)]
    return "\n".join(f"# {one_line(line)}".rstrip() for line in lines)


def _numbered(one: Reproducer) -> list[tuple[int, Side]]:
    return list(enumerate(one.sides, start=1))


def _file(name: str) -> str:
    return f"build/{name}"


def _made(number: int, side: Side) -> str:
    if side.compile is None:
        return f"# Lane {number} is a program that is there already: it is not built.\n"
    return (
        f"echo 'compiling lane {number}'\n"
        f"{folded(side.compile)} || {{\n"
        f"  echo 'lane {number} cannot be built here; what it takes is in README.md' >&2\n"
        "  exit 2\n"
        "}\n"
    )


def _request(one: Reproducer) -> str:
    """Return the lines that write the one request; its hex is made from the input's own bytes."""
    hand = by_hand(one, one.sides[0])
    lines = [] if hand is None else [f"# The one request, by hand: {one_line(hand)}"]
    if one.asked is None:
        digits = f"od -An -v -tx1 {INPUT} | tr -d ' \\n'"
        lines += [f"{{ printf '{one.operation} '; {digits}; printf '\\n'; }} > build/request"]
    else:
        lines += [f"{{ printf '{one.operation} '; cat {ASKED}; }} > build/request"]
    return "\n".join(lines) + "\n"


def _wanted(one: Reproducer) -> str:
    lines = [f"{{ printf 'ok '; cat {EXPECTED}; }} > build/expected"]
    if one.status == "ok":
        lines.append(f"{{ printf 'ok '; cat {OBSERVED}; }} > build/observed")
    else:
        lines.append(f"echo {one.status} > build/observed")
    return "\n".join(lines) + "\n"


def _asked(number: int, side: Side) -> str:
    variables = [f"{name}={value}" for name, value in side.variables.items()]
    words = shlex.join(["env", "-i", *variables])
    return (
        f"# lane {number}: {terminal(side.lane)}\n"
        f"ask_{number}() {{\n"
        f'  timeout -k 1 {side.seconds} {words} PATH="$PATH" \\\n'
        f"    {command(side.argv)} \\\n"
        f"    < build/request > build/output-{number} 2> build/stderr-{number}\n"
        f"  outcome {number} $? > build/outcome-{number}\n"
        f"  ! grep -qx none build/outcome-{number} || exit 2\n"
        "}\n"
    )


def _verdict(one: Reproducer) -> str:
    if one.repeats > 1:
        return _CHANCE.format(repeats=one.repeats)
    if len(one.sides) > 1:
        return _PAIR
    return _ALONE


_CHANCE = """\
times=1
ask_1
cp build/outcome-1 build/first
while [ "$times" -lt {repeats} ] && cmp -s build/outcome-1 build/first; do
  times=$((times + 1))
  ask_1
done
echo "first time: $(shown build/first)"
echo "time $times: $(shown build/outcome-1)"
if cmp -s build/outcome-1 build/first; then
  echo "not reproduced: one answer, $times times"
  exit 1
fi
echo 'reproduced: one lane, two answers to one request'
"""

_ALONE = """\
ask_1
echo "expected: $(shown build/expected)"
echo "answered: $(shown build/outcome-1)"
if cmp -s build/outcome-1 build/observed; then
  echo 'reproduced'
elif cmp -s build/outcome-1 build/expected; then
  echo 'not reproduced: the answer is the expected one'
  exit 1
else
  echo "not reproduced: neither expected nor what was observed: $(shown build/observed)"
  exit 1
fi
"""

_PAIR = """\
ask_1
ask_2
echo "expected: $(shown build/expected)"
echo "lane 1:   $(shown build/outcome-1)"
echo "lane 2:   $(shown build/outcome-2)"
if cmp -s build/outcome-1 build/outcome-2; then
  echo 'not reproduced: the two lanes answer alike'
  exit 1
elif cmp -s build/outcome-1 build/observed; then
  echo 'reproduced: the two lanes differ'
else
  echo "not reproduced: the lanes differ, but lane 1 gave before: $(shown build/observed)"
  exit 1
fi
"""
