"""Weighted grammars from bracketed strings by the spectral method: blocks, factorize, recover.

Bailly et al. (2013), section 3.2; the one formula is that of `core.recover`.
"""

from __future__ import annotations

from sigmastar.core.recover import Blocks, factorize_blocks, recover
from sigmastar.grammars.counts.bracketings import SpanBasis, count_brackets, frequent_spans
from sigmastar.grammars.data.bracketings import Bracketings
from sigmastar.grammars.model.grammar import WeightedGrammar


def learn_spectral_grammar(
    brackets: Bracketings, n_states: int, basis_factor: float = 1.0, basis: SpanBasis | None = None
) -> WeightedGrammar:
    """Count on the most frequent insides and outsides (or on a given basis), factorize, recover."""
    trees = brackets if brackets.is_binary else brackets.binary()
    counts = count_brackets(trees, basis or frequent_spans(trees, basis_factor))
    return grammar_of_blocks(counts.blocks(), n_states)


def grammar_of_blocks(blocks: Blocks, n_states: int) -> WeightedGrammar:
    """The grammar that reproduces the statistics of brackets."""
    return WeightedGrammar.of_operators(recover(blocks, factorize_blocks(blocks, n_states)))
