"""The entries of a Hankel matrix that strings reach, with the orbits that tie them.

    H[p, s] = f(p s)        rows: all prefixes of the strings        columns: all their suffixes

A string of length m is the yield of m + 1 entries, one per cut: its orbit. Entries of one orbit are equal
in a Hankel matrix. Of the other entries of the matrix nothing is observed; where the matrix is small they
are held too, for entries of equal yield are tied whether or not their value is known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.data.strings import PrefixTrie, Strings
from sigmastar.automata.kernels.values import gap_nodes
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Int64s

MOST_ENTRIES = 250_000
"""Matrices of up to this many entries are tied as a whole."""


@dataclass(frozen=True, eq=False)
class HankelEntries:
    """Entries (row, column), the orbit of each, and the tries that name rows and columns.

    The first `n_strings` orbits are the strings, in their order; the others are yields not observed.
    """

    alphabet: Alphabet
    prefixes: PrefixTrie
    suffixes: PrefixTrie  # of the reversed strings: node s reads its symbol first, then the parent's
    n_strings: int
    rows: Int64s
    columns: Int64s
    orbits: Int64s

    @classmethod
    def of(cls, strings: Strings, most_entries: int = MOST_ENTRIES) -> HankelEntries:
        """The entries that distinct `strings` reach, and all others where there are few."""
        prefixes, suffixes = PrefixTrie.of(strings), PrefixTrie.of(reversed_strings(strings))
        rows = gap_nodes(prefixes.parent, prefixes.string_node, strings.offsets).astype(np.int64)
        mirrored = gap_nodes(suffixes.parent, suffixes.string_node, strings.offsets).astype(np.int64)
        columns = mirrored[_mirror(strings.offsets + np.arange(len(strings) + 1))]
        orbits = np.repeat(np.arange(len(strings)), strings.lengths + 1)
        entries = cls(strings.alphabet, prefixes, suffixes, len(strings), rows, columns, orbits)
        small = prefixes.n_nodes * suffixes.n_nodes <= most_entries
        return entries._with_unobserved() if small else entries

    @property
    def shape(self) -> tuple[int, int]:
        return self.prefixes.n_nodes, self.suffixes.n_nodes

    @property
    def sizes(self) -> Int64s:
        """How many entries each orbit has."""
        return np.bincount(self.orbits, minlength=self.n_strings)

    def _with_unobserved(self) -> HankelEntries:
        """All entries of the matrix; those alone in their orbit are tied to nothing and left out."""
        keys = _yield_keys(self.prefixes, self.suffixes, len(self.alphabet))
        distinct, orbit, sizes = np.unique(keys.ravel(), return_inverse=True, return_counts=True)
        observed = orbit.reshape(keys.shape)[self.rows, self.columns]
        is_observed = np.zeros(len(distinct), bool)
        is_observed[observed] = True
        kept = np.flatnonzero(~is_observed[orbit] & (sizes[orbit] > 1))
        _, numbered = np.unique(orbit[kept], return_inverse=True)
        rows, columns = np.divmod(kept, keys.shape[1])
        return HankelEntries(
            self.alphabet,
            self.prefixes,
            self.suffixes,
            self.n_strings,
            np.concatenate([self.rows, rows]),
            np.concatenate([self.columns, columns]),
            np.concatenate([self.orbits, numbered + self.n_strings]),
        )


def reversed_strings(strings: Strings) -> Strings:
    """Every string read from its end."""
    return Strings(strings.alphabet, strings.codes[_mirror(strings.offsets)], strings.offsets)


def _mirror(offsets: Int64s) -> Int64s:
    """Positions that turn every run between two offsets around."""
    lengths = np.diff(offsets)
    return np.repeat(offsets[:-1] + offsets[1:] - 1, lengths) - np.arange(offsets[-1])


def _yield_keys(prefixes: PrefixTrie, suffixes: PrefixTrie, n_symbols: int) -> NDArray[np.uint64]:
    """A number for the yield of every entry, equal where the yields are: polynomials modulo 2^64.

    key(x1 .. xm) = sum_t code(x_t) base^(m - t), so key(p s) = key(p) base^|s| + key(s).
    """
    draw = np.random.default_rng(n_symbols).integers(1, 2**63, n_symbols + 1, dtype=np.uint64)
    base, codes = draw[0] | np.uint64(1), draw[1:]
    of_prefix = np.zeros(prefixes.n_nodes, np.uint64)
    of_suffix, power = np.zeros(suffixes.n_nodes, np.uint64), np.ones(suffixes.n_nodes, np.uint64)
    for first, end in zip(prefixes.level_starts[1:-1], prefixes.level_starts[2:], strict=True):
        of_prefix[first:end] = (
            of_prefix[prefixes.parent[first:end]] * base + codes[prefixes.symbol[first:end]]
        )
    for first, end in zip(suffixes.level_starts[1:-1], suffixes.level_starts[2:], strict=True):
        above = suffixes.parent[first:end]
        of_suffix[first:end] = codes[suffixes.symbol[first:end]] * power[above] + of_suffix[above]
        power[first:end] = power[above] * base
    return of_prefix[:, None] * power[None, :] + of_suffix[None, :]
