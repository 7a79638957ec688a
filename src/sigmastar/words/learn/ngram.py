"""The n-gram beside the states: modified Kneser-Ney, over lines or over a stream."""

from __future__ import annotations

import numpy as np

from sigmastar.automata.counts.context_growth import grow_contexts
from sigmastar.automata.counts.ngram_smoothing import NextCounts, modified_kneser_ney
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.learn.ngram import learn_ngram
from sigmastar.automata.model.ngram import NgramModel
from sigmastar.core.arrays import Floats, Int32s
from sigmastar.core.integer_counts import tally
from sigmastar.core.mixing_rates import Cells, Events, rates_by_level
from sigmastar.words.model.mixture import N_SHARES, as_stream, cells_of, n_cells

_STRENGTH = 50.0  # events that the rate of a coarser cell counts for


def word_ngram(strings: Strings, order: int, is_stream: bool) -> NgramModel:
    """Modified Kneser-Ney; in a stream, contexts go over the ends of lines, which are words there."""
    if not is_stream:
        return learn_ngram(strings, order, modified_kneser_ney)
    stream = as_stream(strings)
    contexts = grow_contexts(stream, "past", max_depth=order - 1)
    width = np.int64(contexts.n_symbols + 1)
    # what follows the last token is not known
    keys, counts = tally(stream.codes + contexts.classify(stream)[:-1] * width)
    found = NextCounts.of_classes(contexts, keys // width, keys % width, counts)
    return NgramModel.of_counts(strings.alphabet, found, modified_kneser_ney)


def fitted_rates(ngram: NgramModel, contexts: Int32s, by_states: Floats, by_ngram: Floats) -> Floats:
    """The rate of the n-gram in each cell of contexts, by what both give to held-out tokens."""
    return rates_of_cells(cells_of(ngram)[contexts], n_cells(ngram), by_states, by_ngram)


def rates_of_cells(cells: Int32s, n: int, by_states: Floats, by_ngram: Floats) -> Floats:
    """The same, given the cell of every held-out token and the number of cells."""
    known = (by_states > 0) & (by_ngram > 0)
    events = Events(np.ones(int(known.sum())), by_states[known], by_ngram[known])
    n_depths = n // N_SHARES
    depths = np.repeat(np.arange(n_depths, dtype=np.int32), N_SHARES)
    levels = [Cells(cells[known], n, _STRENGTH), Cells(depths, n_depths, _STRENGTH)]
    return rates_by_level(events, levels, 0.5)
