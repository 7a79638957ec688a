"""Random grammars: acyclic in their unary rules, with words in longer rules too, subcritical."""

from __future__ import annotations

import numpy as np

from sigmastar.core.alphabet import Alphabet
from sigmastar.pcfg.data.rules import Grammar, Rule, Word
from sigmastar.pcfg.model.hidden_markov import HiddenMarkovModel
from sigmastar.pcfg.model.pcfg import ProbabilisticCFG


def random_pcfg(rng: np.random.Generator, n_nonterminals: int = 3, n_words: int = 2, zeros: bool = False):
    """A lexical rule for each non-terminal holds most of the probability, so that derivations end."""
    names = [f"N{k}" for k in range(n_nonterminals)]
    words = [Word(f"w{k}") for k in range(n_words)]
    rules: dict[Rule, float] = {}
    for k, left in enumerate(names):
        for word in words:
            if rng.random() < 0.8 or word is words[0]:
                rules[Rule(left, (word,))] = 2.0 + rng.random()
        if k + 1 < n_nonterminals:  # unary rules lead to later names only
            rules[Rule(left, (names[int(rng.integers(k + 1, n_nonterminals))],))] = rng.random()
        for _ in range(3):
            length = int(rng.integers(2, 4))
            parts = [(*names, *words)[int(rng.integers(n_nonterminals + n_words))] for _ in range(length)]
            rules[Rule(left, tuple(parts))] = rng.random()
    grammar = Grammar.of(rules)
    weights = np.array([rules[rule] for rule in grammar.rules])
    if zeros:
        weights *= rng.random(len(weights)) < 0.7
        weights[grammar.offsets[:-1]] += 2.0
    return ProbabilisticCFG.of_weights(grammar, weights)


def random_hmm(rng: np.random.Generator, n_states: int = 3, n_symbols: int = 3) -> HiddenMarkovModel:
    return HiddenMarkovModel.random(Alphabet([f"w{k}" for k in range(n_symbols)]), n_states, rng, stop=0.3)
