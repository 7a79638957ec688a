"""Probabilistic grammars on given rules: from trees, from strings, or from both.

trees                  rules of the grammar, counted                                         erm, mle, map
strings, states        a hidden Markov model whose states are known, counted                 erm, mle, map
strings, some states   a hidden Markov model, climbed by EM                                  erm, em, viterbi
strings                the grammar of the rules, or a hidden Markov model, climbed by EM     erm, em, viterbi
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sigmastar.automata.data.strings import Strings, as_strings
from sigmastar.core.arrays import Floats
from sigmastar.core.em import require_seen
from sigmastar.core.errors import InputError
from sigmastar.core.estimator import RandomState, as_generator, positive
from sigmastar.core.progress import silent
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
    truncated_by_reach,
)
from sigmastar.pcfg.model.hidden_markov import HiddenMarkovModel, state_names
from sigmastar.pcfg.model.pcfg import ProbabilisticCFG, score_data
from sigmastar.pcfg.model.probabilistic_grammar import ProbabilisticGrammar
from sigmastar.pcfg.theory.assumptions import estimate_assumptions
from sigmastar.pcfg.theory.bounds import SampleBounds
from sigmastar.trees.data.tree import Tree

Rules = Grammar | str | Iterable[str] | None
States = Iterable[Iterable[Hashable] | None]
Data = Strings | Sequence[Tree] | Sequence[str] | Sequence[Sequence[str]]

Found = dict[str, Any]
"""Attributes that a fit sets, by name."""

COUNTED = ("erm", "mle", "map")
CLIMBED = ("em", "erm", "viterbi")
METHODS = (*COUNTED, "em", "viterbi")
MARGINS = ("reached", "samples")


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
        On trees, or strings with states: "erm" keeps every choice in binary normal form at a margin from 0
        and 1, "mle" takes relative frequencies, "map" adds `alpha` - 1 to every count. On strings, or where
        some strings have no states: "em" (also by the name "erm") is expectation-maximization with the margin
        n^-s, "viterbi" counts best derivations.
    s : float
        The exponent of the margin, n^-s for n samples; the theory requires s above 1.
    margin : str
        What the margin of "erm" on trees or states is made of: "reached", the number of times that a choice
        was reached, but no less than n^-s, or "samples", n^-s for all, as in the paper.
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
    s: float = 1.1
    margin: str = "reached"
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
            The state of each symbol of each string: then a hidden Markov model is learned. Strings whose
            states are not known have None, or nothing, in their place.
        trees : sequence of Tree or of str
            Trees beside strings.

        Returns
        -------
        ERMGrammar
            The estimator itself.
        """
        for name, choices in (("method", METHODS), ("margin", MARGINS)):
            if getattr(self, name) not in choices:
                given = f"{name}={getattr(self, name)!r}"
                raise ValueError(f"{given} must be one of {', '.join(map(repr, choices))}")
        parsed, more = as_trees(X), as_trees(trees) or []
        with self._working():
            if parsed is not None:
                found = _from_trees(self, [*parsed, *more])
            elif y is not None:
                found = _from_states(self, as_strings(X), [list(row or ()) for row in y])
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
    """A hidden Markov model whose states are known, of all strings or of some."""
    if settings.rules is not None:
        raise ValueError("y are the states of a hidden Markov model, which has no rules; leave one out")
    plain = [
        number for number, row in enumerate(states[: len(strings)]) if not row and strings.lengths[number]
    ]
    if plain and len(plain) == len(strings) == len(states):
        return _from_strings(settings, strings, [])
    fitting = CLIMBED if plain else COUNTED
    if settings.method not in fitting:
        what = (
            "needs the states of all strings; where some have none"
            if plain
            else "learns from strings alone; with states"
        )
        raise ValueError(f"method={settings.method!r} {what} use {', '.join(fitting)}")
    names = state_names(strings, states, plain)
    known = [number for number in range(len(strings)) if number not in set(plain)]
    codes = {name: code for code, name in enumerate(names)}
    n_states, rng = max(len(names), settings.n_states or 0), as_generator(settings.random_state)
    blank = HiddenMarkovModel.random(strings.alphabet, n_states, rng)
    paths = [[codes[name] for name in states[number]] for number in known]
    derivations = blank.derivations(paths, strings.select(known))
    if plain:
        found = _climbed(settings, blank, strings.select(plain), derivations, rng)
    else:
        found = _counted(settings, blank, derivations)
    return {**found, "states_": names}


def _counted(settings: ERMGrammar, blank: ProbabilisticGrammar, derivations: Derivations) -> Found:
    n, s = len(derivations), settings.s
    margin = margin_of(n, s)
    erm = truncated_by_reach(n, s) if settings.margin == "reached" else truncated(margin)
    estimates = {"erm": erm, "mle": maximum_likelihood, "map": dirichlet_map(settings.alpha)}
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
    return _climbed(settings, blank, strings, known, rng)


def _climbed(
    settings: ERMGrammar,
    blank: ProbabilisticGrammar,
    strings: Strings,
    known: Derivations | None,
    rng: np.random.Generator,
) -> Found:
    """Expectation-maximization on strings, beside derivations that are known."""
    labelled = None if known is None else Labelled(known, settings.string_weight)
    n_samples = len(strings) + (0 if known is None else len(known))
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
        work = f"a hidden Markov model of {n_states} states"
        require_seen(n_states, len(strings.alphabet), strings.n_gaps, work)
        return HiddenMarkovModel.random(strings.alphabet, n_states, rng), strings
    model = ProbabilisticCFG.of_weights(as_grammar(settings.rules, settings.start, trees))
    remedy = "leave such strings out, or add rules for it"
    return model, as_strings(data, alphabet=model.alphabet, remedy=remedy)
