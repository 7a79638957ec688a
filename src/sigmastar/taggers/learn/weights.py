"""How much a refinement of tags counts beside the max-margin tagger: what held-out sentences say.

Both are learned on part of the sentences, and the weight is the one whose product tags others best. Which
of the two knows more depends on the tags: for parts of speech they are close, for chunks features win.
"""

from __future__ import annotations

import numpy as np

from sigmastar.taggers.data.sentences import TaggedSentences
from sigmastar.taggers.learn.lexicon import learn_lexicon
from sigmastar.taggers.learn.margin import learn_margin
from sigmastar.taggers.learn.refinement import TaggedCorpus
from sigmastar.taggers.learn.starts import spectral_refinement
from sigmastar.taggers.model.tagger import by_marginals, product

RATIOS = (0.0, 0.15, 0.3, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 6.0)
USUAL = 0.7
MOST_WORDS, LEAST_SENTENCES = 60_000, 50


def choose_weights(
    sentences: TaggedSentences, n_states: int, n_iterations: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Weights of all refinements together and of the features; the larger one is 1."""
    if len(sentences) < LEAST_SENTENCES:
        return _scaled(USUAL)
    order = rng.permutation(len(sentences))
    held = sentences.select(np.sort(order[: len(order) // 10]))
    rest = order[len(order) // 10 :]
    n_kept = int(np.searchsorted(np.cumsum(sentences.lengths[rest]), MOST_WORDS)) + 1
    kept = sentences.select(np.sort(rest[:n_kept]))
    corpus = TaggedCorpus(learn_lexicon(kept), kept)
    lattice = corpus.lexicon.lattice(held)
    refined = spectral_refinement(corpus, n_states, n_iterations, rng)
    found = [model.marginals(corpus.lexicon, held, lattice) for model in (refined, learn_margin(corpus, rng))]
    gold = held.tag_codes(corpus.lexicon.tags)
    right = [float((by_marginals(product(found, _scaled(ratio))) == gold).mean()) for ratio in RATIOS]
    return _scaled(RATIOS[int(np.argmax(_smoothed(right)))])


def _scaled(ratio: float) -> tuple[float, float]:
    return (ratio, 1.0) if ratio <= 1 else (1.0, 1.0 / ratio)


def _smoothed(values: list[float]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Each with its neighbours: a peak of one weight alone is chance."""
    padded = np.concatenate([values[:1], values, values[-1:]])
    return np.asarray(padded[:-2] + 2 * padded[1:-1] + padded[2:])
