"""Tree automata from trees by the spectral method: count, factorize, recover.

The counts are of subtrees anywhere, so the recovered operators compute the expected number of occurrences.
The function of whole trees has the same operators; its root is h . B^+ with h[i] the share of trees that are
inside i. (`TreeAutomaton.of_subtrees` would get it from the operators alone, by the sum over all trees; on
samples that was the worse of the two, and the sum may diverge.)

Latent-variable PCFGs by the spectral method of Cohen et al. (2012), figures 4 and 5.

    Omega^a = sum of psi(outside) phi(inside)^T over nodes of a       U^a, V^a: its singular vectors
    y = U^T phi,  z = V^T psi                                         m numbers per node
    Sigma^a = sum z y^T,  D^(a -> b c) = sum z y_left y_right,  d^(a -> x) = sum z,  c^1_a = mean y at roots

and the operators are recovered from Sigma, D and d as from any blocks (`operators_of_moments`, which treebank
grammars use too). Of the two ideas of this library it is the first: count, factorize, recover. Nodes are all
nodes of all trees, or one of each tree, as in the theorem.

The paper draws that node uniformly. Then inside and outside are not independent given the state: a node is
drawn more rarely from a large tree, which couples the size of what is inside with the size of what is
outside. The weight `n_nodes` of the tree makes the mean over draws that over all nodes, and the tuples stay
independent of each other. `one_uniform_node` is the paper's letter, without the weight.

    phi   nothing but a one; the rule of the node; with it the rule of its left child, or of its right child
    psi   nothing but a one; the rule above and the side; with them the rule of the sibling, or the rule above

Features are indicators, so a node has at most four of each. What a node lacks (a child, a parent) is a value
of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from sigmastar.core.alphabet import Alphabet, Operation, OperatorModel, Signature, Sort
from sigmastar.core.arrays import Array, Floats, Int32s, Int64s
from sigmastar.core.errors import InputError
from sigmastar.core.factors import factorize_up_to
from sigmastar.core.recover import Blocks, Slices, factorize_blocks, recover
from sigmastar.core.views import counts_together
from sigmastar.trees.counts import TreeBasis, count_trees, frequent_trees
from sigmastar.trees.data.productions import production_trees
from sigmastar.trees.data.ranked import RankedAlphabet, RankedTrees
from sigmastar.trees.data.tree import Tree
from sigmastar.trees.model.automaton import TreeAutomaton
from sigmastar.trees.model.latent_pcfg import LatentPCFG

_MOST_NUMBERS = 1 << 27  # of the operators of one rank
AUTO_STATES = 5  # at most, where their number is not given


def learn_tree_automaton(
    trees: RankedTrees, n_states: int | None = None, basis: TreeBasis | None = None
) -> TreeAutomaton:
    """The automaton of `n_states` states that fits the counts on `basis`, or on what is frequent.

    Parameters
    ----------
    trees : RankedTrees
        The sample.
    n_states : int, optional
        Of the automaton; without it five, or as many as the counts have rank for.
    basis : TreeBasis, optional
        Subtrees and contexts to count; frequent ones if none is given.

    Returns
    -------
    TreeAutomaton
        Its values estimate probabilities of trees.
    """
    if len(trees) == 0:
        raise ValueError("there are no trees to learn from")
    _require_room(trees.alphabet, n_states or AUTO_STATES)
    counts = count_trees(trees, frequent_trees(trees) if basis is None else basis)
    return tree_automaton(counts.blocks(), n_states, counts.whole_trees)


def tree_automaton(blocks: Blocks, n_states: int | None, whole_trees: Floats) -> TreeAutomaton:
    """Recover the operators of blocks, and the root from the share of trees that are each inside.

    Parameters
    ----------
    blocks : Blocks
        Counted or exact ones.
    n_states : int or None
        As of `learn_tree_automaton`.
    whole_trees : array
        For each inside the share of trees that are it.

    Returns
    -------
    TreeAutomaton
        With the recovered operators.
    """
    factors = (
        {sort: factorize_up_to(matrix, AUTO_STATES) for sort, matrix in blocks.matrices.items()}
        if n_states is None
        else factorize_blocks(blocks, n_states)
    )
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


_NONE = 0  # in place of the rule of a node that is not there
NodeWeights = Callable[[RankedTrees, np.random.Generator], Floats]


def all_nodes(trees: RankedTrees, rng: np.random.Generator) -> Floats:
    """Every node of every tree, once.

    Parameters
    ----------
    trees : RankedTrees
        Trees of productions.
    rng : numpy.random.Generator
        Not used.

    Returns
    -------
    array
        The weight of every node.
    """
    return np.where(trees.rank == 1, 0.0, 1.0)


def one_node(trees: RankedTrees, rng: np.random.Generator) -> Floats:
    """One node of each tree, with the number of nodes that it stands for.

    Parameters
    ----------
    trees : RankedTrees
        Trees of productions.
    rng : numpy.random.Generator
        The source of chance.

    Returns
    -------
    array
        The weight of every node, mostly 0.
    """
    sizes, drawn = _drawn_nodes(trees, rng)
    weights = np.zeros(trees.n_nodes)
    weights[drawn] = sizes
    return weights


def one_uniform_node(trees: RankedTrees, rng: np.random.Generator) -> Floats:
    """One node of each tree, all with the same weight."""
    weights = np.zeros(trees.n_nodes)
    weights[_drawn_nodes(trees, rng)[1]] = 1.0
    return weights


def _drawn_nodes(trees: RankedTrees, rng: np.random.Generator) -> tuple[Int64s, Int64s]:
    begins = np.concatenate([[0], trees.ends[:-1]])
    sizes = trees.ends - begins - 1  # the top is no node of the paper's
    return sizes, begins + (rng.random(len(sizes)) * sizes).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Moments:
    """Step 2 of figure 4: sums over nodes, per tree, in any coordinates of what is inside and outside.

    Parameters
    ----------
    matrices : mapping
        Sigma of every symbol, outside x inside.
    rules : mapping
        D of every rule (a, b, c), outside of a x inside of b x inside of c.
    words : mapping
        For every symbol of words these words, and d of each, words x outside.
    roots : mapping
        The mean of y at the roots of trees, for every symbol that stands there.
    """

    matrices: Mapping[Sort, Floats]
    rules: Mapping[tuple[Sort, Sort, Sort], Floats]
    words: Mapping[Sort, tuple[Alphabet, Floats]]
    roots: Mapping[Sort, Floats]

    def blocks(self) -> Blocks:
        """The same as blocks over the signature of the grammar: its sorts are the symbols."""
        slices = dict[Operation, Slices]()
        for symbol, (words, table) in self.words.items():
            slices[Operation((symbol, "word"), (), symbol, words)] = table
        for rule, tensor in self.rules.items():
            slices[Operation(rule, rule[1:], rule[0])] = tensor[None]
        return Blocks(Signature(tuple(slices), tuple(self.roots)), self.matrices, slices, self.roots)


def operators_of_moments(moments: Moments, n_states: int | Mapping[Sort, int]) -> OperatorModel:
    """Step 3 of figure 4: factorize Sigma, recover the operators.

    Parameters
    ----------
    moments : Moments
        Exact, counted, or shrunk ones.
    n_states : int or mapping
        At most so many for every symbol; fewer where the rank of its Sigma is less.

    Returns
    -------
    OperatorModel
        With the operators of rules, words and roots.
    """
    blocks = moments.blocks()
    factors = {
        sort: factorize_up_to(matrix, n_states if isinstance(n_states, int) else n_states[sort])
        for sort, matrix in blocks.matrices.items()
    }
    return recover(blocks, factors)


def learn_latent_pcfg(
    trees: Sequence[Tree] | RankedTrees,
    n_states: int,
    nodes: NodeWeights = all_nodes,
    rng: np.random.Generator | None = None,
) -> LatentPCFG:
    """A grammar with up to `n_states` states for each non-terminal.

    Parameters
    ----------
    trees : sequence of Tree, or RankedTrees of their productions
        Binary ones over tagged words.
    n_states : int
        Of each non-terminal, at most.
    nodes : callable
        Which nodes are counted, and with what weights: `all_nodes`, `one_node`, `one_uniform_node`.
    rng : Generator or None
        The source of chance where nodes are drawn.

    Returns
    -------
    LatentPCFG
        In tensor form, with signed operators.
    """
    if n_states < 1:
        raise ValueError(f"n_states={n_states} must be 1 or more")
    ranked = trees if isinstance(trees, RankedTrees) else production_trees(trees)
    weights = nodes(ranked, np.random.default_rng(0) if rng is None else rng)
    moments = moments_of_nodes(ranked, project(ranked, n_states, weights), weights)
    return LatentPCFG.of_operators(operators_of_moments(moments, n_states))


@dataclass(frozen=True, eq=False)
class Projected:
    """Of every node: its symbol, the number of its dimensions, and y and z, filled up with zeros."""

    sorts: tuple[str, ...]
    sort: Int64s
    n_dimensions: Int64s
    inside: Floats
    outside: Floats

    def y(self, nodes: Array, sort: int) -> Floats:
        return np.asarray(self.inside[nodes, : self.n_dimensions[sort]])

    def z(self, nodes: Array, sort: int) -> Floats:
        return np.asarray(self.outside[nodes, : self.n_dimensions[sort]])


def project(trees: RankedTrees, n_dimensions: int, weights: Floats) -> Projected:
    """Figure 5 and step 1 of figure 4: coordinates of every node of production trees."""
    leaves, _, binary = map(_productions, trees.alphabet.ranks)
    sorts = tuple(dict.fromkeys(name[0] for name in (*leaves, *binary)))
    sort = np.full(trees.n_nodes, -1, np.int64)
    for rank, names in ((0, leaves), (2, binary)):
        at = np.flatnonzero(trees.rank == rank)
        sort[at] = np.array([sorts.index(name[0]) for name in names] or [0])[trees.symbol[at]]
    phi, psi = inside_features(trees), outside_features(trees)
    inside, outside = np.zeros((trees.n_nodes, n_dimensions)), np.zeros((trees.n_nodes, n_dimensions))
    sizes = np.zeros(len(sorts), np.int64)
    for number, name in enumerate(sorts):
        rows = np.flatnonzero(sort == number)
        if not weights[rows].any():
            raise ValueError(f"no node of {name!r} was drawn; use more trees, or all nodes")
        omega = counts_together(psi[rows], phi[rows], weights[rows])
        columns, lines = np.unique(omega.nonzero()[1]), np.unique(omega.nonzero()[0])
        factors = factorize_up_to(omega[lines][:, columns], n_dimensions)
        sizes[number] = factors.n_states
        inside[rows, : factors.n_states] = phi[rows][:, columns] @ factors.right
        outside[rows, : factors.n_states] = psi[rows][:, lines] @ factors.left
    return Projected(sorts, sort, sizes, inside, outside)


def moments_of_nodes(trees: RankedTrees, projected: Projected, weights: Floats) -> Moments:
    """Step 2 of figure 4 on production trees whose nodes have coordinates."""
    leaves, _, binary = map(_productions, trees.alphabet.ranks)
    sorts, n = projected.sorts, len(trees)
    heavy = replace(projected, outside=projected.outside * (weights / n)[:, None])
    matrices, roots = dict[Sort, Floats](), dict[Sort, Floats]()
    tops = trees.left[trees.roots]
    for a, name in enumerate(sorts):
        nodes = np.flatnonzero(projected.sort == a)
        matrices[name] = heavy.z(nodes, a).T @ projected.y(nodes, a)
        if len(top := tops[projected.sort[tops] == a]):
            roots[name] = projected.y(top, a).sum(axis=0) / n
    words = dict[Sort, tuple[Alphabet, Floats]]()
    for tag in dict.fromkeys(name[0] for name in leaves):
        a, own = sorts.index(tag), [code for code, name in enumerate(leaves) if name[0] == tag]
        nodes = np.flatnonzero((trees.rank == 0) & (projected.sort == a))
        table = np.zeros((len(leaves), int(projected.n_dimensions[a])))
        np.add.at(table, trees.symbol[nodes], heavy.z(nodes, a))
        words[tag] = Alphabet(leaves[code][1] for code in own), table[own]
    rules = dict[tuple[Sort, Sort, Sort], Floats]()
    for code, (above, left, right) in enumerate(binary):
        nodes = np.flatnonzero((trees.rank == 2) & (trees.symbol == code))
        y, w = (
            projected.y(child[nodes], sorts.index(name))
            for child, name in ((trees.left, left), (trees.right, right))
        )
        z = heavy.z(nodes, sorts.index(above))
        rules[above, left, right] = np.einsum("nz,nb,nc->zbc", z, y, w, optimize=True)
    return Moments(matrices, rules, words, roots)


def inside_features(trees: RankedTrees) -> sparse.csr_array:
    """phi: nodes x indicators."""
    rule = rule_numbers(trees)
    left, right = (_at(rule, child) for child in (trees.left, trees.right))
    return _indicators([np.zeros(len(rule)), rule, _pair(rule, left), _pair(rule, right)])


def outside_features(trees: RankedTrees) -> sparse.csr_array:
    """psi: nodes x indicators."""
    rule, parent = rule_numbers(trees), trees.parent
    is_right = (parent >= 0) & (trees.right[parent] == np.arange(trees.n_nodes))
    sibling = np.where(is_right, trees.left[parent], trees.right[parent])
    above = np.where(parent >= 0, 2 * rule[parent] + is_right, _NONE)
    beside = _at(rule, np.where(parent >= 0, sibling, -1))
    return _indicators([np.zeros(len(rule)), above, _pair(above, beside), _pair(above, _at(above, parent))])


def rule_numbers(trees: RankedTrees) -> Int64s:
    """One number for every production, from 1 on."""
    sizes = [len(alphabet) for alphabet in trees.alphabet.ranks]
    first = np.array([1, 1 + sizes[0], 1 + sizes[0] + sizes[1]])
    return np.asarray(first[trees.rank] + trees.symbol, dtype=np.int64)


def _at(values: Int64s, nodes: Int32s) -> Int64s:
    return np.where(nodes >= 0, values[nodes], _NONE)


def _pair(first: Int64s, second: Int64s) -> Int64s:
    return np.asarray(first * (int(second.max(initial=0)) + 1) + second, dtype=np.int64)


def _indicators(templates: list[Array]) -> sparse.csr_array:
    columns, width = list[Int64s](), 0
    for values in templates:
        distinct, position = np.unique(values, return_inverse=True)
        columns.append(width + position.ravel())
        width += len(distinct)
    n, k = len(templates[0]), len(templates)
    table = np.stack(columns, axis=1).ravel()
    return sparse.csr_array((np.ones(n * k), table, np.arange(0, n * k + 1, k)), shape=(n, width))


def _productions(alphabet: Alphabet) -> list[Any]:
    return list(alphabet)
