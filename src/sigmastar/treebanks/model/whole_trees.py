"""Whole trees under a binarized grammar: their log-probability, and drawing them.

    P(tree) = sum over states of root * product of rules * product over words of score(a, z, w) P(w)

Figure 2 of Cohen et al. (2012). It is -inf where the tree has a rule or a label that the grammar does not
have, or where a signed grammar gives something that is not positive. Trees are drawn from the root down,
state by state; weights below zero count as zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.errors import InputError
from sigmastar.treebanks.counts.head_choice import choose_heads
from sigmastar.treebanks.data.binarized import PHRASE, BinaryNodes, BinaryPhrases, Symbols, binarize
from sigmastar.treebanks.data.phrases import Phrases
from sigmastar.treebanks.kernels.tree_states import RuleTensors, tree_insides
from sigmastar.treebanks.model.binarized_grammar import BinarizedGrammar
from sigmastar.trees.data.tree import Tree

_MOST_NODES, _MOST_DRAWS = 20_000, 100


def tree_log_probabilities(binarized: BinarizedGrammar, bank: Phrases) -> Floats:
    """log P of every tree."""
    heads = (binarized.heads or choose_heads(bank)).heads(bank)
    binary = binarize(bank, binarized.binarization, heads)
    symbol = _known_symbols(binarized, binary.symbols, bank.labels)[binary.symbol]
    rule = _known_rules(binarized, binary, symbol)
    good = (symbol >= 0) & ((binary.left < 0) | (rule >= 0))
    grammar = binarized.grammar
    at = np.concatenate([[0], np.cumsum(np.where(symbol >= 0, grammar.n_states[np.maximum(symbol, 0)], 1))])
    vectors, words = _leaves(binarized, binary, symbol, at)
    nodes = BinaryNodes(symbol, binary.left, binary.right, rule, at)
    tensors, totals = RuleTensors(grammar.tensors, grammar.offsets), np.full(len(binary), -np.inf)
    scales, room = np.zeros(len(symbol)), np.zeros(int(grammar.n_states.max(initial=1)) ** 2)
    for tree, (low, high) in enumerate(zip(binary.starts[:-1], binary.starts[1:], strict=True)):
        if good[low:high].all():
            logs = tree_insides(low, high, nodes, tensors, vectors, scales, room)
            value = float(grammar.root(int(symbol[high - 1])) @ vectors[at[high - 1] : at[high]])
            if value > 0 and np.isfinite(logs):
                totals[tree] = logs + np.log(value) + words[low:high].sum()
    return totals


def _known_symbols(
    binarized: BinarizedGrammar, symbols: Symbols, labels: tuple[tuple[str, ...], ...]
) -> Int32s:
    """The number of each symbol in the grammar, -1 for none."""
    known = {_meaning(binarized.symbols, binarized.labels, s): s for s in range(len(binarized.symbols))}
    found = [known.get(_meaning(symbols, labels, s), -1) for s in range(len(symbols))]
    return np.array(found, dtype=np.int32)


def _meaning(symbols: Symbols, labels: tuple[tuple[str, ...], ...], symbol: int) -> tuple[int, str]:
    return int(symbols.kind[symbol]), symbols.name(symbol, labels)


def _known_rules(binarized: BinarizedGrammar, binary: BinaryPhrases, symbol: Int32s) -> Int32s:
    n = len(binarized.symbols)
    rules = binarized.grammar.rules.astype(np.int64)
    keys = (rules[:, 1] * n + rules[:, 2]) * n + rules[:, 0]
    inner = np.flatnonzero(binary.left >= 0)
    parts = [symbol[nodes].astype(np.int64) for nodes in (binary.left[inner], binary.right[inner], inner)]
    wanted = (parts[0] * n + parts[1]) * n + parts[2]
    place = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    fits = np.all([part >= 0 for part in parts], axis=0)
    if len(keys):
        fits &= keys[place] == wanted
    else:
        fits[:] = False
    rule = np.full(len(symbol), -1, dtype=np.int32)
    rule[inner] = np.where(fits, place, -1)
    return rule


def _leaves(
    binarized: BinarizedGrammar, binary: BinaryPhrases, symbol: Int32s, at: Int64s
) -> tuple[Floats, Floats]:
    """Vectors with those of leaves filled in, and log P(w) at leaves."""
    forest, lexicon = binarized.forest, binarized.passes[-1].lexicon
    texts = binary.phrases.words
    nodes = np.array([forest.node(text) for text in texts], dtype=np.int64)
    logs = np.array([forest.log_frequency(text) for text in texts])
    leaves = np.flatnonzero((binary.word >= 0) & (symbol >= 0))
    scores, begin = lexicon.vectors(nodes[binary.word[leaves]], symbol[leaves])
    vectors = np.zeros(int(at[-1]))
    sizes = np.diff(begin)
    vectors[np.arange(int(begin[-1])) + np.repeat(at[leaves] - begin[:-1], sizes)] = scores
    return vectors, np.where(binary.word >= 0, logs[binary.word], 0.0)


@dataclass(frozen=True, eq=False)
class TreeSampler:
    """Draws trees; what it needs of a symbol and state is worked out when first met."""

    binarized: BinarizedGrammar

    def sample(self, rng: np.random.Generator) -> Tree:
        """One tree; a draw that grows beyond all measure is given up and drawn anew."""
        for _ in range(_MOST_DRAWS):
            tree = self._drawn(rng)
            if tree is not None:
                return tree
        raise InputError("trees of this grammar grow without end; learn it again")

    def _drawn(self, rng: np.random.Generator) -> Tree | None:
        grammar = self.binarized.grammar
        state = _choice(grammar.roots, rng)
        symbol = int(np.searchsorted(grammar.state_at, state, side="right")) - 1
        waiting: list[tuple[int, int] | None] = [(symbol, state - int(grammar.state_at[symbol]))]
        opened: list[int] = []
        done: list[list[Tree | str]] = [[]]  # children of the phrases that are open
        budget = _MOST_NODES
        while waiting:
            node = waiting.pop()
            if node is None:
                children = done.pop()
                done[-1].append(self._labelled(opened.pop(), tuple(children)))
                continue
            budget -= 1
            if budget < 0:
                return None
            a, x = node
            if a < self.binarized.symbols.n_leaves:
                done[-1].append(self._labelled(a, (self._word(a, x, rng),)))
                continue
            if self.binarized.symbols.kind[a] == PHRASE:
                opened.append(a)
                done.append([])
                waiting.append(None)
            left, right = self._children(a, x, rng)
            waiting += [right, left]
        tree = done[0][0]
        return tree if isinstance(tree, Tree) else None

    def _labelled(self, symbol: int, children: tuple[Tree | str, ...]) -> Tree:
        chain = self.binarized.labels[int(self.binarized.symbols.label[symbol])]
        tree = Tree(chain[-1], children)
        for label in reversed(chain[:-1]):
            tree = Tree(label, (tree,))
        return tree

    def _children(self, a: int, x: int, rng: np.random.Generator) -> tuple[tuple[int, int], tuple[int, int]]:
        grammar = self.binarized.grammar
        rules = self._rules.get(a)
        if rules is None:
            raise InputError(f"no rule rewrites {self._labelled(a, ()).label}; learn the grammar again")
        tables = [np.maximum(grammar.tensor(rule)[:, :, x], 0.0) for rule in rules]
        rule = _choice(np.array([table.sum() for table in tables]), rng)
        table = tables[rule]
        y, z = divmod(_choice(table.ravel(), rng), table.shape[1])
        _, b, c = grammar.rules[rules[rule]].tolist()
        return (b, y), (c, z)

    @cached_property
    def _rules(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for rule, a in enumerate(self.binarized.grammar.rules[:, 0].tolist()):
            found.setdefault(a, []).append(rule)
        return found

    def _word(self, a: int, z: int, rng: np.random.Generator) -> str:
        words, weights = self._words.get(a, ([], None))
        if weights is None:
            raise InputError(f"no word has the tag {self._labelled(a, ()).label}; learn the grammar again")
        return words[_choice(weights[:, z], rng)]

    @cached_property
    def _words(self) -> dict[int, tuple[list[str], Floats]]:
        """For every leaf symbol its words, and how often each has each state."""
        lexicon, forest = self.binarized.passes[-1].lexicon, self.binarized.forest
        texts = list(forest.words)
        node = np.repeat(np.arange(len(forest.above)), np.diff(forest.starts))
        found = {}
        for a in range(len(forest.tags)):
            pairs = np.flatnonzero((forest.symbols == a) & (node < len(texts)))
            rows = [lexicon.values[lexicon.offsets[p] : lexicon.offsets[p + 1]] for p in pairs.tolist()]
            if rows:
                found[a] = [texts[node[p]] for p in pairs.tolist()], np.stack(rows)
        return found


def _choice(weights: Floats, rng: np.random.Generator) -> int:
    running = np.cumsum(np.maximum(weights, 0.0))
    if running[-1] <= 0:
        return int(rng.integers(len(weights)))
    return int(np.searchsorted(running, rng.random() * running[-1], side="right"))
