"""Docstrings of this project are plain text; this makes reStructuredText of them.

Three rules: `code` stands in single backquotes, an indented paragraph is a formula or code and is
shown as it is, and everything else means itself (so `|x|`, `a * b` and `fit_` need no escapes). Sections of
numpydoc keep their form, for napoleon to read.
"""

from __future__ import annotations

import re

_CODE = re.compile(r"(`+[^`]+`+)")
_LIST_ITEM = re.compile(r"\s*([-*]|\d+\.)\s")


def process(app, what, name, obj, options, lines):
    cut = _first_section(lines)
    lines[:] = [*to_rst(lines[:cut]), *map(_section_line, lines[cut:])]


def _first_section(lines: list[str]) -> int:
    """The line where sections of numpydoc begin."""
    rules = (number for number, line in enumerate(lines) if number and re.fullmatch(r"-{3,}", line.strip()))
    return next(rules, len(lines) + 1) - 1


def _section_line(line: str) -> str:
    if re.fullmatch(r"\s*-{3,}", line) or line.lstrip().startswith((">>>", "...")):
        return line
    return _inline(line)


def to_rst(lines: list[str]) -> list[str]:
    result: list[str] = []
    state = "text"
    for line in lines:
        previous, state = state, _next_state(state, line, result)
        if state == "literal" and previous != "literal":
            result += ["", "::", ""]
        elif previous == "literal" and state != "literal":
            result.append("")
        result.append(_inline(line) if state in ("text", "list") else line)
    return [*result, ""]


def _next_state(state: str, line: str, before: list[str]) -> str:
    """What a line belongs to: text, a list, a literal block or a doctest."""
    if line.lstrip().startswith(">>>"):
        return "doctest"
    if not line.strip():
        return "text" if state == "doctest" else state
    if state == "doctest":
        return state
    indented = line.startswith("  ")
    if _LIST_ITEM.match(line) and not (indented and state == "literal"):
        return "list"
    if state == "list" and indented:
        return "list"
    return "literal" if indented else "text"


def _inline(line: str) -> str:
    parts = _CODE.split(line)
    return "".join(
        f"``{part.strip('`')}``" if i % 2 else _escaped(part, i == 0) for i, part in enumerate(parts)
    )


def _escaped(text: str, starts_line: bool) -> str:
    bullet = _LIST_ITEM.match(text) if starts_line else None
    head = bullet.group() if bullet else ""
    return head + re.sub(r"([\\*|]|(?<=\w)_(?!\w))", r"\\\1", text[len(head) :])
