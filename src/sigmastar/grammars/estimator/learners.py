"""Grammars from brackets by the spectral method, from strings by completion or EM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.arrays import Floats
from sigmastar.core.errors import InputError
from sigmastar.core.estimator import as_generator, chosen, positive
from sigmastar.core.progress import Progress, stage
from sigmastar.grammars.estimator.base import (
    Corpus,
    GrammarEstimator,
    SamplingGrammarEstimator,
    as_bracketings,
    as_plain,
)
from sigmastar.grammars.learn.completion import CompletionFit, CompletionPlan, learn_completion
from sigmastar.grammars.learn.em import EMFit, EMSettings, RulePrior, learn_grammar_em
from sigmastar.grammars.learn.spectral import learn_spectral_grammar
from sigmastar.grammars.learn.starts import BRACKETS, STARTS, completed_start, named_start
from sigmastar.grammars.model.grammar import WeightedGrammar


@dataclass(eq=False, repr=False)
class SpectralGrammar(GrammarEstimator):
    """A weighted grammar from bracketed strings by the spectral method: blocks, factorize, recover.

    Its weights are signed: it gives values to strings, but there is nothing to draw from.

    Parameters
    ----------
    n_states : int
        Number of states, at most the rank of the block.
    basis_factor : float
        Share of the insides and outsides that occur to count on, the most frequent ones.

    Attributes
    ----------
    model_ : WeightedGrammar
        The grammar.

    Examples
    --------
    >>> from sigmastar.trees import Tree
    >>> trees = [Tree("X", ("a", "b")), Tree("X", ("a", Tree("X", ("a", "b"))))] * 3 + [Tree("X", ("b",))]
    >>> SpectralGrammar(n_states=4).fit(trees).score_samples(["ab"]).round(2).tolist()
    [-0.85]
    """

    n_states: int = 5
    basis_factor: float = 1.0

    def _learn(self, X: Corpus, weights: Floats | None, progress: Progress) -> dict[str, Any]:
        brackets = as_bracketings(X)
        if brackets is None:
            raise InputError(
                "the spectral method needs brackets: pass trees or Bracketings, or use CompletionGrammar or "
                "EMGrammar on bare strings"
            )
        if weights is not None:
            raise InputError(
                "the spectral method counts brackets one by one: repeat trees in place of sample_weight"
            )
        progress("counting brackets, recovering operators")
        n_states = positive(self.n_states, "n_states")
        return {"model_": learn_spectral_grammar(brackets, n_states, self.basis_factor)}

    def _why_absent(self, name: str) -> str:
        return ": its weights are signed; EMGrammar can be drawn from" if name == "sample" else ""


@dataclass(eq=False, repr=False)
class CompletionGrammar(SamplingGrammarEstimator):
    """A weighted grammar from bare strings by low-rank completion of its Hankel matrix, then refinement.

    With `em` it goes on to a proper grammar by states from two views: spans, weighed by the completed
    brackets, are correlated and clustered, and EM climbs from there on all strings.

    Parameters
    ----------
    n_states : int
        Number of states, at most: `n_states_` is how many the rank of the completed matrix allowed.
    max_length : int
        Longest strings that are seen; `cut_off_` is the share of the others.
    penalty : float
        Weight of the nuclear norm, relative to the one from which on the matrix is zero.
    max_iter : int
        Number of steps of the completion.
    refinement_max_iter : int
        Number of steps of L-BFGS on the grammar; 0: no refinement.
    em : bool
        Whether EM follows.
    em_states : int or None
        Number of states of the proper grammar; None: n_states.
    em_max_iter : int
        Number of iterations of EM.
    word_prior, pair_prior : float
        Uses of words and pairs of states that EM adds to those it counts.

    Attributes
    ----------
    model_ : WeightedGrammar
        The grammar: signed, or proper after EM.
    n_states_ : int
        Number of states of the completed grammar.
    cut_off_ : float
        Share of the strings that were too long to be seen by the completion.
    completion_ : CompletionFit
        The completed matrix, and the grammars read off it.

    Examples
    --------
    >>> model = CompletionGrammar(n_states=2, max_length=4).fit(["ab", "aabb", "ab", "aaabbb", "ab"])
    >>> model.n_states_, round(float(model.cut_off_), 2)
    (2, 0.2)
    """

    n_states: int = 5
    max_length: int = 10
    penalty: float = 0.005
    max_iter: int = 60
    refinement_max_iter: int = 600
    em: bool = False
    em_states: int | None = None
    em_max_iter: int = 20
    word_prior: float = 0.1
    pair_prior: float = 20.0

    def _learn(self, X: Corpus, weights: Floats | None, progress: Progress) -> dict[str, Any]:
        strings = as_plain(X)
        plan = CompletionPlan(
            positive(self.max_length, "max_length"),
            self.penalty,
            positive(self.max_iter, "max_iter"),
            self.refinement_max_iter,
        )
        first = stage(progress, 0.0, 0.5) if self.em else progress
        n_states = positive(self.n_states, "n_states")
        fit = learn_completion(strings, n_states, plan, weights=weights, progress=first)
        found = {"completion_": fit, "cut_off_": fit.cut_off, "n_states_": fit.grammar.n_states}
        if not self.em:
            return {"model_": fit.grammar, **found}
        return {"model_": self._proper(fit, strings, weights, stage(progress, 0.5, 1.0)).grammar, **found}

    def _proper(
        self, fit: CompletionFit, strings: Strings, weights: Floats | None, progress: Progress
    ) -> EMFit:
        def start(part: Strings, counts: Floats, n: int, rng: np.random.Generator) -> WeightedGrammar:
            return completed_start(part, counts, n, rng, fit.grammar)

        settings = EMSettings(
            positive(self.em_max_iter, "em_max_iter"), prior=RulePrior(self.word_prior, self.pair_prior)
        )
        n_states, rng = self.em_states or self.n_states, as_generator(self.random_state)
        return learn_grammar_em(strings, n_states, rng, start, settings, weights=weights, progress=progress)


@dataclass(eq=False, repr=False)
class EMGrammar(SamplingGrammarEstimator):
    """A probabilistic grammar in binary form by EM (inside-outside) on strings of all lengths.

    From its default start it is a learner of states from two views: spans are correlated and clustered by
    what is inside and around them, and EM climbs from the counts of their clusters.

    Parameters
    ----------
    n_states : int
        Number of states.
    start : {"cca", "random", "spectral"}
        Where EM begins: clusters of spans; random weights; clusters of spans under the brackets of X, or
        under those of completion where X has none.
    bracket_prior : {"right", "uniform", "none", "best"}
        Where the cca start expects constituents: "right" for brackets, "uniform" or "none" for the
        likelihood, "best" for the likeliest of these.
    max_iter : int
        Number of iterations per start.
    n_seeds : int
        Number of starts, of which the best is kept.
    word_prior, pair_prior : float
        Uses of words and pairs of states beside those that are counted (MAP); 0: plain EM.
    held_out : float
        Share of the strings that decides when to stop, and between starts; 0: training likelihood decides.
    max_length : int or None
        Longest strings that are seen; None: all are. `cut_off_` is the share of the others.

    Attributes
    ----------
    model_ : WeightedGrammar
        The grammar, a distribution.
    log_likelihoods_ : tuple of float
        Log-likelihood per string before every iteration of the best start.
    best_score_ : float
        Log-likelihood per held-out string, or per string where none is held out.
    n_iter_ : int
        Number of iterations of all starts together.
    cut_off_ : float
        Share of the strings that were too long.

    Examples
    --------
    >>> model = EMGrammar(n_states=2, word_prior=0, pair_prior=0)
    >>> bool(model.fit(["ab", "aabb", "ab", "aaabbb"]).score(["ab"]) > -3)
    True
    """

    n_states: int = 16
    start: str = "cca"
    bracket_prior: str = "right"
    max_iter: int = 20
    n_seeds: int = 1
    word_prior: float = 0.1
    pair_prior: float = 20.0
    held_out: float = 0.0
    max_length: int | None = None

    def _learn(self, X: Corpus, weights: Floats | None, progress: Progress) -> dict[str, Any]:
        start = chosen({name: name for name in STARTS}, self.start, "start")
        prior = chosen({name: name for name in BRACKETS}, self.bracket_prior, "bracket_prior")
        given = as_bracketings(X) if start == "spectral" else None
        settings = EMSettings(
            positive(self.max_iter, "max_iter"),
            positive(self.n_seeds, "n_seeds"),
            RulePrior(self.word_prior, self.pair_prior),
            self.held_out,
            max_length=self.max_length,
        )
        fit = learn_grammar_em(
            as_plain(X),
            positive(self.n_states, "n_states"),
            as_generator(self.random_state),
            named_start(start, prior if given is None else given),
            settings,
            weights=weights,
            progress=progress,
        )
        return {
            "model_": fit.grammar,
            "log_likelihoods_": fit.log_likelihoods,
            "best_score_": fit.score,
            "n_iter_": fit.n_iterations,
            "cut_off_": fit.cut_off,
        }
