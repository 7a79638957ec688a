"""Tree automata from trees by the spectral method: count, factorize, recover.

The counts are of subtrees anywhere, so the recovered operators compute the expected number of occurrences.
The function of whole trees has the same operators; its root is h . B^+ with h[i] the share of trees that are
inside i. (`TreeAutomaton.of_subtrees` would get it from the operators alone, by the sum over all trees; on
samples that was the worse of the two, and the sum may diverge.)
"""

from __future__ import annotations

from dataclasses import replace

from sigmastar.core.arrays import Floats
from sigmastar.core.blocks import Blocks
from sigmastar.core.errors import InputError
from sigmastar.core.recover import factorize_blocks, recover
from sigmastar.trees.counts.basis import TreeBasis, frequent_trees
from sigmastar.trees.counts.blocks import count_trees
from sigmastar.trees.data.ranked import RankedAlphabet, RankedTrees
from sigmastar.trees.model.automaton import TreeAutomaton

_MOST_NUMBERS = 1 << 27  # of the operators of one rank


def learn_tree_automaton(trees: RankedTrees, n_states: int, basis: TreeBasis | None = None) -> TreeAutomaton:
    """The automaton of `n_states` states that fits the counts on `basis`, or on what is frequent.

    Parameters
    ----------
    trees : RankedTrees
        The sample.
    n_states : int
        Of the automaton.
    basis : TreeBasis, optional
        Subtrees and contexts to count; frequent ones if none is given.

    Returns
    -------
    TreeAutomaton
        Its values estimate probabilities of trees.
    """
    if len(trees) == 0:
        raise ValueError("there are no trees to learn from")
    _require_room(trees.alphabet, n_states)
    counts = count_trees(trees, frequent_trees(trees) if basis is None else basis)
    return tree_automaton(counts.blocks(), n_states, counts.whole_trees)


def tree_automaton(blocks: Blocks, n_states: int, whole_trees: Floats) -> TreeAutomaton:
    """Recover the operators of blocks, and the root from the share of trees that are each inside.

    Parameters
    ----------
    blocks : Blocks
        Counted or exact ones.
    n_states : int
        Of the automaton.
    whole_trees : array
        For each inside the share of trees that are it.

    Returns
    -------
    TreeAutomaton
        With the recovered operators.
    """
    factors = factorize_blocks(blocks, n_states)
    found = TreeAutomaton.of_operators(recover(blocks, factors))
    return replace(found, root=whole_trees @ factors["tree"].inside_inverse)


def _require_room(alphabet: RankedAlphabet, n_states: int) -> None:
    """An operator of rank k is n^(k + 1) numbers."""
    for rank, symbols in enumerate(alphabet.ranks):
        if len(symbols) * float(n_states) ** (rank + 1) > _MOST_NUMBERS:
            raise InputError(
                f"nodes with {rank} children need {len(symbols)} x {n_states}^{rank + 1} numbers; use fewer "
                "states (n_states, --states), or binarize the trees"
            )
