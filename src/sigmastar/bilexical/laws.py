"""Bilexical operators as the laws see them: a known operator, its exact conditionals, its learner.

The statistics are Pr(m | h) of some heads; the law asks for other heads, of which only vectors are known.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from sigmastar.bilexical.data.pairs import HeadSplit, WordPairs
from sigmastar.bilexical.data.quadruples import Quadruples
from sigmastar.bilexical.estimator.bilexical_operator import BilexicalOperator
from sigmastar.bilexical.estimator.pp_attachment import PPAttachment
from sigmastar.bilexical.estimator.word_vectors import WordVectors
from sigmastar.bilexical.learn.operator import (
    ConditionalLoss,
    EarlyStopping,
    OperatorSettings,
    as_weights,
    solve,
)
from sigmastar.bilexical.model.operator import BilexicalModel, FullWeights, head_features, make_relation
from sigmastar.bilexical.model.vectors import Vectors
from sigmastar.core.arrays import Floats
from sigmastar.core.laws import Call, Example
from sigmastar.core.model_format import save_model

_SEEN, _UNSEEN, _MODIFIERS, _DIMENSION = 40, 20, 12, 3
_NOUNS = ("car", "house", "aunt")
_ADJECTIVES = {"car": ("red", "fast"), "house": ("old", "wide"), "aunt": ("kind", "wise")}


class BilexicalLaws:
    """The family at work."""

    sizes = (400, 20_000)

    def truth(self, rng: np.random.Generator) -> BilexicalModel:
        """An operator of full rank over vectors of three dimensions, with popularity of its own."""
        words = tuple(f"h{n}" for n in range(_SEEN + _UNSEEN)) + tuple(f"m{n}" for n in range(_MODIFIERS))
        vectors = Vectors(words, rng.standard_normal((len(words), _DIMENSION))).normalized()
        weights = FullWeights(rng.standard_normal((_DIMENSION, _DIMENSION + 1)))
        split = HeadSplit(words[:_SEEN], words[_SEEN : _SEEN + _UNSEEN], ())
        modifiers = words[-_MODIFIERS:]
        return BilexicalModel(modifiers, np.ones(_MODIFIERS), vectors, weights, split, bias=1.0)

    def exact(self, truth: BilexicalModel) -> BilexicalModel:
        """Maximum likelihood of the exact conditionals of the seen heads, in double precision.

        L-BFGS ends where the objective no longer changes in its last digit, 1e-8 from the truth; steps by
        gradients alone go on from there.
        """
        seen = truth.split.train
        counts = sparse.csr_array(np.exp(truth.log_probabilities(seen)))
        heads = np.asarray(head_features(truth.vectors, seen, truth.bias))
        loss, rng = ConditionalLoss(np.asarray(truth.modifier_rows), heads, counts), np.random.default_rng(0)
        first = OperatorSettings(rank=_DIMENSION, n_iterations=600, tolerance=0.0, patience=600)
        then = OperatorSettings(
            "l2", solver="fobos", n_iterations=2000, tolerance=0.0, patience=2000, step=8.0
        )
        left, right = solve(loss, 0.0, first, rng, EarlyStopping.never(first))
        matrix = solve(loss, 0.0, then, rng, EarlyStopping.never(then), (left @ right.T,))
        return replace(truth, weights=as_weights(matrix, then))

    def structures(self, truth: BilexicalModel, rng: np.random.Generator) -> WordPairs:
        """Pairs of heads that the statistics lack."""
        return truth.sample(truth.split.validation, rng, 3)

    def values(self, model: BilexicalModel, structures: WordPairs) -> Floats:
        """log Pr(m | h)."""
        return model.pair_log_probabilities(structures)

    def learned(self, truth: BilexicalModel, n_samples: int, seed: int, n_jobs: int = 1) -> BilexicalModel:
        """An operator from pairs of the seen heads."""
        pairs = truth.sample(truth.split.train, np.random.default_rng(seed), n_samples // _SEEN)
        operator = BilexicalOperator(
            truth.vectors, rank=_DIMENSION, strengths=(0.03,), bias=1.0, random_state=seed, n_jobs=n_jobs
        )
        return operator.fit(pairs).model_

    def distance(self, model: BilexicalModel, truth: BilexicalModel) -> float:
        """Mean divergence of the conditionals of unseen heads."""
        heads, known = truth.split.validation, [truth.modifiers.index(word) for word in model.modifiers]
        expected, found = truth.log_probabilities(heads)[:, known], model.log_probabilities(heads)
        return float((np.exp(expected) * (expected - found)).sum(axis=1).mean())

    def long(self, truth: BilexicalModel) -> float:
        """The log-probability of the rarest of 10^5 modifiers under scores of large size."""
        rng = np.random.default_rng(0)
        words = (*(f"m{n}" for n in range(100_000)), "h")
        vectors = Vectors(words, 10.0 * rng.standard_normal((len(words), _DIMENSION)))
        popularity = np.ones(len(words) - 1)
        model = BilexicalModel(words[:-1], popularity, vectors, truth.weights, truth.split, truth.bias)
        return float(model.log_probabilities(["h"]).min())

    def examples(self) -> dict[str, Example]:
        """Small data for each estimator."""
        made = make_relation(
            np.random.default_rng(0), n_heads=40, n_modifiers=8, dimension=4, rank=2, pairs_of_head=4
        )
        operator = BilexicalOperator(made.vectors, rank=3, strengths=(0.1,), max_iter=20)
        rows, labels = _phrases()
        return {
            "WordVectors": Example(
                WordVectors(window=2), _sentences(), grid={"window": [1, 2], "n_dimensions": [None, 4]}
            ),
            "BilexicalOperator": Example(operator, list(made.pairs), grid={"penalty": ["nuclear", "l2"]}),
            "PPAttachment": Example(PPAttachment(_vectors(), rank=2), rows, labels, grid={"rank": [1, 2]}),
        }

    def calls(self, folder: Path) -> dict[str, Call]:
        """Tables of pairs and of quadruples, and vectors, as files."""
        vectors, (rows, labels) = _vectors(), _phrases()
        save_model(vectors, folder / "vectors")
        pairs = [(f"{noun}{n}", word) for noun in _NOUNS for n in range(10) for word in _ADJECTIVES[noun]]
        (folder / "pairs.tsv").write_text("".join(f"{head}\t{modifier}\n" for head, modifier in pairs))
        lines = [f"{' '.join(row)} {label}\n" for row, label in zip(rows, labels, strict=True)]
        (folder / "quadruples").write_text("".join(lines))
        given: dict[str, Any] = {"vectors": vectors}
        with_vectors = ("--vectors", str(folder / "vectors"))
        return {
            "bilexical": Call(
                (str(folder / "pairs.tsv"), *with_vectors), BilexicalOperator(vectors), pairs, given=given
            ),
            "attachment": Call(
                (str(folder / "quadruples"), *with_vectors),
                PPAttachment(vectors),
                Quadruples.of(rows, labels),
                given=given,
            ),
        }


def _sentences() -> list[str]:
    return [f"the {word} {noun} stands here" for noun in _NOUNS for word in _ADJECTIVES[noun]] * 4


def _vectors() -> Vectors:
    """Dense, so that a file holds them unchanged."""
    rng = np.random.default_rng(1)
    words = [f"{noun}{n}" for noun in _NOUNS for n in range(10)]
    words += [word for noun in _NOUNS for word in _ADJECTIVES[noun]]
    return Vectors(tuple(words), rng.standard_normal((len(words), 4))).normalized()


def _phrases() -> tuple[list[tuple[str, str, str, str]], list[str]]:
    """Phrases that attach to nouns of one kind."""
    rng = np.random.default_rng(2)
    rows = [
        ("see", f"{_NOUNS[a]}{b}", "with", f"{_NOUNS[c]}{d}")
        for a, b, c, d in rng.integers(0, (3, 10, 3, 10), (120, 4)).tolist()
    ]
    return rows, ["N" if row[1][0] == row[3][0] else "V" for row in rows]
