"""Words and the words around them: counts in a window, and their weightings, PPMI among them.

    counts[w, c] = #{(i, j): x_i = w, x_j = c, 0 < |i - j| <= window, within one sentence}

or, `sided`, the same for j < i and for j > i apart: twice as many columns, those of the left first. One pass;
each word has room for the smaller of the number of contexts and of all the neighbours it can have: so the
whole never exceeds what a dense table of the frequent words and a list of the neighbours of the others take.
Section 5 of Madhyastha et al. (2014) uses a window of 10 and the 2,000 most frequent words as contexts.

    raw     c(w, x)
    sqrt    sqrt c(w, x)                     tames the frequent contexts
    ppmi    max(0, log p(w, x) / (p(w) p(x)^a))   positive pointwise mutual information

With a = 0.75 contexts that are rare count as somewhat less rare, so that chance meetings with them do
not dominate (Levy, Goldberg and Dagan 2015).

Subsets of the four words of an attachment: as features, and as counts that back off.

    features    every subset of {verb, noun, preposition, second noun}, none left out (Ratnaparkhi et
                al. 1994: words, pairs, triples, the quadruple)
    backed off  the share of noun attachments among training items that agree in all four words; where
                there are none, in triples with the preposition; then pairs with it; then the
                preposition alone (Collins and Brooks 1995)

Numbers are one word: years and others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import sparse

from sigmastar.bilexical.data.quadruples import Quadruples
from sigmastar.bilexical.kernels import (
    CodedText,
    WindowCells,
    count_windows,
    distinct_contexts,
    gather_contexts,
)
from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.resources import require_memory

Counts = sparse.csr_array
Weighting = Callable[[Counts], Counts]

CONTEXT_POWER = 0.75
_MET_TWICE = 2.0
"""How often a neighbour is met, at the least: each time a code of four bytes, then one count of twelve."""


@dataclass(frozen=True, eq=False)
class WindowCounter:
    """Counts that grow sentence by sentence; `add` may be called as often as there is text.

    frequencies[w] bounds how often word w will be met; contexts are the words of code < n_contexts.
    """

    window: int
    n_contexts: int
    sided: bool
    table: WindowCells

    @classmethod
    def of(cls, frequencies: Int64s, n_contexts: int, window: int, sided: bool = False) -> WindowCounter:
        """An empty counter for words of known frequencies."""
        if window < 1:
            raise ValueError(f"window={window} must be 1 or more words to each side")
        n_contexts = min(n_contexts, len(frequencies))
        n_columns = n_contexts * (2 if sided else 1)
        neighbours = 2 * window * frequencies.astype(np.int64)
        starts = np.zeros(len(frequencies) + 1, dtype=np.int64)
        np.cumsum(np.minimum(neighbours, n_columns) + 1, out=starts[1:])  # one cell nobody reads
        require_memory(
            4.0 * float(starts[-1]) + 12.0 * float(starts[-1]) / _MET_TWICE,
            f"counting the neighbours of {len(frequencies):,} words",
            "use fewer contexts (n_contexts, --contexts), a smaller window or a larger min_count",
        )
        cells, filled = np.zeros(starts[-1], dtype=np.int32), np.zeros_like(starts[1:])
        return cls(window, n_contexts, sided, WindowCells(starts, neighbours >= n_columns, cells, filled))

    @property
    def n_columns(self) -> int:
        """Contexts, those of either side counted apart where they are."""
        return self.n_contexts * (2 if self.sided else 1)

    def add(self, codes: Int32s, offsets: Int64s) -> None:
        """Count the sentences `codes[offsets[i]:offsets[i + 1]]`; a code of -1 only takes its place."""
        is_context = (codes >= 0) & (codes < self.n_contexts)
        # Neighbours that are no contexts are written too, to a cell that nobody reads: a branch that goes
        # either way at random would cost more than the write.
        left = np.where(is_context, codes, np.int32(self.n_columns))
        right = np.where(is_context, codes + np.int32(self.n_contexts), left) if self.sided else left
        count_windows(CodedText(codes, left, right, offsets), self.window, self.n_columns, self.table)

    def counts(self) -> sparse.csr_array:
        """What was counted so far, words by contexts."""
        lengths = distinct_contexts(self.table, self.n_columns)
        row_starts = np.concatenate([[0], np.cumsum(lengths)])
        columns = np.empty(row_starts[-1], dtype=np.int32)
        values = np.empty(row_starts[-1])
        gather_contexts(self.table, self.n_columns, row_starts, columns, values)
        matrix = sparse.csr_array((values, columns, row_starts), shape=(len(lengths), self.n_columns))
        matrix.sort_indices()
        return matrix


def raw(counts: Counts) -> Counts:
    """The counts themselves."""
    return counts.astype(np.float64)


def square_root(counts: Counts) -> Counts:
    """Roots of the counts."""
    return counts.astype(np.float64).sqrt()


def ppmi(counts: Counts, context_power: float = CONTEXT_POWER) -> Counts:
    """Positive pointwise mutual information; zeros are not kept."""
    table = counts.tocoo()
    by_word, by_context = _sums(counts, 1), _sums(counts, 0) ** context_power
    row, column = table.coords
    with np.errstate(divide="ignore"):  # a count of zero that is written out
        values = np.log(table.data * by_context.sum() / (by_word[row] * by_context[column]))
    result = sparse.csr_array((np.maximum(values, 0.0), (row, column)), shape=counts.shape)
    result.eliminate_zeros()
    return result


def normalized(matrix: Counts) -> Counts:
    """Rows of length 1; a row of zeros stays."""
    lengths = np.sqrt(_sums(sparse.csr_array(matrix.multiply(matrix)), 1))
    scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return sparse.csr_array(sparse.diags_array(scale) @ matrix)


WEIGHTINGS: Mapping[str, Weighting] = {"raw": raw, "sqrt": square_root, "ppmi": ppmi}


def _sums(counts: Counts, axis: int) -> Floats:
    return np.asarray(counts.sum(axis=axis), dtype=np.float64).ravel()


Subset = tuple[int, ...]
Key = tuple[str, ...]

SUBSETS: tuple[Subset, ...] = tuple(subset for size in range(5) for subset in combinations(range(4), size))
LEVELS: tuple[tuple[Subset, ...], ...] = (
    ((0, 1, 2, 3),),
    ((0, 1, 2), (0, 2, 3), (1, 2, 3)),
    ((0, 2), (1, 2), (2, 3)),
    ((2,),),
    ((),),
)
"""The tuples of each level of backing off; all but the last hold the preposition."""

_YEAR, _NUMBER = re.compile(r"(1[89]|20)\d\d"), re.compile(r"[-+]?[\d.,/:]*\d[\d.,/:%]*")


def normalized_word(word: str) -> str:
    """Lower case; years and other numbers become one word each."""
    if _YEAR.fullmatch(word):
        return "<year>"
    return "<number>" if _NUMBER.fullmatch(word) else word.lower()


def keys(rows: Sequence[Key], subset: Subset) -> list[Key]:
    """The words of a subset of places, with the subset in front to tell like words apart."""
    mark = "".join(map(str, subset))
    return [(mark, *(row[place] for place in subset)) for row in rows]


def normalized_rows(quadruples: Quadruples) -> list[Key]:
    """The words of each item, normalized."""
    forms = {word: normalized_word(word) for row in quadruples.rows for word in row}
    return [tuple(forms[word] for word in row) for row in quadruples.rows]


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """Numbers for the features that were met in training."""

    places: dict[Key, int]

    @classmethod
    def of(cls, quadruples: Quadruples) -> FeatureTable:
        rows = normalized_rows(quadruples)
        met = dict.fromkeys(key for subset in SUBSETS for key in keys(rows, subset))
        return cls({key: place for place, key in enumerate(met)})

    def matrix(self, quadruples: Quadruples) -> sparse.csr_array:
        """One row per item, with a one for each feature that it has."""
        words = normalized_rows(quadruples)
        rows, columns = [], []
        for subset in SUBSETS:
            found = [self.places.get(key, -1) for key in keys(words, subset)]
            rows += [at for at, place in enumerate(found) if place >= 0]
            columns += [place for place in found if place >= 0]
        shape = (len(quadruples), len(self.places))
        return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)


@dataclass(frozen=True, eq=False)
class BackedOffCounts:
    """How often tuples of words attached to the noun, and how often they were met."""

    to_noun: dict[Key, int]
    total: dict[Key, int]

    @classmethod
    def of(cls, quadruples: Quadruples) -> BackedOffCounts:
        to_noun: dict[Key, int] = {}
        total: dict[Key, int] = {}
        rows, answers = normalized_rows(quadruples), quadruples.to_noun.tolist()
        for subset in (subset for level in LEVELS for subset in level):
            for key, noun in zip(keys(rows, subset), answers, strict=True):
                to_noun[key] = to_noun.get(key, 0) + noun
                total[key] = total.get(key, 0) + 1
        return cls(to_noun, total)

    def log_odds(self, quadruples: Quadruples) -> Floats:
        """Those of the level that decides; half an item on either side, so that one item is not certainty."""
        nouns, totals = self._deciding(quadruples)
        return np.log((nouns + 0.5) / (totals - nouns + 0.5))

    def _deciding(self, quadruples: Quadruples) -> tuple[Floats, Floats]:
        """Noun attachments and items of the first level that was met, zero where none was."""
        rows = normalized_rows(quadruples)
        nouns, totals = np.zeros(len(rows)), np.zeros(len(rows))
        for level in LEVELS:
            of_noun, of_all = self._sums(rows, level)
            found = (totals == 0) & (of_all > 0)
            nouns[found], totals[found] = of_noun[found], of_all[found]
        return nouns, totals

    def _sums(self, rows: Sequence[Key], level: Sequence[Subset]) -> tuple[Floats, Floats]:
        nouns, totals = np.zeros(len(rows)), np.zeros(len(rows))
        for subset in level:
            found = keys(rows, subset)
            nouns += [self.to_noun.get(key, 0) for key in found]
            totals += [self.total.get(key, 0) for key in found]
        return nouns, totals
