"""How well a model predicts whole strings.

    competition   2 ^ -sum_x p(x) log2 q(x)      p, q normalised over a test set without repetitions
    perplexity    exp(-sum log q(x) / gaps)      a gap is a symbol or an end
    KL(p || q)    mean of log p(x) - log q(x)    over fresh strings drawn from p

The first is the score of PAutomaC (Verwer, Eyraud and de la Higuera 2012). It weights strings by
p(x) and so hides failures on rare ones; the KL divergence shows them: report both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from sigmastar.automata.data.strings import Strings, require_strings
from sigmastar.automata.model.sequence import SequenceModel
from sigmastar.core.intervals import Estimate, normal_interval

Array = NDArray[np.float64]


@dataclass(frozen=True)
class CompetitionScore:
    """The PAutomaC score, the best one possible, and their ratio R."""

    perplexity: float
    target_perplexity: float
    ratio: float
    n_impossible: int  # strings that the model rules out; with one, the perplexity is infinite


@dataclass(frozen=True)
class DivergenceEstimate(Estimate):
    """A KL divergence in nats a string; infinite when the model rules out a string that was drawn."""

    standard_error: float
    n_impossible: int
    value_possible: float  # the mean over the other strings


def log_likelihood(model: SequenceModel, strings: Strings) -> Array:
    """Natural log-probability of each string; -inf also where a symbol is foreign to the model."""
    return model.log_probability(strings.recoded(model.alphabet, allow_unknown=True))


def perplexity(model: SequenceModel, strings: Strings) -> float:
    """Per symbol, the end of each string counted as one."""
    require_strings(strings, "evaluate on")
    return float(np.exp(-log_likelihood(model, strings).sum() / strings.n_gaps))


def competition_perplexity(model: SequenceModel, test: Strings, targets: ArrayLike) -> CompetitionScore:
    """Score a model on a PAutomaC test set with the target probabilities of its strings."""
    require_strings(test, "evaluate on")
    return competition_score(log_likelihood(model, test), targets)


def competition_score(log_probabilities: Array, targets: ArrayLike) -> CompetitionScore:
    """The same from log-probabilities, normalised or not."""
    solution = _targets(targets, len(log_probabilities))
    weighted = solution > 0
    impossible = weighted & np.isneginf(log_probabilities)
    best = _two_to_the(-(solution[weighted] * np.log2(solution[weighted])).sum())
    if impossible.any():
        return CompetitionScore(np.inf, best, np.inf, int(impossible.sum()))
    normalised = (log_probabilities - special.logsumexp(log_probabilities)) / np.log(2)
    score = _two_to_the(-(solution[weighted] * normalised[weighted]).sum())
    return CompetitionScore(score, best, score / best, 0)


def kl_by_sampling(
    model: SequenceModel,
    reference: SequenceModel,
    n_strings: int,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> DivergenceEstimate:
    """KL(reference || model) on fresh strings drawn from the reference, with a normal interval."""
    return kl_on(model, reference, reference.sample(n_strings, rng), confidence)


def kl_on(
    model: SequenceModel, reference: SequenceModel, fresh: Strings, confidence: float = 0.95
) -> DivergenceEstimate:
    """The same on strings that were drawn before, so that several models share them."""
    require_strings(fresh, "evaluate on")
    excess = log_ratios(model, reference, fresh)
    possible = np.isfinite(excess)
    n, n_impossible = len(excess), int((~possible).sum())
    error = (
        float(np.std(excess[possible], ddof=1) / np.sqrt(possible.sum())) if possible.sum() > 1 else np.nan
    )
    finite = float(excess[possible].mean()) if possible.any() else np.inf
    if n_impossible:
        return DivergenceEstimate(np.inf, np.inf, np.inf, n, error, n_impossible, finite)
    interval = normal_interval(finite, error, n, confidence)
    return DivergenceEstimate(finite, interval.low, interval.high, n, error, 0, finite)


def log_ratios(model: SequenceModel, reference: SequenceModel, strings: Strings) -> Array:
    """log p(x) - log q(x) of each string, +inf where the model rules it out."""
    truth = log_likelihood(reference, strings)
    if not np.isfinite(truth).all():
        n_impossible = int((~np.isfinite(truth)).sum())
        raise ValueError(
            f"the reference gives no probability to {n_impossible} of {len(truth)} strings drawn from it: "
            "it is no distribution; repair it first"
        )
    return truth - log_likelihood(model, strings)


def _targets(targets: ArrayLike, n_strings: int) -> Array:
    solution = np.asarray(targets, dtype=np.float64)
    if solution.shape != (n_strings,):
        raise ValueError(
            f"{n_strings} test strings need as many target probabilities, got shape {solution.shape}"
        )
    if not np.isfinite(solution).all() or (solution < 0).any() or solution.sum() <= 0:
        raise ValueError("target probabilities must be finite, not negative, and not all zero")
    return np.asarray(solution / solution.sum())


def _two_to_the(bits: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.exp2(bits))
