"""Tree automata in the manner of scikit-learn: trees in, a function on trees out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.errors import InputError
from sigmastar.core.estimator import Estimator, positive
from sigmastar.trees.counts.bases import frequent_trees
from sigmastar.trees.data.brackets import parse_brackets
from sigmastar.trees.data.ranked import RankedTrees
from sigmastar.trees.data.tree import Tree
from sigmastar.trees.learn.spectral import learn_tree_automaton
from sigmastar.trees.model.automaton import TreeAutomaton

Array = NDArray[np.float64]
Trees = Sequence[Tree | str]


class SpectralTreeAutomaton(Estimator):
    """A weighted tree automaton by the spectral method.

    n_states    of the automaton
    n_outsides  contexts to count, the most frequent ones
    n_insides   subtrees to count, the most frequent ones
    height      nodes from a hole up to the top of a context, at most

    Trees have one or two children a node (`trees.data.binarize` makes them so); text is read as brackets, and
    text without any is a lone word.

    >>> trees = ["(f a b)", "(f (f a b) b)", "a", "a", "b"] * 20
    >>> model = SpectralTreeAutomaton(n_states=2).fit(trees)
    >>> model.automaton_.n_states
    2
    """

    automaton_: TreeAutomaton

    def __init__(
        self, n_states: int = 5, n_outsides: int = 500, n_insides: int = 500, height: int = 3
    ) -> None:
        self.n_states = n_states
        self.n_outsides = n_outsides
        self.n_insides = n_insides
        self.height = height

    def fit(self, X: Trees, y: None = None) -> SpectralTreeAutomaton:
        """Learn from trees."""
        trees = RankedTrees.of(map(_as_tree, _as_list(X)))
        if len(trees) == 0:
            raise InputError("there are no trees to learn from")
        basis = frequent_trees(
            trees,
            positive(self.n_outsides, "n_outsides"),
            positive(self.n_insides, "n_insides"),
            positive(self.height, "height"),
        )
        self._replace_fitted(
            automaton_=learn_tree_automaton(trees, positive(self.n_states, "n_states"), basis)
        )
        return self

    def score_samples(self, X: Trees) -> Array:
        """log f of each tree, -inf where f is not positive."""
        return self.automaton_.log_probability(list(map(_as_tree, _as_list(X))))

    def score(self, X: Trees, y: None = None) -> float:
        """The mean of `score_samples`."""
        return float(self.score_samples(X).mean())


def _as_list(trees: Trees) -> Trees:
    if isinstance(trees, (str, Tree)):
        raise InputError("give a list of trees, not one tree")
    return trees


def _as_tree(tree: Tree | str) -> Tree | str:
    if isinstance(tree, Tree) or "(" not in tree:
        return tree
    found = parse_brackets(tree)
    if len(found) != 1:
        raise InputError(f"{tree!r} holds {len(found)} trees; give one an item")
    return found[0]
