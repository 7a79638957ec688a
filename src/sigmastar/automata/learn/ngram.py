"""`ngram`: back-off models of fixed order, the rival that needs no hidden states."""

from __future__ import annotations

import numpy as np

from sigmastar.automata.data.strings import Strings, require_strings
from sigmastar.automata.learn.held_out import Held, hold_out
from sigmastar.automata.model.ngram_smoothing import (
    N_SHARES,
    NextCounts,
    NgramModel,
    Smoothing,
    cells_of,
    kneser_ney,
    modified_kneser_ney,
    n_cells,
    witten_bell,
)
from sigmastar.core.arrays import Floats, Int32s
from sigmastar.core.mixture import Cells, Events, rates_by_level

SMOOTHINGS: dict[str, Smoothing] = {
    "witten-bell": witten_bell,
    "kneser-ney": kneser_ney,
    "modified-kneser-ney": modified_kneser_ney,
}
ORDERS = (1, 2, 3, 4, 5, 6)
_STRENGTH = 50.0  # events that the rate of a coarser cell counts for


def learn_ngram(
    strings: Strings,
    order: int | None = 3,
    smoothing: Smoothing = witten_bell,
    rng: np.random.Generator | None = None,
) -> NgramModel:
    """An n-gram model; `order=None` chooses among `ORDERS` by held-out likelihood."""
    require_strings(strings)
    if order is None:
        order = _best_order(strings, smoothing, rng or np.random.default_rng(0))
    if order < 1:
        raise ValueError(f"order={order}: an n-gram has at least one symbol; use order>=1")
    return NgramModel.of_counts(strings.alphabet, NextCounts.of_ngrams(strings, order), smoothing)


def _best_order(strings: Strings, smoothing: Smoothing, rng: np.random.Generator) -> int:
    kept, held = hold_out(strings, rng)
    judged = held.judged_gaps
    scores = [_gap_logs(learn_ngram(kept, order, smoothing), held)[judged].mean() for order in ORDERS]
    return ORDERS[int(np.argmax(scores))]


def _gap_logs(model: NgramModel, held: Held) -> Floats:
    strings = held.strings
    return np.log(model.probabilities(model.contexts.classify(strings), strings.outcomes.astype(np.int32)))


def fitted_rates(ngram: NgramModel, contexts: Int32s, by_other: Floats, by_ngram: Floats) -> Floats:
    """The rate of the n-gram beside another model in each cell, by what both give to held-out tokens."""
    return rates_of_cells(cells_of(ngram)[contexts], n_cells(ngram), by_other, by_ngram)


def rates_of_cells(cells: Int32s, n: int, by_other: Floats, by_ngram: Floats) -> Floats:
    """The same, given the cell of every held-out token and the number of cells."""
    known = (by_other > 0) & (by_ngram > 0)
    events = Events(np.ones(int(known.sum())), by_other[known], by_ngram[known])
    n_depths = n // N_SHARES
    depths = np.repeat(np.arange(n_depths, dtype=np.int32), N_SHARES)
    levels = [Cells(cells[known], n, _STRENGTH), Cells(depths, n_depths, _STRENGTH)]
    return rates_by_level(events, levels, 0.5)
