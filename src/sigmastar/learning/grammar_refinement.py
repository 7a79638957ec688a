"""The grammar itself against the frequencies: L-BFGS, one inside vector a distinct substring.

    min over (initial, words, A)   1/2 sum over x of (f(x) - p(x))^2 / (p(x) + 1/N)
                                 + 1/2 sum over l of (f(length l) - p(length l))^2 / (p(length l) + 1/N)
                                 + 1/2 sum over short x that did not occur of min(f(x), 0)^2 N

Errors are weighed by the variance of a frequency. The second sum sees strings that did not occur: the mass of
a length is the value of the string `any .. any`, where the vector of `any` is the sum of all word vectors. The third forbids negative
values where the strings of a length can be told. Where all that did not occur are told, a second round
minimises KL(p || f) instead, sum of p log(p / f) + f, which weighs rare strings without bias. Not convex: it
polishes what completion found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from sigmastar.inference.span_vectors import Spans, gradients, insides
from sigmastar.operators.enumeration import all_words
from sigmastar.operators.wcfg import WeightedGrammar, spans_of
from sigmastar.structures.alphabet import Alphabet
from sigmastar.structures.strings import Strings
from sigmastar.structures.substrings import Substrings

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

TOO_LARGE = 1e100
MOST_UNSEEN = 5000


@dataclass(frozen=True, eq=False)
class FrequencyObjective:
    """The cost and its gradient as functions of one flat vector of weights."""

    alphabet: Alphabet
    spans: Spans
    nodes: Integers  # of each target
    targets: Array
    weights: Array
    n_states: int
    n_seen: int  # the first targets: strings that occur; then come lengths, then strings that do not
    n_unseen: int
    is_whole: bool  # whether all strings up to the longest are among them
    divergence: bool = False  # minimise KL instead of squares

    @classmethod
    def of(
        cls, strings: Strings, probabilities: Array, n_strings: float, n_states: int
    ) -> FrequencyObjective:
        """Distinct strings with their frequencies among `n_strings`."""
        longest, n = int(strings.lengths.max()), len(strings.alphabet)
        wild = [np.full(length, n, dtype=np.int32) for length in range(1, longest + 1)]
        unseen = unseen_strings(strings)
        lengths = np.concatenate([strings.lengths, np.arange(1, longest + 1), unseen.lengths])
        joined = Strings(
            Alphabet([*range(n), None]),
            np.concatenate([strings.codes, *wild, unseen.codes]),
            np.append(0, np.cumsum(lengths)).astype(np.int64),
        )
        by_length = np.bincount(strings.lengths, probabilities, minlength=longest + 1)[1:]
        targets = np.concatenate([probabilities, by_length, np.zeros(len(unseen))])
        table = Substrings.of(joined)
        weights = 1.0 / (targets + 1.0 / n_strings)
        spans, nodes = spans_of(table), table.string_node
        whole = len(strings) + len(unseen) == sum(n**k for k in range(1, longest + 1))
        sizes = (len(strings), len(unseen), whole)
        return cls(strings.alphabet, spans, nodes, targets, weights, n_states, *sizes)

    def split(self, flat: Array) -> tuple[Array, Array, Array]:
        n, n_words = self.n_states, len(self.alphabet) * self.n_states
        return flat[:n], flat[n : n + n_words].reshape(-1, n), flat[n + n_words :].reshape(n, n, n)

    def _cost(self, values: Array) -> tuple[float, Array]:
        """The cost of the values of all targets, and its slopes."""
        errors = values - self.targets
        unseen = len(errors) - self.n_unseen
        errors[unseen:] = np.minimum(errors[unseen:], 0.0)
        if not self.divergence:
            return 0.5 * float((self.weights * errors) @ errors), self.weights * errors
        seen, slopes = self.targets[: self.n_seen], self.weights * errors
        logs, log_slopes = _minus_log(values[: self.n_seen], 0.01 * seen)
        slopes[: self.n_seen] = seen * log_slopes
        slopes[self.n_seen : unseen] = 1.0  # the mass of all lengths
        negative = 0.5 * float((self.weights * errors**2)[unseen:].sum())
        cost = seen @ (logs + np.log(seen)) + errors[self.n_seen : unseen].sum() + negative
        return float(cost), slopes

    def __call__(self, flat: Array) -> tuple[float, Array]:
        initial, words, composition = self.split(flat)
        extended = np.vstack([words, words.sum(axis=0)])
        with np.errstate(over="ignore", invalid="ignore"):
            found = insides(self.spans, extended, composition)
            scale = np.exp2(found.exponents[self.nodes].astype(float))
            vectors = found.vectors[self.nodes]
            cost, slopes = self._cost((vectors @ initial) * scale)
            slopes *= scale
            seeds = np.zeros_like(found.vectors)
            np.add.at(seeds, self.nodes, slopes[:, None] * initial)
            pulled = gradients(self.spans, found, seeds, composition, len(extended))
            at_words = pulled.words[:-1] + pulled.words[-1]
            gradient = np.concatenate([slopes @ vectors, at_words.ravel(), pulled.composition.ravel()])
        if not (np.isfinite(cost) and np.isfinite(gradient).all()):
            return TOO_LARGE, np.zeros_like(flat)
        return cost, gradient


def _minus_log(values: Array, least: Array) -> tuple[Array, Array]:
    """-log of values and its slopes, continued by a parabola below `least`."""
    low = (values - least) / least
    small = np.maximum(values, least)
    cost = np.where(low < 0.0, -np.log(least) - low + 0.5 * low**2, -np.log(small))
    return cost, np.where(low < 0.0, (low - 1.0) / least, -1.0 / small)


def unseen_strings(strings: Strings, most: int = MOST_UNSEEN) -> Strings:
    """All strings that do not occur, up to the length at which there are no more than `most` in all."""
    n, length = len(strings.alphabet), 1
    while length < strings.lengths.max() and sum(n**k for k in range(1, length + 2)) <= most:
        length += 1
    codes = [all_words(n, k) for k in range(1, length + 1)]
    lengths = np.repeat(np.arange(1, length + 1), [len(part) for part in codes])
    flat = np.concatenate([part.ravel() for part in codes]).astype(np.int32)
    every = Strings(strings.alphabet, flat, np.append(0, np.cumsum(lengths)).astype(np.int64))
    numbers = _numbers(strings, length)
    return every.select(np.setdiff1d(np.arange(len(every)), numbers))


def _numbers(strings: Strings, longest: int) -> Integers:
    """The places of strings among all of at most `longest` symbols, shorter ones first."""
    n, places = len(strings.alphabet), []
    for length in range(1, longest + 1):
        chosen = np.flatnonzero(strings.lengths == length)
        codes = strings.codes[strings.offsets[chosen][:, None] + np.arange(length)].astype(np.int64)
        before = sum(n**k for k in range(1, length))
        places.append(before + codes @ n ** np.arange(length - 1, -1, -1))
    return np.concatenate(places)


def refine_grammar(
    grammar: WeightedGrammar,
    strings: Strings,
    probabilities: Array,
    n_strings: float,
    n_iterations: int = 300,
    watch: Callable[[int, float], None] | None = None,
) -> WeightedGrammar:
    """Follow the gradient from a grammar until it is flat or the steps are spent."""
    squares = FrequencyObjective.of(strings, probabilities, n_strings, grammar.n_states)
    flat = np.concatenate([grammar.initial, grammar.words.ravel(), grammar.composition.ravel()])
    rounds = [squares, replace(squares, divergence=True)] if squares.is_whole else [squares]
    for objective in rounds:
        flat = _minimised(objective, flat, n_iterations // len(rounds), watch)
    return WeightedGrammar(grammar.alphabet, *squares.split(flat))


def _minimised(
    objective: FrequencyObjective,
    start: Array,
    n_iterations: int,
    watch: Callable[[int, float], None] | None,
) -> Array:
    """Where L-BFGS ends."""
    steps = [0]

    def note(intermediate_result: optimize.OptimizeResult) -> None:
        steps[0] += 1
        if watch is not None:
            watch(steps[0], float(intermediate_result.fun))

    options = {
        "maxiter": n_iterations,
        "maxfun": 2 * n_iterations,
        "maxcor": 30,
        "ftol": 1e-15,
        "gtol": 1e-13,
    }
    found = optimize.minimize(  # type: ignore[call-overload]
        objective, start, jac=True, method="L-BFGS-B", callback=note, options=options
    )
    return np.asarray(found.x, dtype=np.float64)
