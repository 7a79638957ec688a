"""Random head automata, to learn from treebanks whose grammar is known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sigmastar.core.alphabet import Alphabet
from sigmastar.dependency.model.head_automata import HeadAutomata


def make_head_automata(
    symbols: Sequence[str],
    n_states: int,
    rng: np.random.Generator,
    n_modifiers: float = 0.4,
    concentration: float = 0.2,
) -> HeadAutomata:
    """A proper grammar, whose root has exactly one modifier.

    Parameters
    ----------
    symbols : sequence of str
        The tags.
    n_states : int
        Number of states per automaton.
    rng : Generator
        Source of chance.
    n_modifiers : float
        About how many modifiers a head has per side; below one half, trees are finite with probability one.
    concentration : float
        The smaller, the fewer moves carry most of the probability.

    Returns
    -------
    HeadAutomata
        To draw trees from with `sample_trees`.

    Examples
    --------
    >>> automata = make_head_automata("ab", 2, np.random.default_rng(0))
    >>> automata.n_sorts
    5
    """
    if not 0.0 <= n_modifiers < 1.0 or n_states < 1:
        raise ValueError(f"n_modifiers={n_modifiers} must lie in 0..1 and n_states={n_states} above 0")
    k, goes_on = len(symbols), n_modifiers / (1.0 + n_modifiers)
    automata = []
    for _ in range(2 * k):
        moves = rng.dirichlet(np.full(k * n_states, concentration), size=n_states)
        going = np.clip(rng.uniform(0.5, 1.5, n_states) * goes_on, 0.0, 0.9)
        operators = (moves * going[:, None]).reshape(n_states, k, n_states).transpose(1, 0, 2)
        automata.append((rng.dirichlet(np.ones(n_states)), operators, 1.0 - going))
    single = np.zeros((k, 2, 2))
    single[:, 0, 1] = rng.dirichlet(np.ones(k))
    automata.append((np.array([1.0, 0.0]), single, np.array([0.0, 1.0])))
    return HeadAutomata.of_automata(Alphabet(symbols), automata)
