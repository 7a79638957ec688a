"""Which child of a phrase is its head, learnt from the treebank alone.

Every phrase of label X is explained by one of its children: child label c with probability theta(c | X),

    likelihood = product over phrases of sum over their children i of theta(label(i) | X)

EM drives theta towards the few labels that account for all expansions of X, which are its heads: IN for PP,
verbs for VP. Labels are told apart by their first letter too, which most tag sets choose alike for one word
class (NN, NNS; VBD, VBZ), so that rare tags follow frequent ones; and a phrase that repeats the label of its
parent is preferred over no other knowledge. No language is assumed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.treebanks.data.phrases import Ints, Phrases

_ROUNDS = 20


def head_children(bank: Phrases) -> Ints:
    """For every row the number of its head among its children, from 0; 0 for words."""
    starts, children = bank.children
    n_children = np.diff(starts)
    owner = np.repeat(np.arange(len(bank.label)), n_children)
    weights = _weights(bank, owner, children)
    position = np.arange(len(children)) - starts[:-1][owner]
    order = np.lexsort((position * _sides(bank, owner, weights, n_children, position), -weights, owner))
    first = order[np.searchsorted(owner[order], np.flatnonzero(n_children))]
    heads = np.zeros(len(bank.label), dtype=np.int32)
    heads[owner[first]] = position[first]
    return heads


def _sides(
    bank: Phrases,
    owner: NDArray[np.intp],
    weights: NDArray[np.float64],
    n_children: NDArray[np.int64],
    position: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Among equals the first child (1) or the last (-1): where heads of that label stand more often."""
    place = position / np.maximum(n_children[owner] - 1, 1) - 0.5
    total = np.bincount(bank.label[owner], weights * place, minlength=len(bank.labels))
    return np.where(total[bank.label[owner]] > 0, -1, 1)


def _weights(bank: Phrases, owner: NDArray[np.intp], children: Ints) -> NDArray[np.float64]:
    """The posterior of each child to be the head."""
    above, below = (
        _classes(bank, top=False)[bank.label[owner]],
        _classes(bank, top=True)[bank.label[children]],
    )
    pairs, pair = np.unique(above.astype(np.int64) << 32 | below, return_inverse=True)
    upper = np.unique(pairs >> 32, return_inverse=True)[1]
    posterior: NDArray[np.float64] = np.ones(len(pair))
    for _ in range(_ROUNDS):
        total = np.bincount(owner, posterior, minlength=len(bank.label))
        posterior /= total[owner]
        theta = np.asarray(np.bincount(pair, posterior, minlength=len(pairs)), dtype=np.float64)
        theta /= np.bincount(upper, theta)[upper]
        posterior = theta[pair]
    return posterior


def _classes(bank: Phrases, top: bool) -> Ints:
    """Labels by the end of the chain that matters: as children by their top, as parents by their bottom."""
    is_leaf = np.zeros(len(bank.labels), dtype=bool)
    is_leaf[bank.label[bank.word >= 0]] = True
    names = [
        chain[-1][0] if top and leaf and len(chain) == 1 else chain[0 if top else -1]
        for chain, leaf in zip(bank.labels, is_leaf.tolist(), strict=True)
    ]
    table = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([table[name] for name in names], dtype=np.int32)
