"""Climbing the likelihood: over-relaxed expectation-maximisation with early stopping.

A plain step goes from p to p_EM. An over-relaxed one goes further along the same way,

    p' prop. to p (p_EM / p)^eta,        eta growing while the likelihood grows,

and falls back to p_EM with eta = 1 as soon as it does not (Salakhutdinov and Roweis, 2003). The
likelihood of the automata that are kept never decreases, and slow problems need half the iterations.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.kernels.values import trie_values
from sigmastar.automata.learn.em_steps import EMCorpus, Maximize, maximize
from sigmastar.automata.learn.held_strings import HeldOut
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.arrays import Floats

Progress = Callable[[str], None]

_GROWTH, _LARGEST = 1.2, 6.0
_CHECK_EVERY, _PATIENCE = 3, 3
_LAST = 3
_WEIGHT_ROUNDS = 500  # members are much alike, so their weights move slowly


def plain_steps(
    corpus: EMCorpus, start: WeightedAutomaton, step: Maximize = maximize
) -> Iterator[tuple[WeightedAutomaton, float]]:
    """Automata after 1, 2, .. iterations, each with the log-likelihood of the one before it."""
    automaton = start
    while True:
        counts = corpus.expect(automaton)
        automaton = step(corpus.alphabet, counts)
        yield automaton, counts.log_likelihood


def relaxed_steps(
    corpus: EMCorpus, start: WeightedAutomaton, step: Maximize = maximize
) -> Iterator[tuple[WeightedAutomaton, float]]:
    """The same with over-relaxation; every automaton yielded is one that the likelihood approved of."""
    automaton, reached, eta = start, -np.inf, 1.0
    safe = start
    while True:
        counts = corpus.expect(automaton)
        if counts.log_likelihood < reached and automaton is not safe:
            automaton, eta = safe, 1.0
            continue
        reached, safe = counts.log_likelihood, step(corpus.alphabet, counts)
        yield safe, reached
        automaton = _beyond(automaton, safe, eta) if eta > 1.0 else safe
        eta = min(eta * _GROWTH, _LARGEST)


@dataclass
class Climb:
    """An ascent in progress: the best automaton so far by held-out likelihood, and the way to it."""

    corpus: EMCorpus
    held_out: HeldOut | None
    best: WeightedAutomaton
    step: Maximize = maximize
    best_score: float = -np.inf
    n_iterations: int = 0
    log_likelihoods: list[float] = field(default_factory=list)
    finished: bool = False
    _steps: Iterator[tuple[WeightedAutomaton, float]] | None = None
    _misses: int = 0

    def run(
        self,
        n_iterations: int,
        tolerance: float = 1e-4,
        deadline: float | None = None,
        progress: Progress | None = None,
    ) -> Climb:
        """Go on for `n_iterations`, until nothing improves by `tolerance` nats a string, or to a time."""
        if self._steps is None:
            self._steps = relaxed_steps(self.corpus, self.best, self.step)
        for count in range(1, n_iterations + 1):
            automaton, log_likelihood = next(self._steps)
            self.n_iterations += 1
            self.log_likelihoods.append(log_likelihood / self.corpus.n_strings)
            if progress:
                progress(f"EM with {automaton.n_states} states, iteration {self.n_iterations}")
            late = deadline is not None and time.monotonic() > deadline
            if count % _CHECK_EVERY == 0 or count == n_iterations or late:
                self._check(automaton, tolerance)
            if self.finished or late:
                break
        return self

    def _check(self, automaton: WeightedAutomaton, tolerance: float) -> None:
        score = self._score(automaton)
        self._misses = 0 if score > self.best_score + tolerance else self._misses + 1
        if score > self.best_score:
            self.best, self.best_score = automaton, score
        self.finished = self._misses >= _PATIENCE

    def _score(self, automaton: WeightedAutomaton) -> float:
        if self.held_out is None:  # without held-out data the training likelihood decides
            return self.log_likelihoods[-1]
        return mean_log_probability(automaton, self.held_out)


def last_look(
    automaton: WeightedAutomaton, strings: Strings, step: Maximize, dtype: type = np.float64
) -> WeightedAutomaton:
    """A few plain iterations on all strings, after some were held out to choose by."""
    steps = plain_steps(EMCorpus(strings, automaton.n_states, dtype), automaton, step)
    for _ in range(_LAST):
        automaton, _ = next(steps)
    return automaton


def mean_log_probability(automaton: WeightedAutomaton, held_out: HeldOut) -> float:
    """Mean log-probability of held-out strings, -inf if one has none."""
    return float(held_out.end_counts @ held_out_logs(automaton, held_out) / held_out.n_strings)


def held_out_logs(automaton: WeightedAutomaton, held_out: HeldOut) -> Floats:
    """Log-probabilities of the distinct held-out strings."""
    trie, ending = held_out.trie, held_out.ending
    mantissas, exponents = trie_values(
        trie.parent,
        trie.symbol,
        trie.level_starts,
        automaton.initial,
        automaton.transitions,
        automaton.final[:, None],
    )
    with np.errstate(divide="ignore"):
        logs: Floats = np.log(mantissas[ending, 0]) + exponents[ending] * np.log(2.0)
        return logs


def mixture_weights(automata: Sequence[WeightedAutomaton], held_out: HeldOut) -> list[float]:
    """The most likely weights of the members of a mixture, by EM from the held-out strings under each."""
    logs = np.array([held_out_logs(automaton, held_out) for automaton in automata])
    read = np.isfinite(logs.max(axis=0))  # by one of them at least
    logs, counts, weights = logs[:, read], held_out.end_counts[read], np.full(len(logs), 1.0 / len(logs))
    relative = np.exp(logs - logs.max(axis=0))
    for _ in range(_WEIGHT_ROUNDS):
        shares = weights[:, None] * relative
        shares /= shares.sum(axis=0)
        weights = (shares @ counts + 1.0) / (counts.sum() + len(logs))
    return weights.tolist()


def _beyond(old: WeightedAutomaton, new: WeightedAutomaton, eta: float) -> WeightedAutomaton:
    initial, moves, stops = (
        _power(a, b, eta)
        for a, b in ((old.initial, new.initial), (old.transitions, new.transitions), (old.final, new.final))
    )
    leaving = moves.sum(axis=(0, 2)) + stops
    return WeightedAutomaton(
        new.alphabet, initial / initial.sum(), moves / leaving[None, :, None], stops / leaving
    )


def _power(old: Floats, new: Floats, eta: float) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        log_ratio = np.log(new) - np.log(old)
        return np.where(
            (new > 0) & (old > 0), new * np.exp(np.clip((eta - 1.0) * log_ratio, -50.0, 3.0)), new
        )
