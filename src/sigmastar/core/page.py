"""One-file HTML reports: sections of text, tables and pictures, with where the figures come from.

A page needs nothing from outside: style and pictures are inside it. It follows the reader's light or
dark setting, prints well, and can be read aloud: headings in order, captions on tables, a
description on every picture. All text is escaped; only pictures are markup, and they are checked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from sigmastar.core.errors import InputError

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
        f"<title>{escape(title)}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n"
        f"<header><h1>{escape(title)}</h1>{opening}</header>\n"
        f"{_contents(sections, anchors)}<main>\n{body}</main>\n{_footer(provenance)}</body>\n</html>\n"
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
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    return (
        f'<div class="table" role="region" tabindex="0" aria-label="{escape(table.caption)}"><table>'
        f"<caption>{escape(table.caption)}</caption><thead><tr>{head}</tr></thead>"
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
        f"<figure>{svg.replace('<svg', '<svg' + label, 1)}>{rest}"
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
    entries = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in provenance.items()
    )
    return f'<footer aria-label="Provenance"><h2>Provenance</h2><dl>{entries}</dl></footer>\n'


def _anchors(sections: Sequence[Section]) -> list[str]:
    """A distinct readable anchor for each section."""
    taken: dict[str, int] = {}
    anchors = []
    for section in sections:
        stem = re.sub(r"[^a-z0-9]+", "-", section.title.lower()).strip("-") or "section"
        taken[stem] = taken.get(stem, 0) + 1
        anchors.append(stem if taken[stem] == 1 else f"{stem}-{taken[stem]}")
    return anchors


STYLE = """\
:root {
  color-scheme: light dark;
  --page: #f7f7f5; --paper: #fefefe; --ink: #1f2430; --muted: #626a78; --grid: #e3e6ea; --line: #d5d9de;
  --series-1: #0b69a8; --series-2: #c8500a; --series-3: #0f8a66;
  --series-4: #a3548c; --series-5: #b07d00; --series-6: #4d5a6b;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171c; --paper: #1b1f26; --ink: #e8eaee; --muted: #a0a8b5; --grid: #2f353f; --line: #3a414d;
    --series-1: #5bb1ea; --series-2: #f0894a; --series-3: #4fc79f;
    --series-4: #d890c2; --series-5: #e0b13c; --series-6: #a9b4c4;
  }
}
* { box-sizing: border-box; }
html { background: var(--page); color: var(--ink); -webkit-text-size-adjust: 100%; }
body {
  margin: 0 auto; padding: 3rem 1.25rem 4rem; max-width: 56rem; line-height: 1.55;
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
h1 { font-size: 2rem; line-height: 1.2; letter-spacing: -0.015em; margin: 0 0 0.5rem; }
h2 { font-size: 1.3rem; line-height: 1.3; letter-spacing: -0.01em; margin: 0 0 0.75rem; }
p { max-width: 42rem; margin: 0 0 1rem; }
a { color: var(--series-1); text-underline-offset: 0.15em; }
a:focus-visible, .table:focus-visible { outline: 2px solid var(--series-1); outline-offset: 3px; }
.lead { font-size: 1.1rem; color: var(--muted); }
.note { font-size: 0.875rem; color: var(--muted); }
nav ul {
  display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem;
  list-style: none; margin: 1rem 0 0; padding: 0;
}
section { margin-top: 2.75rem; }
.table { overflow-x: auto; margin: 1.25rem 0; }
table { border-collapse: collapse; width: 100%; font-size: 0.95rem; font-variant-numeric: tabular-nums; }
caption { caption-side: top; text-align: left; font-weight: 600; padding: 0 0 0.6rem; }
th, td { padding: 0.45rem 0.9rem 0.45rem 0; text-align: left; font-weight: 400; vertical-align: baseline; }
th:last-child, td:last-child { padding-right: 0; }
thead th {
  color: var(--muted); font-size: 0.85rem;
  border-bottom: 1.5px solid var(--ink); vertical-align: bottom;
}
tbody tr + tr > * { border-top: 1px solid var(--grid); }
tbody tr:last-child > * { border-bottom: 1px solid var(--line); }
tbody tr:hover > * { background: color-mix(in srgb, var(--series-1) 7%, transparent); }
tbody th, td { white-space: nowrap; }
.number { text-align: right; }
strong { font-weight: 700; }
figure {
  margin: 1.5rem 0; padding: 1.25rem 1.25rem 1rem; background: var(--paper);
  border: 1px solid var(--grid); border-radius: 8px;
}
figure svg { display: block; max-width: 100%; height: auto; margin: 0 auto; }
figcaption { margin-top: 0.9rem; font-size: 0.9rem; color: var(--muted); max-width: 46rem; }
footer { margin-top: 3.5rem; padding-top: 1.25rem; border-top: 1px solid var(--line); color: var(--muted); }
footer h2 { font-size: 0.95rem; margin: 0 0 0.6rem; color: var(--ink); }
footer dl {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr));
  gap: 0.5rem 2rem; margin: 0;
}
footer dt { font-size: 0.8rem; }
footer dd { margin: 0; font-size: 0.85rem; color: var(--ink); overflow-wrap: anywhere; }
@media print {
  :root {
    --page: #fff; --paper: #fff; --ink: #000; --muted: #444; --grid: #ccc; --line: #999;
    --series-1: #0b69a8; --series-2: #c8500a; --series-3: #0f8a66;
    --series-4: #a3548c; --series-5: #b07d00; --series-6: #4d5a6b;
  }
  body { max-width: none; padding: 0; font-size: 10.5pt; }
  nav { display: none; }
  figure, table, tr { break-inside: avoid; }
  h2, caption { break-after: avoid; }
  figure { border: 0; padding: 0; }
}
"""
"""Pictures take their colours from the variables at the top."""
