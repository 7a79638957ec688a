"""Figure 2 of Luque et al. (2012): lexicalised deterministic grammars, alone and with hidden states."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.dependency.kernels.eisner import sentence_marginals
from sigmastar.dependency.kernels.projective import best_tree
from sigmastar.dependency.learn.lexical import STATES, learn_lexical
from sigmastar.dependency.model.head_automata import HeadAutomata
from sigmastar.dependency.model.parser import DependencyParser

Scores = dict[tuple[str, int | None], float]
"""UAS by grammar and number of hidden states (None: no hidden states)."""


def lexical_scores(
    train: DependencyTreebank,
    dev: DependencyTreebank,
    parser: DependencyParser,
    hidden: Mapping[int, HeadAutomata],
) -> Scores:
    """UAS on dev of every grammar by itself and with every hidden-state model."""
    beside: dict[int | None, HeadAutomata] = {None: HeadAutomata.neutral(parser.alphabet)}
    beside |= {n: automata for n, automata in hidden.items()}  # noqa: C416, for mypy: keys of another type
    scores: Scores = {}
    for states in STATES:
        grammar = learn_lexical(train, states)
        right = dict.fromkeys(beside, 0)
        for number, (low, high) in enumerate(pairwise(dev.sentence_offsets.tolist())):
            one = dev.select([number])
            tables = grammar.weights(one.form, one.xpos)
            for n, automata in beside.items():
                heads = parse_sentence(parser, automata, one, *tables)
                right[n] += int((heads == dev.head[low:high]).sum())
        scores |= {(grammar.states, n): hits / dev.n_words for n, hits in right.items()}
    return scores


def parse_sentence(
    parser: DependencyParser,
    automata: HeadAutomata,
    sentence: DependencyTreebank,
    weights: NDArray[np.float64],
    stops: NDArray[np.float64],
    classes: NDArray[np.int32],
) -> NDArray[np.int32]:
    """Heads by the product of automata and of a lexicalised grammar; -1 where it has no weight."""
    codes = parser.vocabulary.codes(sentence)
    scales = np.append(1.0, parser.scales[codes])
    known = np.append(len(parser.alphabet), codes).astype(np.int32)
    sign, _, marginals = sentence_marginals(known, classes, automata.arrays, weights, stops, scales)
    return best_tree(marginals, parser.single_root) if sign > 0 else np.full(len(codes), -1, dtype=np.int32)
