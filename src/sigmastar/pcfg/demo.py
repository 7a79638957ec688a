"""Probabilistic grammars in the demo: estimates from trees and strings against the truth, and the bounds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from sigmastar.core.demo import DemoResult, DemoRow, timed
from sigmastar.core.figures import MissingMatplotlibError, plot_learning_curves, to_svg
from sigmastar.core.model_format import hash_arrays
from sigmastar.core.page import Part, Picture, Section, Table, Text
from sigmastar.core.progress import Progress
from sigmastar.pcfg.data.rules import parse_rules
from sigmastar.pcfg.estimator import ERMGrammar
from sigmastar.pcfg.model.pcfg import ProbabilisticCFG
from sigmastar.pcfg.model.probabilistic_grammar import derivation_entropy, divergence, sample_derivations
from sigmastar.trees.data.tree import Tree

FAMILY = "pcfg"
RULES = """S -> NP VP 1
NP -> the N 0.6
NP -> the A N 0.1
NP -> NP PP 0.3
VP -> V NP 0.8
VP -> VP PP 0.2
PP -> with NP 1
A -> old 0.9
A -> odd 0.1
N -> dog 0.6
N -> park 0.4
V -> saw 0.95
V -> fed 0.05"""
ON_TREES = {"truncated (ERM), s = 1.1": "erm", "maximum likelihood": "mle", "Dirichlet MAP": "map"}
LONGEST = 20  # words of strings that EM sees: it takes cubic time


@dataclass(frozen=True)
class GrammarFamily:
    """Estimates of one grammar."""

    name: str = FAMILY
    n_trees: int = 300
    max_iter: int = 25

    def run(self, seed: int, progress: Progress) -> DemoResult:
        known = parse_rules(RULES.splitlines())
        truth = ProbabilisticCFG.of_weights(known.grammar, known.weights)
        drawn = sample_derivations(truth, self.n_trees, np.random.default_rng(seed))
        trees = truth.trees(drawn)
        rows = []
        progress("grammars: trees", 0.0)
        for label, method in ON_TREES.items():
            model, seconds = timed(partial(ERMGrammar(RULES, method, s=1.1).fit, trees))
            rows.append(_row(f"{label}, {len(trees)} trees", truth, model, seconds))
        progress("grammars: strings", 0.3)
        strings = [words for words in (list(tree.words()) for tree in trees) if len(words) <= LONGEST]
        em = ERMGrammar(RULES, "em", n_seeds=2, max_iter=self.max_iter, random_state=seed)
        _, seconds = timed(partial(em.fit, strings))
        rows.append(_row(f"EM, {len(strings)} strings", truth, em, seconds))
        section = Section("Probabilistic grammars", self._parts(truth, em, trees))
        return DemoResult(tuple(rows), section, hash_arrays(drawn.events, drawn.offsets))

    def _parts(self, truth: ProbabilisticCFG, em: ERMGrammar, trees: list[Tree]) -> list[Part]:
        learned = ERMGrammar(RULES).fit(trees)
        bounds = [
            (
                epsilon,
                *(learned.bound(epsilon, 0.05, kind).log_samples / np.log(10) for kind in (True, False)),
            )
            for epsilon in (2.0, 1.0, 0.5)
        ]
        explained = (
            f"A grammar of {truth.events.n_events} rules, entropy {derivation_entropy(truth):.2f}, draws "
            f"{self.n_trees} trees. The excess risk is the divergence between the true and the learned "
            "grammar on derivations, in nats. From strings the derivations are hidden, and rules that "
            "explain the same strings can be exchanged."
        )
        loose = "With probability 0.95 risks are known to 2 epsilon. These bounds are very loose."
        table = Table(
            "Samples that the theory requires, as powers of ten",
            ("epsilon", "trees", "strings"),
            bounds,
            note=loose,
        )
        return [Text(explained), table, *_ascent(em)]


def _row(label: str, truth: ProbabilisticCFG, model: ERMGrammar, seconds: float) -> DemoRow:
    return DemoRow(FAMILY, label, {"excess risk": divergence(truth, model.model_)}, seconds)


def _ascent(em: ERMGrammar) -> list[Part]:
    values = np.array(em.objectives_)
    try:
        figure = plot_learning_curves(
            {"EM": (np.arange(len(values)), values)},
            "iteration",
            "log-likelihood",
            "EM in the truncated space never falls",
            log_x=False,
            log_y=False,
        )
    except MissingMatplotlibError as problem:
        return [Text(f"The curve is left out: {problem}.")]
    return [
        Picture(
            to_svg(figure),
            "The log-likelihood of the strings along EM: it never falls, and levels off soon.",
            "A curve that only rises.",
        )
    ]
