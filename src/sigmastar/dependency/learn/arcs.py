"""Training of arcs and of labels: adaptive gradient steps of conditional log-likelihoods.

    log P(tree | sentence) = log d(tree) + theta . indicators(tree) - log Z(sentence)

with d what distances weigh, over the trees of arcs that the counted automata of the parser let through, and
the gold ones. The mean of theta over the steps is returned. Steps begin small (`_FIRST_SQUARE`), which keeps
rare indicators from being learned by heart.

Hidden states of head automata beside theta were tried in many ways, and theta is alone: see decision 18.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sigmastar.core.adagrad import averaged
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Floats, Indices, Int32s, Int64s
from sigmastar.core.progress import Progress, silent
from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.dependency.kernels.arc_features import Averaged, Trees, ascend
from sigmastar.dependency.kernels.arc_labels import LabelledTrees, descend_labels
from sigmastar.dependency.kernels.inside_outside import all_marginals
from sigmastar.dependency.kernels.way_features import ascend_stops, ascend_ways
from sigmastar.dependency.learn.word_states import learn_word_states
from sigmastar.dependency.model.arcs import ArcPrior, score_arcs
from sigmastar.dependency.model.decoders import TrainedArcsDecoder
from sigmastar.dependency.model.head_automata import HeadAutomata
from sigmastar.dependency.model.labels import Labeller, label_rows
from sigmastar.dependency.model.vocabulary import Encoded, Vocabulary, gathered, word_positions

N_BITS = 22
LABEL_BITS = 17
RATE = 0.1
ARC_EPOCHS = 5
LABEL_EPOCHS = 4
_BATCH = 8
_FIRST_SQUARE = 3.0
_FIRST_LABEL_SQUARE = 0.1


def learn_arcs(
    vocabulary: Vocabulary,
    prior: ArcPrior,
    treebank: DependencyTreebank,
    rng: np.random.Generator,
    n_epochs: int = ARC_EPOCHS,
    progress: Progress = silent,
) -> TrainedArcsDecoder:
    """Theta, from projective trees."""
    neutral = HeadAutomata.neutral(vocabulary.alphabet).arrays
    sentences = vocabulary.encode(treebank)
    trained = Averaged(np.zeros(1 << N_BITS), np.full(1 << N_BITS, _FIRST_SQUARE), np.zeros(1 << N_BITS))
    time, n_batches = 1.0, -(-len(treebank) // _BATCH)
    for epoch in range(n_epochs):
        for number, batch in enumerate(_batches(np.diff(sentences.offsets), rng)):
            if number % 16 == 0:
                message = f"trained arcs, epoch {epoch + 1} of {n_epochs}"
                progress(message, (epoch + number / n_batches) / n_epochs)
            part, heads = sentences.select(batch), treebank.head[gathered(sentences.offsets, batch)[0]]
            scores = score_arcs(part, prior.weights(part, part.arc_places(heads)), trained.theta)
            found = all_marginals(
                part.codes, part.offsets, neutral, scores.weights, prior.scales, scores.ways
            )
            trees = _trees(part, heads, found.signs)
            ascend(trees, found.arcs, part.squares, trained, RATE, time)
            ascend_ways(trees, scores.way_starts, scores.siblings, found.ways, trained, RATE, time)
            ascend_stops(trees, part.squares, found.stops, trained, RATE, time)
            time += 1.0
    return TrainedArcsDecoder(averaged(trained.theta, trained.drift, time))


def _trees(part: Encoded, heads: Int32s, signs: Floats) -> Trees:
    assert part.rows is not None
    golds = np.zeros(len(part.rows), dtype=np.int32)
    golds[word_positions(part.offsets)] = heads
    return Trees(part.rows, part.starts, golds, signs > 0)


def _batches(lengths: Int64s, rng: np.random.Generator) -> Iterator[Indices]:
    """Sentences of about one length, in random order."""
    order = np.argsort(lengths + 8.0 * rng.random(len(lengths)), kind="stable")
    batches = [order[low : low + _BATCH] for low in range(0, len(order), _BATCH)]
    return (batches[k] for k in rng.permutation(len(batches)))


def learn_labels(
    vocabulary: Vocabulary,
    treebank: DependencyTreebank,
    rng: np.random.Generator,
    n_epochs: int = LABEL_EPOCHS,
    progress: Progress = silent,
) -> Labeller:
    """The labels of a treebank, and the weights that predict them."""
    labels = Alphabet(sorted(set(treebank.deprel)))
    states = learn_word_states(treebank, vocabulary.words, rng) if vocabulary.words else None
    rows = label_rows(vocabulary, treebank, states)
    places = word_positions(treebank.sentence_offsets)
    heads, numbers = np.zeros(len(rows), dtype=np.int32), np.full(len(rows), -1, dtype=np.int32)
    heads[places], numbers[places] = treebank.head, labels.encode(treebank.deprel)
    trees = LabelledTrees(rows, treebank.sentence_offsets + np.arange(len(treebank) + 1), heads, numbers)
    theta = np.zeros((1 << LABEL_BITS, len(labels)))
    squares = np.full(theta.shape, _FIRST_LABEL_SQUARE)
    for epoch in range(n_epochs):
        progress(f"labels of arcs, epoch {epoch + 1} of {n_epochs}", epoch / n_epochs)
        descend_labels(trees, rng.permutation(len(treebank)), theta, squares, RATE)
    return Labeller(labels, theta, states=states)
