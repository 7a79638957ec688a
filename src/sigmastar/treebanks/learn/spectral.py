"""The spectral algorithm for latent PCFGs: figure 4 of Cohen et al. (2012), from all nodes of all trees.

    D_r      = sum over nodes with rule r of Y_left (x) Y_right (x) Z / M_a
    T_r      = D_r Sigma_a^-1 on the last axis,   Sigma_a = E[Y Z^T | a]
    leaf w   = (sum over leaves with word w of Z / M_a) Sigma_a^-1
    root a   = sum over roots of symbol a of Y / number of trees

Moments of rare rules are unreliable. With l = sqrt(n) / (strength + sqrt(n)) they are mixed,

    l E[y y' z] + (1 - l) (l mean of the products of a pair and a single moment + (1 - l) E[y] E[y'] E[z])

and single moments are shrunk towards those of the symbol. The product of three is the plain PCFG in tensor
form, but for what truncation takes from the constant feature (2 in 10,000 on the WSJ sample).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.treebanks.data.binary import BinaryPhrases
from sigmastar.treebanks.data.phrases import Longs
from sigmastar.treebanks.kernels.lexical import add_posteriors
from sigmastar.treebanks.learn.em import LatentFit, Shrinkage
from sigmastar.treebanks.learn.embedding import Embedding
from sigmastar.treebanks.learn.lexicon import LexicalCounts
from sigmastar.treebanks.model.latent_grammar import LatentGrammar
from sigmastar.treebanks.model.lexicon import Lexicon, flat_states

Array = NDArray[np.float64]


def spectral_fit(
    bank: BinaryPhrases,
    lexical: LexicalCounts,
    embedding: Embedding,
    shrinkage: Shrinkage,
    n_states: int | None = None,
) -> LatentFit:
    """The signed grammar and lexicon of the leading dimensions of an embedding."""
    states = embedding.n_states if n_states is None else np.minimum(embedding.n_states, n_states)
    moments = _Moments(bank, embedding, states)
    tensors = [moments.tensor(rule, shrinkage).ravel() for rule in range(len(bank.rules))]
    grammar = LatentGrammar(
        bank.rules,
        states,
        np.concatenate(tensors) if tensors else np.zeros(0),
        moments.roots(),
        np.ones(int(states.sum())),
    )
    return LatentFit(grammar, moments.lexicon(lexical, shrinkage.words))


class _Moments:
    """Nodes by rule, means by symbol, and what undoes Sigma."""

    def __init__(self, bank: BinaryPhrases, embedding: Embedding, n_states: Longs) -> None:
        self.bank, self.n_states = bank, n_states
        self.y, self.z = embedding.inside, embedding.outside
        self.totals = np.bincount(bank.symbol, minlength=len(n_states)).astype(np.float64)
        inner = np.flatnonzero(bank.rule >= 0)
        self.order = inner[np.argsort(bank.rule[inner], kind="stable")]
        self.ends = np.searchsorted(bank.rule[self.order], np.arange(len(bank.rules) + 1))
        self.by_symbol = np.argsort(bank.symbol, kind="stable")
        self.symbol_ends = np.searchsorted(bank.symbol[self.by_symbol], np.arange(len(n_states) + 1))
        self.inverses = [self._inverse(a) for a in range(len(n_states))]
        self.y_means = [self._rows(self.y, a).mean(axis=0) for a in range(len(n_states))]
        self.z_means = [self._rows(self.z, a).mean(axis=0) for a in range(len(n_states))]

    def _rows(self, vectors: Array, symbol: int) -> Array:
        rows = self.by_symbol[self.symbol_ends[symbol] : self.symbol_ends[symbol + 1]]
        return vectors[rows, : self.n_states[symbol]]

    def _inverse(self, symbol: int) -> Array:
        """Sigma_a^-1, from the axis of Z to that of Y."""
        y, z = self._rows(self.y, symbol), self._rows(self.z, symbol)
        return np.asarray(np.linalg.pinv(y.T @ z / len(y), rcond=1e-10), dtype=np.float64)

    def tensor(self, rule: int, shrinkage: Shrinkage) -> Array:
        """T_r with axes (left, right, parent)."""
        a, b, c = self.bank.rules[rule].tolist()
        nodes = self.order[self.ends[rule] : self.ends[rule + 1]]
        n = len(nodes)
        left = self.y[self.bank.left[nodes], : self.n_states[b]]
        right = self.y[self.bank.right[nodes], : self.n_states[c]]
        above = self.z[nodes, : self.n_states[a]]
        full = np.einsum("ni,nj,nk->ijk", left, right, above, optimize=True) / n
        mix = np.sqrt(n) / (shrinkage.strength + np.sqrt(n))
        means = [
            (n * part.mean(axis=0) + shrinkage.backing * mean) / (n + shrinkage.backing)
            for part, mean in ((left, self.y_means[b]), (right, self.y_means[c]), (above, self.z_means[a]))
        ]
        moment = mix * full + (1 - mix) * _backed_off(left, right, above, means, mix)
        result: Array = moment @ self.inverses[a] * (n / self.totals[a])
        return result

    def roots(self) -> Array:
        at = np.concatenate([[0], np.cumsum(self.n_states)])
        roots = np.zeros(int(at[-1]))
        for node in self.bank.roots.tolist():
            symbol = int(self.bank.symbol[node])
            roots[at[symbol] : at[symbol + 1]] += self.y[node, : self.n_states[symbol]]
        return roots / len(self.bank)

    def lexicon(self, lexical: LexicalCounts, strength: float) -> Lexicon:
        """Sums of Z over the leaves of every pair of the forest, times Sigma^-1 / P(a).

        The mean of n leaves is shrunk towards that of their symbol by `strength` / (n + `strength`).
        """
        states = self.n_states[: self.bank.symbols.n_leaves]
        forest = lexical.forest
        sizes = states[lexical.symbols]
        at = np.concatenate([[0], np.cumsum(sizes)])
        scores = np.zeros(int(at[-1]))
        total = float(forest.totals[-1])
        for a in range(len(states)):
            mine = np.flatnonzero(lexical.symbols == a)
            k = int(states[a])
            vectors = self.z[lexical.leaves[mine], :k] @ self.inverses[a] * (total / self.totals[a])
            scores[(at[mine][:, None] + np.arange(k)).ravel()] = vectors.ravel()
        offsets = np.concatenate([[0], np.cumsum(states[forest.symbols])])
        values = add_posteriors(lexical.pairs, lexical.levels, offsets, scores, at, int(offsets[-1]))
        means = np.concatenate(
            [self.z_means[a] @ self.inverses[a] * (total / self.totals[a]) for a in range(len(states))]
        )
        counts = np.repeat(forest.counts, states[forest.symbols])
        kept = counts / (counts + strength)
        common = counts * means[flat_states(states, forest.symbols)]
        return Lexicon(forest, states, kept * values + (1 - kept) * common)


def _backed_off(left: Array, right: Array, above: Array, means: list[Array], mix: float) -> Array:
    """Mixtures of products of pair and single moments, and of single ones alone."""
    n = len(left)
    y, w, z = means
    pairs = (
        np.einsum("ij,k->ijk", left.T @ right / n, z)
        + np.einsum("ik,j->ijk", left.T @ above / n, w)
        + np.einsum("jk,i->ijk", right.T @ above / n, y)
    )
    result: Array = mix * pairs / 3.0 + (1 - mix) * np.einsum("i,j,k->ijk", y, w, z)
    return result
