"""Probabilistic grammars on given rules: from trees, from strings, or from both.

trees             rules of the grammar, counted                                         erm, mle, map
strings, states   a hidden Markov model whose states are known, counted                 erm, mle, map
strings           the grammar of the rules, or a hidden Markov model, climbed by EM     erm, em, viterbi
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from sigmastar.automata.data.inputs import as_strings
from sigmastar.automata.data.strings import Strings
from sigmastar.core.arrays import Floats
from sigmastar.core.errors import InputError
from sigmastar.core.estimator import Estimator, RandomState, as_generator, positive
from sigmastar.core.progress import silent
from sigmastar.pcfg.data.binary_form import BinaryForm
from sigmastar.pcfg.data.events import Derivations
from sigmastar.pcfg.data.rules import Grammar, parse_rules
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
from sigmastar.pcfg.model.hidden_markov import HiddenMarkovModel
from sigmastar.pcfg.model.pcfg import ProbabilisticCFG
from sigmastar.pcfg.model.probabilistic_grammar import ProbabilisticGrammar, log_probability_of
from sigmastar.pcfg.theory.assumptions import Assumptions, estimate_assumptions
from sigmastar.pcfg.theory.bounds import Complexity, SampleBound
from sigmastar.trees.data.brackets import parse_brackets
from sigmastar.trees.data.tree import Tree

Rules = Grammar | str | Iterable[str] | None
States = Iterable[Iterable[Hashable]]
Data = Strings | Sequence[Tree] | Sequence[str] | Sequence[Sequence[str]]

COUNTED = ("erm", "mle", "map")
CLIMBED = ("em", "erm", "viterbi")
METHODS = (*COUNTED, "em", "viterbi")


class Fitted(NamedTuple):
    """What a fit found; the names are those of the estimator's attributes, without the last `_`."""

    model: ProbabilisticGrammar
    margin: float
    n_samples: int
    assumptions: Assumptions
    objectives: tuple[float, ...] | None = None
    states: tuple[Hashable, ...] | None = None


