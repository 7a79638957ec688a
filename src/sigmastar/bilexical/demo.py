"""Bilexical operators in the demo: three penalties on a relation of known rank, and their capacity."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from sigmastar.bilexical.data.pairs import Pairs, split_heads
from sigmastar.bilexical.draw import capacity_picture, word_map
from sigmastar.bilexical.estimator.bilexical_operator import BilexicalOperator
from sigmastar.bilexical.learn.vectors import inner_product
from sigmastar.bilexical.metrics import PairwiseAccuracy, by_popularity, capacity_curve, pairwise_accuracy
from sigmastar.bilexical.model.operator import BilexicalModel, MadeRelation, make_relation
from sigmastar.core.demo import DemoResult, DemoRow, timed
from sigmastar.core.figures import MissingMatplotlibError
from sigmastar.core.intervals import ratio_of_sums
from sigmastar.core.model_format import hash_arrays
from sigmastar.core.page import Part, Section, Text
from sigmastar.core.progress import Progress

FAMILY, MEASURE = "bilexical", "pairwise accuracy"
PENALTIES = {"nuclear norm": "nuclear", "l1": "l1", "l2": "l2"}
RANKS, WEIGHTS = (1, 2, 3, 5, 8, 12), tuple(2**n for n in range(2, 11))


def _row(label: str, accuracy: PairwiseAccuracy, seconds: float | None) -> DemoRow:
    interval = ratio_of_sums(accuracy.won, accuracy.judged, np.random.default_rng(0))
    return DemoRow(FAMILY, label, {MEASURE: accuracy.micro}, seconds, interval)


@dataclass(frozen=True)
class BilexicalFamily:
    """Operators of a made relation."""

    name: str = FAMILY
    rank: int = 3

    def run(self, seed: int, progress: Progress) -> DemoResult:
        """Learn under each penalty, beside popularity and the inner product of the vectors."""
        rng = np.random.default_rng(seed)
        made = make_relation(rng, rank=self.rank)
        split = split_heads(made.pairs.heads, rng)
        train, test = made.pairs.select(split.train), made.pairs.select(split.test)
        plain = {
            "popularity": by_popularity(train.popularity),
            "inner product, unsupervised": inner_product(made.pairs, made.vectors, split).scores,
        }
        rows = [_row(label, pairwise_accuracy(scores, test), None) for label, scores in plain.items()]
        models = {}
        for number, (label, penalty) in enumerate(PENALTIES.items()):
            progress(f"bilexical: {label}", number / len(PENALTIES))
            operator = BilexicalOperator(
                made.vectors, penalty=penalty, rank=12, max_iter=80, random_state=seed
            )
            _, seconds = timed(partial(operator.fit, made.pairs, split=split))
            models[label] = operator.model_
            rows.append(_row(label, pairwise_accuracy(operator.model_.scores, test), seconds))
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
        curves = {
            label: capacity_curve(model, test, RANKS if model.is_low_rank else WEIGHTS)
            for label, model in models.items()
        }
        nuclear = models["nuclear norm"]
        try:
            pictures = [
                capacity_picture(curves, len(test.heads)),
                word_map(nuclear, nuclear.split.test[:15], skip_first=False),
            ]
        except MissingMatplotlibError as problem:
            return [Text(explained), Text(f"The pictures are left out: {problem}.")]
        return [Text(explained), *pictures]
