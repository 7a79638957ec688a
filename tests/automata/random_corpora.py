"""Random small corpora as coded words, for comparisons with brute force."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import strategies as st

from automata.random_automata import strings_of
from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet


class Corpus(NamedTuple):
    """Coded words, and the same as strings; code -1 is a symbol outside the alphabet."""

    words: list[tuple[int, ...]]
    strings: Strings

    @property
    def n_symbols(self) -> int:
        return len(self.strings.alphabet)


def corpus_of(words, n_symbols: int) -> Corpus:
    words = [tuple(word) for word in words]
    return Corpus(words, strings_of(words, Alphabet(range(n_symbols))))


@st.composite
def corpora(
    draw, min_strings: int = 0, max_strings: int = 8, max_length: int = 6, unknown: bool = False
) -> Corpus:
    """Few symbols, so that prefixes and contexts repeat; empty strings and no strings at all included."""
    n_symbols = draw(st.integers(1, 3))
    codes = st.integers(-1 if unknown else 0, n_symbols - 1)
    words = st.lists(st.lists(codes, max_size=max_length), min_size=min_strings, max_size=max_strings)
    return corpus_of(draw(words), n_symbols)
