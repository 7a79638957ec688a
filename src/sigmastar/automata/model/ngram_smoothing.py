"""Back-off models of the next symbol: n-grams of fixed or variable order, by counts on a trie of pasts.

    p(x1 .. xT) = prod_t p(x_t | longest stored context of x_1 .. x_t-1) . p(end | ..)

    Witten-Bell     p(y | v) = (c(v, y) + t(v) p(y | parent)) / (c(v) + t(v)),   t(v) distinct outcomes
                    or that number several times, where counts say little
    Kneser-Ney      p(y | v) = max(c(v, y) - D, 0) / c(v) + (what is left) p(y | parent)

In Kneser-Ney an inner context counts in how many of its extensions an outcome was seen, not how
often; D = n1 / (n1 + 2 n2) for each depth, from the numbers of outcomes counted once and twice. The modified
form has three discounts per depth, of counts 1, 2 and above (Chen and Goodman, 1999).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sigmastar.automata.data.contexts import ContextTrie, place_in_row, with_edges
from sigmastar.automata.data.strings import Strings, require_known
from sigmastar.automata.kernels.leaders import Leaders, best_outcomes, leaders_of
from sigmastar.automata.kernels.ngrams import discounted_rows, merge_items, numbers_of_counts, refine
from sigmastar.automata.model.sequence import sample_lockstep
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Array, Flags, Floats, Int32s, Int64s
from sigmastar.core.integer_counts import tally
from sigmastar.core.jit import kernel
from sigmastar.core.notebook import Shown
from sigmastar.core.stored_parts import Parts, floats, indices, parents, rises_within, row_starts

Ints = Int32s | Int64s
_TABLE_LIMIT = 1 << 22  # cells of a table of contexts and outcomes


@dataclass(frozen=True, eq=False)
class NextCounts:
    """How often each outcome (a symbol, or the end, coded last) follows each context, extensions included."""

    trie: ContextTrie
    context: Ints
    outcome: Ints
    count: Ints
    items: Int32s | None = None  # what Kneser-Ney counts, where it is known already

    @classmethod
    def of_ngrams(cls, strings: Strings, order: int, knows_last: bool = True) -> NextCounts:
        """On all contexts of up to `order - 1` symbols, which are found on the way.

        Parameters
        ----------
        strings : Strings
            The corpus.
        order : int
            Length of the longest n-grams.
        knows_last : bool
            Whether what follows the last gap of all is known: not at the end of a stream.

        Returns
        -------
        NextCounts
            What `of` finds on `grow_contexts(strings, "past", max_depth=order - 1)`.
        """
        trie, node_of, levels = _all_contexts(strings, order - 1)
        outcomes, width = strings.outcomes.astype(np.int32), len(strings.alphabet) + 1
        if not knows_last:
            outcomes, node_of = outcomes[:-1], node_of[:-1]
        below, found = np.zeros((4, 0), np.int32), list[Int32s]()
        for begin, end in reversed(list(pairwise(levels))):
            here = node_of >= begin if end == levels[-1] else (node_of >= begin) & (node_of < end)
            nodes = np.concatenate([node_of[here], trie.parent[below[0]]])
            following = np.concatenate([outcomes[here], below[1]])
            totals = np.concatenate([np.ones(len(nodes) - below.shape[1], np.int32), below[2]])
            below = merge_items(nodes, following, totals, begin, end, width)
            found.append(below)
        return cls(trie, *np.concatenate(found[::-1], axis=1))

    @classmethod
    def of_classes(cls, trie: ContextTrie, context: Int64s, outcome: Int64s, count: Int64s) -> NextCounts:
        """From counts on disjoint classes: every context also counts what its extensions count."""
        width = trie.n_symbols + 1
        if width * trie.n_classes <= _TABLE_LIMIT:
            table = np.zeros((trie.n_classes, width), np.int64)
            np.add.at(table, (context, outcome), count)
            _count_extensions(trie.parent, table)
            context, outcome = np.nonzero(table)
            return cls(trie, context, outcome, table[context, outcome])
        keys, counts = [context * width + outcome], [count]
        while len(moving := np.flatnonzero(context)):  # one step towards the root a round
            context, outcome, count = (
                trie.parent[context[moving]].astype(np.int64),
                outcome[moving],
                count[moving],
            )
            keys.append(context * width + outcome)
            counts.append(count)
        every, totals = tally(np.concatenate(keys), np.concatenate(counts))
        return cls(trie, every // width, every % width, totals)

    @classmethod
    def of(cls, strings: Strings, trie: ContextTrie) -> NextCounts:
        keys, counts = tally(
            require_known(strings).outcomes + trie.classify(strings) * np.int64(trie.n_symbols + 1)
        )
        width = trie.n_symbols + 1
        return cls.of_classes(trie, keys // width, keys % width, counts)


@kernel
def _count_extensions(parent: Int32s, table: Int64s) -> None:
    for node in range(len(parent) - 1, 0, -1):
        for outcome in range(table.shape[1]):
            table[parent[node], outcome] += table[node, outcome]


@dataclass(frozen=True, eq=False)
class Backoff:
    """Rows of a back-off model: the `own` values of the outcomes of each context, and its back-off weight."""

    row_starts: Int64s
    outcomes: Int32s
    own: Floats
    backoff: Floats


Smoothing = Callable[[NextCounts], Backoff]


def _all_contexts(strings: Strings, depth: int) -> tuple[ContextTrie, Int32s, list[int]]:
    """All contexts of up to so many symbols, that of each gap, and where levels of the trie begin and end."""
    extended, edge, n = with_edges(require_known(strings)), len(strings.alphabet), strings.n_gaps
    node_of, active = np.zeros(n, np.int32), np.arange(n, dtype=np.int32)
    parents, symbols, levels = [np.zeros(1, np.int32)], [np.full(1, -1, np.int32)], [0, 1]
    for level in range(depth):
        before = np.concatenate([np.full(level, edge, np.int32), extended[: n - level]])  # of active gaps
        made = np.empty((2, len(active)), np.int32)
        n_new, n_active = refine(before, edge, levels[-2], levels[-1], node_of, active, made)
        parents.append(made[0, :n_new].copy())
        symbols.append(made[1, :n_new].copy())
        active = active[:n_active]
        levels.append(levels[-1] + n_new)
        if not n_active:
            break
    trie = ContextTrie(edge, "past", np.concatenate(parents), np.concatenate(symbols))
    return trie, node_of, levels


def witten_bell(counts: NextCounts, strength: float = 1.0) -> Backoff:
    """Witten-Bell smoothing: the more outcomes a context has, the more it leaves to the shorter one.

    Parameters
    ----------
    counts : NextCounts
        How often outcomes follow contexts.
    strength : float
        How often each outcome of a context counts for the shorter one.

    Returns
    -------
    Backoff
        Rows of the back-off model.
    """
    context, count, n = counts.context, counts.count, counts.trie.n_classes
    total = np.bincount(context, count, n)
    distinct = strength * np.bincount(context, minlength=n)
    denominator = np.where(total > 0, total + distinct, 1.0)
    return _rows(counts, count / denominator[context], np.where(total > 0, distinct / denominator, 1.0))


def kneser_ney(counts: NextCounts) -> Backoff:
    """Interpolated Kneser-Ney smoothing, with one discount per depth.

    Parameters
    ----------
    counts : NextCounts
        How often outcomes follow contexts.

    Returns
    -------
    Backoff
        Rows of the back-off model.
    """
    return _discounted(counts, _discounts)


def modified_kneser_ney(counts: NextCounts) -> Backoff:
    """Interpolated Kneser-Ney smoothing, with a discount per depth for each of the counts 1, 2, and above.

    Parameters
    ----------
    counts : NextCounts
        How often outcomes follow contexts.

    Returns
    -------
    Backoff
        Rows of the back-off model.
    """
    return _discounted(counts, _three_discounts)


def _discounted(counts: NextCounts, discounts: Callable[[Int64s], Floats]) -> Backoff:
    """Kneser-Ney smoothing by a table of discounts, depths by counts up to 3 or more."""
    trie, count, starts = counts.trie, counts.items, _row_starts(counts)
    if count is None:
        count = np.where(_is_inner(trie)[counts.context], _extensions(counts), counts.count)
    numbers = np.zeros((int(trie.depth.max()) + 1, 4), np.int64)
    numbers_of_counts(starts, trie.depth, count, numbers)
    own, backoff = np.empty(len(count)), np.empty(trie.n_classes)
    discounted_rows(starts, trie.depth, count, discounts(numbers), own, backoff)
    return Backoff(starts, counts.outcome.astype(np.int32, copy=False), own, backoff)


def _is_inner(trie: ContextTrie) -> Flags:
    inner = np.zeros(trie.n_classes, dtype=bool)
    inner[trie.parent[1:]] = True
    return inner


def _extensions(counts: NextCounts) -> Int64s:
    """In how many one-symbol extensions of each context its outcome was seen."""
    width = counts.trie.n_symbols + 1
    below = counts.context > 0
    seen = counts.trie.parent[counts.context[below]].astype(np.int64) * width + counts.outcome[below]
    keys, numbers = np.unique(seen, return_counts=True)
    at = np.searchsorted(keys, counts.context * width + counts.outcome)
    at = np.minimum(at, max(len(keys) - 1, 0))
    found = (
        keys[at] == counts.context * width + counts.outcome if len(keys) else np.zeros(len(at), dtype=bool)
    )
    return np.where(found, numbers[at] if len(keys) else 0, 0)


def _discounts(numbers: Int64s) -> Floats:
    """Absolute discounts per depth; one half where too little was seen to estimate them."""
    once, twice = numbers[:, 0].astype(float), numbers[:, 1].astype(float)
    estimate = np.divide(once, once + 2 * twice, out=np.full(len(once), 0.5), where=once + twice > 0)
    return np.repeat(np.clip(estimate, 0.1, 0.95)[:, None], 4, axis=1)


def _three_discounts(numbers: Int64s) -> Floats:
    """Discounts of counts 1, 2, and above: k - (k + 1) Y n_k+1 / n_k, with Y = n1 / (n1 + 2 n2).

    Where one of these numbers is zero, or a discount is not between 0 and its count, one discount serves all.
    """
    table, k = _discounts(numbers), np.arange(1, 4)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = numbers[:, :1] / (numbers[:, :1] + 2 * numbers[:, 1:2])
        three = k - (k + 1) * share * numbers[:, 1:] / numbers[:, :3]
    sound = ((three > 0) & (three < k)).all(axis=1)
    table[sound, 1:] = three[sound]
    return table


def _row_starts(counts: NextCounts) -> Int64s:
    sizes = np.bincount(counts.context, minlength=counts.trie.n_classes)
    return np.concatenate([[0], np.cumsum(sizes)])


def _rows(counts: NextCounts, own: Floats, backoff: Floats) -> Backoff:
    return Backoff(_row_starts(counts), counts.outcome.astype(np.int32, copy=False), own, backoff)


_ONE = 1.0 + 1e-6  # probabilities, with what rounding adds
N_SHARES = 12  # of what is left to shorter contexts


class BackoffTables(NamedTuple):
    """The parent of each context, where its row begins, outcomes and values in it, its back-off weight."""

    parent: Int32s
    row_starts: Int64s
    row_outcomes: Int32s
    own: Floats
    backoff: Floats
    n_outcomes: int


@dataclass(frozen=True, eq=False)
class NgramModel(Shown):
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
        _outcome_probabilities(contexts, outcomes, self.tables, result)
        return result

    def distributions(self, contexts: Int32s) -> Floats:
        result = np.zeros((len(contexts), self.n_outcomes))
        _outcome_distributions(contexts, self.tables, result)
        return result

    def log_probability(self, strings: Strings) -> Floats:
        strings = Strings.of(strings, None, self.alphabet, True)
        outcomes = strings.outcomes.astype(np.int32)
        with np.errstate(divide="ignore"):
            logs = np.log(self.probabilities(self.contexts.classify(strings), outcomes))
        return np.add.reduceat(logs, strings.offsets[:-1] + np.arange(len(strings))) if len(strings) else logs

    def gap_distributions(self, strings: Strings) -> Floats:
        return self.distributions(self.contexts.classify(Strings.of(strings, None, self.alphabet, True)))

    def gap_best(self, strings: Strings, include_end: bool = True) -> Int32s:
        """The most probable of what may follow each gap, without a table of all symbols."""
        contexts = self.contexts.classify(Strings.of(strings, None, self.alphabet, True))
        none, whole = np.zeros((len(contexts), 0)), np.ones(len(contexts))
        n_allowed = self.n_outcomes - (not include_end)
        return best_outcomes(none, whole, contexts, self._leaders, self.tables, n_allowed)[0]

    @cached_property
    def _leaders(self) -> Leaders:
        return leaders_of(np.zeros((self.n_outcomes, 0)), self.base)

    @cached_property
    def base(self) -> Floats:
        """What follows where nothing is known of what came before."""
        return self.distributions(np.zeros(1, np.int32)).ravel()

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
    def tables(self) -> BackoffTables:
        """The rows as kernels take them."""
        rows, parent = self.rows, self.contexts.parent
        return BackoffTables(parent, rows.row_starts, rows.outcomes, rows.own, rows.backoff, self.n_outcomes)


def n_cells(ngram: NgramModel) -> int:
    return (int(ngram.contexts.depth.max()) + 1) * N_SHARES


def cells_of(ngram: NgramModel) -> Int32s:
    """The cell of every context: its length, and how much is left to shorter ones."""
    shares = np.minimum((ngram.rows.backoff * N_SHARES).astype(np.int32), N_SHARES - 1)
    return np.asarray(ngram.contexts.depth * N_SHARES + shares, dtype=np.int32)


@kernel
def _outcome_probabilities(contexts: Int32s, outcomes: Int32s, tables: BackoffTables, result: Floats) -> None:
    """p(outcome | context) for pairs of them, added to `result`; an unknown outcome (negative) has none."""
    parent, row_starts, row_outcomes, own, backoff, n_outcomes = tables
    for pair in range(len(contexts)):
        node, outcome, weight = contexts[pair], outcomes[pair], 1.0
        if outcome < 0:
            continue
        while True:
            place = place_in_row(outcome, row_outcomes, row_starts[node], row_starts[node + 1])
            if place >= 0:
                result[pair] += weight * own[place]
            weight *= backoff[node]
            if node == 0:
                break
            node = parent[node]
        result[pair] += weight / n_outcomes


@kernel
def _outcome_distributions(contexts: Int32s, tables: BackoffTables, result: Floats) -> None:
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
