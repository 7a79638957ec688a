"""Dependency grammars: head automata over tags, learned by counting, by `recover`, from two views, by EM.

What decides a parse is the parameter `arcs`. With "trained" or "lexical" trained weights of arcs and
siblings decide alone, and the head automata take no part in `predict` and `score`: an accuracy that is
quoted for such a parser is one of trained arcs, and so are probabilities (`score_samples`). The automata are
what `sample` draws from, and `model_.grammar` lets them decide. With "none" they decide from the start.

What all of them share: fit, predict, scores, samples.

X is a sequence of sentences, each a sequence of words, and a word is `(form, tag)`, `(form, upos, xpos)` or
a tag alone; y holds the heads of each sentence, 0 for the root. Or X is a `DependencyTreebank`, or a list
of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Self, TypeVar

from sigmastar.core.arrays import Floats
from sigmastar.core.errors import InputError
from sigmastar.core.estimator import (
    Estimator,
    RandomState,
    SpreadEstimator,
    as_generator,
    no_method,
    positive,
    positive_or_auto,
)
from sigmastar.core.progress import silent
from sigmastar.core.torch_device import placed
from sigmastar.core.word_classes import WordClasses
from sigmastar.dependency.data.treebank import DependencyTreebank, Word, as_treebank
from sigmastar.dependency.learn.arcs import ARC_EPOCHS
from sigmastar.dependency.learn.em import known_start
from sigmastar.dependency.learn.parser import CLUSTERED_ITERATIONS, EM_ITERATIONS, Recipe, learn_parser
from sigmastar.dependency.model.parser import DependencyParser

Value = TypeVar("Value")
Sentences = Sequence[Sequence[Word]] | Sequence[DependencyTreebank] | DependencyTreebank
Heads = Sequence[Sequence[int]]


class DependencyEstimator(Estimator):
    """What all dependency grammars share."""

    model_: DependencyParser
    symbols: str
    arcs: str
    distances: bool
    arc_epochs: int
    projective: str
    device: str

    def _recipe(self) -> Recipe:
        """How to learn."""
        raise NotImplementedError

    def _recipe_of(self, method: str, **more: Any) -> Recipe:
        epochs = positive(self.arc_epochs, "arc_epochs")
        return Recipe(
            method,
            symbols=self.symbols,
            arcs=self.arcs,
            distances=self.distances,
            arc_epochs=epochs,
            projective=self.projective,
            **more,
        )

    def _em_recipe(self, method: str, n_states: int | str, max_iter: int) -> Recipe:
        options: dict[str, Any] = {"max_iter": positive(max_iter, "max_iter")}
        most = positive_or_auto(n_states, "n_states")
        if (last := self._last_model) is not None:
            options["start"], most = partial(known_start, last.automata), int(last.automata.n_states.max())
        return self._recipe_of(method, n_states=most, options=options)

    def fit(self, X: Sentences, y: Heads | None = None) -> Self:
        """Learn from trees; those that are not projective are lifted, as `projective` says.

        Parameters
        ----------
        X : sentences
            As `as_treebank` takes them.
        y : sequence of sequences of int or None
            The heads of each sentence; None: those of the treebank.

        Returns
        -------
        Self
            The estimator.
        """
        return self._fit_with(as_treebank(X, y))

    def _fit_with(self, treebank: DependencyTreebank, classes: WordClasses | None = None) -> Self:
        """`fit`, with classes of words from raw text."""
        recipe = self._recipe()
        with self._working():
            rng = as_generator(self.random_state)
            parser = learn_parser(treebank, recipe, rng, self.progress or silent, classes)
        self._replace_fitted(model_=parser)
        return self

    @property
    def _placed(self) -> DependencyParser:
        """The parser where it is to work."""
        return placed(self.model_, self.device)

    @property
    def parser_(self) -> DependencyParser:
        """The same as `model_`."""
        return self.model_

    def predict(self, X: Sentences) -> list[list[int]]:
        """The heads of every sentence, 0 for the root.

        Parameters
        ----------
        X : sentences
            As `fit` takes them.

        Returns
        -------
        list of list of int
            One list per sentence.
        """
        found = self._parsed(X)
        return _by_sentence(found, found.head.tolist())

    def predict_labels(self, X: Sentences) -> list[list[str]]:
        """The relation of every word to the head that `predict` gives it.

        Parameters
        ----------
        X : sentences
            As `fit` takes them.

        Returns
        -------
        list of list of str
            One list per sentence.
        """
        found = self._parsed(X)
        return _by_sentence(found, found.deprel)

    def _parsed(self, X: Sentences) -> DependencyTreebank:
        """The sentences with the arcs that the parser finds best."""
        self.check_fitted()
        treebank = as_treebank(X)
        with self._working():
            return self._placed.predict(treebank)

    def marginals(self, X: Sentences) -> list[Floats]:
        """The probability of each head of each word.

        Parameters
        ----------
        X : sentences
            As `fit` takes them.

        Returns
        -------
        list of Floats
            Per sentence a table of heads (rows, 0 is the root) x words (columns), by which `predict` chooses.
            Heads that are ruled out beforehand have 0.
        """
        self.check_fitted()
        with self._working():
            found = self._placed.parse(as_treebank(X), marginals=True).marginals
        return [table[:, 1:] for table in found or []]

    def score(self, X: Sentences, y: Heads | None = None) -> float:
        """The unlabelled attachment score (UAS): the share of words with the right head.

        Parameters
        ----------
        X, y
            As of `fit`.

        Returns
        -------
        float
            From 0 to 1.
        """
        self.check_fitted()
        treebank = as_treebank(X, y)
        if not treebank.has_heads:
            raise InputError("score needs the true heads y")
        with self._working():
            return float((self._placed.predict(treebank).head == treebank.head).mean())

    def score_samples(self, X: Sentences, y: Heads | None = None) -> Floats:
        """Logarithms of probabilities under what decides the parse.

        Parameters
        ----------
        X, y
            As of `fit`. Of head automata the probability is that of sentence and tree, and where there are no
            heads trees are summed over. Of trained arcs it is that of the tree given the sentence.

        Returns
        -------
        Floats
            One natural logarithm per sentence; -inf where the value is not positive.
        """
        self.check_fitted()
        with self._working():
            return self._placed.log_probability(as_treebank(X, y))

    def sample(
        self, n_samples: int = 1, random_state: RandomState = None, max_words: int = 200
    ) -> DependencyTreebank:
        """Trees drawn from the head automata, whatever decides the parse.

        Parameters
        ----------
        n_samples : int
            Number of trees.
        random_state : int, Generator or None
            None: that of the estimator.
        max_words : int
            Larger trees are drawn again.

        Returns
        -------
        DependencyTreebank
            Over tags; `_` stands for words.
        """
        self.check_fitted()
        rng = as_generator(self.random_state if random_state is None else random_state)
        return self.model_.sample(n_samples, rng, max_words)


OF_RECOVER = ("spectral", "bigram")
OF_TWO_VIEWS = "spectral+em"


def _by_sentence(treebank: DependencyTreebank, words: list[Value]) -> list[list[Value]]:
    """What every word has, a list per sentence."""
    return [words[low:high] for low, high in pairwise(treebank.sentence_offsets.tolist())]


@dataclass(eq=False, repr=False)
class SpectralDependencyGrammar(SpreadEstimator, DependencyEstimator):
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
        What decides the parse. "trained": trained weights of arcs, siblings and grandparents, over tags,
        distances and neighbours. "lexical": the same over words too. With both of them the automata
        take no part in the parse. "none": the automata decide.
    distances : bool
        Whether arcs are weighed by how far they reach.
    max_iter : int
        Largest number of EM iterations ("spectral+em").
    arc_epochs : int
        Number of passes over the trees when arcs are trained.
    projective : str
        Trees that are not projective. "lift": their arcs are lifted. "pseudo": the relations of lifted words
        tell of it, and what a parse tells is undone, so that its arcs may cross.
    device : "cpu", "cuda" or "auto"
        Where sentences are parsed if the automata decide: a processor by compiled kernels, which rule arcs
        out, or a GPU by PyTorch.
    workers : int or None
        Number of processes that count the pasts and futures of modifiers; it changes no result.
    client : str, distributed.Client or None
        A Dask cluster that does it, or the address of its scheduler.

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
    device: str = "cpu"

    def _recipe(self) -> Recipe:
        methods = (OF_TWO_VIEWS, *OF_RECOVER)
        if self.method not in methods:
            first = "DeterministicDependencyGrammar"
            elsewhere = {"em": "EMDependencyGrammar()", "det": f"{first}(first=False)", "det+f": f"{first}()"}
            raise no_method(self.method, methods, elsewhere)
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
    device : "cpu", "cuda" or "auto"
        Where sentences are parsed if the automata decide: a processor by compiled kernels, which rule arcs
        out, or a GPU by PyTorch.
    warm_start : bool
        Whether `fit` goes on from the automata of the last one; symbols may be new.

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
    device: str = "cpu"
    warm_start: bool = False

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
    device : "cpu", "cuda" or "auto"
        Where sentences are parsed if the automata decide: a processor by compiled kernels, which rule arcs
        out, or a GPU by PyTorch.

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
    device: str = "cpu"

    def _recipe(self) -> Recipe:
        return self._recipe_of("det+f" if self.first else "det", n_states=1, decoding=self.decoding)
