"""Grammars from bare strings by completion of the Hankel matrix, made proper by EM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.arrays import Floats
from sigmastar.core.errors import warn_user
from sigmastar.core.estimator import as_generator, positive, positive_or_auto
from sigmastar.core.progress import Progress, stage
from sigmastar.grammars.estimator.base import Corpus, SamplingGrammarEstimator, as_plain
from sigmastar.grammars.learn.completion import (
    MOST_COMPLETED,
    CompletionFit,
    CompletionPlan,
    completed_or_none,
    completion_evidence,
    learn_completion,
)
from sigmastar.grammars.learn.proper import FEW_STATES, PAIR_PRIORS, ProperPlan, learn_proper


class _FittedCompletion(SamplingGrammarEstimator):
    """What `fit` sets."""

    n_states_: int
    evidence_: dict[int, float]
    start_: str
    exact_: int
    cut_off_: float
    completion_: CompletionFit | None


@dataclass(eq=False, repr=False)
class CompletionGrammar(_FittedCompletion):
    """A grammar from bare strings: the low-rank completion of its Hankel matrix, made proper by EM.

    Completion sees strings of up to `max_length` symbols and gives a grammar with signed weights, which fits
    their frequencies and whose mass may be anything. From there EM learns a proper grammar from strings of
    all lengths: clusters of spans under the completed brackets are one start, clusters of all spans and
    chance are others, and held-out strings choose between these, and between numbers of states (`evidence_`).
    `start_` tells which start won: where it is not "completed", completion had no part in the grammar.
    `em=False` gives the completed grammar itself, refined on the same strings by L-BFGS.

    Parameters
    ----------
    n_states : int or "auto"
        Number of states; "auto": by held-out strings. Without EM it is at most the rank of the matrix.
    max_length : int
        Longest strings that are completed; `cut_off_` is the share of the others.
    penalty : float
        Weight of the nuclear norm, relative to the one from which on the matrix is zero.
    max_iter : int
        Number of steps of the completion.
    refinement_max_iter : int
        Number of steps of L-BFGS on the signed grammar; not used with EM.
    em : bool
        Whether EM follows.
    em_max_iter : int
        Number of steps of the last climb on all strings.
    word_prior : float
        Uses of words that EM adds to those it counts.
    pair_prior : float or "auto"
        The same for pairs of states; "auto": by held-out strings.

    Attributes
    ----------
    model_ : WeightedGrammar
        The grammar: a distribution, or signed without EM.
    n_states_ : int
        Its number of states.
    evidence_ : dict
        By number of states the log-likelihood per held-out string (strings of more than `exact_` symbols by
        their length alone), or without EM less the squared distance to held-out frequencies; empty where
        nothing was chosen, or too few strings were there to hold some out.
    start_ : str
        The start that won: "completed", "clusters" or "random"; "none" without EM.
    exact_ : int
        Symbols of the longest strings that EM saw whole: of longer ones it saw the length.
    cut_off_ : float
        Share of the strings that were too long to be seen by the completion.
    completion_ : CompletionFit or None
        The completed matrix, and the grammars read off it; None where nothing could be completed.

    Examples
    --------
    >>> model = CompletionGrammar(n_states=4).fit(["ab", "aabb", "ab", "aaabbb", "ab"] * 4)
    >>> model.n_states_, model.model_.is_probabilistic()
    (4, True)
    >>> CompletionGrammar(2, em=False, max_length=4).fit(["ab", "aabb", "ab", "aaabbb", "ab"]).n_states_
    2
    """

    n_states: int | str = "auto"
    max_length: int = 8
    penalty: float = 0.005
    max_iter: int = 60
    refinement_max_iter: int = 600
    em: bool = True
    em_max_iter: int = 150
    word_prior: float = 0.1
    pair_prior: float | str = "auto"

    def _learn(self, X: Corpus, weights: Floats | None, progress: Progress) -> dict[str, Any]:
        strings, n_states = as_plain(X), positive_or_auto(self.n_states, "n_states")
        plan = CompletionPlan(
            positive(self.max_length, "max_length"),
            self.penalty,
            positive(self.max_iter, "max_iter"),
            0 if self.em else self.refinement_max_iter,
        )
        rng = as_generator(self.random_state)
        if not self.em:
            return _signed(strings, n_states, plan, rng, weights, progress)
        first = stage(progress, 0.0, 0.2)
        fit = completed_or_none(
            strings, min(n_states or MOST_COMPLETED, MOST_COMPLETED), plan, weights, first
        )
        fixed = self.pair_prior if self.pair_prior != "auto" else None
        own = ProperPlan(
            n_states,
            self.word_prior,
            PAIR_PRIORS if fixed is None else (float(fixed),),
            positive(self.em_max_iter, "em_max_iter"),
        )
        grammar = None if fit is None else fit.grammar
        rest = stage(progress, 0.2, 1.0)
        proper = learn_proper(strings, own, rng, grammar, weights=weights, progress=rest)
        return {
            "model_": proper.grammar,
            "n_states_": proper.grammar.n_states,
            "evidence_": proper.evidence,
            "start_": proper.start,
            "exact_": proper.exact,
            "cut_off_": 1.0 if fit is None else fit.cut_off,
            "completion_": fit,
        }


def _signed(
    strings: Strings,
    n_states: int | None,
    plan: CompletionPlan,
    rng: np.random.Generator,
    weights: Floats | None,
    progress: Progress,
) -> dict[str, Any]:
    """The fitted attributes of completion alone."""
    evidence = {} if n_states else completion_evidence(strings, plan, rng, weights)
    asked = n_states or max(evidence, key=evidence.__getitem__, default=FEW_STATES)
    fit = learn_completion(strings, asked, plan, weights=weights, progress=progress)
    if n_states and fit.grammar.n_states < n_states:
        warn_user(
            f"{fit.grammar.n_states} states in place of {n_states}: the completed matrix has no higher rank; "
            "use a smaller penalty or more strings"
        )
    return {
        "model_": fit.grammar,
        "n_states_": fit.grammar.n_states,
        "evidence_": evidence,
        "start_": "none",
        "exact_": plan.max_length,
        "cut_off_": fit.cut_off,
        "completion_": fit,
    }
