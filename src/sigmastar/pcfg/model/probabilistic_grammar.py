"""Probabilistic grammars: K multinomials over the events of derivations (Cohen and Smith, 2012, equation 11).

    q(z) = prod over events e of theta_e ^ psi_e(z),      psi_e(z): how often e occurs in the derivation z

`ProbabilisticGrammar` is all that learners and bounds need of a grammar; the functions here work for any.

Derivations are a branching process: sampling, and moments of event counts.

    d_k   = [k is the root] + sum over events e of theta_e d_owner(e) children(e, k)      expected draws of k
    E[psi_e] = theta_e d_owner(e)                                                          expected events

For second moments let S_k = E[psi psi^T] and m_k = E[psi] below one draw of k. An event e with the children
c1 .. cr has, with m = m_c1 + .. + m_cr,

    S_k = sum over e of theta_e (ee^T + em^T + me^T + mm^T - sum_c m_c m_c^T + sum_c S_c)
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Flags, Floats, Int32s, Int64s
from sigmastar.core.jit import kernel, part
from sigmastar.core.scaling import grown
from sigmastar.pcfg.data.events import Derivations, EventSystem


class Draws(NamedTuple):
    """A system of events with the running sums of its probabilities, as kernels read it."""

    offsets: Int64s
    child_start: Int64s
    children: Int64s
    root: int
    cumulative: Floats


@part
def _drawn(k: int, draws: Any, rng: np.random.Generator) -> int:
    """An event of multinomial k."""
    first = int(draws.offsets[k])
    row = draws.cumulative[first : draws.offsets[k + 1]]
    return first + min(int(np.searchsorted(row, rng.random() * row[-1], side="right")), len(row) - 1)


@kernel
def sample_events(
    n_derivations: int, draws: Draws, rng: np.random.Generator, max_events: int
) -> tuple[Int32s, Int64s, Flags]:
    """Derivations one after the other; one that reaches `max_events` is given up and marked."""
    events, used = np.empty(16 * n_derivations + 16, np.int32), 0
    ends, whole = np.zeros(n_derivations + 1, np.int64), np.ones(n_derivations, np.bool_)
    stack = np.empty(64, np.int64)
    for number in range(n_derivations):
        begin, height = used, 1
        stack[0] = draws.root
        while height:
            if used - begin >= max_events:
                whole[number] = False
                break
            height -= 1
            event = _drawn(stack[height], draws, rng)
            events = grown(events, used + 1)
            events[used] = event
            used += 1
            first, last = draws.child_start[event], draws.child_start[event + 1]
            stack = grown(stack, height + last - first)
            for at in range(last - 1, first - 1, -1):
                stack[height] = draws.children[at]
                height += 1
        ends[number + 1] = used
    return events[:used], ends, whole


def spawn_matrix(system: Any) -> Floats:
    """children(e, k): how many draws of multinomial k an event requires; events x multinomials."""
    table = np.zeros((system.n_events, system.n_multinomials))
    source = np.repeat(np.arange(system.n_events), np.diff(system.child_start))
    np.add.at(table, (source, system.children), 1.0)
    return table


def mean_matrix(system: Any, parameters: Floats) -> Floats:
    """The expected draws of each multinomial that one draw of each requires: multinomials squared."""
    table = np.zeros((system.n_multinomials, system.n_multinomials))
    source = np.repeat(np.arange(system.n_events), np.diff(system.child_start))
    np.add.at(table, (system.owner[source], system.children), parameters[source])
    return table


def expected_draws(system: Any, parameters: Floats) -> Floats:
    """d; infinite where derivations are infinite on average."""
    means = mean_matrix(system, parameters)
    root = np.zeros(system.n_multinomials)
    root[system.root] = 1.0
    if np.abs(np.linalg.eigvals(means)).max() >= 1 - 1e-12:
        reached = np.linalg.matrix_power(np.eye(len(means)) + (means > 0), len(means))[system.root] > 0
        inner = means[np.ix_(reached, reached)]
        if np.abs(np.linalg.eigvals(inner)).max() >= 1 - 1e-12:
            return np.where(reached, np.inf, 0.0)
        draws = np.zeros(system.n_multinomials)
        draws[reached] = np.linalg.solve((np.eye(len(inner)) - inner).T, root[reached])
        return draws
    return np.asarray(np.linalg.solve((np.eye(len(means)) - means).T, root))


def second_moments(system: Any, parameters: Floats) -> Floats:
    """E[psi psi^T] of a derivation: events squared. For small systems: K of them are held."""
    n_events, n_multinomials = system.n_events, system.n_multinomials
    spawn, means = spawn_matrix(system), mean_matrix(system, parameters)
    own = np.zeros((n_multinomials, n_events))
    own[system.owner, np.arange(n_events)] = parameters
    inverse = np.linalg.inv(np.eye(n_multinomials) - means)
    below = inverse @ own  # m_k
    sources = np.zeros((n_multinomials, n_events, n_events))
    products = np.einsum("ke,kf->kef", below, below)
    for event in range(n_events):
        unit = np.eye(n_events)[event]
        together = spawn[event] @ below
        total = np.outer(unit + together, unit + together) - np.einsum("k,kef->ef", spawn[event], products)
        sources[system.owner[event]] += parameters[event] * total
    return np.asarray(np.einsum("k,kef->ef", inverse[system.root], sources))


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
    draws = expected_draws(model.events, model.parameters)[model.events.owner]
    return np.multiply(model.parameters, draws, out=np.zeros_like(draws), where=model.parameters > 0)


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
        In nats; infinite where derivations are infinite on average, and choices remain in them.
    """
    return log_loss_of(expected_events(model), model.parameters)


def log_loss_of(counts: Floats, parameters: Floats) -> float:
    """-sum_e counts_e log theta_e; events that do not occur, or are certain, do not matter however often."""
    occurring = (counts > 0) & (parameters != 1)
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
        In nats; infinite where the model excludes what the truth allows, or where they differ in what
        derivations draw infinitely often on average.
    """
    draws = expected_draws(truth.events, truth.parameters)
    allowed = truth.parameters > 0
    with np.errstate(divide="ignore"):
        logs = np.log(truth.parameters[allowed]) - np.log(model.parameters[allowed])
    gaps = np.bincount(truth.events.owner[allowed], truth.parameters[allowed] * logs, len(draws))
    differ = (draws > 0) & (gaps > 0)
    return float((draws[differ] * gaps[differ]).sum())
