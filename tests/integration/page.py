"""What a page of documentation shows: its commands, its blocks of code, its tables."""

import re
from typing import Any

import yaml

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str, language: str) -> list[str]:
    """The fenced blocks in one language, in order."""
    return [text for named, text in _FENCE.findall(page) if named == language]


def mappings(page: str) -> list[dict[str, Any]]:
    """The YAML blocks, read."""
    return [yaml.safe_load(text) for text in blocks(page, "yaml")]


def commands(page: str) -> list[str]:
    """The indented lines, and those of ``sh`` blocks: what a reader is told to type."""
    indented = re.findall(r"^ {4}(\S.*)$", _FENCE.sub("", page), re.MULTILINE)
    fenced = [line for text in blocks(page, "sh") for line in text.splitlines() if line]
    return [*indented, *fenced]


def inline_commands(page: str) -> list[str]:
    """The calls of tokparity within sentences."""
    return re.findall(r"`(tokparity [a-z][^`]*)`", _FENCE.sub("", page))


def table(page: str, first: str) -> list[list[str]]:
    """The rows of the tables whose first heading is ``first``."""
    rows: list[list[str]] = []
    inside = False
    for line in _FENCE.sub("", page).splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line[:1] == "|" else []
        if not cells:
            inside = False
        elif cells[0] == first:
            inside = True
        elif inside and not set(cells[0]) <= {"-", " "}:
            rows.append(cells)
    return rows
