"""The methods of `SpectralAutomaton` by name: each takes the estimator for its settings.

To add a method, write a function and name it in `METHODS`; if its counts add up, in `BATCHES` too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sigmastar.automata.counts.bases import PREFIX, STRING, SUBSTRING, Statistic
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.learn.auto import learn_auto
from sigmastar.automata.learn.batches import BasisBatches
from sigmastar.automata.learn.convex import ConvexFit, learn_convex
from sigmastar.automata.learn.fast import ContextBatches, learn_fast
from sigmastar.automata.learn.repair import REPAIRS
from sigmastar.automata.learn.spectral import SpectralFit
from sigmastar.automata.learn.two_resolutions import FilteredFit
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.sequence import SequenceModel
from sigmastar.core.estimator import chosen, positive, positive_or_auto
from sigmastar.core.rank import RankEvidence

if TYPE_CHECKING:
    from sigmastar.automata.estimator.automata import SpectralAutomaton

Found = dict[str, Any]
"""Names and values of the attributes that `fit` sets."""
Learner = Callable[["SpectralAutomaton", Strings, np.random.Generator], Found]
Batches = ContextBatches | BasisBatches
FirstBatch = Callable[["SpectralAutomaton", Strings, np.random.Generator], Batches]

STATISTICS: Mapping[str, Statistic] = {"string": STRING, "prefix": PREFIX, "substring": SUBSTRING}


def fast(settings: SpectralAutomaton, strings: Strings, rng: np.random.Generator) -> Found:
    """Spectral operators on context classes, read through the restart filter."""
    fit = learn_fast(strings, rng, _n_states(settings), _n_classes(settings), settings.progress)
    return found_filtered(fit)


def convex(settings: SpectralAutomaton, strings: Strings, rng: np.random.Generator) -> Found:
    """Non-negative operators by convex problems, read through the restart filter."""
    return found_filtered(learn_convex(strings, rng, _n_states(settings), settings.progress))


def auto(settings: SpectralAutomaton, strings: Strings, rng: np.random.Generator) -> Found:
    """A spectral start, then expectation-maximisation: a proper automaton."""
    fit = learn_auto(strings, rng, _n_states(settings), settings.progress)
    found = _found(fit.model, fit.automaton, fit.evidence, fit.held_out_score)
    return {**found, "n_iterations_": fit.n_iterations}


def spectral(settings: SpectralAutomaton, strings: Strings, rng: np.random.Generator) -> Found:
    """The classic: counts on a basis, one decomposition; then the repair of choice."""
    return fit_batches(settings, first_on_basis(settings, strings, rng), strings, rng)


METHODS: Mapping[str, Learner] = {"fast": fast, "convex": convex, "auto": auto, "spectral": spectral}


def first_on_classes(
    settings: SpectralAutomaton, strings: Strings, rng: np.random.Generator
) -> ContextBatches:
    return ContextBatches.first(strings, rng, _n_classes(settings))


def first_on_basis(settings: SpectralAutomaton, strings: Strings, rng: np.random.Generator) -> BasisBatches:
    statistic = chosen(STATISTICS, settings.statistic, "statistic")
    return BasisBatches.first(strings, rng, statistic, positive(settings.basis_size, "basis_size"))


BATCHES: Mapping[str, FirstBatch] = {"fast": first_on_classes, "spectral": first_on_basis}


def fit_batches(
    settings: SpectralAutomaton, batches: Batches, strings: Strings, rng: np.random.Generator
) -> Found:
    """A model from counts; `strings` are what a repair may look at."""
    fit = batches.fit(_n_states(settings))
    if isinstance(fit, FilteredFit):
        return found_filtered(fit)
    repair = chosen(REPAIRS, settings.repair, "repair")
    return _found_spectral(fit, repair(fit.automaton, strings, rng))


def found_filtered(fit: FilteredFit | ConvexFit) -> Found:
    return _found(fit.model, fit.model.automaton, fit.evidence, fit.held_out_score)


def _found_spectral(fit: SpectralFit, model: SequenceModel) -> Found:
    """No held-out score: the strings that chose the states were counted, and the repair saw them too."""
    automaton = model if isinstance(model, WeightedAutomaton) else getattr(model, "automaton", fit.automaton)
    return _found(model, automaton, fit.evidence, None)


def _found(
    model: SequenceModel, automaton: WeightedAutomaton, evidence: RankEvidence, held_out_score: float | None
) -> Found:
    return {
        "model_": model,
        "automaton_": automaton,
        "n_states_": automaton.n_states,
        "rank_evidence_": evidence,
        "held_out_score_": held_out_score,
    }


def _n_states(settings: SpectralAutomaton) -> int | None:
    return positive_or_auto(settings.n_states, "n_states")


def _n_classes(settings: SpectralAutomaton) -> Sequence[int]:
    sizes = settings.n_classes
    return [positive(size, "n_classes") for size in ([sizes] if isinstance(sizes, int) else sizes)]
