"""Treebank grammars: parsers learned from trees, by counting, by the spectral method, by EM.

`fit` takes trees (`Tree` objects, text in brackets, nltk trees); traces and functions are left out. A
sentence to parse is a sequence of words, or a pair (words, tags); a tree stands for its words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from sigmastar.core.arrays import Floats
from sigmastar.core.estimator import (
    Estimator,
    RandomState,
    SpreadEstimator,
    as_generator,
    n_threads,
    no_method,
    positive,
)
from sigmastar.core.progress import silent
from sigmastar.core.torch_device import placed
from sigmastar.treebanks.counts import INSIDE, OUTSIDE, Template
from sigmastar.treebanks.data.binarized import Binarization
from sigmastar.treebanks.data.phrases import Phrases, phrases
from sigmastar.treebanks.data.sentences import Words, as_sentence, tagged_words
from sigmastar.treebanks.learn.methods import BEST, METHODS, GrammarSpec, SpanScorerSpec, learn_treebank
from sigmastar.treebanks.metrics import score_brackets
from sigmastar.treebanks.model.parser import DECODINGS, Chart, Parse, Span, TreebankParser
from sigmastar.trees.data.brackets import as_trees, is_nltk
from sigmastar.trees.data.tree import Tree

Trees = str | Iterable[Tree | str | Any] | Phrases
Self = TypeVar("Self", bound="TreebankEstimator")


class TreebankEstimator(Estimator):
    """What all treebank grammars share: `model_` holds the parser that `fit` found; `parser_` is the same."""

    model_: TreebankParser
    threshold: float | None
    decoding: str
    device: str = "cpu"

    def specs(self) -> tuple[GrammarSpec, ...]:
        """How each grammar of the parser is learned."""
        raise NotImplementedError

    def span_spec(self) -> SpanScorerSpec | None:
        """How the span scorer beside them is learned, where there is one."""
        return None

    @property
    def parser_(self) -> TreebankParser:
        """The parser that `fit` found."""
        return self.model_

    def fit(self: Self, X: Trees, y: object = None) -> Self:
        """Learn from trees.

        Parameters
        ----------
        X : text, or iterable of Tree, text or nltk trees
            The treebank; text is read as brackets. `y` is not used.

        Returns
        -------
        self
            With `model_`.
        """
        if self.decoding not in DECODINGS:
            raise ValueError(f"decoding={self.decoding!r} must be one of {', '.join(map(repr, DECODINGS))}")
        bank = X if isinstance(X, Phrases) else phrases(as_trees(X))
        specs, rng = self.specs(), as_generator(self.random_state)
        with self._working():
            parser = learn_treebank(bank, specs, rng, self.progress or silent, self.span_spec())
        threshold = parser.threshold if self.threshold is None else float(self.threshold)
        self._replace_fitted(model_=replace(parser, threshold=threshold, decoding=self.decoding))
        return self

    def predict(self, X: Iterable[Words]) -> list[Tree]:
        """The tree of every sentence.

        Parameters
        ----------
        X : iterable of sequences of words, of pairs (words, tags), or of trees
            The sentences; of trees the words are parsed.

        Returns
        -------
        list of Tree
            One per sentence; see `parse` for how they were found.
        """
        return [parse.tree for parse in self.parse(X)]

    def parse(self, X: Iterable[Words]) -> list[Parse]:
        """The tree of every sentence, the log-probability of its words, and whether it is a fallback."""
        self.check_fitted()
        sentences, threads = [as_sentence(sentence) for sentence in X], n_threads(self.n_jobs)
        return placed(self.model_, self.device).parse(sentences, threads)

    def predict_nbest(self, X: Iterable[Words], n_best: int = 5) -> list[list[tuple[Tree, float]]]:
        """The best trees of every sentence.

        Parameters
        ----------
        X : iterable of sequences of words, of pairs (words, tags), or of trees
            The sentences.
        n_best : int
            At most so many trees per sentence.

        Returns
        -------
        list of lists of pairs
            For each sentence distinct trees, best first, with the score that `decoding` maximizes: the number
            of right labels in expectation, less `threshold` for each; the log of the product of rules; or
            the sum of the log-probabilities of the tree.
        """
        self.check_fitted()
        n_best, sentences = positive(n_best, "n_best"), [as_sentence(sentence) for sentence in X]
        with self._working():
            return [self.model_.parse_nbest(*sentence, n_best=n_best) for sentence in sentences]

    def marginals(self, X: Iterable[Words]) -> list[dict[Span, float]]:
        """For every sentence mu(label, i, j): how probable a label over words i to j - 1 is."""
        return [self.model_.marginals(*as_sentence(sentence)) for sentence in X]

    def charts(self, X: Iterable[Words]) -> list[Chart]:
        """The same as arrays, over chains of labels."""
        return [self.model_.chart(*as_sentence(sentence)) for sentence in X]

    def score(self, X: str | Iterable[Tree | str | Any], y: object = None) -> float:
        """F1 of labelled brackets, from 0 to 1, as EVALB has it, where the words of trees are parsed anew.

        Parameters
        ----------
        X, y
            Trees that are right, as of `fit`; `y` is not used.
        """
        self.check_fitted()
        gold = [tree for tree in as_trees(X) if isinstance(tree, Tree) and tagged_words(tree)[0]]
        return score_brackets(gold, [*self.predict(gold)], np.random.default_rng(0), n_resamples=1).f1.value

    def score_samples(self, X: Sequence[Words], y: object = None) -> Floats:
        """The log-probability of every item: of the tree where it is one, else of the words, over all trees.

        Parameters
        ----------
        X, y
            Trees, or sentences as of `predict`; `y` is not used. -inf stands for what no grammar can build.
        """
        self.check_fitted()
        result = np.empty(len(X))
        X = [as_trees([item])[0] if is_nltk(item) else item for item in X]
        trees = [at for at, item in enumerate(X) if isinstance(item, Tree)]
        if trees:
            result[trees] = self.model_.tree_log_probabilities(phrases(X[at] for at in trees))  # type: ignore[misc]
        others = [at for at, item in enumerate(X) if not isinstance(item, Tree)]
        if others:
            sentences = [as_sentence(X[at]) for at in others]
            result[others] = placed(self.model_, self.device).log_probabilities(sentences)
        return result

    def sample(self, n_samples: int = 1, random_state: RandomState = None) -> list[Tree]:
        """Trees drawn from the grammar; from several grammars each is drawn from one of them.

        Parameters
        ----------
        n_samples, random_state
            How many, and the source of chance; None: that of the estimator.
        """
        rng = as_generator(self.random_state if random_state is None else random_state)
        return self.model_.sample(positive(n_samples, "n_samples"), rng)


@dataclass(eq=False, repr=False)
class SpectralTreebankGrammar(SpreadEstimator, TreebankEstimator):
    """Latent PCFGs whose states come from two views of every node: what is inside it and what is outside.

    "spectral" recovers signed operators from moments of both (the first idea); "cluster" and "spectral+em"
    make clusters of nodes and count them (the second); "best" does the latter for five binarizations.

    Parameters
    ----------
    method : "best", "spectral+em", "cluster" or "spectral"
        "best" averages five grammars, and has a span scorer beside them.
    n_states : int or None
        Number of states per symbol, at most; None: 24, for "cluster" and "spectral" 16.
    direction : "head", "left" or "right"
        Direction of binarization of a single grammar; "best" has all.
    horizontal, vertical : int
        Number of siblings that intermediate symbols remember (0 to 2); 2: phrases remember their parent.
    max_iter : int
        Number of rounds of EM, where the method has some.
    span_scorer : bool
        Whether "best" has a second model, log-linear in the words and tags around spans, beside its grammars.
    span_share : float
        Share of the marginals that comes from the span scorer.
    threshold : float or None
        Marginal that a label must have to stand in a tree; None: 0.44.
    decoding : "labels", "rules" or "trees"
        Trees of probable labels; of probable rules, under the first grammar alone; or trees that are probable
        as wholes, by the product of all grammars.
    inside, outside : mapping of str to function, or None
        Features of both views, as `sigmastar.treebanks.INSIDE` and `OUTSIDE` name them; None: these.
    device : "cpu", "cuda" or "auto"
        Where EM counts and sentences are parsed: a processor by compiled kernels, which prune, or a GPU by
        PyTorch.
    workers : int or None
        Number of processes that correlate, cluster, take moments and the expectations of EM; it changes no
        result.
    client : str, distributed.Client or None
        A Dask cluster that does it, or the address of its scheduler.

    Attributes
    ----------
    model_ : TreebankParser
        What `fit` found.

    Examples
    --------
    >>> trees = "(S (NP (D the) (N dog)) (VP (V saw) (NP (D a) (N cat))))" * 20
    >>> grammar = SpectralTreebankGrammar(method="spectral+em", n_states=2).fit(trees)
    >>> print(grammar.predict([["a", "dog", "saw", "the", "cat"]])[0])
    (S (NP (D a) (N dog)) (VP (V saw) (NP (D the) (N cat))))
    """

    method: str = "best"
    n_states: int | None = None
    direction: str = "head"
    horizontal: int = 0
    vertical: int = 1
    max_iter: int = 4
    span_scorer: bool = True
    span_share: float = SpanScorerSpec.share
    threshold: float | None = None
    decoding: str = "labels"
    inside: Mapping[str, Template] | None = None
    outside: Mapping[str, Template] | None = None
    device: str = "cpu"

    def specs(self) -> tuple[GrammarSpec, ...]:
        methods = ("best", *(name for name in METHODS if name not in ("pcfg", "em")))
        if self.method not in methods:
            raise no_method(self.method, methods, {"pcfg": "PCFG()", "em": "EMTreebankGrammar()"})
        n_states = None if self.n_states is None else positive(self.n_states, "n_states")
        shape = Binarization(self.direction, self.horizontal, self.vertical)
        usual = 24 if self.method == "spectral+em" else GrammarSpec.n_states
        found = BEST if self.method == "best" else (GrammarSpec(self.method, shape, usual),)
        views = {"inside": self.inside or INSIDE, "outside": self.outside or OUTSIDE}
        found = tuple(replace(s, max_iter=self.max_iter, device=self.device, **views) for s in found)  # type: ignore[arg-type]
        return tuple(replace(spec, n_states=n_states or spec.n_states) for spec in found)

    def span_spec(self) -> SpanScorerSpec | None:
        if self.method != "best" or not self.span_scorer:
            return None
        if not 0.0 <= self.span_share <= 1.0:
            raise ValueError(f"span_share={self.span_share!r} must be from 0 to 1")
        return SpanScorerSpec(share=float(self.span_share))


@dataclass(eq=False, repr=False)
class EMTreebankGrammar(SpreadEstimator, TreebankEstimator):
    """A latent PCFG by expectation-maximization from a random start.

    Parameters
    ----------
    n_states : int
        Number of states per symbol, at most.
    direction : "head", "left" or "right"
        Direction of binarization.
    horizontal, vertical : int
        Number of siblings that intermediate symbols remember (0 to 2); 2: phrases remember their parent.
    max_iter : int
        Number of rounds of EM.
    threshold : float or None
        Marginal that a label must have to stand in a tree; None: 0.44.
    decoding : "labels", "rules" or "trees"
        Trees of probable labels, of probable rules, or trees that are probable as wholes.
    device : "cpu", "cuda" or "auto"
        Where EM counts and sentences are parsed: a processor by compiled kernels, which prune, or a GPU by
        PyTorch.
    warm_start : bool
        Whether `fit` goes on from the states of the last one; symbols, rules and words may be new.
    workers : int or None
        Number of processes that take the expectations of EM; it changes no result.
    client : str, distributed.Client or None
        A Dask cluster that does it, or the address of its scheduler.

    Attributes
    ----------
    model_ : TreebankParser
        What `fit` found.

    Examples
    --------
    >>> trees = "(S (NP (D the) (N dog)) (VP (V saw) (NP (D a) (N cat))))" * 20
    >>> EMTreebankGrammar(2, max_iter=3).fit(trees).score(trees)
    1.0
    """

    n_states: int = 8
    direction: str = "head"
    horizontal: int = 0
    vertical: int = 1
    max_iter: int = 40
    threshold: float | None = None
    decoding: str = "labels"
    device: str = "cpu"
    warm_start: bool = False

    def specs(self) -> tuple[GrammarSpec, ...]:
        binarization = Binarization(self.direction, self.horizontal, self.vertical)
        n_states, max_iter = positive(self.n_states, "n_states"), positive(self.max_iter, "max_iter")
        last = self._last_model and self._last_model.members[0]
        return (GrammarSpec("em", binarization, n_states, max_iter=max_iter, device=self.device, last=last),)


@dataclass(eq=False, repr=False)
class PCFG(TreebankEstimator):
    """A plain PCFG: relative frequencies of rules.

    Parameters
    ----------
    direction : "right", "left" or "head"
        Direction of binarization.
    horizontal, vertical : int
        Number of siblings that intermediate symbols remember (0 to 2); 2: phrases remember their parent.
    threshold : float or None
        Marginal that a label must have to stand in a tree; None: 0.4.
    decoding : "labels", "rules" or "trees"
        Trees of probable labels, of probable rules, or trees that are probable as wholes.
    device : "cpu", "cuda" or "auto"
        Where sentences are parsed: a processor by compiled kernels, which prune, or a GPU by PyTorch.

    Attributes
    ----------
    model_ : TreebankParser
        What `fit` found.

    Examples
    --------
    >>> trees = "(S (NP (D the) (N dog)) (VP (V saw) (NP (D a) (N cat))))" * 20
    >>> PCFG().fit(trees).score(trees)
    1.0
    """

    direction: str = "right"
    horizontal: int = 0
    vertical: int = 1
    threshold: float | None = None
    decoding: str = "labels"
    device: str = "cpu"

    def specs(self) -> tuple[GrammarSpec, ...]:
        return (GrammarSpec("pcfg", Binarization(self.direction, self.horizontal, self.vertical), 1),)
