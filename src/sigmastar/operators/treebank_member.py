"""One binarised grammar of a treebank parser: from words to marginals, coarse to fine.

    1  a chart of the plain PCFG, with a beam in every cell; items of small posterior go
    2  a grammar of few states, made by joining states of the full one; more items go
    3  the full grammar on what is left
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sigmastar.inference.tree_chart import coarse_chart, coarse_posteriors, fine_posteriors, pruned
from sigmastar.operators.latent_grammar import LatentGrammar
from sigmastar.operators.lexicon import Leaves, LexicalForest, Lexicon
from sigmastar.structures.binary_phrases import Binarization, Symbols
from sigmastar.structures.phrases import Ints, Longs

Array = NDArray[np.float64]
EVERYTHING = np.zeros((0, 0), dtype=np.uint8)


@dataclass(frozen=True)
class Pruning:
    """What may be dropped on the way: shares of the best of a cell, and posteriors."""

    beam: float = 1e-5
    coarse: float = 1e-4
    middle: float = 1e-3

    def relaxed(self) -> Pruning:
        """Nothing but what is next to impossible."""
        return Pruning(0.0, min(self.coarse, 1e-9), min(self.middle, 1e-9))


@dataclass(frozen=True, eq=False)
class Marginals:
    """Posteriors of items: symbols over cells, cells by width. `log_total` is nan where it is not positive."""

    starts: Longs
    items: Ints
    posteriors: Array
    log_total: float


@dataclass(frozen=True, eq=False)
class Stage:
    """A grammar and the vectors of leaves that go with it."""

    grammar: LatentGrammar
    lexicon: Lexicon


@dataclass(frozen=True, eq=False)
class Member:
    """A binarised grammar with all its stages; the first has one state a symbol."""

    binarization: Binarization
    symbols: Symbols
    stages: tuple[Stage, ...]

    @property
    def forest(self) -> LexicalForest:
        return self.stages[0].lexicon.forest

    @property
    def plain(self) -> LatentGrammar:
        return self.stages[0].grammar

    @cached_property
    def pair_starts(self) -> Ints:
        """Where the rules of each pair of children begin: rules are sorted by their children."""
        n = len(self.symbols)
        keys = self.plain.rules[:, 1].astype(np.int64) * n + self.plain.rules[:, 2]
        return np.searchsorted(keys, np.arange(n * n + 1)).astype(np.int32)

    @cached_property
    def parents(self) -> Ints:
        return np.ascontiguousarray(self.plain.rules[:, 0])

    def marginals(
        self,
        words: list[str],
        tags: list[str] | None,
        pruning: Pruning,
        allowed: NDArray[np.uint8] = EVERYTHING,
    ) -> tuple[Marginals, bool]:
        """Posteriors under the last stage whose total is positive, and whether that is the last of all."""
        leaves = self.stages[0].lexicon.leaves(words, tags)
        starts, items, values, exponents, edges = coarse_chart(
            leaves.begin,
            leaves.symbols,
            leaves.scores,
            self.pair_starts,
            self.parents,
            self.plain.tensors,
            self.plain.frequencies,
            pruning.beam,
            self.symbols.base,
            allowed,
        )
        posteriors, log_total = coarse_posteriors(
            starts, items, values, exponents, edges, self.plain.tensors, self.plain.roots
        )
        found = Marginals(starts, items, posteriors, log_total)
        if np.isneginf(log_total):
            return found, False
        least = [pruning.coarse, *([pruning.middle] * (len(self.stages) - 2))]
        for stage, bound in zip(self.stages[1:], least, strict=False):
            starts, items, edges, _ = pruned(starts, items, edges, posteriors, bound)
            fine = stage.lexicon.leaves(words, tags)
            posteriors, log_total = _run(stage, starts, items, exponents, edges, fine)
            if np.isnan(log_total):
                return found, False
            found = Marginals(starts, items, posteriors, log_total)
        return found, True


def _run(
    stage: Stage, starts: Longs, items: Ints, exponents: Longs, edges: Ints, leaves: Leaves
) -> tuple[Array, float]:
    grammar = stage.grammar
    return fine_posteriors(
        starts,
        items,
        exponents,
        edges,
        leaves.begin,
        leaves.symbols,
        leaves.at,
        leaves.vectors,
        grammar.n_states,
        grammar.tensors,
        grammar.offsets,
        grammar.roots,
        grammar.state_at,
    )
