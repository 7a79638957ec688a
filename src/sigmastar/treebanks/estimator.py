"""Treebank grammars: parsers learnt from trees, by counting, by the spectral method, by EM.

`fit` takes trees (`sigmastar.trees.data.tree.Tree`, as `read_brackets` gives them); traces and functions are
left out. A sentence to parse is a sequence of words, or a pair (words, tags); a tree stands for its words.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.errors import InputError
from sigmastar.core.estimator import Estimator, RandomState, as_generator, positive
from sigmastar.core.parallel import limited_threads
from sigmastar.treebanks.data.binary import Binarization
from sigmastar.treebanks.data.phrases import Phrases, phrases
from sigmastar.treebanks.learn.methods import BEST, METHODS, SPANS, Recipe, learn_treebank
from sigmastar.treebanks.learn.span_scorer import SpanRecipe
from sigmastar.treebanks.model.parser import (
    DECODINGS,
    Chart,
    Parse,
    Sentence,
    Span,
    TreebankParser,
)
from sigmastar.trees.data.tree import Tree

Words = Sequence[str] | tuple[Sequence[str], Sequence[str]] | Tree
Array = NDArray[np.float64]


def as_sentence(sentence: Words) -> Sentence:
    """Words, and tags or None."""
    if isinstance(sentence, Tree):
        return list(sentence.words()), None
    if isinstance(sentence, str):
        raise InputError(f"{sentence!r} is one text; split it into words first, as in sentence.split()")
    if isinstance(sentence, tuple) and len(sentence) == 2 and not isinstance(sentence[0], str):
        words, tags = sentence
        return [str(word) for word in words], [str(tag) for tag in tags]
    texts = [word for word in sentence if isinstance(word, str)]
    if len(texts) < len(sentence):
        raise InputError("a sentence is a list of words, or a pair (words, tags)")
    return texts, None


class TreebankEstimator(Estimator, ABC):
    """What all treebank grammars share: `parser_` holds what `fit` found."""

    parser_: TreebankParser
    threshold: float | None
    decoding: str
    random_state: RandomState
    n_threads: int

    @abstractmethod
    def recipes(self) -> tuple[Recipe, ...]:
        """How each member of the parser is learnt."""

    def span_recipe(self) -> SpanRecipe | None:
        """How a model of spans beside them is learnt, where there is one."""
        return None

    def fit(self, X: Iterable[Tree] | Phrases, y: None = None) -> TreebankEstimator:
        """Learn from trees."""
        recipes = self.recipes()
        if self.decoding not in DECODINGS:
            raise ValueError(f"decoding={self.decoding!r} must be one of {', '.join(map(repr, DECODINGS))}")
        with limited_threads(self.n_threads):
            parser = learn_treebank(X, recipes, as_generator(self.random_state), spans=self.span_recipe())
        threshold = parser.threshold if self.threshold is None else float(self.threshold)
        chosen = replace(parser, threshold=threshold, decoding=self.decoding)
        self._replace_fitted(parser_=chosen)
        return self

    def predict(self, X: Iterable[Words]) -> list[Tree]:
        """The tree of every sentence."""
        return [parse.tree for parse in self.parse(X)]

    def parse(self, X: Iterable[Words]) -> list[Parse]:
        """The tree of every sentence, the log-probability of its words, and whether it is a fallback."""
        return self.parser_.parse([as_sentence(sentence) for sentence in X], self.n_threads)

    def marginals(self, X: Iterable[Words]) -> list[dict[Span, float]]:
        """For every sentence mu(label, i, j): how probable a label over words i to j - 1 is."""
        return [self.parser_.marginals(*as_sentence(sentence)) for sentence in X]

    def charts(self, X: Iterable[Words]) -> list[Chart]:
        """The same as arrays, over chains of labels."""
        return [self.parser_.chart(*as_sentence(sentence)) for sentence in X]

    def score_samples(self, X: Sequence[Words]) -> Array:
        """log P of every item: of the tree where it is a tree, else of the words, over all trees."""
        result = np.empty(len(X))
        trees = [at for at, item in enumerate(X) if isinstance(item, Tree)]
        if trees:
            result[trees] = self.parser_.tree_log_probabilities(phrases(X[at] for at in trees))  # type: ignore[misc]
        others = [at for at, item in enumerate(X) if not isinstance(item, Tree)]
        result[others] = [self.parser_.log_probability(*as_sentence(X[at])) for at in others]
        return result

    def sample(self, n_samples: int = 1, random_state: RandomState = None) -> list[Tree]:
        """Trees drawn from the grammar; from several members each is drawn from one of them."""
        rng = as_generator(self.random_state if random_state is None else random_state)
        return self.parser_.sample(positive(n_samples, "n_samples"), rng)


class SpectralTreebankGrammar(TreebankEstimator):
    """Latent PCFGs whose states come from the spectral embedding of inside and outside trees.

    method       "best": several binarisations, averaged; "spectral+em", "cluster" or "spectral": one of them
    n_states     of a symbol, at most; None: 24 for "best", 16 for the others
    direction    of binarisation for a single grammar: "right", "left" or "head"
    horizontal   how many siblings intermediate symbols remember, vertical=2: phrases remember their parent
    n_rounds     of EM, where the method has some
    spans        whether "best" has a log-linear model of spans beside its grammars
    threshold    labels below this marginal are left out of trees; None: 0.4, with a model of spans 0.44
    decoding     "labels": trees of probable labels; "rules": of probable rules, under the first grammar alone

    >>> from sigmastar.trees.data.brackets import parse_brackets
    >>> trees = parse_brackets("(S (NP (D the) (N dog)) (VP (V saw) (NP (D a) (N cat))))" * 20)
    >>> grammar = SpectralTreebankGrammar(method="spectral+em", n_states=2).fit(trees)
    >>> print(grammar.predict([["a", "dog", "saw", "the", "cat"]])[0])
    (S (NP (D a) (N dog)) (VP (V saw) (NP (D the) (N cat))))
    """

    def __init__(
        self,
        method: str = "best",
        n_states: int | None = None,
        direction: str = "head",
        horizontal: int = 0,
        vertical: int = 1,
        n_rounds: int = 4,
        spans: bool = True,
        threshold: float | None = None,
        decoding: str = "labels",
        random_state: RandomState = 0,
        n_threads: int = 1,
    ) -> None:
        self.method = method
        self.n_states = n_states
        self.direction = direction
        self.horizontal = horizontal
        self.vertical = vertical
        self.n_rounds = n_rounds
        self.spans = spans
        self.threshold = threshold
        self.decoding = decoding
        self.random_state = random_state
        self.n_threads = n_threads

    def recipes(self) -> tuple[Recipe, ...]:
        methods = ("best", *(name for name in METHODS if name not in ("pcfg", "em")))
        if self.method not in methods:
            raise ValueError(f"method={self.method!r} must be one of {', '.join(map(repr, methods))}")
        n_states = None if self.n_states is None else positive(self.n_states, "n_states")
        if self.method == "best":
            return BEST if n_states is None else tuple(replace(r, n_states=n_states) for r in BEST)
        binarization = Binarization(self.direction, self.horizontal, self.vertical)
        return (Recipe(self.method, binarization, n_states or Recipe.n_states, n_rounds=self.n_rounds),)

    def span_recipe(self) -> SpanRecipe | None:
        return SPANS if self.method == "best" and self.spans else None


class EMTreebankGrammar(TreebankEstimator):
    """A latent PCFG by expectation-maximisation from a random start; parameters as for the spectral one."""

    def __init__(
        self,
        n_states: int = 8,
        direction: str = "head",
        horizontal: int = 0,
        vertical: int = 1,
        n_rounds: int = 40,
        threshold: float | None = None,
        decoding: str = "labels",
        random_state: RandomState = 0,
        n_threads: int = 1,
    ) -> None:
        self.n_states = n_states
        self.direction = direction
        self.horizontal = horizontal
        self.vertical = vertical
        self.n_rounds = n_rounds
        self.threshold = threshold
        self.decoding = decoding
        self.random_state = random_state
        self.n_threads = n_threads

    def recipes(self) -> tuple[Recipe, ...]:
        binarization = Binarization(self.direction, self.horizontal, self.vertical)
        n_states = positive(self.n_states, "n_states")
        return (Recipe("em", binarization, n_states, n_rounds=positive(self.n_rounds, "n_rounds")),)


class PCFG(TreebankEstimator):
    """A plain PCFG: relative frequencies of rules; parameters as for the spectral one."""

    def __init__(
        self,
        direction: str = "right",
        horizontal: int = 0,
        vertical: int = 1,
        threshold: float | None = None,
        decoding: str = "labels",
        random_state: RandomState = 0,
        n_threads: int = 1,
    ) -> None:
        self.direction = direction
        self.horizontal = horizontal
        self.vertical = vertical
        self.threshold = threshold
        self.decoding = decoding
        self.random_state = random_state
        self.n_threads = n_threads

    def recipes(self) -> tuple[Recipe, ...]:
        return (Recipe("pcfg", Binarization(self.direction, self.horizontal, self.vertical), 1),)
