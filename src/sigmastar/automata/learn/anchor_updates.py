"""The concave stages behind `convex`, and their result: a proper automaton on anchors.

Context classes are mixes W of n anchors, futures are emitted by each anchor with probabilities K, and
anchors follow each other by moves T. Each is found by a concave problem given the others:

    K given W     maximise sum C[r, c] log (W K)[r, c]
    W given K     the same, drawn to the memberships that non-negative least squares gives
    T given W, K  maximise sum C_a[r, c] log (W T_a K)[r, c] + sum ends[r] log (W f)[r]

by multiplicative updates, which never leave the positive orthant. W[r] are the restart states.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sigmastar.automata.counts.on_classes import ContextCounts
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.kernels.mixtures import left_sums_only, mixture_sums
from sigmastar.automata.learn.anchors import (
    anchor_states,
    background,
    memberships,
    shrunk_states,
    to_probabilistic,
)
from sigmastar.automata.learn.class_states import class_beliefs
from sigmastar.automata.learn.context_model import ContextModel
from sigmastar.automata.learn.mixing import START_RATE
from sigmastar.automata.learn.rank_search import backoff_of
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.filtered import FilteredAutomaton
from sigmastar.core.arrays import Floats, Int64s

_EMISSION_STEPS, _MEMBERSHIP_STEPS, _EMISSION_AGAIN, _MOVE_STEPS = 20, 15, 8, 30
_MEMBERSHIP_PRIOR = 10.0
_BACKGROUND = 1e-3
_MOVE_PRIOR = 0.05


@dataclass(frozen=True, eq=False)
class AnchorModel:
    """A proper automaton on anchors, and the mix of anchors that each context class stands for."""

    automaton: WeightedAutomaton
    memberships: Floats

    def filtered(self, counts: ContextCounts, mixing: Floats | None = None) -> FilteredAutomaton:
        if mixing is None:
            mixing = np.full(len(self.memberships), START_RATE)
        mass = np.ones(self.automaton.n_states)
        return FilteredAutomaton(self.automaton, mass, backoff_of(counts), self.memberships, mixing)


def learn_anchor_model(contexts: ContextModel) -> AnchorModel:
    """The concave stages, from anchors to moves."""
    anchors = anchor_states(contexts)
    prior = _rows_to_one(memberships(anchors, shrunk_states(contexts)) + 1e-4 / len(anchors))
    table = _Table.of(contexts.counts)
    emissions = np.tile(table.column_frequencies[:, None], (1, len(anchors)))
    emissions = table.fit_emissions(prior, emissions, _EMISSION_STEPS)
    mixes = table.fit_memberships(prior, emissions, _MEMBERSHIP_STEPS)
    emissions = table.fit_emissions(mixes, emissions, _EMISSION_AGAIN)
    return _with_moves(contexts, mixes, emissions, to_probabilistic(contexts, anchors))


def learn_again(model: AnchorModel, contexts: ContextModel, strings: Strings) -> AnchorModel:
    """Another round: what the automaton itself believes in each class takes the place of the memberships."""
    prior = class_beliefs(model.automaton, contexts.counts.pasts, strings)
    table = _Table.of(contexts.counts)
    emissions = np.tile(table.column_frequencies[:, None], (1, prior.shape[1]))
    emissions = table.fit_emissions(prior, emissions, _EMISSION_STEPS + _EMISSION_AGAIN)
    return _with_moves(contexts, prior, emissions, model.automaton)


@dataclass(frozen=True, eq=False)
class _Table:
    """The counts C of past and future classes by their non-zero entries."""

    rows: Int64s
    columns: Int64s
    counts: Floats
    column_frequencies: Floats

    @classmethod
    def of(cls, counts: ContextCounts) -> _Table:
        rows, columns = np.divmod(counts.keys, counts.futures.n_classes)
        frequencies = (counts.future_counts + 1e-3) / (counts.future_counts + 1e-3).sum()
        return cls(rows, columns, counts.counts.astype(float), frequencies)

    def fit_emissions(self, mixes: Floats, emissions: Floats, n_steps: int) -> Floats:
        """K, kept as futures x anchors, columns summing to one."""
        for _ in range(n_steps):
            _, sums, _ = mixture_sums(self.rows, self.columns, self.counts, mixes, emissions)
            emissions = emissions * sums
            emissions /= np.maximum(emissions.sum(axis=0), 1e-300)
            emissions = (1.0 - _BACKGROUND) * emissions + _BACKGROUND * self.column_frequencies[:, None]
        return emissions

    def fit_memberships(self, prior: Floats, emissions: Floats, n_steps: int) -> Floats:
        mixes = prior
        for _ in range(n_steps):
            sums, _, _ = mixture_sums(self.rows, self.columns, self.counts, mixes, emissions)
            mixes = _rows_to_one(mixes * sums + _MEMBERSHIP_PRIOR * prior)
        return mixes


def _with_moves(
    contexts: ContextModel, mixes: Floats, emissions: Floats, start: WeightedAutomaton
) -> AnchorModel:
    moves, stops = _fit_moves(contexts, mixes, emissions, start)
    first = mixes[contexts.counts.pasts.start]
    return AnchorModel(WeightedAutomaton(start.alphabet, first, moves, stops), mixes)


def _fit_moves(
    contexts: ContextModel, mixes: Floats, emissions: Floats, start: WeightedAutomaton
) -> tuple[Floats, Floats]:
    """T and f by multiplicative updates; the rows of all T_a and f together sum to one."""
    counts, n = contexts.counts, start.n_states
    symbols, entries = _entries_by_symbol(counts)
    ends = counts.ends.astype(float)
    chance = background(contexts)
    moves, stops = start.transitions, start.final
    for _ in range(_MOVE_STEPS):
        expected = np.zeros_like(moves)
        for symbol, (rows, columns, values) in zip(symbols, entries, strict=True):
            forward = mixes @ moves[symbol]
            sums = left_sums_only(rows, columns, values, forward, emissions)
            expected[symbol] = moves[symbol] * (mixes.T @ sums)
        stopping = stops * (mixes.T @ (ends / np.maximum(mixes @ stops, 1e-300)))
        visits = expected.sum(axis=(0, 2)) + stopping
        expected += _MOVE_PRIOR * (visits[None, :, None] / visits.sum()) * chance[:-1, None, None] / n
        stopping = stopping + _MOVE_PRIOR * visits / visits.sum() * chance[-1]
        leaving = np.maximum(expected.sum(axis=(0, 2)) + stopping, 1e-300)
        moves, stops = expected / leaving[None, :, None], stopping / leaving
    return moves, stops


def _entries_by_symbol(
    counts: ContextCounts,
) -> tuple[list[int], list[tuple[Int64s, Int64s, Floats]]]:
    """The non-zero entries of each slice C_a, for the symbols that occur."""
    area = counts.pasts.n_classes * counts.futures.n_classes
    symbol, place = np.divmod(counts.slice_keys, area)
    rows, columns = np.divmod(place, counts.futures.n_classes)
    values = counts.slice_counts.astype(float)
    starts = np.flatnonzero(np.diff(symbol, prepend=-1))
    ends = np.append(starts[1:], len(symbol))[: len(starts)]  # all strings may be empty
    entries = [(rows[a:b], columns[a:b], values[a:b]) for a, b in zip(starts, ends, strict=True)]
    return symbol[starts].tolist(), entries


def _rows_to_one(matrix: Floats) -> Floats:
    rows: Floats = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1e-300)
    return rows
