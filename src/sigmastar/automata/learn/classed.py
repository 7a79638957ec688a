"""Large alphabets: classes of symbols by two views, any learner of automata over the classes, n-grams beside.

An operator per symbol of an alphabet of words leaves room for a few states, and one least-squares problem per
symbol and state takes hours. So symbols first fall into classes: the correlations of neighbouring symbols
(`core.views`) place each as a past and as a future, and symbols that lie in the same direction share a class.
The learner sees strings of classes, and what it learns is spread over the symbols of each class
(`model.classed`). Modified Kneser-Ney trigrams are mixed in at rates that held-out strings choose, so that
the result is not behind them. Of the two ideas, the classes are the second; the learner is what it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from sigmastar.automata.data.strings import Strings, require_strings
from sigmastar.automata.learn.held_out import FEW, Held, hold_out
from sigmastar.automata.learn.ngram import fitted_rates, learn_ngram
from sigmastar.automata.model.classed import ClassedAutomaton, ClassedSymbols, class_probabilities
from sigmastar.automata.model.ngram_smoothing import modified_kneser_ney, n_cells
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.clusters import k_means
from sigmastar.core.factors import quick_svd
from sigmastar.core.integer_counts import Tally, tally_pairs
from sigmastar.core.progress import Progress, silent, stage
from sigmastar.core.views import correlate, directions

LARGE_ALPHABET = 1_000
"""Alphabets of more symbols are learned by classes, which have more to count than symbols (decision 47)."""
N_CLASSES, ORDER = 512, 3
_MOST_PLACED = 1 << 16  # symbols, the most frequent, that are given a place: the rest is one class
_DIMENSIONS, _SHRINKAGE, _ROUNDS = 100, 20.0, 3

Learner = Callable[[Strings, np.random.Generator, Progress], Any]
"""From strings to a fit, whose `model` or `automaton` is what was learned."""


@dataclass(frozen=True, eq=False)
class ClassedFit:
    """A model, what the learner found on strings of classes, and the held-out score, if any, of the whole."""

    model: ClassedAutomaton
    inner: Any
    held_out_score: float | None


def symbol_classes(strings: Strings, n_classes: int, rng: np.random.Generator) -> ClassedSymbols:
    """Classes of symbols whose neighbours are alike.

    Parameters
    ----------
    strings : Strings
        The corpus.
    n_classes : int
        Number of classes at most, but for that of the rarest symbols.
    rng : Generator
        Source of the first centres.

    Returns
    -------
    ClassedSymbols
        With shares by counts, a half added to each.
    """
    counts = np.bincount(strings.codes, minlength=len(strings.alphabet))
    numbers = Numbers.of(counts)
    return classes_of(strings.alphabet, counts, numbers, numbers.neighbours(strings), n_classes, rng)


class Numbers(NamedTuple):
    """Symbols that are given a place, and the number of each; the end has one, and all the rest have one."""

    placed: Int64s
    number_of: Int32s

    @classmethod
    def of(cls, counts: Int64s) -> Numbers:
        """Of symbols that occur so often."""
        placed = np.argsort(-counts, kind="stable")[:_MOST_PLACED]
        placed = placed[counts[placed] > 0]
        number_of = np.full(len(counts) + 1, len(placed), np.int32)
        number_of[placed] = np.arange(len(placed))
        number_of[-1] = len(placed) + 1
        return cls(placed, number_of)

    def neighbours(self, strings: Strings) -> Tally:
        """How often each number follows another."""
        tokens, n = self.number_of[strings.outcomes], len(self.placed) + 2
        return tally_pairs(tokens[:-1], tokens[1:], n, n)


def classes_of(
    alphabet: Alphabet,
    counts: Int64s,
    numbers: Numbers,
    neighbours: Tally,
    n_classes: int,
    rng: np.random.Generator,
) -> ClassedSymbols:
    """Classes of symbols with some neighbours; all symbols that have no place are one."""
    class_of, placed = np.zeros(len(counts), np.int32), numbers.placed
    if len(placed):
        points = directions(_places(neighbours, counts[placed]))
        found = k_means(points, min(n_classes, len(placed)), rng, weights=counts[placed])
        class_of[:] = found.n_clusters
        class_of[placed] = found.labels
    return with_shares(alphabet, counts, class_of)


def with_shares(alphabet: Alphabet, counts: Int64s, class_of: Int32s) -> ClassedSymbols:
    """Classes with the shares of their symbols, which occur so often."""
    more = counts + 0.5
    return ClassedSymbols(alphabet, class_of, more / np.bincount(class_of, more)[class_of])


def _places(neighbours: Tally, sizes: Int64s) -> Floats:
    """Where symbols of such sizes lie as pasts and as futures."""
    keys, counts = neighbours
    n, at = len(sizes) + 2, keys.astype(np.int64)
    starts = np.searchsorted(at, np.arange(n + 1, dtype=np.int64) * n)
    table = sparse.csr_array((counts.astype(np.float64), at % n, starts), shape=(n, n))
    found = correlate(table, _DIMENSIONS + 1, solver=partial(quick_svd, n_rounds=_ROUNDS)).without_constant()
    both = np.hstack([found.left(1.0)[:-2], found.right(1.0)[:-2]])
    return np.asarray(both * (sizes / (sizes + _SHRINKAGE))[:, None])


def learn_classed(
    strings: Strings,
    rng: np.random.Generator,
    learn: Learner,
    most_gaps: int | None = None,
    progress: Progress = silent,
) -> ClassedFit:
    """Learn an automaton over classes of symbols, with n-grams mixed in.

    Parameters
    ----------
    strings : Strings
        The corpus.
    rng : Generator
        Source of the held-out strings and of the classes.
    learn : callable
        Learner of strings of classes.
    most_gaps : int or None
        Number of symbols and ends that the learner is given at most; None: all.
    progress : callable
        Told what is being done.

    Returns
    -------
    ClassedFit
        The model and what is known of it.
    """
    kept, held = hold_out(require_strings(strings), rng)
    progress("classes of symbols", 0.0)
    symbols = symbol_classes(kept, N_CLASSES, rng)
    inner = learn(symbols.classed(_some(kept, most_gaps, rng)), rng, stage(progress, 0.1, 0.9))
    progress("n-grams", 0.9)
    model = getattr(inner, "model", None) or inner.automaton
    first = ClassedAutomaton(symbols, model, learn_ngram(kept, ORDER, modified_kneser_ney), np.zeros(0))
    rates, score = weighed(first, held)
    if not held.is_held:
        return ClassedFit(ClassedAutomaton(symbols, model, first.ngram, rates), inner, None)
    del first, kept  # their counts take as much room as those of all strings
    last = learn_ngram(strings, ORDER, modified_kneser_ney)
    rates = np.pad(rates, (0, n_cells(last) - len(rates)), constant_values=1.0)  # of contexts first met now
    counts = np.bincount(strings.codes, minlength=len(strings.alphabet))
    symbols = with_shares(strings.alphabet, counts, symbols.class_of)
    found = ClassedAutomaton(symbols, model, last, rates)
    return ClassedFit(found, inner, score)


def weighed(model: ClassedAutomaton, held: Held) -> tuple[Floats, float]:
    """The rates of the n-gram, and the log-likelihood per held-out string that they give."""
    judged, ngram = held.judged_gaps, model.ngram
    contexts = ngram.contexts.classify(held.strings)[judged]
    by_ngram = ngram.probabilities(contexts, held.strings.outcomes.astype(np.int32)[judged])
    by_classes = class_probabilities(model.inner, model.symbols, held.strings)[judged]
    rates = fitted_rates(ngram, contexts, by_classes, by_ngram)
    rate = ClassedAutomaton(model.symbols, model.inner, ngram, rates).rate_of[contexts]
    logs = np.log((1.0 - rate) * by_classes + rate * by_ngram)
    return rates, float(logs.mean()) * held.strings.n_gaps / max(len(held.strings), 1)


def _some(strings: Strings, most_gaps: int | None, rng: np.random.Generator) -> Strings:
    """Strings of so many gaps at most: chosen by chance, or the beginnings of a few long ones."""
    if most_gaps is None or strings.n_gaps <= most_gaps:
        return strings
    if len(strings) >= FEW:
        order = rng.permutation(len(strings))
        n_strings = int(np.searchsorted(np.cumsum(strings.lengths[order] + 1), most_gaps, side="right"))
        if n_strings >= FEW:
            return strings.select(np.sort(order[:n_strings]))
    lengths = (strings.lengths * (most_gaps / strings.n_gaps)).astype(np.int64)
    position = np.arange(strings.n_symbols) - np.repeat(strings.offsets[:-1], strings.lengths)
    codes = strings.codes[position < np.repeat(lengths, strings.lengths)]
    return Strings(strings.alphabet, codes, np.concatenate([[0], np.cumsum(lengths)]))
