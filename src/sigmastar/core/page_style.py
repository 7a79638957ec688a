"""How pages look, and the few lines of script that they have: the look of the explorer, in one file.

The script sorts tables and changes between light and dark. It is the only one that a page's policy allows, by
its hash, so that nothing else in a page can ever run; without scripts a page lacks these two comforts alone.
"""

from __future__ import annotations

import base64
import hashlib
from urllib.parse import quote

_SIGN = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24" viewBox="0 0 32 32">'
    '<rect width="32" height="32" rx="7" fill="#0b69a8"/><g fill="none" stroke="#fff" stroke-width="2.2">'
    '<circle cx="9" cy="21" r="4"/><circle cx="23" cy="21" r="4"/>'
    '<path d="M11 17.5C13 10 19 10 21 17.2"/></g><circle cx="23" cy="21" r="1.6" fill="#fff"/></svg>'
)
_LIGHT = """\
--page: #f6f6f3; --paper: #fefefe; --ink: #1f2430; --muted: #5b6372; --grid: #e3e6ea; --line: #c9ced6;
  --series-1: #0b69a8; --series-2: #b8470a; --series-3: #0b7a59; --series-4: #a3548c; --series-5: #8f6500;
  --series-6: #4d5a6b; --shadow: 0 1px 2px rgb(20 25 35 / .06), 0 6px 20px rgb(20 25 35 / .05);"""
_DARK = """\
--page: #14171c; --paper: #1b1f26; --ink: #e8eaee; --muted: #a5adba; --grid: #2b313b; --line: #454d5a;
  --series-1: #5bb1ea; --series-2: #f0894a; --series-3: #4fc79f; --series-4: #d890c2; --series-5: #e0b13c;
  --series-6: #a9b4c4; --shadow: 0 1px 2px rgb(0 0 0 / .3);"""
STYLE = (
    f"""\
:root {{ color-scheme: light; {_LIGHT} }}
@media (prefers-color-scheme: dark) {{
  :root:not([data-theme="light"]) {{ color-scheme: dark; {_DARK} }}
}}
:root[data-theme="dark"] {{ color-scheme: dark; {_DARK} }}
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
