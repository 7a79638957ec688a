"""Next-symbol distributions along a string, with the symbol that came."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.sequence import SequenceModel
from sigmastar.core.alphabet import Symbol
from sigmastar.core.arrays import Floats, Indices
from sigmastar.core.figures import draw_probabilities, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


END_NAME = "end"


def plot_next_symbols(
    model: SequenceModel,
    string: Iterable[Symbol] | Strings,
    title: str = "What comes next",
    max_symbols: int = 24,
) -> Figure:
    """A heat map, symbols x positions; a ring marks the symbol that came.

    Of a large alphabet the symbols that come or that the model expects most are shown.

    Parameters
    ----------
    model : SequenceModel
        The distribution.
    string : sequence or Strings
        The string to read.
    title : str
        Of the figure.
    max_symbols : int
        Number of symbols that are shown at most.

    Returns
    -------
    Figure
        Of matplotlib.
    """
    strings = string if isinstance(string, Strings) else Strings.of([string], alphabet=model.alphabet)
    if len(strings) != 1:
        raise ValueError(f"a heat map shows one string, got {len(strings)}")
    strings = strings.recoded(model.alphabet)
    table = model.gap_distributions(strings).T  # symbols + end, positions
    came = np.append(strings.codes, len(model.alphabet))
    rows = _rows_to_show(table, came, max_symbols)
    names = [*(str(symbol) for symbol in model.alphabet), END_NAME]
    return _draw(table[rows], np.searchsorted(rows, came), [names[row] for row in rows], title)


def _rows_to_show(table: Floats, came: NDArray[np.integer], max_symbols: int) -> Indices:
    weight = np.abs(table).max(axis=1)
    weight[came] += 1.0 + weight.max()
    return np.sort(np.argsort(-weight, kind="stable")[: max(max_symbols, len(np.unique(came)))])


def _draw(table: Floats, came: Indices, names: list[str], title: str) -> Figure:
    n_rows, n_positions = table.shape
    figure = new_figure(min(1.7 + 0.27 * n_positions, 12.0), 1.2 + 0.25 * n_rows)
    axes = figure.subplots()
    tidy(axes, title, "symbol that came", "", grid="")
    top = min(1.0, np.ceil(10 * table.max()) / 10)
    draw_probabilities(axes, np.clip(table, 0, 1), names, enumerate(came.tolist()), top)
    _label_positions(axes, [names[row] for row in came])
    return figure


def _label_positions(axes: Axes, symbols: list[str]) -> None:
    """Write the string below its positions; of a long one only every n-th symbol."""
    step = max(1, int(np.ceil(len(symbols) * max(map(len, symbols)) / 120)))
    shown = np.arange(0, len(symbols), step)
    axes.set_xticks(shown + 0.5, [symbols[position] for position in shown])
