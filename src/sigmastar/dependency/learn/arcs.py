"""Training of arcs and of labels: adaptive gradient steps of conditional log-likelihoods.

    log P(tree | sentence) = log d(tree) + theta . indicators(tree) - log Z(sentence)

with d what distances weigh, over the trees of arcs that the counted automata of the parser let through, and
the gold ones. The mean of theta over the steps is returned. Steps begin small (`_FIRST_SQUARE`), which keeps
rare indicators from being learned by heart.

Hidden states of head automata beside theta were tried in many ways, and theta is alone: see decisions 18 and
33.
Labels know states of words, from two views, the second idea:

    inside    tag, endings and word
    outside   relation and head; modifiers and their relations; the tags and frequent words beside

Both views are correlated over all words of a treebank, words become points, and k-means makes states of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

import numpy as np
from scipy import sparse

from sigmastar.core.adagrad import averaged
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Flags, Indices, Int32s, Int64s
from sigmastar.core.clusters import k_means
from sigmastar.core.progress import Progress, silent
from sigmastar.core.resources import one_blas_thread
from sigmastar.core.views import correlate, damped, directions
from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.dependency.kernels.arc_features import Averaged, Trees, ascend
from sigmastar.dependency.kernels.arc_labels import LabelledTrees, descend_labels
from sigmastar.dependency.kernels.way_features import ascend_grands, ascend_stops, ascend_ways
from sigmastar.dependency.model.arcs import ArcPrior, score_arcs
from sigmastar.dependency.model.decoders import TrainedArcsDecoder
from sigmastar.dependency.model.labels import Labeller, WordStates, indicators, label_rows, word_features
from sigmastar.dependency.model.vocabulary import Encoded, Vocabulary, gathered, word_positions

N_STATES = 60
N_DIMENSIONS = 20
DAMPING = 5.0
_FREQUENT = 10  # occurrences of words that are contexts


def learn_word_states(
    treebank: DependencyTreebank,
    known: Collection[str],
    rng: np.random.Generator,
    n_states: int = N_STATES,
    n_dimensions: int = N_DIMENSIONS,
) -> WordStates:
    """States of the words of trees with relations; words that are not `known` have their tags and endings."""
    items = list(zip(treebank.form, treebank.upos, treebank.xpos, strict=True))
    kinds = {item: number for number, item in enumerate(dict.fromkeys(items))}
    of_word = np.fromiter((kinds[item] for item in items), np.int64, len(items))
    names = sorted({name for item in kinds for name in _of_known(item, known)})
    inside = indicators(kinds, {name: number for number, name in enumerate(names)})
    outside = _outside(treebank)
    groups = sparse.csr_array((np.ones(len(of_word)), (of_word, np.arange(len(of_word)))))
    counts = np.bincount(of_word).astype(np.float64)
    together = sparse.csr_array(inside.T @ sparse.csr_array(groups @ outside))
    totals = (np.asarray(inside.T @ counts), np.asarray(outside.sum(axis=0), dtype=np.float64).ravel())
    with one_blas_thread():
        found = correlate(
            together, n_dimensions + 1, damped(DAMPING), totals=totals, total=float(len(items))
        ).without_constant()
    points = found.left(1.0).astype(np.float32).astype(np.float64)  # as model files keep them
    places = directions(inside @ points)
    centres = k_means(places, min(n_states, len(places)), rng, weights=counts).centres
    return WordStates(tuple(names), points, centres.astype(np.float32).astype(np.float64))


def _of_known(item: tuple[str, str, str], known: Collection[str]) -> tuple[str, ...]:
    features = word_features(*item)
    return features if item[0].lower() in known else tuple(name for name in features if name[0] not in "wv")


def _outside(treebank: DependencyTreebank) -> sparse.csr_array:
    """Words x features of where they stand."""
    n, offsets = treebank.n_words, treebank.sentence_offsets
    word = np.arange(n)
    starts = np.repeat(offsets[:-1], treebank.lengths)
    top, inner = starts + treebank.head - 1, treebank.head > 0
    side = (word > top).astype(np.int64)
    joined = [f"{upos} {xpos}" for upos, xpos in zip(treebank.upos, treebank.xpos, strict=True)]
    relations, tags = (_numbered(column) for column in (treebank.deprel, joined))
    words, frequent = _frequent([form.lower() for form in treebank.form])
    first, last = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    first[offsets[:-1]] = last[offsets[1:] - 1] = True
    before, after = word[~first], word[~last]
    likely = inner & frequent
    headed = inner & frequent[np.where(inner, top, 0)]
    blocks = [
        (word, 2 * relations + side),
        (word[~inner], tags[~inner] * 0),
        (word[inner], 2 * tags[top[inner]] + side[inner]),
        (word[headed], 2 * words[top[headed]] + side[headed]),
        (top[inner], 2 * relations[inner] + side[inner]),
        (top[inner], 2 * tags[inner] + side[inner]),
        (top[likely], 2 * words[likely] + side[likely]),
        (before, tags[before - 1]),
        (after, tags[after + 1]),
        (before[frequent[before - 1]], words[before - 1][frequent[before - 1]]),
        (after[frequent[after + 1]], words[after + 1][frequent[after + 1]]),
    ]
    sizes = [int(codes.max(initial=0)) + 1 for _, codes in blocks]
    ends = np.cumsum([0, *sizes])
    rows = np.concatenate([rows for rows, _ in blocks])
    columns = np.concatenate([codes + low for (_, codes), low in zip(blocks, ends, strict=False)])
    return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(n, int(ends[-1])))


def _numbered(column: list[str]) -> Int64s:
    return np.asarray(Alphabet(sorted(set(column))).encode(column), dtype=np.int64)


def _frequent(forms: list[str]) -> tuple[Int64s, Flags]:
    """Numbers of words, and which of them are frequent; the others have none, -1."""
    kept = [form for form, count in Counter(forms).items() if count >= _FREQUENT]
    numbers = {form: number for number, form in enumerate(sorted(kept))}
    codes = np.fromiter((numbers.get(form, -1) for form in forms), np.int64, len(forms))
    return codes, codes >= 0


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
            found = scores.sums(part.offsets)
            trees = _trees(part, heads, np.isfinite(found.logs))
            ascend(trees, found.arcs, part.squares, trained, RATE, time)
            ascend_ways(trees, scores.way_starts, scores.siblings, found.ways, trained, RATE, time)
            ascend_stops(trees, part.squares, found.stops, trained, RATE, time)
            ascend_grands(trees, scores.links, found.grands, trained, RATE, time)
            time += 1.0
    return TrainedArcsDecoder(averaged(trained.theta, trained.drift, time))


def _trees(part: Encoded, heads: Int32s, usable: Flags) -> Trees:
    assert part.rows is not None
    golds = np.zeros(len(part.rows), dtype=np.int32)
    golds[word_positions(part.offsets)] = heads
    return Trees(part.rows, part.starts, golds, usable)


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
