"""Bilexical operators on heads that were not trained on, whole and cut to few operations."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

from benchmarks.corpora import require_folder
from benchmarks.harness import Row, Settings, timed
from sigmastar import BilexicalOperator
from sigmastar.bilexical import (
    BilexicalModel,
    Pairs,
    Vectors,
    inner_product,
    pairwise_accuracy,
    split_heads,
)
from sigmastar.bilexical.metrics import by_popularity
from sigmastar.reproduce.madhyastha2014 import (
    PREPOSITIONS,
    RELATIONS,
    SIMILARITY,
    pairs_of,
    relation_vectors,
    small_vectors,
    text_vectors,
    treebanks,
)

ABOVE = {
    "adjectives given noun": 4.0,
    "verbs given object": 4.0,
    "nouns given adjective": 5.0,
    "objects given verb": 5.0,
}
"""Points above popularity to reach."""
N_SPLITS, N_SPLITS_OF_FEW = 3, 5
FEW_OPERATIONS = 40_000
PATHS = {
    "nuclear": (0.06, 0.1, 0.16),
    "l1": (0.001, 0.004, 0.016, 0.04),
    "l2": (0.001, 0.004, 0.016, 0.06),
}
"""Wide enough for the best model on validation heads, and for the best once it is cut."""


@cache
def plain_vectors(folder: Path) -> Vectors:
    """As in the paper: 2,000 contexts."""
    return text_vectors(folder)


@cache
def _vectors(folder: Path, few_pairs: bool) -> Vectors:
    return small_vectors(plain_vectors(folder)) if few_pairs else relation_vectors(folder)


def relation(name: str, settings: Settings) -> Iterator[Row]:
    """Several splits of the heads of a relation, all methods on the same."""
    folder = require_folder(settings, "ud").parent
    few = name in PREPOSITIONS
    vectors = _vectors(folder, few)
    pairs = pairs_of(RELATIONS[name], treebanks(folder), vectors)
    n_splits = N_SPLITS_OF_FEW if few else N_SPLITS
    for number in range(1 if settings.quick else n_splits):
        rng = settings.rng(number)
        split = split_heads(pairs.heads, rng)
        operator = BilexicalOperator(vectors, random_state=rng)
        if few:
            operator.set_params(similarity=SIMILARITY)
        _, timing = timed(partial(operator.fit, pairs, split=split))
        train, test = pairs.select(split.train), pairs.select(split.test)
        model = operator.model_
        yield {
            "split": number,
            "popularity": 100 * pairwise_accuracy(by_popularity(train.popularity), test).micro,
            "unsupervised": _accuracy(inner_product(pairs, plain_vectors(folder), split), test),
            "accuracy": _accuracy(model, test),
            "matched": 100 * pairwise_accuracy(model.scores, test, model.popularity).micro,
            "rank10": _accuracy(model.projected(10), test),
            "cpu_seconds": timing.cpu_seconds,
        }


def capacity(_: str, settings: Settings) -> Iterator[Row]:
    """Accuracy of each penalty when cut to few operations per head: the same vectors and heads for all.

    The strength of a penalty is chosen on validation heads, once before cutting as in the paper, once by
    the accuracy that is left after it.
    """
    folder = require_folder(settings, "ud").parent
    vectors = plain_vectors(folder)
    pairs = pairs_of(RELATIONS["adjectives given noun"], treebanks(folder), vectors)
    split = split_heads(pairs.heads, settings.rng(0))
    held, test = pairs.select(split.validation), pairs.select(split.test)
    for number, (penalty, path) in enumerate(PATHS.items()):
        fits = {}
        for strength in path[:1] if settings.quick else path:
            operator = BilexicalOperator(
                vectors, penalty, strengths=(strength,), random_state=settings.rng(1, number)
            ).fit(pairs, split=split)
            model, validation = operator.model_, max(operator.validation_scores_.values())
            fits[strength] = (model, _cut(model), validation)
        before = max(fits, key=lambda strength: fits[strength][2])
        after = max(fits, key=lambda strength: _accuracy(fits[strength][1], held))
        for chosen, strength in (("before cutting", before), ("when cut", after)):
            yield {"method": penalty, "chosen": chosen, "strength": strength, **_sized(*fits[strength], test)}


def _cut(model: BilexicalModel) -> BilexicalModel:
    """At most FEW_OPERATIONS: k weights cost k m, k dimensions k (n + m)."""
    n_modifiers = len(model.modifiers)
    each = n_modifiers + (model.vectors.dimension if model.is_low_rank else 0)
    return model.projected(max(1, FEW_OPERATIONS // each))


def _sized(model: BilexicalModel, small: BilexicalModel, validation: float, test: Pairs) -> Row:
    return {
        "accuracy": _accuracy(small, test),
        "operations": small.n_operations,
        "full": _accuracy(model, test),
        "full_operations": model.n_operations,
        "validation": 100 * validation,
    }


def _accuracy(model: BilexicalModel, test: Pairs) -> float:
    return 100 * pairwise_accuracy(model.scores, test).micro
