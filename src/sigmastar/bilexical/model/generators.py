"""Relations that are known: words with vectors, and pairs drawn from a bilinear form of low rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sigmastar.bilexical.data.pairs import Pairs
from sigmastar.bilexical.model.vectors import Vectors


@dataclass(frozen=True, eq=False)
class MadeRelation:
    """Vectors of all words, and pairs of heads `h1`, `h2`, .. with modifiers `m1`, `m2`, .."""

    vectors: Vectors
    pairs: Pairs


def make_relation(
    rng: np.random.Generator,
    n_heads: int = 400,
    n_modifiers: int = 120,
    dimension: int = 40,
    rank: int = 3,
    pairs_of_head: int = 8,
    sharpness: float = 12.0,
) -> MadeRelation:
    """Draw pairs from Pr(m | h) = softmax(phi(m)^T W phi(h)) with W of the given rank."""
    heads, modifiers = (
        [f"{kind}{n}" for n in range(1, size + 1)] for kind, size in (("h", n_heads), ("m", n_modifiers))
    )
    rows = rng.standard_normal((n_heads + n_modifiers, dimension))
    vectors = Vectors((*heads, *modifiers), rows).normalised()
    form = rng.standard_normal((dimension, rank)) @ rng.standard_normal((rank, dimension))
    scores = vectors.rows(heads) @ form.T @ vectors.rows(modifiers).T * sharpness / np.sqrt(rank)
    chances = np.exp(scores - scores.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    drawn = [
        (head, modifiers[m])
        for head, row in zip(heads, chances, strict=True)
        for m in rng.choice(n_modifiers, pairs_of_head, p=row).tolist()
    ]
    return MadeRelation(vectors, Pairs.of(drawn))
