"""Made tagged sentences: a hidden Markov chain whose states belong to tags, and words with endings.

Every tag has states; a state has favourite words of its tag and favourite states to follow. Words end as
their tag has it, but a share of them have no ending and belong to two tags, which only context separates.
"""

from __future__ import annotations

import numpy as np

from sigmastar.core.arrays import Floats
from sigmastar.taggers.data.sentences import TaggedSentences

TAGS = ("ADJ", "ADP", "DET", "NOUN", "VERB")
ENDINGS = ("ish", "o", "e", "er", "ing")
_SYLLABLES = ("ba", "ka", "lu", "mi", "no", "ra", "su", "ti", "ve", "zo")


def make_tagged(
    rng: np.random.Generator,
    n_sentences: int,
    n_states: int = 3,
    n_words: int = 40,
    ambiguous: float = 0.9,
) -> TaggedSentences:
    """Sentences drawn from a chain of hidden states.

    Parameters
    ----------
    rng : Generator
        Source of random numbers.
    n_sentences : int
        How many sentences.
    n_states : int
        States per tag.
    n_words : int
        Words per tag, about.
    ambiguous : float
        The share of words that belong to two tags.

    Returns
    -------
    TaggedSentences
        Sentences of 3 to 17 words.
    """
    words = _vocabulary(rng, n_words, ambiguous)
    n = len(TAGS) * n_states
    moves = rng.dirichlet(np.full(n, 0.15), size=n + 1)
    zipf = 1.0 / np.arange(1, n_words + 1)
    favourites = np.array([rng.permutation(n_words) for _ in range(n)])
    sentences, tags = [], []
    for length in rng.integers(3, 18, n_sentences).tolist():
        path = _path(rng, moves, n, length)
        ranks = rng.choice(n_words, length, p=zipf / zipf.sum())
        sentences.append(
            [words[z // n_states][favourites[z, rank]] for z, rank in zip(path, ranks, strict=True)]
        )
        tags.append([TAGS[z // n_states] for z in path])
    return TaggedSentences.of(sentences, tags)


def _path(rng: np.random.Generator, moves: Floats, start: int, length: int) -> list[int]:
    path, at = [], start
    for chance in rng.random(length).tolist():
        at = min(int(np.searchsorted(np.cumsum(moves[at]), chance)), moves.shape[1] - 1)
        path.append(at)
    return path


def _vocabulary(rng: np.random.Generator, n_words: int, ambiguous: float) -> list[list[str]]:
    """Words of each tag; the first ones of each tag have no ending and are those of the next tag too."""
    n_shared = int(ambiguous * n_words / 2)
    shared = [[_stem(rng, 3) for _ in range(n_shared)] for _ in TAGS]
    return [
        [*shared[t], *shared[t - 1], *(_stem(rng, 2) + ENDINGS[t] for _ in range(n_words - 2 * n_shared))]
        for t in range(len(TAGS))
    ]


def _stem(rng: np.random.Generator, n_syllables: int) -> str:
    return "".join(rng.choice(_SYLLABLES, n_syllables))
