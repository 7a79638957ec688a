"""Views as parts of a page that stands still: what the explorer draws in the browser, as tables and SVG text.

Pages of `show --html` and notebooks show views this way. A kind of view is a function from its numbers to
SVG; tables stay tables. What a view tells when it is pointed at stands in titles of its marks.
"""

from __future__ import annotations

from collections.abc import Callable

from sigmastar.core.exhibit import View, plain
from sigmastar.core.page import Part, Picture, Table, Text
from sigmastar.core.plane_drawings import draw_graph, draw_map
from sigmastar.core.plot_drawings import Data, draw_bars, draw_heat, draw_lines, draw_strip
from sigmastar.core.tree_and_arc_drawings import Arcs, Cell, draw_cells, draw_heads, draw_nodes, draw_ways

MOST_ROWS, MOST_TREES = 40, 2
"""Rows of a table, and trees of a view, that stand on a page."""


def parts_of(view: View, most_rows: int = MOST_ROWS) -> list[Part]:
    """What a page holds of a view: a table, or pictures with its title and its note below.

    Parameters
    ----------
    view : View
        Of an exhibit.
    most_rows : int
        Number of rows of a table; the note says how many there are.

    Returns
    -------
    list of Part
        A sentence where there is nothing to see.
    """
    data = plain(view.data)
    if view.kind == "table":
        return [_as_table(view, data, most_rows)]
    found = pictures(view, data)
    if not found:
        return [Text(f"{view.title}. {view.note or 'Nothing to draw.'}")]
    return [Picture(svg, f"{caption}. {view.note}".rstrip(), caption) for caption, svg in found]


def pictures(view: View, data: Data | None = None) -> list[tuple[str, str]]:
    """Captions and SVG elements of a view; those of trees that have several are several."""
    data = plain(view.data) if data is None else data
    if view.kind == "tree":
        trees = [entry for entry in data["trees"] if entry["tree"]][:MOST_TREES]
        names = [view.title if len(trees) == 1 else f"{view.title}: {entry['name']}" for entry in trees]
        return [(name, draw_nodes(entry["tree"], name)) for name, entry in zip(names, trees, strict=True)]
    svg = DRAWN[view.kind](data, view.title) if view.kind in DRAWN else None
    return [] if svg is None else [(view.title, svg)]


def _as_table(view: View, data: Data, most_rows: int) -> Table:
    rows = [[cell if isinstance(cell, (int, float)) else str(cell) for cell in row] for row in data["rows"]]
    more = f"The first {most_rows} of {len(rows):,} rows." if len(rows) > most_rows else ""
    columns = [name or ("name" if any(data["columns"]) else "") for name in data["columns"]]
    return Table(view.title, columns, rows[:most_rows], note=f"{view.note} {more}".strip())


def _arcs(data: Data, name: str) -> str:
    known = (data.get(key) for key in ("labels", "tags", "gold", "posteriors"))
    return draw_heads(Arcs(data["words"], data["heads"], *known))


def _chart(data: Data, name: str) -> str:
    cells = [
        Cell(
            cell["begin"],
            cell["end"],
            cell["value"] or 0.0,
            cell["label"],
            cell.get("title") or "",
            bool(cell.get("best")),
        )
        for cell in data["cells"]
    ]
    return draw_cells(data["words"], cells)


def _lattice(data: Data, name: str) -> str:
    edges = {(*edge["from"], *edge["to"]): (edge["value"] or 0.0, edge["label"]) for edge in data["edges"]}
    return draw_ways(data["inputs"], data["outputs"], edges)


DRAWN: dict[str, Callable[[Data, str], str | None]] = {
    "bars": draw_bars,
    "strip": draw_strip,
    "heat": draw_heat,
    "lines": draw_lines,
    "map": draw_map,
    "graph": draw_graph,
    "arcs": _arcs,
    "chart": _chart,
    "lattice": _lattice,
}
"""What draws each kind of view but tables, and trees, of which a view may have several."""
