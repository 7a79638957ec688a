"""The grammar itself against the frequencies: L-BFGS, one inside vector a distinct substring.

    min over (initial, words, A)   1/2 sum over x of (f(x) - p(x))^2 / (p(x) + 1/N)
                                 + 1/2 sum over l of (f(length l) - p(length l))^2 / (p(length l) + 1/N)

Errors are weighed by the variance of a frequency, so the minimum is as good as one of maximum likelihood
where strings are many. The second sum sees strings that did not occur: the mass of a length is the value of
the string `any .. any`, where the vector of `any` is the sum of all word vectors. Not convex: it polishes
what completion found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from sigmastar.inference.span_vectors import Spans, gradients, insides
from sigmastar.operators.wcfg import WeightedGrammar, spans_of
from sigmastar.structures.alphabet import Alphabet
from sigmastar.structures.strings import Strings
from sigmastar.structures.substrings import Substrings

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

TOO_LARGE = 1e100


@dataclass(frozen=True, eq=False)
class FrequencyObjective:
    """The cost and its gradient as functions of one flat vector of weights."""

    alphabet: Alphabet
    spans: Spans
    nodes: Integers  # of each target
    targets: Array
    weights: Array
    n_states: int

    @classmethod
    def of(
        cls, strings: Strings, probabilities: Array, n_strings: float, n_states: int
    ) -> FrequencyObjective:
        """Distinct strings with their frequencies among `n_strings`."""
        longest, n = int(strings.lengths.max()), len(strings.alphabet)
        wild = [np.full(length, n, dtype=np.int32) for length in range(1, longest + 1)]
        lengths = np.concatenate([strings.lengths, np.arange(1, longest + 1)])
        joined = Strings(
            Alphabet([*range(n), None]),
            np.concatenate([strings.codes, *wild]),
            np.append(0, np.cumsum(lengths)).astype(np.int64),
        )
        by_length = np.bincount(strings.lengths, probabilities, minlength=longest + 1)[1:]
        targets = np.concatenate([probabilities, by_length])
        table = Substrings.of(joined)
        weights = 1.0 / (targets + 1.0 / n_strings)
        return cls(strings.alphabet, spans_of(table), table.string_node, targets, weights, n_states)

    def split(self, flat: Array) -> tuple[Array, Array, Array]:
        n, n_words = self.n_states, len(self.alphabet) * self.n_states
        return flat[:n], flat[n : n + n_words].reshape(-1, n), flat[n + n_words :].reshape(n, n, n)

    def __call__(self, flat: Array) -> tuple[float, Array]:
        initial, words, composition = self.split(flat)
        extended = np.vstack([words, words.sum(axis=0)])
        with np.errstate(over="ignore", invalid="ignore"):
            found = insides(self.spans, extended, composition)
            scale = np.exp2(found.exponents[self.nodes].astype(float))
            vectors = found.vectors[self.nodes]
            errors = (vectors @ initial) * scale - self.targets
            cost = 0.5 * float((self.weights * errors) @ errors)
            slopes = self.weights * errors * scale
            seeds = np.zeros_like(found.vectors)
            np.add.at(seeds, self.nodes, slopes[:, None] * initial)
            pulled = gradients(self.spans, found, seeds, composition, len(extended))
            at_words = pulled.words[:-1] + pulled.words[-1]
            gradient = np.concatenate([slopes @ vectors, at_words.ravel(), pulled.composition.ravel()])
        if not (np.isfinite(cost) and np.isfinite(gradient).all()):
            return TOO_LARGE, np.zeros_like(flat)
        return cost, gradient


def refine_grammar(
    grammar: WeightedGrammar,
    strings: Strings,
    probabilities: Array,
    n_strings: float,
    n_iterations: int = 300,
    watch: Callable[[int, float], None] | None = None,
) -> WeightedGrammar:
    """Follow the gradient from a grammar until it is flat or the steps are spent."""
    objective = FrequencyObjective.of(strings, probabilities, n_strings, grammar.n_states)
    start = np.concatenate([grammar.initial, grammar.words.ravel(), grammar.composition.ravel()])
    steps = [0]

    def note(intermediate_result: optimize.OptimizeResult) -> None:
        steps[0] += 1
        if watch is not None:
            watch(steps[0], float(intermediate_result.fun))

    options = {
        "maxiter": n_iterations,
        "maxfun": 2 * n_iterations,
        "maxcor": 30,
        "ftol": 1e-12,
        "gtol": 1e-12,
    }
    found = optimize.minimize(  # type: ignore[call-overload]
        objective, start, jac=True, method="L-BFGS-B", callback=note, options=options
    )
    return WeightedGrammar(grammar.alphabet, *objective.split(found.x))
