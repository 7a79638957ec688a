"""Parameters of a probabilistic grammar from derivations, from strings, or from both.

    maximum likelihood   theta_(k,i) = c_(k,i) / sum_i c_(k,i)
    Dirichlet MAP        theta_(k,i) = (c_(k,i) + a - 1) / (sum_i c_(k,i) + N_k (a - 1))           equation 26
    truncated (ERM)      b_(k,i) = min{1 - gamma, max{gamma, c_taken / (c_taken + c_passed)}}      equation 22
                         on the sticks of the binary normal form, gamma = n^-s

Cohen and Smith (2012), section 6. From strings, the counts are expected ones (algorithm 1). Each M-step
is the exact maximum over the truncated space, so the likelihood never falls, provided that the start is
in that space: it is projected first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.data.strings import Strings, require_strings
from sigmastar.core.errors import InputError
from sigmastar.pcfg.data.binary_form import BinaryForm
from sigmastar.pcfg.data.derivations import Derivations
from sigmastar.pcfg.data.events import EventSystem
from sigmastar.pcfg.model.probabilistic_grammar import ProbabilisticGrammar, log_loss_of

Array = NDArray[np.float64]
Estimate = Callable[[EventSystem, Array], Array]
"""From the counts of events to their probabilities."""
Progress = Callable[[str, float], None]


def maximum_likelihood(events: EventSystem, counts: Array) -> Array:
    """Relative frequencies; uniform in multinomials that were not seen."""
    return events.normalised(counts)


def dirichlet_map(alpha: float) -> Estimate:
    """The mode under a symmetric Dirichlet prior."""
    if alpha < 1:
        raise ValueError(f"alpha={alpha} must be at least 1: below, the mode can lie at negative counts")
    return lambda events, counts: events.normalised(counts + (alpha - 1))


def truncated(margin: float) -> Estimate:
    """The maximum of the likelihood where every stick is within [margin, 1 - margin]."""

    def estimate(events: EventSystem, counts: Array) -> Array:
        form = BinaryForm(events)
        return form.probabilities(form.truncated(form.sticks(counts), margin))

    return estimate


def margin_of(n_samples: int, s: float) -> float:
    """gamma = n^-s, at most 1/2."""
    if s <= 0:
        raise ValueError(f"s={s} must be above 0; the theory asks for more than 1")
    return float(min(max(n_samples, 1) ** -s, 0.5))


def project(model: ProbabilisticGrammar, margin: float) -> ProbabilisticGrammar:
    """T(theta, gamma): the same grammar moved into the truncated space."""
    return model.with_parameters(truncated(margin)(model.events, model.parameters))


def learn_supervised(
    model: ProbabilisticGrammar, derivations: Derivations, estimate: Estimate
) -> ProbabilisticGrammar:
    """Parameters from derivations of the grammar of `model`."""
    if not len(derivations):
        raise InputError("there are no derivations to learn from")
    return model.with_parameters(estimate(model.events, derivations.counts(model.events.n_events)))


@dataclass(frozen=True, eq=False)
class Labelled:
    """Derivations, and how much one string weighs beside one derivation (section 7.4.1)."""

    derivations: Derivations
    string_weight: float = 1.0


@dataclass(frozen=True, eq=False)
class ERMFit:
    """The model of the best start, and its objective (log-likelihood of all data) at every step."""

    model: ProbabilisticGrammar
    objectives: tuple[float, ...]
    n_starts: int = 1


def random_start(model: ProbabilisticGrammar, rng: np.random.Generator) -> ProbabilisticGrammar:
    """Every multinomial drawn from a flat Dirichlet distribution."""
    return model.with_parameters(model.events.normalised(rng.exponential(size=model.events.n_events)))


def learn_em(
    start: ProbabilisticGrammar,
    strings: Strings,
    margin: float,
    *,
    labelled: Labelled | None = None,
    best_only: bool = False,
    n_iterations: int = 50,
    tolerance: float = 1e-6,
    progress: Progress | None = None,
) -> ERMFit:
    """Algorithm 1: EM in the truncated space, until a step gains less than `tolerance` a string.

    With `best_only` the best derivation stands for all (Viterbi EM): its probability, not that of the
    strings, is what never falls.
    """
    require_strings(strings)
    model, estimate = project(start, margin), truncated(margin)
    objectives: list[float] = []
    for iteration in range(n_iterations + 1):
        objective, counts = _expectation(model, strings, labelled, best_only)
        objectives.append(objective)
        if progress is not None:
            progress(f"log-likelihood {objective / len(strings):.4f} a string", iteration / n_iterations)
        gained = np.inf if iteration == 0 else objectives[-1] - objectives[-2]
        if iteration == n_iterations or gained < tolerance * len(strings):
            break
        model = model.with_parameters(estimate(model.events, counts))
    return ERMFit(model, tuple(objectives))


def learn_em_seeds(
    model: ProbabilisticGrammar,
    strings: Strings,
    margin: float,
    n_seeds: int,
    rng: np.random.Generator,
    *,
    labelled: Labelled | None = None,
    best_only: bool = False,
    n_iterations: int = 50,
    tolerance: float = 1e-6,
    progress: Progress | None = None,
) -> ERMFit:
    """The best of several starts: the derivations' estimate first, where there are any, then random ones."""
    starts = [random_start(model, rng) for _ in range(n_seeds)]
    if labelled is not None:
        starts[0] = learn_supervised(model, labelled.derivations, truncated(margin))
    fits = [
        learn_em(
            start,
            strings,
            margin,
            labelled=labelled,
            best_only=best_only,
            n_iterations=n_iterations,
            tolerance=tolerance,
            progress=progress,
        )
        for start in starts
    ]
    best = max(fits, key=lambda fit: fit.objectives[-1])
    return ERMFit(best.model, best.objectives, n_seeds)


def _expectation(
    model: ProbabilisticGrammar, strings: Strings, labelled: Labelled | None, best_only: bool
) -> tuple[float, Array]:
    """The objective, and the counts whose estimate raises it."""
    if best_only:
        derivations = model.best_derivations(strings)
        _require_derivable(derivations.lengths > 0)
        counts = derivations.counts(model.events.n_events)
        objective = -log_loss_of(counts, model.parameters)
    else:
        logs, counts = model.expected_counts(strings)
        _require_derivable(np.isfinite(logs))
        objective = float(logs.sum())
    if labelled is None:
        return objective, counts
    observed = labelled.derivations.counts(model.events.n_events)
    counts = labelled.string_weight * counts + observed
    return labelled.string_weight * objective - log_loss_of(observed, model.parameters), counts


def _require_derivable(derivable: NDArray[np.bool_]) -> None:
    if not derivable.all():
        number = int(np.argmin(derivable)) + 1
        raise InputError(
            f"string {number} has no derivation (of {len(derivable)} strings, {int((~derivable).sum())} have "
            "none); add rules for it or leave it out"
        )
