"""Learn max-margin taggers of Hankel blocks: the structured hinge under the nuclear norm of the block.

    min over H   1/N sum_sentences max_y (score(x, y) + wrong tags of y) - score(x, gold)   +   weight |H|_*

with the maximum over all taggings by dynamic programming; N is the number of words. H = L R^T goes by the
factored form of the nuclear norm (`optimise.factored`), from the correlations of what stands before and
behind the gaps of the training sentences. The hinge has kinks, so L-BFGS has no guarantee here; as a sum over
thousands of sentences it is smooth enough in practice. Quattoni, Balle, Carreras and Globerson (2014).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.progress import Progress, silent
from sigmastar.core.views import correlate, shortened
from sigmastar.optimise.factored import factored, triples_of_product
from sigmastar.optimise.solvers import SolverStep
from sigmastar.taggers.data.feature_templates import TemplateFeatures
from sigmastar.taggers.kernels.max_margin import Bistrings, Factors, hinge
from sigmastar.taggers.learn.lexicon import TaggedCorpus
from sigmastar.taggers.model.max_margin import GapLattice, HankelTags

RANK, N_ITERATIONS = 16, 60
WEIGHT = 0.02  # of the nuclear norm, times 1 / sqrt(words)
LEAST_BISTRING = 2


@dataclass(frozen=True, eq=False)
class HingeLoss:
    """The mean structured hinge as a function of L and R."""

    gaps: GapLattice
    nodes: Floats  # with the cost of wrong tags
    bistrings: Bistrings
    gold: Int32s
    shape: tuple[int, int]

    @classmethod
    def of(cls, gaps: GapLattice, bistrings: Bistrings, gold: Int32s, shape: tuple[int, int]) -> HingeLoss:
        nodes = gaps.nodes + np.repeat(gaps.is_word, gaps.padded.n_candidates)
        nodes[(gaps.padded.token_starts[:-1] + gold)[gaps.is_word]] -= 1.0
        return cls(gaps, nodes, bistrings, gold, shape)

    def factored(self, left: Floats, right: Floats) -> tuple[float, Floats, Floats]:
        """The loss at L R^T, and subgradients in L and R."""
        slopes, factors = Factors(np.zeros_like(left), np.zeros_like(right)), Factors(left, right)
        value = hinge(self.gaps.padded.arrays, self.nodes, self.bistrings, self.gold, factors, slopes)
        n_words = max(int(self.gaps.is_word.sum()), 1)
        return value / n_words, slopes.left / n_words, slopes.right / n_words


def learn_hankel(
    corpus: TaggedCorpus,
    rng: np.random.Generator,
    rank: int = RANK,
    n_iterations: int = N_ITERATIONS,
    weight: float = WEIGHT,
    progress: Progress = silent,
) -> HankelTags:
    """A block of at most so many dimensions."""
    gaps = GapLattice.of(corpus.lexicon, corpus.sentences, with_gold=True)
    gold = gaps.gold(corpus.tags)
    pairs = gaps.gold_pairs(gold)
    prefixes, suffixes = (
        TemplateFeatures.of([column[pairs] for column in gaps.columns(side)], LEAST_BISTRING)
        for side in (True, False)
    )
    bistrings = gaps.bistrings(prefixes, suffixes)
    shape = (prefixes.n_features, suffixes.n_features)
    loss = HingeLoss.of(gaps, bistrings, gold, shape)
    start = spectral_start(gaps, bistrings, pairs, shape, rank)

    def watch(step: SolverStep) -> bool:
        progress(f"Hankel block, iteration {step.iteration}", step.iteration / n_iterations)
        return False

    weight = weight / np.sqrt(corpus.sentences.n_words)
    found = factored(loss, weight, rank, rng, n_iterations, tolerance=1e-4, watch=watch, start=start)
    triples = triples_of_product(found.left, found.right)
    root = np.sqrt(triples.singular_values)
    return HankelTags(prefixes, suffixes, triples.left * root, triples.right * root)


def spectral_start(
    gaps: GapLattice, bistrings: Bistrings, pairs: Int64s, shape: tuple[int, int], rank: int
) -> tuple[Floats, Floats]:
    """L and R from the correlations of gold prefixes with gold suffixes."""
    lengths = np.diff(gaps.padded.offsets)
    place = np.arange(len(pairs)) - np.repeat(np.cumsum(lengths - 1) - (lengths - 1), lengths - 1)
    behind = np.flatnonzero(place >= 2)  # two tokens on, the suffix that follows a prefix
    counts = _indicators(bistrings.prefix[pairs[behind - 2]], shape[0]).T @ _indicators(
        bistrings.suffix[pairs[behind]], shape[1]
    )
    found = correlate(sparse.csr_array(counts), rank)
    left, right = (side / found.total**0.25 for side in (found.left(0.5), found.right(0.5)))
    return shortened(left), shortened(right)


def _indicators(codes: Int32s, n: int) -> sparse.csr_array:
    rows, columns = np.nonzero(codes >= 0)
    ones = np.ones(len(rows))
    return sparse.csr_array((ones, (rows, codes[rows, columns])), shape=(len(codes), n))
