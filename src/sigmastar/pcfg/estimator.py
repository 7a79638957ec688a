"""Probabilistic grammars on a fixed set of rules: from trees, from strings, or from both."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.data.inputs import as_strings
from sigmastar.automata.data.strings import Strings
from sigmastar.core.errors import InputError
from sigmastar.core.estimator import Estimator, RandomState, as_generator, positive
from sigmastar.pcfg.data.binary_form import BinaryForm
from sigmastar.pcfg.data.derivations import Derivations
from sigmastar.pcfg.data.grammar import Grammar
from sigmastar.pcfg.data.rules import parse_rules
from sigmastar.pcfg.learn import (
    ERMFit,
    Labelled,
    Progress,
    dirichlet_map,
    learn_em_seeds,
    learn_supervised,
    margin_of,
    maximum_likelihood,
    truncated,
)
from sigmastar.pcfg.model.hidden_markov import HiddenMarkovModel
from sigmastar.pcfg.model.pcfg import ProbabilisticCFG
from sigmastar.pcfg.model.probabilistic_grammar import ProbabilisticGrammar, log_probability_of
from sigmastar.pcfg.theory.assumptions import Assumptions, estimate_assumptions
from sigmastar.pcfg.theory.bounds import Complexity, SampleBound
from sigmastar.trees.data.brackets import parse_brackets
from sigmastar.trees.data.tree import Tree

Array = NDArray[np.float64]
Self = TypeVar("Self", bound="ERMGrammar")
Rules = Grammar | str | Iterable[str] | None
States = Iterable[Iterable[Hashable]]
Data = Strings | Sequence[Tree] | Sequence[str] | Sequence[Sequence[str]]

SUPERVISED = ("erm", "mle", "map")
METHODS = (*SUPERVISED, "em", "viterbi")


class ERMGrammar(Estimator):
    """A probabilistic context-free grammar, or a hidden Markov model, by empirical risk minimisation.

    `rules` is a `Grammar`, or its text (`"S -> NP VP"`, a rule a line); without it the rules are those of
    the trees. With `n_states` and no rules the model is a hidden Markov model, learned from strings; with
    the states of the strings as `y` it is learned from both, as from trees.

    Methods on trees: `erm` keeps every choice in binary normal form within [n^-s, 1 - n^-s], `mle` takes
    relative frequencies, `map` adds `alpha` - 1 to every count. Methods on strings: `em` (also under the
    name `erm`) is expectation-maximisation in the same truncated space, `viterbi` counts best derivations.

    After `fit`: `model_` is the grammar with its probabilities, `margin_` is n^-s, `n_samples_` is n, and
    on strings `objectives_` are the log-likelihoods on the way; `states_` are the names of states in `y`.
    """

    model_: ProbabilisticGrammar
    margin_: float
    n_samples_: int
    objectives_: tuple[float, ...]
    assumptions_: Assumptions
    states_: tuple[Hashable, ...]

    def __init__(
        self,
        rules: Rules = None,
        method: str = "erm",
        s: float = 1.5,
        alpha: float = 1.1,
        n_states: int | None = None,
        start: str | None = None,
        n_seeds: int = 1,
        n_iterations: int = 50,
        tolerance: float = 1e-6,
        string_weight: float = 1.0,
        random_state: RandomState = 0,
        progress: Progress | None = None,
    ) -> None:
        self.rules = rules
        self.method = method
        self.s = s
        self.alpha = alpha
        self.n_states = n_states
        self.start = start
        self.n_seeds = n_seeds
        self.n_iterations = n_iterations
        self.tolerance = tolerance
        self.string_weight = string_weight
        self.random_state = random_state
        self.progress = progress

    def fit(self: Self, X: Data, y: States | None = None, trees: Sequence[Tree] | Sequence[str] = ()) -> Self:
        """Learn from trees (`Tree`, or text in brackets), from strings, with `trees` beside them, or from
        strings with the state of each symbol."""
        if self.method not in METHODS:
            raise ValueError(f"method={self.method!r} must be one of {', '.join(map(repr, METHODS))}")
        parsed = as_trees(X)
        if parsed is None and y is not None:
            return self._fit_states(as_strings(X), [list(row) for row in y])
        if parsed is None:
            return self._fit_strings(X, as_trees(trees) or [])
        return self._fit_trees([*parsed, *(as_trees(trees) or [])])

    def _fit_trees(self: Self, trees: list[Tree]) -> Self:
        if self.method not in SUPERVISED:
            raise ValueError(
                f"method={self.method!r} learns from strings; on trees use {', '.join(SUPERVISED)}"
            )
        if not trees:
            raise InputError("there are no trees to learn from")
        blank = ProbabilisticCFG.of_weights(self._grammar(trees))
        derivations = blank.derivations(trees)
        self._keep_supervised(blank, derivations)
        return self

    def _fit_states(self: Self, strings: Strings, states: list[list[Hashable]]) -> Self:
        """A hidden Markov model whose states are known."""
        if self.method not in SUPERVISED:
            raise ValueError(
                f"method={self.method!r} learns from strings alone; with states use {', '.join(SUPERVISED)}"
            )
        if self.rules is not None:
            raise ValueError("y are the states of a hidden Markov model, which has no rules; leave one out")
        names = _state_names(strings, states)
        codes = {name: code for code, name in enumerate(names)}
        n_states = max(len(names), self.n_states or 0)
        blank = HiddenMarkovModel.random(strings.alphabet, n_states, np.random.default_rng(0))
        self._keep_supervised(
            blank, blank.derivations([[codes[name] for name in row] for row in states], strings)
        )
        self.states_ = names
        return self

    def _keep_supervised(self, blank: ProbabilisticGrammar, derivations: Derivations) -> None:
        margin = margin_of(len(derivations), self.s)
        estimates = {"erm": truncated(margin), "mle": maximum_likelihood, "map": dirichlet_map(self.alpha)}
        model = learn_supervised(blank, derivations, estimates[self.method])
        self._keep(model, len(derivations), margin, None, estimate_assumptions(model, derivations))

    def _fit_strings(self: Self, data: Any, trees: list[Tree]) -> Self:
        if self.method in ("mle", "map"):
            raise ValueError(f"method={self.method!r} needs trees; on strings use 'em', 'erm' or 'viterbi'")
        rng = as_generator(self.random_state)
        blank, strings = self._blank(data, trees, rng)
        labelled = self._labelled(blank, trees)
        margin = margin_of(len(strings) + len(trees), self.s)
        fit: ERMFit = learn_em_seeds(
            blank,
            strings,
            margin,
            positive(self.n_seeds, "n_seeds"),
            rng,
            labelled=labelled,
            best_only=self.method == "viterbi",
            n_iterations=self.n_iterations,
            tolerance=self.tolerance,
            progress=self.progress,
        )
        guessed = fit.model.best_derivations(strings)
        self._keep(
            fit.model,
            len(strings) + len(trees),
            margin,
            fit.objectives,
            estimate_assumptions(fit.model, guessed),
        )
        return self

    def _blank(
        self, data: Any, trees: list[Tree], rng: np.random.Generator
    ) -> tuple[ProbabilisticGrammar, Strings]:
        """A grammar to find the parameters of, and the strings over its words."""
        if self.rules is None and not trees:
            strings = as_strings(data)
            if self.n_states is None:
                raise ValueError("strings alone do not tell the rules; give rules, or n_states for an HMM")
            return HiddenMarkovModel.random(
                strings.alphabet, positive(self.n_states, "n_states"), rng
            ), strings
        model = ProbabilisticCFG.of_weights(self._grammar(trees))
        remedy = "leave such strings out, or add rules for it"
        return model, as_strings(data, alphabet=model.alphabet, remedy=remedy)

    def _labelled(self, blank: ProbabilisticGrammar, trees: list[Tree]) -> Labelled | None:
        if not trees or not isinstance(blank, ProbabilisticCFG):
            return None
        return Labelled(blank.derivations(trees), self.string_weight)

    def _grammar(self, trees: list[Tree]) -> Grammar:
        if self.rules is None:
            return Grammar.of_trees(trees, self.start)
        if isinstance(self.rules, Grammar):
            return self.rules
        lines = self.rules.splitlines() if isinstance(self.rules, str) else self.rules
        return parse_rules(lines, self.start).grammar

    def _keep(
        self,
        model: ProbabilisticGrammar,
        n_samples: int,
        margin: float,
        objectives: tuple[float, ...] | None,
        assumptions: Assumptions,
    ) -> None:
        self._replace_fitted(
            model_=model,
            n_samples_=n_samples,
            margin_=margin,
            objectives_=objectives,
            assumptions_=assumptions,
        )

    def score_samples(self, X: Data, y: object = None) -> Array:
        """The natural log-probability of each tree or string; -inf where it has none."""
        return score_data(self.model_, X)

    def score(self, X: Data, y: object = None) -> float:
        """The mean log-probability: minus the log-loss, larger is better."""
        return float(self.score_samples(X).mean())

    def predict(self, X: Data) -> list[Any]:
        """The best tree of each string (None where there is none), or the best states of an HMM."""
        strings = as_strings(X, alphabet=self.model_.alphabet, unknown="zero")
        if isinstance(self.model_, ProbabilisticCFG):
            return list(self.model_.best_trees(strings))
        paths: list[list[int]] = self.model_.best_paths(strings)  # type: ignore[attr-defined]
        names = dict(enumerate(getattr(self, "states_", ())))
        return [[names.get(state, state) for state in path] for path in paths]

    def sample(self, n: int = 1, random_state: RandomState = None) -> Strings:
        """Draw strings."""
        rng = as_generator(self.random_state if random_state is None else random_state)
        return self.model_.sample(n, rng)  # type: ignore[attr-defined,no-any-return]

    def complexity(self, supervised: bool = True) -> Complexity:
        """What the bounds depend on: events in binary normal form, s, and the constants of the data."""
        return Complexity(
            BinaryForm(self.model_.events).binary.n_events, self.s, self.assumptions_, supervised
        )

    def bound(self, epsilon: float, delta: float, supervised: bool = True) -> SampleBound:
        """How many samples are enough for an empirical risk within 2 epsilon of the risk. Very loose."""
        return self.complexity(supervised).bound(epsilon, delta)

    def guarantee(self, n: float, delta: float, supervised: bool = True) -> float:
        """The epsilon that n samples certify; infinite where they certify nothing."""
        return self.complexity(supervised).guarantee(n, delta)


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


def score_data(model: ProbabilisticGrammar, data: Any) -> Array:
    """Log-probabilities of trees or strings; a tree with rules that the grammar lacks has none."""
    trees = as_trees(data)
    if trees is None or not isinstance(model, ProbabilisticCFG):
        return model.log_probability(as_strings(data, alphabet=model.alphabet, unknown="zero"))
    return np.array([_tree_score(model, tree) for tree in trees])


def _tree_score(model: ProbabilisticCFG, tree: Tree) -> float:
    try:
        derivation: Derivations = model.derivations([tree])
    except InputError:
        return -np.inf
    return float(log_probability_of(model, derivation)[0])
