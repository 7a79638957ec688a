"""Hidden states of words from two views, the second idea.

    inside    tag, endings and word (`model.word_states`)
    outside   relation and head; modifiers and their relations; the tags and frequent words beside

Both views are correlated over all words of a treebank, words become points, and k-means makes states of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

import numpy as np
from scipy import sparse

from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Flags, Int64s
from sigmastar.core.clusters import k_means
from sigmastar.core.resources import one_blas_thread
from sigmastar.core.views import correlate, damped, directions
from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.dependency.model.labels import WordStates, indicators, word_features

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
