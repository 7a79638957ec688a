"""One-file HTML reports: sections of text, tables and pictures, with where the figures come from.

A page needs nothing from outside: style and pictures are inside it. It looks like the explorer, follows the
reader's light or dark setting, fits a phone, prints well, and can be read aloud: headings in order, captions
on tables, which can be sorted, a description on every picture. It says how it was made. All text is escaped;
only pictures are markup, and they are checked.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from sigmastar import __version__
from sigmastar.core.errors import InputError
from sigmastar.core.page_style import POLICY, SCRIPT, STYLE

Cell = str | int | float | None


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Table:
    """Rows under named columns; `best` marks cells by (row, column), `note` stands below."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    best: frozenset[tuple[int, int]] = field(default_factory=frozenset)
    note: str = ""

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows, 1):
            if len(row) != len(self.columns):
                raise ValueError(
                    f"row {number} of table {self.caption!r} has {len(row)} cells, not {len(self.columns)}"
                )


@dataclass(frozen=True)
class Picture:
    """An SVG element with a caption, and a description for those who do not see it."""

    svg: str
    caption: str
    description: str


Part = Text | Table | Picture


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it."""

    title: str
    parts: Sequence[Part]


def render(title: str, sections: Sequence[Section], provenance: Mapping[str, str], lead: str = "") -> str:
    """The page as one string."""
    anchors = _anchors(sections)
    body = "".join(_section(section, anchor) for section, anchor in zip(sections, anchors, strict=True))
    opening = f'<p class="lead">{escape(lead)}</p>' if lead else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f"<title>{escape(title)}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n"
        '<header class="top"><b>Sigmastar</b></header>\n<div class="sheet">\n'
        f"<main>\n<h1>{escape(title)}</h1>{opening}\n"
        f"{_contents(sections, anchors)}{body}</main>\n{_footer(provenance)}</div>\n"
        f"<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )


def _contents(sections: Sequence[Section], anchors: Sequence[str]) -> str:
    if len(sections) < 2:
        return ""
    links = "".join(
        f'<li><a href="#{anchor}">{escape(section.title)}</a></li>'
        for section, anchor in zip(sections, anchors, strict=True)
    )
    return f'<nav aria-label="Contents"><ul>{links}</ul></nav>\n'


def _section(section: Section, anchor: str) -> str:
    parts = "\n".join(_part(part) for part in section.parts)
    return (
        f'<section id="{anchor}" aria-labelledby="{anchor}-title">\n'
        f'<h2 id="{anchor}-title">{escape(section.title)}</h2>\n{parts}\n</section>\n'
    )


def _part(part: Part) -> str:
    if isinstance(part, Text):
        return f"<p>{escape(part.text)}</p>"
    return _table(part) if isinstance(part, Table) else _picture(part)


def _table(table: Table) -> str:
    numeric = [_is_numeric([row[k] for row in table.rows]) for k in range(len(table.columns))]
    head = "".join(
        f'<th scope="col"{_number_class(is_number)}>{escape(name)}</th>'
        for name, is_number in zip(table.columns, numeric, strict=True)
    )
    rows = "".join(_row(table, number, numeric) for number in range(len(table.rows)))
    named = f"<thead><tr>{head}</tr></thead>" if any(table.columns) else ""
    facts = "" if named else ' class="facts"'  # names and values, which need no heads
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    return (
        f'<div class="table" role="region" tabindex="0" aria-label="{escape(table.caption)}"><table{facts}>'
        f"<caption>{escape(table.caption)}</caption>{named}"
        f"<tbody>{rows}</tbody></table></div>{note}"
    )


def _row(table: Table, number: int, numeric: Sequence[bool]) -> str:
    cells = []
    for column, cell in enumerate(table.rows[number]):
        text = escape(format_cell(cell))
        if (number, column) in table.best:
            text = f"<strong>{text}</strong>"
        tag = 'th scope="row"' if column == 0 else "td"
        cells.append(f"<{tag}{_number_class(numeric[column])}>{text}</{tag.split()[0]}>")
    return f"<tr>{''.join(cells)}</tr>"


def format_cell(cell: Cell) -> str:
    """Text as it is, whole numbers with thousands separated, others to four digits, nothing as a dash.

    >>> format_cell(12345), format_cell(0.123456), format_cell(None)
    ('12,345', '0.1235', '–')
    """
    if cell is None:
        return "\N{EN DASH}"
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int):
        return f"{cell:,}"
    return f"{cell:.4g}".replace("inf", "∞")


def _is_numeric(cells: Sequence[Cell]) -> bool:
    """Whether a column holds numbers, some perhaps written out already, and so stands right."""
    written = [cell for cell in cells if cell is not None]
    return bool(written) and all(not isinstance(c, str) or re.fullmatch(r"-?[\d,.]+%?|∞", c) for c in written)


def _number_class(is_number: bool) -> str:
    return ' class="number"' if is_number else ""


def _picture(picture: Picture) -> str:
    svg = re.sub(r'\s(aria-label|aria-hidden|role)="[^"]*"', "", _checked(picture.svg).split(">", 1)[0])
    rest = picture.svg.split(">", 1)[1]
    label = f' role="img" aria-label="{escape(picture.description)}"'
    return (
        f'<figure><div tabindex="0">'
        f"{svg.replace('<svg', '<svg' + label, 1)}>{rest}</div>"
        f"<figcaption>{escape(picture.caption)}</figcaption></figure>"
    )


def _checked(svg: str) -> str:
    """Refuse what is not a picture, or could run or fetch something."""
    if not (svg.startswith("<svg") and svg.rstrip().endswith("</svg>")):
        raise InputError("a picture must be one <svg> element")
    if re.search(
        r"<script|<foreignObject|\son\w+\s*=|@import|(href|src)\s*=\s*[\"'](?!#|data:image/png)", svg
    ):
        raise InputError("a picture must not hold scripts or links to the outside")
    return svg


def _footer(provenance: Mapping[str, str]) -> str:
    """The box that says how a page was made: the command, and what else is known."""
    known = {"Command": _command(), **provenance}
    known.setdefault("Software", f"sigmastar {__version__}")
    entries = "".join(
        f"<div{_whole(name)}><dt>{escape(name)}</dt><dd>{_value(name, value)}</dd></div>"
        for name, value in known.items()
        if value
    )
    return f'<footer aria-label="How this was made"><h2>How this was made</h2><dl>{entries}</dl></footer>\n'


def _command() -> str:
    """The call that makes this page; nothing where a program makes it."""
    name = os.path.basename(sys.argv[0]).removesuffix(".exe") if sys.argv else ""
    return shlex.join(["sigmastar", *sys.argv[1:]]) if name == "sigmastar" else ""


def _whole(name: str) -> str:
    return ' class="whole"' if name in ("Command", "Data (SHA-256)") else ""


def _value(name: str, value: str) -> str:
    return f"<code>{escape(value)}</code>" if name == "Command" else escape(value)


def _anchors(sections: Sequence[Section]) -> list[str]:
    """A distinct readable anchor for each section."""
    taken: dict[str, int] = {}
    anchors = []
    for section in sections:
        stem = re.sub(r"[^a-z0-9]+", "-", section.title.lower()).strip("-") or "section"
        taken[stem] = taken.get(stem, 0) + 1
        anchors.append(stem if taken[stem] == 1 else f"{stem}-{taken[stem]}")
    return anchors
