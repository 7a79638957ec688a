"""log P(tree) under a member of a treebank parser: figure 2 of Cohen et al. (2012).

    P(tree) = sum over states of root * product of rules * product over words of score(a, z, w) P(w)

-inf where the tree has a rule or a label that the grammar does not have, or where a signed grammar gives
something that is not positive.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.treebanks.data.binary import BinaryPhrases, Symbols, binarize
from sigmastar.treebanks.data.head_choice import head_children
from sigmastar.treebanks.data.phrases import Ints, Longs, Phrases
from sigmastar.treebanks.kernels.states import tree_insides
from sigmastar.treebanks.model.binarized_grammar import Member

Array = NDArray[np.float64]


def tree_log_probabilities(member: Member, bank: Phrases) -> Array:
    """log P of every tree."""
    binary = binarize(bank, member.binarization, head_children(bank))
    known = _known_symbols(member, binary.symbols, bank.labels)
    symbol = known[binary.symbol]
    rule = _known_rules(member, binary, symbol)
    good = (symbol >= 0) & ((binary.left < 0) | (rule >= 0))
    grammar = member.grammar
    sizes = np.where(symbol >= 0, grammar.n_states[np.maximum(symbol, 0)], 1)
    at = np.concatenate([[0], np.cumsum(sizes)])
    vectors, words = _leaves(member, binary, symbol, at)
    totals = np.full(len(binary), -np.inf)
    scales, room = np.zeros(len(symbol)), np.zeros(int(grammar.n_states.max(initial=1)) ** 2)
    for tree, (low, high) in enumerate(zip(binary.starts[:-1], binary.starts[1:], strict=True)):
        if good[low:high].all():
            logs = tree_insides(
                low, high, symbol, binary.left, binary.right, rule, at, grammar.tensors, grammar.offsets,
                vectors, scales, room,
            )  # fmt: skip
            value = float(grammar.root(int(symbol[high - 1])) @ vectors[at[high - 1] : at[high]])
            if value > 0 and np.isfinite(logs):
                totals[tree] = logs + np.log(value) + words[low:high].sum()
    return totals


def _known_symbols(member: Member, symbols: Symbols, labels: tuple[tuple[str, ...], ...]) -> Ints:
    """The number of each symbol in the member, -1 for none."""
    mine = {_meaning(member.symbols, member.labels, s): s for s in range(len(member.symbols))}
    found = [mine.get(_meaning(symbols, labels, s), -1) for s in range(len(symbols))]
    return np.array(found, dtype=np.int32)


def _meaning(symbols: Symbols, labels: tuple[tuple[str, ...], ...], symbol: int) -> tuple[int, str]:
    return int(symbols.kind[symbol]), symbols.name(symbol, labels)


def _known_rules(member: Member, binary: BinaryPhrases, symbol: Ints) -> Ints:
    n = len(member.symbols)
    rules = member.grammar.rules.astype(np.int64)
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


def _leaves(member: Member, binary: BinaryPhrases, symbol: Ints, at: Longs) -> tuple[Array, Array]:
    """Vectors with those of leaves filled in, and log P(w) at leaves."""
    forest, lexicon = member.forest, member.stages[-1].lexicon
    texts = binary.phrases.words
    nodes = np.array([forest.node(text) for text in texts], dtype=np.int64)
    logs = np.array([forest.log_frequency(text) for text in texts])
    leaves = np.flatnonzero((binary.word >= 0) & (symbol >= 0))
    scores, begin = lexicon.vectors(nodes[binary.word[leaves]], symbol[leaves])
    vectors = np.zeros(int(at[-1]))
    sizes = np.diff(begin)
    vectors[np.arange(int(begin[-1])) + np.repeat(at[leaves] - begin[:-1], sizes)] = scores
    return vectors, np.where(binary.word >= 0, logs[binary.word], 0.0)
