"""One-file HTML reports: sections of text, tables and pictures, with where the figures come from.

A page needs nothing from outside: style and pictures are inside it. It looks like the explorer, follows the
reader's light or dark setting, fits a phone, prints well, and can be read aloud: headings in order, captions
on tables, which can be sorted, a description on every picture. It says how it was made. All text is escaped;
only pictures are markup, and they are checked.

The script of a page sorts tables and changes between light and dark. It is the only one that a page's policy
allows, by its hash, so that nothing else in a page can ever run; without scripts a page lacks these two
comforts alone.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from urllib.parse import quote

from sigmastar import __version__
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
    parts = "\n".join(part_html(part) for part in section.parts)
    return (
        f'<section id="{anchor}" aria-labelledby="{anchor}-title">\n'
        f'<h2 id="{anchor}-title">{escape(section.title)}</h2>\n{parts}\n</section>\n'
    )


def part_html(part: Part) -> str:
    """A part as markup, for pages and for cells of notebooks."""
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


_SIGN = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24" viewBox="0 0 32 32">'
    '<rect width="32" height="32" rx="7" fill="#0b69a8"/><g fill="none" stroke="#fff" stroke-width="2.2">'
    '<circle cx="9" cy="21" r="4"/><circle cx="23" cy="21" r="4"/>'
    '<path d="M11 17.5C13 10 19 10 21 17.2"/></g><circle cx="23" cy="21" r="1.6" fill="#fff"/></svg>'
)
COLOURS_LIGHT = """\
--page: #f6f6f3; --paper: #fefefe; --ink: #1f2430; --muted: #5b6372; --grid: #e3e6ea; --line: #c9ced6;
  --series-1: #0b69a8; --series-2: #b8470a; --series-3: #0b7a59; --series-4: #a3548c; --series-5: #8f6500;
  --series-6: #4d5a6b; --shadow: 0 1px 2px rgb(20 25 35 / .06), 0 6px 20px rgb(20 25 35 / .05);"""
COLOURS_DARK = """\
--page: #14171c; --paper: #1b1f26; --ink: #e8eaee; --muted: #a5adba; --grid: #2b313b; --line: #454d5a;
  --series-1: #5bb1ea; --series-2: #f0894a; --series-3: #4fc79f; --series-4: #d890c2; --series-5: #e0b13c;
  --series-6: #a9b4c4; --shadow: 0 1px 2px rgb(0 0 0 / .3);"""
