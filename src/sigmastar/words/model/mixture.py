"""Words by hidden states and by n-grams, mixed by context.

    p(w | past) = (1 - r) p_states(w | past) + r p_ngram(w | past)

The rate r depends on how long the context of the n-gram is, and on how much of it is left to shorter ones:
long contexts that are well known are trusted more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np

from sigmastar.automata.data.contexts import ContextTrie
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.kernels.leaders import Leaders, best_outcomes, leaders_of
from sigmastar.automata.model.hmm_conversion import Hmm
from sigmastar.automata.model.ngram_smoothing import Backoff, NgramModel, cells_of, n_cells
from sigmastar.automata.model.sequence import sample_lockstep
from sigmastar.core.alphabet import END, Alphabet
from sigmastar.core.arrays import Array, Floats, Indices, Int32s, Reals
from sigmastar.core.notebook import Shown
from sigmastar.core.stored_parts import Parts, floats, indices, parents, rises_within, row_starts
from sigmastar.words.kernels.queries import mix_columns
from sigmastar.words.model.hmm import WordHmm, declared, log_sums

_ONE = 1.0 + 1e-6

State = tuple[Reals, Int32s]


@dataclass(frozen=True, eq=False)
class WordMixture(Shown):
    """A distribution on strings of words by hidden states and n-grams."""

    states: WordHmm
    ngram: NgramModel
    rates: Floats  # of the n-gram, by cell

    @property
    def alphabet(self) -> Alphabet:
        return self.states.alphabet

    @property
    def n_states(self) -> int:
        return self.states.n_states

    @cached_property
    def rate_of(self) -> Floats:
        """The rate of the n-gram in each of its contexts."""
        return np.asarray(self.rates[cells_of(self.ngram)])

    def gap_probabilities(self, strings: Strings) -> Floats:
        """The probability of what follows each gap."""
        known = Strings.of(strings, None, self.alphabet, True)
        contexts = contexts_of(self.ngram, known, self.states.is_stream)
        mine = self.ngram.probabilities(contexts, known.outcomes.astype(np.int32))
        rates = self.rate_of[contexts]
        return np.asarray((1.0 - rates) * self.states.gap_probabilities(known) + rates * mine)

    def log_probability(self, strings: Strings) -> Floats:
        return log_sums(strings, self.gap_probabilities(strings))

    def gap_distributions(self, strings: Strings) -> Floats:
        known = Strings.of(strings, None, self.alphabet, True)
        return self._mixed(
            self.states.gap_distributions(known), contexts_of(self.ngram, known, self.states.is_stream)
        )

    def gap_best(self, strings: Strings, include_end: bool = True) -> Int32s:
        """The most probable of what may follow each gap, without a table of all words."""
        known = Strings.of(strings, None, self.alphabet, True)
        beliefs = self.states.beliefs(known, np.ones(known.n_gaps, dtype=bool), self.states.is_stream)
        contexts = contexts_of(self.ngram, known, self.states.is_stream)
        given = beliefs, self.rate_of[contexts], contexts, self._leaders, self.ngram.tables
        return best_outcomes(*given, len(self.alphabet) + include_end)[0]

    @cached_property
    def _leaders(self) -> Leaders:
        return leaders_of(self.states.emissions.by_word, self.ngram.base)

    def next_distribution(self, prefixes: Strings) -> Floats:
        """What comes after each prefix, the end last: no other gap is looked at."""
        known = Strings.of(prefixes, None, self.alphabet, True)
        contexts = contexts_of(self.ngram, known, self.states.is_stream, apart=True)
        last = contexts[known.offsets[1:] + np.arange(len(known))]
        found = np.ascontiguousarray(self.states.emissions.columns(self.states.next_beliefs(known)))
        rows = np.empty((len(known), len(found)))
        mix_columns(found, self.rate_of[last], last, self.ngram.tables, rows)
        return rows

    def sample(self, n_strings: int, rng: np.random.Generator, max_length: int = 10_000) -> Strings:
        first = contexts_of(self.ngram, _empty(self.alphabet), self.states.is_stream, apart=True)[0]

        def start(size: int) -> State:
            return self.states.start(size), np.full(size, first, dtype=np.int32)

        def advance(state: State, rows: Indices, symbols: Indices) -> State:
            beliefs, contexts = state
            following = self.ngram.contexts.follow(contexts[rows], symbols.astype(np.int32))
            return self.states.advance(beliefs, rows, symbols), following

        def distributions(state: State) -> Floats:
            return self._mixed(self.states.rows(state[0]), state[1])

        return sample_lockstep(self.alphabet, n_strings, rng, max_length, start, distributions, advance)

    def to_hmm(self) -> Hmm:
        """The hidden states alone, all numbers written out."""
        return self.states.to_hmm()

    def _mixed(self, rows: Floats, contexts: Int32s) -> Floats:
        """In place: `rows` are new, and tables of all words are what queries take their time for."""
        rates = self.rate_of[contexts][:, None]
        mine = self.ngram.distributions(contexts)
        mine *= rates
        rows *= 1.0 - rates
        rows += mine
        return rows

    PARTS: ClassVar[Mapping[str, Parts]] = declared(
        {
            "ngram_context_parent": parents("contexts"),
            "ngram_context_symbol": indices("contexts", of="words+1", least=-1),
            "ngram_row_starts": row_starts("contexts", of="outcomes"),
            "ngram_outcomes": indices("outcomes", of="words"),
            "ngram_own": floats("outcomes", least=0.0, most=_ONE),
            "ngram_backoff": floats("contexts", least=0.0, most=_ONE),
            "rates": floats("cells", least=0.0, most=1.0),
        }
    )

    def to_parts(self) -> tuple[dict[str, Array], dict[str, Any]]:
        arrays, header = self.states.to_parts()
        mine, _ = self.ngram.to_parts()
        return {
            **arrays,
            **{f"ngram_{name}": array for name, array in mine.items()},
            "rates": self.rates,
        }, header

    @classmethod
    def from_parts(cls, arrays: dict[str, Array], header: dict[str, Any]) -> WordMixture:
        states = WordHmm.from_parts(arrays, header, cls.PARTS)
        outcomes, symbols = arrays["ngram_outcomes"], arrays["ngram_context_symbol"]
        starts, parent = arrays["ngram_row_starts"], arrays["ngram_context_parent"]
        edge = len(states.alphabet) + states.is_stream
        if not len(parent) or symbols[1:].min(initial=0) < 0 or symbols.max() > edge:
            raise ValueError("the contexts of the n-gram are no trie of words")
        if not rises_within(outcomes, starts):
            raise ValueError("the outcomes of each context must be sorted")
        rows = Backoff(starts, outcomes, arrays["ngram_own"], arrays["ngram_backoff"])
        ngram = NgramModel(states.alphabet, ContextTrie(edge, "past", parent, symbols), rows)
        if len(arrays["rates"]) != n_cells(ngram):
            raise ValueError("there must be one rate per cell of contexts")
        return cls(states, ngram, arrays["rates"])


def contexts_of(ngram: NgramModel, strings: Strings, is_stream: bool, apart: bool = False) -> Int32s:
    """The context of every gap; in a stream contexts go over the ends of lines, unless lines are `apart`."""
    if not is_stream:
        return ngram.contexts.classify(strings)
    if not apart:
        return ngram.contexts.classify(as_stream(strings))[:-1]
    behind_end = np.insert(strings.codes, strings.offsets[:-1], np.int32(len(strings.alphabet)))
    lines = Strings(_with_end(strings.alphabet), behind_end, strings.offsets + np.arange(len(strings) + 1))
    first = lines.offsets[:-1] + np.arange(len(lines))
    return np.delete(ngram.contexts.classify(lines), first)


def as_stream(strings: Strings) -> Strings:
    """One string of all words and ends."""
    tokens = strings.outcomes.astype(np.int32)
    return Strings(_with_end(strings.alphabet), tokens, np.array([0, len(tokens)]))


@lru_cache(maxsize=4)
def _with_end(alphabet: Alphabet) -> Alphabet:  # made once: queries come in pieces
    return Alphabet((*alphabet, END))


def _empty(alphabet: Alphabet) -> Strings:
    return Strings(alphabet, np.empty(0, np.int32), np.zeros(2, np.int64))
