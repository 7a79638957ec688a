"""Bilexical operators in the demo: three penalties on a relation of known rank, and their capacity."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial

import numpy as np

from sigmastar.bilexical.data.pairs import Pairs, split_heads
from sigmastar.bilexical.draw import plot_embedding
from sigmastar.bilexical.learn.bilexical import (
    BilexicalSettings,
    learn_bilexical,
    popularity_scores,
    unsupervised,
)
from sigmastar.bilexical.metrics import pairwise_accuracy
from sigmastar.bilexical.model.bilexical import BilexicalModel, LowRankWeights
from sigmastar.bilexical.model.generators import MadeRelation, make_relation
from sigmastar.core.curves import plot_learning_curves
from sigmastar.core.demo import DemoResult, DemoRow, Progress
from sigmastar.core.figures import MissingMatplotlibError, to_svg
from sigmastar.core.page import Part, Picture, Section, Text
from sigmastar.core.provenance import hash_arrays

FAMILY = "bilexical"
PENALTIES = {"nuclear norm": "nuclear", "l1": "l1", "l2": "l2"}
RANKS = (1, 2, 3, 5, 8, 12)


@dataclass(frozen=True)
class BilexicalFamily:
    """Operators of a made relation."""

    name: str = FAMILY
    rank: int = 3

    def run(self, seed: int, progress: Progress) -> DemoResult:
        rng = np.random.default_rng(seed)
        made = make_relation(rng, rank=self.rank)
        split = split_heads(made.pairs.heads, rng)
        train, test = made.pairs.select(split.train), made.pairs.select(split.test)
        popular = pairwise_accuracy(partial(popularity_scores, train), test).micro
        rows = [DemoRow(FAMILY, "popularity", {"pairwise accuracy": popular})]
        inner = unsupervised(made.pairs, made.vectors, split)
        rows.append(
            DemoRow(FAMILY, "inner product, unsupervised", {"pairwise accuracy": _accuracy(inner, test)})
        )
        models = {}
        for number, (label, penalty) in enumerate(PENALTIES.items()):
            progress(f"bilexical: {label}", number / len(PENALTIES))
            settings = BilexicalSettings(penalty, rank=12, n_iterations=80)
            begin = time.perf_counter()
            models[label] = learn_bilexical(made.pairs, made.vectors, rng, settings, split).model
            seconds = time.perf_counter() - begin
            rows.append(
                DemoRow(FAMILY, label, {"pairwise accuracy": _accuracy(models[label], test)}, seconds)
            )
        section = Section("Bilexical operators", self._parts(made, models, test))
        return DemoResult(
            tuple(rows), section, hash_arrays(made.pairs.counts.data, made.pairs.counts.indices)
        )

    def _parts(self, made: MadeRelation, models: dict[str, BilexicalModel], test: Pairs) -> list[Part]:
        explained = (
            f"{made.pairs.n_pairs} pairs of {len(made.pairs.heads)} heads and {len(made.pairs.modifiers)} "
            f"modifiers are drawn from a bilinear form of rank {self.rank} between vectors of "
            f"{made.vectors.dimension} dimensions. Pairwise accuracy is the share of (compatible, other) "
            "modifiers in the right order, on heads that were not trained on. The nuclear norm finds the few "
            "dimensions that matter."
        )
        try:
            return [Text(explained), _capacity_picture(models, test), _map(models["nuclear norm"])]
        except MissingMatplotlibError as problem:
            return [Text(explained), Text(f"The pictures are left out: {problem}.")]


def capacity_curve(
    model: BilexicalModel, test: Pairs, capacities: tuple[int, ...]
) -> tuple[list[int], list[float]]:
    """Operations a head and pairwise accuracy of a model cut down to each capacity."""
    cut = [model.projected(capacity) for capacity in capacities]
    return [one.n_operations for one in cut], [100 * _accuracy(one, test) for one in cut]


def _capacity_picture(models: dict[str, BilexicalModel], test: Pairs) -> Picture:
    curves = {}
    for label, model in models.items():
        low_rank = isinstance(model.weights, LowRankWeights)
        sizes = RANKS if low_rank else tuple(2 ** np.arange(2, 11))
        curves[label] = capacity_curve(model, test, tuple(int(size) for size in sizes))
    figure = plot_learning_curves(
        curves, "operations to score all modifiers of a head", "pairwise accuracy, %", "Capacity", log_y=False
    )
    caption = "Accuracy on test heads when models are cut to fewer dimensions or fewer weights."
    return Picture(to_svg(figure), caption, caption)


def _map(model: BilexicalModel) -> Picture:
    popular = np.argsort(-model.popularity, kind="stable")[:25]
    heads = model.split.test[:15]
    groups = {
        "modifiers": ([model.modifiers[m] for m in popular], model.modifier_embedding()[popular]),
        "test heads": (heads, model.head_embedding(heads)),
    }
    caption = "Modifiers and heads in the two leading dimensions: what points the same way goes together."
    return Picture(to_svg(plot_embedding(groups)), caption, caption)


def _accuracy(model: BilexicalModel, test: Pairs) -> float:
    return pairwise_accuracy(model.scores, test).micro
