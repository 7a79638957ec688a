"""Grammars to try learners on: the Dyck language, and random ones."""

from __future__ import annotations

import numpy as np

from sigmastar.core.alphabet import Alphabet
from sigmastar.grammars.model.grammar import WeightedGrammar
from sigmastar.grammars.model.mass import normalized
from sigmastar.grammars.model.rules import of_rules
from sigmastar.pcfg.data.rules import parse_rules

DYCK = ("S -> S S 0.2", "S -> a S b 0.4", "S -> a b 0.4")
"""The probabilistic Dyck language of Bailly et al. (2013)."""


def dyck() -> WeightedGrammar:
    """The probabilistic Dyck language.

    Returns
    -------
    WeightedGrammar
        With four states over the symbols a and b.

    Examples
    --------
    >>> dyck().n_states
    4
    """
    rules = parse_rules(DYCK)
    return of_rules(rules.grammar, rules.weights)


def random_grammar(n_states: int, n_symbols: int, rng: np.random.Generator) -> WeightedGrammar:
    """A grammar with weights drawn from [0, 1], normalized to a PCFG whose derivations end.

    Parameters
    ----------
    n_states, n_symbols
        The numbers of states and symbols.
    rng
        The source of chance.

    Returns
    -------
    WeightedGrammar
        Over the symbols a, b, ..
    """
    initial, words = rng.random(n_states), rng.random((n_symbols, n_states))
    composition = rng.random((n_states, n_states, n_states))
    sums = words.sum(axis=0) + composition.sum(axis=(1, 2))
    return normalized(
        WeightedGrammar(
            Alphabet([chr(ord("a") + k) for k in range(n_symbols)]),
            initial / initial.sum(),
            words / sums,
            composition / sums[:, None, None],
        )
    )
