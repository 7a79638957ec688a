"""Expectation-maximization on given rules, from strings, or from strings and derivations.

The counts are expected ones (algorithm 1 of Cohen and Smith, 2012). Each M-step is the exact maximum over the
truncated space, so the likelihood never falls, provided that the start is in that space: it is projected
first.

Neither of the two spectral ideas is at work here: rules are given, and what is learned are probabilities, by
counting and by `core.em`.

Probabilities of events come from their counts.

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

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sigmastar.automata.data.strings import Strings, require_strings
from sigmastar.core.arrays import Flags, Floats
from sigmastar.core.em import Climb, Problem, Stopping, best_of, by_absolute
from sigmastar.core.errors import InputError
from sigmastar.core.progress import Progress, silent
from sigmastar.pcfg.data.binary_form import BinaryForm
from sigmastar.pcfg.data.events import Derivations, EventSystem
from sigmastar.pcfg.model.probabilistic_grammar import ProbabilisticGrammar, log_loss_of

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


@dataclass(frozen=True, eq=False)
class Labelled:
    """Derivations, and how much one string weighs beside one derivation (section 7.4.1)."""

    derivations: Derivations
    string_weight: float = 1.0


@dataclass(frozen=True)
class Ascent:
    """How expectation-maximization climbs.

    Parameters
    ----------
    best_only : bool
        The best derivation stands for all (Viterbi EM); its probability, not that of the strings, never
        falls.
    max_iter : int
        The number of iterations at most.
    tolerance : float
        A step that gains less than so many nats per string is the last.
    """

    best_only: bool = False
    max_iter: int = 50
    tolerance: float = 1e-6


USUAL = Ascent()


@dataclass(frozen=True, eq=False)
class ERMFit:
    """The model of the best start, and its objective (log-likelihood of all data) at every step."""

    model: ProbabilisticGrammar
    objectives: tuple[float, ...]
    n_starts: int = 1


def random_start(model: ProbabilisticGrammar, rng: np.random.Generator) -> ProbabilisticGrammar:
    """Every multinomial drawn from a flat Dirichlet distribution."""
    return model.with_parameters(model.events.normalized(rng.exponential(size=model.events.n_events)))


def learn_em(
    starts: Sequence[ProbabilisticGrammar],
    strings: Strings,
    margin: float,
    labelled: Labelled | None = None,
    ascent: Ascent = USUAL,
    progress: Progress = silent,
) -> ERMFit:
    """Algorithm 1: EM in the truncated space, from one or more starts of which the best is kept.

    Parameters
    ----------
    starts : sequence of ProbabilisticGrammar
        Where to begin; each is projected into the truncated space first. With `labelled` the estimate of the
        derivations takes the place of the first.
    strings : Strings
        What is seen; each must have a derivation.
    margin : float
        The distance that every stick keeps from 0 and 1.
    labelled : Labelled or None
        Derivations beside the strings.
    ascent : Ascent
        How far to climb.
    progress : Progress
        Called after every iteration.

    Returns
    -------
    ERMFit
        The model and its objectives.
    """
    require_strings(strings)
    if labelled is not None:
        starts = [learn_supervised(starts[0], labelled.derivations, truncated(margin)), *starts[1:]]
    seeds = best_of(_climbed(start, strings, margin, labelled, ascent, progress) for start in starts)
    objectives = (value * len(strings) for value in seeds.best.log_likelihoods)
    return ERMFit(seeds.best.evaluated, tuple(objectives), seeds.n_seeds)


def _climbed(
    start: ProbabilisticGrammar,
    strings: Strings,
    margin: float,
    labelled: Labelled | None,
    ascent: Ascent,
    progress: Progress,
) -> Climb[ProbabilisticGrammar, Floats]:
    estimate = truncated(margin)
    problem = Problem[ProbabilisticGrammar, Floats](
        expect=lambda model: _expectation(model, strings, labelled, ascent.best_only),
        maximize=lambda counts: learn_from_counts(start, counts, estimate),
        n_items=len(strings),
    )
    stopping = Stopping(by_absolute(ascent.tolerance), every=1, patience=1)
    climb = Climb.begin(problem, project(start, margin))
    # one step more than is taken: it gives the objective of the last model
    return climb.run(ascent.max_iter + 1, stopping, progress=progress)


def _expectation(
    model: ProbabilisticGrammar, strings: Strings, labelled: Labelled | None, best_only: bool
) -> tuple[Floats, float]:
    """The counts whose estimate raises the objective, and the objective."""
    if best_only:
        derivations = model.best_derivations(strings)
        _require_derivable(derivations.lengths > 0, strings)
        counts = derivations.counts(model.events.n_events)
        objective = -log_loss_of(counts, model.parameters)
    else:
        logs, counts = model.expected_counts(strings)
        _require_derivable(np.isfinite(logs), strings)
        objective = float(logs.sum())
    if labelled is None:
        return counts, objective
    observed = labelled.derivations.counts(model.events.n_events)
    objective = labelled.string_weight * objective - log_loss_of(observed, model.parameters)
    return labelled.string_weight * counts + observed, objective


def _require_derivable(derivable: Flags, strings: Strings) -> None:
    if not derivable.all():
        at = int(np.argmin(derivable))
        number, remedy = f"string {at + 1}", "add rules for it or leave it out"
        if not strings.lengths[at]:
            number, remedy = f"{number}, which is empty,", "leave empty strings out"
        raise InputError(
            f"{number} has no derivation (of {len(derivable)} strings, {int((~derivable).sum())} have none); "
            f"{remedy}"
        )
