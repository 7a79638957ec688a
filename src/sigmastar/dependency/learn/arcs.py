"""Training of arc factors and of labels: adaptive gradient steps of conditional log-likelihoods.

    log P(tree | sentence) = log d(tree) + theta . indicators(tree) - log Z(sentence)

with d what distances weigh, over the trees of arcs that the counted automata of the parser let through, and
the gold ones. The mean of theta over the steps is returned. Steps begin small (`_FIRST_SQUARE`), which keeps
rare indicators from being learnt by heart.

Automata with hidden states as a further factor were tried: in the product as they are, learnt from the other
parts of the treebank than the sentence at hand, and by their marginals as indicators. On two development sets
the first two cost half a point to two points, the third gained nothing: trained pairs of siblings know what
they know. So theta is alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.alphabet import Alphabet
from sigmastar.dependency.data.treebank import DependencyTreebank, Heads
from sigmastar.dependency.kernels.arc_features import ascend, ascend_ways
from sigmastar.dependency.kernels.arc_labels import ascend_labels
from sigmastar.dependency.kernels.eisner import all_marginals
from sigmastar.dependency.model.arc_scores import base_weights, score_arcs
from sigmastar.dependency.model.head_automata import HeadAutomata
from sigmastar.dependency.model.parser import DependencyParser
from sigmastar.dependency.model.vocabulary import Encoded, Vocabulary, gathered, word_positions

Array = NDArray[np.float64]
Longs = NDArray[np.int64]

N_BITS = 22
LABEL_BITS = 16
RATE = 0.1
N_EPOCHS = 5
_BATCH = 8
_FIRST_SQUARE = 3.0
_FIRST_LABEL_SQUARE = 0.01


def learn_arcs(
    parser: DependencyParser,
    treebank: DependencyTreebank,
    rng: np.random.Generator,
    n_epochs: int = N_EPOCHS,
    rate: float = RATE,
) -> Array:
    """Theta, from projective trees."""
    neutral = HeadAutomata.neutral(parser.alphabet).arrays
    sentences = parser.vocabulary.encode(treebank)
    theta, drift = np.zeros(1 << N_BITS), np.zeros(1 << N_BITS)
    squares = np.full(1 << N_BITS, _FIRST_SQUARE)
    time = 1.0
    for _ in range(n_epochs):
        for batch in _batches(np.diff(sentences.offsets), rng):
            part = sentences.select(batch)
            assert part.rows is not None
            heads = treebank.head[gathered(sentences.offsets, batch)[0]]
            golds = np.zeros(len(part.rows), dtype=np.int32)
            golds[word_positions(part.offsets)] = heads
            base = base_weights(part, parser.distances, parser.pruner, _places(part, heads))
            scores = score_arcs(part, base, theta)
            signs, _, marginals, expected = all_marginals(
                part.codes,
                np.zeros(len(part.codes), dtype=np.int32),
                part.offsets,
                neutral,
                scores.weights,
                np.ones((1, 2, len(part.rows))),
                parser.scales,
                scores.ways,
            )
            usable, kept = signs > 0, (theta, squares, drift, time, rate)
            ascend(part.rows, part.starts, golds, marginals, part.squares, usable, *kept)
            ascend_ways(
                part.rows, part.starts, golds, scores.way_starts, scores.siblings, expected, usable, *kept
            )
            time += 1.0
    mean: Array = theta - drift / time
    return mean


def _places(sentences: Encoded, heads: Heads) -> Longs:
    """Where the arcs of given trees lie in flat tables [head, modifier]."""
    lengths = np.diff(sentences.offsets)
    begins, width = (np.repeat(of, lengths) for of in (sentences.squares[:-1], lengths + 1))
    number = np.arange(len(heads)) - np.repeat(sentences.offsets[:-1], lengths) + 1
    return begins + width * heads + number


def _batches(lengths: Longs, rng: np.random.Generator) -> Iterator[NDArray[np.intp]]:
    """Sentences of about one length, in random order."""
    order = np.argsort(lengths + 8.0 * rng.random(len(lengths)), kind="stable")
    batches = [order[low : low + _BATCH] for low in range(0, len(order), _BATCH)]
    return (batches[k] for k in rng.permutation(len(batches)))


def learn_labels(
    vocabulary: Vocabulary, treebank: DependencyTreebank, rng: np.random.Generator, n_epochs: int = 4
) -> tuple[Alphabet, Array]:
    """The labels of a treebank, and the weights that predict them."""
    labels = Alphabet(sorted(set(treebank.deprel)))
    rows = vocabulary.rows(treebank, vocabulary.codes(treebank))
    starts = treebank.sentence_offsets + np.arange(len(treebank) + 1)
    places = word_positions(treebank.sentence_offsets)
    heads, numbers = np.zeros(len(rows), dtype=np.int32), np.full(len(rows), -1, dtype=np.int32)
    heads[places], numbers[places] = treebank.head, labels.encode(treebank.deprel)
    theta = np.zeros((1 << LABEL_BITS, len(labels)))
    squares = np.full(theta.shape, _FIRST_LABEL_SQUARE)
    for _ in range(n_epochs):
        ascend_labels(rows, heads, numbers, starts, rng.permutation(len(treebank)), theta, squares, RATE)
    return labels, theta
