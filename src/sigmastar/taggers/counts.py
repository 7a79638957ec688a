"""Counts of tagged sentences on disjoint classes of gaps, refined from tags to words.

A gap lies between two tokens. The class of its past starts from the tag before it, is refined by the word of
that tag where both are frequent together, then by the tag before that; the class of its future likewise,
forwards. A refinement that is too rare is skipped. The edge of a sentence is a tag and a word of its own.

    H[r, c] = #{gaps with past class r and future class c}
    H_a[r, c] = #{tokens with symbol a, r the class before it, c the class after it}

Symbols are tags, or (word, tag) pairs: these are the blocks of a weighted finite tagger.

A conditional tagger is a function f(x, y) = P(y | x). Counts are of the joint one, P(x) P(y | x). With q the
frequencies of single inputs, and each event weighed by

    w = q(u) q(v) / P(u, v)              for a gap between inputs u and v
    w = q(u) q(x) q(v) / P(u, x, v)      for a token x between u and v

counts are of q(x) P(y | x) instead, which has the operators q(x) A_x^y: the assumption of Balle, Quattoni
and Carreras (2011) on the distribution of inputs is made true. P is mixed with the product of the q, or
events that occurred by chance would count for too much.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from sigmastar.core.alphabet import Alphabet, string_signature
from sigmastar.core.arrays import Flags, Floats, Int32s, Int64s
from sigmastar.core.integer_counts import totals
from sigmastar.core.recover import Blocks, SparseTensor

LEAST_WORD, LEAST_CLASS = 50, 20
SMOOTHING = 2.0


@dataclass(frozen=True, eq=False)
class InputWeights:
    """One weight per token, and one per gap, in corpus order."""

    tokens: Floats
    gaps: Floats

    @classmethod
    def local(cls, inputs: Int32s, offsets: Int64s, smoothing: float = SMOOTHING) -> InputWeights:
        """By the inputs next to a gap, or by a token's own and those next to it; edges are inputs."""
        edged, at = _edged(inputs, offsets)
        gaps = _independence(np.stack([edged[:-1], edged[1:]]), edged, smoothing)
        around = np.stack([edged[at - 1], edged[at], edged[at + 1]])
        return cls(_independence(around, edged, smoothing), gaps)


def _edged(inputs: Int32s, offsets: Int64s) -> tuple[Int64s, Int64s]:
    """Inputs with an edge before each sentence and at the end, and where the tokens are now."""
    lengths = np.diff(offsets)
    at = np.arange(len(inputs)) + np.repeat(np.arange(len(lengths)), lengths) + 1
    edged = np.full(len(inputs) + len(offsets), int(inputs.max(initial=-1)) + 1, dtype=np.int64)
    edged[at] = inputs
    return edged, at


def _independence(events: Int64s, edged: Int64s, smoothing: float) -> Floats:
    """The product of the q of each event's inputs over its smoothed frequency."""
    _, codes, counts = np.unique(events, axis=1, return_inverse=True, return_counts=True)
    alone = (np.bincount(edged) / len(edged))[events].prod(axis=0)
    together = counts[codes.ravel()] / events.shape[1]
    return np.asarray((1 + smoothing) * alone / (together + smoothing * alone))


@dataclass(frozen=True, eq=False)
class TagContexts:
    """The classes of all gaps, in corpus order: gap g of sentence s is token g - s, or its end."""

    offsets: Int64s
    past: Int64s
    future: Int64s

    @classmethod
    def of(
        cls,
        words: Int32s,
        tags: Int32s,
        offsets: Int64s,
        least_word: int = LEAST_WORD,
        least_class: int = LEAST_CLASS,
    ) -> TagContexts:
        """Classify the gaps of sentences of coded words and tags."""
        tag, word = (_edged(codes, offsets)[0] for codes in (tags, words))
        n = len(tag) - 1
        far_left = np.append(tag.max() + 1, tag)[:n]  # the tag two before gap g, where there is one
        far_right = np.append(tag, tag.max() + 1)[2 : n + 2]
        past = _classes(tag[:n], word[:n], far_left, tag.max(), least_word, least_class)
        future = _classes(tag[1:], word[1:], far_right, tag.max(), least_word, least_class)
        return cls(offsets, past, future)

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.past.max()) + 1, int(self.future.max()) + 1

    @cached_property
    def matrix(self) -> sparse.csr_array:
        """H, counts of pairs of classes."""
        return self.weighted_matrix(None)

    def weighted_matrix(self, weights: InputWeights | None) -> sparse.csr_array:
        """H, with the weights of gaps where they have any."""
        keys, counts = totals(self.past * self.shape[1] + self.future, weights.gaps if weights else None)
        return sparse.csr_array((counts, np.divmod(keys, self.shape[1])), shape=self.shape)

    @cached_property
    def token_gaps(self) -> Int64s:
        """The gap before each token; the gap after it is the next one."""
        lengths = np.diff(self.offsets)
        return np.arange(self.offsets[-1]) + np.repeat(np.arange(len(lengths)), lengths)

    def blocks(self, symbols: Int32s, alphabet: Alphabet, weights: InputWeights | None = None) -> Blocks:
        """Blocks of strings over any symbols of the tokens; events may have weights."""
        signature = string_signature(alphabet)
        stop, symbol = signature.operations
        rows, columns = self.shape
        gaps, n = self.token_gaps, len(self.offsets) - 1
        keys = (symbols.astype(np.int64) * rows + self.past[gaps]) * columns + self.future[gaps + 1]
        found, counts = totals(keys, weights.tokens if weights else None)
        first, last = (edge + np.arange(n) for edge in (self.offsets[:-1], self.offsets[1:]))
        mass = np.ones(len(self.past)) if weights is None else weights.gaps
        ends = np.bincount(self.past[last], mass[last], minlength=rows).astype(float)
        begins = np.bincount(self.future[first], mass[first], minlength=columns) / n
        slices = SparseTensor.of_keys((len(alphabet), rows, columns), found, counts)
        return Blocks(
            signature,
            {"string": self.weighted_matrix(weights)},
            {stop: ends[None], symbol: slices},
            {"string": begins},
        )


def _classes(near: Int64s, word: Int64s, far: Int64s, edge: int, least_word: int, least_class: int) -> Int64s:
    """Refine the near tag by its word, then by the tag beyond; nothing lies beyond the edge."""
    inner = near != edge
    classes = _refined(near, word, inner, least_word)
    return _refined(classes, far, inner, least_class)


def _refined(classes: Int64s, by: Int64s, allowed: Flags, least: int) -> Int64s:
    width = int(by.max()) + 2
    keys = classes * width + by + 1
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    kept = np.where(allowed & (counts[inverse] >= least), keys, classes * width)
    return np.unique(kept, return_inverse=True)[1].astype(np.int64)
