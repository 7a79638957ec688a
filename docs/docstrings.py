"""Docstrings of this project are plain text; this makes reStructuredText of them.

Three rules: `code` stands in single backquotes, an indented paragraph is a formula or code and is
shown as it is, and everything else means itself (so `|x|`, `a * b` and `fit_` need no escapes).
"""

from __future__ import annotations

import re

_CODE = re.compile(r"(`+[^`]+`+)")
_LIST_ITEM = re.compile(r"\s*([-*]|\d+\.)\s")


def process(app, what, name, obj, options, lines):
    lines[:] = to_rst(lines)


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
