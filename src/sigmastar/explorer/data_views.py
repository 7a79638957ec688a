"""Data beside a model: the table of items, how errors grow with length, and what is taken for what."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from sigmastar.core.exhibit import Judged, Row, View

_NAMES, _PAGE = 24, 200
SORTS = ("loss", "error", "length", "number")


def selected(
    judged: Judged, sort: str = "loss", text: str = "", first: int = 0, count: int = _PAGE
) -> dict[str, Any]:
    """Items that hold some text, the worst first, as the page lists them."""
    if sort == "loss" and all(row.loss is None for row in judged.rows):
        sort = "error"
    wanted = text.casefold()
    numbers = [k for k, row in enumerate(judged.rows) if wanted in row.text.casefold()]
    numbers.sort(key=lambda number: _order(judged.rows[number], sort, number))
    return {
        "n_rows": len(judged.rows),
        "n_found": len(numbers),
        "loss_name": judged.loss_name,
        "error_name": judged.error_name,
        "rows": [_line(judged.rows[k], k) for k in numbers[max(first, 0) :][: min(max(count, 1), _PAGE)]],
    }


def _order(row: Row, sort: str, number: int) -> tuple[float, int]:
    value = {"loss": row.loss, "error": row.error, "length": float(row.length)}.get(sort)
    if sort == "number":
        return 0.0, number
    return (np.inf if value is None else -value), number


def _line(row: Row, number: int) -> dict[str, Any]:
    finite = None if row.loss is None or not np.isfinite(row.loss) else row.loss
    return {
        "number": number,
        "text": row.text,
        "length": row.length,
        "loss": finite,
        "is_impossible": row.loss is not None and finite is None,
        "error": row.error,
    }


def summary(judged: Judged) -> list[View]:
    """Pictures of all items together."""
    return [*_by_length(judged), *_confusion(judged)]


def _by_length(judged: Judged) -> list[View]:
    lengths = np.array([row.length for row in judged.rows], dtype=float)
    values = np.array([np.nan if row.error is None else row.error for row in judged.rows])
    name = judged.error_name
    if not np.isfinite(values).any():
        values = np.array([np.nan if row.loss is None else row.loss for row in judged.rows])
        name = judged.loss_name
    good = np.isfinite(values)
    if good.sum() < 2:
        return []
    edges = np.unique(np.quantile(lengths[good], np.linspace(0, 1, 13)).round())
    place = np.searchsorted(edges, lengths[good], side="right") - 1
    filled = [k for k in range(len(edges)) if (place == k).any()]
    data = {
        "x": [float(lengths[good][place == k].mean()) for k in filled],
        "series": [{"name": name, "y": [float(values[good][place == k].mean()) for k in filled]}],
        "x_name": "length",
        "y_name": f"{name}, mean",
    }
    return [View("lines", "By length", data, f"Mean {name} of items of about the same length.")]


def _confusion(judged: Judged) -> list[View]:
    if not judged.confusion:
        return []
    totals = Counter[str]()
    for (gold, found), count in judged.confusion.items():
        totals[gold] += count
        totals[found] += count
    names = [name for name, _ in totals.most_common(_NAMES)]
    counts = np.array(
        [[judged.confusion.get((gold, found), 0) for found in names] for gold in names], dtype=float
    )
    sums = counts.sum(axis=1, keepdims=True)
    data = {
        "rows": names,
        "columns": names,
        "values": counts / np.maximum(sums, 1.0),
        "counts": counts.astype(int),
        "row_name": "right",
        "column_name": "found",
    }
    return [View("heat", "What is taken for what", data, "Rows: what is right; columns: what was found.")]
