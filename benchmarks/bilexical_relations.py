"""Bilexical operators on heads that were not trained on, whole and cut to few operations."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

from benchmarks.corpora import require_folder
from benchmarks.harness import Row, Settings, Timing, timed
from sigmastar import BilexicalOperator
from sigmastar.bilexical import (
    BilexicalModel,
    HeadSplit,
    Pairs,
    Vectors,
    best_inner_product,
    inner_product,
    pairwise_accuracy,
    split_heads,
    vector_forms,
)
from sigmastar.bilexical.draw import RANKS
from sigmastar.bilexical.metrics import by_popularity
from sigmastar.reproduce.madhyastha2014 import (
    FEW,
    PREPOSITIONS,
    RELATIONS,
    WIDER,
    pairs_of,
    relation_vectors,
    small_vectors,
    text_files,
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
def _forms(folder: Path) -> dict[str, Vectors]:
    """What the rival without supervision is chosen from."""
    return vector_forms(text_files(folder))


@cache
def plain_vectors(folder: Path) -> Vectors:
    """As in the paper: 2,000 contexts."""
    return text_vectors(folder)


@cache
def _vectors(folder: Path, few_pairs: bool) -> Vectors:
    return small_vectors(_forms(folder)[WIDER]) if few_pairs else relation_vectors(folder)


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
            operator.set_params(**FEW)
        _, timing = timed(partial(operator.fit, pairs, split=split))
        yield {"split": number, **_judged(operator.model_, pairs, folder, settings), **_time(timing)}


def _judged(model: BilexicalModel, pairs: Pairs, folder: Path, settings: Settings) -> Row:
    """A model beside the best inner product, on the same test heads; `gain` is paired, head by head."""
    split = model.split
    train, test = pairs.select(split.train), pairs.select(split.test)
    rival = best_inner_product(pairs, _forms(folder), split)
    curve = inner_product(pairs, rival.model.vectors, split, max(RANKS))
    ours, theirs = (pairwise_accuracy(one.scores, test) for one in (model, rival.model))
    gain = ours.less(theirs, settings.rng(2))
    return {
        "popularity": 100 * pairwise_accuracy(by_popularity(train.popularity), test).micro,
        "unsupervised": 100 * theirs.micro,
        "form": f"{rival.form}, {rival.rank or 'all'} directions",
        "accuracy": 100 * ours.micro,
        "gain_low": 100 * gain.low,
        "gain_high": 100 * gain.high,
        "matched": 100 * pairwise_accuracy(model.scores, test, model.popularity).micro,
        "rank10": _accuracy(model.projected(10), test),
        "by_rank": {str(rank): _accuracy(model.projected(rank), test) for rank in RANKS},
        "svd_by_rank": {str(rank): _accuracy(curve.projected(rank), test) for rank in RANKS},
    }


def _time(timing: Timing) -> Row:
    return {"cpu_seconds": timing.cpu_seconds}


def capacity(_: str, settings: Settings) -> Iterator[Row]:
    """Accuracy of each penalty when cut to few operations per head: the same vectors and heads for all.

    The strength of a penalty is chosen on validation heads, once before cutting as in the paper, once by
    the accuracy that is left after it: on the first split, whose choices the others take over.
    """
    folder = require_folder(settings, "ud").parent
    vectors = plain_vectors(folder)
    pairs = pairs_of(RELATIONS["adjectives given noun"], treebanks(folder), vectors)
    paths = {penalty: path[:1] if settings.quick else path for penalty, path in PATHS.items()}
    for number in range(1 if settings.quick else N_SPLITS):
        split = split_heads(pairs.heads, settings.rng(number))
        held, test = pairs.select(split.validation), pairs.select(split.test)
        for place, (penalty, path) in enumerate(paths.items()):
            fits = {}
            for strength in path:
                operator = BilexicalOperator(
                    vectors, penalty, strengths=(strength,), random_state=settings.rng(1, place)
                ).fit(pairs, split=split)
                model, validation = operator.model_, max(operator.validation_scores_.values())
                fits[strength] = (model, _cut(model), validation)
            before = max(fits, key=lambda strength: fits[strength][2])
            after = max(fits, key=lambda strength: _accuracy(fits[strength][1], held))
            paths[penalty] = tuple(dict.fromkeys((before, after)))
            for chosen, strength in (("before cutting", before), ("when cut", after)):
                found = _sized(*fits[strength], test)
                yield {"method": penalty, "split": number, "chosen": chosen, "strength": strength, **found}
        yield {"method": "svd", "split": number, "chosen": "when cut", **_svd(pairs, folder, split, test)}


def _svd(pairs: Pairs, folder: Path, split: HeadSplit, test: Pairs) -> Row:
    """Equation 2 in its best form, cut as the others are."""
    rival = best_inner_product(pairs, _forms(folder), split)
    small = _cut(inner_product(pairs, rival.model.vectors, split, max(RANKS)))
    return {
        "accuracy": _accuracy(small, test),
        "operations": small.n_operations,
        "full": _accuracy(rival.model, test),
        "form": rival.form,
    }


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
