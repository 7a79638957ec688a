"""Transducers as the laws see them: `completion`'s extraction on exact blocks, `spectral` on drawn pairs."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from pathlib import Path

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.generators import make_automaton
from sigmastar.core.alphabet import Symbol
from sigmastar.core.arrays import Floats
from sigmastar.core.laws import Call, Example
from sigmastar.transducers.data import StringPairs, Units
from sigmastar.transducers.estimator import SpectralTransducer
from sigmastar.transducers.learn.spectral import PairHankel, recovered
from sigmastar.transducers.model.generators import make_transducer
from sigmastar.transducers.model.weighted_transducer import WeightedTransducer

N_STATES = 2
INPUTS, OUTPUTS = "abc", "XY"
SHAPES = ((1, 1), (1, 0))


class TransducerLaws:
    """Two states, and one unit per input symbol, so that a pair has one alignment; `c` is silent."""

    sizes = (300, 10_000)

    def truth(self, rng: np.random.Generator) -> WeightedTransducer:
        units = Units.of([(("a",), ("X",)), (("b",), ("Y",)), (("c",), ())])
        drawn = make_automaton(N_STATES, len(units), rng, density=1.0, stop=0.25)
        parts = (drawn.initial, drawn.transitions, drawn.final)
        return WeightedTransducer(units, WeightedAutomaton(units.alphabet, *parts))

    def exact(self, truth: WeightedTransducer) -> WeightedTransducer:
        hankel = PairHankel.of(truth.units, 1)
        cells = [row + column for row, column in product(hankel.rows, hankel.columns)]
        codes = np.array([unit for cell in cells for unit in cell], dtype=np.int32)
        strings = Strings(truth.units.alphabet, codes, np.cumsum([0, *map(len, cells)]))
        matrix = truth.value_of_aligned(strings).reshape(len(hankel.rows), len(hankel.columns))
        found = recovered(hankel, matrix, N_STATES)
        assert found is not None
        return found

    def structures(self, truth: WeightedTransducer, rng: np.random.Generator) -> StringPairs:
        """Pairs of up to a dozen units, more than the four of the Hankel matrix."""
        lengths = np.arange(13)
        codes = rng.integers(0, len(truth.units), int(lengths.sum())).astype(np.int32)
        aligned = Strings(truth.units.alphabet, codes, np.append(0, np.cumsum(lengths)))
        return truth.units.spell(aligned)

    def values(self, model: WeightedTransducer, structures: StringPairs) -> Floats:
        sign, log = model.log_value(structures)
        return np.asarray(sign * np.exp(log))

    def learned(
        self, truth: WeightedTransducer, n_samples: int, seed: int, n_jobs: int = 1
    ) -> WeightedTransducer:
        pairs = truth.sample(n_samples, np.random.default_rng([seed, n_samples]))
        nonempty = pairs.select(np.flatnonzero(pairs.inputs.lengths > 0))
        learner = SpectralTransducer("spectral", n_states=N_STATES, shapes=SHAPES, random_state=seed)
        found = learner.set_params(n_jobs=n_jobs).fit(nonempty).model_
        assert isinstance(found, WeightedTransducer)
        return found

    def distance(self, model: WeightedTransducer, truth: WeightedTransducer) -> float:
        """The sum of differences of g over short pairs, given that the input is not empty."""
        listed = [
            (x, y)
            for n in range(1, 4)
            for x in product(INPUTS, repeat=n)
            for m in range(n + 1)
            for y in product(OUTPUTS, repeat=m)
        ]
        pairs, nothing = StringPairs.of(listed), StringPairs.of([((), ())])
        nonempty = 1.0 - self.values(truth, nothing)[0]
        return float(np.abs(self.values(model, pairs) - self.values(truth, pairs) / nonempty).sum())

    def long(self, truth: WeightedTransducer) -> float:
        return float(truth.log_value(StringPairs.of([("c" * 100_000, "")])).log[0])

    def examples(self) -> Mapping[str, Example]:
        pairs = _drawn(60)
        learner = SpectralTransducer("ngram", order=2)
        return {"SpectralTransducer": Example(learner, pairs, grid={"order": [2, 3]})}

    def calls(self, folder: Path) -> Mapping[str, Call]:
        pairs = _drawn(60)
        file = folder / "pairs.tsv"
        file.write_text("".join(f"{''.join(map(str, x))}\t{' '.join(map(str, y))}\n" for x, y in pairs))
        return {"transducer": Call((str(file),), SpectralTransducer(), pairs)}


def _drawn(n_pairs: int) -> list[tuple[tuple[Symbol, ...], tuple[Symbol, ...]]]:
    truth = make_transducer(3, INPUTS, OUTPUTS, np.random.default_rng(0), n_units=5, density=0.3)
    drawn = truth.sample(4 * n_pairs, np.random.default_rng(1))
    return [(x, y) for x, y in drawn if x and y][:n_pairs]
