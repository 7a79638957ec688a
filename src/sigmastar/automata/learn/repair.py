"""Repairs: proper distributions from automata with signed weights.

    filter    clip and renormalize every next-symbol distribution, restart strayed states by context class
    project   the closest proper automaton on extreme states (successive projection, least squares)
    em        the projected automaton polished by expectation-maximization

Each needs the strings that the automaton was learnt from, or others like them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy import sparse

from sigmastar.automata.data.contexts import ContextTrie
from sigmastar.automata.data.strings import PrefixTrie, Strings
from sigmastar.automata.learn.anchors import memberships
from sigmastar.automata.learn.context_operators import choose_classes
from sigmastar.automata.learn.em import begin_climb
from sigmastar.automata.learn.em_steps import EMCorpus, normalized
from sigmastar.automata.learn.fast import behind_filter, tune_mixing
from sigmastar.automata.learn.held_out import HeldOut, hold_out
from sigmastar.automata.model.automaton import WeightedAutomaton, prefix_directions
from sigmastar.automata.model.ngram_smoothing import NextCounts, NgramModel
from sigmastar.automata.model.restart_filter import FilteredAutomaton
from sigmastar.automata.model.sequence import SequenceModel
from sigmastar.core.arrays import Floats, Int64s
from sigmastar.optimise.proximal import successive_projection

N_CLASSES = 300
_EM_ITERATIONS = 100
_CHANCE = 0.02


def leave_alone(automaton: WeightedAutomaton, strings: Strings, rng: np.random.Generator) -> SequenceModel:
    return automaton


def filter_automaton(
    automaton: WeightedAutomaton, strings: Strings, rng: np.random.Generator
) -> FilteredAutomaton:
    """The automaton behind the restart filter, its mixing rates tuned on a tenth of the strings."""
    strings = strings.recoded(automaton.alphabet)
    pasts, _ = choose_classes(strings, N_CLASSES)
    kept, held = hold_out(strings, rng)
    states, counts = class_states(automaton, pasts, strings)
    mass = automaton.continuation_mass
    tried = behind_filter(automaton, mass, _backoff(kept, pasts), states)
    tuned = tune_mixing(tried, counts, HeldOut.of(held), 3)
    return replace(tuned, backoff=_backoff(strings, pasts))


def project_automaton(
    automaton: WeightedAutomaton, strings: Strings, rng: np.random.Generator
) -> WeightedAutomaton:
    """A proper automaton with as many states, on extreme states among those of the context classes."""
    strings = strings.recoded(automaton.alphabet)
    pasts, _ = choose_classes(strings, N_CLASSES)
    states, counts = class_states(automaton, pasts, strings)
    turn = _mass_first(automaton.continuation_mass, states, counts)
    states, turned = states @ turn, automaton.change_basis(turn)
    shrunk = states * (counts / (counts + 50.0))[:, None]
    shrunk[:, 0] = 1.0
    n = automaton.n_states
    anchors = shrunk[successive_projection(shrunk, n)]
    anchors = anchors[np.arange(n) % len(anchors)]  # where the strings visit less than the automaton has
    targets = np.einsum("qi,aij->aqj", anchors, turned.transitions).reshape(-1, n)
    moves = memberships(anchors, targets).reshape(-1, n, n)
    chance = (np.bincount(strings.codes, minlength=len(automaton.alphabet)) + 1.0) / (strings.n_gaps + 1.0)
    return normalized(
        automaton.alphabet,
        memberships(anchors, turned.initial[None])[0] + _CHANCE / n,
        moves + _CHANCE * chance[:, None, None] / n,
        np.maximum(anchors @ turned.final, 0.0) + _CHANCE * len(strings) / strings.n_gaps,
    )


def polish_automaton(
    automaton: WeightedAutomaton, strings: Strings, rng: np.random.Generator
) -> WeightedAutomaton:
    """The projected automaton after expectation-maximization, stopped by held-out likelihood."""
    strings = strings.recoded(automaton.alphabet)
    start = project_automaton(automaton, strings, rng)
    kept, held = hold_out(strings, rng)
    corpus = EMCorpus(kept, start.n_states, np.float32)
    return begin_climb(corpus, HeldOut.of(held), start).run(_EM_ITERATIONS).best


Repair = Callable[[WeightedAutomaton, Strings, np.random.Generator], SequenceModel]

REPAIRS: dict[str, Repair] = {
    "none": leave_alone,
    "filter": filter_automaton,
    "project": project_automaton,
    "em": polish_automaton,
}


def class_states(automaton: WeightedAutomaton, pasts: ContextTrie, strings: Strings) -> tuple[Floats, Int64s]:
    """The mean forward vector of each past class, scaled to mass one, and how many gaps it has."""
    trie, mass = PrefixTrie.of(strings), automaton.continuation_mass
    vectors = prefix_directions(automaton, trie)
    classes, counts = pasts.classify_prefixes(trie), trie.through_counts()
    masses = vectors @ mass
    sound = masses > 1e-6 * np.abs(vectors).max(axis=1)  # strayed states would drown the others
    weights = np.where(sound, counts / np.where(sound, masses, 1.0), 0.0)
    gather = sparse.csr_array(
        (weights, (classes, np.arange(trie.n_nodes))), shape=(pasts.n_classes, trie.n_nodes)
    )
    sums = gather @ vectors
    totals = sums @ mass
    start = automaton.initial / max(float(automaton.initial @ mass), 1e-12)
    states = np.where(totals[:, None] > 0, sums / np.where(totals > 0, totals, 1.0)[:, None], start)
    return states, np.bincount(classes, counts, pasts.n_classes).astype(np.int64)


def _backoff(strings: Strings, pasts: ContextTrie) -> NgramModel:
    return NgramModel.of_counts(strings.alphabet, NextCounts.of(strings, pasts))


def _mass_first(mass: Floats, states: Floats, counts: Int64s) -> Floats:
    """A basis in which the first coordinate of a state is its mass and the others vary alike over the corpus.

    Axes of little variance are blown up less than fully: they are where the noise is.
    """
    n_others = len(mass) - 1
    rest = np.linalg.qr(np.column_stack([mass, np.eye(len(mass))]))[0][:, 1:]
    covariance = np.cov((states @ rest).T, ddof=0, aweights=counts + 1.0).reshape(n_others, n_others)
    variances, axes = np.linalg.eigh(covariance)
    scales = np.maximum(variances, 1e-6 * variances.max(initial=1e-12)) ** -0.4
    return np.column_stack([mass, rest @ axes * scales])
