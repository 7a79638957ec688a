"""Weighted grammars in the demo: brackets hidden and found again, and the Hankel matrix before and after.

The target is the probabilistic Dyck language of Bailly et al. (2013), S -> S S 0.2 | a S b 0.4 | a b 0.4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from sigmastar.core.demo import DemoResult, DemoRow, timed
from sigmastar.core.model_format import hash_strings
from sigmastar.core.page import Part, Section, Text
from sigmastar.core.progress import Progress
from sigmastar.grammars.data.bracketings import Bracketings
from sigmastar.grammars.draw import completion_picture
from sigmastar.grammars.estimator.base import GrammarEstimator
from sigmastar.grammars.estimator.completion import CompletionGrammar
from sigmastar.grammars.estimator.learners import EMGrammar, SpectralGrammar
from sigmastar.grammars.learn.completion import CompletionFit
from sigmastar.grammars.metrics import bracket_score, grammar_distances
from sigmastar.grammars.model.generators import DYCK, dyck
from sigmastar.grammars.model.grammar import WeightedGrammar

FAMILY = "grammar"
LONGEST = 7


@dataclass(frozen=True)
class GrammarDemo:
    """Grammars from brackets, from strings by completion, and from strings by EM."""

    name: str = FAMILY
    n_strings: int = 4000
    n_refinement_steps: int = 2000

    def run(self, seed: int, progress: Progress) -> DemoResult:
        truth, rng = dyck(), np.random.default_rng(seed)
        drawn = truth.sample_brackets(self.n_strings, rng)
        learners: Mapping[str, Callable[[], GrammarEstimator]] = {
            "spectral, from brackets": lambda: SpectralGrammar(4, 0.1),
            "completion, from strings": lambda: CompletionGrammar(
                4, refinement_max_iter=self.n_refinement_steps, em=False
            ),
            "EM, from strings": lambda: EMGrammar(
                4, "random", max_iter=40, word_prior=0.01, pair_prior=0.01, max_length=16
            ),
        }
        rows, fits = [], {}
        for number, (label, make) in enumerate(learners.items()):
            progress(f"grammars without labels: {label}", number / len(learners))
            fits[label], seconds = timed(partial(make().fit, drawn))
            rows.append(_row(label, fits[label], truth, drawn, seconds))
        section = Section("Weighted grammars", self._parts(fits["completion, from strings"]))
        return DemoResult(tuple(rows), section, hash_strings(drawn.strings))

    def _parts(self, completion: GrammarEstimator) -> list[Part]:
        fit: CompletionFit = vars(completion)["completion_"]
        explained = (
            f"{self.n_strings} strings of the Dyck language, {', '.join(DYCK)}, are drawn. The spectral "
            "method sees their brackets; the others see strings alone. Completion looks for the Hankel "
            f"matrix of smallest nuclear norm, {fit.hankel.shape[0]} outsides x {fit.hankel.shape[1]} "
            "insides here, in which all ways to cut a string add up to its frequency; a grammar is read off "
            "and refined. "
            f"L1 is over all strings of up to {LONGEST} symbols, F1 of brackets against those drawn."
        )
        steps = Text(
            f"Completion took {len(fit.completed.objectives)} steps: objective "
            f"{fit.completed.objective:.4g}, rank {fit.completed.rank}, "
            f"violation of the equations {fit.violation:.2g}."
        )
        return [Text(explained), steps, *completion_picture(fit)]


def _row(
    label: str, estimator: GrammarEstimator, truth: WeightedGrammar, drawn: Bracketings, seconds: float
) -> DemoRow:
    part = drawn.select(np.flatnonzero(drawn.strings.lengths <= 12)[:500])
    l1 = grammar_distances(estimator.model_, truth, LONGEST).l1
    f1 = bracket_score(estimator.brackets(part), part).f1
    return DemoRow(FAMILY, label, {"L1": l1, "bracket F1": f1}, seconds)