STYLE = (
    f"""\
:root {{ color-scheme: light; {COLOURS_LIGHT} }}
@media (prefers-color-scheme: dark) {{
  :root:not([data-theme="light"]) {{ color-scheme: dark; {COLOURS_DARK} }}
}}
:root[data-theme="dark"] {{ color-scheme: dark; {COLOURS_DARK} }}
.top b::before {{
  content: url("data:image/svg+xml,{quote(_SIGN)}"); padding-right: 0.6rem; vertical-align: -0.4rem;
}}
"""
    + """\
* { box-sizing: border-box; }
html { background: var(--page); color: var(--ink); -webkit-text-size-adjust: 100%; scroll-padding-top: 4rem; }
body {
  margin: 0;
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
h1 { font-size: 1.9rem; line-height: 1.2; letter-spacing: -0.015em; margin: 0 0 0.5rem; }
h1, figcaption { overflow-wrap: anywhere; }
h2 { font-size: 1.3rem; line-height: 1.3; letter-spacing: -0.01em; margin: 0 0 0.75rem; }
p { max-width: 42rem; margin: 0 0 1rem; overflow-wrap: anywhere; }
a { color: var(--series-1); text-underline-offset: 0.15em; }
:focus-visible { outline: 2px solid var(--series-1); outline-offset: 3px; }
.top {
  position: sticky; top: 0; z-index: 5; display: flex; align-items: center; gap: 0.6rem;
  padding: 0.6rem clamp(0.9rem, 3vw, 2.5rem); border-bottom: 1px solid var(--grid);
  background: color-mix(in srgb, var(--paper) 92%, transparent); backdrop-filter: blur(8px);
}
.top b { font-size: 1.05rem; letter-spacing: -0.01em; flex: 1; }
.top button {
  font: inherit; font-size: 0.85rem; cursor: pointer; color: var(--muted); background: none;
  border: 1px solid var(--line); border-radius: 7px; padding: 0.3rem 0.7rem;
}
.sheet { max-width: 60rem; margin: 0 auto; padding: 2rem clamp(0.9rem, 3vw, 2.5rem) 3rem; }
.lead { font-size: 1.1rem; color: var(--muted); }
.note { font-size: 0.875rem; color: var(--muted); }
nav ul {
  display: flex; flex-wrap: wrap; gap: 0.4rem 1.25rem;
  list-style: none; margin: 1rem 0 0; padding: 0;
}
nav a { display: inline-block; padding: 0.15rem 0; }
section { margin-top: 2.5rem; }
.table, figure, footer {
  background: var(--paper); border: 1px solid var(--grid); border-radius: 12px; box-shadow: var(--shadow);
  margin: 1.25rem 0; padding: 0.9rem 1.05rem 1rem;
}
.table { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 0.95rem; font-variant-numeric: tabular-nums; }
caption { caption-side: top; text-align: left; font-weight: 600; padding: 0 0 0.6rem; }
th, td { padding: 0.45rem 0.9rem 0.45rem 0; text-align: left; font-weight: 400; vertical-align: baseline; }
th:last-child, td:last-child { padding-right: 0; }
thead th {
  color: var(--muted); font-size: 0.85rem;
  border-bottom: 1.5px solid var(--ink); vertical-align: bottom;
}
thead button {
  all: unset; cursor: pointer; color: inherit; white-space: nowrap; padding: 0.2rem 0; border-radius: 3px;
}
thead button:hover { color: var(--ink); }
thead button:focus-visible { outline: 2px solid var(--series-1); outline-offset: 2px; }
thead button::after { content: "\\2195"; padding-left: 0.35em; opacity: 0.55; }
[aria-sort="ascending"] button::after { content: "\\2191"; opacity: 1; }
[aria-sort="descending"] button::after { content: "\\2193"; opacity: 1; }
tbody tr + tr > * { border-top: 1px solid var(--grid); }
tbody tr:hover > * { background: color-mix(in srgb, var(--series-1) 7%, transparent); }
tbody th, td { white-space: nowrap; }
.number { text-align: right; }
.facts td { white-space: normal; overflow-wrap: anywhere; }
.facts .number { text-align: left; }
strong { font-weight: 700; }
figure > div { overflow-x: auto; }
figure svg { display: block; max-width: max(100%, 30rem); height: auto; margin: 0 auto; }
figcaption { margin-top: 0.9rem; font-size: 0.9rem; color: var(--muted); max-width: 46rem; }
footer { margin-top: 3rem; color: var(--muted); }
footer h2 { font-size: 1rem; margin: 0 0 0.6rem; color: var(--ink); }
footer dl {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(min(15rem, 100%), 1fr));
  gap: 0.5rem 2rem; margin: 0;
}
footer div.whole { grid-column: 1 / -1; }
footer dt { font-size: 0.8rem; }
footer dd { margin: 0; font-size: 0.85rem; color: var(--ink); overflow-wrap: anywhere; }
footer code { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
@media (max-width: 30rem) {
  h1 { font-size: 1.5rem; }
  .sheet { padding-top: 1.25rem; }
  table { font-size: 0.875rem; }
  th, td { padding-right: 0.6rem; }
  tbody th, tbody td:not(.number) { white-space: normal; min-width: 6.5rem; }
}
@media print {
  :root, :root[data-theme] {
    --page: #fff; --paper: #fff; --ink: #000; --muted: #444; --grid: #ccc; --line: #999;
    --series-1: #0b69a8; --series-2: #b8470a; --series-3: #0b7a59;
    --series-4: #a3548c; --series-5: #8f6500; --series-6: #4d5a6b; --shadow: none;
  }
  .sheet { max-width: none; padding: 0; font-size: 10.5pt; }
  nav, .top { display: none; }
  figure, table, tr { break-inside: avoid; }
  h2, caption { break-after: avoid; }
  .table, figure, footer { border: 0; padding: 0; }
}
"""
)
"""Pictures take their colours from the variables at the top."""

SCRIPT = """\
"use strict";
const root = document.documentElement;
const isDark = () => getComputedStyle(root).colorScheme === "dark";
const change = document.createElement("button");
change.type = "button";
const name = () => { change.textContent = isDark() ? "Light" : "Dark"; };
change.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; name(); });
document.querySelector(".top").append(change);
name();
const number = (text) => {
  const found = text.replaceAll(",", "").match(/^(-?[0-9.]+(e-?[0-9]+)?)/);
  return text.startsWith("\\u221e") ? Infinity : found ? Number(found[1]) : NaN;
};
const compare = (a, b) => {
  const x = number(a), y = number(b);
  return Number.isNaN(x) || Number.isNaN(y)
    ? Number.isNaN(x) - Number.isNaN(y) || a.localeCompare(b, "en", { numeric: true }) : x === y ? 0 : x - y;
};
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0], first = [...body.rows], heads = [...(table.tHead?.rows[0].cells ?? [])];
  if (first.length < 2) continue;
  heads.forEach((head, column) => {
    const sort = document.createElement("button");
    sort.type = "button";
    sort.append(...head.childNodes);
    head.append(sort);
    sort.addEventListener("click", () => {
      const way = { none: "ascending", ascending: "descending", descending: "none" }[head.ariaSort ?? "none"];
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      const rows = [...first];
      if (way !== "none") {
        head.setAttribute("aria-sort", way);
        const sign = way === "ascending" ? 1 : -1;
        rows.sort((a, b) => sign * compare(a.cells[column].textContent, b.cells[column].textContent));
      }
      body.append(...rows);
    });
  });
}
"""
"""A page is read from top to bottom, so that everything is there when this runs."""

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    f"script-src 'sha256-{base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()}'"
)
"""What a page may do: be styled, show pictures that are inside it, and run the script above."""
