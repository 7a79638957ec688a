"""Relations that are known: words with vectors, and pairs drawn from a bilinear form of low rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sigmastar.bilexical.data.pairs import HeadSplit, Pairs
from sigmastar.bilexical.model.operator import BilexicalModel, FullWeights
from sigmastar.bilexical.model.vectors import Vectors


@dataclass(frozen=True, eq=False)
class MadeRelation:
    """A known relation and pairs of it.

    Parameters
    ----------
    vectors : Vectors
        Of heads `h1`, `h2`, .. and modifiers `m1`, `m2`, ..
    pairs : Pairs
        Drawn from the model.
    model : BilexicalModel
        The operator that the pairs were drawn from.
    """

    vectors: Vectors
    pairs: Pairs
    model: BilexicalModel


def make_relation(
    rng: np.random.Generator,
    n_heads: int = 400,
    n_modifiers: int = 120,
    dimension: int = 40,
    rank: int = 3,
    pairs_of_head: int = 8,
    sharpness: float = 12.0,
) -> MadeRelation:
    """Draw pairs from Pr(m | h) = softmax(phi(m)^T W phi(h)) with W of low rank.

    Parameters
    ----------
    rng
        The source of chance.
    n_heads, n_modifiers, dimension
        Numbers of words, and the length of their vectors.
    rank
        Of W.
    pairs_of_head
        Pairs drawn for each head.
    sharpness
        The size of the scores: small ones make all modifiers alike.

    Returns
    -------
    MadeRelation
        The vectors, the pairs and the model.
    """
    heads, modifiers = (
        tuple(f"{kind}{n}" for n in range(1, size + 1)) for kind, size in (("h", n_heads), ("m", n_modifiers))
    )
    rows = rng.standard_normal((n_heads + n_modifiers, dimension))
    vectors = Vectors(heads + modifiers, rows).normalized()
    form = rng.standard_normal((dimension, rank)) @ rng.standard_normal((rank, dimension))
    weights = FullWeights(form * sharpness / np.sqrt(rank)).low_rank(rank)
    model = BilexicalModel(modifiers, np.ones(n_modifiers), vectors, weights, HeadSplit(heads, (), ()))
    return MadeRelation(vectors, Pairs.of(model.sample(heads, rng, pairs_of_head)), model)
