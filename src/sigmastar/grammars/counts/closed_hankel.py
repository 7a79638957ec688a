"""The Hankel matrix of a weighted grammar on the closure of some strings, without the brackets.

Rows are outsides <x; z> and those with an open operation, <x, x'; z> and <x; z', z>; columns are insides (y)
and (y, y'); the sets are closed under cutting (Bailly et al. 2013, section 4.1). An entry determines its
yield w and places in it, and the constraints (24)-(27) link only entries of one yield. With cuts
i < k < l < j of a w of length m the entries of w are

    C(i, j)          one          H(<w[:i]; w[j:]>, (w[i:j]))
    D(i, k, j)       three        w[i:k] and w[k:j] combined: inside, around the right part, around the left
    E_R, E_L         one each     the hole of an open operation cut in turn

and the equations between them depend on m alone: one projection per length serves all strings.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
from scipy import linalg

from sigmastar.automata.data.strings import Strings
from sigmastar.core.arrays import Floats, Int64s
from sigmastar.grammars.data.substrings import Substrings

LONGEST = 12  # a dense projection of longer yields takes too much room


@dataclass(frozen=True, eq=False)
class YieldEntries:
    """What the entries of any string of one length are: cuts, and the projection on their equations."""

    spans: Int64s  # C: i, j
    triples: Int64s  # D: i, k, j
    quads: Int64s  # E_R: i, k, l, j, and E_L: i, l, k, j
    range_basis: Floats  # orthonormal columns: what the equations forbid
    null_basis: Floats | None  # orthonormal columns: what they leave free, where that is smaller
    particular: Floats  # the smallest entries with C(0, m) = 1

    @property
    def size(self) -> int:
        return len(self.particular)

    def residual(self, values: Floats, probabilities: Floats) -> Floats:
        """How far entries (strings x entries) are from those that obey the equations."""
        gap = values - probabilities[:, None] * self.particular
        if self.null_basis is not None:
            return gap - (gap @ self.null_basis) @ self.null_basis.T
        return (gap @ self.range_basis) @ self.range_basis.T


@cache
def yield_entries(length: int) -> YieldEntries:
    """The entries of strings of a length and the projection on constraints (24)-(27)."""
    points = range(length + 1)
    spans, triples, quads = (list(combinations(points, n)) for n in (2, 3, 4))
    equations, right_side = _equations(length, spans, triples, quads)
    left, values, forbidden = linalg.svd(equations, full_matrices=True)
    rank = int((values > 1e-10 * values[0]).sum())
    basis = forbidden[:rank].T
    particular = basis @ ((left[:, :rank].T @ right_side) / values[:rank])
    free = np.ascontiguousarray(forbidden[rank:].T) if 2 * rank > len(particular) else None
    return YieldEntries(
        np.array(spans, dtype=np.int64).reshape(-1, 2),
        np.array(triples, dtype=np.int64).reshape(-1, 3),
        np.array(quads, dtype=np.int64).reshape(-1, 4),
        np.ascontiguousarray(basis),
        free,
        particular,
    )


Cuts = list[tuple[int, ...]]


def _equations(length: int, spans: Cuts, triples: Cuts, quads: Cuts) -> tuple[Floats, Floats]:
    """Rows of the linear constraints on the entries of a yield, and their right sides."""
    n_c, n_d, n_e = len(spans), len(triples), len(quads)
    c = {span: n for n, span in enumerate(spans)}
    d = {cut: n_c + n for n, cut in enumerate(triples)}  # inside; + n_d around the right, + 2 n_d the left
    r = {cut: n_c + 3 * n_d + n for n, cut in enumerate(quads)}  # i, k, l, j: the hole k:j cut at l
    e = {cut: n_c + 3 * n_d + n_e + n for n, cut in enumerate(quads)}  # i, l, k, j: the hole i:k cut at l
    rows: list[dict[int, float]] = [{c[0, length]: 1.0}]  # (24)
    for cut, n in d.items():  # (25)
        rows += [{n: 1.0, n + n_d: -1.0}, {n: 1.0, n + 2 * n_d: -1.0}]
        i, k, j = cut
        if j - k > 1:  # (26) on an open outside
            rows.append({n + n_d: 1.0, **{r[i, k, x, j]: -1.0 for x in range(k + 1, j)}})
        if k - i > 1:
            rows.append({n + 2 * n_d: 1.0, **{e[i, x, k, j]: -1.0 for x in range(i + 1, k)}})
        if (i, j) != (0, length):  # (27) on a composed inside
            around = {r[h, i, k, j]: -1.0 for h in range(i)}
            around |= {e[i, k, j, h]: -1.0 for h in range(j + 1, length + 1)}
            rows.append({n: 1.0, **around})
    for (i, j), n in c.items():
        if j - i > 1:  # (26)
            rows.append({n: 1.0, **{d[i, k, j]: -1.0 for k in range(i + 1, j)}})
        if (i, j) != (0, length):  # (27)
            around = {d[h, i, j] + n_d: -1.0 for h in range(i)}
            around |= {d[i, j, h] + 2 * n_d: -1.0 for h in range(j + 1, length + 1)}
            rows.append({n: 1.0, **around})
    matrix = np.zeros((len(rows), n_c + 3 * n_d + 2 * n_e))
    for number, row in enumerate(rows):
        matrix[number, list(row)] = list(row.values())
    right_side = np.zeros(len(rows))
    right_side[0] = 1.0
    return matrix, right_side


@dataclass(frozen=True, eq=False)
class ClosedHankel:
    """Which entries of the matrix belong to which yield. Outsides <x; z> and insides (y) come first."""

    table: Substrings
    probabilities: Floats  # of each string
    n_outsides: int  # with nothing open
    shape: tuple[int, int]
    rows: Int64s  # of every entry, by length of its yield, then by yield
    columns: Int64s
    groups: tuple[tuple[int, Int64s], ...]  # of each length: its strings
    cut_left: Int64s  # of the column of every composed inside: the column of its left part
    cut_right: Int64s

    @property
    def n_insides(self) -> int:
        return self.table.n_nodes

    @property
    def n_constraints(self) -> int:
        """Equations between entries, those that follow from others included."""
        return sum(len(s) * (yield_entries(m).range_basis.shape[1] - 1) for m, s in self.groups)

    def residual(self, values: Floats) -> Floats:
        """How far the entries of all yields are from those that obey the constraints."""
        result, first = np.empty_like(values), 0
        for length, strings in self.groups:
            entries = yield_entries(length)
            end = first + len(strings) * entries.size
            part = values[first:end].reshape(len(strings), -1)
            result[first:end] = entries.residual(part, self.probabilities[strings]).ravel()
            first = end
        return result


def closed_hankel(strings: Strings, probabilities: Floats) -> ClosedHankel:
    """Close distinct strings, each with its probability, under cutting."""
    table = Substrings.of(strings)
    if table.longest > LONGEST:
        raise ValueError(
            f"strings of {table.longest} symbols are too long to be completed; use max_length <= {LONGEST}"
        )
    lengths = table.lengths
    cut_starts = table.n_nodes + np.concatenate([[0], np.cumsum(lengths - 1)])[:-1]
    parts, groups = [], []
    for length in np.unique(strings.lengths).tolist():
        chosen = np.flatnonzero(strings.lengths == length)
        parts.append(_entries(table, strings.offsets[chosen], length, cut_starts))
        groups.append((length, chosen))
    keys = np.concatenate([part[0].ravel() for part in parts])
    distinct, rows = np.unique(keys, return_inverse=True)
    columns = np.concatenate([part[1].ravel() for part in parts])
    n_outsides = int((distinct < (table.n_nodes + 1) ** 2).sum())
    lefts, rights = _parts(table, lengths)
    shape = (len(distinct), table.n_nodes + len(lefts))
    return ClosedHankel(table, probabilities, n_outsides, shape, rows, columns, tuple(groups), lefts, rights)


def _entries(table: Substrings, firsts: Int64s, length: int, cut_starts: Int64s) -> tuple[Int64s, Int64s]:
    """Keys of the rows and numbers of the columns of all entries, strings x entries."""
    size = table.n_nodes + 1
    of_length = yield_entries(length)
    i, j = np.triu_indices(length + 1, 1)
    nodes = np.full((len(firsts), length + 1, length + 1), -1, dtype=np.int64)
    nodes[:, i, j] = table.at(firsts[:, None] + i, (j - i)[None, :])

    def context(before: Int64s, after: Int64s) -> Int64s:
        """The key of <w[:before]; w[after:]>."""
        return (nodes[:, 0, before] + 1) * size + nodes[:, after, length] + 1

    def cut(a: Int64s, k: Int64s, b: Int64s) -> Int64s:
        """The column of (w[a:k], w[k:b])."""
        return cut_starts[nodes[:, a, b]] + (k - a) - 1

    def around_right(a: Int64s, k: Int64s, b: Int64s) -> Int64s:
        return context(a, b) + size**2 * (nodes[:, a, k] + 1)

    def around_left(a: Int64s, k: Int64s, b: Int64s) -> Int64s:
        return context(a, b) + size**2 * (size + nodes[:, k, b] + 1)

    (a, b), (p, q, s) = of_length.spans.T, of_length.triples.T
    (ri, rk, rl, rj), (li, ll, lk, lj) = of_length.quads.T, of_length.quads.T
    rows = (
        context(a, b),
        context(p, s),
        around_right(p, q, s),
        around_left(p, q, s),
        around_right(ri, rk, rj),
        around_left(li, lk, lj),
    )
    columns = (nodes[:, a, b], cut(p, q, s), nodes[:, q, s], nodes[:, p, q], cut(rk, rl, rj), cut(li, ll, lk))
    return np.concatenate(rows, axis=1), np.concatenate(columns, axis=1)


def _parts(table: Substrings, lengths: Int64s) -> tuple[Int64s, Int64s]:
    """The two parts of every cut of every substring, in the order of the columns of cuts."""
    counts = lengths - 1
    owner = np.repeat(np.arange(table.n_nodes), counts)
    k = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts) + 1
    first = table.first[owner]
    return table.at(first, k), table.at(first + k, lengths[owner] - k)
