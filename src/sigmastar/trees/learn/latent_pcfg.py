"""Latent-variable PCFGs by the spectral method of Cohen et al. (2012), figures 4 and 5.

    Omega^a = sum of psi(outside) phi(inside)^T over nodes of a       U^a, V^a: its singular vectors
    y = U^T phi,  z = V^T psi                                         m numbers a node
    Sigma^a = sum z y^T,  D^(a -> b c) = sum z y_left y_right,  d^(a -> x) = sum z,  c^1_a = mean y at roots

and the operators are recovered from Sigma, D and d as from any blocks. Nodes are all nodes of all trees, or
one of each tree, as in the theorem.

The paper draws that node uniformly. Then inside and outside are not independent given the state: a node is
drawn more rarely from a large tree, which couples the size of what is inside with the size of what is
outside. The weight `n_nodes` of the tree makes the mean over draws that over all nodes, and the tuples stay
independent of each other. `one_uniform_node` is the paper's letter, without the weight.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sigmastar.core.alphabet import Alphabet
from sigmastar.core.blocks import Blocks, Slices
from sigmastar.core.factors import factorize_up_to
from sigmastar.core.operator_model import OperatorModel
from sigmastar.core.recover import factorize_blocks, recover
from sigmastar.core.signature import Operation, Signature, Sort
from sigmastar.trees.counts.production_features import inside_features, outside_features
from sigmastar.trees.data.productions import production_trees
from sigmastar.trees.data.ranked import RankedAlphabet, RankedTrees
from sigmastar.trees.data.tree import Tree
from sigmastar.trees.model.automaton import TreeAutomaton

Array = NDArray[np.float64]
Longs = NDArray[np.int64]
NodeWeights = Callable[[RankedTrees, np.random.Generator], Array]


def all_nodes(trees: RankedTrees, rng: np.random.Generator) -> Array:
    """Every node of every tree, once."""
    return np.where(trees.rank == 1, 0.0, 1.0)


def one_node(trees: RankedTrees, rng: np.random.Generator) -> Array:
    """One node of each tree, with the number of nodes that it stands for."""
    sizes, drawn = _drawn_nodes(trees, rng)
    weights = np.zeros(trees.n_nodes)
    weights[drawn] = sizes
    return weights


def one_uniform_node(trees: RankedTrees, rng: np.random.Generator) -> Array:
    """One node of each tree, all with the same weight."""
    weights = np.zeros(trees.n_nodes)
    weights[_drawn_nodes(trees, rng)[1]] = 1.0
    return weights


def _drawn_nodes(trees: RankedTrees, rng: np.random.Generator) -> tuple[Longs, Longs]:
    begins = np.concatenate([[0], trees.ends[:-1]])
    sizes = trees.ends - begins - 1  # the top is no node of the paper's
    return sizes, begins + (rng.random(len(sizes)) * sizes).astype(np.int64)


@dataclass(frozen=True, eq=False)
class _Projected:
    """Of every node: its symbol, its number of states, and y and z, filled up with zeros."""

    sorts: tuple[str, ...]
    sort: Longs
    n_states: Longs
    inside: Array
    outside: Array


def learn_latent_pcfg(
    trees: Sequence[Tree],
    n_states: int,
    nodes: NodeWeights = all_nodes,
    rng: np.random.Generator | None = None,
) -> TreeAutomaton:
    """An automaton over productions with up to `n_states` states for each non-terminal.

    Trees are binary over tagged words. Values are p(tree): `automaton.value(production_trees(trees))`.
    """
    if n_states < 1:
        raise ValueError(f"n_states={n_states} must be 1 or more")
    ranked = production_trees(trees)
    weights = nodes(ranked, np.random.default_rng(0) if rng is None else rng)
    projected = _project(ranked, n_states, weights)
    blocks = _blocks(ranked, projected, weights)
    sizes: dict[Sort, int] = dict(zip(projected.sorts, projected.n_states.tolist(), strict=True))
    return as_automaton(recover(blocks, factorize_blocks(blocks, sizes)), ranked.alphabet)


def _project(trees: RankedTrees, n_states: int, weights: Array) -> _Projected:
    """Figure 5 and step 1 of figure 4."""
    leaves, _, binary = map(_productions, trees.alphabet.ranks)
    sorts = tuple(dict.fromkeys(name[0] for name in (*leaves, *binary)))
    sort = np.full(trees.n_nodes, -1, np.int64)
    for rank, names in ((0, leaves), (2, binary)):
        at = np.flatnonzero(trees.rank == rank)
        sort[at] = np.array([sorts.index(name[0]) for name in names] or [0])[trees.symbol[at]]
    phi, psi = inside_features(trees), outside_features(trees)
    inside, outside = np.zeros((trees.n_nodes, n_states)), np.zeros((trees.n_nodes, n_states))
    sizes = np.zeros(len(sorts), np.int64)
    for number, name in enumerate(sorts):
        rows = np.flatnonzero(sort == number)
        heavy = sparse.diags_array(weights[rows])
        if not weights[rows].any():
            raise ValueError(f"no node of {name!r} was drawn; use more trees, or all nodes")
        omega = (psi[rows].T @ heavy @ phi[rows]).tocsr()
        columns, lines = np.unique(omega.nonzero()[1]), np.unique(omega.nonzero()[0])
        factors = factorize_up_to(omega[lines][:, columns], n_states)
        sizes[number] = factors.n_states
        inside[rows, : factors.n_states] = phi[rows][:, columns] @ factors.right
        outside[rows, : factors.n_states] = psi[rows][:, lines] @ factors.left
    return _Projected(sorts, sort, sizes, inside, outside)


def _productions(alphabet: Alphabet) -> list[tuple[str, ...]]:
    return [cast(tuple[str, ...], name) for name in alphabet]


def _blocks(trees: RankedTrees, projected: _Projected, weights: Array) -> Blocks:
    """Step 2 of figure 4, as blocks over m outsides and m insides a sort."""
    n = len(trees)
    matrices, slices = dict[Sort, Array](), dict[Operation, Slices]()
    for number, name in enumerate(projected.sorts):
        rows = np.flatnonzero(projected.sort == number)
        z, y = _part(projected, rows, number, outside=True), _part(projected, rows, number, outside=False)
        matrices[name] = (z * weights[rows, None]).T @ y / n
    for operation, nodes, codes in _operations(trees, projected):
        sort = projected.sorts.index(operation.result)
        z = _part(projected, nodes, sort, outside=True) * weights[nodes, None]
        if operation.arity:
            b, c = (projected.sorts.index(name) for name in operation.arguments)
            left = _part(projected, trees.left[nodes], b, outside=False)
            right = _part(projected, trees.right[nodes], c, outside=False)
            slices[operation] = np.einsum("nz,nb,nc->zbc", z, left, right, optimize=True)[None] / n
        else:
            table = np.zeros((len(operation.alphabet), z.shape[1]))
            np.add.at(table, codes, z)
            slices[operation] = table / n
    tops = trees.left[trees.roots]
    roots: dict[Sort, Array] = {
        name: projected.inside[tops[projected.sort[tops] == number], : projected.n_states[number]].sum(axis=0)
        / n
        for number, name in enumerate(projected.sorts)
        if (projected.sort[tops] == number).any()
    }
    return Blocks(Signature(tuple(slices), tuple(roots)), matrices, slices, roots)


def _part(projected: _Projected, nodes: NDArray[np.integer], sort: int, outside: bool) -> Array:
    rows = projected.outside if outside else projected.inside
    return np.asarray(rows[nodes, : projected.n_states[sort]])


def _operations(trees: RankedTrees, projected: _Projected) -> list[tuple[Operation, Longs, Longs]]:
    """Every operation of the grammar, the nodes that it is at, and the codes of their words."""
    leaves, _, binary = map(_productions, trees.alphabet.ranks)
    found = list[tuple[Operation, Longs, Longs]]()
    for tag in dict.fromkeys(name[0] for name in leaves):
        own = [code for code, name in enumerate(leaves) if name[0] == tag]
        place = np.full(len(leaves), -1)
        place[own] = np.arange(len(own))
        nodes = np.flatnonzero((trees.rank == 0) & (place[trees.symbol * (trees.rank == 0)] >= 0))
        words = Alphabet(leaves[code][1] for code in own)
        found.append((Operation((tag, "word"), (), tag, words), nodes, place[trees.symbol[nodes]]))
    for code, rule in enumerate(binary):
        nodes = np.flatnonzero((trees.rank == 2) & (trees.symbol == code))
        found.append((Operation(rule, tuple(rule[1:]), rule[0]), nodes, nodes))
    return found


def as_automaton(model: OperatorModel, alphabet: RankedAlphabet) -> TreeAutomaton:
    """A model whose sorts are non-terminals as one automaton over productions, filled up with zeros."""
    n = max(model.n_states(sort) for sort in model.signature.sorts)
    leaves, tops, binary = alphabet.ranks
    leaf, top = np.zeros((len(leaves), n)), np.zeros((len(tops), n, n))
    pairs, first = np.zeros((len(binary), n, n, n)), np.zeros(n)
    first[0] = 1.0
    for operation, array in model.operators.items():
        if operation.arity:
            at = tuple(slice(size) for size in array.shape[1:])
            pairs[binary.codes[operation.name]][at] = array[0]
        else:
            for code, word in enumerate(operation.alphabet):
                leaf[leaves.codes[operation.result, word], : array.shape[1]] = array[code]
    for code, production in enumerate(_productions(tops)):
        root = model.roots[production[1]]
        top[code, 0, : len(root)] = root
    return TreeAutomaton(alphabet, first, leaf, top, pairs)
