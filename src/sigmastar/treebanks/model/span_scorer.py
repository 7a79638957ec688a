"""A log-linear model of labelled spans beside the grammars of a parser: see `kernels.span_features`.

    mu(chain, i, j) = (1 - share) mean over grammars + share P(labels of the chain over i .. j | sentence)

It knows nothing of states and rules, and looks at words and tags that no rule sees: its errors are others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sigmastar.treebanks.data.phrases import Ints, Longs
from sigmastar.treebanks.kernels.span_features import PAD, span_posteriors, span_scores
from sigmastar.treebanks.kernels.span_labels import best_tags, forbid_others, onto_chains
from sigmastar.treebanks.model.lexicon import LexicalForest

Array = NDArray[np.float64]
Chains = tuple[tuple[str, ...], ...]

KNOWN = 3  # words that occur less often stand for their signature
NO_LABEL, NOT_SCORED = -2, -1
LEAST = 1e-2  # posterior of a label that stands in a chart without grammar


@dataclass(frozen=True, eq=False)
class SpanScorer:
    """Weights of features, a column for each chain of phrase labels; over the words of a forest."""

    forest: LexicalForest
    chains: Chains  # of the parser: they end in a tag at words
    labels: Chains
    weights: NDArray[np.float32]
    share: float = 0.35

    def codes(self, nodes: Longs, tags: Longs) -> tuple[Longs, Longs]:
        """Words and tags of a sentence as features see them, between marks."""
        forest = self.forest
        rare = (nodes < len(forest.words)) & (forest.totals[nodes] < KNOWN)
        words = np.where(rare, forest.above[nodes], nodes)
        return _marked(words, len(forest.above)), _marked(tags, len(forest.tag_names))

    def mixed(self, nodes: Longs, tags: Longs, starts: Longs, chains: Ints, values: Array) -> Array:
        """mu of the chains of a chart, this model in it; for tags of -1 stand those the chart finds best."""
        n = len(nodes)
        found = best_tags(n, starts, chains, values, self.chain_tags, len(self.forest.tag_names))
        words, tags = self.codes(nodes, np.where(tags >= 0, tags, found))
        alive = (np.diff(starts) > 0).astype(np.uint8)
        scores = span_scores(words, tags, self.weights, alive)
        forbid_others(n, starts, chains, *self._columns, scores)
        posteriors, log_total = span_posteriors(n, scores, alive)
        if np.isneginf(log_total):
            return values
        mine = onto_chains(n, starts, chains, values, posteriors, self.chain_tags, *self._columns)
        return (1.0 - self.share) * values + self.share * mine

    def alone(self, nodes: Longs, tags: Sequence[str]) -> tuple[Longs, Ints, Array] | None:
        """A chart of this model without any grammar: starts, chains, values; None for tags it never saw."""
        n, (leaf_columns, phrase_columns) = len(nodes), self._columns
        codes = np.array([self.forest.tag_codes.get(tag, -1) for tag in tags], dtype=np.int64)
        mine = [np.flatnonzero((self.chain_tags == code) & (leaf_columns != NOT_SCORED)) for code in codes]
        if n < 2 or codes.min() < 0 or not all((leaf_columns[chains] == NO_LABEL).any() for chains in mine):
            return None
        alive = np.ones(n * (n + 1) // 2, dtype=np.uint8)
        posteriors, _ = span_posteriors(n, span_scores(*self.codes(nodes, codes), self.weights, alive), alive)
        phrases = np.flatnonzero(phrase_columns >= 0)
        cell, which = np.nonzero(posteriors[n:, phrase_columns[phrases]] > LEAST)
        counts = np.concatenate(
            [[len(chains) for chains in mine], np.bincount(cell, minlength=len(alive) - n)]
        )
        if counts[-1] == 0:  # no label that phrases have is probable at the root
            return None
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        chains = np.concatenate([*mine, phrases[which]]).astype(np.int32)
        even = np.repeat(1.0 / np.maximum(counts, 1), counts)
        return (
            starts,
            chains,
            onto_chains(n, starts, chains, even, posteriors, self.chain_tags, *self._columns),
        )

    @cached_property
    def chain_tags(self) -> Longs:
        """The tag at the end of every chain, -1 for those of phrases."""
        codes = self.forest.tag_codes
        return np.array([codes.get(chain[-1], -1) for chain in self.chains], dtype=np.int64)

    @cached_property
    def _columns(self) -> tuple[Longs, Longs]:
        """The column of every chain over one word, where its tag does not count, and over several."""
        column = {label: number for number, label in enumerate(self.labels)}
        leaves = [column.get(chain[:-1], NOT_SCORED) if chain[1:] else NO_LABEL for chain in self.chains]
        phrases = [column.get(chain, NOT_SCORED) for chain in self.chains]
        return np.array(leaves, dtype=np.int64), np.array(phrases, dtype=np.int64)

    def to_parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        header = {"labels": [list(label) for label in self.labels], "share": self.share}
        return {"weights": self.weights.astype(np.float16)}, header

    @classmethod
    def from_parts(
        cls, arrays: dict[str, NDArray[Any]], header: dict[str, Any], forest: LexicalForest, chains: Chains
    ) -> SpanScorer:
        labels = tuple(tuple(label) for label in header["labels"])
        weights = arrays["weights"].astype(np.float32)
        if weights.ndim != 2 or weights.shape[1] != len(labels):
            raise ValueError("weights of spans do not fit their labels")
        return cls(forest, chains, labels, weights, float(header["share"]))


def _marked(codes: Sequence[int] | Longs, n_codes: int) -> Longs:
    """With marks before and behind that no word has."""
    before, behind = np.full(PAD, n_codes), np.full(PAD, n_codes + 1)
    return np.concatenate([before, np.asarray(codes, dtype=np.int64), behind])
