"""Tables, picture and claims of the reproduction of Cohen et al. (2012).

Nodes are all nodes of all trees; one of each tree with the weight of its size; or one of each tree as the
paper draws it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np

from sigmastar.core.arrays import Flags, Floats
from sigmastar.core.page import Picture, Table
from sigmastar.core.provenance import Provenance
from sigmastar.reproduce.result import Claim, Reproduction, curves, drawn, tabulated
from sigmastar.trees.learn.latent_pcfg import NodeWeights, all_nodes, one_node, one_uniform_node

TITLE = "Spectral learning of latent-variable PCFGs (Cohen et al. 2012)"
ALL, ONE, UNIFORM = "all nodes", "one node, weighted", "one node, uniform"
NODES: Mapping[str, NodeWeights] = {ALL: all_nodes, ONE: one_node, UNIFORM: one_uniform_node}


@dataclass(frozen=True)
class Recovery:
    """The error of one fit."""

    grammar: int
    nodes: str
    n_trees: int
    error: float


def mean_errors(found: list[Recovery], nodes: str) -> tuple[Floats, Floats]:
    """Sizes, and the geometric mean over grammars of the errors."""
    sizes = sorted({one.n_trees for one in found})
    logs = [[np.log(o.error) for o in found if (o.nodes, o.n_trees) == (nodes, n)] for n in sizes]
    return np.array(sizes, dtype=np.float64), np.exp([np.nanmean(row) for row in logs])


def slope(found: list[Recovery], nodes: str) -> float:
    """Of log error against log size, by least squares over the larger half of the sizes."""
    sizes, errors = mean_errors(found, nodes)
    half = slice(max(len(sizes) // 2 - 1, 0), None)
    return float(np.polyfit(np.log(sizes[half]), np.log(errors[half]), 1)[0])


@dataclass(frozen=True)
class Trained:
    """A grammar of the WSJ sample."""

    name: str
    seconds: float
    dev_f1: float
    n_fallback: int
    test_f1: float
    dev_log_probabilities: tuple[float, ...]  # of the trees of dev


@dataclass(frozen=True)
class Results:
    """Errors of recovered grammars, and grammars of the treebank."""

    recovery: list[Recovery]
    trained: list[Trained]
    n_train: int

    def common(self) -> Flags:
        """Which trees of dev every grammar gives a probability."""
        return np.asarray(np.all([np.isfinite(one.dev_log_probabilities) for one in self.trained], axis=0))

    def log_likelihood(self, trained: Trained) -> float:
        """Mean log-probability of the trees of dev that all grammars can score."""
        chosen = np.array(trained.dev_log_probabilities)[self.common()]
        return float(chosen.mean()) if len(chosen) else float("nan")

    def best(self, start: str) -> Trained:
        """Of one method the number of states with the best F1 on dev."""
        return max((one for one in self.trained if one.name.startswith(start)), key=lambda one: one.dev_f1)


def reproduction(name: str, found: Results, origin: Provenance) -> Reproduction:
    figures = {
        "recovery": [asdict(one) for one in found.recovery],
        "slopes": {nodes: slope(found.recovery, nodes) for nodes in NODES},
        "treebank": [_figures(found, one) for one in found.trained],
    }
    tables, pictures = (
        [_recovery_table(found.recovery), _treebank_table(found)],
        drawn(lambda: _pictures(found)),
    )
    return Reproduction(name, TITLE, _about(found), tables, _claims(found), pictures, figures, origin)


def _figures(found: Results, one: Trained) -> dict[str, object]:
    figures = asdict(one)
    del figures["dev_log_probabilities"]
    return {"grammar": figures.pop("name"), **figures, "dev_log_likelihood": found.log_likelihood(one)}


def _about(found: Results) -> list[str]:
    grammars = len({one.grammar for one in found.recovery})
    return [
        "The paper has theorems and no experiments, so there are no figures of its own to set beside these.",
        f"{grammars} random grammars of two states draw trees. A grammar is fitted to M of them by figures 4 "
        "and 5 of the paper, and its error is the median over 300 fresh trees of |p'(tree) / p(tree) - 1|.",
        "The paper takes one node of each tree, drawn uniformly, so that its examples are independent of "
        "each other. But then what is inside and what is outside of the node are not independent given its "
        "state: a node of a large tree is drawn more rarely. With the size of the tree as weight they are.",
        f"On the WSJ sample, {found.n_train} trees train. F1 is of labelled brackets, on sentences of up to "
        f"40 words, from words alone; times are of training, on one core. Likelihood is of the "
        f"{int(found.common().sum())} dev trees that every grammar gives a probability; "
        "values of the spectral grammars are signed and need not sum to one, so theirs is not a likelihood "
        "in the strict sense. A fallback is a sentence whose values sum to nothing positive.",
    ]


def _recovery_table(found: list[Recovery]) -> Table:
    sizes, errors = mean_errors(found, ALL)[0], [mean_errors(found, nodes)[1] for nodes in NODES]
    rows: list[list[str | float]] = [
        [f"{int(size):,}", *row] for size, *row in zip(sizes, *map(np.ndarray.tolist, errors), strict=True)
    ]
    rows.append(["slope", *(slope(found, nodes) for nodes in NODES)])
    return Table("Relative error of p(tree), by the number of trees", ("trees", *NODES), rows)


def _treebank_table(found: Results) -> Table:
    return tabulated(
        "WSJ sample",
        found.trained,
        {
            "grammar": "name",
            "dev F1": lambda one: 100 * one.dev_f1,
            "test F1": lambda one: 100 * one.test_f1,
            "log p of a dev tree": found.log_likelihood,
            "seconds": "seconds",
            "fallbacks on dev": "n_fallback",
        },
    )


def _claims(found: Results) -> list[Claim]:
    slopes = {nodes: slope(found.recovery, nodes) for nodes in NODES}
    last = {nodes: float(mean_errors(found.recovery, nodes)[1][-1]) for nodes in NODES}
    spectral, em = found.best("spectral, "), found.best("EM")
    return [
        Claim(
            "estimates converge to the true distribution at a rate of 1 / sqrt(M) (theorem 3)",
            f"the error falls as M^{slopes[ONE]:.2f} with one node per tree, M^{slopes[ALL]:.2f} with all",
            slopes[ONE] < -0.3 and slopes[ALL] < -0.3,
        ),
        Claim(
            "all nodes of all trees would be better than one node per tree",
            f"errors {last[ALL]:.3f} and {last[ONE]:.3f} on the largest sample",
            last[ALL] < last[ONE],
        ),
        Claim(
            "a node drawn uniformly from each tree is enough",
            f"without the weight the error stays at {last[UNIFORM]:.3f}, against {last[ONE]:.3f} with it",
            last[UNIFORM] < 1.2 * last[ONE],
        ),
        Claim(
            "spectral beside EM on a treebank: the paper measures nothing",
            f"dev F1 {100 * spectral.dev_f1:.1f} in {spectral.seconds:.1f} s against {100 * em.dev_f1:.1f} "
            f"in {em.seconds:.1f} s; log p of a dev tree {found.log_likelihood(spectral):.1f} against "
            f"{found.log_likelihood(em):.1f}",
            None,
        ),
    ]


def _pictures(found: Results) -> dict[str, Picture]:
    lines = {nodes: np.stack(mean_errors(found.recovery, nodes)) for nodes in NODES}
    sizes, errors = lines[ALL]
    lines["1 / sqrt(M)"] = np.stack([sizes, errors[-1] * np.sqrt(sizes[-1] / sizes)])
    caption = "The error of recovered grammars against the number of trees, and the line of theorem 3."
    labels = ("trees", "relative error of p(tree)", "Recovery of random grammars")
    return {"recovery": curves(lines, *labels, caption)}
