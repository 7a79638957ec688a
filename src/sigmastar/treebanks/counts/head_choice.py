"""Which child of a phrase is its head, chosen from the treebank alone.

Every phrase of label X is explained by one of its children: child label c with probability theta(c | X),

    likelihood = product over phrases of sum over their children i of theta(label(i) | X)

EM drives theta towards the few labels that account for all expansions of X, which are its heads: IN for PP,
verbs for VP. Tags are told apart by their first letter alone, which most tag sets choose alike for one word
class (NN, NNS; VBD, VBZ), so that rare tags follow frequent ones. Among children of equal theta the head is
the first or the last one, wherever heads of that label stand more often. No language is assumed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.em import Problem, iterate
from sigmastar.treebanks.data.phrases import Phrases

_ROUNDS = 20


@dataclass(frozen=True)
class HeadChoice:
    """theta by the labels of phrase and child; and the chains whose head is the last of equal children."""

    theta: Mapping[tuple[str, str], float]
    from_right: frozenset[tuple[str, ...]]

    def heads(self, bank: Phrases) -> Int32s:
        """For every row the number of its head among its children, from 0; 0 for words."""
        children = _Children.of(bank)
        weights = np.array([self.theta.get(pair, 0.0) for pair in children.pairs] or [0.0])[children.pair]
        side = np.array([-1 if chain in self.from_right else 1 for chain in bank.labels])
        order = np.lexsort((children.position * side[bank.label[children.owner]], -weights, children.owner))
        parents = np.unique(children.owner)
        first = order[np.searchsorted(children.owner[order], parents)]
        heads = np.zeros(len(bank.label), dtype=np.int32)
        heads[parents] = children.position[first]
        return heads

    def to_header(self) -> dict[str, Any]:
        """As model files keep it."""
        theta = [[*pair, value] for pair, value in self.theta.items()]
        return {"theta": theta, "from_right": [list(chain) for chain in sorted(self.from_right)]}

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> HeadChoice:
        theta = {(above, below): float(value) for above, below, value in header["theta"]}
        return cls(theta, frozenset(tuple(chain) for chain in header["from_right"]))


def choose_heads(bank: Phrases) -> HeadChoice:
    """theta by EM, and the sides.

    Parameters
    ----------
    bank : Phrases
        The treebank.

    Returns
    -------
    HeadChoice
        For this treebank and others with its labels.
    """
    children = _Children.of(bank)
    upper = np.unique([above for above, _ in children.pairs], return_inverse=True)[1]
    theta = iterate(_problem(children, upper, len(bank.label)), np.ones(len(children.pairs)), _ROUNDS)
    n_children = np.bincount(children.owner, minlength=len(bank.label))[children.owner]
    place = children.position / np.maximum(n_children - 1, 1) - 0.5
    total = np.bincount(bank.label[children.owner], theta[children.pair] * place, minlength=len(bank.labels))
    from_right = frozenset(bank.labels[label] for label in np.flatnonzero(total > 0).tolist())
    return HeadChoice(dict(zip(children.pairs, theta.tolist(), strict=True)), from_right)


def _problem(children: _Children, upper: Int64s, n_rows: int) -> Problem[Floats, Floats]:
    """Counts are the sums of the posteriors of children; theta is their share among those of the phrase."""

    def expect(theta: Floats) -> tuple[Floats, float]:
        weights = theta[children.pair]
        total = np.bincount(children.owner, weights, minlength=n_rows)
        counts = np.bincount(children.pair, weights / total[children.owner], minlength=len(theta))
        return counts.astype(np.float64), float(np.log(total[total > 0]).sum())

    def maximize(counts: Floats) -> Floats:
        return np.asarray(counts / np.bincount(upper, counts)[upper])

    return Problem(expect, maximize, name="heads")


@dataclass(frozen=True, eq=False)
class _Children:
    """All children of all phrases, by pairs of labels."""

    owner: Int64s  # the row of the phrase
    position: Int64s  # among its children, from 0
    pairs: list[tuple[str, str]]
    pair: Int64s

    @classmethod
    def of(cls, bank: Phrases) -> _Children:
        starts, children = bank.children
        owner = np.repeat(np.arange(len(bank.label)), np.diff(starts))
        upper, lower = _names(bank, top=False), _names(bank, top=True)
        keys = bank.label[owner].astype(np.int64) << 32 | bank.label[children]
        distinct, place = np.unique(keys, return_inverse=True)
        named = [(upper[key >> 32], lower[key & 0xFFFFFFFF]) for key in distinct.tolist()]
        number = {name: k for k, name in enumerate(dict.fromkeys(named))}
        pair = np.array([number[name] for name in named] or [0])[place]
        return cls(owner, np.arange(len(children)) - starts[:-1][owner], list(number), pair)


def _names(bank: Phrases, top: bool) -> list[str]:
    """The end of each chain that matters: as a child its top, of a tag its first letter; else its bottom."""
    is_leaf = np.zeros(len(bank.labels), dtype=bool)
    is_leaf[bank.label[bank.word >= 0]] = True
    return [
        chain[-1][0] if top and leaf and len(chain) == 1 else chain[0 if top else -1]
        for chain, leaf in zip(bank.labels, is_leaf.tolist(), strict=True)
    ]