class SampleBounds(Estimator):
    """What the theory of empirical risk minimization says of a fitted grammar."""

    model_: ProbabilisticGrammar
    margin_: float
    n_samples_: int
    assumptions_: Assumptions
    objectives_: tuple[float, ...]
    states_: tuple[Hashable, ...]
    s: float

    def complexity(self, supervised: bool = True) -> Complexity:
        """What the bounds depend on: events in binary normal form, s, and the constants of the data.

        Parameters
        ----------
        supervised : bool
            Whether derivations are seen, or strings alone.
        """
        n_events = BinaryForm(self.model_.events).binary.n_events
        return Complexity(n_events, self.s, self.assumptions_, supervised)

    def bound(self, epsilon: float, delta: float, supervised: bool = True) -> SampleBound:
        """How many samples are enough for an empirical risk within 2 epsilon of the risk. Very loose.

        Parameters
        ----------
        epsilon : float
            In nats.
        delta : float
            The probability of failure.
        supervised : bool
            Whether derivations are seen, or strings alone.

        Returns
        -------
        SampleBound
            Its `samples` may be infinite, its `log_samples` never is.
        """
        return self.complexity(supervised).bound(epsilon, delta)

    def guarantee(self, n: float, delta: float, supervised: bool = True) -> float:
        """The epsilon that n samples certify; infinite where they certify nothing.

        Parameters
        ----------
        n : float
            The number of samples.
        delta : float
            The probability of failure.
        supervised : bool
            Whether derivations are seen, or strings alone.
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
        The margin of the truncated space is n^-s for n samples; the theory asks for s above 1.
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
        The names of states, where `y` told them.

    Examples
    --------
    >>> model = ERMGrammar(method="mle").fit(["(S (N dogs) (V bark))", "(S (N cats) (V bark))"])
    >>> model.predict([["dogs", "bark"]])
    [Tree('S', (Tree('N', ('dogs',)), Tree('V', ('bark',))))]
    >>> round(float(np.exp(model.score([["dogs", "bark"]]))), 3)
    0.5
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
            Trees (`Tree`, or text in brackets), or strings.
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
        self._replace_fitted(**{f"{name}_": value for name, value in found._asdict().items()})
        return self

    def score_samples(self, X: Data, y: object = None) -> Floats:
        """The natural log-probability of each tree or string; -inf where it has none.

        Parameters
        ----------
        X : sequence of Tree, of str or of sequences
            Trees or strings.
        y : object
            Not used.

        Returns
        -------
        Floats
            One number per tree or string.
        """
        return score_data(self.model_, X)

    def score(self, X: Data, y: object = None) -> float:
        """The mean log-probability: minus the log-loss, larger is better.

        Parameters
        ----------
        X : sequence of Tree, of str or of sequences
            Trees or strings.
        y : object
            Not used.
        """
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
            return named_paths(self.model_, strings, vars(self).get("states_", ()))
        assert isinstance(self.model_, ProbabilisticCFG)
        return list(self.model_.best_trees(strings))

    def sample(self, n_samples: int = 1, random_state: RandomState = None) -> Strings:
        """Draw strings.

        Parameters
        ----------
        n_samples : int
            The number of strings.
        random_state : int, Generator or None
            Seed, or source, of all random choices; None: that of the estimator.

        Returns
        -------
        Strings
            The strings, coded.
        """
        rng = as_generator(self.random_state if random_state is None else random_state)
        return self.model_.sample(n_samples, rng)


def _from_trees(settings: ERMGrammar, trees: list[Tree]) -> Fitted:
    """A grammar from its derivations."""
    if settings.method not in COUNTED:
        raise ValueError(f"method={settings.method!r} learns from strings; on trees use {', '.join(COUNTED)}")
    if not trees:
        raise InputError("there are no trees to learn from")
    blank = ProbabilisticCFG.of_weights(_grammar(settings, trees))
    return _counted(settings, blank, blank.derivations(trees))


def _from_states(settings: ERMGrammar, strings: Strings, states: list[list[Hashable]]) -> Fitted:
    """A hidden Markov model whose states are known."""
    if settings.method not in COUNTED:
        raise ValueError(
            f"method={settings.method!r} learns from strings alone; with states use {', '.join(COUNTED)}"
        )
    if settings.rules is not None:
        raise ValueError("y are the states of a hidden Markov model, which has no rules; leave one out")
    names = _state_names(strings, states)
    codes = {name: code for code, name in enumerate(names)}
    n_states = max(len(names), settings.n_states or 0)
    blank = HiddenMarkovModel.random(strings.alphabet, n_states, np.random.default_rng(0))
    derivations = blank.derivations([[codes[name] for name in row] for row in states], strings)
    return _counted(settings, blank, derivations)._replace(states=names)


def _counted(settings: ERMGrammar, blank: ProbabilisticGrammar, derivations: Derivations) -> Fitted:
    margin = margin_of(len(derivations), settings.s)
    estimates = {"erm": truncated(margin), "mle": maximum_likelihood, "map": dirichlet_map(settings.alpha)}
    model = learn_supervised(blank, derivations, estimates[settings.method])
    return Fitted(model, margin, len(derivations), estimate_assumptions(model, derivations))


def _from_strings(settings: ERMGrammar, data: Any, trees: list[Tree]) -> Fitted:
    """A grammar, or a hidden Markov model, whose derivations are hidden; some may be known."""
    if settings.method not in CLIMBED:
        raise ValueError(f"method={settings.method!r} needs trees; on strings use 'em', 'erm' or 'viterbi'")
    rng = as_generator(settings.random_state)
    blank, strings = _blank(settings, data, trees, rng)
    labelled = None
    if trees and isinstance(blank, ProbabilisticCFG):
        labelled = Labelled(blank.derivations(trees), settings.string_weight)
    n_samples = len(strings) + len(trees)
    margin = margin_of(n_samples, settings.s)
    starts = [random_start(blank, rng) for _ in range(positive(settings.n_seeds, "n_seeds"))]
    ascent = Ascent(settings.method == "viterbi", settings.max_iter, settings.tolerance)
    fit = learn_em(starts, strings, margin, labelled, ascent, settings.progress or silent)
    assumptions = estimate_assumptions(fit.model, fit.model.best_derivations(strings))
    return Fitted(fit.model, margin, n_samples, assumptions, fit.objectives)


def _blank(
    settings: ERMGrammar, data: Any, trees: list[Tree], rng: np.random.Generator
) -> tuple[ProbabilisticGrammar, Strings]:
    """A grammar to find the parameters of, and the strings over its words."""
    if settings.rules is None and not trees:
        strings = as_strings(data)
        if settings.n_states is None:
            raise ValueError("strings alone do not tell the rules; give rules, or n_states for an HMM")
        n_states = positive(settings.n_states, "n_states")
        return HiddenMarkovModel.random(strings.alphabet, n_states, rng), strings
    model = ProbabilisticCFG.of_weights(_grammar(settings, trees))
    remedy = "leave such strings out, or add rules for it"
    return model, as_strings(data, alphabet=model.alphabet, remedy=remedy)


def _grammar(settings: ERMGrammar, trees: list[Tree]) -> Grammar:
    if settings.rules is None:
        return Grammar.of_trees(trees, settings.start)
    if isinstance(settings.rules, Grammar):
        return settings.rules
    lines = settings.rules.splitlines() if isinstance(settings.rules, str) else settings.rules
    return parse_rules(lines, settings.start).grammar


def _state_names(strings: Strings, states: list[list[Hashable]]) -> tuple[Hashable, ...]:
    """The states, in the order in which they come, after a look whether they fit the strings."""
    if not len(strings):
        raise InputError("there are no strings to learn from")
    if len(states) != len(strings):
        raise InputError(f"there are {len(strings)} strings, but states for {len(states)}")
    for number, (length, row) in enumerate(zip(strings.lengths.tolist(), states, strict=True), 1):
        if length != len(row) or not row:
            raise InputError(
                f"string {number} has {length} symbols and {len(row)} states; it takes one for each, and "
                "at least one"
            )
    return tuple(dict.fromkeys(name for row in states for name in row))


def as_trees(data: Any) -> list[Tree] | None:
    """Trees, or texts in brackets, as trees; None for strings."""
    if isinstance(data, Strings):
        return None
    rows = list(data)
    if rows and all(isinstance(row, Tree) for row in rows):
        return rows
    if rows and all(isinstance(row, str) and row.lstrip().startswith("(") for row in rows):
        return [tree for row in rows for tree in parse_brackets(row)]
    return None


def named_paths(
    model: HiddenMarkovModel, strings: Strings, names: Sequence[Hashable]
) -> list[list[Hashable]]:
    """The best states of each string by name; those that have none by number."""
    known = dict(enumerate(names))
    return [[known.get(state, state) for state in path] for path in model.best_paths(strings)]


def score_data(model: ProbabilisticGrammar, data: Any) -> Floats:
    """Log-probabilities of trees or strings; a tree with rules that the grammar lacks has none."""
    trees = as_trees(data)
    if trees is None or not isinstance(model, ProbabilisticCFG):
        return model.log_probability(as_strings(data, alphabet=model.alphabet, unknown="zero"))
    return np.array([_tree_score(model, tree) for tree in trees])


def _tree_score(model: ProbabilisticCFG, tree: Tree) -> float:
    try:
        return float(log_probability_of(model, model.derivations([tree]))[0])
    except InputError:
        return -np.inf
