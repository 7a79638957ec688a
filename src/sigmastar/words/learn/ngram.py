"""The n-gram beside the states: modified Kneser-Ney, over lines or over a stream."""

from __future__ import annotations

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.learn.ngram import learn_ngram
from sigmastar.automata.model.ngram import NextCounts, NgramModel, modified_kneser_ney
from sigmastar.words.model.mixture import as_stream


def word_ngram(strings: Strings, order: int, is_stream: bool) -> NgramModel:
    """Modified Kneser-Ney; in a stream, contexts go over the ends of lines, which are words there."""
    if not is_stream:
        return learn_ngram(strings, order, modified_kneser_ney)
    found = NextCounts.of_ngrams(as_stream(strings), order, knows_last=False)
    return NgramModel.of_counts(strings.alphabet, found, modified_kneser_ney)
