"""Weighted finite taggers: f(x, y) = initial A_{x_1}^{y_1} ... A_{x_L}^{y_L} final, with signed operators.

Operators hang on tags, A_x^y = p(x | y) A^y, or on pairs, for words that are frequent with the tag; the
rest of the words shares the operator of the tag. Signed operators leave the hull of what was observed: the
normalizer of a sentence may be zero or negative. Then the tags that words alone give stand in, and the
sentence is counted: `TagMarginals.logs` is NaN there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sigmastar.core.arrays import Array, Floats, Int32s, Int64s
from sigmastar.taggers.data.sentences import TaggedSentences
from sigmastar.taggers.kernels.operators import Operators, signed_marginals
from sigmastar.taggers.model.lattice import TagLattice, TagMarginals
from sigmastar.taggers.model.lexicon import TagLexicon
from sigmastar.taggers.model.margin import hankel_classes

KIND = "operators"

_FLOOR = 1e-9


@dataclass(frozen=True, eq=False)
class WeightedTagger:
    """Operators of tags, then of frequent pairs: `pairs` holds word x n_tags + tag, sorted."""

    initial: Floats
    operators: Floats
    final: Floats
    pairs: Int64s
    shares: Floats  # of the tokens of each tag, those whose word has no operator of its own

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
        model = Operators(self.initial, self.operators, self.final, weights, which)

        def task(low: int, high: int) -> None:
            signed_marginals(lattice.arrays, low, high, model, found.arrays)

        lattice.each_shard(task)
        return found

    def _word_mass(
        self, lexicon: TagLexicon, sentences: TaggedSentences, lattice: TagLattice, which: Int32s
    ) -> Floats:
        """p(x), so that candidates of one word with and without an operator of their own are alike."""
        totals = np.asarray(lexicon.counts.sum(axis=1)).ravel()
        codes = lexicon.codes(sentences.types)
        mass = np.where(codes >= 0, totals[np.maximum(codes, 0)], 1.0) / totals.sum()
        return np.repeat(mass, np.diff(lattice.starts))

    def marginals(self, lexicon: TagLexicon, sentences: TaggedSentences, lattice: TagLattice) -> TagMarginals:
        """Clipped marginals; where the normalizer is not positive, the chances of tags by the word alone."""
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

    def to_parts(self) -> tuple[dict[str, Array], dict[str, Any]]:
        arrays: dict[str, Array] = {
            "initial": self.initial,
            "operators": self.operators,
            "final": self.final,
            "pairs": self.pairs,
            "shares": self.shares,
        }
        return arrays, {"kind": KIND}

    @classmethod
    def from_parts(
        cls, arrays: dict[str, Array], header: dict[str, Any], lexicon: TagLexicon
    ) -> WeightedTagger:
        initial, operators, final, shares = (
            arrays[name].astype(np.float64) for name in ("initial", "operators", "final", "shares")
        )
        pairs, n, n_tags = arrays["pairs"].astype(np.int64), len(initial), lexicon.n_tags
        if pairs.ndim != 1 or shares.shape != (n_tags,):
            raise ValueError("the operators of a tagger do not fit its tags")
        if operators.shape != (n_tags + len(pairs), n, n) or not initial.shape == final.shape == (n,):
            raise ValueError("the operators of a tagger do not fit each other")
        return cls(initial, operators, final, pairs, shares)


def _clipped(values: Floats, starts: Int64s) -> Floats:
    """Negative entries to nothing, each run to sum one."""
    positive: Floats = np.maximum(values, _FLOOR)
    sums = np.add.reduceat(np.append(positive, 0.0), starts[:-1]) if len(starts) > 1 else np.zeros(0)
    sizes = np.diff(starts)
    divisors: Floats = np.repeat(np.where(sizes > 0, sums, 1.0), sizes)
    return positive / divisors
