"""Tables, picture and claims of the reproduction of Cohen et al. (2012).

Nodes are all nodes of all trees; one of each tree with the weight of its size; or one of each tree as the
paper draws it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np

from sigmastar.core.arrays import Flags, Floats
from sigmastar.core.intervals import PairedComparison
from sigmastar.core.page import Picture, Table
from sigmastar.core.provenance import Provenance
from sigmastar.reproduce.result import (
    Claim,
    Reproduction,
    Slope,
    above,
    all_of,
    common_slope,
    curves,
    drawn,
    gain,
    tabulated,
)
from sigmastar.trees.learn import NodeWeights, all_nodes, one_node, one_uniform_node

TITLE = "Spectral learning of latent-variable PCFGs (Cohen et al. 2012)"
ALL, ONE, UNIFORM = "all nodes", "one node, weighted", "one node, uniform"
TREE_SIZE = 7
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


def error_table(found: list[Recovery], nodes: str) -> tuple[Floats, Floats]:
    """The larger half of the sizes, and the errors: grammars x sizes."""
    sizes = sorted({one.n_trees for one in found})[max(len({one.n_trees for one in found}) // 2 - 1, 0) :]
    known = {(one.grammar, one.n_trees): one.error for one in found if one.nodes == nodes}
    grammars = sorted({grammar for grammar, _ in known})
    return np.array(sizes, dtype=float), np.array([[known[g, n] for n in sizes] for g in grammars])


def slope(found: list[Recovery], nodes: str) -> Slope:
    """Of log error against log size over the larger half of the sizes, with its interval."""
    return common_slope(*error_table(found, nodes))


def log_ratios(found: list[Recovery], nodes: str, others: str) -> PairedComparison:
    """log(error of `nodes` / error of `others`) over grammars and the larger sizes."""
    first, second = (np.log(error_table(found, name)[1]).ravel() for name in (nodes, others))
    both = np.isfinite(first) & np.isfinite(second)
    return gain(first[both], second[both], np.random.default_rng(0))


@dataclass(frozen=True)
class Certified:
    """Theorem 3 on one grammar: its constants, and what it requires and certifies."""

    grammar: int
    smallest: float  # Lambda
    conditioning: float  # sigma
    problems: tuple[str, ...]
    log10_required: float  # examples of each symbol for 0.1 on trees of TREE_SIZE rules
    log10_certified: float  # epsilon of the largest sample


@dataclass(frozen=True)
class Trained:
    """A grammar of the WSJ sample."""

    name: str
    seconds: float
    dev_f1: float
    n_fallback: int
    test_f1: float
    dev_log_probabilities: tuple[float, ...]  # of the trees of dev
    proper: bool = True  # whether these are logarithms of probabilities


@dataclass(frozen=True)
class Results:
    """Errors of recovered grammars, what the theorem says of them, and grammars of the treebank."""

    recovery: list[Recovery]
    certified: list[Certified]
    trained: list[Trained]
    n_train: int

    def common(self) -> Flags:
        """Which trees of dev every grammar gives a probability."""
        return np.asarray(np.all([np.isfinite(one.dev_log_probabilities) for one in self.trained], axis=0))

    def log_likelihood(self, trained: Trained) -> float | None:
        """Mean log-probability of the trees of dev that all grammars can score; None for other values."""
        if not trained.proper:
            return None
        chosen = np.array(trained.dev_log_probabilities)[self.common()]
        return float(chosen.mean()) if len(chosen) else float("nan")

    def best(self, start: str) -> Trained:
        """Of one method the number of states with the best F1 on dev."""
        return max((one for one in self.trained if one.name.startswith(start)), key=lambda one: one.dev_f1)


def reproduction(name: str, found: Results, origin: Provenance) -> Reproduction:
    figures = {
        "recovery": [asdict(one) for one in found.recovery],
        "slopes": {nodes: asdict(slope(found.recovery, nodes)) for nodes in NODES},
        "theorem": [asdict(one) for one in found.certified],
        "treebank": [_figures(found, one) for one in found.trained],
    }
    tables, pictures = (
        [_recovery_table(found.recovery), _theorem_table(found), _treebank_table(found)],
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
        "values of the spectral grammars are signed and need not sum to one, and an average of grammars has "
        "none of its own: they are left out. A fallback is a sentence whose values sum to nothing positive.",
    ]


def _recovery_table(found: list[Recovery]) -> Table:
    sizes, errors = mean_errors(found, ALL)[0], [mean_errors(found, nodes)[1] for nodes in NODES]
    rows: list[list[str | float]] = [
        [f"{int(size):,}", *row] for size, *row in zip(sizes, *map(np.ndarray.tolist, errors), strict=True)
    ]
    rows.append(["slope", *(str(slope(found, nodes)) for nodes in NODES)])
    note = "Slopes over the larger half of the sizes, with intervals of 95%; a height for every grammar."
    return Table("Relative error of p(tree), by the number of trees", ("trees", *NODES), rows, note=note)


def _theorem_table(found: Results) -> Table:
    return tabulated(
        f"Theorem 3, trees of {TREE_SIZE} rules, delta 0.05",
        found.certified,
        {
            "grammar": lambda one: one.grammar + 1,
            "Lambda": lambda one: f"{one.smallest:.1e}",
            "sigma": lambda one: f"{one.conditioning:.1e}",
            "conditions 1, 2": lambda one: "; ".join(one.problems) or "hold",
            "log10 examples for 0.1": "log10_required",
            "log10 of the epsilon certified": "log10_certified",
        },
        "Lambda is the least absolute entry of c^1, d, D and of the inverses of Sigma, worked out from the "
        "grammar, in a rotation of the singular vectors: in the vectors themselves it is 0.",
    )


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
    more, fewer = log_ratios(found.recovery, ONE, ALL), log_ratios(found.recovery, UNIFORM, ONE)
    spectral, em = found.best("spectral, "), found.best("EM")
    return [
        Claim(
            "estimates converge to the true distribution at a rate of 1 / sqrt(M) (theorem 3)",
            f"the error falls with the exponent {slopes[ONE]} for one node per tree, {slopes[ALL]} for all",
            all_of([slopes[nodes].reaches(-0.5) for nodes in (ONE, ALL)]),
        ),
        _bound_claim(found),
        Claim(
            "all nodes of all trees would be better than one node per tree",
            f"errors {last[ALL]:.3f} and {last[ONE]:.3f} on the largest sample; {_times(more)}",
            above(more),
        ),
        Claim(
            "a node drawn uniformly from each tree is enough",
            f"without the weight the error is {last[UNIFORM]:.3f} on the largest sample, against "
            f"{last[ONE]:.3f} with it; {_times(fewer)}",
            _no_worse(fewer),
        ),
        Claim(
            "spectral beside EM on a treebank: the paper measures nothing",
            f"dev F1 {100 * spectral.dev_f1:.1f} in {spectral.seconds:.1f} s against {100 * em.dev_f1:.1f} "
            f"in {em.seconds:.1f} s",
            None,
        ),
    ]


def _bound_claim(found: Results) -> Claim:
    valid = [one for one in found.certified if not one.problems]
    n_trees = max(one.n_trees for one in found.recovery)
    errors = {o.grammar: o.error for o in found.recovery if (o.nodes, o.n_trees) == (ONE, n_trees)}
    within = [np.log10(max(errors[one.grammar], 1e-300)) <= one.log10_certified for one in valid]
    tells = [
        one.log10_certified < 0 for one in valid
    ]  # an error above that of no estimate at all says nothing
    required = [one.log10_required for one in valid]
    span = f"10^{min(required):.0f} to 10^{max(required):.0f}" if valid else "no number of"
    return Claim(
        "so many examples with each symbol are enough (theorem 3)",
        f"conditions 1 and 2 hold for {len(valid)} of {len(found.certified)} grammars; {span} examples are "
        f"required for 10%, and {sum(within)} of {len(valid)} errors at {n_trees:,} trees are below what is "
        f"certified, of which {sum(tells)} could have been missed",
        False if not all(within) else True if any(tells) else None,
    )


def _no_worse(ratio: PairedComparison) -> bool | None:
    """Whether an error is not above another: no, where it surely is; yes, where surely within a fifth."""
    if ratio.low > 0:
        return False
    return True if ratio.high < np.log(1.2) else None


def _times(ratio: PairedComparison) -> str:
    low, value, high = (float(np.exp(x)) for x in (ratio.low, ratio.difference, ratio.high))
    return f"{value:.2f} times, 95% interval {low:.2f} to {high:.2f}"


def _pictures(found: Results) -> dict[str, Picture]:
    lines = {nodes: np.stack(mean_errors(found.recovery, nodes)) for nodes in NODES}
    sizes, errors = lines[ALL]
    lines["1 / sqrt(M)"] = np.stack([sizes, errors[-1] * np.sqrt(sizes[-1] / sizes)])
    caption = "The error of recovered grammars against the number of trees, and the line of theorem 3."
    labels = ("trees", "relative error of p(tree)", "Recovery of random grammars")
    return {"recovery": curves(lines, *labels, caption)}
