"""Counting the modifiers of lexicalised heads: LEX, LEX+F, LEX+FCP, see `dependency.model.lexical`."""

from __future__ import annotations

from collections import Counter

import numpy as np

from sigmastar.core.alphabet import Alphabet
from sigmastar.dependency.data.sequences import ROOT
from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.dependency.model.lexical import STATES, LexicalGrammar

__all__ = ["STATES", "learn_lexical"]

LEAST_COUNT = 3


def learn_lexical(
    treebank: DependencyTreebank, states: str = "lex+fcp", least_count: int = LEAST_COUNT
) -> LexicalGrammar:
    """Count the modifiers of every head; words rarer than `least_count` are known by their tags."""
    words = Alphabet(word for word, n in Counter(treebank.form).items() if n >= least_count)
    tags = Alphabet([ROOT, *sorted(set(treebank.xpos) - {ROOT})])
    nothing = np.zeros((0, 6), dtype=np.int32)
    empty = LexicalGrammar(states, words, tags, nothing, np.zeros(0, dtype=np.int64))
    _, rows = empty.rows(treebank)
    events, counts = np.unique(rows, axis=0, return_counts=True)
    return LexicalGrammar(states, words, tags, events, counts)
