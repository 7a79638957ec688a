"""Models of strings by NumPy alone: all strings are read together, one symbol of each at a time.

    states(0) = start,   states(t + 1) = advance(states(t), symbols at t)

so that work is a few array operations per place, whatever the number of strings. Where kernels are not
compiled, loops over strings and contexts would take a thousand times as long.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from sigmastar.automata.data.contexts import ContextTrie
from sigmastar.automata.data.strings import Corpus, Strings, Unknown, as_strings
from sigmastar.automata.model.automaton import WeightedAutomaton, as_distributions
from sigmastar.automata.model.classed import ClassedAutomaton
from sigmastar.automata.model.ngram_smoothing import NgramModel
from sigmastar.automata.model.restart_filter import FilteredAutomaton
from sigmastar.core.alphabet import END, UNKNOWN_CLASS, Alphabet, Symbol
from sigmastar.core.arrays import Array, Floats, Indices, Int32s, Int64s

States: TypeAlias = Any
StringModel: TypeAlias = WeightedAutomaton | FilteredAutomaton | NgramModel | ClassedAutomaton


class SequenceRuntime:
    """What is asked of automata and n-grams, by array operations."""

    def __init__(self, model: StringModel) -> None:
        self.model = model
        self.steps = steps_of(model)

    @property
    def alphabet(self) -> Alphabet:
        """The symbols."""
        return self.model.alphabet

    @cached_property
    def outcomes(self) -> tuple[Symbol, ...]:
        """What may come next: the symbols, and the end of the string."""
        return (*self.alphabet, END)

    def _coded(self, X: Corpus) -> Strings:
        unknown: Unknown = "class" if UNKNOWN_CLASS in self.alphabet else "error"
        return as_strings(X, None, self.alphabet, unknown)

    def predict_proba_next(self, prefixes: Corpus) -> Floats:
        """The probability of each of `outcomes` after each prefix, one row per prefix."""
        strings = self._coded(prefixes)
        found = np.zeros((len(strings), len(self.outcomes)))
        for rows, states, _ in _read(self.steps, strings):
            ending = np.flatnonzero(rows.at_end)
            if len(ending):
                found[rows.strings[ending]] = self.steps.distributions(_chosen(states, ending))
        return found

    def predict_next(self, prefixes: Corpus, top: int | None = None) -> list[tuple[Symbol, ...]]:
        """What comes after each prefix, most likely first; `END` is the end of the string."""
        order = np.argsort(-self.predict_proba_next(prefixes), axis=1, kind="stable")[:, :top]
        return [tuple(self.outcomes[column] for column in row) for row in order.tolist()]

    def score_samples(self, X: Corpus) -> Floats:
        """The natural log-probability of each string; -inf where it has none."""
        strings = self._coded(X)
        logs = np.zeros(len(strings))
        with np.errstate(divide="ignore"):
            for rows, states, symbols in _read(self.steps, strings):
                logs[rows.strings] += self.steps.log_steps(states, rows.at_end, symbols)
        return logs


@dataclass(frozen=True, eq=False)
class _Rows:
    strings: Indices  # that are as long as the place, or longer
    at_end: Array


def _read(steps: Any, strings: Strings) -> Iterable[tuple[_Rows, States, Indices]]:
    """At each place the strings that reach it, their states, and their next symbols (the end's code too)."""
    alive, states = np.arange(len(strings)), steps.start(len(strings))
    lengths, end = strings.lengths, len(strings.alphabet)
    for place in range(int(lengths.max(initial=-1)) + 1):
        at_end = lengths[alive] == place
        symbols = np.full(len(alive), end, dtype=np.intp)
        symbols[~at_end] = strings.codes[strings.offsets[alive[~at_end]] + place]
        yield _Rows(alive, at_end), states, symbols
        going = np.flatnonzero(~at_end)
        states, alive = steps.advance(states, going, symbols[going]), alive[going]


def _chosen(states: States, rows: Indices) -> States:
    return tuple(part[rows] for part in states) if isinstance(states, tuple) else states[rows]


def steps_of(model: StringModel) -> Any:
    """Where strings begin, what comes next, and what follows, of many strings together."""
    if isinstance(model, ClassedAutomaton):
        return _ClassedSteps(replace(model, ngram=plain_ngram(model.ngram)))
    if isinstance(model, NgramModel):
        return _NgramSteps(plain_ngram(model))
    if isinstance(model, FilteredAutomaton):
        return _FilteredSteps(replace(model, backoff=plain_ngram(model.backoff)))
    return _OperatorSteps(model)


@dataclass(frozen=True, eq=False)
class _OperatorSteps:
    """States are forward vectors of any positive length, and the logarithm of what was divided out."""

    model: WeightedAutomaton

    def start(self, size: int) -> States:
        return np.tile(self.model.initial, (size, 1)), np.zeros(size)

    def distributions(self, states: States) -> Floats:
        by_ratio = self.model.spectral_radius < 1.0
        return as_distributions(states[0] @ self.model.next_weights, by_ratio=by_ratio)

    def advance(self, states: States, rows: Indices, symbols: Indices) -> States:
        vectors, logs = states[0][rows], states[1][rows]
        moved = np.empty_like(vectors)
        for symbol in np.flatnonzero(np.bincount(symbols)):
            chosen = symbols == symbol
            moved[chosen] = vectors[chosen] @ self.model.transitions[symbol]
        sizes = np.abs(moved).max(axis=1, initial=0.0)
        sizes = np.where(sizes > 0.0, sizes, 1.0)
        return moved / sizes[:, None], logs + np.log(sizes)

    def log_steps(self, states: States, at_end: Array, symbols: Indices) -> Floats:
        """Nothing on the way; all of log f at the end."""
        values = states[0][at_end] @ self.model.final
        logs = np.zeros(len(at_end))
        logs[at_end] = np.where(values > 0.0, np.log(np.maximum(values, 0.0)) + states[1][at_end], -np.inf)
        return logs


@dataclass(frozen=True, eq=False)
class _FilteredSteps:
    model: FilteredAutomaton

    def start(self, size: int) -> States:
        return self.model.start_states(size)

    def distributions(self, states: States) -> Floats:
        return self.model.distributions(states)

    def advance(self, states: States, rows: Indices, symbols: Indices) -> States:
        return self.model.advance(states, rows, symbols)

    def log_steps(self, states: States, at_end: Array, symbols: Indices) -> Floats:
        rows = self.model.distributions(states)
        return np.log(rows[np.arange(len(rows)), symbols])


@dataclass(frozen=True, eq=False)
class _NgramSteps:
    model: NgramModel

    def start(self, size: int) -> States:
        return np.full(size, self.model.contexts.start, dtype=np.int32)

    def distributions(self, states: States) -> Floats:
        return self.model.distributions(states)

    def advance(self, states: States, rows: Indices, symbols: Indices) -> States:
        return self.model.contexts.follow(states[rows], symbols)

    def log_steps(self, states: States, at_end: Array, symbols: Indices) -> Floats:
        return np.log(self.model.probabilities(states, symbols.astype(np.int32)))


@dataclass(frozen=True, eq=False)
class _ClassedSteps:
    """States are those of the automaton over classes, and the context of the n-gram behind them."""

    model: ClassedAutomaton

    @cached_property
    def inner(self) -> Any:
        return steps_of(self.model.inner)

    def start(self, size: int) -> States:
        context = self.model.ngram.contexts.start
        return *self.inner.start(size), np.full(size, context, dtype=np.int32)

    def distributions(self, states: States) -> Floats:
        return self.model.mixed(self.inner.distributions(states[:-1]), states[-1])

    def advance(self, states: States, rows: Indices, symbols: Indices) -> States:
        classes = self.model.symbols.class_of[symbols]
        contexts = self.model.ngram.contexts.follow(states[-1][rows], symbols)
        return *self.inner.advance(states[:-1], rows, classes), contexts

    def log_steps(self, states: States, at_end: Array, symbols: Indices) -> Floats:
        rows = self.distributions(states)
        return np.log(rows[np.arange(len(rows)), symbols])


def plain_ngram(model: NgramModel) -> NgramModel:
    """The same model, asked by array operations."""
    trie = model.contexts
    contexts = _PlainContexts(trie.n_symbols, trie.direction, trie.parent, trie.symbol)
    return _PlainNgram(model.alphabet, contexts, model.rows)


class _PlainNgram(NgramModel):
    """Back-off by levels: all contexts go to their parents together."""

    @cached_property
    def _keys(self) -> Int64s:
        """context x outcomes + outcome of all entries, sorted."""
        owners = np.repeat(np.arange(self.contexts.n_classes), np.diff(self.rows.row_starts))
        return owners * self.n_outcomes + self.rows.outcomes

    def probabilities(self, contexts: Int32s, outcomes: Int32s) -> Floats:
        result, weights, nodes = np.zeros(len(contexts)), np.ones(len(contexts)), contexts.astype(np.int64)
        keys, own, backoff, parent = self._keys, self.rows.own, self.rows.backoff, self.contexts.parent
        open_rows = np.flatnonzero(outcomes >= 0)
        while len(open_rows):
            wanted = nodes[open_rows] * self.n_outcomes + outcomes[open_rows]
            at = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
            if len(keys):
                result[open_rows] += np.where(keys[at] == wanted, weights[open_rows] * own[at], 0.0)
            weights[open_rows] *= backoff[nodes[open_rows]]
            open_rows = open_rows[nodes[open_rows] != 0]
            nodes[open_rows] = parent[nodes[open_rows]]
        return np.where(outcomes >= 0, result + weights / self.n_outcomes, 0.0)

    def distributions(self, contexts: Int32s) -> Floats:
        size, nodes = len(contexts), contexts.astype(np.int64)
        result, weights, open_rows = np.zeros((size, self.n_outcomes)), np.ones(size), np.arange(size)
        starts, rows = self.rows.row_starts, self.rows
        while len(open_rows):
            at = nodes[open_rows]
            sizes = starts[at + 1] - starts[at]
            ends = np.cumsum(sizes)
            entries = np.arange(int(ends[-1])) + np.repeat(starts[at] - (ends - sizes), sizes)
            owners = np.repeat(open_rows, sizes)
            result[owners, rows.outcomes[entries]] += weights[owners] * rows.own[entries]
            weights[open_rows] *= rows.backoff[at]
            open_rows = open_rows[at != 0]
            nodes[open_rows] = self.contexts.parent[nodes[open_rows]]
        result += (weights / self.n_outcomes)[:, None]
        result /= result.sum(axis=1, keepdims=True)
        return result


class _PlainContexts(ContextTrie):
    """Contexts that follow, found for all pairs of a class and a symbol together."""

    @cached_property
    def _paths(self) -> Int32s:
        """The symbols of each context, the newest first; -1 behind the oldest."""
        paths = np.full((self.n_classes, int(self.depth.max(initial=0))), -1, dtype=np.int32)
        for level in range(paths.shape[1]):
            here = np.flatnonzero(self.depth == level + 1)
            paths[here] = paths[self.parent[here]]
            paths[here, level] = self.symbol[here]
        return paths

    @cached_property
    def _keys(self) -> Int64s:
        starts, symbols, _ = self.children
        owners = np.repeat(np.arange(self.n_classes), np.diff(starts))
        return owners * (self.n_symbols + 1) + symbols

    def follow(self, classes: Int32s, codes: Array) -> Int32s:
        found, going = np.zeros(len(classes), dtype=np.int64), np.flatnonzero(codes >= 0)
        nodes, next_symbols = self.children[2], codes.astype(np.int64)
        for place in range(self._paths.shape[1] + 1):
            if not len(going) or not len(self._keys):
                break
            wanted = found[going] * (self.n_symbols + 1) + next_symbols[going]
            at = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
            is_there = self._keys[at] == wanted
            going = going[is_there]
            found[going] = nodes[at[is_there]]
            if place < self._paths.shape[1]:
                next_symbols[going] = self._paths[classes[going], place]
            going = going[next_symbols[going] >= 0]
        return found.astype(np.int32)
