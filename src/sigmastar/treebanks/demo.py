"""Treebank parsers in the demo: trees from a random latent PCFG, four learners, a tree and its chart."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from sigmastar.core.demo import DemoResult, DemoRow, learner_table, timed
from sigmastar.core.intervals import Estimate
from sigmastar.core.model_format import hash_arrays
from sigmastar.core.page import Picture, Section, Text
from sigmastar.core.progress import Progress
from sigmastar.treebanks.draw import draw_chart
from sigmastar.treebanks.estimator import PCFG, EMTreebankGrammar, SpectralTreebankGrammar, TreebankEstimator
from sigmastar.treebanks.metrics import score_brackets
from sigmastar.trees.data.tree import Tree
from sigmastar.trees.draw import draw_tree
from sigmastar.trees.model.generators import make_latent_pcfg

FAMILY = "treebank"
LEAST, GOOD_LENGTH = 0.02, 8


@dataclass(frozen=True)
class TreebankFamily:
    """Learners of latent PCFGs against each other, on trees whose labels hide three states each."""

    name: str = FAMILY
    n_train: int = 1500
    n_fresh: int = 300

    def run(self, seed: int, progress: Progress) -> DemoResult:
        progress("treebank: trees", 0.0)
        rng = np.random.default_rng(seed)
        grammar = make_latent_pcfg(rng, n_states=3, n_phrases=4, n_tags=4, n_words=4, n_rules=6)
        train, fresh = (grammar.sample(n, rng, 25) for n in (self.n_train, self.n_fresh))
        rows, fitted = list[DemoRow](), dict[str, TreebankEstimator]()
        table = _learners(seed)
        for number, (name, estimator) in enumerate(table.items()):
            progress(f"treebank: {name}", number / len(table))
            fitted[name], seconds = timed(partial(estimator.fit, train))
            f1 = _f1(estimator, fresh)
            rows.append(DemoRow(FAMILY, name, {"F1": f1.value}, seconds, f1))
        section = _section(rows, fresh, fitted["spectral + EM"])
        sizes = [sum(1 for _ in tree.nodes()) for tree in (*train, *fresh)]
        return DemoResult(tuple(rows), section, hash_arrays(sizes))


def _learners(seed: int) -> dict[str, TreebankEstimator]:
    return {
        "PCFG": PCFG(),
        "spectral": SpectralTreebankGrammar("spectral", 3, random_state=seed),
        "EM": EMTreebankGrammar(3, random_state=seed),
        "spectral + EM": SpectralTreebankGrammar("spectral+em", 3, random_state=seed),
    }


def _f1(estimator: TreebankEstimator, fresh: list[Tree]) -> Estimate:
    found: list[Tree | None] = [*estimator.predict([list(tree.words()) for tree in fresh])]
    return score_brackets(fresh, found, np.random.default_rng(0)).f1


def _section(rows: list[DemoRow], fresh: list[Tree], estimator: TreebankEstimator) -> Section:
    gold = min(fresh, key=lambda tree: _dullness(tree, estimator))
    words = list(gold.words())
    tree = "A fresh sentence as spectral + EM parses it; phrases that the grammar did not draw are dashed."
    chart = "The marginals that the tree was chosen by: the darker a span, the surer the parser of a phrase."
    items = [
        (label, begin, end, value)
        for (label, begin, end), value in estimator.marginals([words])[0].items()
        if value >= LEAST
    ]
    about = (
        "A random latent PCFG draws trees: every label hides one of three states, which decide on rules, "
        "words and the states below. Learners see the trees without the states and parse fresh sentences. "
        "F1 is of labelled brackets; words leave much open, so no parser is right everywhere, and "
        "EM from a random start, which has states of the same kind, may be level with spectral + EM."
    )
    table = learner_table("Brackets found in fresh sentences", rows)
    drawn = draw_tree(estimator.predict([words])[0], gold)
    pictures = [Picture(drawn, tree, tree), Picture(draw_chart(words, items), chart, chart)]
    return Section("Treebank parsers", [Text(about), table, *pictures])


def _dullness(tree: Tree, estimator: TreebankEstimator) -> tuple[int, bool]:
    """Sentences of a good length come first, of them those that the parser gets wrong."""
    words = list(tree.words())
    off = abs(len(words) - GOOD_LENGTH)
    return off, off == 0 and estimator.predict([words])[0] == tree
