"""Probabilities of events from their counts.

    maximum likelihood   theta_(k,i) = c_(k,i) / sum_i c_(k,i)
    Dirichlet MAP        theta_(k,i) = (c_(k,i) + a - 1) / (sum_i c_(k,i) + N_k (a - 1))           equation 26
    truncated (ERM)      b_(k,i) = min{1 - gamma, max{gamma, c_taken / (c_taken + c_passed)}}      equation 22
                         on the sticks of the binary normal form, gamma = n^-s

Cohen and Smith (2012), section 6. There gamma depends on the number n of derivations alone, although a stick
far down a row, or one of a rare non-terminal, was reached a few times only. `truncated_by_reach` has

    gamma_(k,i) = max{n^-s, (c_taken + c_passed)^-s}

at sticks that were reached, so that what is known of a stick, not of the whole sample, decides how near it
may come to 0 and 1. No margin is below n^-s: the estimate lies in the space F_n of the theory, whose bounds
hold for all of F_n at once. A stick of t visits gives an event that was never taken t^(1 - s) of them, about
one half: this is how it stands up to Dirichlet priors (decision 17).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sigmastar.core.arrays import Floats
from sigmastar.core.errors import InputError
from sigmastar.pcfg.data.binary_form import BinaryForm
from sigmastar.pcfg.data.events import Derivations, EventSystem
from sigmastar.pcfg.model.probabilistic_grammar import ProbabilisticGrammar

Estimate = Callable[[EventSystem, Floats], Floats]
"""From the counts of events to their probabilities."""


def maximum_likelihood(events: EventSystem, counts: Floats) -> Floats:
    """Relative frequencies; uniform in multinomials that were not seen."""
    return events.normalized(counts)


def dirichlet_map(alpha: float) -> Estimate:
    """The mode under a symmetric Dirichlet prior."""
    if alpha < 1:
        raise ValueError(f"alpha={alpha} must be at least 1: below, the mode can lie at negative counts")
    return lambda events, counts: events.normalized(counts + (alpha - 1))


def truncated(margin: float) -> Estimate:
    """The maximum of the likelihood where every stick is within [margin, 1 - margin]."""

    def estimate(events: EventSystem, counts: Floats) -> Floats:
        form = BinaryForm(events)
        return form.probabilities(form.truncated(form.sticks(counts), margin))

    return estimate


def truncated_by_reach(n_samples: int, s: float) -> Estimate:
    """The maximum of the likelihood where each stick keeps a margin of (visits)^-s, at least n^-s.

    Of sticks without a visit any value is a maximum: they share equally, as elsewhere.
    """
    least = margin_of(n_samples, s)

    def estimate(events: EventSystem, counts: Floats) -> Floats:
        form = BinaryForm(events)
        visits = form.tails(counts)
        margins = np.clip(np.maximum(visits, 1.0) ** -s, least, 0.5)
        return form.probabilities(form.truncated(form.sticks(counts), np.where(visits > 0, margins, 0.0)))

    return estimate


def margin_of(n_samples: int, s: float) -> float:
    """gamma = n^-s, at most 1/2."""
    if s <= 0:
        raise ValueError(f"s={s} must be above 0; the theory requires more than 1")
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
    return learn_from_counts(model, derivations.counts(model.events.n_events), estimate)


def learn_from_counts(
    model: ProbabilisticGrammar, counts: Floats, estimate: Estimate
) -> ProbabilisticGrammar:
    """Parameters from the counts of events, observed, expected or exact."""
    return model.with_parameters(estimate(model.events, counts))
