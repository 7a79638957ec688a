"""How well a model predicts whole strings, and the next symbol.

    competition   2 ^ -sum_x p(x) log2 q(x)      p, q normalized over a test set without repetitions
    perplexity    exp(-sum log q(x) / gaps)      a gap is a symbol or an end
    KL(p || q)    mean of log p(x) - log q(x)    over fresh strings drawn from p
    error rate    the share of gaps where the most likely symbol is not the one that follows
    NDCG at k     sum over ranks r = 1 .. k of p(symbol ranked r) / log2(r + 1), over that of the best ranking

The first is the score of PAutomaC (Verwer, Eyraud and de la Higuera 2012). It weights strings by p(x) and so
hides failures on rare ones; the KL divergence shows them: report both. The last is the score of SPiCe (Balle
et al. 2016). The end of a string counts as a symbol, last in order. Ties go to the symbol that comes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from sigmastar.automata.data.spice import END_OF_STRING, SpiceTargets
from sigmastar.automata.data.strings import Strings, require_strings
from sigmastar.automata.model.sequence import (
    SequenceModel,
    best_following,
    next_distribution,
    pieces,
    top_columns,
)
from sigmastar.core.alphabet import Symbol
from sigmastar.core.arrays import Flags, Floats
from sigmastar.core.intervals import Estimate, normal_interval
from sigmastar.core.progress import Progress, silent


@dataclass(frozen=True)
class CompetitionScore:
    """The PAutomaC score, the best one possible, and their ratio R."""

    perplexity: float
    target_perplexity: float
    ratio: float
    n_impossible: int  # strings that the model rules out; with one, the perplexity is infinite


@dataclass(frozen=True)
class DivergenceEstimate(Estimate):
    """A KL divergence in nats per string; infinite when the model rules out a string that was drawn."""

    standard_error: float
    n_impossible: int
    value_possible: float  # the mean over the other strings


def log_likelihood(model: SequenceModel, strings: Strings) -> Floats:
    """Natural log-probability of each string; -inf also where a symbol is foreign to the model.

    Parameters
    ----------
    model : SequenceModel
        The model to judge.
    strings : Strings
        The corpus.

    Returns
    -------
    array
        In nats.
    """
    return model.log_probability(strings.recoded(model.alphabet, allow_unknown=True))


def perplexity(model: SequenceModel, strings: Strings) -> float:
    """Per symbol, the end of each string counted as one.

    Parameters
    ----------
    model : SequenceModel
        The model to judge.
    strings : Strings
        The corpus.

    Returns
    -------
    float
        Lower is better.
    """
    require_strings(strings, "evaluate on")
    return float(np.exp(-log_likelihood(model, strings).sum() / strings.n_gaps))


def competition_perplexity(model: SequenceModel, test: Strings, targets: ArrayLike) -> CompetitionScore:
    """Score a model on a PAutomaC test set with the target probabilities of its strings.

    Parameters
    ----------
    model : SequenceModel
        The model to judge.
    test : Strings
        The test set, without repetitions.
    targets : array
        The probabilities of the solution.

    Returns
    -------
    CompetitionScore
        The score, the best one possible, and their ratio.
    """
    require_strings(test, "evaluate on")
    return competition_score(log_likelihood(model, test), targets)


def competition_score(log_probabilities: Floats, targets: ArrayLike) -> CompetitionScore:
    """The same from log-probabilities, normalized or not."""
    solution = _targets(targets, len(log_probabilities))
    weighted = solution > 0
    impossible = weighted & np.isneginf(log_probabilities)
    best = _two_to_the(-(solution[weighted] * np.log2(solution[weighted])).sum())
    if impossible.any():
        return CompetitionScore(np.inf, best, np.inf, int(impossible.sum()))
    normalized = (log_probabilities - special.logsumexp(log_probabilities)) / np.log(2)
    score = _two_to_the(-(solution[weighted] * normalized[weighted]).sum())
    return CompetitionScore(score, best, score / best, 0)


def kl_by_sampling(
    model: SequenceModel,
    reference: SequenceModel,
    n_strings: int,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> DivergenceEstimate:
    """KL(reference || model) on fresh strings drawn from the reference, with a normal interval.

    Parameters
    ----------
    model : SequenceModel
        The model to judge.
    reference : SequenceModel
        The true model.
    n_strings : int
        Number of strings.
    rng : Generator
        Source of chance.
    confidence : float
        Of the interval.

    Returns
    -------
    DivergenceEstimate
        In nats per string.
    """
    return kl_on(model, reference, reference.sample(n_strings, rng), confidence)


def kl_on(
    model: SequenceModel, reference: SequenceModel, fresh: Strings, confidence: float = 0.95
) -> DivergenceEstimate:
    """The same on strings that were drawn before, so that several models share them.

    Parameters
    ----------
    model : SequenceModel
        The model to judge.
    reference : SequenceModel
        The true model.
    fresh : Strings
        Drawn from the reference.
    confidence : float
        Of the interval.

    Returns
    -------
    DivergenceEstimate
        In nats per string.
    """
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


def log_ratios(model: SequenceModel, reference: SequenceModel, strings: Strings) -> Floats:
    """log p(x) - log q(x) of each string, +inf where the model rules it out."""
    truth = log_likelihood(reference, strings)
    if not np.isfinite(truth).all():
        n_impossible = int((~np.isfinite(truth)).sum())
        raise ValueError(
            f"the reference gives no probability to {n_impossible} of {len(truth)} strings drawn from it: "
            "it is no distribution; repair it first"
        )
    return truth - log_likelihood(model, strings)


def _targets(targets: ArrayLike, n_strings: int) -> Floats:
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


def next_symbol_error(
    model: SequenceModel, strings: Strings, include_end: bool = True, progress: Progress = silent
) -> float:
    """The error rate of the most likely next symbol over all gaps.

    Without `include_end` the gaps at the ends of strings are left out, and the end is never offered
    as a prediction.

    Parameters
    ----------
    model : SequenceModel
        The model to judge.
    strings : Strings
        The corpus.
    include_end : bool
        Whether the end of a string counts as a symbol.
    progress : callable
        Called with the share of the gaps that are done: there is a table of all symbols at each of them.

    Returns
    -------
    float
        A share of the gaps.
    """
    errors = next_symbol_errors(model, strings, include_end, progress)
    if len(errors) == 0:
        raise ValueError("all strings are empty: without their ends there is nothing to predict")
    return float(errors.mean())


def next_symbol_errors(
    model: SequenceModel, strings: Strings, include_end: bool = True, progress: Progress = silent
) -> Flags:
    """Right or wrong at every gap, in corpus order."""
    require_strings(strings, "evaluate on")
    recoded, found, n_done = strings.recoded(model.alphabet, allow_unknown=True), list[Flags](), 0
    for piece in pieces(recoded):
        progress("next symbols", n_done / strings.n_gaps)
        found.append(_errors(model, piece, include_end))
        n_done += piece.n_gaps
    return np.concatenate(found)


def ndcg(model: SequenceModel, prefixes: Strings, targets: SpiceTargets, k: int = 5) -> float:
    """Mean NDCG at k of the model's rankings; prefixes and targets are paired from the start.

    Parameters
    ----------
    model : SequenceModel
        The model to judge.
    prefixes : Strings
        What stands before.
    targets : SpiceTargets
        What may follow.
    k : int
        Number of symbols that are ranked.

    Returns
    -------
    float
        Higher is better.
    """
    return float(ndcg_scores(model, prefixes, targets, k).mean())


def ndcg_scores(model: SequenceModel, prefixes: Strings, targets: SpiceTargets, k: int = 5) -> Floats:
    """NDCG at k of each prefix."""
    require_strings(prefixes, "evaluate on")
    n = min(len(prefixes), len(targets.denominators))
    return score_rankings(rank_next(model, prefixes.select(np.arange(n)), k), targets)


def rank_next(model: SequenceModel, prefixes: Strings, k: int = 5) -> list[tuple[Symbol, ...]]:
    """The k most likely next symbols after each prefix, best first; `END_OF_STRING` stands for the end."""
    recoded = prefixes.recoded(model.alphabet, allow_unknown=True)
    names = (*model.alphabet.symbols, END_OF_STRING)
    return [
        tuple(names[column] for column in row)
        for piece in pieces(recoded)
        for row in top_columns(next_distribution(model, piece), k).tolist()
    ]


def score_rankings(rankings: Sequence[Sequence[Symbol]], targets: SpiceTargets) -> Floats:
    """NDCG of given rankings, at their own lengths; a symbol ranked twice is refused."""
    scores = np.zeros(min(len(rankings), len(targets.denominators)))
    for i in range(len(scores)):
        ranking, given = rankings[i], slice(targets.offsets[i], targets.offsets[i + 1])
        if len(set(ranking)) < len(ranking):
            raise ValueError(f"ranking {i + 1} names a symbol twice: {tuple(ranking)!r}")
        gains = dict(zip(targets.symbols[given].tolist(), targets.probabilities[given].tolist(), strict=True))
        discounted = sum(gains.get(symbol, 0.0) / np.log2(r + 2) for r, symbol in enumerate(ranking))
        scores[i] = discounted / targets.denominators[i]
    return scores


def _errors(model: SequenceModel, strings: Strings, include_end: bool) -> Flags:
    if not include_end and not len(model.alphabet):
        return np.zeros(0, dtype=np.bool_)
    following = strings.outcomes
    wrong = np.asarray(best_following(model, strings, include_end) != following)
    return wrong if include_end else wrong[following != len(strings.alphabet)]
