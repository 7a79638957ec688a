"""What the reproduction of Cohen et al. (2012) says: tables, a picture, and the paper's claims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.page import Cell, Picture, Table
from sigmastar.core.provenance import Provenance
from sigmastar.reproduce.cohen2012.recovery import ALL, NODES, ONE, UNIFORM, Recovery, mean_errors, slope
from sigmastar.reproduce.result import Claim, Reproduction, curves, drawn, tabulated

TITLE = "Spectral learning of latent-variable PCFGs (Cohen et al. 2012)"


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
    n_dev: int
    n_test: int

    def common(self) -> NDArray[np.bool_]:
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
        "treebank": [
            {
                "grammar": one.name,
                "seconds": one.seconds,
                "dev_f1": one.dev_f1,
                "test_f1": one.test_f1,
                "dev_log_likelihood": found.log_likelihood(one),
                "n_fallback": one.n_fallback,
            }
            for one in found.trained
        ],
    }
    tables = [_recovery_table(found.recovery), _treebank_table(found)]
    return Reproduction(
        name,
        TITLE,
        _about(found),
        tables,
        _claims(found),
        drawn(lambda: _pictures(found.recovery)),
        figures,
        origin,
    )


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


def _recovery_table(found: Sequence[Recovery]) -> Table:
    columns = {nodes: mean_errors(list(found), nodes) for nodes in NODES}
    sizes = columns[ALL][0]
    rows: list[list[str | float]] = [
        [f"{int(size):,}", *(float(columns[nodes][1][k]) for nodes in NODES)] for k, size in enumerate(sizes)
    ]
    rows.append(["slope", *(slope(list(found), nodes) for nodes in NODES)])
    return Table("Relative error of p(tree), by the number of trees", ("trees", *NODES), rows)


def _treebank_table(found: Results) -> Table:
    columns: dict[str, Callable[[Trained], Cell]] = {
        "grammar": lambda one: one.name,
        "dev F1": lambda one: 100 * one.dev_f1,
        "test F1": lambda one: 100 * one.test_f1,
        "log p of a dev tree": found.log_likelihood,
        "seconds": lambda one: one.seconds,
        "fallbacks on dev": lambda one: one.n_fallback,
    }
    return tabulated("WSJ sample", found.trained, columns)


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


def _pictures(found: list[Recovery]) -> dict[str, Picture]:
    lines = {nodes: np.stack(mean_errors(found, nodes)) for nodes in NODES}
    sizes, errors = lines[ALL]
    lines["1 / sqrt(M)"] = np.stack([sizes, errors[-1] * np.sqrt(sizes[-1] / sizes)])
    caption = "The error of recovered grammars against the number of trees, and the line of theorem 3."
    labels = ("trees", "relative error of p(tree)", "Recovery of random grammars")
    return {"recovery": curves(lines, *labels, caption)}
