"""What the laws are tried on: values of random signed automata."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from pathlib import Path

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.distances import values_up_to
from sigmastar.core.arrays import Floats
from sigmastar.core.laws import Call, Example
from sigmastar.regression.data import make_regression
from sigmastar.regression.estimator import HankelClassifier, HankelRegressor
from sigmastar.regression.model import StringFunction

WORDS = ["".join(letters) for n in range(5) for letters in product("ab", repeat=n)]
NUMBERS = [float(word.count("a") - 2 * word.count("b")) for word in WORDS]
LABELS = ["even" if word.count("a") % 2 == 0 else "odd" for word in WORDS]


class RegressionLaws:
    """Functions of two states over two symbols; their statistics are their values on short strings."""

    sizes = (8, 60)

    def truth(self, rng: np.random.Generator) -> StringFunction:
        return StringFunction(make_regression(rng, n_states=2, longest=1).automaton)

    def exact(self, truth: StringFunction) -> StringFunction:
        strings, values = values_up_to(truth.automaton, 5)
        learned: StringFunction = HankelRegressor(n_states=2).fit(strings, values).model_
        return learned

    def structures(self, truth: StringFunction, rng: np.random.Generator) -> Strings:
        codes = [rng.integers(0, 2, length) for length in rng.integers(6, 12, 30)]
        return Strings.of([["ab"[code] for code in word] for word in codes], alphabet=truth.alphabet)

    def values(self, model: StringFunction, structures: Strings) -> Floats:
        return model.value(structures)

    def learned(self, truth: StringFunction, n_samples: int, seed: int, n_jobs: int = 1) -> StringFunction:
        rng = np.random.default_rng(seed)
        strings, values = values_up_to(truth.automaton, 6)
        seen = rng.choice(len(strings), n_samples, replace=False)
        noisy = values[seen] + 0.01 * rng.standard_normal(n_samples)
        model = HankelRegressor(n_states=2, n_starts=4, max_iter=200, random_state=seed, n_jobs=n_jobs)
        learned: StringFunction = model.fit(strings.select(seen), noisy).model_
        return learned

    def distance(self, model: StringFunction, truth: StringFunction) -> float:
        strings, values = values_up_to(truth.automaton, 6)
        return float(np.abs(model.value(strings) - values).mean())

    def long(self, truth: StringFunction) -> float:
        strings = Strings.of([["a", "b"] * 50_000], alphabet=truth.alphabet)
        return float(truth.automaton.log_value(strings).log[0])

    def examples(self) -> Mapping[str, Example]:
        quick = {"n_states": 2, "n_starts": 2, "max_iter": 50}
        grid = {"n_states": [1, 2]}
        return {
            "HankelRegressor": Example(HankelRegressor(**quick), WORDS, NUMBERS, grid),  # type: ignore[arg-type]
            "HankelClassifier": Example(HankelClassifier(**quick), WORDS, LABELS, grid),  # type: ignore[arg-type]
        }

    def calls(self, folder: Path) -> Mapping[str, Call]:
        words, numbers = WORDS[1:], NUMBERS[1:]
        lines = [f"{' '.join(word)}\t{value!r}\n" for word, value in zip(words, numbers, strict=True)]
        (folder / "values.tsv").write_text("".join(lines))
        call = Call(
            (str(folder / "values.tsv"),), HankelRegressor(), [tuple(word) for word in words], numbers
        )
        return {"regression": call}
