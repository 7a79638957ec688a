"""Probabilistic grammars on given rules: from trees, from strings, or from both.

trees             rules of the grammar, counted                                         erm, mle, map
strings, states   a hidden Markov model whose states are known, counted                 erm, mle, map
strings           the grammar of the rules, or a hidden Markov model, climbed by EM     erm, em, viterbi
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sigmastar.automata.data.strings import Strings, as_strings
from sigmastar.core.arrays import Floats
from sigmastar.core.errors import InputError
from sigmastar.core.estimator import Estimator, RandomState, as_generator, positive
from sigmastar.core.progress import silent
from sigmastar.pcfg.data.binary_form import BinaryForm
from sigmastar.pcfg.data.events import Derivations
from sigmastar.pcfg.data.rules import Grammar, as_grammar
from sigmastar.pcfg.data.sentences import as_trees
from sigmastar.pcfg.learn import (
    Ascent,
    Labelled,
    dirichlet_map,
    learn_em,
    learn_supervised,
    margin_of,
    maximum_likelihood,
    random_start,
    truncated,
)
from sigmastar.pcfg.model.hidden_markov import HiddenMarkovModel, state_names
from sigmastar.pcfg.model.pcfg import ProbabilisticCFG, score_data
from sigmastar.pcfg.model.probabilistic_grammar import ProbabilisticGrammar
from sigmastar.pcfg.theory.assumptions import Assumptions, estimate_assumptions
from sigmastar.pcfg.theory.bounds import Complexity, SampleBound
from sigmastar.trees.data.tree import Tree

Rules = Grammar | str | Iterable[str] | None
States = Iterable[Iterable[Hashable]]
Data = Strings | Sequence[Tree] | Sequence[str] | Sequence[Sequence[str]]

Found = dict[str, Any]
"""Attributes that a fit sets, by name."""

COUNTED = ("erm", "mle", "map")
CLIMBED = ("em", "erm", "viterbi")
METHODS = (*COUNTED, "em", "viterbi")


class SampleBounds(Estimator):
    """What the theory of empirical risk minimization gives for a fitted grammar."""

    model_: ProbabilisticGrammar
    margin_: float
    n_samples_: int
    assumptions_: Assumptions
    objectives_: tuple[float, ...]
    states_: tuple[Hashable, ...]
    s: float

    def complexity(self, supervised: bool = True) -> Complexity:
        """What the bounds depend on: events in binary normal form, s, and the constants of the data."""
        n_events = BinaryForm(self.model_.events).binary.n_events
        return Complexity(n_events, self.s, self.assumptions_, supervised)

    def bound(self, epsilon: float, delta: float, supervised: bool = True) -> SampleBound:
        """How many samples are enough for an empirical risk within 2 epsilon of the risk. Very loose.

        Parameters
        ----------
        epsilon, delta : float
            The precision in nats, and the probability of failure.
        supervised : bool
            Whether derivations are seen, or strings alone.

        Returns
        -------
        SampleBound
            Its `samples` may be infinite, its `log_samples` never is.
        """
        return self.complexity(supervised).bound(epsilon, delta)

    def guarantee(self, n: float, delta: float, supervised: bool = True) -> float:
        """The epsilon that `n` samples certify; infinite where they certify nothing.

        Parameters
        ----------
        n, delta, supervised
            The number of samples; the others as of `bound`.
        """
        return self.complexity(supervised).guarantee(n, delta)


@dataclass(eq=False, repr=False)
class ERMGrammar(SampleBounds):
    """A probabilistic context-free grammar, or a hidden Markov model, by empirical risk minimization.

    Rules are given, and their probabilities are learned: from trees, from strings, or from both. This is
    neither of the two spectral ideas, but counting, and expectation-maximization where derivations are
    hidden.

    Parameters
    ----------
    rules : Grammar, str, iterable of str, or None
        The grammar, or its text (`"S -> NP VP"`, one rule per line). None: the rules of the trees.
    method : str
        On trees, or strings with states: "erm" keeps every choice in binary normal form within
        [n^-s, 1 - n^-s], "mle" takes relative frequencies, "map" adds `alpha` - 1 to every count. On
        strings: "em" (also by the name "erm") is expectation-maximization in the same truncated space,
        "viterbi" counts best derivations.
    s : float
        The margin of the truncated space is n^-s for n samples; the theory requires s above 1.
    alpha : float
        The parameter of the Dirichlet prior of "map", at least 1.
    n_states : int or None
        The number of states of a hidden Markov model, which is learned where there are no rules.
    start : str or None
        The start symbol; None: the left side of the first rule.
    n_seeds : int
        The number of starts on strings, the best of which is kept.
    max_iter : int
        The number of iterations on strings, at most.
    tolerance : float
        The gain, in nats per string, below which an iteration is the last.
    string_weight : float
        The weight of a string beside a tree, where there are both.

    Attributes
    ----------
    model_ : ProbabilisticCFG or HiddenMarkovModel
        The grammar with its probabilities.
    margin_ : float
        n^-s.
    n_samples_ : int
        n, the number of trees and strings.
    assumptions_ : Assumptions
        The constants of the data that the bounds depend on.
    objectives_ : tuple of float
        On strings, the log-likelihoods on the way.
    states_ : tuple
        The names of states, where `y` gives them.

    Examples
    --------
    >>> model = ERMGrammar(method="mle").fit(["(S (N dogs) (V bark))", "(S (N cats) (V bark))"])
    >>> print(model.predict([["dogs", "bark"]])[0])
    (S (N dogs) (V bark))
    """

    rules: Rules = None
    method: str = "erm"
    s: float = 1.5
    alpha: float = 1.1
    n_states: int | None = None
    start: str | None = None
    n_seeds: int = 1
    max_iter: int = 50
    tolerance: float = 1e-6
    string_weight: float = 1.0

    def fit(self, X: Data, y: States | None = None, trees: Sequence[Tree] | Sequence[str] = ()) -> Self:
        """Learn the probabilities of rules, or a hidden Markov model.

        Parameters
        ----------
        X : sequence of Tree, of str or of sequences
            Trees, also as text in brackets, or strings.
        y : iterable of iterables, or None
            The state of each symbol of each string: then a hidden Markov model is learned.
        trees : sequence of Tree or of str
            Trees beside strings.

        Returns
        -------
        ERMGrammar
            The estimator itself.
        """
        if self.method not in METHODS:
            raise ValueError(f"method={self.method!r} must be one of {', '.join(map(repr, METHODS))}")
        parsed, more = as_trees(X), as_trees(trees) or []
        with self._working():
            if parsed is not None:
                found = _from_trees(self, [*parsed, *more])
            elif y is not None:
                found = _from_states(self, as_strings(X), [list(row) for row in y])
            else:
                found = _from_strings(self, X, more)
        self._replace_fitted(**found)
        return self

    def score_samples(self, X: Data, y: object = None) -> Floats:
        """The natural log-probability of each tree or string; -inf where it has none.

        Parameters
        ----------
        X : sequence of Tree, of str or of sequences
            Trees or strings; `y` is not used.

        Returns
        -------
        Floats
            One number per tree or string.
        """
        return score_data(self.model_, X)

    def score(self, X: Data, y: object = None) -> float:
        """The mean log-probability, as of `score_samples`: minus the log-loss, larger is better."""
        return float(self.score_samples(X).mean())

    def predict(self, X: Data) -> list[Any]:
        """The best tree of each string, or its best states under a hidden Markov model.

        Parameters
        ----------
        X : sequence of sequences
            Strings.

        Returns
        -------
        list
            One `Tree` per string, None where there is none; or one list of states, empty where there is none.
        """
        strings = as_strings(X, alphabet=self.model_.alphabet, unknown="zero")
        if isinstance(self.model_, HiddenMarkovModel):
            return self.model_.best_paths(strings, vars(self).get("states_", ()))
        assert isinstance(self.model_, ProbabilisticCFG)
        return list(self.model_.best_trees(strings))

    def sample(self, n_samples: int = 1, random_state: RandomState = None) -> Strings:
        """Draw strings.

        Parameters
        ----------
        n_samples, random_state
            The number of strings; seed, or source, of chance, None: that of the estimator.
        """
        rng = as_generator(self.random_state if random_state is None else random_state)
        return self.model_.sample(n_samples, rng)


def _from_trees(settings: ERMGrammar, trees: list[Tree]) -> Found:
    """A grammar from its derivations."""
    if settings.method not in COUNTED:
        raise ValueError(f"method={settings.method!r} learns from strings; on trees use {', '.join(COUNTED)}")
    if not trees:
        raise InputError("there are no trees to learn from")
    blank = ProbabilisticCFG.of_weights(as_grammar(settings.rules, settings.start, trees))
    return _counted(settings, blank, blank.derivations(trees))


def _from_states(settings: ERMGrammar, strings: Strings, states: list[list[Hashable]]) -> Found:
    """A hidden Markov model whose states are known."""
    if settings.method not in COUNTED:
        fitting = ", ".join(COUNTED)
        raise ValueError(f"method={settings.method!r} learns from strings alone; with states use {fitting}")
    if settings.rules is not None:
        raise ValueError("y are the states of a hidden Markov model, which has no rules; leave one out")
    names = state_names(strings, states)
    codes = {name: code for code, name in enumerate(names)}
    n_states = max(len(names), settings.n_states or 0)
    blank = HiddenMarkovModel.random(strings.alphabet, n_states, np.random.default_rng(0))
    derivations = blank.derivations([[codes[name] for name in row] for row in states], strings)
    return {**_counted(settings, blank, derivations), "states_": names}


def _counted(settings: ERMGrammar, blank: ProbabilisticGrammar, derivations: Derivations) -> Found:
    margin = margin_of(len(derivations), settings.s)
    estimates = {"erm": truncated(margin), "mle": maximum_likelihood, "map": dirichlet_map(settings.alpha)}
    model = learn_supervised(blank, derivations, estimates[settings.method])
    assumptions = estimate_assumptions(model, derivations)
    return {"model_": model, "margin_": margin, "n_samples_": len(derivations), "assumptions_": assumptions}


def _from_strings(settings: ERMGrammar, data: Any, trees: list[Tree]) -> Found:
    """A grammar, or a hidden Markov model, whose derivations are hidden; some may be known."""
    if settings.method not in CLIMBED:
        raise ValueError(f"method={settings.method!r} needs trees; on strings use 'em', 'erm' or 'viterbi'")
    rng = as_generator(settings.random_state)
    blank, strings = _blank(settings, data, trees, rng)
    known = blank.derivations(trees) if trees and isinstance(blank, ProbabilisticCFG) else None
    labelled = None if known is None else Labelled(known, settings.string_weight)
    n_samples = len(strings) + len(trees)
    margin = margin_of(n_samples, settings.s)
    starts = [random_start(blank, rng) for _ in range(positive(settings.n_seeds, "n_seeds"))]
    ascent = Ascent(settings.method == "viterbi", settings.max_iter, settings.tolerance)
    fit = learn_em(starts, strings, margin, labelled, ascent, settings.progress or silent)
    assumptions = estimate_assumptions(fit.model, fit.model.best_derivations(strings))
    found: Found = {"model_": fit.model, "margin_": margin, "n_samples_": n_samples}
    return {**found, "assumptions_": assumptions, "objectives_": fit.objectives}


def _blank(
    settings: ERMGrammar, data: Any, trees: list[Tree], rng: np.random.Generator
) -> tuple[ProbabilisticGrammar, Strings]:
    """A grammar to find the parameters of, and the strings over its words."""
    if settings.rules is None and not trees:
        strings = as_strings(data)
        if settings.n_states is None:
            raise ValueError("the rules of strings are not known; give rules, or n_states for an HMM")
        n_states = positive(settings.n_states, "n_states")
        return HiddenMarkovModel.random(strings.alphabet, n_states, rng), strings
    model = ProbabilisticCFG.of_weights(as_grammar(settings.rules, settings.start, trees))
    remedy = "leave such strings out, or add rules for it"
    return model, as_strings(data, alphabet=model.alphabet, remedy=remedy)
