"""Random tree automata, from which trees can be drawn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sigmastar.core.alphabet import Alphabet
from sigmastar.trees.data.ranked import RankedAlphabet
from sigmastar.trees.model.automaton import TreeAutomaton


def make_tree_automaton(
    n_states: int,
    rng: np.random.Generator,
    leaves: Sequence[str] = ("a", "b", "c"),
    unary: Sequence[str] = ("u",),
    binary: Sequence[str] = ("f", "g"),
    branching: float = 0.35,
    chaining: float = 0.15,
) -> TreeAutomaton:
    """A stochastic automaton: nodes branch with probability `branching` and chain with `chaining`.

    Weights are drawn so that states differ.
    """
    if not (branching >= 0 and chaining >= 0 and 2 * branching + chaining < 1):
        raise ValueError("2 branching + chaining must be below 1, or trees never end")
    if not leaves:
        raise ValueError("there must be leaves for trees to end in")
    n, shares = n_states, (1 - branching - chaining, chaining, branching)
    if not unary:
        shares = (1 - branching, 0.0, branching)
    if not binary:
        shares = (1 - shares[1], shares[1], 0.0)
    arrays = []
    for share, symbols, width in zip(shares, (leaves, unary, binary), (1, n, n * n), strict=True):
        drawn = rng.dirichlet(np.full(max(len(symbols) * width, 1), 0.3), size=n) * share
        arrays.append(drawn[:, : len(symbols) * width].reshape(n, len(symbols), width).transpose(1, 0, 2))
    leaf, chains, pairs = arrays
    alphabet = RankedAlphabet(*(Alphabet(tuple(symbols)) for symbols in (leaves, unary, binary)))
    return TreeAutomaton(
        alphabet,
        rng.dirichlet(np.full(n, 1.0)),
        leaf[:, :, 0],
        chains.reshape(len(unary), n, n),
        pairs.reshape(len(binary), n, n, n),
    )
