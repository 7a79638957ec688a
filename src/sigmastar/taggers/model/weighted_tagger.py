"""Weighted finite taggers: f(x, y) = initial A_{x_1}^{y_1} ... A_{x_L}^{y_L} final, with signed operators.

Operators hang on tags, A_x^y = p(x | y) A^y, or on pairs, for words that are frequent with the tag; the
rest of the words shares the operator of the tag. Signed operators leave the hull of what was observed: the
normaliser of a sentence may be zero or negative. Then the tags that words alone give stand in, and the
sentence is counted: `TagMarginals.logs` is NaN there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sigmastar.taggers.data.sentences import TaggedSentences
from sigmastar.taggers.kernels.operators import signed_marginals
from sigmastar.taggers.model.lattice import TagLattice, TagMarginals
from sigmastar.taggers.model.lexicon import TagLexicon
from sigmastar.taggers.model.margin import hankel_classes

Array = NDArray[np.float64]
Longs = NDArray[np.int64]
KIND = "operators"

_FLOOR = 1e-9


@dataclass(frozen=True, eq=False)
class WeightedTagger:
    """Operators of tags, then of frequent pairs: `pairs` holds word x n_tags + tag, sorted."""

    initial: Array
    operators: Array
    final: Array
    pairs: Longs
    shares: Array  # of the tokens of each tag, those whose word has no operator of its own

    @property
    def n_states(self) -> int:
        return len(self.initial)

    def raw_marginals(
        self, lexicon: TagLexicon, sentences: TaggedSentences, lattice: TagLattice
    ) -> TagMarginals:
        """Marginals as the operators give them: they sum to one, and may be negative."""
        found = lattice.empty()
        which = hankel_classes(self.pairs, lexicon, sentences.types, lattice)
        ratios = lattice.chances / lexicon.prior[lattice.tags]  # p(x | t) up to a factor of the word alone
        weights = np.where(which < lexicon.n_tags, ratios / self.shares[lattice.tags], 1.0)
        mass = self._word_mass(lexicon, sentences, lattice, which)
        weights = np.where(which < lexicon.n_tags, weights * mass, 1.0)

        def task(low: int, high: int) -> None:
            signed_marginals(
                lattice.offsets, low, high, lattice.types, lattice.starts, lattice.token_starts,
                lattice.block_starts, weights, which, self.initial, self.operators, self.final,
                found.unigrams, found.bigrams, found.logs,
            )  # fmt: skip

        lattice.each_shard(task)
        return found

    def _word_mass(
        self, lexicon: TagLexicon, sentences: TaggedSentences, lattice: TagLattice, which: NDArray[np.int32]
    ) -> Array:
        """p(x), so that candidates of one word with and without an operator of their own are alike."""
        totals = np.asarray(lexicon.counts.sum(axis=1)).ravel()
        codes = lexicon.codes(sentences.types)
        mass = np.where(codes >= 0, totals[np.maximum(codes, 0)], 1.0) / totals.sum()
        return np.repeat(mass, np.diff(lattice.starts))

    def marginals(self, lexicon: TagLexicon, sentences: TaggedSentences, lattice: TagLattice) -> TagMarginals:
        """Clipped marginals; where the normaliser is not positive, what words alone say."""
        raw = self.raw_marginals(lexicon, sentences, lattice)
        bad = np.isnan(raw.logs)
        sentence_of = np.repeat(np.arange(len(bad)), np.diff(lattice.offsets))
        sizes = np.diff(lattice.block_starts)
        alone = lattice.chances[lattice.candidate_of]
        unigrams = np.where(
            bad[sentence_of][lattice.token_of], alone, _clipped(raw.unigrams, lattice.token_starts)
        )
        pairs = np.repeat(bad[sentence_of], sizes)
        bigrams = np.where(pairs, 1.0, _clipped(raw.bigrams, lattice.block_starts))
        return TagMarginals(lattice, unigrams, bigrams, raw.logs)

    def to_parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        arrays: dict[str, NDArray[Any]] = {
            "initial": self.initial,
            "operators": self.operators,
            "final": self.final,
            "pairs": self.pairs,
            "shares": self.shares,
        }
        return arrays, {"kind": KIND}

    @classmethod
    def from_parts(cls, arrays: dict[str, NDArray[Any]], header: dict[str, Any]) -> WeightedTagger:
        parts = [arrays[name] for name in ("initial", "operators", "final", "pairs", "shares")]
        n = len(parts[0])
        if parts[1].shape != (len(parts[4]) + len(parts[3]), n, n) or parts[2].shape != (n,):
            raise ValueError("the operators of a tagger do not fit each other")
        return cls(*parts)


def _clipped(values: Array, starts: Longs) -> Array:
    """Negative entries to nothing, each run to sum one."""
    positive: Array = np.maximum(values, _FLOOR)
    sums = np.add.reduceat(np.append(positive, 0.0), starts[:-1]) if len(starts) > 1 else np.zeros(0)
    sizes = np.diff(starts)
    divisors: Array = np.repeat(np.where(sizes > 0, sums, 1.0), sizes)
    return positive / divisors
