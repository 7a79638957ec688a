"""Trees drawn from head automata: the root draws its modifiers, each of them draws its own, and so on.

Words of one generation that have the same sort draw together. A tree that grows beyond `max_words` is
drawn again: a grammar may well generate more words than it finishes.
"""

from __future__ import annotations

import numpy as np

from sigmastar.dependency.data.sequences import LEFT, RIGHT
from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.dependency.model.head_automata import HeadAutomata

Children = list[list[list[int]]]
"""For every node its left and its right children, head outwards."""

_MOST_ATTEMPTS = 100


def sample_trees(
    automata: HeadAutomata, n_trees: int, rng: np.random.Generator, max_words: int = 200
) -> DependencyTreebank:
    """Sentences of symbols with their trees."""
    tags, heads = [], []
    for _ in range(n_trees):
        codes, tops = _tree(automata, rng, max_words)
        tags.append([str(automata.alphabet.symbols[code]) for code in codes])
        heads.append(tops)
    return DependencyTreebank.of(tags, tags, heads)


def _tree(automata: HeadAutomata, rng: np.random.Generator, max_words: int) -> tuple[list[int], list[int]]:
    for _ in range(_MOST_ATTEMPTS):
        grown = _grown(automata, rng, max_words)
        if grown is not None:
            return _in_order(*grown)
    raise ValueError(f"no tree of 1 to {max_words} words in {_MOST_ATTEMPTS} draws; allow more words")


def _grown(
    automata: HeadAutomata, rng: np.random.Generator, max_words: int
) -> tuple[list[int], Children] | None:
    """Symbols of the nodes (node 0 is the root) and their children, or None for a tree of a wrong size."""
    symbols = [-1]
    children: Children = [[[], []]]
    waiting = {automata.n_sorts - 1: [(0, RIGHT)]}
    while waiting:
        following: dict[int, list[tuple[int, int]]] = {}
        for sort, nodes in waiting.items():
            drawn = automata.automaton(sort).sample(len(nodes), rng, max_words + 1)
            for k, (node, direction) in enumerate(nodes):
                for code in drawn.codes[drawn.offsets[k] : drawn.offsets[k + 1]].tolist():
                    children[node][direction].append(len(symbols))
                    for side in (LEFT, RIGHT):
                        following.setdefault(2 * code + side, []).append((len(symbols), side))
                    symbols.append(code)
                    children.append([[], []])
            if len(symbols) > max_words + 1:
                return None
        waiting = following
    return (symbols, children) if len(symbols) > 1 else None


def _in_order(symbols: list[int], children: Children) -> tuple[list[int], list[int]]:
    """The words from left to right, and their heads."""
    order: list[int] = []
    above = [0] * len(symbols)
    stack = [(0, False)]
    while stack:
        node, open_ = stack.pop()
        if open_:
            order.append(node)
            continue
        left, right = children[node]
        for child in (*left, *right):
            above[child] = node
        # Last pushed is first written: the furthest left child, .., the node, .., the furthest right.
        stack += [(child, False) for child in reversed(right)]
        stack.append((node, True))
        stack += [(child, False) for child in left]
    place = {node: number for number, node in enumerate(order)}  # the root comes first, at 0
    words = [node for node in order if node]
    return [symbols[node] for node in words], [place[above[node]] for node in words]
