"""Automata over classes of symbols, for alphabets that are too large for an operator per symbol.

    A_w = p(w | c) A_c       c the class of the symbol w: n^2 x classes + symbols numbers, not n^2 x symbols
    p(w | past) = (1 - r) p_classes(c | past) p(w | c) + r p_ngram(w | past)

The rate r depends on how long the context of the n-gram is, and on how much of it is left to shorter ones
(`model.ngram_smoothing.cells_of`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sigmastar.automata.data.strings import PrefixTrie, Strings
from sigmastar.automata.kernels.leaders import ClassLists, best_of_classes, class_lists
from sigmastar.automata.kernels.values import gap_nodes
from sigmastar.automata.model.automaton import WeightedAutomaton, gap_probabilities
from sigmastar.automata.model.ngram_smoothing import NgramModel, cells_of, n_cells
from sigmastar.automata.model.restart_filter import FilteredAutomaton
from sigmastar.automata.model.sequence import next_distribution, sample_lockstep
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Array, Floats, Int32s
from sigmastar.core.model_reading import above, below
from sigmastar.core.notebook import Shown
from sigmastar.core.stored_parts import Parts, floats, indices, one_of

Inner = WeightedAutomaton | FilteredAutomaton
FORMS: dict[str, Any] = {"automaton": WeightedAutomaton, "filtered": FilteredAutomaton}


@dataclass(frozen=True, eq=False)
class ClassedSymbols:
    """Classes of symbols, and the share of each symbol in its class."""

    alphabet: Alphabet
    class_of: Int32s
    shares: Floats

    @cached_property
    def classes(self) -> Alphabet:
        return Alphabet(range(int(self.class_of.max(initial=-1)) + 1))

    def classed(self, strings: Strings) -> Strings:
        """Strings of classes; unknown symbols stay unknown."""
        codes = strings.codes
        found = np.where(codes >= 0, self.class_of[np.maximum(codes, 0)], -1).astype(np.int32)
        return Strings(self.classes, found, strings.offsets)

    def shares_of(self, outcomes: Array) -> Floats:
        """The share of each outcome in its class; that of the end is one."""
        return np.asarray(np.append(self.shares, 1.0)[outcomes])

    def spread(self, rows: Floats) -> Floats:
        """Distributions over symbols and the end, from those over classes and the end."""
        found = np.empty((len(rows), len(self.class_of) + 1))
        np.take(rows, self.class_of, axis=1, out=found[:, :-1])
        found[:, :-1] *= self.shares
        found[:, -1] = rows[:, -1]
        return found


@dataclass(frozen=True, eq=False)
class ClassedAutomaton(Shown):
    """A distribution on strings by an automaton over classes of symbols and by n-grams, mixed by context."""

    symbols: ClassedSymbols
    inner: Inner  # over the classes
    ngram: NgramModel
    rates: Floats  # of the n-gram, by cell

    @property
    def alphabet(self) -> Alphabet:
        return self.symbols.alphabet

    @property
    def n_states(self) -> int:
        inner = self.inner.automaton if isinstance(self.inner, FilteredAutomaton) else self.inner
        return inner.n_states

    @cached_property
    def rate_of(self) -> Floats:
        """The rate of the n-gram in each of its contexts."""
        return np.asarray(self.rates[cells_of(self.ngram)])

    def gap_probabilities(self, strings: Strings) -> Floats:
        """The probability of what follows each gap."""
        known = Strings.of(strings, None, self.alphabet, True)
        contexts, outcomes = self.ngram.contexts.classify(known), known.outcomes.astype(np.int32)
        rates = self.rate_of[contexts]
        by_classes = class_probabilities(self.inner, self.symbols, known)
        return np.asarray((1.0 - rates) * by_classes + rates * self.ngram.probabilities(contexts, outcomes))

    def log_probability(self, strings: Strings) -> Floats:
        with np.errstate(divide="ignore"):
            logs = np.log(self.gap_probabilities(strings))
        return np.add.reduceat(logs, strings.offsets[:-1] + np.arange(len(strings))) if len(strings) else logs

    def gap_distributions(self, strings: Strings) -> Floats:
        known = Strings.of(strings, None, self.alphabet, True)
        rows = self.inner.gap_distributions(self.symbols.classed(known))
        return self.mixed(rows, self.ngram.contexts.classify(known))

    def gap_best(self, strings: Strings, include_end: bool = True) -> Int32s:
        """The most probable of what may follow each gap, without a table of all symbols."""
        known = Strings.of(strings, None, self.alphabet, True)
        rows = self.inner.gap_distributions(self.symbols.classed(known))
        contexts = self.ngram.contexts.classify(known)
        given = rows, self.rate_of[contexts], contexts, self._lists, self.ngram.tables
        return best_of_classes(*given, len(self.alphabet) + include_end)

    @cached_property
    def _lists(self) -> ClassLists:
        return class_lists(self.symbols.class_of, self.symbols.shares, self.ngram.base)

    def next_distribution(self, prefixes: Strings) -> Floats:
        """What comes after each prefix, the end last: no other gap is looked at."""
        known = Strings.of(prefixes, None, self.alphabet, True)
        last = known.offsets[1:] + np.arange(len(known))
        rows = next_distribution(self.inner, self.symbols.classed(known))
        return self.mixed(rows, self.ngram.contexts.classify(known)[last])

    def mixed(self, rows: Floats, contexts: Int32s) -> Floats:
        """Next symbols from next classes, and from the contexts of the n-gram."""
        rates = self.rate_of[contexts][:, None]
        found, mine = self.symbols.spread(rows), self.ngram.distributions(contexts)
        mine *= rates  # in place: tables of all symbols are what queries take their time for
        found *= 1.0 - rates
        found += mine
        return found

    def sample(self, n_strings: int, rng: np.random.Generator, max_length: int = 10_000) -> Strings:
        from sigmastar.automata.model.runtime import steps_of  # which knows this class

        steps = steps_of(self)
        return sample_lockstep(
            self.alphabet, n_strings, rng, max_length, steps.start, steps.distributions, steps.advance
        )

    PARTS: ClassVar[Parts] = Parts(
        header={"alphabet": Alphabet, "form": one_of(*FORMS)},
        sizes={"symbols": "alphabet"},
        inner=("inner.", "ngram."),
        arrays={
            "class_of": indices("symbols", of="classes"),
            "shares": floats("symbols", least=0.0, most=1.0),
            "rates": floats("cells", least=0.0, most=1.0),
        },
    )

    def to_parts(self) -> tuple[dict[str, Array], dict[str, Any]]:
        form = next(name for name, kind in FORMS.items() if isinstance(self.inner, kind))
        arrays = above("inner.", self.inner.to_parts()[0]) | above("ngram.", self.ngram.to_parts()[0])
        symbols = self.symbols
        arrays |= {"class_of": symbols.class_of, "shares": symbols.shares, "rates": self.rates}
        return arrays, {"alphabet": self.alphabet, "form": form}

    @classmethod
    def from_parts(cls, arrays: dict[str, Array], header: dict[str, Any]) -> ClassedAutomaton:
        n_classes = int(np.max(arrays["class_of"], initial=-1)) + 1
        if n_classes > arrays["class_of"].size:  # each has a symbol: before any memory is taken for them
            raise ValueError("'class_of' has more classes than symbols")
        classes = Alphabet(range(n_classes))
        cls.PARTS.check(arrays, header, classes=len(classes))
        inner = FORMS[header["form"]].from_parts(below("inner.", arrays), {"alphabet": classes})
        ngram = NgramModel.from_parts(below("ngram.", arrays), {"alphabet": header["alphabet"]})
        if len(arrays["rates"]) != n_cells(ngram):
            raise ValueError("there must be one rate per cell of contexts")
        symbols = ClassedSymbols(header["alphabet"], arrays["class_of"], arrays["shares"])
        return cls(symbols, inner, ngram, arrays["rates"])


def class_probabilities(inner: Inner, symbols: ClassedSymbols, strings: Strings) -> Floats:
    """What an automaton over classes gives to the symbol or end that follows each gap."""
    classed, outcomes = symbols.classed(strings), strings.outcomes
    if isinstance(inner, FilteredAutomaton):
        trie = PrefixTrie.of(classed)
        edges, ends = inner.step_probabilities(trie)
        nodes = gap_nodes(trie.parent, trie.string_node, classed.offsets)
        following = np.append(nodes[1:], 0)  # of a string's gaps, each node is the child of the one before
        found = np.where(outcomes == len(symbols.alphabet), ends[nodes], edges[following])
    else:
        found = gap_probabilities(inner, classed)
    return np.where(outcomes >= 0, found * symbols.shares_of(outcomes), 0.0)
