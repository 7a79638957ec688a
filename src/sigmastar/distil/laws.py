"""Distillation as the laws see it: a random machine is asked, and its answers give it back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.generators import make_automaton
from sigmastar.automata.model.sequence import SequenceModel
from sigmastar.core.arrays import Floats
from sigmastar.core.laws import Call, Example
from sigmastar.distil.black_box import ModelBox
from sigmastar.distil.estimator import DistilledAutomaton
from sigmastar.distil.learn import divergences

_LONG = 100_000


class DistilLaws:
    """Answers of a machine of four states over three symbols."""

    sizes = (400, 8000)

    def truth(self, rng: np.random.Generator) -> WeightedAutomaton:
        return make_automaton(4, 3, rng, density=0.6, stop=0.2)

    def exact(self, truth: WeightedAutomaton) -> SequenceModel:
        return DistilledAutomaton(max_queries=20_000).fit(truth).model_

    def structures(self, truth: WeightedAutomaton, rng: np.random.Generator) -> Strings:
        return truth.sample(60, rng)

    def values(self, model: SequenceModel, structures: Strings) -> Floats:
        return model.log_probability(structures)

    def learned(self, truth: WeightedAutomaton, n_samples: int, seed: int, n_jobs: int = 1) -> SequenceModel:
        stand_in = DistilledAutomaton("ngram", max_queries=n_samples, random_state=seed, n_jobs=n_jobs)
        return stand_in.fit(truth).model_

    def distance(self, model: SequenceModel, truth: WeightedAutomaton) -> float:
        strings = truth.sample(1000, np.random.default_rng(99))
        return float(divergences(truth.gap_distributions(strings), model.gap_distributions(strings)).mean())

    def long(self, truth: WeightedAutomaton) -> float:
        codes = truth.sample(_LONG, np.random.default_rng(0)).codes[:_LONG]
        told = ModelBox(truth).distributions_along([truth.alphabet.decode(codes.tolist())])[0]
        return float(np.log(told[np.arange(len(codes)), codes]).sum())

    def examples(self) -> Mapping[str, Example]:
        return {}

    def calls(self, folder: Path) -> Mapping[str, Call]:
        return {}
