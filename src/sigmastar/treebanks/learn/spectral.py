"""Signed latent grammars by moments: figure 4 of Cohen et al. (2012), with shrunk moments.

    Sigma_a = sum over nodes of a of Z Y^T,    D_r = sum over nodes with rule r of Z (x) Y_left (x) Y_right
    d_w     = sum over leaves with word w of Z,  root a = sum over roots of a of Y         all per tree

Operators are recovered from them as for any latent PCFG (`trees.learn`); Y and Z are coordinates of nodes
that the two views gave (`learn.clusters_and_em`). Moments of rare rules are unreliable. With
l = sqrt(n) / (strength + sqrt(n)) they are shrunk,

    l E[z y y'] + (1 - l) (l mean of the products of a pair and a single moment + (1 - l) E[z] E[y] E[y'])

and single moments are shrunk towards those of the symbol. The product of three is the plain PCFG in tensor
form, but for what truncation takes from the constant feature (2 in 10,000 on the WSJ sample).
"""

from __future__ import annotations

from functools import cached_property, partial

import numpy as np

from sigmastar.core.alphabet import Alphabet, OperatorModel, Sort
from sigmastar.core.arrays import Array, Floats, Int32s, Int64s
from sigmastar.core.clusters import rows_by_group
from sigmastar.core.engines import spread_each
from sigmastar.core.shrinkage import mean_towards, towards
from sigmastar.treebanks.data.binarized import BinaryPhrases, Symbols
from sigmastar.treebanks.learn.clusters_and_em import Embedding, LatentFit, LexicalCounts, Shrinkage
from sigmastar.treebanks.model.latent_grammar import LatentGrammar
from sigmastar.treebanks.model.lexicon import LexicalForest, Lexicon, add_posteriors
from sigmastar.trees.learn import Moments, operators_of_moments

Coordinates = tuple[Floats, Floats, Floats]
"""Of parents, left children and right children."""


def spectral_fit(
    symbols: Symbols, rules: Int32s, forest: LexicalForest, moments: Moments, n_states: int
) -> LatentFit:
    """The signed grammar and lexicon with up to so many states per symbol.

    Parameters
    ----------
    symbols, rules
        Of the binarized treebank, in the order of the moments.
    forest : LexicalForest
        Its words.
    moments : Moments
        See `shrunk_moments`.
    n_states : int
        Of each symbol, at most.

    Returns
    -------
    LatentFit
        A grammar whose frequencies are unknown: ones.
    """
    model = operators_of_moments(moments, n_states)
    sizes = np.ones(len(symbols), dtype=np.int64)
    for operation, array in model.operators.items():
        sizes[int(operation.result)] = array.shape[1]  # type: ignore[call-overload]
    found = [
        array[0].transpose(1, 2, 0).ravel() for operation, array in model.operators.items() if operation.arity
    ]
    at = np.concatenate([[0], np.cumsum(sizes)])
    roots = np.zeros(int(at[-1]))
    for symbol, root in model.roots.items():
        low = at[int(symbol)]  # type: ignore[call-overload]
        roots[low : low + len(root)] = root
    tensors = np.concatenate(found) if found else np.zeros(0)
    grammar = LatentGrammar(rules, sizes, tensors, roots, np.ones(len(roots)))
    return LatentFit(grammar, _lexicon(forest, model, sizes[: symbols.n_leaves]))


def _lexicon(forest: LexicalForest, model: OperatorModel, n_states: Int64s) -> Lexicon:
    """Operators of the words of every symbol, as scores times counts."""
    found = Lexicon(forest, n_states, np.zeros(int(n_states[forest.symbols].sum())))
    total = float(forest.totals[-1])
    for operation, array in model.operators.items():
        if not operation.arity:
            pairs = np.array(list(operation.alphabet), dtype=np.int64)
            found.values[found.offsets[pairs][:, None] + np.arange(array.shape[1])] = array * total
    return found


