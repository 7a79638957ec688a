"""Training of arc factors and of labels: adaptive gradient steps of conditional log-likelihoods.

    log P(tree | sentence) = log P_automata(tree) + theta . indicators(tree) - log Z(sentence)

The automata stay as they are: theta learns what they do not know. The mean of theta over the steps is
returned. Showing each sentence to automata learnt from the other half of the treebank, because they look
better than they are on their own, was tried too: no gain was seen on two development sets (not a controlled
comparison), and it costs two more fits, so it is left out.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sigmastar.inference.arcs import ascend, fill_log_weights
from sigmastar.inference.eisner import parse_sentences
from sigmastar.inference.labels import ascend_labels
from sigmastar.operators.dependency_parser import DependencyParser
from sigmastar.operators.vocabulary import Vocabulary, word_positions
from sigmastar.structures.alphabet import Alphabet
from sigmastar.structures.dependencies import DependencyTreebank

Array = NDArray[np.float64]
Longs = NDArray[np.int64]

N_BITS = 20
LABEL_BITS = 16
RATE = 0.1
_BATCH = 32
_FIRST_SQUARE = 0.01


def learn_arcs(
    parser: DependencyParser,
    treebank: DependencyTreebank,
    rng: np.random.Generator,
    n_epochs: int = 3,
    rate: float = RATE,
) -> Array:
    """Theta, from projective trees; the parser's own automata are the base measure."""
    rows, starts = parser.vocabulary.rows(treebank, parser.vocabulary.codes(treebank))
    heads = np.zeros(len(rows), dtype=np.int32)
    heads[word_positions(treebank.sentence_offsets)] = treebank.head
    theta, drift = np.zeros(1 << N_BITS), np.zeros(1 << N_BITS)
    squares = np.full(1 << N_BITS, _FIRST_SQUARE)
    time = 1.0
    for _ in range(n_epochs):
        for batch in _batches(np.diff(starts), rng):
            chosen, ends = _rows_of(starts, batch)
            words, golds = np.ascontiguousarray(rows[chosen]), heads[chosen]
            at = np.concatenate([[0], np.cumsum(np.diff(ends) ** 2)])
            weights = np.zeros(at[-1])
            fill_log_weights(words, ends, theta, weights, at)
            offsets = ends - np.arange(len(ends))
            codes = words[word_positions(offsets), 0]
            _, signs, _, marginals = parse_sentences(
                np.ascontiguousarray(codes),
                np.zeros(len(codes), dtype=np.int32),
                offsets,
                parser.automata.arrays,
                np.exp(weights),
                at,
                np.ones((1, 2, len(words))),
                parser.scales,
                parser.single_root,
                True,
            )
            ascend(words, ends, golds, marginals, at, signs > 0, theta, squares, drift, time, rate)
            time += 1.0
    mean: Array = theta - drift / time
    return mean


def _batches(lengths: Longs, rng: np.random.Generator) -> Iterator[NDArray[np.intp]]:
    """Sentences of about one length, in random order."""
    order = np.argsort(lengths + 8.0 * rng.random(len(lengths)), kind="stable")
    batches = [order[low : low + _BATCH] for low in range(0, len(order), _BATCH)]
    return (batches[k] for k in rng.permutation(len(batches)))


def _rows_of(starts: Longs, sentences: NDArray[np.intp]) -> tuple[Longs, Longs]:
    lengths = np.diff(starts)[sentences]
    ends = np.concatenate([[0], np.cumsum(lengths)])
    return np.repeat(starts[sentences] - ends[:-1], lengths) + np.arange(ends[-1]), ends


def learn_labels(
    vocabulary: Vocabulary, treebank: DependencyTreebank, rng: np.random.Generator, n_epochs: int = 4
) -> tuple[Alphabet, Array]:
    """The labels of a treebank, and the weights that predict them."""
    labels = Alphabet(sorted(set(treebank.deprel)))
    rows, starts = vocabulary.rows(treebank, vocabulary.codes(treebank))
    places = word_positions(treebank.sentence_offsets)
    heads, numbers = np.zeros(len(rows), dtype=np.int32), np.full(len(rows), -1, dtype=np.int32)
    heads[places], numbers[places] = treebank.head, labels.encode(treebank.deprel)
    theta = np.zeros((1 << LABEL_BITS, len(labels)))
    squares = np.full(theta.shape, _FIRST_SQUARE)
    for _ in range(n_epochs):
        ascend_labels(rows, heads, numbers, starts, rng.permutation(len(treebank)), theta, squares, RATE)
    return labels, theta
