"""Weighted context-free grammars: from brackets by the spectral method, from strings by completion or EM.

X is a sequence of strings of any hashable symbols, a `Strings`, a sequence of `Tree`s or a `Bracketings`; the
last two have brackets, which `SpectralGrammar` needs and the others may ignore.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.data.inputs import as_strings
from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet, Symbol
from sigmastar.core.errors import InputError
from sigmastar.core.estimator import Estimator, RandomState, as_generator, chosen, positive
from sigmastar.core.parallel import limited_threads
from sigmastar.grammars.data.bracketings import Bracketings
from sigmastar.grammars.learn.completion import CompletionFit, learn_completion
from sigmastar.grammars.learn.em import GrammarFit, learn_grammar_em
from sigmastar.grammars.learn.em_steps import RulePrior
from sigmastar.grammars.learn.spectral import learn_spectral_grammar
from sigmastar.grammars.learn.starts import BRACKETS, STARTS, completed_start, named_start
from sigmastar.grammars.model.grammar import WeightedGrammar
from sigmastar.trees.data.tree import Tree

Array = NDArray[np.float64]
Corpus = Strings | Bracketings | Iterable[Iterable[Symbol]] | Sequence[Tree]
Self = TypeVar("Self", bound="GrammarEstimator")


def as_bracketings(X: Corpus) -> Bracketings | None:
    """Brackets where there are any; None for bare strings."""
    if isinstance(X, Bracketings):
        return X
    if isinstance(X, (list, tuple)) and X and all(isinstance(item, Tree) for item in X):
        return Bracketings.of_trees(X)
    return None


def as_plain(X: Corpus, alphabet: Alphabet | None = None) -> Strings:
    """The strings of any corpus; symbols outside a given alphabet have no weight."""
    brackets = as_bracketings(X)
    if brackets is not None:
        return brackets.strings.recoded(alphabet, allow_unknown=True)
    return as_strings(X, None, alphabet, "error" if alphabet is None else "zero")


class GrammarEstimator(Estimator, ABC):
    """What all grammars share: `grammar_` holds what `fit` found."""

    grammar_: WeightedGrammar
    random_state: RandomState
    n_threads: int | None

    @abstractmethod
    def _learn(self, X: Corpus, weights: Array | None, say: Any) -> dict[str, Any]:
        """The fitted attributes, `grammar_` among them."""

    def fit(
        self: Self,
        X: Corpus,
        y: object = None,
        *,
        weights: Sequence[float] | Array | None = None,
        say: Any = None,
    ) -> Self:
        """Learn from strings or brackets; `weights` may say how often each string was seen."""
        heavy = None if weights is None else np.asarray(weights, dtype=float)
        with limited_threads(self.n_threads):
            self._replace_fitted(**self._learn(X, heavy, say))
        return self

    def score_samples(self, X: Corpus) -> Array:
        """log f of every string, -inf where f <= 0."""
        return self.grammar_.log_probability(as_plain(X, self.grammar_.alphabet))

    def score(self, X: Corpus, y: object = None) -> float:
        """The mean log-probability of strings."""
        return float(self.score_samples(X).mean())

    def brackets(self, X: Corpus) -> Bracketings:
        """Binary trees that hold the most expected constituents (MBR)."""
        self.check_fitted()
        plain = as_bracketings(X)
        strings = plain.strings if plain is not None else as_strings(X)
        return self.grammar_.brackets(strings)

    def predict(self, X: Corpus) -> list[Tree]:
        """The same as trees whose nodes are all labelled X."""
        return self.brackets(X).trees()

    def sample(self, n_samples: int = 1, random_state: RandomState = None) -> Strings:
        """Draw strings, where the grammar is probabilistic."""
        return self.grammar_.sample(n_samples, as_generator(random_state))


class SpectralGrammar(GrammarEstimator):
    """A weighted grammar from bracketed strings by the spectral method.

    n_states      of the grammar, at most the rank of the block
    basis_factor  the share of the insides and outsides that occur to count on, the most frequent ones

    >>> trees = [Tree("X", ("a", "b")), Tree("X", ("a", Tree("X", ("a", "b"))))] * 3 + [Tree("X", ("b",))]
    >>> SpectralGrammar(n_states=4).fit(trees).score_samples(["ab"]).round(2).tolist()
    [-0.85]
    """

    def __init__(
        self,
        n_states: int = 5,
        basis_factor: float = 1.0,
        random_state: RandomState = 0,
        n_threads: int | None = None,
    ) -> None:
        self.n_states = n_states
        self.basis_factor = basis_factor
        self.random_state = random_state
        self.n_threads = n_threads

    def _learn(self, X: Corpus, weights: Array | None, say: Any) -> dict[str, Any]:
        brackets = as_bracketings(X)
        if brackets is None:
            raise InputError(
                "the spectral method needs brackets: pass trees or Bracketings, or use CompletionGrammar or "
                "EMGrammar on bare strings"
            )
        if weights is not None:
            raise InputError(
                "the spectral method counts brackets one by one: repeat trees instead of weights"
            )
        n_states = positive(self.n_states, "n_states")
        return {"grammar_": learn_spectral_grammar(brackets, n_states, self.basis_factor)}


class CompletionGrammar(GrammarEstimator):
    """A weighted grammar from bare strings by low-rank completion of its Hankel matrix, then refinement.

    max_length     longer strings are not seen; `cut_off_` says what share of them that is
    penalty        weight of the nuclear norm, relative to the one from which on all is zero
    n_iterations   steps of completion;  n_refinements: of L-BFGS on the grammar, 0 for none
    em             go on to a proper grammar: CCA of spans under the completed brackets, then MAP-EM on all
                   strings with early stopping; `completed_` then holds the grammar of completion itself
    em_states      of that proper grammar; None: as many as n_states
    """

    def __init__(
        self,
        n_states: int = 5,
        max_length: int = 10,
        penalty: float = 0.005,
        n_iterations: int = 60,
        n_refinements: int = 600,
        em: bool = False,
        em_states: int | None = None,
        em_iterations: int = 20,
        word_prior: float = 0.1,
        pair_prior: float = 5.0,
        held_out: float = 0.1,
        random_state: RandomState = 0,
        n_threads: int | None = None,
    ) -> None:
        self.n_states = n_states
        self.max_length = max_length
        self.penalty = penalty
        self.n_iterations = n_iterations
        self.n_refinements = n_refinements
        self.em = em
        self.em_states = em_states
        self.em_iterations = em_iterations
        self.word_prior = word_prior
        self.pair_prior = pair_prior
        self.held_out = held_out
        self.random_state = random_state
        self.n_threads = n_threads

    def _learn(self, X: Corpus, weights: Array | None, say: Any) -> dict[str, Any]:
        strings = as_plain(X)
        fit: CompletionFit = learn_completion(
            strings,
            positive(self.n_states, "n_states"),
            weights=weights,
            max_length=positive(self.max_length, "max_length"),
            penalty=self.penalty,
            n_iterations=positive(self.n_iterations, "n_iterations"),
            n_refinements=self.n_refinements,
            say=say,
        )
        found = {"grammar_": fit.grammar, "completion_": fit, "cut_off_": fit.cut_off}
        if not self.em:
            return found
        proper = self._proper(fit, strings, weights, say)
        return {**found, "grammar_": proper.grammar, "completed_": fit.grammar, "fit_": proper}

    def _proper(self, fit: CompletionFit, strings: Strings, weights: Array | None, say: Any) -> GrammarFit:
        def start(part: Strings, heavy: Array, n_states: int, rng: np.random.Generator) -> WeightedGrammar:
            return completed_start(fit.grammar, part, heavy, n_states, rng)

        return learn_grammar_em(
            strings,
            self.em_states or self.n_states,
            as_generator(self.random_state),
            weights=weights,
            start=start,
            n_iterations=self.em_iterations,
            held_out=self.held_out,
            prior=RulePrior(self.word_prior, self.pair_prior),
            say=say,
        )


class EMGrammar(GrammarEstimator):
    """A probabilistic grammar in binary form by EM (inside-outside) on strings of all lengths.

    start        "random"; "cca": spans clustered by canonical correlation; "spectral": the same under the
                 brackets of X, or under those of completion where X has none
    bracket_prior  of the cca start: "right" (for brackets), "uniform", "none", or "best" of these
    word_prior, pair_prior    uses beside those that are counted (MAP); 0 for plain EM
    n_seeds      starts, of which the best is kept by held-out likelihood
    held_out     the share of the strings to stop early by; 0: none, training likelihood decides
    max_length   longer strings are left out; `cut_off_` says what share of them that is

    >>> model = EMGrammar(n_states=2, n_iterations=30, word_prior=0, pair_prior=0, held_out=0)
    >>> bool(model.fit(["ab", "aabb", "ab", "aaabbb"]).score(["ab"]) > -3)
    True
    """

    def __init__(
        self,
        n_states: int = 10,
        start: str = "cca",
        bracket_prior: str = "right",
        n_iterations: int = 50,
        n_seeds: int = 1,
        word_prior: float = 0.1,
        pair_prior: float = 5.0,
        held_out: float = 0.1,
        max_length: int | None = None,
        random_state: RandomState = 0,
        n_threads: int | None = None,
    ) -> None:
        self.n_states = n_states
        self.start = start
        self.bracket_prior = bracket_prior
        self.n_iterations = n_iterations
        self.n_seeds = n_seeds
        self.word_prior = word_prior
        self.pair_prior = pair_prior
        self.held_out = held_out
        self.max_length = max_length
        self.random_state = random_state
        self.n_threads = n_threads

    def _learn(self, X: Corpus, weights: Array | None, say: Any) -> dict[str, Any]:
        start = chosen({name: name for name in STARTS}, self.start, "start")
        prior = chosen({name: name for name in BRACKETS}, self.bracket_prior, "bracket_prior")
        given = as_bracketings(X) if start == "spectral" else None
        fit = learn_grammar_em(
            as_plain(X),
            positive(self.n_states, "n_states"),
            as_generator(self.random_state),
            weights=weights,
            start=named_start(start, prior if given is None else given),
            n_seeds=positive(self.n_seeds, "n_seeds"),
            n_iterations=positive(self.n_iterations, "n_iterations"),
            held_out=self.held_out,
            prior=RulePrior(self.word_prior, self.pair_prior),
            max_length=self.max_length,
            say=say,
        )
        return {"grammar_": fit.grammar, "fit_": fit, "cut_off_": fit.cut_off}
