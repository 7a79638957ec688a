"""Plots of automata: the singular spectrum with the rank that was chosen, and next symbols along a string."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.sequence import SequenceModel
from sigmastar.core.alphabet import Symbol
from sigmastar.core.arrays import Floats, Indices
from sigmastar.core.figures import INK, MUTED, SERIES, draw_probabilities, new_figure, plain_log_ticks, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@runtime_checkable
class Evidence(Protocol):
    """What a choice of rank rests on; `core.rank.RankEvidence` is one."""

    @property
    def singular_values(self) -> Any: ...
    @property
    def noise_level(self) -> float | None: ...
    @property
    def candidates(self) -> Any: ...
    @property
    def scores(self) -> Any: ...
    @property
    def chosen(self) -> int: ...


def plot_spectrum(
    evidence: Evidence | ArrayLike,
    noise_level: float | None = None,
    chosen: int | None = None,
    candidates: ArrayLike | None = None,
    scores: ArrayLike | None = None,
    score_name: str = "held-out score",
) -> Figure:
    """Singular values on a log scale, with a panel of held-out scores where there are any.

    Parameters
    ----------
    evidence : RankEvidence or array
        The choice of a rank, or singular values alone.
    noise_level : float, optional
        Level that chance alone reaches.
    chosen : int, optional
        The rank that was chosen.
    candidates, scores : array, optional
        Ranks that were tried, and their scores.
    score_name : str
        Label of the scores.

    Returns
    -------
    Figure
        Of matplotlib.
    """
    if isinstance(evidence, Evidence):
        noise_level = evidence.noise_level if noise_level is None else noise_level
        chosen = evidence.chosen if chosen is None else chosen
        candidates = evidence.candidates if candidates is None else candidates
        scores = evidence.scores if scores is None else scores
        values = np.asarray(evidence.singular_values, dtype=np.float64)
    else:
        values = np.asarray(evidence, dtype=np.float64)
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(f"a spectrum is a vector of singular values, got shape {values.shape}")
    tried, held_out = _scored(candidates, scores)
    two = len(tried) > 1
    figure = new_figure(8.4 if two else 5.2, 3.4)
    panels = figure.subplots(1, 2 if two else 1, squeeze=False)[0]
    _draw_values(panels[0], values, noise_level, chosen)
    if two:
        _draw_scores(panels[1], tried, held_out, chosen, score_name)
    return figure


def _draw_values(axes: Axes, values: Floats, noise_level: float | None, chosen: int | None) -> None:
    tidy(axes, "Singular spectrum", "rank", "singular value")
    ranks = np.arange(1, len(values) + 1)
    positive = values > 0
    kept = ranks <= (len(values) if chosen is None else chosen)
    axes.set_yscale("log")
    axes.plot(ranks[positive], values[positive], color=SERIES[0], linewidth=1, alpha=0.5, zorder=1)
    size = 22 if len(values) <= 40 else 10
    for group, face in ((positive & kept, SERIES[0]), (positive & ~kept, "none")):
        axes.scatter(
            ranks[group], values[group], s=size, facecolor=face, edgecolor=SERIES[0], linewidth=1, zorder=3
        )
    if noise_level is not None and noise_level > 0:
        axes.axhline(noise_level, color=SERIES[1], linewidth=1.2, linestyle=(0, (5, 3)), zorder=2)
        _note(axes, "noise level", (1, noise_level), (-2, 4), "right", SERIES[1], across=True)
    if chosen is not None:
        axes.axvline(chosen, color=MUTED, linewidth=1, linestyle=(0, (1, 2)), zorder=0)
        _note_rank(axes, chosen, len(values))
    if positive.any():
        plain_log_ticks(axes.yaxis, float(values[positive].min()), float(values.max()))
    axes.set_xlim(0.2 if len(values) > 5 else 0.6, len(values) + 0.6)
    _whole_ticks(axes)


def _draw_scores(axes: Axes, tried: Floats, held_out: Floats, chosen: int | None, score_name: str) -> None:
    tidy(axes, "Held-out evidence", "rank", score_name)
    axes.plot(tried, held_out, color=SERIES[2], linewidth=1.4, marker="o", markersize=4, zorder=2)
    for index in np.flatnonzero(tried == chosen):
        axes.scatter(
            tried[index], held_out[index], s=90, facecolor="none", edgecolor=INK, linewidth=1.3, zorder=3
        )
    if chosen is not None:
        axes.axvline(chosen, color=MUTED, linewidth=1, linestyle=(0, (1, 2)), zorder=0)
    _whole_ticks(axes)


def _note_rank(axes: Axes, chosen: int, n_values: int) -> None:
    left_half = chosen <= n_values / 2
    axes.annotate(
        f"chosen: {chosen}",
        xy=(chosen, 1),
        xycoords=("data", "axes fraction"),
        xytext=(5 if left_half else -5, -4),
        textcoords="offset points",
        ha="left" if left_half else "right",
        va="top",
        fontsize=9,
        color=INK,
    )


def _note(
    axes: Axes,
    text: str,
    at: tuple[float, float],
    shift: tuple[float, float],
    side: str,
    colour: str,
    across: bool,
) -> None:
    """A word beside a line, placed by axes fraction along it and by data across it."""
    axes.annotate(
        text,
        xy=at,
        xycoords=("axes fraction", "data") if across else "data",
        xytext=shift,
        textcoords="offset points",
        ha=side,
        va="bottom",
        fontsize=9,
        color=colour,
    )


def _whole_ticks(axes: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8, min_n_ticks=1))


def _scored(candidates: ArrayLike | None, scores: ArrayLike | None) -> tuple[Floats, Floats]:
    """Ranks that were tried with their finite scores, in order."""
    if candidates is None or scores is None:
        return np.zeros(0), np.zeros(0)
    tried, held_out = np.asarray(candidates, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    if tried.shape != held_out.shape:
        raise ValueError(f"{tried.size} candidates need as many scores, got {held_out.size}")
    order = np.argsort(tried)
    tried, held_out = tried[order], held_out[order]
    finite = np.isfinite(held_out)
    return tried[finite], held_out[finite]


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
