"""Probabilistic grammars as the laws see them: trees of one grammar, and relative frequencies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Floats
from sigmastar.core.laws import Call, Example
from sigmastar.pcfg.data.rules import parse_rules
from sigmastar.pcfg.estimator import ERMGrammar
from sigmastar.pcfg.learn import learn_from_counts, maximum_likelihood
from sigmastar.pcfg.model.hidden_markov import HiddenMarkovModel
from sigmastar.pcfg.model.pcfg import ProbabilisticCFG
from sigmastar.pcfg.model.probabilistic_grammar import (
    ProbabilisticGrammar,
    divergence,
    expected_events,
    sample_derivations,
)
from sigmastar.trees.data.tree import Tree

RULES = """S -> NP VP
NP -> D N
NP -> D A N
NP -> NP PP
VP -> V NP
VP -> VP PP
PP -> with NP
D -> the
D -> a
A -> old
A -> odd
N -> dog
N -> park
V -> saw
V -> fed"""
_RARE = ("NP -> NP PP", "VP -> VP PP")
LONG = 100_000


class GrammarLaws:
    """Laws of grammars; the long string is one of a hidden Markov model, since charts take cubic time."""

    sizes = (100, 2000)

    def truth(self, rng: np.random.Generator) -> ProbabilisticCFG:
        grammar = parse_rules(RULES.splitlines()).grammar
        weights = [0.2 if str(rule) in _RARE else 0.5 + rng.random() for rule in grammar.rules]
        return ProbabilisticCFG.of_weights(grammar, np.array(weights))

    def exact(self, truth: ProbabilisticCFG) -> ProbabilisticGrammar:
        """The M-step on the expected number of uses of each rule."""
        blank = ProbabilisticCFG.of_weights(truth.grammar)
        return learn_from_counts(blank, expected_events(truth), maximum_likelihood)

    def structures(self, truth: ProbabilisticCFG, rng: np.random.Generator) -> Strings:
        drawn = truth.sample(40, rng)
        return drawn.select(np.flatnonzero(drawn.lengths <= 25))

    def values(self, model: ProbabilisticGrammar, structures: Strings) -> Floats:
        return model.log_probability(structures)

    def learned(
        self, truth: ProbabilisticCFG, n_samples: int, seed: int, n_jobs: int = 1
    ) -> ProbabilisticGrammar:
        trees = self._trees(truth, n_samples, seed)
        return ERMGrammar(truth.grammar, s=1.1, random_state=seed, n_jobs=n_jobs).fit(trees).model_

    def distance(self, model: ProbabilisticGrammar, truth: ProbabilisticCFG) -> float:
        return divergence(truth, model)

    def long(self, truth: ProbabilisticCFG) -> float:
        hidden = HiddenMarkovModel.random(Alphabet(truth.alphabet.symbols), 3, np.random.default_rng(0))
        string = (truth.alphabet.symbols * (LONG // len(truth.alphabet) + 1))[:LONG]
        return float(hidden.log_probability(Strings.of([string], alphabet=hidden.alphabet))[0])

    def examples(self) -> Mapping[str, Example]:
        trees = self._trees(self.truth(np.random.default_rng(0)), 60, 0)
        grid: dict[str, list[Any]] = {"s": [1.1, 2.0], "method": ["erm", "map"]}
        return {"ERMGrammar": Example(ERMGrammar(RULES), trees, grid=grid)}

    def calls(self, folder: Path) -> Mapping[str, Call]:
        trees = self._trees(self.truth(np.random.default_rng(0)), 30, 0)
        file = folder / "trees.mrg"
        file.write_text("".join(f"{tree}\n" for tree in trees))
        return {"pcfg": Call((str(file),), ERMGrammar(), trees)}

    def _trees(self, truth: ProbabilisticCFG, n: int, seed: int) -> list[Tree]:
        return truth.trees(sample_derivations(truth, n, np.random.default_rng(seed)))
