"""Grammars from brackets by the spectral method, from strings by EM."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from sigmastar.core.arrays import Floats
from sigmastar.core.errors import InputError, warn_user
from sigmastar.core.estimator import SpreadEstimator, as_generator, chosen, positive
from sigmastar.core.progress import Progress, announce
from sigmastar.grammars.estimator.base import (
    Corpus,
    GrammarEstimator,
    SamplingGrammarEstimator,
    as_bracketings,
    as_plain,
)
from sigmastar.grammars.learn.em import EMSettings, RulePrior, learn_grammar_em, seconds_of_em
from sigmastar.grammars.learn.spectral import learn_spectral_grammar
from sigmastar.grammars.learn.starts import BRACKETS, STARTS, agreed_start, named_start, seconds_of_agreement


@dataclass(eq=False, repr=False)
class SpectralGrammar(SpreadEstimator, GrammarEstimator):
    """A weighted grammar from bracketed strings by the spectral method: blocks, factorize, recover.

    Its weights are signed: it gives values to strings, but there is nothing to draw from.

    Parameters
    ----------
    n_states : int
        Number of states, at most the rank of the block.
    basis_factor : float
        Share of the insides and outsides that occur to count on, the most frequent ones.
    workers : int or None
        Number of processes that count brackets; it changes no result.
    client : str, distributed.Client or None
        A Dask cluster that does it, or the address of its scheduler.

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
        model = learn_spectral_grammar(brackets, n_states, self.basis_factor)
        if not (model.log_value(brackets.strings).sign > 0).any():
            warn_user(
                f"with n_states={n_states} no string it learned from has a value above 0; use more states"
            )
        return {"model_": model}

    def _why_absent(self, name: str) -> str:
        return ": its weights are signed; EMGrammar can be drawn from" if name == "sample" else ""


class _FittedEM(SamplingGrammarEstimator):
    """What `fit` sets."""

    log_likelihoods_: tuple[float, ...]
    best_score_: float
    n_iter_: int
    cut_off_: float


@dataclass(eq=False, repr=False)
class EMGrammar(_FittedEM):
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
    bracket_prior : {"agreed", "right", "uniform", "none", "best"}
        Where the cca start expects constituents: "agreed" for brackets, at the trees that twelve grammars of
        eight states agree on, which are learned first from "right" (branching); "uniform" or "none" for the
        likelihood, "best" for the likeliest of these three.
    max_iter : int
        Number of iterations per start; under "agreed" each of the twelve has half as many again, and half
        follow.
    n_seeds : int
        Number of starts, of which the best is kept.
    word_prior, pair_prior : float
        Uses of words and pairs of states beside those that are counted (MAP); 0: plain EM.
    held_out : float
        Share of the strings that decides when to stop, and between starts; 0: training likelihood decides.
    max_length : int or None
        Longest strings that are seen; None: all are. `cut_off_` is the share of the others.
    warm_start : bool
        Whether a fit goes on with the grammar of the one before, where states and symbols are the same.

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

    n_states: int = 24
    start: str = "cca"
    bracket_prior: str = "agreed"
    max_iter: int = 20
    n_seeds: int = 1
    word_prior: float = 0.1
    pair_prior: float = 20.0
    held_out: float = 0.0
    max_length: int | None = None
    warm_start: bool = False

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
        begin = named_start(start, prior if given is None else given)
        strings, last, asked = as_plain(X), self._last_model, settings
        n_states, is_agreed = positive(self.n_states, "n_states"), False
        if last is not None and last.alphabet == strings.alphabet and last.n_states == self.n_states:
            begin, settings = lambda *_: last, replace(settings, n_seeds=1)
        elif start == "cca" and prior == "agreed":
            begin, is_agreed = partial(agreed_start, settings=settings), True
            settings = replace(settings, max_iter=max(1, settings.max_iter // 2))
        announce(
            lambda: (
                seconds_of_em(strings, n_states, settings, weights)
                + (seconds_of_agreement(strings, weights, asked) if is_agreed else 0.0)
            ),
            "learning",
        )
        fit = learn_grammar_em(
            strings,
            n_states,
            as_generator(self.random_state),
            begin,
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
