"""Where constituents may be, before anything is known: spans and cuts of every string with weights.

A prior gives each span (i, j) of a string a table entry t(i, j). Trees are drawn from the top:

    P(0, L) = 1,   P(i, k, j) = P(i, j) t(i, k) t(k, j) / sum over k',   P(i, k) and P(k, j) += P(i, k, j)

    uniform   t = 1: every cut of a span is as probable as any other
    right     t = 1 for spans that reach the end of the string: right-branching trees
    none      as uniform, but every span counts as one, however improbable it is

Any other table, such as the posteriors of a grammar or given brackets, is a prior too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.arrays import Flags, Floats, Int64s

Tables = Callable[[int], Floats] | Sequence[Floats]
"""t(i, j) for strings of a length, or one table per string."""

_LEAST = 1e-4


@dataclass(frozen=True, eq=False)
class SpanOccurrences:
    """Spans with weights, and the cuts (span, left part, right part) that tie them together."""

    string: Int64s
    begin: Int64s  # in the corpus
    length: Int64s
    weight: Floats
    cuts: Int64s  # n x 3 numbers of spans
    cut_weight: Floats
    whole: Int64s  # of each string the span that is all of it


def right_table(length: int) -> Floats:
    table = np.zeros((length + 1, length + 1))
    table[:, length] = 1.0
    table[np.arange(length), np.arange(1, length + 1)] = 1.0
    return table


def flat_table(length: int) -> Floats:
    return np.ones((length + 1, length + 1))


PRIORS: dict[str, Tables] = {"none": flat_table, "uniform": flat_table, "right": right_table}


def span_occurrences(
    strings: Strings, weights: Floats, tables: Tables, equal: bool = False
) -> SpanOccurrences:
    """All spans and cuts of some weight; with `equal` every span has the weight of its string."""
    parts = list(_by_length(strings, weights, tables, equal))
    shifts = np.concatenate([[0], np.cumsum([len(part.string) for part in parts])]).tolist()
    whole = np.empty(len(strings), dtype=np.int64)
    for shift, part in zip(shifts, parts, strict=False):
        whole[part.string[part.whole]] = part.whole + shift
    cuts = np.concatenate([part.cuts + shift for shift, part in zip(shifts, parts, strict=False)])
    names = ("string", "begin", "length", "weight", "cut_weight")
    joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return SpanOccurrences(cuts=cuts, whole=whole, **joined)


def _by_length(strings: Strings, weights: Floats, tables: Tables, equal: bool) -> Iterator[SpanOccurrences]:
    for length in np.unique(strings.lengths).tolist():
        chosen = np.flatnonzero(strings.lengths == length)
        if callable(tables):
            table = np.broadcast_to(tables(length), (len(chosen), length + 1, length + 1))
        else:
            table = np.stack([tables[string] for string in chosen.tolist()])
        yield _one_length(chosen, strings.offsets[chosen], weights[chosen], length, table, equal)


def _one_length(
    chosen: Int64s, firsts: Int64s, weights: Floats, length: int, table: Floats, equal: bool
) -> SpanOccurrences:
    numbers = {span: n for n, span in enumerate(_spans(length))}
    shares = np.zeros((len(numbers), len(chosen)))
    shares[0] = 1.0
    rows, values = [], []
    for (i, j), number in numbers.items():
        if j - i < 2:
            continue
        chances = np.stack([table[:, i, k] * table[:, k, j] for k in range(i + 1, j)]) + 1e-12
        chances *= (np.ones(len(chosen)) if equal else shares[number]) / chances.sum(axis=0)
        for k, chance in zip(range(i + 1, j), chances, strict=True):
            shares[numbers[i, k]] += chance
            shares[numbers[k, j]] += chance
            rows.append((number, numbers[i, k], numbers[k, j]))
            values.append(chance)
    shares = np.ones_like(shares) if equal else shares
    kept = shares.T.ravel() > _LEAST  # by string, then by span
    new = np.cumsum(kept) - 1
    spans = np.array(list(numbers))
    string = np.repeat(np.arange(len(chosen)), len(numbers))[kept]
    which = np.tile(np.arange(len(numbers)), len(chosen))[kept]
    cuts, cut_weight = _cuts(rows, values, len(numbers), kept, new)
    return SpanOccurrences(
        chosen[string],
        firsts[string] + spans[which, 0],
        spans[which, 1] - spans[which, 0],
        shares.T.ravel()[kept] * weights[string],
        cuts,
        cut_weight * weights[string[cuts[:, 0]]],
        new[np.arange(len(chosen)) * len(numbers)],
    )


def _cuts(
    rows: list[tuple[int, int, int]],
    values: list[Floats],
    n_spans: int,
    kept: Flags,
    new: Int64s,
) -> tuple[Int64s, Floats]:
    """The cuts between spans that were kept, by their new numbers."""
    if not rows:
        return np.empty((0, 3), dtype=np.int64), np.empty(0)
    n_strings = len(kept) // n_spans
    places = np.array(rows)[None, :, :] + (np.arange(n_strings) * n_spans)[:, None, None]
    places = places.reshape(-1, 3)
    weight = np.stack(values, axis=1).ravel()
    good = kept[places].all(axis=1) & (weight > _LEAST)
    return new[places[good]], weight[good]


def _spans(length: int) -> list[tuple[int, int]]:
    """All spans, wide ones first: a span comes after all that it can be cut out of."""
    return [(i, i + width) for width in range(length, 0, -1) for i in range(length - width + 1)]
