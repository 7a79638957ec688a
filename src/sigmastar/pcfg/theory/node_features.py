"""Expected features of the nodes of a latent-variable PCFG, exactly: what theorem 3 rests on.

A tree has e[a, h] nodes of symbol a and state h on average, e = pi + e M, where M are the expected children.
Given its state, what is inside a node and what is outside are independent, and features are indicators of
rules one step away: their expectations are sums over the states of the nodes there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Floats
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
