"""Expectation-maximization on given rules, from strings, or from strings and derivations.

The counts are expected ones (algorithm 1 of Cohen and Smith, 2012). Each M-step is the exact maximum over the
truncated space, so the likelihood never falls, provided that the start is in that space: it is projected
first.

Neither of the two spectral ideas is at work here: rules are given, and what is learned are probabilities, by
counting and by `core.em`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sigmastar.automata.data.strings import Strings, require_strings
from sigmastar.core.arrays import Flags, Floats
from sigmastar.core.em import Climb, Problem, Stopping, best_of, by_absolute
from sigmastar.core.errors import InputError
from sigmastar.core.progress import Progress, silent
from sigmastar.pcfg.data.events import Derivations
from sigmastar.pcfg.learn.estimates import learn_from_counts, learn_supervised, project, truncated
from sigmastar.pcfg.model.probabilistic_grammar import ProbabilisticGrammar, log_loss_of


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
        _require_derivable(derivations.lengths > 0)
        counts = derivations.counts(model.events.n_events)
        objective = -log_loss_of(counts, model.parameters)
    else:
        logs, counts = model.expected_counts(strings)
        _require_derivable(np.isfinite(logs))
        objective = float(logs.sum())
    if labelled is None:
        return counts, objective
    observed = labelled.derivations.counts(model.events.n_events)
    objective = labelled.string_weight * objective - log_loss_of(observed, model.parameters)
    return labelled.string_weight * counts + observed, objective


def _require_derivable(derivable: Flags) -> None:
    if not derivable.all():
        number = int(np.argmin(derivable)) + 1
        raise InputError(
            f"string {number} has no derivation (of {len(derivable)} strings, {int((~derivable).sum())} have "
            "none); add rules for it or leave it out"
        )
