"""Weighted grammars from bracketed strings by the spectral method (Bailly et al. 2013, section 3.2)."""

from __future__ import annotations

from sigmastar.core.recover import factorize_blocks, recover
from sigmastar.grammars.counts.bracketings import SpanBasis, count_brackets, frequent_spans
from sigmastar.grammars.data.bracketings import Bracketings
from sigmastar.grammars.model.grammar import WeightedGrammar


def learn_spectral_grammar(
    brackets: Bracketings, n_states: int, basis_factor: float = 1.0, basis: SpanBasis | None = None
) -> WeightedGrammar:
    """Count on the most frequent insides and outsides, factorise, recover; flat trees are made binary."""
    trees = brackets if brackets.is_binary else brackets.binary()
    blocks = count_brackets(trees, basis or frequent_spans(trees, basis_factor)).blocks()
    return WeightedGrammar.of_operators(recover(blocks, factorize_blocks(blocks, n_states)))
