"""The constants of theorem 3 of Cohen et al. (2012), exactly, from a latent-variable PCFG with probabilities.

For each symbol a, with h the state of a node of a, and features phi of what is inside, psi of the outside,

    I^a[., h] = E[phi | h]      J^a[., h] = E[psi | h]      gamma^a[h] = P(H = h | a)
    Omega^a   = I^a diag(gamma^a) J^a^T                     U^a, V^a: its m first singular vectors
    G^a = U^a^T I^a             K^a = V^a^T J^a
    Sigma^a = G^a diag(gamma^a) K^a^T
    D^(a -> b c)[k, i, j] = sum_h gamma^a[h] K^a[k, h] sum_(h2, h3) A[h, h2, h3] G^b[i, h2] G^c[j, h3]
    d^(a -> x)[k]         = sum_h gamma^a[h] K^a[k, h] q(a -> x | h)
    c^1_a[i]              = sum_h pi(a, h) G^a[i, h]

Lambda is the least absolute value among the elements of c^1, d, D and of the inverses of Sigma; sigma the
least of the m-th singular values of Omega. (Where a symbol is never a root, c^1 is zero and so is its
estimate: it is left out.) Condition 1: I^a and J^a have rank m, and gamma^a > 0. Condition 2: G^a and K^a are
invertible. The theorem also requires that all elements be at most 1: features are those of
`trees.learn`, four indicators each, divided by two, so that they have norm one.

With singular vectors as they are, Sigma^a = U^a^T Omega^a V^a is diagonal, its inverse has zeros, and Lambda
is 0 wherever there are two states: to the letter, the assumption Lambda > 0 never holds. But any rotation of
these vectors has the same sigma and meets condition 2 as well, and for almost all of them Lambda > 0. So U
and V are rotated at random here; `seed=None` leaves them as they are.

A node is one of all nodes of all trees, or one of each tree with its weight (decision 7).

Expected features of nodes are exact.

A tree has e[a, h] nodes of symbol a and state h on average, e = pi + e M, where M are the expected children.
Given its state, what is inside a node and what is outside are independent, and features are indicators of
rules one step away: their expectations are sums over the states of the nodes there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Floats
from sigmastar.pcfg.theory.bounds import latent_pcfg_samples
from sigmastar.trees.model.latent_pcfg import LatentPCFG

_NORM = 2.0  # four indicators are on at every node


class Symbol(NamedTuple):
    """What the theorem is about, of one non-terminal."""

    name: str
    inside: Floats  # I: features x states
    outside: Floats  # J
    share: Floats  # gamma
    singular_values: Floats  # of Omega
    g: Floats
    k: Floats

    @property
    def sigma(self) -> Floats:
        """Sigma, inside x outside."""
        return np.asarray((self.g * self.share) @ self.k.T)


def expected_visits(grammar: LatentPCFG) -> dict[str, Floats]:
    """How many nodes of each symbol and state a tree has on average."""
    names, m = grammar.symbols, grammar.n_states
    place = {name: k for k, name in enumerate(names)}
    steps, start = np.zeros((len(names), m, len(names), m)), np.zeros((len(names), m))
    for (a, b, c), tensor in zip(grammar.rules, grammar.binary, strict=True):
        steps[place[a], :, place[b]] += tensor.sum(axis=2)
        steps[place[a], :, place[c]] += tensor.sum(axis=1)
    for root, row in zip(grammar.roots, grammar.top, strict=True):
        start[place[root]] += row
    matrix = np.eye(start.size) - steps.reshape(start.size, start.size)
    visits = np.linalg.solve(matrix.T, start.ravel()).reshape(start.shape)
    return dict(zip(names, visits, strict=True))


def symbol_of(
    grammar: LatentPCFG, name: str, visits: dict[str, Floats], rng: np.random.Generator | None
) -> Symbol:
    """I, J and gamma of a symbol, and its coordinates by the singular vectors of Omega, rotated by chance."""
    inside = np.stack(list(_inside_rows(grammar, name))) / _NORM
    outside = np.stack(list(_outside_rows(grammar, name, visits))) / _NORM
    outside = outside / np.where(visits[name] > 0, visits[name], 1.0)
    share = visits[name] / visits[name].sum()
    left, values, right = np.linalg.svd((inside * share) @ outside.T, full_matrices=False)
    m = grammar.n_states
    values = np.concatenate([values, np.zeros(max(0, m - len(values)))])
    turns = [np.eye(k) if rng is None else _rotation(k, rng) for k in (left[:, :m].shape[1], len(right[:m]))]
    g, k = turns[0] @ left[:, :m].T @ inside, turns[1] @ right[:m] @ outside
    return Symbol(name, inside, outside, share, values, g, k)


def _rotation(size: int, rng: np.random.Generator) -> Floats:
    return np.asarray(np.linalg.qr(rng.standard_normal((size, size)))[0])


def _productions(grammar: LatentPCFG, name: str) -> list[Floats]:
    """q of every production of a symbol."""
    words = [row for (tag, _), row in zip(grammar.lexical, grammar.leaf, strict=True) if tag == name]
    rules = [t.sum(axis=(1, 2)) for r, t in zip(grammar.rules, grammar.binary, strict=True) if r[0] == name]
    return words + rules


def _inside_rows(grammar: LatentPCFG, name: str) -> Iterator[Floats]:
    """E[phi | h]: one; the rule; with it the rule of the left child, or of the right child."""
    yield np.ones(grammar.n_states)
    yield from _productions(grammar, name)
    for (tag, _), row in zip(grammar.lexical, grammar.leaf, strict=True):
        if tag == name:
            yield from (row, row)
    for (a, b, c), tensor in zip(grammar.rules, grammar.binary, strict=True):
        if a == name:
            yield from (tensor.sum(axis=2) @ q for q in _productions(grammar, b))
            yield from (tensor.sum(axis=1) @ q for q in _productions(grammar, c))


def _outside_rows(grammar: LatentPCFG, name: str, visits: dict[str, Floats]) -> Iterator[Floats]:
    """E[psi; h]: one; the rule above and the side; with them the sibling's rule, or what is above that."""
    yield visits[name]
    root = _root_row(grammar, name)
    if root is not None:
        yield from (root, root, root)
    for above, sibling, down in _places(grammar, name):
        flow = down.sum(axis=2)  # states of the parent x of the node
        yield visits[above] @ flow
        yield from ((visits[above] @ (down @ q)) for q in _productions(grammar, sibling))
        top = _root_row(grammar, above)
        yield from [] if top is None else [top @ flow]
        for higher, _, further in _places(grammar, above):
            yield visits[higher] @ further.sum(axis=2) @ flow


