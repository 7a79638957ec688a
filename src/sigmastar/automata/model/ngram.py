"""Back-off models of the next symbol: n-grams of fixed or variable order.

p(x1 .. xT) = prod_t p(x_t | longest stored context of x_1 .. x_t-1) . p(end | ..)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sigmastar.automata.counts.ngram_smoothing import Backoff, NextCounts, Smoothing, witten_bell
from sigmastar.automata.data.contexts import ContextTrie
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.sequence import sample_lockstep
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Array, Floats, Int32s, Int64s
from sigmastar.core.jit import kernel
from sigmastar.core.parts import Parts, floats, indices, parents, rises_within, row_starts

_ONE = 1.0 + 1e-6  # probabilities, with what rounding adds
N_SHARES = 12  # of what is left to shorter contexts


class _BackoffTables(NamedTuple):
    """The parent of each context, where its row begins, outcomes and values in it, its back-off weight."""

    parent: Int32s
    row_starts: Int64s
    row_outcomes: Int32s
    own: Floats
    backoff: Floats
    n_outcomes: int


@dataclass(frozen=True, eq=False)
class NgramModel:
    """A distribution on strings by smoothed next-symbol distributions in context."""

    alphabet: Alphabet
    contexts: ContextTrie
    rows: Backoff

    @classmethod
    def of_counts(
        cls, alphabet: Alphabet, counts: NextCounts, smoothing: Smoothing = witten_bell
    ) -> NgramModel:
        return cls(alphabet, counts.trie, smoothing(counts))

    @property
    def n_outcomes(self) -> int:
        return len(self.alphabet) + 1

    def probabilities(self, contexts: Int32s, outcomes: Int32s) -> Floats:
        """p(outcome | context) for pairs of codes; the end of string is coded `len(alphabet)`."""
        result = np.zeros(len(contexts))
        _outcome_probabilities(contexts, outcomes, self._tables, result)
        return result

    def distributions(self, contexts: Int32s) -> Floats:
        result = np.zeros((len(contexts), self.n_outcomes))
        _outcome_distributions(contexts, self._tables, result)
        return result

    def log_probability(self, strings: Strings) -> Floats:
        strings = strings.recoded(self.alphabet, allow_unknown=True)
        outcomes = strings.outcomes.astype(np.int32)
        with np.errstate(divide="ignore"):
            logs = np.log(self.probabilities(self.contexts.classify(strings), outcomes))
        return np.add.reduceat(logs, strings.offsets[:-1] + np.arange(len(strings))) if len(strings) else logs

    def gap_distributions(self, strings: Strings) -> Floats:
        return self.distributions(self.contexts.classify(strings.recoded(self.alphabet, allow_unknown=True)))

    def sample(self, n_strings: int, rng: np.random.Generator, max_length: int = 10_000) -> Strings:
        return sample_lockstep(
            self.alphabet,
            n_strings,
            rng,
            max_length,
            start=lambda size: np.full(size, self.contexts.start, dtype=np.int32),
            distributions=self.distributions,
            advance=lambda classes, rows, symbols: self.contexts.follow(classes[rows], symbols),
        )

    PARTS: ClassVar[Parts] = Parts(
        header={"alphabet": Alphabet},
        sizes={"symbols": "alphabet"},
        arrays={
            "context_parent": parents("contexts"),
            "context_symbol": indices("contexts", of="symbols+1", least=-1),
            "row_starts": row_starts("contexts", of="entries"),
            "outcomes": indices("entries", of="symbols+1"),
            "own": floats("entries", least=0.0, most=_ONE),
            "backoff": floats("contexts", least=0.0, most=_ONE),
        },
    )

    def to_parts(self) -> tuple[dict[str, Array], dict[str, Any]]:
        rows, contexts = self.rows, self.contexts
        arrays: dict[str, Array] = {
            "context_parent": contexts.parent,
            "context_symbol": contexts.symbol,
            "row_starts": rows.row_starts,
            "outcomes": rows.outcomes,
            "own": rows.own,
            "backoff": rows.backoff,
        }
        return arrays, {"alphabet": self.alphabet}

    @classmethod
    def from_parts(cls, arrays: dict[str, Array], header: dict[str, Any]) -> NgramModel:
        sizes = cls.PARTS.check(arrays, header)
        symbols, outcomes = arrays["context_symbol"], arrays["outcomes"]
        if not sizes["contexts"] or symbols[1:].min(initial=0) < 0:
            raise ValueError("the contexts of a back-off model are no trie of symbols")
        if not rises_within(outcomes, arrays["row_starts"]):
            raise ValueError("the outcomes of each context must be sorted")
        contexts = ContextTrie(sizes["symbols"], "past", arrays["context_parent"], symbols)
        rows = Backoff(arrays["row_starts"], outcomes, arrays["own"], arrays["backoff"])
        return cls(header["alphabet"], contexts, rows)

    @property
    def _tables(self) -> _BackoffTables:
        rows, parent = self.rows, self.contexts.parent
        return _BackoffTables(parent, rows.row_starts, rows.outcomes, rows.own, rows.backoff, self.n_outcomes)


def n_cells(ngram: NgramModel) -> int:
    return (int(ngram.contexts.depth.max()) + 1) * N_SHARES


def cells_of(ngram: NgramModel) -> Int32s:
    """The cell of every context: its length, and how much is left to shorter ones."""
    shares = np.minimum((ngram.rows.backoff * N_SHARES).astype(np.int32), N_SHARES - 1)
    return np.asarray(ngram.contexts.depth * N_SHARES + shares, dtype=np.int32)


@kernel
def _outcome_probabilities(
    contexts: Int32s, outcomes: Int32s, tables: _BackoffTables, result: Floats
) -> None:
    """p(outcome | context) for pairs of them, added to `result`; an unknown outcome (negative) has none."""
    parent, row_starts, row_outcomes, own, backoff, n_outcomes = tables
    for pair in range(len(contexts)):
        node, outcome, weight = contexts[pair], outcomes[pair], 1.0
        if outcome < 0:
            continue
        while True:
            low, high = row_starts[node], row_starts[node + 1]
            while low < high:
                middle = (low + high) // 2
                if row_outcomes[middle] < outcome:
                    low = middle + 1
                else:
                    high = middle
            if low < row_starts[node + 1] and row_outcomes[low] == outcome:
                result[pair] += weight * own[low]
            weight *= backoff[node]
            if node == 0:
                break
            node = parent[node]
        result[pair] += weight / n_outcomes


@kernel
def _outcome_distributions(contexts: Int32s, tables: _BackoffTables, result: Floats) -> None:
    """p(. | context) for each context, into rows of zeros, which then sum to one."""
    parent, row_starts, row_outcomes, own, backoff, n_outcomes = tables
    for row in range(len(contexts)):
        node, weight = contexts[row], 1.0
        while True:
            for at in range(row_starts[node], row_starts[node + 1]):
                result[row, row_outcomes[at]] += weight * own[at]
            weight *= backoff[node]
            if node == 0:
                break
            node = parent[node]
        total = 0.0
        for outcome in range(n_outcomes):
            result[row, outcome] += weight / n_outcomes
            total += result[row, outcome]
        for outcome in range(n_outcomes):
            result[row, outcome] /= total
