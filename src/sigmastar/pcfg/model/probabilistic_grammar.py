"""Probabilistic grammars: K multinomials over the events of derivations (Cohen and Smith, 2012, equation 11).

    q(z) = prod over events e of theta_e ^ psi_e(z),      psi_e(z): how often e occurs in the derivation z

`ProbabilisticGrammar` is all that learners and bounds need of a grammar; the functions here work for any.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Floats
from sigmastar.pcfg.data.events import Derivations, EventSystem
from sigmastar.pcfg.kernels.branching import Draws, expected_draws, sample_events, second_moments

Self = TypeVar("Self", bound="ProbabilisticGrammar")

_LONGEST = 1_000_000  # events of a derivation that is being sampled


@runtime_checkable
class ProbabilisticGrammar(Protocol):
    """A distribution on derivations, and so on the strings that they yield."""

    @property
    def alphabet(self) -> Alphabet: ...

    @property
    def events(self) -> EventSystem: ...

    @property
    def parameters(self) -> Floats:
        """The probability of every event."""
        ...

    def with_parameters(self: Self, parameters: Floats) -> Self:
        """The same grammar with other probabilities."""
        ...

    def strings(self, derivations: Derivations) -> Strings:
        """What derivations yield."""
        ...

    def expected_counts(self, strings: Strings, weights: Floats | None = None) -> tuple[Floats, Floats]:
        """Log-probability of each string, and the expected events in all, given the strings."""
        ...

    def log_probability(self, strings: Strings) -> Floats:
        """Natural log-probability of each string; -inf where it has none."""
        ...

    def best_derivations(self, strings: Strings) -> Derivations:
        """The most probable derivation of each string, empty where it has none."""
        ...

    def sample(self, n_strings: int, rng: np.random.Generator, max_length: int = ...) -> Strings:
        """Draw strings; one longer than `max_length` is cut there."""
        ...


class Estimate(NamedTuple):
    """A mean over samples, with its standard error."""

    value: float
    standard_error: float


def log_probability_of(model: ProbabilisticGrammar, derivations: Derivations) -> Floats:
    """log q(z) of each derivation."""
    with np.errstate(divide="ignore"):
        return derivations.sums(np.log(model.parameters))


def sample_derivations(model: ProbabilisticGrammar, n: int, rng: np.random.Generator) -> Derivations:
    """Draw derivations; grammars whose derivations need not end are refused when one does not.

    Parameters
    ----------
    model
        A grammar or a hidden Markov model.
    n
        The number of derivations.
    rng
        The source of chance.

    Returns
    -------
    Derivations
        Their events.
    """
    system = model.events
    cumulative = np.concatenate([np.cumsum(row) for row in np.split(model.parameters, system.offsets[1:-1])])
    draws = Draws(system.offsets, system.child_start, system.children, system.root, cumulative)
    events, offsets, whole = sample_events(n, draws, rng, _LONGEST)
    if not whole.all():
        raise ValueError(
            f"a derivation grew beyond {_LONGEST} events: the grammar's derivations need not end; "
            "give more probability to rules that stop"
        )
    return Derivations(events, offsets)


def sample_strings(model: ProbabilisticGrammar, n: int, rng: np.random.Generator, max_length: int) -> Strings:
    """Draw strings; one longer than `max_length` is cut there."""
    drawn = model.strings(sample_derivations(model, n, rng))
    if drawn.lengths.max(initial=0) <= max_length:
        return drawn
    return Strings.of([string[:max_length] for string in drawn], alphabet=model.alphabet)


def expected_events(model: ProbabilisticGrammar) -> Floats:
    """E[psi_e], exactly; infinite where derivations are."""
    return model.parameters * expected_draws(model.events, model.parameters)[model.events.owner]


def event_moments(model: ProbabilisticGrammar) -> Floats:
    """E[psi_e psi_f], exactly: events x events."""
    return second_moments(model.events, model.parameters)


def derivation_entropy(model: ProbabilisticGrammar) -> float:
    """The entropy of derivations, exactly.

    Parameters
    ----------
    model
        A grammar or a hidden Markov model.

    Returns
    -------
    float
        In nats.
    """
    return log_loss_of(expected_events(model), model.parameters)


def log_loss_of(counts: Floats, parameters: Floats) -> float:
    """-sum_e counts_e log theta_e; events that do not occur do not matter."""
    occurring = counts > 0
    with np.errstate(divide="ignore"):
        return float(-(counts[occurring] * np.log(parameters[occurring])).sum())


def divergence(truth: ProbabilisticGrammar, model: ProbabilisticGrammar) -> float:
    """KL(truth || model) on derivations: the excess risk of the model, exactly.

    Parameters
    ----------
    truth, model
        Grammars with the same events.

    Returns
    -------
    float
        In nats; infinite where the model excludes what the truth allows.
    """
    counts = expected_events(truth)
    return log_loss_of(counts, model.parameters) - log_loss_of(counts, truth.parameters)


def string_entropy(model: ProbabilisticGrammar, n: int, rng: np.random.Generator) -> Estimate:
    """The entropy of strings in nats, by sampling."""
    drawn = model.strings(sample_derivations(model, n, rng))
    logs = -model.log_probability(drawn)
    return Estimate(float(logs.mean()), float(logs.std(ddof=1) / np.sqrt(n)))