def _places(grammar: LatentPCFG, name: str) -> Iterator[tuple[str, str, Floats]]:
    """Rules with the symbol on the right: parent, sibling, and states of parent x node x sibling."""
    for (a, b, c), tensor in zip(grammar.rules, grammar.binary, strict=True):
        if b == name:
            yield a, c, tensor
        if c == name:
            yield a, b, tensor.transpose(0, 2, 1)


def _root_row(grammar: LatentPCFG, name: str) -> Floats | None:
    return grammar.top[grammar.roots.index(name)] if name in grammar.roots else None


_FULL = 1e-9  # share of the largest singular value below which a rank is not full


@dataclass(frozen=True, eq=False)
class TheoremConstants:
    """What theorem 3 says of one grammar.

    Parameters
    ----------
    grammar : LatentPCFG
        One with probabilities.
    seed : int or None
        Of the rotations of the singular vectors; None: as they are.

    Examples
    --------
    >>> from sigmastar.trees.model.generators import make_latent_pcfg
    >>> constants = TheoremConstants(make_latent_pcfg(np.random.default_rng(0), 2))
    >>> constants.problems()
    []
    >>> constants.samples(0.1, 0.05, tree_size=5) > 1e6
    True
    """

    grammar: LatentPCFG
    seed: int | None = 0

    def __post_init__(self) -> None:
        arrays = (self.grammar.top, self.grammar.leaf, self.grammar.binary)
        if min(array.min(initial=0.0) for array in arrays) < 0 or abs(self.grammar.outgoing - 1).max() > 1e-6:
            raise ValueError("the theorem is about a grammar with probabilities; this one has other weights")

    @cached_property
    def symbols(self) -> dict[str, Symbol]:
        """Of each non-terminal that occurs."""
        occurring = (name for name in self.grammar.symbols if self._visits[name].sum() > 0)
        rng = None if self.seed is None else np.random.default_rng(self.seed)
        return {name: symbol_of(self.grammar, name, self._visits, rng) for name in occurring}

    @cached_property
    def _visits(self) -> dict[str, Floats]:
        return expected_visits(self.grammar)

    def problems(self) -> list[str]:
        """Where conditions 1 and 2 do not hold, or elements are above 1: one sentence each."""
        return [problem for symbol in self.symbols.values() for problem in _problems(symbol)] + [
            f"an element of {name} is above 1"
            for name, array in self._elements()
            if np.abs(array).max() > 1 + 1e-9
        ]

    def _elements(self) -> Iterator[tuple[str, Floats]]:
        """c^1, d, D and Sigma with their names."""
        grammar, of = self.grammar, self.symbols
        for root, row in zip(grammar.roots, grammar.top, strict=True):
            yield f"c^1 of {root}", of[root].g @ row
        for (tag, word), row in zip(grammar.lexical, grammar.leaf, strict=True):
            if tag in of:
                yield f"d of {tag} -> {word}", of[tag].k @ (of[tag].share * row)
        for (a, b, c), tensor in zip(grammar.rules, grammar.binary, strict=True):
            if a in of:
                parts = (of[a].k * of[a].share, tensor, of[b].g, of[c].g)
                yield f"D of {a} -> {b} {c}", np.einsum("kh,hij,ai,bj->kab", *parts, optimize=True)
        yield from ((f"Sigma of {name}", symbol.sigma) for name, symbol in of.items())

    @cached_property
    def moments(self) -> dict[str, Floats]:
        """c^1, d, D and Sigma by name."""
        return dict(self._elements())

    @cached_property
    def smallest(self) -> float:
        """Lambda; 0 where a Sigma has no inverse."""
        least = math.inf
        for name, array in self.moments.items():
            inverted = name.startswith("Sigma")
            if inverted and np.linalg.cond(array) > 1 / _FULL:
                return 0.0
            sizes = np.abs(np.linalg.inv(array) if inverted else array)
            least = min(least, float(sizes.min()) if sizes.min() > 1e-13 * sizes.max() else 0.0)
        return least

    @property
    def conditioning(self) -> float:
        """sigma."""
        n = self.grammar.n_states
        return min(float(symbol.singular_values[n - 1]) for symbol in self.symbols.values())

    @property
    def n_rules(self) -> int:
        """R."""
        return len(self.grammar.rules) + len(self.grammar.lexical)

    def samples(self, epsilon: float, delta: float, tree_size: int) -> float:
        """Examples with each non-terminal that are enough for 1 - epsilon <= |p^ / p| <= 1 + epsilon.

        Parameters
        ----------
        epsilon, delta, tree_size
            The precision, the probability of failure, and N, the number of rules of the tree.

        Returns
        -------
        float
            Infinite where a condition does not hold.
        """
        if self.problems() or self.smallest == 0:
            return math.inf
        m, r = self.grammar.n_states, self.n_rules
        return latent_pcfg_samples(epsilon, delta, m, r, tree_size, self.smallest, self.conditioning)

    def samples_for_marginals(self, epsilon: float, delta: float, n_words: int) -> float:
        """The same for 1 - epsilon <= |mu^ / mu| <= 1 + epsilon, for every symbol and span of a sentence.

        mu(a, i, j) is the sum of p over the trees of the sentence with a at i .. j, all of which have 2n - 1
        rules. The theorem bounds all parameters at once, so p^ / p lies between 1 - epsilon and 1 + epsilon
        for all of them together, and so does the ratio of their sums.

        Parameters
        ----------
        epsilon, delta, n_words
            The precision, the probability of failure, and n, the number of words.

        Returns
        -------
        float
            Infinite where a condition does not hold.
        """
        return self.samples(epsilon, delta, 2 * n_words - 1)

    def certified(self, n_examples: float, delta: float, tree_size: int) -> float:
        """The epsilon that so many examples of each non-terminal certify.

        Parameters
        ----------
        n_examples, delta, tree_size
            M_a; the others as of `samples`.

        Returns
        -------
        float
            Finite, if often far above 1; infinite where a condition does not hold.
        """
        logarithm = self.log_certified(n_examples, delta, tree_size)
        return math.exp(logarithm) if logarithm < 700 else math.inf

    def log_certified(self, n_examples: float, delta: float, tree_size: int) -> float:
        """The logarithm of that epsilon, which can be beyond all floats.

        Parameters
        ----------
        n_examples, delta, tree_size
            As of `certified`.

        Returns
        -------
        float
            Infinite where a condition does not hold.
        """
        if self.problems() or self.smallest == 0:
            return math.inf
        m, factor = self.grammar.n_states, self.smallest * self.conditioning**2
        logarithm = math.log(2 * m * self.n_rules / delta)
        step = math.sqrt(128 * logarithm / n_examples) * m / factor
        log_ratio = (2 * tree_size + 1) * math.log1p(step)
        return math.log(math.expm1(log_ratio)) if log_ratio < 700 else log_ratio


def _problems(symbol: Symbol) -> Iterator[str]:
    m = len(symbol.share)
    for name, matrix in (("I", symbol.inside), ("J", symbol.outside)):
        values = np.linalg.svd(matrix, compute_uv=False)
        rank = int((values > _FULL * values[0]).sum())
        if rank < m:
            yield f"condition 1: {name} of {symbol.name} has rank {rank}, not {m}; use fewer states"
    if symbol.share.min() <= 0:
        yield f"condition 1: a state of {symbol.name} is never reached; leave it out"
    for name, matrix in (("G", symbol.g), ("K", symbol.k)):
        if matrix.shape != (m, m) or np.linalg.cond(matrix) > 1 / _FULL:
            yield f"condition 2: {name} of {symbol.name} has no inverse; use fewer states"
