"""Dependency grammars: head automata over tags, learned by counting, by `recover`, from two views, by EM.

What decides a parse is the parameter `arcs`. With "trained" or "lexical" trained weights of arcs and
siblings decide alone, and the head automata take no part in `predict` and `score`: an accuracy that is
quoted for such a parser is one of trained arcs, and so are probabilities (`score_samples`). The automata are
what `sample` draws from, and `model_.grammar` lets them decide. With "none" they decide from the start.
"""

from __future__ import annotations

from dataclasses import dataclass

from sigmastar.dependency.estimator.base import DependencyEstimator
from sigmastar.dependency.learn.arcs import ARC_EPOCHS
from sigmastar.dependency.learn.parser import CLUSTERED_ITERATIONS, EM_ITERATIONS, Recipe

OF_RECOVER = ("spectral", "bigram")
OF_TWO_VIEWS = "spectral+em"


@dataclass(eq=False, repr=False)
class SpectralDependencyGrammar(DependencyEstimator):
    """Head automata from spectra; by default beside trained arcs, which then decide the parse alone.

    Parameters
    ----------
    method : str
        How the automata are learned. "spectral+em": states from two views (correlations, clusters, shrunk
        counts), then EM. "spectral": by `recover` from long pasts and futures. "bigram": by `recover` from
        the statistics of Luque et al. (2012).
    n_states : int or "auto"
        Largest number of states per automaton: one for 100 modifiers, 20 with EM. "auto": by held-out
        likelihood.
    symbols : str
        What automata read: "upos", "xpos" or "upos+xpos".
    arcs : str
        What decides the parse. "trained": trained weights of arcs and siblings, over tags, distances and
        neighbours. "lexical": the same over words too. With both of them the automata take no part in the
        parse. "none": the automata decide.
    distances : bool
        Whether arcs are weighed by how far they reach.
    max_iter : int
        Largest number of EM iterations ("spectral+em").
    arc_epochs : int
        Number of passes over the trees when arcs are trained.
    projective : str
        Trees that are not projective. "lift": their arcs are lifted. "pseudo": the relations of lifted words
        tell of it, and what a parse tells is undone, so that its arcs may cross.

    Attributes
    ----------
    model_ : DependencyParser
        What `fit` found.

    Examples
    --------
    >>> sentences = [["D", "N", "V"], ["N", "V", "D", "N"], ["D", "N", "V", "N"]] * 5
    >>> heads = [[2, 3, 0], [2, 0, 4, 2], [2, 3, 0, 3]] * 5
    >>> grammar = SpectralDependencyGrammar(n_states=2, arcs="none").fit(sentences, heads)
    >>> grammar.predict([["D", "N", "V", "D", "N"]])
    [[2, 3, 0, 5, 3]]
    >>> grammar.model_.decided_by
    'head automata'
    """

    method: str = OF_TWO_VIEWS
    n_states: int | str = 10
    symbols: str = "upos+xpos"
    arcs: str = "trained"
    distances: bool = True
    max_iter: int = CLUSTERED_ITERATIONS
    arc_epochs: int = ARC_EPOCHS
    projective: str = "lift"

    def _recipe(self) -> Recipe:
        methods = (OF_TWO_VIEWS, *OF_RECOVER)
        if self.method not in methods:
            raise ValueError(f"method={self.method!r} must be one of {', '.join(map(repr, methods))}")
        return self._em_recipe(self.method, self.n_states, self.max_iter)


@dataclass(eq=False, repr=False)
class EMDependencyGrammar(DependencyEstimator):
    """Head automata by expectation-maximization from a random start.

    Parameters
    ----------
    n_states : int or "auto"
        Largest number of states per automaton: one for 20 modifiers. "auto": by held-out likelihood.
    symbols : str
        What automata read: "upos", "xpos" or "upos+xpos".
    arcs : str
        What decides the parse. "none": the automata; "trained" or "lexical": trained weights alone.
    distances : bool
        Whether arcs are weighed by how far they reach.
    max_iter : int
        Largest number of EM iterations.
    arc_epochs : int
        Number of passes over the trees when arcs are trained.
    projective : str
        Trees that are not projective. "lift": their arcs are lifted. "pseudo": the relations of lifted words
        tell of it, and what a parse tells is undone, so that its arcs may cross.

    Attributes
    ----------
    model_ : DependencyParser
        What `fit` found.

    Examples
    --------
    >>> sentences, heads = [["D", "N", "V"], ["N", "V"]] * 10, [[2, 3, 0], [2, 0]] * 10
    >>> EMDependencyGrammar(n_states=2).fit(sentences, heads).predict([["D", "N", "V"]])
    [[2, 3, 0]]
    """

    n_states: int | str = 10
    symbols: str = "upos+xpos"
    arcs: str = "none"
    distances: bool = True
    max_iter: int = EM_ITERATIONS
    arc_epochs: int = ARC_EPOCHS
    projective: str = "lift"

    def _recipe(self) -> Recipe:
        return self._em_recipe("em", self.n_states, self.max_iter)


@dataclass(eq=False, repr=False)
class DeterministicDependencyGrammar(DependencyEstimator):
    """Head automata by counting: DET, or DET+F.

    Parameters
    ----------
    first : bool
        Whether there is another state before the first modifier (DET+F).
    symbols : str
        What automata read: "upos", "xpos" or "upos+xpos".
    arcs : str
        What decides the parse. "none": the automata; "trained" or "lexical": trained weights alone.
    distances : bool
        Whether arcs are weighed by how far they reach.
    decoding : str
        How the automata decide. "mbr": the tree of the most probable arcs; "viterbi": the most probable tree.
    arc_epochs : int
        Number of passes over the trees when arcs are trained.
    projective : str
        Trees that are not projective. "lift": their arcs are lifted. "pseudo": the relations of lifted words
        tell of it, and what a parse tells is undone, so that its arcs may cross.

    Attributes
    ----------
    model_ : DependencyParser
        What `fit` found.

    Examples
    --------
    >>> sentences, heads = [["D", "N", "V"], ["N", "V"]] * 10, [[2, 3, 0], [2, 0]] * 10
    >>> DeterministicDependencyGrammar().fit(sentences, heads).score(sentences, heads)
    1.0
    """

    first: bool = True
    symbols: str = "upos+xpos"
    arcs: str = "none"
    distances: bool = True
    decoding: str = "mbr"
    arc_epochs: int = ARC_EPOCHS
    projective: str = "lift"

    def _recipe(self) -> Recipe:
        return self._recipe_of("det+f" if self.first else "det", n_states=1, decoding=self.decoding)
