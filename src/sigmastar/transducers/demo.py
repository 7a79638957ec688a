"""Transducers in the demo: pairs from a random transducer, learners against it, and a lattice."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from sigmastar.core.demo import DemoResult, DemoRow, learner_table, timed
from sigmastar.core.model_format import hash_strings
from sigmastar.core.page import Part, Picture, Section, Text
from sigmastar.core.progress import Progress
from sigmastar.transducers.data import StringPairs
from sigmastar.transducers.draw import draw_lattice
from sigmastar.transducers.estimator import SpectralTransducer
from sigmastar.transducers.metrics import evaluate
from sigmastar.transducers.model.generators import make_transducer
from sigmastar.transducers.model.transducer import Transducer
from sigmastar.transducers.model.weighted_transducer import WeightedTransducer

FAMILY = "transducer"
INPUTS, OUTPUTS = "aeklrst", "AEKLRST"
METHODS = ("spectral", "ngram", "combined")
TRUTH = "the transducer itself"
MEASURE = "word error"
_SHORT = 7  # symbols of the pair that is drawn

Model = Transducer | WeightedTransducer


@dataclass(frozen=True)
class TransducerFamily:
    """Learners of transducers against each other and the transducer that made the pairs."""

    name: str = FAMILY
    n_train: int = 500
    n_fresh: int = 600

    def run(self, seed: int, progress: Progress) -> DemoResult:
        progress("transducers: pairs", 0.0)
        rng = np.random.default_rng(seed)
        truth = make_transducer(6, INPUTS, OUTPUTS, rng, n_units=9, density=0.04, stop=0.15)
        train, fresh = (_two_sided(truth.sample(n, rng, 30)) for n in (self.n_train, self.n_fresh))
        rows, models = [], dict[str, Model]()
        for number, method in enumerate(METHODS):
            progress(f"transducers: {method}", (1 + number) / (1 + len(METHODS)))
            models[method], seconds = timed(partial(_learn, train, method, seed))
            rows.append(_row(method, models[method], fresh, seconds))
        rows.append(_row(TRUTH, truth, fresh, None))
        section = _section(rows, fresh, models["combined"])
        return DemoResult(tuple(rows), section, hash_strings(train.inputs, train.outputs))


def _two_sided(pairs: StringPairs) -> StringPairs:
    """The pairs with two sides: files cannot hold empty ones."""
    return pairs.select(np.flatnonzero((pairs.inputs.lengths > 0) & (pairs.outputs.lengths > 0)))


def _learn(pairs: StringPairs, method: str, seed: int) -> Model:
    return SpectralTransducer(method=method, random_state=seed).fit(pairs).model_


def _row(learner: str, model: Model, fresh: StringPairs, seconds: float | None) -> DemoRow:
    error = evaluate(model, fresh, np.random.default_rng(0)).word_error_rate
    return DemoRow(FAMILY, learner, {MEASURE: error.value}, seconds, error)


def _section(rows: list[DemoRow], fresh: StringPairs, model: Model) -> Section:
    level = fresh.inputs.lengths == fresh.outputs.lengths  # whose alignments may be one to one
    chosen = int(np.argmin(np.abs(fresh.inputs.lengths - _SHORT) + _SHORT * level))
    aligned = model.align(fresh.select([chosen]), 8)
    alignments = list(zip(aligned.strings, aligned.posterior.tolist(), strict=True))
    caption = (
        "The alignments of a fresh pair: the wider a line, the surer it is; where lines part, there is doubt."
    )
    about = (
        "A transducer with hidden states draws pairs of strings of unequal length. Learners see the pairs "
        "unaligned, and give an output to fresh inputs. Word error is the share of inputs whose output is "
        "none of those drawn for them, with a 95% interval; some of it is random, and remains for the "
        "transducer itself."
    )
    parts: list[Part] = [Text(about), learner_table("Outputs of fresh inputs", rows, is_error=True)]
    if alignments:
        parts.append(Picture(draw_lattice(alignments), caption, caption))
    return Section("Transducers", parts)
