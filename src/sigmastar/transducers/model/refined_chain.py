"""Markov chains over symbols refined into substates: sparse, with a bigram behind them.

A symbol has as many substates as its data bears; moves are stored only for pairs of symbols that were
seen (`kernels.refined_chain` states the formula). As a weighted automaton it has a state a substate,
thousands of them; as blocks it is small and fast.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.ngram import NgramModel
from sigmastar.core.alphabet import Alphabet
from sigmastar.transducers.kernels.refined_chain import chain_expectations, chain_probabilities

Array = NDArray[np.float64]
Integers = NDArray[np.int32]
Longs = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RefinedChain:
    """Substates `firsts[a] .. firsts[a + 1]` belong to symbol a; the edge of strings is the last symbol."""

    bigram: NgramModel
    firsts: Longs
    pair_keys: Longs  # of the pairs of symbols that have blocks, a * (symbols + 1) + b, sorted
    blocks: Array
    spare: Array  # a substate
    shares: Array  # p(z | a)

    @property
    def alphabet(self) -> Alphabet:
        return self.bigram.alphabet

    @property
    def n_substates(self) -> int:
        return int(self.firsts[-1])

    @cached_property
    def block_starts(self) -> Longs:
        sizes = np.diff(self.firsts)
        before, after = np.divmod(self.pair_keys, len(self.alphabet) + 1)
        return np.concatenate([[0], np.cumsum(sizes[before] * sizes[after])])

    def pairs_of(self, symbols: Integers) -> Longs:
        """The number of the pair of each symbol with the next, -1 where it has no block."""
        width, keys = len(self.alphabet) + 1, self.pair_keys
        wanted = symbols[:-1].astype(np.int64) * width + symbols[1:]
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        known = (keys[at] == wanted) & (symbols[:-1] >= 0) & (symbols[1:] >= 0)
        return np.append(np.where(known, at, -1), -1)

    def log_probability(self, strings: Strings) -> Array:
        with np.errstate(divide="ignore"):
            logs = np.log(self.outcome_probabilities(strings))
        return np.add.reduceat(logs, strings.offsets[:-1] + np.arange(len(strings))) if len(strings) else logs

    def outcome_probabilities(self, strings: Strings) -> Array:
        """p(what follows | what came before) at every gap; zero where either holds an unknown symbol."""
        strings = strings.recoded(self.alphabet, allow_unknown=True)
        symbols, ends = flat_with_edges(strings)
        known = np.maximum(symbols, 0)
        bigrams = np.append(self.bigram.probabilities(self._after[known[:-1]], known[1:]), 0.0)
        parts = (self.firsts, self.block_starts, self.blocks, self.spare, self.shares)
        steps = chain_probabilities(known, ends, self.pairs_of(known), bigrams, *parts)
        steps[:-1][(symbols[:-1] < 0) | (symbols[1:] < 0)] = 0.0
        inner = np.ones(len(symbols), dtype=bool)
        inner[ends[1:] - 1] = False
        return steps[inner]

    def expected(self, symbols: Integers, ends: Longs, pairs: Longs) -> tuple[Array, float]:
        """Expected counts of the moves, and the log-likelihood."""
        return chain_expectations(symbols, ends, pairs, self.firsts, self.block_starts, self.blocks)

    def with_moves(self, blocks: Array, spare: Array, shares: Array) -> RefinedChain:
        return replace(self, blocks=blocks, spare=spare, shares=shares)

    @cached_property
    def _after(self) -> Integers:
        """The context of the bigram after each symbol, and after the edge."""
        contexts, n = self.bigram.contexts, len(self.alphabet)
        nothing = np.zeros(n, dtype=np.int32)
        return np.append(contexts.follow(nothing, np.arange(n)), np.int32(contexts.start))

    def to_parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        arrays, header = self.bigram.to_parts()
        parts = {f"bigram.{name}": array for name, array in arrays.items()}
        for name in ("firsts", "pair_keys", "blocks", "spare", "shares"):
            parts[name] = getattr(self, name)
        return parts, header

    @classmethod
    def from_parts(cls, arrays: dict[str, NDArray[Any]], header: dict[str, Any]) -> RefinedChain:
        below = {name.removeprefix("bigram."): array for name, array in arrays.items()}
        names = ("firsts", "pair_keys", "blocks", "spare", "shares")
        chain = cls(NgramModel.from_parts(below, header), *(arrays[name] for name in names))
        chain._require_fit()
        return chain

    def _require_fit(self) -> None:
        """Refuse tables that kernels would read out of bounds."""
        width, n = len(self.alphabet) + 1, self.n_substates
        fits = (
            self.firsts.shape == (width + 1,)
            and self.firsts[0] == 0
            and bool((np.diff(self.firsts) >= 1).all())
            and len(self.pair_keys) > 0
            and bool((np.diff(self.pair_keys) > 0).all())
            and self.pair_keys[0] >= 0
            and self.pair_keys[-1] < width * width
            and len(self.blocks) == self.block_starts[-1]
            and self.spare.shape == self.shares.shape == (n,)
        )
        if not fits:
            raise ValueError("the tables of a refined chain do not fit each other")


def flat_with_edges(strings: Strings) -> tuple[Integers, Longs]:
    """All strings in a row, each between two edge symbols, and where each begins and ends."""
    edge = len(strings.alphabet)
    lengths = strings.lengths + 2
    ends = np.concatenate([[0], np.cumsum(lengths)])
    symbols = np.full(ends[-1], edge, dtype=np.int32)
    inner = np.ones(ends[-1], dtype=bool)
    inner[ends[:-1]] = False
    inner[ends[1:] - 1] = False
    symbols[inner] = strings.codes
    return symbols, ends
