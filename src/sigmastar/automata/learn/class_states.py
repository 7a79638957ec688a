"""What a proper automaton believes in each context class, and the restart filter made of it."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from sigmastar.automata.counts.ngram_smoothing import NextCounts, Smoothing
from sigmastar.automata.data.contexts import ContextTrie
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.data.trie import PrefixTrie
from sigmastar.automata.kernels.expectations import forward_pass
from sigmastar.automata.learn.mixing import START_RATE
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.filtered import FilteredAutomaton
from sigmastar.automata.model.ngram import NgramModel
from sigmastar.core.arrays import Floats

_CELLS = 1 << 22  # of forward vectors held at a time


def class_beliefs(automaton: WeightedAutomaton, pasts: ContextTrie, strings: Strings) -> Floats:
    """The mean state of a proper automaton over the gaps of each past class: classes x n."""
    sums = np.zeros((pasts.n_classes, automaton.n_states))
    for piece in strings.pieces(max(_CELLS // automaton.n_states, 1)):
        sums += _class_sums(automaton, pasts, piece)
    sums += 1e-3 * sums.sum(axis=0) / sums.sum()
    beliefs: Floats = sums / sums.sum(axis=1, keepdims=True)
    return beliefs


def _class_sums(automaton: WeightedAutomaton, pasts: ContextTrie, strings: Strings) -> Floats:
    trie = PrefixTrie.of(strings)
    vectors, _ = forward_pass(
        trie.parent, trie.symbol, trie.level_starts, automaton.initial, automaton.transitions
    )
    places = (pasts.classify_prefixes(trie), np.arange(trie.n_nodes))
    weights = sparse.csr_array((trie.through_counts(), places), shape=(pasts.n_classes, trie.n_nodes))
    sums: Floats = weights @ vectors
    return sums


def filter_beliefs(
    automaton: WeightedAutomaton, pasts: ContextTrie, strings: Strings, smoothing: Smoothing
) -> FilteredAutomaton:
    """A proper automaton behind the restart filter, which restarts from the beliefs of each class."""
    backoff = NgramModel.of_counts(automaton.alphabet, NextCounts.of(strings, pasts), smoothing)
    mixing = np.full(pasts.n_classes, START_RATE)
    restarts = class_beliefs(automaton, pasts, strings)
    return FilteredAutomaton(automaton, np.ones(automaton.n_states), backoff, restarts, mixing)
