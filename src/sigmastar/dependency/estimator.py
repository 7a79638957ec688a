"""Dependency grammars: head automata over tags, learnt by counting, by the spectral method, by EM.

X is a sequence of sentences, each a sequence of words, and a word is `(form, tag)`, `(form, upos, xpos)` or a
tag alone; y holds the heads of each sentence, 0 for the root. Or X is a `DependencyTreebank`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.errors import InputError
from sigmastar.core.estimator import Estimator, RandomState, as_generator, positive_or_auto
from sigmastar.core.parallel import limited_threads
from sigmastar.dependency.data.sequences import SYMBOLS
from sigmastar.dependency.data.treebank import DependencyTreebank, words_without_root
from sigmastar.dependency.learn.lexical import STATES
from sigmastar.dependency.learn.methods import learn_parser
from sigmastar.dependency.learn.states import AUTO
from sigmastar.dependency.model.parser import DependencyParser

Word = str | tuple[str, ...]
Sentences = Sequence[Sequence[Word]] | DependencyTreebank
Array = NDArray[np.float64]


def as_treebank(X: Sentences, y: Sequence[Sequence[int]] | None = None) -> DependencyTreebank:
    """Sentences, and heads where there are any, as a treebank."""
    if isinstance(X, DependencyTreebank):
        return X if y is None else X.with_heads(np.array([h for row in y for h in row], dtype=np.int32))
    words = [[(word,) if isinstance(word, str) else tuple(word) for word in sentence] for sentence in X]
    if any(not 1 <= len(word) <= 3 for sentence in words for word in sentence):
        raise InputError("a word is a tag, (form, tag) or (form, upos, xpos)")
    if not all(words):
        raise InputError("a sentence without words has no tree; leave it out")
    if y is not None:
        _require_heads([len(sentence) for sentence in words], y)
    treebank = DependencyTreebank.of(
        [[word[0] for word in sentence] for sentence in words],
        [[word[min(1, len(word) - 1)] for word in sentence] for sentence in words],
        y,
        xpos=[[word[-1] for word in sentence] for sentence in words],
    )
    if y is not None and len(words_without_root(treebank.head, treebank.sentence_offsets)):
        raise InputError("the heads of some sentence form a cycle")
    return treebank


def _require_heads(lengths: list[int], y: Sequence[Sequence[int]]) -> None:
    if len(lengths) != len(y):
        raise InputError(f"{len(lengths)} sentences, but heads of {len(y)}")
    for number, (length, heads) in enumerate(zip(lengths, y, strict=True), 1):
        if len(heads) != length or not all(0 <= head <= length for head in heads):
            raise InputError(f"sentence {number}: {length} words need as many heads, from 0 to {length}")


class DependencyEstimator(Estimator, ABC):
    """What all dependency grammars share: `parser_` holds what `fit` found."""

    parser_: DependencyParser
    symbols: str
    arcs: bool
    lexical: bool
    random_state: RandomState
    n_threads: int
    distances: bool
    decoding: str = "mbr"
    counted: str | None = None

    @abstractmethod
    def _method(self) -> tuple[str, int | str]:
        """How to learn, and with how many states."""

    def fit(self, X: Sentences, y: Sequence[Sequence[int]] | None = None) -> DependencyEstimator:
        """Learn from sentences X and their heads y; trees that are not projective are lifted."""
        if self.symbols not in SYMBOLS:
            raise ValueError(f"symbols={self.symbols!r} must be one of {', '.join(map(repr, SYMBOLS))}")
        if self.counted not in (None, *STATES):
            raise ValueError(
                f"counted={self.counted!r} must be None or one of {', '.join(map(repr, STATES))}"
            )
        method, n_states = self._method()
        treebank = as_treebank(X, y)
        with limited_threads(self.n_threads):
            parser = learn_parser(
                treebank,
                method,
                n_states,
                self.symbols,
                arcs=self.arcs,
                lexical=self.lexical,
                rng=as_generator(self.random_state),
                decoding=self.decoding,
                counted=None if method in STATES else self.counted,
                distances=self.distances,
            )
        self._replace_fitted(parser_=parser)
        return self

    def predict(self, X: Sentences) -> list[list[int]]:
        """The heads of every sentence, 0 for the root."""
        treebank = as_treebank(X)
        heads = self.parser_.parse(treebank, self.n_threads).heads
        return [part.tolist() for part in np.split(heads, treebank.sentence_offsets[1:-1])]

    def predict_labels(self, X: Sentences) -> list[list[str]]:
        """The relation of every word to the head that `predict` gives it."""
        treebank = as_treebank(X)
        labels = self.parser_.predict(treebank, self.n_threads).deprel
        ends = treebank.sentence_offsets.tolist()
        return [labels[low:high] for low, high in pairwise(ends)]

    def marginals(self, X: Sentences) -> list[Array]:
        """For every sentence the probability of each head (rows, 0 is the root) of each word (columns)."""
        found = self.parser_.parse(as_treebank(X), self.n_threads, marginals=True).marginals
        return [table[:, 1:] for table in found or []]

    def score(self, X: Sentences, y: Sequence[Sequence[int]] | None = None) -> float:
        """The share of words with the right head."""
        treebank = as_treebank(X, y)
        if not treebank.has_heads:
            raise InputError("score needs the true heads y")
        return float((self.parser_.parse(treebank, self.n_threads).heads == treebank.head).mean())

    def score_samples(self, X: Sentences, y: Sequence[Sequence[int]] | None = None) -> Array:
        """log P(tree and sentence) under the automata."""
        return self.parser_.log_probability(as_treebank(X, y))


class SpectralDependencyGrammar(DependencyEstimator):
    """Head automata by the spectral method.

    n_states   of each automaton, at most; one for 100 modifiers (20 with EM); "auto": by held-out likelihood
    symbols    what automata read: "upos", "xpos" or "upos+xpos"
    refine     follow with EM iterations from the spectral states: non-negative, often better
    arcs       let trained weights of arcs and siblings decide, over tags, distances and neighbours
    lexical    the same over words too
    counted    "lex", "lex+f" or "lex+fcp": multiply that lexicalised grammar in
    distances  weigh arcs by how far they reach

    >>> sentences = [["D", "N", "V"], ["N", "V", "D", "N"], ["D", "N", "V", "N"]] * 5
    >>> heads = [[2, 3, 0], [2, 0, 4, 2], [2, 3, 0, 3]] * 5
    >>> SpectralDependencyGrammar(n_states=2).fit(sentences, heads).predict([["D", "N", "V", "D", "N"]])
    [[2, 3, 0, 5, 3]]
    """

    def __init__(
        self,
        n_states: int | str = 10,
        symbols: str = "upos+xpos",
        refine: bool = False,
        arcs: bool = False,
        lexical: bool = False,
        counted: str | None = None,
        distances: bool = True,
        random_state: RandomState = 0,
        n_threads: int = 1,
    ) -> None:
        self.n_states = n_states
        self.symbols = symbols
        self.refine = refine
        self.arcs = arcs
        self.lexical = lexical
        self.counted = counted
        self.distances = distances
        self.random_state = random_state
        self.n_threads = n_threads

    def _method(self) -> tuple[str, int | str]:
        return "spectral+em" if self.refine else "spectral", positive_or_auto(
            self.n_states, "n_states"
        ) or AUTO


class EMDependencyGrammar(DependencyEstimator):
    """Head automata by expectation-maximisation from a random start; parameters as for the spectral one."""

    def __init__(
        self,
        n_states: int | str = 10,
        symbols: str = "upos+xpos",
        arcs: bool = False,
        lexical: bool = False,
        counted: str | None = None,
        distances: bool = True,
        random_state: RandomState = 0,
        n_threads: int = 1,
    ) -> None:
        self.n_states = n_states
        self.symbols = symbols
        self.arcs = arcs
        self.lexical = lexical
        self.counted = counted
        self.distances = distances
        self.random_state = random_state
        self.n_threads = n_threads

    def _method(self) -> tuple[str, int | str]:
        return "em", positive_or_auto(self.n_states, "n_states") or AUTO


class DeterministicDependencyGrammar(DependencyEstimator):
    """Head automata by counting: one state, or with `first` another one before the first modifier.

    counted    "lex", "lex+f" or "lex+fcp": count words and tags, instead of symbols
    decoding   "mbr": the tree of most probable arcs; "viterbi": the most probable tree
    """

    def __init__(
        self,
        first: bool = True,
        symbols: str = "upos+xpos",
        arcs: bool = False,
        lexical: bool = False,
        counted: str | None = None,
        distances: bool = True,
        decoding: str = "mbr",
        random_state: RandomState = 0,
        n_threads: int = 1,
    ) -> None:
        self.first = first
        self.symbols = symbols
        self.arcs = arcs
        self.lexical = lexical
        self.counted = counted
        self.distances = distances
        self.decoding = decoding
        self.random_state = random_state
        self.n_threads = n_threads

    def _method(self) -> tuple[str, int | str]:
        return self.counted or ("det+f" if self.first else "det"), 1
