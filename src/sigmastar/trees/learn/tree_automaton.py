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
from sigmastar.core.recover import factorize_blocks, recover
from sigmastar.trees.counts import TreeBasis, count_trees, frequent_trees
from sigmastar.trees.data.ranked import RankedTrees
from sigmastar.trees.model.automaton import TreeAutomaton


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
