"""Refinement of a completed grammar: L-BFGS on its weights, one inside vector per distinct substring.

    min over (initial, words, A)   1/2 sum over x of w(x) (f(x) - p(x))^2
                                 + 1/2 sum over lengths l of w(l) (f(length l) - p(length l))^2

The first sum runs over the strings that occur and, where these are not too many, over all short ones that
do not, with p = 0. The second sees all others: the mass of a length is the value of a string of as many
symbols `any`, whose vector is the sum of all word vectors. Weights are first one, which is easiest to
descend, then 1 / (p + 1/N), the variance of a frequency. At last the likelihood itself is climbed,

    min over (initial, words, A)   sum over lengths l of f(length l) - sum over x of p(x) log f(x)

whose optimum is off the truth by as many times 1/2N nats as there are parameters, and no estimate by less.
Not convex: it polishes what completion found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import optimize

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.distances import all_words
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.progress import Progress, silent, stage
from sigmastar.grammars.data.substrings import Substrings
from sigmastar.grammars.kernels import Spans, gradients, insides
from sigmastar.grammars.model.grammar import WeightedGrammar, spans_of

TOO_LARGE = 1e100
MOST_UNSEEN = 5000
Loss = Callable[[Floats], tuple[float, Floats]]
"""Of the values of all targets: the cost, and its slope at each."""


@dataclass(frozen=True, eq=False)
class SquaredLoss:
    """1/2 sum of w (f - p)^2."""

    targets: Floats
    weights: Floats

    def __call__(self, values: Floats) -> tuple[float, Floats]:
        errors = values - self.targets
        slopes = self.weights * errors
        return 0.5 * float(slopes @ errors), slopes


@dataclass(frozen=True, eq=False)
class LikelihoodLoss:
    """Mass less log-likelihood; below `least` the logarithm goes on as a parabola, for signed values.

    Values of strings that do not occur are paid for by the mass; they are pushed up where they are negative.
    """

    probabilities: Floats  # of the strings that occur, which come first
    n_lengths: int
    least: float

    def __call__(self, values: Floats) -> tuple[float, Floats]:
        n_seen = len(self.probabilities)
        logs, log_slopes = _logarithm(values[:n_seen], self.least)
        debts = np.minimum(values[n_seen + self.n_lengths :], 0.0) / self.least
        mass = float(values[n_seen : n_seen + self.n_lengths].sum())
        cost = mass - float(self.probabilities @ logs) + 0.5 * self.least * float(debts @ debts)
        return cost, np.concatenate([-self.probabilities * log_slopes, np.ones(self.n_lengths), debts])


def _logarithm(values: Floats, least: float) -> tuple[Floats, Floats]:
    """log v with its slope, continued below `least` by its second-order expansion there."""
    above = np.maximum(values, least)
    ratio = np.minimum(values / least - 1.0, 0.0)
    return np.log(above) + ratio - 0.5 * ratio**2, np.where(ratio < 0.0, (1.0 - ratio) / least, 1.0 / above)


@dataclass(frozen=True, eq=False)
class FrequencyObjective:
    """The cost and its gradient as functions of one flat vector of weights."""

    alphabet: Alphabet
    spans: Spans
    nodes: Int64s  # of each target: strings that occur, lengths, strings that do not
    targets: Floats
    n_seen: int
    n_states: int
    loss: Loss

    @classmethod
    def of(cls, strings: Strings, probabilities: Floats, n_states: int) -> FrequencyObjective:
        """Distinct strings with their frequencies; all weights are one."""
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
        loss = SquaredLoss(targets, np.ones(len(targets)))
        nodes = table.string_node
        return cls(strings.alphabet, spans_of(table), nodes, targets, len(strings), n_states, loss)

    def split(self, flat: Floats) -> tuple[Floats, Floats, Floats]:
        n, n_words = self.n_states, len(self.alphabet) * self.n_states
        return flat[:n], flat[n : n + n_words].reshape(-1, n), flat[n + n_words :].reshape(n, n, n)

    def values(self, flat: Floats) -> Floats:
        """What a grammar gives every target."""
        initial, words, composition = self.split(flat)
        found = insides(self.spans, np.vstack([words, words.sum(axis=0)]), composition)
        scale = np.exp2(found.exponents[self.nodes].astype(float))
        return (found.vectors[self.nodes] @ initial) * scale  # type: ignore[no-any-return]

    def weighted(self, least: float) -> FrequencyObjective:
        """The same with the frequencies weighed by their variances."""
        return replace(self, loss=SquaredLoss(self.targets, 1.0 / (self.targets + least)))

    def likelihood(self, least: float) -> FrequencyObjective:
        """The likelihood in place of squares."""
        n_lengths = len(self.spans.level_starts) - 1
        return replace(self, loss=LikelihoodLoss(self.targets[: self.n_seen], n_lengths, least))

    def __call__(self, flat: Floats) -> tuple[float, Floats]:
        initial, words, composition = self.split(flat)
        extended = np.vstack([words, words.sum(axis=0)])
        with np.errstate(over="ignore", invalid="ignore"):
            found = insides(self.spans, extended, composition)
            scale = np.exp2(found.exponents[self.nodes].astype(float))
            vectors = found.vectors[self.nodes]
            cost, at_values = self.loss((vectors @ initial) * scale)
            slopes = at_values * scale
            seeds = np.zeros_like(found.vectors)
            np.add.at(seeds, self.nodes, slopes[:, None] * initial)
            pulled = gradients(self.spans, found, seeds, composition, len(extended))
            at_words = pulled.words[:-1] + pulled.words[-1]
            gradient = np.concatenate([slopes @ vectors, at_words.ravel(), pulled.composition.ravel()])
        if not (np.isfinite(cost) and np.isfinite(gradient).all()):
            return TOO_LARGE, np.zeros_like(flat)
        return cost, gradient


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


def _numbers(strings: Strings, longest: int) -> Int64s:
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
    probabilities: Floats,
    n_strings: float,
    max_iter: int = 300,
    progress: Progress = silent,
) -> WeightedGrammar:
    """Follow the gradient from a grammar, in three stages, until it is flat or `max_iter` steps are taken.

    `probabilities` are the frequencies of distinct strings in a sample of `n_strings`.
    """
    begin = _within_reach(grammar, strings, probabilities)
    objective = FrequencyObjective.of(strings, probabilities, grammar.n_states)
    flat = np.concatenate([begin.initial, begin.words.ravel(), begin.composition.ravel()])
    stages = (objective, objective.weighted(1.0 / n_strings), objective.likelihood(0.01 / n_strings))
    for number, at in enumerate(stages):
        flat = _minimized(at, flat, max_iter // 3, stage(progress, number / 3, (number + 1) / 3))
    return WeightedGrammar(grammar.alphabet, *objective.split(flat))


def _within_reach(grammar: WeightedGrammar, strings: Strings, probabilities: Floats) -> WeightedGrammar:
    """Shrink the composition of a grammar whose values explode until they are of the right size."""
    for _ in range(60):
        values = grammar.value(strings)
        if np.isfinite(values).all() and np.abs(values).sum() <= 4.0 * probabilities.sum():
            break
        grammar = replace(grammar, composition=0.8 * grammar.composition)
    return grammar


def _minimized(objective: FrequencyObjective, start: Floats, max_iter: int, progress: Progress) -> Floats:
    """Where L-BFGS ends."""
    steps = [0]

    def note(intermediate_result: optimize.OptimizeResult) -> None:
        steps[0] += 1
        message = f"refinement, step {steps[0]}: cost {intermediate_result.fun:.4g}"
        progress(message, min(steps[0] / max_iter, 1.0))

    options = {
        "maxiter": max_iter,
        "maxfun": 2 * max_iter,
        "maxcor": 30,
        "ftol": 1e-15,
        "gtol": 1e-13,
    }
    found = optimize.minimize(  # type: ignore[call-overload]
        objective, start, jac=True, method="L-BFGS-B", callback=note, options=options
    )
    return np.asarray(found.x, dtype=np.float64)
