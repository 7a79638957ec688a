"""`convex`: non-negative by construction, deterministic, without expectation-maximization over strings.

Context classes are mixes W of n anchors, futures are emitted by each anchor with probabilities K, and
anchors follow each other by moves T. Each is found by a concave problem given the others:

    K given W     maximize sum C[r, c] log (W K)[r, c]
    W given K     the same, drawn to the memberships that non-negative least squares gives
    T given W, K  maximize sum C_a[r, c] log (W T_a K)[r, c] + sum ends[r] log (W f)[r]

by multiplicative updates, which never leave the positive orthant; the anchors come from spectral operators
(`recover`). In further rounds the mean state of the automaton itself in each class takes the place of W.
Models from coarse and fine context classes in several sizes are judged by held-out strings, through the
restart filter, whose restart states are W; the best two go on for as many rounds as pay, and are mixed where
that pays too: a mixture of proper automata is a proper automaton.

The updates are ratios of counts to what factors give them, and what they expect of moves.

    ratio[r, c]   = C[r, c] / (left[r] . right[c])
    expected[a]   = T_a o W^T (C_a / (W T_a K)) K^T,     over the entries of the slice C_a alone

Only rows with entries are ever multiplied: with a large alphabet a symbol stands after few pasts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from sigmastar.automata.counts.on_classes import ContextCounts
from sigmastar.automata.data.contexts import ContextTrie
from sigmastar.automata.data.strings import PrefixTrie, Strings
from sigmastar.automata.kernels.expectations import forward_pass
from sigmastar.automata.learn.anchors import (
    anchor_states,
    background,
    memberships,
    shrunk_states,
    to_probabilistic,
)
from sigmastar.automata.learn.context_operators import (
    ContextModel,
    backoff_of,
    candidate_sizes,
    choose_classes,
    largest_size,
    learn_contexts,
)
from sigmastar.automata.learn.fast import CLASSES, FilteredFit, behind_filter, held_out_score, tune_mixing
from sigmastar.automata.learn.held_out import Held, HeldOut, hold_out
from sigmastar.automata.model.algebra import mixture
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.restart_filter import FilteredAutomaton
from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.jit import fast_kernel, kernel
from sigmastar.core.progress import Progress, silent
from sigmastar.core.resources import thread_map


class SliceEntries(NamedTuple):
    """The entries of all slices C_a, sorted by symbol, row and column."""

    symbols: Int64s  # those that occur
    symbol_starts: Int64s  # where the runs of each begin, with the end added
    run_rows: Int64s  # a run is all entries of one symbol and row
    run_starts: Int64s  # where its entries begin, with the end added
    columns: Int64s
    values: Floats


@fast_kernel
def ratio_sums(
    rows: Int64s, columns: Int64s, counts: Floats, left: Floats, right: Floats
) -> tuple[Floats, Floats]:
    """Of ratio = counts / left[r] . right[c]: sums over c of ratio right[c], and over r of ratio left[r]."""
    n = left.shape[1]
    left_sums, right_sums = np.zeros_like(left), np.zeros_like(right)
    for entry in range(len(counts)):
        row, column = rows[entry], columns[entry]
        value = 0.0
        for state in range(n):
            value += left[row, state] * right[column, state]
        if value > 0.0:
            ratio = counts[entry] / value
            for state in range(n):
                left_sums[row, state] += ratio * right[column, state]
                right_sums[column, state] += ratio * left[row, state]
    return left_sums, right_sums


@kernel
def expected_moves(entries: SliceEntries, mixes: Floats, moves: Floats, emissions: Floats) -> Floats:
    """How often each move is expected under mixes W, moves T and emissions K; symbols x n x n."""
    expected, shape = np.zeros_like(moves), mixes.shape
    before, after, sums = np.empty(shape), np.empty(shape), np.empty(shape)
    for k in range(len(entries.symbols)):
        symbol, first, end = entries.symbols[k], entries.symbol_starts[k], entries.symbol_starts[k + 1]
        met = slice(0, end - first)
        for run in range(first, end):
            for state in range(shape[1]):
                before[run - first, state] = mixes[entries.run_rows[run], state]
        np.dot(before[met], moves[symbol], after[met])
        _sum_ratios(entries, first, after[met], emissions, sums[met])
        np.dot(before[met].T, sums[met], expected[symbol])
        for state in range(shape[1]):
            for target in range(shape[1]):
                expected[symbol, state, target] *= moves[symbol, state, target]
    return expected


@fast_kernel
def _sum_ratios(entries: SliceEntries, first: int, left: Floats, right: Floats, sums: Floats) -> None:
    """The sums over columns of ratio right[c], for runs from `first` on."""
    n = left.shape[1]
    for row in range(len(left)):
        for state in range(n):
            sums[row, state] = 0.0
        for entry in range(entries.run_starts[first + row], entries.run_starts[first + row + 1]):
            column, value = entries.columns[entry], 0.0
            for state in range(n):
                value += left[row, state] * right[column, state]
            if value > 0.0:
                ratio = entries.values[entry] / value
                for state in range(n):
                    sums[row, state] += ratio * right[column, state]


_EMISSION_STEPS, _MEMBERSHIP_STEPS, _EMISSION_AGAIN, _MOVE_STEPS = 20, 15, 8, 30
_MEMBERSHIP_PRIOR, _BACKGROUND, _MOVE_PRIOR = 10.0, 1e-3, 0.05
_N_LEADERS, _MOST_ROUNDS, _ROUND_GAIN, _PATIENCE = 2, 20, 1e-4, 2
_CELLS = 1 << 22  # of forward vectors held at a time


def learn_convex(
    strings: Strings,
    rng: np.random.Generator,
    n_states: int | None = None,
    progress: Progress = silent,
) -> FilteredFit:
    """Learn a proper automaton behind the restart filter.

    Parameters
    ----------
    strings : Strings
        The corpus.
    rng : Generator
        Source of the choice of held-out strings.
    n_states : int or None
        Number of states; None: chosen by held-out likelihood.
    progress : callable
        Told what is being done.

    Returns
    -------
    FilteredFit
        The model and the evidence for its size.
    """
    kept, held = hold_out(strings, rng)
    held_out, trials, most = (
        HeldOut.of(held),
        list[_Trial](),
        largest_size(strings) if n_states is None else n_states,
    )
    for pasts, futures in _numbers_of_classes(strings):
        progress(f"concave stages on {pasts.n_classes} context classes")
        contexts = learn_contexts(ContextCounts.of(kept, pasts, futures), most)
        sizes = candidate_sizes(contexts) if n_states is None else [n_states]
        parts = [contexts.leading(size) for size in reversed(sizes)]  # the longest first
        trials += thread_map(lambda part: _trial(part, held_out, learn_anchor_model(part)), parts)
    leaders = sorted(trials, key=lambda trial: -trial.score)[:_N_LEADERS]
    run = thread_map(lambda trial: _with_rounds(trial, kept, held_out, progress), leaders)
    members = sorted(run, key=lambda trial: -trial.score)[: _N_LEADERS if n_states is None else 1]
    best, weights = _mixed_if_it_pays(members, kept, held_out)
    progress(f"final fit with {best.model.automaton.n_states} states")
    counted = [_with_all_counts(trial.contexts, strings, held) for trial in members[: len(weights)]]
    again = [learn_again(trial.model, part, strings) for trial, part in zip(members, counted, strict=False)]
    model = _mixed(again, weights, counted[0], strings).filtered(counted[0].counts)
    scores = {trial.contexts.n_states: trial.score for trial in sorted(trials, key=lambda t: t.score)}
    evidence = best.contexts.evidence(scores, best.contexts.n_states).judged(held_out.is_held)
    return FilteredFit(
        model.with_mixing(best.mixing), evidence, counted[0], held_out.score_if_held(best.score)
    )


def _numbers_of_classes(strings: Strings) -> Iterator[tuple[ContextTrie, ContextTrie]]:
    """Classes of each size in `CLASSES` that differ: small corpora have no more contexts to offer."""
    sizes = set()
    for pasts, futures in (choose_classes(strings, size) for size in CLASSES):
        if (size := (pasts.n_classes, futures.n_classes)) not in sizes:
            sizes.add(size)
            yield pasts, futures


def _with_all_counts(contexts: ContextModel, strings: Strings, held: Held) -> ContextModel:
    counts = contexts.counts
    if held.are_whole:
        whole = counts + ContextCounts.of(held.strings, counts.pasts, counts.futures)
        return replace(contexts, counts=whole)
    return replace(contexts, counts=ContextCounts.of(strings, counts.pasts, counts.futures))


@dataclass(frozen=True, eq=False)
class AnchorModel:
    """A proper automaton on anchors, and the mix of anchors that each context class stands for."""

    automaton: WeightedAutomaton
    memberships: Floats

    def filtered(self, counts: ContextCounts) -> FilteredAutomaton:
        mass = np.ones(self.automaton.n_states)
        return behind_filter(self.automaton, mass, backoff_of(counts), self.memberships)


@dataclass(frozen=True, eq=False)
class _Trial:
    """A model of one size and its score on held-out strings."""

    contexts: ContextModel
    model: AnchorModel
    score: float
    mixing: Floats


def _trial(contexts: ContextModel, held_out: HeldOut, model: AnchorModel) -> _Trial:
    tuned = tune_mixing(model.filtered(contexts.counts), contexts.counts.past_counts, held_out, 2)
    return _Trial(contexts, model, held_out_score(tuned, held_out), tuned.mixing)


def _mixed_if_it_pays(
    members: Sequence[_Trial], kept: Strings, held_out: HeldOut
) -> tuple[_Trial, list[float]]:
    """The mixture and its weights, or the first member alone if the others bring held-out strings nothing."""
    if len(members) > 1:
        weights = held_out.mixture_weights([trial.model.automaton for trial in members])
        contexts = members[0].contexts
        model = _mixed([trial.model for trial in members], weights, contexts, kept)
        if (mixed := _trial(contexts, held_out, model)).score >= members[0].score + _ROUND_GAIN:
            return mixed, weights
    return members[0], [1.0]


def _mixed(
    models: Sequence[AnchorModel], weights: Sequence[float], contexts: ContextModel, strings: Strings
) -> AnchorModel:
    """One model for several, read in the context classes of `contexts`."""
    if len(models) == 1:
        return models[0]
    automaton = mixture([model.automaton for model in models], weights)
    return AnchorModel(automaton, class_beliefs(automaton, contexts.counts.pasts, strings))


def _with_rounds(trial: _Trial, kept: Strings, held_out: HeldOut, progress: Progress) -> _Trial:
    """Further rounds, as long as held-out data approve; they may lead down before they lead up."""
    best, misses = trial, 0
    for n_rounds in range(1, _MOST_ROUNDS + 1):
        progress(f"concave stages with {trial.contexts.n_states} states, round {n_rounds + 1}")
        trial = _trial(trial.contexts, held_out, learn_again(trial.model, trial.contexts, kept))
        misses = 0 if trial.score >= best.score + _ROUND_GAIN else misses + 1
        best = trial if misses == 0 else best
        if misses == _PATIENCE:
            break
    return best


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
    """Another round: the mean state of the automaton in each class takes the place of the memberships."""
    prior = class_beliefs(model.automaton, contexts.counts.pasts, strings)
    table = _Table.of(contexts.counts)
    emissions = np.tile(table.column_frequencies[:, None], (1, prior.shape[1]))
    emissions = table.fit_emissions(prior, emissions, _EMISSION_STEPS + _EMISSION_AGAIN)
    return _with_moves(contexts, prior, emissions, model.automaton)


def class_beliefs(automaton: WeightedAutomaton, pasts: ContextTrie, strings: Strings) -> Floats:
    """The mean state of a proper automaton over the gaps of each past class: classes x n."""
    sums = np.zeros((pasts.n_classes, automaton.n_states))
    for piece in strings.pieces(max(_CELLS // automaton.n_states, 1)):
        trie = PrefixTrie.of(piece)
        vectors, _ = forward_pass(
            trie.parent, trie.symbol, trie.level_starts, automaton.initial, automaton.transitions
        )
        places = (pasts.classify_prefixes(trie), np.arange(trie.n_nodes))
        weights = sparse.csr_array((trie.through_counts(), places), shape=(pasts.n_classes, trie.n_nodes))
        sums += weights @ vectors
    return _rows_to_one(sums + 1e-3 * sums.sum(axis=0) / sums.sum())


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
            _, sums = ratio_sums(self.rows, self.columns, self.counts, mixes, emissions)
            emissions = emissions * sums
            emissions /= np.maximum(emissions.sum(axis=0), 1e-300)
            emissions = (1.0 - _BACKGROUND) * emissions + _BACKGROUND * self.column_frequencies[:, None]
        return emissions

    def fit_memberships(self, prior: Floats, emissions: Floats, n_steps: int) -> Floats:
        mixes = prior
        for _ in range(n_steps):
            sums, _ = ratio_sums(self.rows, self.columns, self.counts, mixes, emissions)
            mixes = _rows_to_one(mixes * sums + _MEMBERSHIP_PRIOR * prior)
        return mixes


def _with_moves(
    contexts: ContextModel, mixes: Floats, emissions: Floats, start: WeightedAutomaton
) -> AnchorModel:
    """T and f by multiplicative updates; the rows of all T_a and f together sum to one."""
    counts, n, chance = contexts.counts, start.n_states, background(contexts)
    ends, entries = counts.ends.astype(float), _slice_entries(counts)
    moves, stops = start.transitions, start.final
    for _ in range(_MOVE_STEPS):
        expected = expected_moves(entries, mixes, moves, emissions)
        stopping = stops * (mixes.T @ (ends / np.maximum(mixes @ stops, 1e-300)))
        visits = expected.sum(axis=(0, 2)) + stopping
        expected += _MOVE_PRIOR * (visits[None, :, None] / visits.sum()) * chance[:-1, None, None] / n
        stopping = stopping + _MOVE_PRIOR * visits / visits.sum() * chance[-1]
        leaving = np.maximum(expected.sum(axis=(0, 2)) + stopping, 1e-300)
        moves, stops = expected / leaving[None, :, None], stopping / leaving
    first = mixes[counts.pasts.start]
    return AnchorModel(WeightedAutomaton(start.alphabet, first, moves, stops), mixes)


def _slice_entries(counts: ContextCounts) -> SliceEntries:
    """The non-zero entries of all slices C_a, by their runs; all strings may be empty."""
    keys = counts.slice_keys.astype(np.int64)
    runs, columns = np.divmod(keys, counts.futures.n_classes)
    run_starts = np.flatnonzero(np.diff(runs, prepend=-1))
    symbols, rows = np.divmod(runs[run_starts], counts.pasts.n_classes)
    symbol_starts = np.flatnonzero(np.diff(symbols, prepend=-1))
    return SliceEntries(
        symbols[symbol_starts],
        np.append(symbol_starts, len(symbols)),
        rows,
        np.append(run_starts, len(keys)),
        columns,
        counts.slice_counts.astype(float),
    )


def _rows_to_one(matrix: Floats) -> Floats:
    return np.asarray(matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1e-300))
