"""The style sheet of reports. Pictures take their colours from the variables at its top."""

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
