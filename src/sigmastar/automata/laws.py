"""Automata as the laws see them: a random machine, its exact blocks, and `SpectralAutomaton`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from sigmastar.automata.counts.bases import STRING, all_up_to
from sigmastar.automata.counts.block_smoothing import exact_blocks
from sigmastar.automata.data.formats import write_lines
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.estimator.em_and_ngram import EMAutomaton, NgramAutomaton
from sigmastar.automata.estimator.spectral import SpectralAutomaton
from sigmastar.automata.learn.spectral import string_automaton
from sigmastar.automata.metrics import kl_on
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.generators import make_automaton
from sigmastar.automata.model.sequence import SequenceModel
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Floats
from sigmastar.core.laws import Call, Example
from sigmastar.core.recover import factorize_blocks

_LONG = 100_000


class AutomataLaws:
    """Strings from a machine of three states over three symbols."""

    sizes = (300, 6000)

    def truth(self, rng: np.random.Generator) -> WeightedAutomaton:
        machine = make_automaton(3, 3, rng, density=0.6, stop=0.2)
        return WeightedAutomaton(Alphabet("abc"), machine.initial, machine.transitions, machine.final)

    def exact(self, truth: WeightedAutomaton) -> WeightedAutomaton:
        basis = all_up_to(truth.alphabet, 3)
        blocks = exact_blocks(basis, truth.initial, truth.transitions, truth.final)
        return string_automaton(blocks, factorize_blocks(blocks, truth.n_states), STRING)

    def structures(self, truth: WeightedAutomaton, rng: np.random.Generator) -> Strings:
        return truth.sample(60, rng)

    def values(self, model: SequenceModel, structures: Strings) -> Floats:
        return model.log_probability(structures)

    def learned(self, truth: WeightedAutomaton, n_samples: int, seed: int, n_jobs: int = 1) -> SequenceModel:
        strings = truth.sample(n_samples, np.random.default_rng(seed))
        return SpectralAutomaton(random_state=seed, n_jobs=n_jobs).fit(strings).model_

    def distance(self, model: SequenceModel, truth: WeightedAutomaton) -> float:
        return kl_on(model, truth, truth.sample(4000, np.random.default_rng(99))).value

    def long(self, truth: WeightedAutomaton) -> float:
        codes = truth.sample(_LONG, np.random.default_rng(0)).codes[:_LONG]
        string = Strings(truth.alphabet, codes, np.array([0, len(codes)]))
        return float(truth.log_value(string).log[0])

    def examples(self) -> Mapping[str, Example]:
        corpus = list(self.truth(np.random.default_rng(1)).sample(120, np.random.default_rng(2)))
        words = ["".join(map(str, string)) for string in corpus]
        estimators = {
            "SpectralAutomaton": (SpectralAutomaton(n_classes=(20, 40)), {"n_states": [1, 3]}),
            "EMAutomaton": (EMAutomaton(n_states=3, max_iter=10), {"n_states": [1, 3]}),
            "NgramAutomaton": (NgramAutomaton(), {"order": [1, 2]}),
        }
        return {name: Example(made, words, grid=grid) for name, (made, grid) in estimators.items()}

    def calls(self, folder: Path) -> Mapping[str, Call]:
        strings = self.truth(np.random.default_rng(1)).sample(200, np.random.default_rng(2))
        with open(folder / "strings.txt", "w") as stream:
            write_lines(strings, stream)
        return {"automaton": Call((str(folder / "strings.txt"),), SpectralAutomaton(), strings)}
