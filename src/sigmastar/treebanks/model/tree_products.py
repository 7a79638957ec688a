"""Trees that several grammars agree on, as wholes.

    worth(tree) = sum over grammars of log P(tree)

A product of grammars, over whole trees instead of over labels or rules. It has no chart: candidates come from
what does, and are compared. A grammar that has no rule for a candidate counts it `_FLOOR` below its own best
one, so that a single grammar cannot veto; one that can build no candidate has no part.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sigmastar.core.arrays import Floats
from sigmastar.treebanks.data.phrases import phrases
from sigmastar.treebanks.model.binarized_grammar import BinarizedGrammar
from sigmastar.treebanks.model.whole_trees import tree_log_probabilities
from sigmastar.trees.data.tree import Tree

_FLOOR = 30.0  # nats


def tree_products(grammars: Sequence[BinarizedGrammar], trees: Sequence[Tree]) -> Floats:
    """The worth of each tree over the same words; -inf everywhere if no grammar can build any of them."""
    if not trees:
        return np.zeros(0)
    bank = phrases(list(trees))
    found = [tree_log_probabilities(grammar, bank) for grammar in grammars]
    taking_part = [logs for logs in found if np.isfinite(logs.max(initial=-np.inf))]
    if not taking_part:
        return np.full(len(trees), -np.inf)
    worth: Floats = np.sum([np.maximum(logs, logs.max() - _FLOOR) for logs in taking_part], axis=0)
    return worth
