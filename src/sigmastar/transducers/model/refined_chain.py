"""Markov chains over symbols refined into substates: sparse, with a bigram behind them.

A symbol has as many substates as its data bears; moves are stored only for pairs of symbols that were
seen (`kernels.refined_chain` states the formula). As a weighted automaton it has one state per substate,
thousands of them; as blocks it is small and fast.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.ngram import NgramModel
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Array, Floats, Int32s, Int64s
from sigmastar.transducers.kernels.refined_chain import (
    ChainArrays,
    ChainText,
    chain_expectations,
    chain_probabilities,
)

_TABLES = ("firsts", "pair_keys", "blocks", "spare", "shares")


@dataclass(frozen=True, eq=False)
class RefinedChain:
    """Substates `firsts[a] .. firsts[a + 1]` belong to symbol a; the edge of strings is the last symbol."""

    bigram: NgramModel
    firsts: Int64s
    pair_keys: Int64s  # of the pairs of symbols that have blocks, a * (symbols + 1) + b, sorted
    blocks: Floats
    spare: Floats  # per substate
    shares: Floats  # p(z | a)

    @property
    def alphabet(self) -> Alphabet:
        return self.bigram.alphabet

    @property
    def n_substates(self) -> int:
        return int(self.firsts[-1])

    @cached_property
    def block_starts(self) -> Int64s:
        sizes = np.diff(self.firsts)
        before, after = np.divmod(self.pair_keys, len(self.alphabet) + 1)
        return np.concatenate([[0], np.cumsum(sizes[before] * sizes[after])])

    @property
    def arrays(self) -> ChainArrays:
        return ChainArrays(self.firsts, self.block_starts, self.blocks, self.spare, self.shares)

    def text(self, strings: Strings, with_bigrams: bool = True) -> ChainText:
        """Strings as kernels read them; unknown symbols are taken for the first one."""
        flat, ends = flat_with_edges(strings)
        symbols = np.maximum(flat, 0)
        bigrams = np.zeros(len(symbols))
        if with_bigrams:
            bigrams[:-1] = self.bigram.probabilities(self.after_symbol[symbols[:-1]], symbols[1:])
        return ChainText(symbols, ends, self._pairs_of(symbols), bigrams)

    def _pairs_of(self, symbols: Int32s) -> Int64s:
        """The number of the pair of each symbol with the next, -1 where it has no block."""
        width, keys = len(self.alphabet) + 1, self.pair_keys
        wanted = symbols[:-1].astype(np.int64) * width + symbols[1:]
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.append(np.where(keys[at] == wanted, at, -1), -1)

    def log_probability(self, strings: Strings) -> Floats:
        with np.errstate(divide="ignore"):
            logs = np.log(self.outcome_probabilities(strings))
        return np.add.reduceat(logs, strings.offsets[:-1] + np.arange(len(strings))) if len(strings) else logs

    def outcome_probabilities(self, strings: Strings) -> Floats:
        """p(what follows | what came before) at every gap; zero where either holds an unknown symbol."""
        strings = strings.recoded(self.alphabet, allow_unknown=True)
        text = self.text(strings)
        steps = chain_probabilities(text, self.arrays)
        symbols, _ = flat_with_edges(strings)
        steps[:-1][(symbols[:-1] < 0) | (symbols[1:] < 0)] = 0.0
        inner = np.ones(len(symbols), dtype=bool)
        inner[text.ends[1:] - 1] = False
        return steps[inner]

    def expected(self, text: ChainText) -> tuple[Floats, float]:
        """Expected counts of the moves, and the log-likelihood."""
        return chain_expectations(text, self.arrays)

    def with_moves(self, blocks: Floats, spare: Floats, shares: Floats) -> RefinedChain:
        return replace(self, blocks=blocks, spare=spare, shares=shares)

    @cached_property
    def after_symbol(self) -> Int32s:
        """The context of the bigram after each symbol, and after the edge."""
        contexts, n = self.bigram.contexts, len(self.alphabet)
        nothing = np.zeros(n, dtype=np.int32)
        return np.append(contexts.follow(nothing, np.arange(n)), np.int32(contexts.start))

    def to_parts(self) -> tuple[dict[str, Array], dict[str, Any]]:
        arrays, header = self.bigram.to_parts()
        parts = {f"bigram.{name}": array for name, array in arrays.items()}
        return parts | {name: getattr(self, name) for name in _TABLES}, header

    @classmethod
    def from_parts(cls, arrays: dict[str, Array], header: dict[str, Any]) -> RefinedChain:
        below = {name.removeprefix("bigram."): array for name, array in arrays.items()}
        chain = cls(NgramModel.from_parts(below, header), *(arrays[name] for name in _TABLES))
        chain._require_fit()
        return chain

    def _require_fit(self) -> None:
        """Refuse tables that kernels would read out of bounds."""
        width, n = len(self.alphabet) + 1, self.n_substates
        fits = (
            self.firsts.shape == (width + 1,)
            and self.firsts[0] == 0
            and bool((np.diff(self.firsts) >= 1).all())
            and self.firsts[-1] - self.firsts[-2] == 1
            and len(self.pair_keys) > 0
            and bool((np.diff(self.pair_keys) > 0).all())
            and self.pair_keys[0] >= 0
            and self.pair_keys[-1] < width * width
            and len(self.blocks) == self.block_starts[-1]
            and self.spare.shape == self.shares.shape == (n,)
        )
        if not fits:
            raise ValueError("the tables of a refined chain do not fit each other")


def flat_with_edges(strings: Strings) -> tuple[Int32s, Int64s]:
    """All strings in a row, each between two edge symbols, and where each begins and ends."""
    edge = len(strings.alphabet)
    ends = np.concatenate([[0], np.cumsum(strings.lengths + 2)])
    symbols = np.full(ends[-1], edge, dtype=np.int32)
    inner = np.ones(ends[-1], dtype=bool)
    inner[ends[:-1]] = False
    inner[ends[1:] - 1] = False
    symbols[inner] = strings.codes
    return symbols, ends
