"""Refine the symbols of strings into substates: the idea of states from two views, for units of a transducer.

1. views: the context classes of what came before and of what follows, correlated (`core.views`);
2. the point of a token is [past after it; future before it], each scaled by the correlations;
3. clusters: k-means per symbol, min(k, count / `per_state`) substates (`core.clusters`);
4. counts of moves between substates, shrunk: substate -> symbol -> Kneser-Ney bigram (`core.shrinkage`);
5. a few EM iterations with the symbols given (`core.em`): more fit the training strings and not others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sigmastar.automata.counts.on_classes import ContextCounts
from sigmastar.automata.data.strings import Strings, require_known, require_strings
from sigmastar.automata.learn.context_operators import choose_classes
from sigmastar.automata.learn.ngram import learn_ngram
from sigmastar.automata.model.ngram_smoothing import kneser_ney
from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.clusters import rows_by_group, sampled_k_means
from sigmastar.core.em import Problem, iterate
from sigmastar.core.shrinkage import towards, weight_of_coarse
from sigmastar.core.views import correlate
from sigmastar.transducers.model.refined_chain import RefinedChain, flat_with_edges

_ENOUGH = 4000  # tokens of a symbol show its clusters


@dataclass(frozen=True)
class Refinement:
    """Settings: substates per symbol, tokens per substate, dimensions, classes, iterations, shrinkage."""

    n_substates: int = 16
    per_state: int = 30
    n_dimensions: int = 30
    n_classes: int = 3000
    min_count: int = 20
    n_iterations: int = 6
    substate: float = 4.0  # tokens that the symbol's moves count for
    symbol: float = 2.0  # tokens that the bigram's moves count for


def learn_refined(
    strings: Strings, rng: np.random.Generator, settings: Refinement | None = None
) -> RefinedChain:
    """A chain refined from clusters of two views."""
    settings = settings or Refinement()
    require_strings(require_known(strings))
    substates = _substates(strings, _points(strings, settings), settings, rng)
    chain, counts = _counted(strings, substates)
    text = chain.text(strings, with_bigrams=False)
    problem = Problem(lambda found: found.expected(text), lambda counts: _shrunk(chain, counts, settings))
    return iterate(problem, problem.maximize(counts), settings.n_iterations)


def _points(strings: Strings, settings: Refinement) -> Floats:
    """A row per token."""
    pasts, futures = choose_classes(strings, settings.n_classes, settings.min_count)
    counts = ContextCounts.of(strings, pasts, futures)
    totals = counts.past_counts.astype(np.float64), counts.future_counts.astype(np.float64)
    matrix = counts.blocks().matrices["string"]
    found = correlate(matrix, settings.n_dimensions + 1, totals=totals).without_constant()
    before = np.arange(strings.n_symbols) + np.repeat(np.arange(len(strings)), strings.lengths)
    past, future = found.left()[pasts.classify(strings)], found.right(1.0)[futures.classify(strings)]
    return np.hstack([past[before + 1], future[before]])


def _substates(strings: Strings, points: Floats, settings: Refinement, rng: np.random.Generator) -> Int64s:
    """The substate of every token, numbered within its symbol."""
    found = np.zeros(strings.n_symbols, dtype=np.int64)
    for rows in rows_by_group(strings.codes, len(strings.alphabet)):
        size = min(settings.n_substates, len(rows) // settings.per_state)
        if size > 1:
            found[rows] = sampled_k_means(points[rows], size, rng, _ENOUGH).labels
    return found


def _counted(strings: Strings, clusters: Int64s) -> tuple[RefinedChain, Floats]:
    """A chain without moves yet, and the counts of moves between the substates of tokens."""
    n_symbols = len(strings.alphabet)
    symbols, ends = flat_with_edges(strings)
    substates = np.zeros(len(symbols), dtype=np.int64)
    substates[symbols < n_symbols] = clusters
    sizes = np.ones(n_symbols + 1, dtype=np.int64)
    np.maximum.at(sizes, strings.codes, clusters + 1)
    inside = np.ones(len(symbols) - 1, dtype=bool)
    inside[ends[1:-1] - 1] = False  # from the end of a string to the start of the next
    keys = np.unique((symbols[:-1].astype(np.int64) * (n_symbols + 1) + symbols[1:])[inside])
    bigram, none = learn_ngram(strings, 2, kneser_ney), np.empty(0)
    chain = RefinedChain(bigram, np.append(0, np.cumsum(sizes)), keys, none, none, none)
    starts = chain.block_starts[chain.text(strings, with_bigrams=False).pairs[:-1]]
    at = starts + substates[:-1] * sizes[symbols[1:]] + substates[1:]
    counts = np.bincount(at[inside], minlength=int(chain.block_starts[-1]))
    return chain, counts.astype(np.float64)


def _shrunk(chain: RefinedChain, counts: Floats, settings: Refinement) -> RefinedChain:
    """Moves from counts of them.

    p(b, z' | a) = (c(a, b, z') + s p(b | a) p(z' | b)) / (c(a) + s), and likewise from (a, z) with that.
    """
    width, sizes = len(chain.alphabet) + 1, np.diff(chain.firsts)
    before, after = np.divmod(chain.pair_keys, width)
    pair = np.repeat(np.arange(len(before)), sizes[before] * sizes[after])
    of, to = np.divmod(np.arange(len(pair)) - chain.block_starts[pair], sizes[after[pair]])
    source, target = chain.firsts[before[pair]] + of, chain.firsts[after[pair]] + to
    owner = np.repeat(np.arange(width), sizes)
    totals = np.bincount(source, counts, chain.n_substates)
    of_symbols = np.add.reduceat(totals, chain.firsts[:-1])
    arrivals = np.bincount(target, counts, chain.n_substates) + 0.1
    shares: Floats = arrivals / np.add.reduceat(arrivals, chain.firsts[:-1])[owner]
    bigrams = chain.bigram.probabilities(chain.after_symbol[before], after.astype(np.int32))
    column = (np.append(0, np.cumsum(sizes[after])))[pair] + to  # places of (pair, z')
    by_symbol = np.bincount(column, counts)[column]
    plain = bigrams[pair] * shares[target]
    coarse = towards(by_symbol, plain, settings.symbol, totals=of_symbols[before][pair])
    blocks = towards(counts, coarse, settings.substate, totals=totals[source])
    spare = weight_of_coarse(totals, settings.substate) * weight_of_coarse(of_symbols, settings.symbol)[owner]
    return chain.with_moves(blocks, spare, shares)
