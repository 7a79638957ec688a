"""Weighted finite taggers: f(x, y) = initial A_{x_1}^{y_1} ... A_{x_L}^{y_L} final, with signed operators.

    alpha_i = alpha_{i-1} sum_b A_{x_i}^b,   mu(i, a) prop. to alpha_{i-1} A_{x_i}^a beta_i
    mu(i, a, b) prop. to alpha_{i-2} A_{x_{i-1}}^a A_{x_i}^b beta_i

Sums over all tags are products of sums (Balle, Carreras and Quattoni 2014, "Prediction with WFTaggers").
Operators belong to tags, A_x^y = p(x | y) A^y, or to pairs, for words that are frequent with the tag; the
rest of the words shares the operator of the tag. Signed operators leave the hull of what was observed: the
normalizer of a sentence may be zero or negative. Then the tags that words alone give stand in, and the
sentence is counted: `TagMarginals.logs` is NaN there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sigmastar.core.arrays import Array, Floats, Int32s, Int64s
from sigmastar.core.jit import kernel, part
from sigmastar.core.scaling import largest_size
from sigmastar.core.stored_parts import Parts, floats, rising
from sigmastar.taggers.data.sentences import TaggedSentences
from sigmastar.taggers.kernels.chains import Lattice, Marginals
from sigmastar.taggers.model.feature_chain import hankel_classes
from sigmastar.taggers.model.lattice import TagLattice, TagMarginals
from sigmastar.taggers.model.lexicon import TagLexicon

KIND = "operators"

_FLOOR = 1e-9


class Operators(NamedTuple):
    """A weighted finite tagger; candidate c of a type acts as weights[c] x operators[operator_of[c]]."""

    initial: Floats
    operators: Floats
    final: Floats
    weights: Floats
    operator_of: Int32s


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

    PARTS: ClassVar[Parts] = Parts(
        arrays={
            "initial": floats("states"),
            "operators": floats("operators", "states", "states"),
            "final": floats("states"),
            "pairs": rising("pairs", of="word_tags"),
            "shares": floats("tags", least=0.0),
        },
    )

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
        sizes = cls.PARTS.check(arrays, header, **lexicon.sizes)
        if sizes["operators"] != sizes["tags"] + sizes["pairs"]:
            raise ValueError("the operators of a tagger do not fit its tags and pairs")
        return cls(*(arrays[name] for name in ("initial", "operators", "final", "pairs", "shares")))


def _clipped(values: Floats, starts: Int64s) -> Floats:
    """Negative entries to nothing, each run to sum one."""
    positive: Floats = np.maximum(values, _FLOOR)
    sums = np.add.reduceat(np.append(positive, 0.0), starts[:-1]) if len(starts) > 1 else np.zeros(0)
    sizes = np.diff(starts)
    divisors: Floats = np.repeat(np.where(sizes > 0, sums, 1.0), sizes)
    return positive / divisors


@kernel
def signed_marginals(lattice: Lattice, low: int, high: int, model: Operators, found: Marginals) -> None:
    """Raw marginals of sentences low..high: they sum to one over the candidates but can be negative.

    Logs get log |normalizer|, NaN where the normalizer is not positive.
    """
    offsets, types, starts = lattice.offsets, lattice.types, lattice.starts
    n, longest, widest = len(model.initial), 1, 1
    for s in range(low, high):
        longest = max(longest, offsets[s + 1] - offsets[s])
    for x in range(len(starts) - 1):
        widest = max(widest, starts[x + 1] - starts[x])
    alpha = np.zeros((longest + 1, n))
    rights, later = np.zeros((widest, n)), np.zeros((widest, n))
    for s in range(low, high):
        first, last = offsets[s], offsets[s + 1]
        if first == last:
            continue
        total = 0.0
        for j in range(n):  # a whole row at once takes seconds to compile
            alpha[0, j] = model.initial[j]
        for i in range(first, last):
            total += _forward(starts[types[i]], starts[types[i] + 1], model, alpha[i - first : i - first + 2])
        whole = 0.0
        for j in range(n):
            whole += alpha[last - first, j] * model.final[j]
        found.logs[s] = total + np.log(whole) if whole > 0.0 else np.nan
        beta, n_later = model.final.copy(), 0
        for i in range(last - 1, first - 1, -1):
            c0, before = starts[types[i]], alpha[i - first]
            here = found.unigrams[lattice.token_starts[i] : lattice.token_starts[i + 1]]
            sums = _unigrams(c0, model, before, beta, rights, here)
            if i + 1 < last:
                block = lattice.block_starts[i + 1]
                pairs = found.bigrams[block : block + len(here) * n_later]
                _pairs(c0, model, before, later[:n_later], pairs)
            n_later = len(here)
            _rescale_back(sums, rights[:n_later], beta, later)


@part
def _rescale_back(sums: Floats, rights: Floats, beta: Floats, later: Floats) -> None:
    """The backward vector of the token before, and its parts by candidates, to a largest entry of one."""
    scale = largest_size(sums)
    divisor = scale if scale > 0.0 else 1.0
    for j in range(len(beta)):
        beta[j] = sums[j] / divisor
        for k in range(len(rights)):
            later[k, j] = rights[k, j] / divisor


@part
def _forward(low: int, high: int, model: Operators, alpha: Floats) -> float:
    """The next forward vector, scaled to a largest entry of one; the logarithm of the scale."""
    row = alpha[1]
    row[:] = 0.0
    for c in range(low, high):
        moved = alpha[0] @ model.operators[model.operator_of[c]]
        for j in range(len(row)):
            row[j] += model.weights[c] * moved[j]
    scale = largest_size(row)
    if scale == 0.0:
        return 0.0
    for j in range(len(row)):
        row[j] /= scale
    return float(np.log(scale))


@part
def _unigrams(
    c0: int, model: Operators, before: Floats, beta: Floats, rights: Floats, found: Floats
) -> Floats:
    """Marginals of the candidates of a token; `rights` gets their backward vectors, the sum is returned."""
    sums, mass = np.zeros(len(beta)), 0.0
    for k in range(len(found)):
        right = model.operators[model.operator_of[c0 + k]] @ beta
        found[k] = 0.0
        for j in range(len(beta)):
            rights[k, j] = model.weights[c0 + k] * right[j]
            sums[j] += rights[k, j]
            found[k] += before[j] * rights[k, j]
        mass += found[k]
    norm = mass if mass != 0.0 else 1.0
    for k in range(len(found)):
        found[k] /= norm
    return sums


@part
def _pairs(c0: int, model: Operators, before: Floats, later: Floats, found: Floats) -> None:
    """Marginals of pairs of candidates, of a token and of the next one with backward vectors `later`."""
    mass, place = 0.0, 0
    for c in range(c0, c0 + len(found) // len(later)):
        left = before @ model.operators[model.operator_of[c]]
        for d in range(len(later)):
            value = 0.0
            for j in range(len(left)):
                value += left[j] * later[d, j]
            found[place] = model.weights[c] * value
            mass += found[place]
            place += 1
    norm = mass if mass != 0.0 else 1.0
    for k in range(len(found)):
        found[k] /= norm