def shrunk_moments(
    bank: BinaryPhrases, lexical: LexicalCounts, embedding: Embedding, shrinkage: Shrinkage
) -> Moments:
    """The moments of all nodes of a treebank. Words are named by their pairs in the forest."""
    nodes = _Nodes(bank, embedding)
    symbols, n_trees = range(len(bank.symbols)), len(bank)
    matrices: dict[Sort, Floats] = {
        a: nodes.z(nodes.rows[a], a).T @ nodes.y(nodes.rows[a], a) / n_trees for a in symbols
    }
    found = [np.zeros(0)] * len(bank.rules)
    spread_each(range(len(found)), nodes.of_rule, partial(_rule_moment, shrinkage), found.__setitem__)
    rules: dict[tuple[Sort, Sort, Sort], Floats] = {
        (a, b, c): moment / n_trees for (a, b, c), moment in zip(bank.rules.tolist(), found, strict=True)
    }
    tops = bank.roots
    roots: dict[Sort, Floats] = {
        a: nodes.y(tops[bank.symbol[tops] == a], a).sum(axis=0) / n_trees
        for a in np.unique(bank.symbol[tops]).tolist()
    }
    return Moments(matrices, rules, nodes.words(lexical, shrinkage.words), roots)


def _rule_moment(shrinkage: Shrinkage, given: tuple[Coordinates, Coordinates]) -> Floats:
    """D_r with axes (parent, left, right)."""
    z, y, w = given[0]
    n, strength = len(z), shrinkage.strength * np.sqrt(len(z))
    mz, my, mw = (
        towards(part.sum(axis=0), mean, shrinkage.backing, totals=n)
        for part, mean in zip(*given, strict=True)
    )
    pairs = (
        np.einsum("ij,k->kij", y.T @ w / n, mz)
        + np.einsum("ki,j->kij", z.T @ y / n, mw)
        + np.einsum("kj,i->kij", z.T @ w / n, my)
    )
    singles = np.einsum("k,i,j->kij", mz, my, mw)
    full = np.einsum("nk,ni,nj->kij", z, y, w, optimize=True) / n
    return n * mean_towards(full, mean_towards(pairs / 3.0, singles, n, strength), n, strength)


class _Nodes:
    """Nodes by rule and by symbol, with their coordinates."""

    def __init__(self, bank: BinaryPhrases, embedding: Embedding) -> None:
        self.bank, self.embedding, self.rows = bank, embedding, embedding.rows

    def y(self, nodes: Array, symbol: int) -> Floats:
        return self.embedding.inside[nodes, : self.embedding.n_dimensions[symbol]]

    def z(self, nodes: Array, symbol: int) -> Floats:
        return self.embedding.outside[nodes, : self.embedding.n_dimensions[symbol]]

    @cached_property
    def by_rule(self) -> list[Int64s]:
        inner = np.flatnonzero(self.bank.rule >= 0)
        return [inner[rows] for rows in rows_by_group(self.bank.rule[inner], len(self.bank.rules))]

    @cached_property
    def means(self) -> list[tuple[Floats, Floats]]:
        """Of y and z, for every symbol."""
        pairs = [(self.y(rows, a), self.z(rows, a)) for a, rows in enumerate(self.rows)]
        return [(y.mean(axis=0), z.mean(axis=0)) for y, z in pairs]

    def of_rule(self, rule: int) -> tuple[Coordinates, Coordinates]:
        """Of the nodes of a rule, and of their children; and the means of the symbols of all three."""
        (a, b, c), nodes = self.bank.rules[rule].tolist(), self.by_rule[rule]
        z, y, w = self.z(nodes, a), self.y(self.bank.left[nodes], b), self.y(self.bank.right[nodes], c)
        return (z, y, w), (self.means[a][1], self.means[b][0], self.means[c][0])

    def words(self, lexical: LexicalCounts, strength: float) -> dict[Sort, tuple[Alphabet, Floats]]:
        """d of every pair of the forest, the mean of its leaves shrunk towards that of their symbol."""
        forest, sizes = lexical.forest, self.embedding.n_dimensions[: self.bank.symbols.n_leaves]
        at = np.concatenate([[0], np.cumsum(sizes[lexical.symbols])])
        vectors = np.zeros(int(at[-1]))
        for a in range(len(sizes)):
            leaves = np.flatnonzero(lexical.symbols == a)
            vectors[at[leaves][:, None] + np.arange(sizes[a])] = self.z(lexical.leaves[leaves], a)
        offsets = np.concatenate([[0], np.cumsum(sizes[forest.symbols])])
        sums = add_posteriors(lexical.pairs, lexical.levels, offsets, vectors, at, int(offsets[-1]))
        found: dict[Sort, tuple[Alphabet, Floats]] = {}
        for a, pairs in enumerate(rows_by_group(forest.symbols, len(sizes))):
            table = sums[offsets[pairs][:, None] + np.arange(sizes[a])]
            counts = forest.counts[pairs][:, None]
            means = towards(table, self.means[a][1], strength, totals=counts)
            found[a] = Alphabet(pairs.tolist()), counts * means / len(self.bank)
        return found
