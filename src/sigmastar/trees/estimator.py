"""Models of trees in the manner of scikit-learn: trees in, a function on trees out.

Both estimators are of the first idea: blocks of statistics, factorized, from which `recover` gets the
operators.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from sigmastar.core.arrays import Floats
from sigmastar.core.errors import InputError
from sigmastar.core.estimator import Estimator, RandomState, as_generator, chosen, positive, positive_or_auto
from sigmastar.core.progress import announce, expected_seconds
from sigmastar.trees.counts import frequent_trees
from sigmastar.trees.data.brackets import as_trees
from sigmastar.trees.data.productions import production_trees
from sigmastar.trees.data.ranked import RankedTrees
from sigmastar.trees.data.tree import Tree
from sigmastar.trees.learn import all_nodes, learn_latent_pcfg, learn_tree_automaton, one_node
from sigmastar.trees.model.automaton import TreeAutomaton
from sigmastar.trees.model.latent_pcfg import LatentPCFG

Trees = str | Iterable[Tree | str | Any]
Self = TypeVar("Self", bound="TreeEstimator")

NODES = {"all": all_nodes, "one": one_node}


class TreeEstimator(Estimator):
    """What models of trees share: `model_` holds what `fit` found."""

    model_: Any

    def fit(self: Self, X: Trees, y: object = None) -> Self:
        """Learn from trees.

        Parameters
        ----------
        X : text, or iterable of Tree, text or nltk trees
            Trees; text is read as brackets.
        y : object
            Not used.

        Returns
        -------
        self
            With `model_`.
        """
        trees = as_trees(X)
        if not trees:
            raise InputError("there are no trees to learn from")
        with self._working():
            self._replace_fitted(model_=self._learned(trees))
        return self

    def _learned(self, trees: list[Tree | str]) -> Any:
        raise NotImplementedError

    def score_samples(self, X: Trees, y: object = None) -> Floats:
        """The log-probability of each tree.

        Parameters
        ----------
        X : as of `fit`
            The trees.
        y : object
            Not used.

        Returns
        -------
        array
            -inf where the model gives nothing positive.
        """
        self.check_fitted()
        found: Floats = self.model_.log_probability(as_trees(X))
        return found

    def score(self, X: Trees, y: object = None) -> float:
        """The mean of `score_samples`; -inf counts as -1e3, since learned functions are below zero at times.

        Parameters
        ----------
        X, y
            As of `score_samples`.

        Returns
        -------
        float
            Nats per tree.
        """
        return float(self.score_samples(X).clip(min=_LOWEST).mean())

    def sample(self, n_samples: int = 1, random_state: RandomState = None) -> list[Any]:
        """Draw trees; what the model gives negative weight to does not come.

        Parameters
        ----------
        n_samples : int
            How many.
        random_state : int, Generator or None
            None: that of the estimator.

        Returns
        -------
        list of Tree
            Trees of lone words are text.
        """
        rng = as_generator(self.random_state if random_state is None else random_state)
        drawn: list[Any] = self.model_.sample(positive(n_samples, "n_samples"), rng)
        return drawn


_LOWEST = -1e3


@dataclass(eq=False, repr=False)
class SpectralTreeAutomaton(TreeEstimator):
    """A weighted tree automaton by the spectral method: contexts and subtrees counted, factorized, recovered.

    Nodes may have any number of children; an operator of k children has `n_states` ** (k + 1) numbers.

    Parameters
    ----------
    n_states : int or "auto"
        Number of states; "auto": five, or as many as the counts have rank for.
    n_outsides, n_insides : int
        Number of contexts and of subtrees to count, the most frequent ones.
    height : int
        Number of nodes from a hole up to the top of a context, at most.

    Attributes
    ----------
    model_ : TreeAutomaton
        What `fit` found; `automaton_` is the same.

    Examples
    --------
    >>> trees = ["(f a b)", "(f (f a b) b)", "a", "a", "b"] * 20
    >>> model = SpectralTreeAutomaton(n_states=2).fit(trees)
    >>> model.model_.n_states
    2
    """

    n_states: int | str = "auto"
    n_outsides: int = 500
    n_insides: int = 500
    height: int = 3

    @property
    def automaton_(self) -> TreeAutomaton:
        """The automaton that `fit` found."""
        found: TreeAutomaton = self.model_
        return found

    def _learned(self, trees: list[Tree | str]) -> TreeAutomaton:
        n_states = positive_or_auto(self.n_states, "n_states")
        ranked = RankedTrees.of(trees)
        announce(lambda: expected_seconds(self, ranked) or 0.0, "learning")
        basis = frequent_trees(
            ranked,
            positive(self.n_outsides, "n_outsides"),
            positive(self.n_insides, "n_insides"),
            positive(self.height, "height"),
        )
        return learn_tree_automaton(ranked, n_states, basis)


@dataclass(eq=False, repr=False)
class SpectralLatentPCFG(TreeEstimator):
    """A latent-variable PCFG by the spectral method of Cohen et al. (2012), unsmoothed.

    Trees are binary over tagged words (`sigmastar.trees.binarize` and `collapse` make them so). For parsers
    of real treebanks see `SpectralTreebankGrammar`, which smooths the same moments.

    Parameters
    ----------
    n_states : int
        Number of states per non-terminal, at most.
    nodes : "all" or "one"
        Nodes that are counted: all of all trees, or one that is drawn from each, as in the paper's theorem.

    Attributes
    ----------
    model_ : LatentPCFG
        What `fit` found.

    Examples
    --------
    >>> trees = "(S (A x) (B y)) (S (A x) (S (A x) (B y))) (S (A z) (B y))" * 10
    >>> model = SpectralLatentPCFG(n_states=1).fit(trees)
    >>> round(model.score(trees), 3)
    -1.501
    """

    n_states: int = 2
    nodes: str = "all"

    def _learned(self, trees: list[Tree | str]) -> LatentPCFG:
        nodes, n_states = chosen(NODES, self.nodes, "nodes"), positive(self.n_states, "n_states")
        ranked = production_trees(_phrases(trees))
        announce(lambda: expected_seconds(self, ranked) or 0.0, "learning")
        return learn_latent_pcfg(ranked, n_states, nodes, as_generator(self.random_state))


def _phrases(trees: list[Tree | str]) -> list[Tree]:
    for number, tree in enumerate(trees, 1):
        if isinstance(tree, str):
            raise InputError(f"tree {number}: a word without a tag is no tree; write (TAG {tree})")
    return trees  # type: ignore[return-value]
