"""`em` for grammars: inside-outside from random, spectral or CCA starts, the best seed by held-out strings.

All strings are seen, whatever their length, unless `max_length` is given; the fit says what share of them
was cut off.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.data.strings import Strings, require_strings
from sigmastar.grammars.learn.em_steps import GrammarCorpus, RulePrior, em_steps, random_start
from sigmastar.grammars.model.grammar import WeightedGrammar

Array = NDArray[np.float64]
Say = Callable[..., None]
Start = Callable[[Strings, Array, int, np.random.Generator], WeightedGrammar]

_LAST = 2
ENOUGH = 10
PLAIN = RulePrior()


@dataclass(frozen=True, eq=False)
class GrammarFit:
    """The best grammar of all seeds, the log-likelihood a string along its way, and what was left out."""

    grammar: WeightedGrammar
    log_likelihoods: list[float]
    held_out_score: float
    n_iterations: int
    cut_off: float = 0.0  # the share of the strings that were too long to be seen


def from_chance(strings: Strings, weights: Array, n_states: int, rng: np.random.Generator) -> WeightedGrammar:
    return random_start(GrammarCorpus.of(strings, weights), n_states, rng)


def within_length(
    strings: Strings, weights: Array | None, max_length: int | None
) -> tuple[Strings, Array, float]:
    """Strings of 1 to `max_length` symbols, their weights, and the share of weight that is cut off."""
    heavy = np.ones(len(strings)) if weights is None else np.asarray(weights, dtype=float)
    longest = np.inf if max_length is None else max_length
    kept = np.flatnonzero((strings.lengths >= 1) & (strings.lengths <= longest))
    lost = 1.0 - heavy[kept].sum() / max(heavy.sum(), 1e-300)
    return require_strings(strings.select(kept)), heavy[kept], float(max(lost, 0.0))


def learn_grammar_em(
    strings: Strings,
    n_states: int,
    rng: np.random.Generator,
    *,
    weights: Array | None = None,
    start: Start | WeightedGrammar = from_chance,
    n_seeds: int = 1,
    n_iterations: int = 100,
    held_out: float = 0.0,
    patience: int = 3,
    prior: RulePrior = PLAIN,
    tolerance: float = 1e-5,
    max_length: int | None = None,
    say: Say | None = None,
) -> GrammarFit:
    """The best of `n_seeds` ascents by held-out likelihood (by training likelihood if `held_out` is 0)."""
    if n_states < 1:
        raise ValueError(f"n_states={n_states}: a grammar has at least one state")
    seen, heavy, cut_off = within_length(strings, weights, max_length)
    kept, held = _split(seen, heavy, held_out, rng)
    corpus = GrammarCorpus.of(*kept)
    fits = []
    for seed in range(n_seeds):
        begin = start if isinstance(start, WeightedGrammar) else start(*kept, n_states, rng)
        fits.append(_climb(corpus, held, begin, n_iterations, patience, prior, tolerance, say, seed, n_seeds))
    best = max(fits, key=lambda fit: fit.held_out_score)
    grammar = best.grammar if held is None else _last_look(best.grammar, seen, heavy, prior)
    return GrammarFit(
        grammar, best.log_likelihoods, best.held_out_score, sum(f.n_iterations for f in fits), cut_off
    )


def _split(
    strings: Strings, weights: Array, held_out: float, rng: np.random.Generator
) -> tuple[tuple[Strings, Array], GrammarCorpus | None]:
    if not held_out or len(strings) < ENOUGH:  # too few to spare any
        return (strings, weights), None
    numbers = np.arange(len(strings))
    order = rng.permutation(numbers)
    size = min(max(round(held_out * len(strings)), 1), len(strings) - 1)
    kept, held = np.sort(order[size:]), np.sort(order[:size])
    return (strings.select(kept), weights[kept]), GrammarCorpus.of(strings.select(held), weights[held])


def _climb(
    corpus: GrammarCorpus,
    held: GrammarCorpus | None,
    start: WeightedGrammar,
    n_iterations: int,
    patience: int,
    prior: RulePrior,
    tolerance: float,
    say: Say | None,
    seed: int,
    n_seeds: int,
) -> GrammarFit:
    """Iterate until nothing improves by `tolerance` nats a string for `patience` iterations."""
    best, score, misses, logs = start, -np.inf, 0, []
    for count, (grammar, log_likelihood) in enumerate(em_steps(corpus, start, prior), 1):
        logs.append(log_likelihood / corpus.n_strings)
        if say:
            done = (seed + count / n_iterations) / n_seeds
            say(f"EM, seed {seed + 1}, iteration {count}, log-likelihood {logs[-1]:.4f}", done)
        reached = held.log_likelihood(grammar) / held.n_strings if held else logs[-1]
        misses = 0 if reached > score + tolerance else misses + 1
        if reached > score or held is None:
            best, score = grammar, max(reached, score)
        if misses >= patience or count >= n_iterations:
            break
    return GrammarFit(best, logs, score, len(logs))


def _last_look(
    grammar: WeightedGrammar, strings: Strings, weights: Array, prior: RulePrior
) -> WeightedGrammar:
    """A few iterations on all strings, after some were held out to choose by."""
    steps = em_steps(GrammarCorpus.of(strings, weights), grammar, prior)
    for _ in range(_LAST):
        grammar, _ = next(steps)
    return grammar
